#include "engines/btree/inspect/check.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "device/error.h"
#include "engines/btree/inspect/image.h"
#include "engines/btree/inspect/tree_stats.h"
#include "engines/btree/inspect/walk.h"
#include "engines/btree/tree/change_buffer.h"

namespace testbed::btree {
namespace {

constexpr char kCatalogueName[] = "(catalogue)";

// StorePages reads the pages of an open store from its data file.
class StorePages : public PageReader {
 public:
  explicit StorePages(PageFile* file) : file_(file) {}
  PageState Read(PageId id, char* page, std::string* why) override {
    try {
      return file_->Inspect(id, page);
    } catch (const Error& e) {
      *why = e.what();
      return PageState::kBroken;
    }
  }

 private:
  PageFile* const file_;
};

// A Checker walks all trees and then looks at the pages that no tree has.
class Checker {
 public:
  // `log` is null when there is no log to check.
  Checker(const WalkInput& input, const RedoIndex* log, const InspectOptions& options,
          Inspection* inspection)
      : input_(input),
        log_(log),
        options_(options),
        inspection_(inspection),
        walk_(input, inspection) {}

  void Run() {
    walk_.Take(0, Walk::kSuper);
    WalkCatalogue();
    for (const TableRoot& table : tables_) {
      if (options_.table.empty() || options_.table == table.name) WalkTable(table, {});
    }
    if (options_.table.empty()) {
      CheckLogTables();
      if (input_.space && !walk_.stopped()) CheckLoosePages();
    }
    CountPages();
  }

 private:
  // A Loose is a node on a used page that no tree has reached.
  struct Loose {
    uint8_t level;
    PageId page;
  };

  void WalkTable(const TableRoot& table, const Walk::Rows& rows) {
    TreeStats stats = walk_.Tree(table, rows);
    stats.own = table.name == kCatalogueName || table.name == kChangeBufferTable;
    if (options_.shape_levels > 0 && !stats.levels.empty()) {
      stats.shape = ReadShape(input_.reader, input_.page_size, table.root, options_);
    }
    if (options_.table.empty() || options_.table == table.name) {
      inspection_->trees.push_back(std::move(stats));
    }
  }

  void WalkCatalogue();
  void AddTable(const std::string& name, std::string_view value, const Pointer& from);
  void CheckLogTables();
  void CheckLoosePages();
  void LookAtFree(PageId id);
  void LookAtLost(PageId id);
  void CheckLostTrees();
  void CheckLostRuns();
  void CheckLostBroken();
  void NoteExcused();
  void CountPages();
  // Returns whether damage in the tree of this table, or in the catalogue, explains why pages of
  // the table were not reached. Such pages are no faults of their own.
  bool Excused(uint32_t table) const { return walk_.cut(table) || walk_.cut(kCatalogueTable); }
  std::string NameOf(uint32_t table) const {
    if (table == kCatalogueTable) return kCatalogueName;
    const auto name = names_.find(table);
    return name == names_.end() ? "number " + std::to_string(table) : name->second;
  }

  const WalkInput input_;
  const RedoIndex* const log_;
  const InspectOptions& options_;
  Inspection* const inspection_;
  Walk walk_;
  std::vector<TableRoot> tables_;          // sorted by name, behind the change buffer's
  std::map<uint32_t, std::string> names_;  // names by table number
  // These are the used pages that no tree has reached.
  std::vector<Loose> lost_nodes_;
  std::vector<PageId> lost_broken_;
  std::vector<std::pair<PageId, uint32_t>> lost_overflow_;  // pairs of page and table
  uint64_t excused_ = 0;  // number of unreached pages for which Excused() is true
};

// Adds the table of a row of the catalogue, or a fault when the row cannot be right.
void Checker::AddTable(const std::string& name, std::string_view value, const Pointer& from) {
  TableRoot table;
  table.name = name;
  table.from = from;
  if (value.size() != 8) {
    return walk_.Damage(from.page, from.byte, "a row of the catalogue has the wrong size", "8",
                        std::to_string(value.size()));
  }
  std::memcpy(&table.number, value.data(), 4);
  std::memcpy(&table.root, value.data() + 4, 4);
  table.from.byte += 4;
  if (table.number == kCatalogueTable || table.number >= kMaxTables) {
    return walk_.Damage(from.page, from.byte, "the catalogue has a table with a wrong number",
                        "1 to " + std::to_string(kMaxTables - 1), std::to_string(table.number));
  }
  if (!names_.emplace(table.number, name).second) {
    return walk_.Damage(from.page, from.byte, "the catalogue has two tables with one number", "",
                        std::to_string(table.number));
  }
  tables_.push_back(std::move(table));
}

// Walks the catalogue's tree and collects the tables, including those that are only in the log.
void Checker::WalkCatalogue() {
  TableRoot catalogue;
  catalogue.name = kCatalogueName;
  catalogue.number = kCatalogueTable;
  catalogue.root = kCatalogueRoot;
  WalkTable(catalogue, [this](PageId page, const Node& leaf) {
    for (uint32_t i = 0; i < leaf.count(); ++i) {
      const uint64_t at = leaf.CellAt(i) + leaf.Suffix(i).size() + sizeof(uint16_t);
      AddTable(leaf.Key(i), leaf.Value(i).bytes, {page, at});
    }
  });
  const auto known = [this](const std::string& name) {
    return std::any_of(tables_.begin(), tables_.end(),
                       [&](const TableRoot& table) { return table.name == name; });
  };
  if (log_ != nullptr) {
    for (const auto& [name, value] : log_->catalogue()) {
      if (!known(name)) AddTable(name, value, {kCatalogueRoot, 0});
    }
  }
  const auto place = [](const TableRoot& table) {
    return std::pair<bool, std::string_view>(table.name != kChangeBufferTable, table.name);
  };
  std::sort(tables_.begin(), tables_.end(),
            [&](const TableRoot& a, const TableRoot& b) { return place(a) < place(b); });
  if (options_.table.empty() || options_.table == kCatalogueName || known(options_.table) ||
      walk_.cut(kCatalogueTable)) {
    return;
  }
  std::string names;
  for (const TableRoot& table : tables_) names += (names.empty() ? "" : ", ") + table.name;
  throw Error(Error::kUsage, "the database has no table " + options_.table + "; it has " +
                                 (names.empty() ? "none" : names));
}

void Checker::CheckLogTables() {
  if (log_ == nullptr || walk_.cut(kCatalogueTable)) return;
  for (const auto& [table, lsn] : log_->tables()) {
    if (table == kCatalogueTable || names_.contains(table)) continue;
    inspection_->faults.Add(log_->At(lsn, "a record has a row of table " + std::to_string(table) +
                                              ", which the catalogue does not have"));
  }
}

// Looks at the pages that belong to no tree: free pages, and used pages that should have been
// reached.
void Checker::CheckLoosePages() {
  for (PageId id = 1; id < walk_.pages() && !walk_.stopped(); ++id) {
    if (walk_.seen(id)) continue;
    if (walk_.used(id)) {
      LookAtLost(id);
    } else if (id < walk_.file_pages()) {
      LookAtFree(id);
    }
  }
  if (walk_.stopped()) return;
  CheckLostTrees();
  CheckLostRuns();
  CheckLostBroken();
  NoteExcused();
}

void Checker::LookAtFree(PageId id) {
  std::string why;
  if (walk_.ReadLoose(id, &why) != PageState::kBroken) return;
  inspection_->notes.Add(walk_.At(id, 0,
                                  "it is free, and its checksum does not match: harmless, as it is "
                                  "written before it is read again"));
}

void Checker::LookAtLost(PageId id) {
  std::string why;
  const bool valid = walk_.ReadLoose(id, &why) == PageState::kValid;
  const Node node(walk_.page(), input_.page_size);
  if (valid && node.header()->type == PageType::kOverflow) {
    lost_overflow_.emplace_back(id, node.header()->table);
  } else if (valid && node.Validate().empty()) {
    lost_nodes_.push_back({node.header()->level, id});
  } else {
    lost_broken_.push_back(id);
  }
}

// Walks lost nodes from the highest level down, so that only the topmost page of a tree that was
// cut off becomes a fault.
void Checker::CheckLostTrees() {
  std::sort(lost_nodes_.begin(), lost_nodes_.end(), [](const Loose& a, const Loose& b) {
    return std::tuple(-a.level, a.page) < std::tuple(-b.level, b.page);
  });
  for (const Loose& loose : lost_nodes_) {
    std::string why;
    if (walk_.seen(loose.page) || walk_.stopped()) continue;
    if (walk_.ReadLoose(loose.page, &why) != PageState::kValid) continue;
    const uint32_t table = Header(walk_.page())->table;
    const bool excused = Excused(table);
    const auto taken = [&] {
      return walk_.counts()[Walk::kLeaf] + walk_.counts()[Walk::kInner] +
             walk_.counts()[Walk::kOverflow];
    };
    const uint64_t before = taken();
    walk_.Orphan(loose.page, NameOf(table), !excused);
    if (excused) excused_ += taken() - before;
  }
}

// Reports each run of consecutive lost overflow pages of one table as a single fault.
void Checker::CheckLostRuns() {
  for (size_t i = 0; i < lost_overflow_.size();) {
    const auto [first, table] = lost_overflow_[i];
    if (walk_.seen(first)) {
      ++i;
      continue;
    }
    PageId pages = 0;
    for (; i < lost_overflow_.size() && lost_overflow_[i].first == first + pages &&
           lost_overflow_[i].second == table && !walk_.seen(first + pages);
         ++i, ++pages) {
      walk_.Take(first + pages, Walk::kOverflow);
    }
    if (Excused(table)) {
      excused_ += pages;
      continue;
    }
    Fault fault = walk_.At(
        first, 0, "the space map calls it used, but nothing points to it", "",
        "overflow pages " + std::to_string(first) + " to " + std::to_string(first + pages - 1));
    fault.table = NameOf(table);
    inspection_->faults.Add(std::move(fault));
  }
}

// Reports broken pages that nothing points to. It comes last, because a tree that was cut off may
// point to such a page.
void Checker::CheckLostBroken() {
  for (const PageId id : lost_broken_) {
    if (walk_.seen(id)) continue;
    std::string why, expected, found;
    const PageState state = walk_.ReadLoose(id, &why);
    const char* page = walk_.page();
    const std::string more = state == PageState::kValid ? Node(page, input_.page_size).Validate()
                                                        : PageFault(state, page, input_.page_size,
                                                                    id, why, &expected, &found);
    walk_.Take(id, Walk::kUnreadable);
    walk_.Damage(id, 0, "the space map calls it used, but nothing points to it, and " + more,
                 std::move(expected), std::move(found));
  }
}

// Adds a note on the pages that the walk did not reach because of damage above them.
void Checker::NoteExcused() {
  if (excused_ == 0) return;
  Fault note;
  note.file = input_.path;
  note.what = std::to_string(excused_) +
              " pages are not reached from their tables' roots because of the damage above; each "
              "was checked by itself";
  inspection_->notes.Add(std::move(note));
}

void Checker::CountPages() {
  const uint64_t in_file = walk_.file_pages();
  uint64_t other = 0, free = 0;
  for (PageId id = 0; id < walk_.pages() && id < in_file; ++id) {
    if (!walk_.seen(id)) ++(walk_.used(id) || !input_.space ? other : free);
  }
  const auto add = [&](const char* type, uint64_t pages) {
    if (pages > 0) inspection_->pages.push_back({type, pages, pages * input_.page_size});
  };
  const auto& counts = walk_.counts();
  add("superblock", counts[Walk::kSuper]);
  add("leaf", counts[Walk::kLeaf]);
  add("inner", counts[Walk::kInner]);
  add("overflow", counts[Walk::kOverflow]);
  add("damaged", counts[Walk::kUnreadable]);
  add(options_.table.empty() ? "not reached" : "of other tables", other);
  add("free", free);
  add("not in the space map", in_file - std::min<uint64_t>(in_file, walk_.pages()));
  if (const uint64_t rest = input_.data_bytes % input_.page_size; rest > 0) {
    inspection_->pages.push_back({"cut off", 0, rest});
  }
}

}  // namespace

CheckReport CheckStore(Store* store) {
  store->Checkpoint();
  StorePages pages(store->file());
  WalkInput input;
  input.reader = &pages;
  input.page_size = store->options().page_size;
  input.path = store->file()->data().path();
  input.data_bytes = store->file()->data().Size();
  input.space = store->space()->Snapshot();
  Extend(&*input.space, store->space()->file_pages());
  input.log_end = store->log()->EndLsn();
  Inspection inspection;
  inspection.faults.most = CheckReport::kMaxProblems;
  AlignedBuffer super(input.page_size);
  if (store->file()->Inspect(0, super.data()) != PageState::kValid) {
    Fault fault;
    fault.file = input.path;
    fault.page = 0;
    fault.what = "its checksum does not match";
    inspection.faults.Add(std::move(fault));
  }
  const InspectOptions options;
  Checker(input, nullptr, options, &inspection).Run();
  CheckReport report;
  for (const Fault& fault : inspection.faults.kept) report.problems.push_back(fault.Text());
  report.problem_count = inspection.faults.count;
  report.trees = std::move(inspection.trees);
  report.page_size = input.page_size;
  report.file_pages = store->space()->file_pages();
  report.used_pages = store->space()->used_pages();
  return report;
}

Inspection InspectDatabase(const std::string& dir, const InspectOptions& options) {
  Inspection inspection;
  inspection.faults.most = inspection.notes.most = options.most_faults;
  Image image(dir, &inspection);
  if (image.page_size() == 0) return inspection;
  WalkInput input;
  input.reader = &image;
  input.page_size = image.page_size();
  input.path = image.data_path();
  input.data_bytes = image.data_bytes();
  input.space = image.space();
  input.log_end = image.log_end();
  input.progress = options.progress;
  Checker(input, image.log(), options, &inspection).Run();
  if (image.log() != nullptr && !image.log_end()) {
    Fault note;
    note.file = image.data_path();
    note.what =
        "the log cannot be read to its end, so trees that need its later records may look damaged";
    inspection.notes.Add(std::move(note));
  }
  for (const PageCount& count : inspection.pages) {
    inspection.disk.emplace_back(count.type + (count.type == "superblock" ? "" : " pages"),
                                 count.bytes);
  }
  inspection.holes = image.holes();
  for (auto& part : image.OtherFiles()) inspection.disk.push_back(std::move(part));
  return inspection;
}

}  // namespace testbed::btree
