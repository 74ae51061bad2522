// A CommitFailure keeps the first error that a library met when it made commits durable, so that its
// engine takes no more writes until it is opened again. The system takes the pages of a failed sync
// for clean, so that the next sync succeeds although the device lacks them, and a commit that builds on
// them would be acknowledged (device/file/file.h, Sync).
//
//   failure.ThrowIfAny();                              // a writer, before it waits for its turn
//   ... the library lets it write ...
//   if (failure.AfterCommit()) { ... abort ...; failure.ThrowIfAny(); }
//   failure.Commit([&] { ... the library commits, and lets the next writer in ... });
//   failure.Sync([&] { ... a sync beside the commits ... });
//
// It is for a library that lets one thread write at a time, and that lets the next one in before the
// commit has returned. Thread-safe.
#ifndef TESTBED_ENGINES_DATA_FILE_COMMIT_FAILURE_H_
#define TESTBED_ENGINES_DATA_FILE_COMMIT_FAILURE_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/file/write_back_watch.h"
#include "device/os/mutex.h"

namespace testbed {

class CommitFailure {
 public:
  // Throws the first error that was noted.
  void ThrowIfAny() const {
    if (failed_.load(std::memory_order_acquire)) [[unlikely]]
      Throw();
  }
  // Runs `sync`, which makes commits durable beside the threads that write. One thread at a time: the
  // error of a sync, or of a commit, is told to one of those that sync the file. Throws the first
  // error, which may be that of `sync`.
  template <typename Body>
  void Sync(const Body& sync) {
    LockGuard one(syncing_);
    SyncAsWriter(sync);
    if (AfterCommit()) ThrowIfAny();
  }
  // The same for the thread that writes: it waits for no sync of another thread, which may wait for
  // the library to let it in.
  template <typename Body>
  void SyncAsWriter(const Body& sync) {
    ThrowIfAny();
    try {
      sync();
    } catch (const Error& error) {
      Note(error);
      throw;
    } catch (...) {
      failed_.store(true, std::memory_order_release);
      throw;
    }
    ThrowIfAny();
  }
  bool any() const { return failed_.load(std::memory_order_acquire); }
  // Notes an error, unless there is one already.
  void Note(const Error& error) noexcept {
    LockGuard lock(mutex_);
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      error_ = error;
    } catch (const std::exception&) {
      // Without memory for its sentence: Throw has one.
    }
    failed_.store(true, std::memory_order_release);
  }

  // Notes that a commit of the database in `dir` failed with the errno `code`, unless the disk was
  // full and `data`, which watches the data file, has no error to tell of. `doing` begins the
  // sentence: "lmdb, committing in".
  void NoteCommit(const std::string& doing, const std::string& dir, int code,
                  WriteBackWatch* data) noexcept;

  // Runs `commit`, which notes a failure itself. The next writer's AfterCommit waits for its end. Only
  // the thread that writes may call it, after AfterCommit.
  template <typename Body>
  void Commit(const Body& commit) {
    struct Mark {
      explicit Mark(std::atomic<uint32_t>* commits) : commits(commits) {
        commits->fetch_add(1, std::memory_order_relaxed);
      }
      ~Mark() {
        commits->fetch_add(1, std::memory_order_release);
        commits->notify_all();
      }
      std::atomic<uint32_t>* const commits;
    };
    const Mark mark(&commits_);
    commit();
  }
  // Waits until the commit that is under way has returned, and for none that begins later. Returns
  // whether there was a failure.
  bool AfterCommit() const {
    if (const uint32_t now = commits_.load(std::memory_order_acquire); now % 2 != 0) {
      commits_.wait(now, std::memory_order_acquire);
    }
    return any();
  }
  // Lets the page cache have what the device has, after a failure, for whoever opens the database
  // again: the cache has pages that the device lacks, as clean ones. The library has closed the file.
  void DropLost(const std::string& data_file) const noexcept;

 private:
  [[noreturn]] void Throw() const {
    LockGuard lock(mutex_);
    if (error_) throw Error(*error_);
    throw Error(Error::kRun, "a commit before could not be made durable; open the database again");
  }

  Mutex syncing_;        // held by Sync; locked before mutex_
  mutable Mutex mutex_;  // protects error_
  std::optional<Error> error_ GUARDED_BY(mutex_);
  std::atomic<bool> failed_{false};   // set when error_ is
  std::atomic<uint32_t> commits_{0};  // begun and ended ones together: odd while one is under way
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_DATA_FILE_COMMIT_FAILURE_H_
