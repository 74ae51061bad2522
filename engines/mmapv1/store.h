// A Store is an open mmapv1 database: its lock, its threads, and the protocol between them.
//
//   Store store(dir, settings);                 // recovers
//   TableId table = store.OpenTable("t");
//   store.Apply(write_set);                     // a transaction; durable when it returns, if sync
//   store.Get(table, key, &value);
//   store.Move(table, Motion::kAfter, key, &hint, &next_key, &next_value);
//
// The database has one readers-writer lock, in which writers go first. A whole transaction is
// applied under the write lock, so it lies between two group commits as a whole, and no reader sees
// half of it.
//
// With a journal, a group commit runs on the commit thread, or on a thread that asks for a
// checkpoint:
//   PREP             read lock: copies the changes since the last PREP out of the private views
//   journal          no lock: compresses and appends them, fdatasync, and wakes the waiting threads
//   WRITETODATAFILES no lock: copies the same bytes into the shared views
//   REMAP            write lock: maps a part of the private views anew, which drops their copies
// A data flush, once in each sync delay, is an msync of the shared views. After it the journal up
// to the last WRITETODATAFILES is not needed.
//
// The invariant: the shared views, which the kernel may write at any moment, hold only bytes that
// are durable in the journal. So after a crash the disk has any mixture of old and new pages, and
// replaying all sections since the last data flush gives the state of the last whole section: each
// byte that differs from the flushed state is in one of these sections.
//
// After the first failure to write the journal or to flush, no write is accepted; reads go on and
// stay right. Thread-safe, but for the destructor. All functions throw Error.
#ifndef TESTBED_ENGINES_MMAPV1_STORE_H_
#define TESTBED_ENGINES_MMAPV1_STORE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "device/error.h"
#include "device/log/lazy_pace.h"
#include "device/os/dir_lock.h"
#include "device/os/mutex.h"
#include "engines/engine.h"
#include "engines/mmapv1/files/database_lock.h"
#include "engines/mmapv1/files/files.h"
#include "engines/mmapv1/journal/journal.h"
#include "engines/mmapv1/tree/table.h"
#include "engines/write_set.h"

namespace testbed::mmapv1 {

enum class Motion : uint8_t { kFirst, kLast, kAtOrAfter, kAfter, kAtOrBefore, kBefore };

// A PlaceHint says where a row was found. The next motion from the row starts there if nothing has
// changed.
struct PlaceHint {
  uint64_t version = 0;
  TreePosition at;
};

class Store {
 public:
  // Opens the database in `dir`, and recovers it if needed; makes it when `dir` holds none and
  // settings.create is set. Throws kUsage when there is no database, another process has it open,
  // or it was left open without a journal; kCorruption when it is damaged; kIo.
  Store(const std::string& dir, const Settings& settings);
  // Takes a checkpoint and marks the database clean, unless a write or flush has failed.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Returns the table's id. Makes the table when it does not exist.
  TableId OpenTable(const std::string& name);
  // Throws Error (kUsage) when the table was not opened.
  void CheckTable(TableId table) const;

  // Applies all writes of the set or none. With sync durability it returns when they are durable.
  void Apply(const WriteSet& writes);
  // Returns whether the table has the key. If so, sets *value.
  bool Get(TableId table, std::string_view key, std::string* value);
  // Moves to the row that `motion` leads to from `key`. Returns false when there is none.
  bool Move(TableId table, Motion motion, std::string_view key, PlaceHint* hint,
            std::string* found_key, std::string* found_value);

  // Makes all commits durable, and bounds the work of a recovery.
  void Checkpoint();
  // Waits until the data file that is being made is complete.
  void WaitForPreallocation() { files_.preallocator()->WaitUntilIdle(); }

  const std::string& dir() const { return dir_; }
  const Settings& settings() const { return settings_; }
  const ReplayResult& replayed() const { return replayed_; }
  void AddCounters(EngineCounters* counters);
  DiskSize SizeOnDisk();
  std::string JournalIo() const;
  // Returns the bytes of the namespace file, which a database keeps as it was made.
  uint64_t NamespaceBytes() const { return files_.file(kNsFile).bytes(); }

 private:
  using Clock = std::chrono::steady_clock;

  // The next functions open the database (store_recover.cc) and close it (store.cc).
  ReplayResult ReadJournal(const std::function<void(DiskLoc, std::string_view)>& each) const;
  std::string_view NsBytes() const;
  // Throws Error (kCorruption) when the journal is damaged, or a replay would leave a data file
  // that is not the one that belongs here, or a table without its last extent.
  ReplayResult CheckReplay() const;
  void Recover();
  void CheckFiles();
  void Close();

  // The next functions write and read rows (store.cc). A Fault is a record that must be read from
  // the device while no lock is held.
  struct Fault {
    const char* begin = nullptr;
    uint64_t bytes = 0;
  };
  // Applies the writes and returns the epoch whose group commit makes them durable. Does nothing
  // and returns nothing when a record must be read first, which *fault then names, or when too many
  // bytes wait for a group commit.
  std::optional<uint64_t> TryApply(const WriteSet& writes, bool may_yield, Fault* fault);
  void ApplyRows(const WriteSet& writes);
  void AddSizes(EngineCounters* counters);
  bool HasRoom() const;
  bool CommitIsLate() const;
  void WaitForRoom();
  void WaitDurable(uint64_t epoch);
  bool Position(const Table& table, Motion motion, std::string_view key, const PlaceHint& hint,
                TreePosition* at) const;
  void TouchUnlocked(const Fault& fault);
  // Throws the error of `watch` after putting the store out of service.
  void CheckRead(const ReadWatch& watch);

  // The next functions run group commits and data flushes, on threads of the store
  // (store_commit.cc).
  void StartThreads();
  void StopThreads();
  void CommitLoop();
  void WaitForNextCommit() REQUIRES(mutex_);
  void FlushLoop();
  Clock::duration CommitSlice() const;
  template <typename Action>
  void OrFail(Mutex* mutex, const Action& action);
  bool GroupCommit();
  bool CommitGroup();
  void Remap();
  void FlushDataFiles();
  void NoteFailure(const Error& error);
  void NoteFailureOf(const std::exception& error);
  void ThrowIfFailed() const;

  const std::string dir_;
  const Settings settings_;
  DirLock dir_lock_;
  ReplayResult replayed_;

  // Lock order: commit_mutex_, lock_, flush_mutex_, mutex_.
  Mutex commit_mutex_;  // held during a group commit
  mutable DatabaseLock lock_;
  Mutex flush_mutex_;  // held during a data flush
  Files files_;
  Mutex opening_;                               // held while a table is opened; taken before lock_
  std::vector<std::unique_ptr<Table>> tables_;  // by TableId; elements never move
  std::vector<std::string> names_;
  std::atomic<uint32_t> table_count_{0};
  RowCounts row_counts_;
  uint64_t version_ = 1;  // grows with each change

  std::unique_ptr<Journal> journal_;
  std::string body_;                // body of the section that is being made
  std::atomic<uint64_t> epoch_{1};  // epoch of the next PREP
  // The journal has all changes that were made before this time.
  std::atomic<Clock::time_point> journaled_until_{Clock::now()};
  std::atomic<uint64_t> written_seq_{0};  // number of the last section that the shared views have
  Clock::time_point last_remap_;
  LazyPace pace_{std::chrono::milliseconds(settings_.commit_interval_ms)};  // of commit_thread_

  mutable Mutex mutex_;  // protects the members below
  CondVar wake_commit_, wake_flush_, committed_;
  // The journal has the group commits up to durable_epoch_. The group commits up to finished_epoch_
  // have ended.
  uint64_t durable_epoch_ GUARDED_BY(mutex_) = 0, finished_epoch_ GUARDED_BY(mutex_) = 0;
  uint32_t waiters_ GUARDED_BY(mutex_) = 0;
  bool stop_ GUARDED_BY(mutex_) = false, urgent_ GUARDED_BY(mutex_) = false,
             flush_now_ GUARDED_BY(mutex_) = false;
  std::optional<Error> failure_ GUARDED_BY(mutex_);
  std::atomic<bool> failed_{false};
  std::thread commit_thread_, flush_thread_;

  std::atomic<uint64_t> faults_yielded_{0}, operations_undone_{0}, flushes_{0}, lock_waits_{0},
      late_commit_waits_{0};
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_STORE_H_
