#include "engines/fractal/check.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/log/log_reader.h"
#include "device/os/dir_lock.h"
#include "device/os/signal_guard.h"
#include "engines/fractal/cache/meta.h"
#include "engines/fractal/log_record.h"
#include "engines/fractal/node/lay_over.h"
#include "engines/fractal/node/node_image.h"

namespace testbed::fractal {
namespace {

// A KeyRange is the range of keys that a node may have: low <= k, and k < high unless there is no
// bound.
struct KeyRange {
  std::string low;
  std::optional<std::string> high;
  bool Has(std::string_view key) const { return key >= low && (!high || key < *high); }
};

// Returns the sentence for a part of the data file that the device does not deliver.
std::string Unreadable(const std::string& what, const Error& error) {
  return what + " cannot be read: " + error.what();
}

// Returns the bytes of those files of the log that are there. CheckLog reports a missing log.
uint64_t LogBytes(const std::string& path) {
  namespace fs = std::filesystem;
  uint64_t bytes = 0;
  std::error_code none;
  for (fs::directory_iterator at(path, none), end; !none && at != end; at.increment(none)) {
    std::error_code gone;
    const uint64_t size = at->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

class Checker {
 public:
  Checker(const std::string& dir, const InspectOptions& options, Inspection* inspection)
      : dir_(dir), options_(options), inspection_(inspection) {}
  void Run();

 private:
  void AddFault(std::optional<uint64_t> byte, std::string what, bool note = false);
  bool ReadHeaders();
  void CheckSpace();
  void CheckLog();
  void CountRecord(const LogRecord& record, ReplayNeeded* replay, TransactionParts* parts);
  void WalkTables(const std::vector<TableEntry>& tables);
  std::optional<TreePage> WalkNode(BlockId block, uint32_t level, const KeyRange& range,
                                   uint32_t drawn);
  bool ReadNode(BlockId block, const BlockPlace& place, Node* node);
  void CheckLeaf(const Node& node, const BlockPlace& place, const std::vector<KeyRange>& ranges);
  void CountRows(const BasementRef& rows, const KeyRange& range);
  void CheckInner(const Node& node, const BlockPlace& place, const std::vector<KeyRange>& ranges);
  void CountParts(const Node& node, const BlockPlace& place);
  void CountFile();
  void Progress();

  const std::string dir_;
  const InspectOptions& options_;
  Inspection* const inspection_;
  std::unique_ptr<File> file_;
  Header header_;
  BlockTable::Blocks blocks_;
  std::unordered_set<BlockId> reached_;
  std::optional<Lsn> log_end_;
  TreeStats* tree_ = nullptr;  // statistics of the table that is being checked
  std::string table_;          // name of that table
  // These are the buffers on the way from the root to the node that is being checked.
  std::vector<const MessageBuffer*> above_;
  uint64_t rows_bytes_ = 0, message_bytes_ = 0, header_bytes_ = 0, padding_bytes_ = 0;
  std::map<uint32_t, PageCount> nodes_;  // the key is the node's level
  uint64_t done_ = 0;
};

void Checker::AddFault(std::optional<uint64_t> byte, std::string what, bool note) {
  Fault fault;
  fault.file = DataPath(dir_);
  fault.byte = byte;
  fault.table = table_;
  fault.what = std::move(what);
  (note ? inspection_->notes : inspection_->faults).Add(std::move(fault));
}

bool Checker::ReadHeaders() {
  bool found = false;
  std::vector<std::pair<int, std::string>> broken;
  for (const int slot : {0, 1}) {
    HeaderSlot read;
    try {
      read = ReadHeaderSlot(file_.get(), slot);
    } catch (const Error& e) {
      AddFault(slot * kHeaderSlot, Unreadable("the header", e));
      continue;
    }
    if (read.empty) continue;
    if (!read.fault.empty()) {
      broken.emplace_back(slot, read.fault);
    } else if (!found || read.header.number > header_.number) {
      header_ = read.header;
      found = true;
    }
  }
  // The next checkpoint writes the other slot. A crash during that write leaves the other slot
  // torn, so that is only a note.
  for (const auto& [slot, why] : broken) {
    AddFault(slot * kHeaderSlot, why, found && header_.number % 2 != static_cast<uint64_t>(slot));
  }
  // A new database gets its name after its first header is in place, so a header must be there.
  if (!found && inspection_->faults.count == 0) AddFault(0, "neither slot has a header");
  if (found && header_.version > kFormatVersion) {
    throw Error(Error::kUsage, "the fractal database in " + dir_ + " has a newer format");
  }
  return found;
}

void Checker::CheckSpace() {
  std::map<uint64_t, uint64_t> extents = {{header_.table_offset, header_.table_bytes}};
  for (const auto& [block, place] : blocks_) {
    if (!extents.emplace(place.offset, place.bytes).second) {
      AddFault(place.offset, "two blocks have this extent");
    }
  }
  uint64_t end = kFileBegin, used = 0;
  for (const auto& [offset, bytes] : extents) {
    if (offset < end) AddFault(offset, "an extent begins inside of another");
    end = std::max(end, offset + bytes);
    used += bytes;
  }
  const uint64_t size = file_->Size();
  if (end > size) AddFault(size, "the file ends before its last extent");
  inspection_->pages = {{"headers", 2, kFileBegin}, {"translation table", 1, header_.table_bytes}};
  const uint64_t known = kFileBegin + used;
  inspection_->pages.push_back({"free", 0, size > known ? size - known : 0});
}

void Checker::CountRecord(const LogRecord& record, ReplayNeeded* replay, TransactionParts* parts) {
  ++replay->records;
  replay->log_bytes = record.end - header_.replay_from;
  const DecodedRecord decoded = DecodeRecord(record.bytes);
  if (decoded.is_table) return;
  std::optional<std::string_view> operations = parts->Add(decoded.part);
  if (!operations) return;
  ++replay->transactions;
  RowWrite op;
  while (NextOperation(&*operations, &op)) ++replay->rows;
}

void Checker::CheckLog() {
  ReplayNeeded replay;
  try {
    LogReader reader(LogPath(dir_), header_.replay_from);
    LogRecord record;
    Lsn end = header_.replay_from;
    TransactionParts parts;
    while (reader.Next(&record)) {
      CountRecord(record, &replay, &parts);
      end = record.end;
    }
    replay.unfinished = parts.unfinished();
    log_end_ = end;
    if (reader.tail().log_id != header_.log_id) {
      AddFault(std::nullopt, "the log in " + LogPath(dir_) + " belongs to another database");
    }
  } catch (const Error& e) {
    AddFault(std::nullopt, std::string("its log: ") + e.what());
  }
  inspection_->replay = replay;
}

bool Checker::ReadNode(BlockId block, const BlockPlace& place, Node* node) {
  std::string bytes(place.bytes, '\0');
  const std::string name = "block " + std::to_string(block) + ": ";
  size_t got = 0;
  try {
    got = file_->ReadSome(place.offset, bytes.data(), bytes.size());
  } catch (const Error& e) {
    AddFault(place.offset, name + Unreadable("it", e));
    return false;
  }
  if (got < bytes.size()) {
    AddFault(place.offset, name + "it is cut off by the end of the file");
    return false;
  }
  std::string why;
  const std::string_view header(bytes.data(), place.header_bytes);
  if (!ParseHeader(header, place.bytes, node, &why)) {
    AddFault(place.offset, name + why);
    return false;
  }
  if (ChecksumOf(header) != place.header_checksum) {
    AddFault(place.offset, name + "it is another version than the translation table's");
    return false;
  }
  bool sound = true;
  for (Part& part : node->parts) {
    const std::string_view stored =
        std::string_view(bytes).substr(part.place.start, part.place.stored);
    if (ParsePart(stored, part.place, block, node->leaf(), &part, &why)) continue;
    AddFault(place.offset + part.place.start, name + why);
    sound = false;
  }
  return sound;
}

void Checker::CountParts(const Node& node, const BlockPlace& place) {
  uint64_t stored = 0;
  for (const Part& part : node.parts) stored += part.place.stored;
  (node.leaf() ? rows_bytes_ : message_bytes_) += stored;
  header_bytes_ += place.header_bytes;
  padding_bytes_ += place.bytes - place.header_bytes - stored;
  tree_->levels[node.height].bytes += place.bytes;
  PageCount& count = nodes_[node.height];
  ++count.pages;
  count.bytes += place.bytes;
}

// Splits the space of all files by its use. The nodes that were not counted by their levels have
// parts of their own, so that the parts add up to the files.
void Checker::CountFile() {
  PageCount damaged{"damaged nodes", 0, 0};
  PageCount others{options_.table.empty() ? "nodes not reached" : "nodes of other tables", 0, 0};
  for (const auto& [block, place] : blocks_) {
    PageCount& count = reached_.contains(block) ? damaged : others;
    ++count.pages;
    count.bytes += place.bytes;
  }
  for (auto& [level, count] : nodes_) {
    count.type = level == 0 ? "leaf nodes" : "inner nodes, level " + std::to_string(level);
    inspection_->pages.push_back(count);
    damaged.pages -= count.pages;
    damaged.bytes -= count.bytes;
  }
  for (const PageCount& count : {damaged, others}) {
    if (count.pages > 0) inspection_->pages.push_back(count);
  }
  for (const PageCount& count : inspection_->pages) {
    inspection_->disk.emplace_back(count.type, count.bytes);
  }
  inspection_->disk.emplace_back("log", LogBytes(LogPath(dir_)));
}

// Counts the rows of a part of a leaf as a scan finds them, with the messages that wait above the
// leaf laid over them.
void Checker::CountRows(const BasementRef& rows, const KeyRange& range) {
  std::optional<std::string_view> high;
  if (range.high) high = *range.high;
  const BasementRef found = LayBuffersOver(rows, above_, range.low, high);
  tree_->rows += found->count();
  for (uint32_t i = 0; i < found->count(); ++i) {
    tree_->key_bytes += found->key(i).size();
    tree_->value_bytes += found->value(i).size();
  }
}

void Checker::CheckLeaf(const Node& node, const BlockPlace& place,
                        const std::vector<KeyRange>& ranges) {
  LevelStats& level = tree_->levels[0];
  for (size_t p = 0; p < node.parts.size(); ++p) {
    const Basement& rows = *node.parts[p].rows;
    CountRows(node.parts[p].rows, ranges[p]);
    ++level.pages;
    level.entries += rows.count();
    const double fill = static_cast<double>(rows.bytes().size()) / header_.page_size;
    level.used_bytes += std::min<uint64_t>(rows.bytes().size(), header_.page_size);
    level.capacity_bytes += header_.page_size;
    ++level.fill[std::min<size_t>(9, static_cast<size_t>(fill * 10))];
    // The rows are in ascending order, or the part would not have been read. So the first and the
    // last row show whether all lie in the range.
    if (rows.count() > 0 &&
        !(ranges[p].Has(rows.key(0)) && ranges[p].Has(rows.key(rows.count() - 1)))) {
      AddFault(
          place.offset + node.parts[p].place.start,
          "block " + std::to_string(node.block) + ": a row is outside of its read page's keys");
    }
  }
}

void Checker::CheckInner(const Node& node, const BlockPlace& place,
                         const std::vector<KeyRange>& ranges) {
  LevelStats& level = tree_->levels[node.height];
  level.pages += (place.bytes + header_.page_size - 1) / header_.page_size;
  level.entries += node.parts.size();
  level.capacity_bytes += header_.node_size;
  uint64_t buffered = 0;
  for (size_t p = 0; p < node.parts.size(); ++p) {
    buffered += node.parts[p].raw_bytes();
    const std::string name = "block " + std::to_string(node.block) + ": a message ";
    const uint64_t at = place.offset + node.parts[p].place.start;
    for (const Message& m : node.parts[p].buffer->All()) {
      if (!ranges[p].Has(m.key)) AddFault(at, name + "is outside of its child's keys");
      if (m.number > node.max_number) AddFault(at, name + "is newer than its node says");
      if (log_end_ && m.number >= *log_end_) AddFault(at, name + "is newer than the log");
    }
  }
  level.used_bytes += std::min(buffered, header_.node_size);
  const double fill = static_cast<double>(buffered) / static_cast<double>(header_.node_size);
  ++level.fill[std::min<size_t>(9, static_cast<size_t>(fill * 10))];
}

void Checker::Progress() {
  if (StopRequested()) inspection_->stopped = true;
  if (options_.progress) options_.progress(++done_, blocks_.size());
}

// Returns the drawing of the node when it is in one of the `drawn` levels.
std::optional<TreePage> Checker::WalkNode(BlockId block, uint32_t level, const KeyRange& range,
                                          uint32_t drawn) {
  if (inspection_->stopped) return std::nullopt;
  const auto at = blocks_.find(block);
  const std::string name = "block " + std::to_string(block);
  if (at == blocks_.end()) {
    AddFault(std::nullopt, name + " is a child, and the translation table does not have it");
    return std::nullopt;
  }
  if (!reached_.insert(block).second) {
    AddFault(at->second.offset, name + " has two parents");
    return std::nullopt;
  }
  Progress();
  Node node(block);
  if (!ReadNode(block, at->second, &node)) return std::nullopt;
  if (level != UINT32_MAX && node.height != level) {
    AddFault(at->second.offset, name + " has another height than its parent says");
    return std::nullopt;
  }
  if (tree_->levels.size() <= node.height) tree_->levels.resize(node.height + 1);
  std::vector<KeyRange> ranges;
  for (size_t p = 0; p < node.parts.size(); ++p) {
    KeyRange part = range;
    if (p > 0) part.low = node.pivots[p - 1];
    if (p < node.pivots.size()) part.high = node.pivots[p];
    ranges.push_back(std::move(part));
  }
  for (const std::string& pivot : node.pivots) {
    if (!range.Has(pivot)) AddFault(at->second.offset, name + " has a pivot that is not its own");
  }
  CountParts(node, at->second);
  node.leaf() ? CheckLeaf(node, at->second, ranges) : CheckInner(node, at->second, ranges);
  TreePage page;
  page.page = block;
  page.level = node.height;
  page.entries = node.leaf() ? node.RowsInMemory() : node.parts.size();
  page.fill = static_cast<double>(node.raw_bytes()) / static_cast<double>(header_.node_size);
  page.low = KeyText(range.low);
  if (range.high) page.high = KeyText(*range.high);
  if (!node.leaf()) {
    for (size_t p = 0; p < node.parts.size(); ++p) {
      above_.push_back(node.parts[p].buffer.get());
      auto child =
          WalkNode(node.parts[p].child, node.height - 1, ranges[p], drawn > 0 ? drawn - 1 : 0);
      above_.pop_back();
      if (!child || drawn < 2) continue;
      if (page.children.size() < options_.shape_children || p + 1 == node.parts.size()) {
        page.children.push_back(std::move(*child));
      } else {
        ++page.hidden;
      }
    }
  }
  if (drawn == 0) return std::nullopt;
  return page;
}

void Checker::WalkTables(const std::vector<TableEntry>& tables) {
  for (const TableEntry& table : tables) {
    if (inspection_->stopped) break;
    if (!options_.table.empty() && options_.table != table.name) continue;
    TreeStats stats;
    stats.table = table_ = table.name;
    tree_ = &stats;
    rows_bytes_ = message_bytes_ = header_bytes_ = padding_bytes_ = 0;
    stats.shape = WalkNode(table.root, UINT32_MAX, KeyRange{}, options_.shape_levels);
    stats.parts = {{"rows", rows_bytes_},
                   {"messages", message_bytes_},
                   {"node headers", header_bytes_},
                   {"padding", padding_bytes_}};
    inspection_->trees.push_back(std::move(stats));
  }
  table_.clear();
  tree_ = nullptr;
  // The extent of the translation table also holds the catalogue. A database may have no table yet.
  if (inspection_->trees.empty()) inspection_->trees.push_back({"(catalogue)", true});
}

void Checker::Run() {
  FileOptions options;
  options.read_only = true;
  file_ = File::Open(DataPath(dir_), options);
  if (!ReadHeaders()) return;
  inspection_->page_size = header_.page_size;
  std::vector<TableEntry> tables;
  std::string why;
  try {
    if (!ReadTable(file_.get(), header_, &tables, &blocks_, &why)) {
      return AddFault(header_.table_offset, why);
    }
  } catch (const Error& e) {
    return AddFault(header_.table_offset, Unreadable("the translation table", e));
  }
  const bool known = std::any_of(tables.begin(), tables.end(),
                                 [this](const TableEntry& t) { return t.name == options_.table; });
  if (!options_.table.empty() && !known) {
    throw Error(Error::kUsage,
                "the fractal database in " + dir_ + " has no table " + options_.table);
  }
  CheckSpace();
  CheckLog();
  WalkTables(tables);
  if (options_.table.empty() && !inspection_->stopped) {
    for (const auto& [block, place] : blocks_) {
      if (!reached_.contains(block) && inspection_->faults.count == 0) {
        AddFault(place.offset, "block " + std::to_string(block) + " belongs to no table");
      }
    }
  }
  CountFile();
}

}  // namespace

Inspection InspectDatabase(const std::string& dir, const InspectOptions& options) {
  std::error_code none;
  if (!std::filesystem::exists(DataPath(dir), none)) {
    throw Error(Error::kUsage, "the directory " + dir + " holds no fractal database");
  }
  const DirLock lock(dir, "the database in");
  Inspection inspection;
  inspection.faults.most = inspection.notes.most = options.most_faults;
  Checker(dir, options, &inspection).Run();
  return inspection;
}

}  // namespace testbed::fractal
