#include "engines/mmapv1/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/account/ledger.h"
#include "device/file/directory.h"
#include "device/file/durable.h"
#include "device/os/mutex.h"

namespace testbed::mmapv1 {
namespace {

constexpr size_t kMostTables = 1 << 16;
constexpr int kMostYields = 3;  // after this number of yields, the record is read under the lock

// A section of the journal holds the changes that waited before a transaction, the transaction, and
// the entries of tables that were made meanwhile. A transaction is refused only at the row that
// makes it too large, so one row more is counted.
constexpr uint64_t kMostOfOneRow = 4 * kMaxValueSize;
constexpr uint64_t kMostOfNewTables = kMostTables * (12ull << 10);
static_assert(kMostUncommittedBytes + kMostTransactionBytes + kMostOfOneRow + kMostOfNewTables <=
              kMostSectionBytes);

std::string DirectoryOf(const std::string& dir, const Settings& settings) {
  RequireDirectory(dir, settings.create);
  return dir;
}

DataFile::Views ViewsOf(const Settings& settings) {
  return settings.journaled() ? DataFile::kBothViews : DataFile::kSharedView;
}

// Calls MakeDurable for the files of a database, before they are mapped. The data files of a
// database that was closed in order are durable, and stay in the page cache.
void MakeFilesDurable(const std::string& dir) {
  MakeDurable(NsPath(dir), FileKind::kData);
  FileOptions options;
  options.kind = FileKind::kData;
  options.read_only = true;
  NsHeader header{};
  File::Open(NsPath(dir), options)->ReadSome(0, &header, sizeof header);
  if (header.mark.state == OpenState::kClean && header.mark.checksum == ChecksumOf(header)) return;
  for (int32_t n = 0; n < kMostFiles && IsThere(DataPath(dir, n)); ++n) {
    MakeDurable(DataPath(dir, n), FileKind::kData);
  }
}

// Makes the namespace file of a new database and returns `dir`. The caller has locked the
// directory.
std::string WithNamespace(const std::string& dir, const Settings& settings) {
  if (IsThere(NsPath(dir))) {
    MakeFilesDurable(dir);
    return dir;
  }
  // A directory that has other files and no namespace file holds a damaged database, or a database
  // of which a part is not mounted.
  for (const std::string& name : NamesIn(dir)) {
    if (!IsDataFile(name) && !IsJournalFile(name)) continue;
    throw Error(Error::kCorruption, "file " + NsPath(dir) + " is missing though " + dir + "/" +
                                        name + " is there: put it back, or load the database anew");
  }
  if (!settings.create) {
    throw Error(Error::kUsage, "the directory " + dir + " holds no mmapv1 database");
  }
  MakeNameDurable(dir);
  Files::CreateNamespace(dir, settings);
  return dir;
}

}  // namespace

Store::Store(const std::string& dir, const Settings& settings)
    : dir_(DirectoryOf(dir, settings)),
      settings_(settings),
      dir_lock_(dir_, "the database in"),
      files_(WithNamespace(dir_, settings_), settings_, ViewsOf(settings_)) {
  Recover();
  tables_.reserve(kMostTables);
  if (settings_.journaled()) {
    journal_ = std::make_unique<Journal>(dir_, settings_, 1, files_.ns()->database);
    last_remap_ = Clock::now();
  }
  // From here on, the next opening requires that the database has its journal.
  files_.SetState(settings_.journaled() ? OpenState::kJournaled : OpenState::kUnjournaled);
  files_.Preallocate();
  StartThreads();
}

Store::~Store() {
  IoScope scope(kOpen);
  StopThreads();
  try {
    Close();
  } catch (const std::exception&) {
    // A destructor cannot report an error. What a commit promised was durable when the commit
    // returned.
  }
}

void Store::Close() {
  if (failed_.load()) return;  // the next opening replays the journal
  // The checkpoint makes journal.lsn say, durably, that no section is needed. A database that was
  // marked clean without that would be refused at the next opening.
  Checkpoint();
  files_.SetState(OpenState::kClean);
  if (journal_ != nullptr) journal_->Remove();
}

TableId Store::OpenTable(const std::string& name) {
  CheckTableName(name);
  LockGuard one(opening_);
  const auto open = std::find(names_.begin(), names_.end(), name);
  if (open != names_.end()) return static_cast<TableId>(open - names_.begin());
  if (names_.size() == kMostTables) throw Error(Error::kUsage, "mmapv1 has 65536 tables at most");
  IoScope scope(kOpen);
  WriteLock lock(lock_);
  const ReadWatch watch(files_);
  std::optional<uint32_t> slot = FindTable(files_, name);
  CheckRead(watch);
  if (!slot) {
    ThrowIfFailed();
    files_.BeginOperation();
    try {
      slot = CreateTable(&files_, name);
    } catch (...) {
      files_.UndoOperation();
      throw;
    }
    files_.EndOperation();
    ++version_;
  }
  auto table = std::make_unique<Table>(&files_, settings_, &row_counts_, *slot);
  names_.push_back(name);
  tables_.push_back(std::move(table));  // cannot fail, so each name has its table
  table_count_.store(static_cast<uint32_t>(tables_.size()), std::memory_order_release);
  return static_cast<TableId>(tables_.size() - 1);
}

void Store::CheckTable(TableId table) const {
  if (table < table_count_.load(std::memory_order_acquire)) return;
  throw Error(Error::kUsage, fmt::format("table {} of mmapv1 is not open", table));
}

void Store::TouchUnlocked(const Fault& fault) {
  faults_yielded_.fetch_add(1, std::memory_order_relaxed);
  const volatile char* const at = fault.begin;
  for (uint64_t i = 0; i < fault.bytes; i += kMemoryPage) static_cast<void>(at[i]);
  static_cast<void>(at[fault.bytes - 1]);
}

void Store::ApplyRows(const WriteSet& writes) {
  const uint64_t before = files_.pending_bytes();
  for (const RowWrite& row : writes.rows()) {
    Table& table = *tables_[row.table];
    if (row.erase) {
      table.Erase(row.key);
    } else {
      table.Put(row.key, row.value);
    }
    if (files_.pending_bytes() - before > settings_.transaction_bytes) {
      throw Error(Error::kUsage,
                  fmt::format("a transaction of mmapv1 may change {} bytes of records and buckets, "
                              "which go into one section of the journal, and this one changes "
                              "more: commit its rows in several transactions",
                              settings_.transaction_bytes));
    }
  }
}

std::optional<uint64_t> Store::TryApply(const WriteSet& writes, bool may_yield, Fault* fault) {
  WriteLock lock(lock_);
  if (lock.waited()) lock_waits_.fetch_add(1, std::memory_order_relaxed);
  ThrowIfFailed();
  // This checks the room again under the lock: all writers that waited for the lock may have found
  // the same room before.
  if (!HasRoom()) return std::nullopt;
  if (CommitIsLate()) {
    late_commit_waits_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  // The records of later rows are read with the lock held, because the changes of earlier rows
  // cannot be left half done.
  const RowWrite& first = writes.rows().front();
  const Table& table = *tables_[first.table];
  TreePosition at;
  if (may_yield && table.tree().Find(first.key, &at) &&
      table.RecordNotInMemory(at, &fault->begin, &fault->bytes)) {
    return std::nullopt;
  }
  files_.BeginOperation();
  try {
    ApplyRows(writes);
  } catch (...) {
    operations_undone_.fetch_add(1, std::memory_order_relaxed);
    files_.UndoOperation();
    ++version_;
    throw;
  }
  files_.EndOperation();
  ++version_;
  return epoch_.load(std::memory_order_relaxed);
}

void Store::Apply(const WriteSet& writes) {
  if (writes.empty()) return;
  for (const RowWrite& row : writes.rows()) CheckTable(row.table);
  int yields = settings_.generation == Generation::k26 ? kMostYields : 0;
  std::optional<uint64_t> epoch;
  for (;;) {
    Fault fault;
    epoch = TryApply(writes, yields > 0, &fault);
    if (epoch) break;
    if (fault.bytes == 0) {
      WaitForRoom();
    } else {
      TouchUnlocked(fault);
      --yields;
    }
  }
  if (settings_.durability == Durability::kSync) WaitDurable(*epoch);
}

void Store::CheckRead(const ReadWatch& watch) {
  try {
    watch.Check();
  } catch (const Error& error) {
    NoteFailure(error);
    throw;
  }
}

bool Store::Get(TableId id, std::string_view key, std::string* value) {
  CheckTable(id);
  const Table& table = *tables_[id];
  const bool yields = settings_.generation == Generation::k26;
  for (int tries = 0;; ++tries) {
    Fault fault;
    {
      ReadLock lock(lock_);
      const ReadWatch watch(files_);
      TreePosition at;
      const bool found = table.tree().Find(key, &at);
      if (!found || !yields || tries == kMostYields ||
          !table.RecordNotInMemory(at, &fault.begin, &fault.bytes)) {
        if (found) value->assign(table.Value(at));
        CheckRead(watch);
        return found;
      }
    }
    TouchUnlocked(fault);
  }
}

bool Store::Position(const Table& table, Motion motion, std::string_view key, const PlaceHint& hint,
                     TreePosition* at) const {
  const Tree& tree = table.tree();
  const bool there = hint.version == version_;
  switch (motion) {
    case Motion::kFirst:
      return tree.First(at);
    case Motion::kLast:
      return tree.Last(at);
    case Motion::kAfter:
      if (!there) return tree.Seek(key, true, at);
      *at = hint.at;
      return tree.Next(at);
    case Motion::kBefore:
      if (!there) return tree.SeekBack(key, true, at);
      *at = hint.at;
      return tree.Prev(at);
    case Motion::kAtOrAfter:
      return tree.Seek(key, false, at);
    case Motion::kAtOrBefore:
      break;
  }
  return tree.SeekBack(key, false, at);
}

bool Store::Move(TableId id, Motion motion, std::string_view key, PlaceHint* hint,
                 std::string* found_key, std::string* found_value) {
  CheckTable(id);
  const Table& table = *tables_[id];
  const bool yields = settings_.generation == Generation::k26;
  for (int tries = 0;; ++tries) {
    Fault fault;
    {
      ReadLock lock(lock_);
      const ReadWatch watch(files_);
      TreePosition at;
      const bool found = Position(table, motion, key, *hint, &at);
      if (!found || !yields || tries == kMostYields ||
          !table.RecordNotInMemory(at, &fault.begin, &fault.bytes)) {
        if (found) {
          found_key->assign(table.tree().Key(at));
          found_value->assign(table.Value(at));
          *hint = {version_, at};
        }
        CheckRead(watch);
        return found;
      }
    }
    TouchUnlocked(fault);
  }
}

void Store::AddCounters(EngineCounters* counters) {
  const auto get = [](const std::atomic<uint64_t>& n) { return n.load(std::memory_order_relaxed); };
  Preallocator& preallocator = *files_.preallocator();
  uint64_t journal_preallocated = 0;
  if (journal_ != nullptr) {
    const Journal::Counts& journal = journal_->counts();
    counters->log_payload_bytes = get(journal.payload_bytes);
    counters->log_written_bytes = get(journal.written_bytes);
    journal_preallocated = get(journal.preallocated_bytes);
    counters->more = {{"journal_commits", get(journal.commits)},
                      {"journal_raw_bytes", get(journal.raw_bytes)},
                      {"journal_bytes", get(journal.written_bytes)},
                      {"journal_files_recycled", get(journal.files_recycled)}};
  }
  const Files::Counts& files = files_.counts();
  const std::pair<std::string, uint64_t> more[] = {
      {"data_flushes", get(flushes_)},
      {"data_file_bytes_written_by_msync", get(files.flushed_bytes)},
      {"preallocated_bytes", preallocator.allocated_bytes() + journal_preallocated},
      {"preallocation_written_bytes",
       preallocator.written_bytes() + (settings_.zero_fill ? journal_preallocated : 0)},
      {"preallocation_waits", preallocator.waits()},
      {"remaps", get(files.remaps)},
      {"remapped_bytes", get(files.remapped_bytes)},
      {"private_copies_dropped_bytes", get(files.copies_dropped)},
      {"faults_yielded", get(faults_yielded_)},
      {"write_lock_waits", get(lock_waits_)},
      {"late_commit_waits", get(late_commit_waits_)},
      {"records_moved", get(row_counts_.moved)},
      {"records_updated_in_place", get(row_counts_.in_place)},
      {"operations_undone", get(operations_undone_)},
  };
  counters->more.insert(counters->more.end(), std::begin(more), std::end(more));
  AddSizes(counters);
}

void Store::AddSizes(EngineCounters* counters) {
  ReadLock lock(lock_);
  uint64_t file_bytes = files_.file(kNsFile).bytes(), used = file_bytes;
  for (int32_t n = 0; n < files_.count(); ++n) {
    file_bytes += files_.file(n).bytes();
    used += files_.UsedBytes(n);
  }
  Space heap{}, index{};
  uint64_t rows = 0;
  for (uint32_t t = 0; t < table_count_.load(); ++t) {
    const NsEntry& entry = tables_[t]->entry();
    rows += entry.rows;
    for (const auto& [sum, space] : {std::pair{&heap, &entry.heap}, {&index, &entry.index}}) {
      sum->extents += space->extents;
      sum->records += space->records;
      sum->record_bytes += space->record_bytes;
    }
  }
  counters->now = {{"data_files", static_cast<uint64_t>(files_.count())},
                   {"data_file_bytes", file_bytes},
                   {"data_file_bytes_in_extents", used},
                   {"extents", heap.extents + index.extents},
                   {"rows", rows},
                   {"records", heap.records},
                   {"record_bytes", heap.record_bytes},
                   {"buckets", index.records},
                   {"bucket_bytes", index.record_bytes},
                   {"private_copy_bytes", files_.private_bytes()},
                   {"journal_unflushed_bytes", journal_ ? journal_->unflushed_bytes() : 0}};
}

DiskSize Store::SizeOnDisk() {
  DiskSize size;
  const DiskSize on_disk = DiskSizeOf(dir_, IsJournalFile);
  size.log_bytes = on_disk.log_bytes;
  ReadLock lock(lock_);
  size.data_bytes = files_.file(kNsFile).bytes();
  for (int32_t n = 0; n < files_.count(); ++n) size.data_bytes += files_.UsedBytes(n);
  size.preallocated_bytes = on_disk.data_bytes - std::min(on_disk.data_bytes, size.data_bytes);
  return size;
}

std::string Store::JournalIo() const {
  if (journal_ == nullptr) return "none";
  return IoModeName(journal_->direct() ? IoMode::kDirect : IoMode::kBuffered);
}

}  // namespace testbed::mmapv1
