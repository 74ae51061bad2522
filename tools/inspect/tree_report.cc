#include "tools/inspect/tree_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/options.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

using nlohmann::json;

double Ratio(uint64_t a, uint64_t b) {
  return b == 0 ? NAN : static_cast<double>(a) / static_cast<double>(b);
}

std::string TablesText(const Inspection& inspection) {
  Table tables("Tables", {"table", "height", "rows", "pages", "bytes", "bytes/row", "per user byte",
                          "leaf fill", "long values"});
  for (const TreeStats& tree : inspection.trees) {
    tables.Row({Printable(tree.table), Count(tree.levels.size()), Count(tree.rows),
                Count(tree.Pages()), Count(tree.Bytes()), Short(Ratio(tree.Bytes(), tree.rows)),
                Short(Ratio(tree.Bytes(), tree.key_bytes + tree.value_bytes)),
                tree.levels.empty() ? "-" : Percent(tree.levels[0].Fill()),
                Count(tree.overflow_values)});
  }
  return tables.Text();
}

std::string LevelsText(const Inspection& inspection) {
  Table levels("Levels, the root first",
               {"table", "level", "pages", "bytes", "entries", "entries/page", "fill"});
  for (const TreeStats& tree : inspection.trees) {
    for (size_t l = tree.levels.size(); l-- > 0;) {
      const LevelStats& level = tree.levels[l];
      levels.Row({Printable(tree.table), l == 0 ? "0 (leaves)" : Count(l), Count(level.pages),
                  Count(level.bytes), Count(level.entries),
                  Short(Ratio(level.entries, level.pages)), Percent(level.Fill())});
    }
    if (tree.overflow_pages > 0) {
      levels.Row({Printable(tree.table), "overflow", Count(tree.overflow_pages),
                  Count(tree.overflow_pages * inspection.page_size), Count(tree.overflow_values),
                  "-", "-"});
    }
  }
  return levels.Text();
}

// Returns a histogram of the leaves by fill, with a bar for each tenth. The longest bar has kWidth
// columns.
std::string FillText(const TreeStats& tree) {
  constexpr uint64_t kWidth = 50;
  if (tree.levels.empty()) return "";
  const LevelStats& leaves = tree.levels[0];
  const uint64_t most = *std::max_element(leaves.fill.begin(), leaves.fill.end());
  if (leaves.pages < 2) return "";
  std::string text = fmt::format("Leaves of {} by fill\n", Printable(tree.table));
  const size_t digits = Count(most).size();
  for (size_t i = 0; i < leaves.fill.size(); ++i) {
    const uint64_t pages = leaves.fill[i];
    const uint64_t bar = pages == 0 ? 0 : std::max<uint64_t>(1, pages * kWidth / most);
    text += fmt::format("  {:>2} to {:>3} %  {:>{}}  {:>7}", i * 10, i * 10 + 10, Count(pages),
                        digits, Percent(Ratio(pages, leaves.pages)));
    text += (bar == 0 ? "" : "  ") + std::string(bar, '#') + "\n";
  }
  return text + "\n";
}

// Splits the bytes of each table's pages by their use, and divides them by the number of its rows.
std::string PartsText(const Inspection& inspection) {
  std::vector<std::string> columns = {"table"};
  for (const auto& [name, bytes] : inspection.trees[0].parts) columns.push_back(name);
  columns.push_back("sum");
  Table parts("Bytes per row, by what they are", columns);
  for (const TreeStats& tree : inspection.trees) {
    if (tree.rows == 0) continue;
    std::vector<std::string> row = {Printable(tree.table)};
    for (const auto& [name, bytes] : tree.parts) row.push_back(Short(Ratio(bytes, tree.rows)));
    row.push_back(Short(Ratio(tree.Bytes(), tree.rows)));
    parts.Row(std::move(row));
  }
  return parts.empty() ? "" : parts.Text();
}

std::string DiskText(const Inspection& inspection) {
  Table disk("Where the space of the files goes", {"part", "bytes", "share"});
  const uint64_t sum = SumOf(inspection.disk) - inspection.holes;
  for (const auto& [name, bytes] : inspection.disk) {
    disk.Row({name, Count(bytes), Percent(Ratio(bytes, sum))});
  }
  if (inspection.holes > 0) {
    disk.Row({"holes behind compressed pages", "-" + Count(inspection.holes),
              Percent(-Ratio(inspection.holes, sum))});
  }
  disk.Row({"size on disk", Count(sum), Percent(1)});
  return disk.Text();
}

std::string PageText(const TreePage& page) {
  std::string text = fmt::format("page {}", page.page);
  if (!page.fault.empty()) return text + ": " + Printable(page.fault);
  text += page.level == 0 ? ", leaf" : fmt::format(", level {}", page.level);
  const bool one = page.entries == 1;
  const char* entries = page.level == 0 ? (one ? "row" : "rows") : (one ? "child" : "children");
  text += fmt::format(", {} {}, {:.0f} % full, keys from {}", page.entries, entries,
                      page.fill * 100, page.low);
  return text + (page.high.empty() ? " on" : " up to " + page.high);
}

void DrawPage(const TreePage& page, const std::string& indent, std::string* text) {
  for (size_t i = 0; i < page.children.size(); ++i) {
    const bool last = i + 1 == page.children.size();
    if (last && page.hidden > 0) *text += fmt::format("{}|  ... {} more\n", indent, page.hidden);
    *text += indent + (last ? "`- " : "|- ") + PageText(page.children[i]) + "\n";
    DrawPage(page.children[i], indent + (last ? "   " : "|  "), text);
  }
}

std::string ShapeText(const TreeStats& tree) {
  if (!tree.shape) return "";
  std::string text =
      fmt::format("Pages of {}\n  {}\n", Printable(tree.table), PageText(*tree.shape));
  DrawPage(*tree.shape, "  ", &text);
  return text + "\n";
}

json NamedJson(const NamedBytes& parts) {
  json list = json::array();
  for (const auto& [name, bytes] : parts) list.push_back({{"name", name}, {"bytes", bytes}});
  return list;
}

json PageJson(const TreePage& page) {
  json j = {{"page", page.page}};
  if (!page.fault.empty()) {
    j["fault"] = page.fault;
    return j;
  }
  j.update({{"level", page.level},
            {"entries", page.entries},
            {"fill", page.fill},
            {"low", page.low},
            {"high", page.high.empty() ? json() : json(page.high)}});
  if (page.children.empty()) return j;
  j["hidden_children"] = page.hidden;
  for (const TreePage& child : page.children) j["children"].push_back(PageJson(child));
  return j;
}

json TableJson(const TreeStats& tree) {
  json levels = json::array();
  for (const LevelStats& level : tree.levels) {
    levels.push_back({{"pages", level.pages},
                      {"bytes", level.bytes},
                      {"entries", level.entries},
                      {"used_bytes", level.used_bytes},
                      {"capacity_bytes", level.capacity_bytes},
                      {"fill", level.Fill()},
                      {"pages_by_fill", level.fill}});
  }
  json j = {{"name", tree.table},
            {"height", tree.levels.size()},
            {"rows", tree.rows},
            {"key_bytes", tree.key_bytes},
            {"value_bytes", tree.value_bytes},
            {"overflow_values", tree.overflow_values},
            {"overflow_pages", tree.overflow_pages},
            {"pages", tree.Pages()},
            {"bytes", tree.Bytes()},
            {"levels", levels},
            {"parts", NamedJson(tree.parts)}};
  if (tree.shape) j["shape"] = PageJson(*tree.shape);
  return j;
}

}  // namespace

std::string TreeText(const std::string& name, const Inspection& inspection) {
  uint64_t rows = 0, tables = 0;
  for (const TreeStats& tree : inspection.trees) {
    if (tree.own) continue;
    rows += tree.rows;
    ++tables;
  }
  std::string text =
      fmt::format("{}, pages of {}, {} in {}\n", name, ShortSize(inspection.page_size),
                  Counted(rows, "row"), Counted(tables, "table"));
  if (inspection.replay && inspection.replay->records > 0) {
    text +=
        fmt::format("not closed cleanly: {} of {} in the log, which the trees do not have yet\n",
                    Counted(inspection.replay->transactions, "transaction"),
                    Counted(inspection.replay->rows, "row"));
  }
  text += "\n";
  if (!inspection.trees.empty()) {
    text += TablesText(inspection) + LevelsText(inspection);
    for (const TreeStats& tree : inspection.trees) text += FillText(tree);
    text += PartsText(inspection);
  }
  text += DiskText(inspection);
  for (const TreeStats& tree : inspection.trees) text += ShapeText(tree);
  return text;
}

json TreeJson(const Inspection& inspection) {
  json tables = json::array();
  for (const TreeStats& tree : inspection.trees) tables.push_back(TableJson(tree));
  return {{"page_size", inspection.page_size},
          {"partial", inspection.stopped},
          {"fault_count", inspection.faults.count},
          {"tables", tables},
          {"disk", NamedJson(inspection.disk)},
          {"size_on_disk", SumOf(inspection.disk) - inspection.holes},
          {"holes", inspection.holes}};
}

}  // namespace testbed
