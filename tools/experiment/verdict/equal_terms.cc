#include "tools/experiment/verdict/equal_terms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tools/output/table.h"

namespace testbed {
namespace {

constexpr double kApart = 0.1;  // tolerated difference, as a share of the largest cell's memory
constexpr char kHeld[] = "held.bytes";

// Returns whether each value of the axis sets the engine.
bool NamesEngines(const Axis& axis) {
  return std::all_of(axis.values.begin(), axis.values.end(),
                     [](const AxisValue& value) { return value.options.contains("engine"); });
}

// Returns whether each value of the axis sets how data files are read, and none sets the engine.
bool NamesWaysOfReading(const Axis& axis) {
  return std::all_of(axis.values.begin(), axis.values.end(), [](const AxisValue& value) {
    return value.options.contains("io") && !value.options.contains("engine");
  });
}

using IsAxis = bool (*)(const Axis&);

// Cells that are compared with each other.
struct Group {
  std::string name;  // the shared labels of those axes in which the table's cells differ
  std::vector<size_t> cells;
};

// Returns the cells in groups. Cells of a group differ only in axes for which `compared` is true.
std::vector<Group> GroupsOf(const ResultSet& results, const std::vector<size_t>& shown,
                            IsAxis compared = NamesEngines) {
  std::map<std::string, std::set<std::string>> labels;  // the table's labels, by axis
  for (size_t cell : shown) {
    for (const auto& [axis, label] : results.cells()[cell].labels) labels[axis].insert(label);
  }
  std::vector<Group> groups;
  std::map<std::string, size_t> at;
  for (size_t cell : shown) {
    std::vector<std::string> alike, told;
    for (const Axis& axis : results.experiment().axes) {
      if (compared(axis)) continue;
      alike.push_back(axis.name + "=" + results.cells()[cell].labels.at(axis.name));
      if (labels[axis.name].size() > 1) told.push_back(alike.back());
    }
    const auto [found, first] = at.emplace(fmt::format("{}", fmt::join(alike, " ")), groups.size());
    if (first) groups.push_back({fmt::format("{}", fmt::join(told, " ")), {}});
    std::vector<size_t>& group = groups[found->second].cells;
    // `shown` may contain a cell several times.
    if (std::find(group.begin(), group.end(), cell) == group.end()) group.push_back(cell);
  }
  return groups;
}

std::string EngineOf(const ResultSet& results, size_t cell) {
  const OptionMap& options = results.cells()[cell].options;
  const auto found = options.find("engine");
  return found == options.end() ? "" : found->second;
}

// Returns the cell's label of the first axis for which `is_axis` is true, or "" when there is none.
std::string LabelOf(const ResultSet& results, size_t cell, IsAxis is_axis) {
  for (const Axis& axis : results.experiment().axes) {
    if (is_axis(axis)) return results.cells()[cell].labels.at(axis.name);
  }
  return "";
}

std::string EngineLabel(const ResultSet& results, size_t cell) {
  const std::string label = LabelOf(results, cell, NamesEngines);
  return label.empty() ? EngineOf(results, cell) : label;
}

// Returns " axis=label ..." of the cell for those axes that do not name engines and in which the
// cells of the group differ.
std::string LabelsApart(const ResultSet& results, const Group& group, size_t cell) {
  std::string text;
  for (const Axis& axis : results.experiment().axes) {
    if (NamesEngines(axis)) continue;
    const auto label = [&](size_t i) { return results.cells()[i].labels.at(axis.name); };
    const bool apart = std::any_of(group.cells.begin(), group.cells.end(),
                                   [&](size_t i) { return label(i) != label(cell); });
    if (apart) text += " " + axis.name + "=" + label(cell);
  }
  return text;
}

// Returns whether the cell's reads may fill the whole budget with page cache, as buffered and
// mapped reads do. Then the run did not need the memory that it left unused. With direct IO a run
// can only use the engine's cache.
bool MayFillMemory(const ResultSet& results, size_t cell) {
  const OptionMap& options = results.cells()[cell].options;
  const auto io = options.find("io");
  return io == options.end() || io->second != "direct";
}

// Returns whether the cell's run left memory unused that it could have used.
bool NeededNoMore(const ResultSet& results, size_t cell) {
  return MayFillMemory(results, cell) && results.Figure(cell, "held.full") == 0;
}

// Returns whether the cell's run read by direct IO and left much of its engine's cache empty: its
// whole database fitted. Engines evict before their cache is full, WiredTiger at 80 %.
bool LeftCacheEmpty(const ResultSet& results, size_t cell) {
  constexpr double kFilled = 0.75;
  return !MayFillMemory(results, cell) && results.Figure(cell, "held.cache_share") < kFilled;
}

// Returns a note on a run that could have held more memory than it did on the mean; an empty string
// for other runs. Files that are written and soon removed, as by compactions, may fill the budget
// with page cache for moments although the run needs less.
std::string LeftUnusedNote(const ResultSet& results, size_t cell) {
  if (NeededNoMore(results, cell)) return " (which never filled --ram)";
  if (LeftCacheEmpty(results, cell)) return " (which never filled its cache)";
  const bool moments = MayFillMemory(results, cell) && results.Figure(cell, "held.full") > 0 &&
                       results.Figure(cell, "held.share") < 1 - kApart;
  return moments ? " (which filled --ram for moments only)" : "";
}

// Returns the values of a figure in the cells of a group, with the engines' labels, the largest
// first. A measured cell without the figure has `otherwise`. Returns nothing unless the figure is
// known for at least two engines.
using Known = std::vector<std::pair<double, std::string>>;
Known KnownOf(const ResultSet& results, const Group& group, const std::string& figure,
              double otherwise) {
  Known known;
  std::set<std::string> engines;
  for (size_t cell : group.cells) {
    double value = results.Figure(cell, figure);
    if (!std::isfinite(value) && results.measured(cell)) value = otherwise;
    if (!std::isfinite(value)) continue;
    std::string label = EngineLabel(results, cell) + LabelsApart(results, group, cell);
    if (figure == kHeld) label += LeftUnusedNote(results, cell);
    known.emplace_back(value, std::move(label));
    engines.insert(EngineOf(results, cell));
  }
  if (engines.size() < 2) return {};
  std::sort(known.begin(), known.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  return known;
}

using Differ = std::function<bool(double most, double least)>;
using Write = std::function<std::string(double)>;

// Returns a line that names the groups in which a figure differs, the largest difference first; an
// empty string when it differs in none.
std::string Line(const ResultSet& results, const std::vector<Group>& groups,
                 const std::string& figure, const std::string& says, const Differ& differ,
                 const Write& write, double otherwise = NAN) {
  constexpr size_t kMostNamed = 3, kMostEach = 8;  // most groups, and most cells of a group
  std::vector<std::pair<double, std::string>> found;
  for (const Group& group : groups) {
    const Known known = KnownOf(results, group, figure, otherwise);
    if (known.empty() || !differ(known.front().first, known.back().first)) continue;
    std::vector<std::string> each;
    for (size_t i = 0; i < known.size(); ++i) {
      const bool named = i < kMostEach / 2 || i + kMostEach / 2 >= known.size();
      if (named) each.push_back(known[i].second + " " + write(known[i].first));
      if (!named && each.back() != "...") each.emplace_back("...");
    }
    found.emplace_back(
        known.back().first / known.front().first,
        fmt::format("{}{}{}", group.name, group.name.empty() ? "" : ": ", fmt::join(each, ", ")));
  }
  if (found.empty()) return "";
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text = "! " + says + ": ";
  for (size_t i = 0; i < std::min(found.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : "; ") + found[i].second;
  }
  if (found.size() > kMostNamed) {
    text +=
        fmt::format("; and in {}, by less", Counted(found.size() - kMostNamed, "more comparison"));
  }
  return text + "\n";
}

std::string MibText(double bytes) { return fmt::format("{:.0f} MiB", bytes / (1 << 20)); }

// Returns a line when an engine held different amounts of memory with different ways of reading:
// with direct IO only its cache, with the others all of --ram.
std::string WaysLine(const ResultSet& results, const std::vector<size_t>& cells) {
  std::vector<std::pair<double, std::string>> found;
  for (const Group& group : GroupsOf(results, cells, NamesWaysOfReading)) {
    std::map<std::string, double> held;  // by way of reading
    for (size_t cell : group.cells) {
      const double bytes = results.Figure(cell, kHeld);
      if (!NeededNoMore(results, cell) && std::isfinite(bytes)) {
        held[LabelOf(results, cell, NamesWaysOfReading)] = bytes;
      }
    }
    if (held.size() < 2) continue;
    const auto by_bytes = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [least, most] = std::minmax_element(held.begin(), held.end(), by_bytes);
    if (least->second >= (1 - kApart) * most->second) continue;
    found.emplace_back(
        least->second / most->second,
        fmt::format("{}{}{} {}, {} {}", group.name, group.name.empty() ? "" : ": ", most->first,
                    MibText(most->second), least->first, MibText(least->second)));
  }
  if (found.empty()) return "";
  const auto worst = std::min_element(found.begin(), found.end());
  std::string text = "! ways of reading held memory more than 10 % apart: " + worst->second;
  if (found.size() > 1) {
    text += fmt::format("; and in {}, by less", Counted(found.size() - 1, "more comparison"));
  }
  return text + "\n";
}

std::string MemoryLine(const ResultSet& results, const std::vector<Group>& groups) {
  return Line(
      results, groups, kHeld, "engines held memory more than 10 % apart",
      [](double most, double least) { return least < (1 - kApart) * most; }, MibText);
}

// The value of an option in a cell that does not set it.
constexpr double kDefault = -1;

// Returns a line that names the engines whose rounds were planned with different lengths. The least
// is as long as the longest when it is at least this share of it: `alike`.
std::string LengthLine(const ResultSet& results, const std::vector<Group>& groups,
                       const std::string& figure, const std::string& length, double alike = 1,
                       double otherwise = NAN) {
  return Line(
      results, groups, figure, "engines ran rounds of different length, in " + length,
      [alike](double most, double least) { return least < alike * most; },
      [](double n) { return n < 0 ? "by default" : fmt::format("{:.9g}", n); }, otherwise);
}

// Returns the largest value of the figure in these cells; 0 when no cell has it.
double MostOf(const ResultSet& results, const std::vector<size_t>& cells,
              const std::string& figure) {
  double most = 0;
  for (size_t cell : cells) {
    const double value = results.Figure(cell, figure);
    if (std::isfinite(value)) most = std::max(most, value);
  }
  return most;
}

// Returns the lines of measured phases whose number or planned seconds differ. Where phases have
// seconds of their own, as by "point-read 60s", the first phase that differs is named.
std::string PhasesLine(const ResultSet& results, const std::vector<Group>& groups,
                       const std::vector<size_t>& cells) {
  std::string text = LengthLine(results, groups, "planned.phases", "measured phases");
  if (MostOf(results, cells, "options.phase_seconds.count") == 0) {
    return text + LengthLine(results, groups, "options.seconds", "seconds");
  }
  const double phases = MostOf(results, cells, "planned.phases");
  for (int n = 1; text.empty() && n <= phases; ++n) {
    text = LengthLine(results, groups, fmt::format("planned.seconds_{}", n),
                      fmt::format("seconds of measured phase {}", n));
  }
  return text;
}

// Adds the groups of the cells that a term names (see UnequalMemory).
void AddGroupsOfTerm(const ResultSet& results, const std::vector<size_t>& cells,
                     std::vector<Group>* groups) {
  const std::vector<Group> alike = GroupsOf(results, cells);
  const bool have_counterparts = std::all_of(alike.begin(), alike.end(), [&](const Group& group) {
    return std::any_of(group.cells.begin(), group.cells.end(), [&](size_t cell) {
      return EngineOf(results, cell) != EngineOf(results, group.cells[0]);
    });
  });
  if (have_counterparts) {
    groups->insert(groups->end(), alike.begin(), alike.end());
    return;
  }
  std::map<double, Group> by_ram;
  for (const Group& group : alike) {
    for (size_t cell : group.cells) {
      const double ram = results.Figure(cell, "options.ram");
      by_ram[std::isfinite(ram) ? ram : 0].cells.push_back(cell);
    }
  }
  for (auto& [ram, group] : by_ram) groups->push_back(std::move(group));
}

}  // namespace

std::string UnequalMemory(const ResultSet& results,
                          const std::vector<std::vector<size_t>>& compared) {
  std::vector<Group> groups;
  for (const std::vector<size_t>& cells : compared) {
    std::vector<Group> of_term;
    AddGroupsOfTerm(results, cells, &of_term);
    for (Group& group : of_term) {
      std::sort(group.cells.begin(), group.cells.end());
      const bool known = std::any_of(groups.begin(), groups.end(),
                                     [&](const Group& g) { return g.cells == group.cells; });
      if (!known) groups.push_back(std::move(group));
    }
  }
  std::string line = MemoryLine(results, groups);
  if (!line.empty()) line.pop_back();
  return line;
}

std::string HeldText(const ResultSet& results, const std::vector<size_t>& cells) {
  std::vector<std::string> engines;  // in the order of the cells
  std::map<std::string, std::pair<double, double>> held;
  for (size_t cell : cells) {
    const double bytes = results.Figure(cell, kHeld);
    if (!std::isfinite(bytes)) continue;
    const std::string label = EngineLabel(results, cell);
    const auto [at, first] = held.emplace(label, std::pair(bytes, bytes));
    if (first) engines.push_back(label);
    at->second = {std::min(at->second.first, bytes), std::max(at->second.second, bytes)};
  }
  for (std::string& engine : engines) {
    const auto [least, most] = held[engine];
    const std::string lower = MibText(least), upper = MibText(most);
    engine += lower == upper ? " " + upper : fmt::format(" {:.0f} to {}", least / (1 << 20), upper);
  }
  return fmt::format("{}", fmt::join(engines, ", "));
}

std::string UnequalTerms(const ResultSet& results, const std::vector<size_t>& cells) {
  const std::vector<Group> groups = GroupsOf(results, cells);
  std::string text = MemoryLine(results, groups) + WaysLine(results, cells);
  // Some workloads set their number of rows by options of their own; then the loaded rows are
  // compared. A graph may have slightly more rows with another seed.
  const std::string rows = LengthLine(results, groups, "options.rows", "rows");
  text += rows.empty() ? LengthLine(results, groups, "loaded.rows", "rows that were loaded", 0.99)
                       : rows;
  text += LengthLine(results, groups, "options.operations", "operations");
  text += PhasesLine(results, groups, cells);
  // Options by which a workload plans the length of steps that do not load.
  const std::vector<std::string> length_options = {"nr2", "nr2_share", "query_seconds"};
  for (const std::string& option : length_options) {
    text += LengthLine(results, groups, "options.workload_options." + option,
                       "--workload-option " + option, 1, kDefault);
  }
  return text;
}

std::vector<std::string> HostsLines(const ResultSet& results, const std::vector<size_t>& cells) {
  std::map<std::set<std::string>, std::vector<int>> rounds;
  for (int round = 1; round <= results.rounds(); ++round) {
    std::set<std::string> hosts;
    for (size_t cell : cells) hosts.insert(results.host(cell, round));
    hosts.erase("");
    if (hosts.size() > 1) rounds[hosts].push_back(round);
  }
  std::vector<std::string> lines;
  for (const auto& [hosts, of_hosts] : rounds) {
    lines.push_back(fmt::format(
        "! cells of round{} {} ran on {}: the differences between the cells include those between "
        "these hosts",
        of_hosts.size() == 1 ? "" : "s", fmt::join(of_hosts, ", "), fmt::join(hosts, ", ")));
  }
  return lines;
}

std::vector<std::string> HostsLinesOfTerms(const ResultSet& results,
                                           const std::vector<std::vector<size_t>>& compared) {
  std::vector<std::string> all;
  for (const std::vector<size_t>& cells : compared) {
    for (std::string& line : HostsLines(results, cells)) {
      if (std::find(all.begin(), all.end(), line) == all.end()) all.push_back(std::move(line));
    }
  }
  return all;
}

std::string EndedEarlyText(const ResultSet& results, const std::vector<size_t>& cells) {
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> names;
  for (size_t cell : cells) {
    const std::string& name = results.cells()[cell].name;
    const bool named = std::find(names.begin(), names.end(), name) != names.end();
    if (results.Figure(cell, "planned.ended_early") > 0 && !named) names.push_back(name);
  }
  if (names.empty()) return "";
  const size_t told = std::min(names.size(), kMostNamed), more = names.size() - told;
  names.resize(told);
  return fmt::format("! phases ended early, because no row was left for an operation: {}{}",
                     fmt::join(names, "; "),
                     more == 0 ? "" : fmt::format("; and in {}", Counted(more, "more cell")));
}

}  // namespace testbed
