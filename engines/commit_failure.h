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
#ifndef TESTBED_ENGINES_COMMIT_FAILURE_H_
#define TESTBED_ENGINES_COMMIT_FAILURE_H_

#include <atomic>
#include <exception>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/file/file.h"
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
    ThrowIfAny();
    try {
      sync();
    } catch (const Error& error) {
      Note(error);
      throw;
    }
    if (AfterCommit()) ThrowIfAny();
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
  // full and `data`, the data file, has no error of a write-back to tell of. `doing` begins the
  // sentence: "lmdb, committing in".
  void NoteCommit(const std::string& doing, const std::string& dir, int code, File* data) noexcept;

  // Runs `commit`, which notes a failure itself. The next writer's AfterCommit waits for its end. Only
  // the thread that writes may call it, after AfterCommit.
  template <typename Body>
  void Commit(const Body& commit) {
    struct Mark {
      explicit Mark(std::atomic<bool>* flag) : flag(flag) {
        flag->store(true, std::memory_order_relaxed);
      }
      ~Mark() {
        flag->store(false, std::memory_order_release);
        flag->notify_all();
      }
      std::atomic<bool>* const flag;
    };
    const Mark mark(&committing_);
    commit();
  }
  // Waits until the commit of the writer before has returned. Returns whether there was a failure.
  bool AfterCommit() const {
    committing_.wait(true, std::memory_order_acquire);
    return any();
  }

 private:
  [[noreturn]] void Throw() const {
    LockGuard lock(mutex_);
    if (error_) throw Error(*error_);
    throw Error(Error::kRun, "a commit before could not be made durable; open the database again");
  }

  Mutex syncing_;        // held by Sync; locked before mutex_
  mutable Mutex mutex_;  // protects error_
  std::optional<Error> error_ GUARDED_BY(mutex_);
  std::atomic<bool> failed_{false};      // set when error_ is
  std::atomic<bool> committing_{false};  // a commit has not returned yet
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_COMMIT_FAILURE_H_
