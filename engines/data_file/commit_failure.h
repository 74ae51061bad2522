// A CommitFailure keeps the first error that a library met when it made commits durable, so that
// its engine takes no more writes until it is opened again. The system marks the pages of a failed
// sync clean, so the next sync succeeds although the device lacks them, and a commit that builds on
// them would be acknowledged (device/file/file.h, Sync).
//
//   failure.ThrowIfAny();                              // a writer, before it waits for its turn
//   ... the library lets it write ...
//   if (failure.AfterCommit()) { ... abort ...; failure.ThrowIfAny(); }
//   failure.Commit([&] { ... the library commits, and lets the next writer in ... });
//   failure.Sync([&] { ... a sync beside the commits ... });
//
// It serves a library that lets one thread write at a time, and that lets the next writer in before
// the commit has returned. Thread-safe.
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
  // Runs `sync`, which makes commits durable beside the threads that write. Only one sync runs at a
  // time, as the system reports the error of a sync or a commit to only one of the threads that
  // sync the file. Throws the first error, which may be that of `sync`.
  template <typename Body>
  void Sync(const Body& sync) {
    LockGuard one(syncing_);
    SyncAsWriter(sync);
    if (AfterCommit()) ThrowIfAny();
  }
  // Runs `sync` for the thread that writes. It does not wait for the sync of another thread, which
  // may be waiting for the library to let it in.
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
  // Keeps the error, unless an earlier one is kept.
  void Note(const Error& error) noexcept {
    LockGuard lock(mutex_);
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      error_ = error;
    } catch (const std::exception&) {
      // There is no memory for the sentence, so Throw will use its own.
    }
    failed_.store(true, std::memory_order_release);
  }

  // Keeps the errno `code`, with which a commit of the database in `dir` has failed. If the disk
  // was full, keeps only an error of `data`, which watches the data file for failed write-back.
  // `doing` begins the sentence: "lmdb, committing in".
  void NoteCommit(const std::string& doing, const std::string& dir, int code,
                  WriteBackWatch* data) noexcept;

  // Runs `commit`, which calls NoteCommit itself when it fails. The AfterCommit of the next writer
  // waits until `commit` has ended. Only the thread that writes may call this, after AfterCommit.
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
  // Waits until the commit that runs now has returned, but for no commit that begins later. Returns
  // whether there was a failure.
  bool AfterCommit() const {
    if (const uint32_t now = commits_.load(std::memory_order_acquire); now % 2 != 0) {
      commits_.wait(now, std::memory_order_acquire);
    }
    return any();
  }
  // After a failure, drops the data file's pages from the page cache, so that the next opening
  // reads from the device: some pages are clean in the cache although the device lacks them. The
  // library must have closed the file before.
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
  std::atomic<bool> failed_{false};   // true once error_ is set
  std::atomic<uint32_t> commits_{0};  // number of begins and ends of commits; odd during one
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_DATA_FILE_COMMIT_FAILURE_H_
