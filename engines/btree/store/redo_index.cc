#include "engines/btree/store/redo_index.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "device/error.h"
#include "engines/btree/store/store.h"
#include "engines/btree/tree/overflow.h"

namespace testbed::btree {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLeastSegment = 64ull << 10, kMostSegment = 1ull << 30;

Fault InFile(const std::string& path, uint64_t byte, std::string what, std::string expected = {},
             std::string found = {}) {
  Fault fault;
  fault.file = path;
  fault.byte = byte;
  fault.what = std::move(what);
  fault.expected = std::move(expected);
  fault.found = std::move(found);
  return fault;
}

}  // namespace

const RedoIndex::Segment* RedoIndex::Find(Lsn lsn) const {
  for (const Segment& segment : segments_) {
    if (segment.header.first_lsn <= lsn && lsn < segment.header.end()) return &segment;
  }
  return nullptr;
}

Fault RedoIndex::At(Lsn lsn, std::string what) const {
  Fault fault;
  fault.what = std::move(what);
  const Segment* segment = Find(lsn);
  fault.file = segment == nullptr ? directory_ : segment->path;
  if (segment != nullptr) fault.byte = lsn - segment->header.first_lsn;
  return fault;
}

bool RedoIndex::ReadHeader(const std::string& path, uint64_t number, bool last) {
  FileOptions options;
  options.kind = FileKind::kLog;
  options.read_only = true;
  auto file = File::Open(path, options);
  const uint64_t size = file->Size();
  char block[kSegmentHeaderUsed];
  const size_t n = file->ReadSome(0, block, sizeof block);
  Segment segment;
  segment.path = path;
  switch (DecodeSegmentHeader({block, n}, path, &segment.header)) {
    case HeaderState::kBlank:
      return true;  // a segment that was never used
    case HeaderState::kDamaged:
      if (!segments_.empty() && IsHalfMade(segments_.back().header, number, last)) return true;
      faults_->Add(InFile(path, 0, "its header is neither blank nor does it match its checksum"));
      return false;
    case HeaderState::kValid:
      break;
  }
  if (segment.header.number != number) return true;  // a recycled segment with its old header
  if (size > segment.header.segment_bytes) {
    faults_->Add(InFile(path, size, "it is too long for a segment of the log",
                        std::to_string(segment.header.segment_bytes) + " bytes",
                        std::to_string(size)));
  }
  segments_.push_back(std::move(segment));
  return true;
}

// Checks headers with a right checksum for values that a log cannot have, since LogReader relies on
// them. Returns false when it added a fault.
bool RedoIndex::CheckHeaders() {
  bool good = true;
  const auto wrong = [&](const Segment& segment, const char* what, uint64_t expected,
                         uint64_t found) {
    faults_->Add(InFile(segment.path, 0, what, std::to_string(expected), std::to_string(found)));
    good = false;
  };
  for (size_t i = 0; i < segments_.size(); ++i) {
    const SegmentHeader& h = segments_[i].header;
    if (h.segment_bytes % kSegmentHeaderBytes != 0 || h.segment_bytes < kLeastSegment ||
        h.segment_bytes > kMostSegment) {
      wrong(segments_[i], "no segment of a log is so long", kMostSegment, h.segment_bytes);
    }
    if (h.first_lsn % kSegmentHeaderBytes != 0 || h.first_lsn > UINT64_MAX / 2) {
      wrong(segments_[i], "no segment of a log begins at such an LSN",
            h.first_lsn / kSegmentHeaderBytes * kSegmentHeaderBytes, h.first_lsn);
    }
    if (i == 0) continue;
    const SegmentHeader& before = segments_[i - 1].header;
    if (h.log_id != before.log_id) {
      wrong(segments_[i], "it belongs to another log than the segment before", before.log_id,
            h.log_id);
    }
    const bool next = h.number == before.number + 1;
    if (next ? h.first_lsn != before.end() : h.first_lsn < before.end()) {
      wrong(segments_[i], "it does not begin where the segment before it ends", before.end(),
            h.first_lsn);
    }
  }
  return good;
}

bool RedoIndex::ListSegments() {
  std::vector<std::pair<uint64_t, std::string>> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_, error)) {
    std::error_code none;
    const std::optional<uint64_t> number = LogSegmentNumber(entry.path().filename().string());
    if (number && entry.is_regular_file(none)) {
      files.emplace_back(*number, entry.path().string());
    }
  }
  Fault fault;
  fault.file = directory_;
  if (error) {
    fault.what = "the directory of the log cannot be read: " + error.message();
    faults_->Add(std::move(fault));
    return false;
  }
  std::sort(files.begin(), files.end());
  bool good = true;
  for (const auto& [number, path] : files) {
    try {
      good = ReadHeader(path, number, number == files.back().first) && good;
    } catch (const Error& e) {
      faults_->Add(InFile(path, 0, e.what()));
      good = false;
    }
  }
  if (segments_.empty()) {
    fault.what = "it holds no log, and the database cannot be opened without one";
    faults_->Add(std::move(fault));
    return false;
  }
  return CheckHeaders() && good;
}

bool RedoIndex::Read(Lsn from, uint64_t log_id, Space* space) {
  if (!ListSegments()) return false;
  if (segments_.front().header.log_id != log_id) {
    faults_->Add(InFile(segments_.front().path, 16, "the log belongs to another database",
                        std::to_string(log_id), std::to_string(segments_.front().header.log_id)));
    return false;
  }
  std::optional<LogReader> reader;
  try {
    reader.emplace(directory_, from);
  } catch (const Error& e) {
    Fault fault;
    fault.file = directory_;
    fault.what = e.what();
    faults_->Add(std::move(fault));
    return false;
  }
  const bool whole = ReadRecords(&*reader, from, space);
  end_ = reader->tail().lsn;
  written_after_ = reader->tail().frame >= from;
  replay_.pages = changes_.size();
  replay_.unfinished = parts_.unfinished();
  parts_.Clear();
  return whole;
}

bool RedoIndex::ReadRecords(LogReader* reader, Lsn from, Space* space) {
  try {
    LogRecord record;
    while (reader->Next(&record)) {
      replay_.log_bytes = record.end - from;
      ++replay_.records;
      AddRecord(record, space);
    }
    return true;
  } catch (const Error& e) {
    const Lsn end = reader->tail().lsn;
    if (e.kind() == Error::kIo) {
      Damage(end, std::string("the log cannot be read: ") + e.what());
    } else if (end < from) {
      Damage(end, "the log ends here, at LSN " + std::to_string(end) + ", before LSN " +
                      std::to_string(from) + " from which it is needed");
    } else {
      Damage(end, "no record can be read here, at LSN " + std::to_string(end) +
                      ", though the log went on after it: what followed is lost");
    }
    return false;
  }
}

void RedoIndex::AddRecord(const LogRecord& record, Space* space) {
  try {
    const DecodedRecord decoded = DecodeRecord(record.bytes);
    if ((decoded.flags & kHasStructure) != 0) AddStructure(record, decoded.structure, space);
    if ((decoded.flags & kHasOperations) != 0) AddOperations(record, decoded);
  } catch (const Error& e) {
    Damage(record.lsn, e.what());
  }
}

// Checks that a run has no more pages than the longest value takes.
bool RedoIndex::CheckRun(const LogRecord& record, const PageRun& run) {
  if (run.pages <= OverflowPages(kMaxValueSize, page_size_)) return true;
  Damage(record.lsn, "a record names " + std::to_string(run.pages) + " pages from page " +
                         std::to_string(run.first) + " on, more than any value takes");
  return false;
}

void RedoIndex::AddStructure(const LogRecord& record, std::string_view structure, Space* space) {
  const DecodedStructure decoded = DecodeStructure(structure);
  const auto set_pending = [this](const PageRun& run, bool value) {
    const size_t end = static_cast<size_t>(run.first) + run.pages;
    if (value && pending_.size() < end) pending_.resize(end);
    for (size_t page = run.first; page < std::min(end, pending_.size()); ++page) {
      pending_[page] = value;
    }
  };
  for (const PageRun& run : decoded.used) {
    if (!CheckRun(record, run)) continue;
    space->MarkUsed(run.first, run.pages);
    set_pending(run, true);
  }
  for (const PageRun& run : decoded.freed) {
    if (!CheckRun(record, run)) continue;
    space->MarkFree(run.first, run.pages);
    set_pending(run, false);
  }
  for (const PageChange& change : decoded.changes) {
    const auto offset = static_cast<Lsn>(change.payload.data() - record.bytes.data());
    std::vector<Change>& list = changes_[change.page];
    const Lsn lsn = change.LsnAfter(record.end);
    // The list is in the order of the page's LSNs, not in that of the records, since a saved image
    // is older than its record. A whole image replaces all changes before it.
    auto at = std::upper_bound(list.begin(), list.end(), lsn,
                               [](Lsn a, const Change& b) { return a < b.lsn; });
    if (change.whole()) at = list.erase(list.begin(), at);
    list.insert(at, {lsn, record.lsn + kRecordHeaderBytes + offset,
                     static_cast<uint32_t>(change.payload.size()), change.action});
  }
}

void RedoIndex::AddOperations(const LogRecord& record, const DecodedRecord& decoded) {
  std::optional<std::string_view> operations = parts_.Add(decoded.part);
  if (!operations) return;
  RowWrite op;
  while (NextOperation(&*operations, &op)) AddOperation(record, op);
  ++replay_.transactions;
}

void RedoIndex::AddOperation(const LogRecord& record, const RowWrite& op) {
  ++replay_.rows;
  tables_.emplace(op.table, record.lsn);
  if (op.key.size() > MaxKeySize(page_size_) || op.value.size() > kMaxValueSize) {
    Damage(record.lsn, "a record has a row whose key or value is longer than rows can be (" +
                           std::to_string(op.key.size()) + " and " +
                           std::to_string(op.value.size()) + " bytes)");
  }
  if (op.table == kCatalogueTable && !op.erase) catalogue_[std::string(op.key)] = op.value;
}

void RedoIndex::ReadLog(Lsn lsn, size_t n, std::string* bytes) {
  const Segment* segment = Find(lsn);
  if (segment == nullptr) throw Error(Error::kCorruption, "its segment is gone");
  if (file_ == nullptr || file_->path() != segment->path) {
    FileOptions options;
    options.kind = FileKind::kLog;
    options.read_only = true;
    file_ = File::Open(segment->path, options);
  }
  bytes->resize(n);
  file_->Read(lsn - segment->header.first_lsn, bytes->data(), n);
}

PageState RedoIndex::Apply(PageId id, PageState state, char* page, std::string* why) {
  const auto list = changes_.find(id);
  if (list == changes_.end()) return state;
  for (const Change& change : list->second) {
    if (state != PageState::kValid) {
      if (!change.whole()) {
        *why = "the log changes it at LSN " + std::to_string(change.lsn) +
               " and does not have it whole";
        continue;  // a later record may replace the whole page
      }
      std::memset(page, 0, page_size_);
    } else if (Header(page)->lsn >= change.lsn) {
      continue;
    }
    try {
      ReadLog(change.payload, change.size, &payload_);
      ApplyChange({change.action, id, payload_}, page, page_size_, &scratch_);
    } catch (const Error& e) {
      *why = "the change of it that ends at LSN " + std::to_string(change.lsn) +
             " cannot be made: " + e.what();
      return PageState::kBroken;
    }
    Header(page)->lsn = std::max(Header(page)->lsn, change.lsn);
    state = PageState::kValid;
  }
  return state;
}

}  // namespace testbed::btree
