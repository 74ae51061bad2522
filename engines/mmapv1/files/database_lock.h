// The lock of a database: many readers or one writer, greedy for writers (a reader that comes while
// a writer waits, waits too), as in the original. Not recursive.
//
//   { ReadLock lock(database_lock); ... }
//   { WriteLock lock(database_lock); ... }
//
// The group commit must not wait until no client writes: while a CommitTurn lives, no further
// WriteLock is given, so that it waits for the one writer that has the lock.
//
//   { CommitTurn turn(database_lock); ReadLock lock(database_lock); ... }
#ifndef TESTBED_ENGINES_MMAPV1_FILES_DATABASE_LOCK_H_
#define TESTBED_ENGINES_MMAPV1_FILES_DATABASE_LOCK_H_

#include <pthread.h>

#include <condition_variable>
#include <mutex>

namespace testbed::mmapv1 {

class DatabaseLock {
 public:
  DatabaseLock() {
    pthread_rwlockattr_t attributes;
    ::pthread_rwlockattr_init(&attributes);
#ifdef __GLIBC__
    ::pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
    ::pthread_rwlock_init(&lock_, &attributes);
    ::pthread_rwlockattr_destroy(&attributes);
  }
  ~DatabaseLock() { ::pthread_rwlock_destroy(&lock_); }
  DatabaseLock(const DatabaseLock&) = delete;
  DatabaseLock& operator=(const DatabaseLock&) = delete;

 private:
  friend class ReadLock;
  friend class WriteLock;
  friend class CommitTurn;
  friend class CommitWriteLock;
  pthread_rwlock_t lock_;
  std::mutex writers_;  // of whom one at a time is at lock_
  std::mutex mutex_;    // of commit_turn_
  std::condition_variable turn_over_;
  bool commit_turn_ = false;
};

class ReadLock {
 public:
  explicit ReadLock(DatabaseLock& lock) : lock_(lock) { ::pthread_rwlock_rdlock(&lock_.lock_); }
  ~ReadLock() { ::pthread_rwlock_unlock(&lock_.lock_); }
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  DatabaseLock& lock_;
};

class WriteLock {
 public:
  explicit WriteLock(DatabaseLock& lock) : lock_(lock), writer_(lock.writers_, std::try_to_lock) {
    waited_ = !writer_.owns_lock();
    if (waited_) writer_.lock();
    {
      std::unique_lock turn(lock_.mutex_);
      lock_.turn_over_.wait(turn, [this] { return !lock_.commit_turn_; });
    }
    ::pthread_rwlock_wrlock(&lock_.lock_);
  }
  ~WriteLock() { ::pthread_rwlock_unlock(&lock_.lock_); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;
  bool waited() const { return waited_; }  // for another writer

 private:
  DatabaseLock& lock_;
  std::unique_lock<std::mutex> writer_;
  bool waited_;
};

// One at a time.
class CommitTurn {
 public:
  explicit CommitTurn(DatabaseLock& lock) : lock_(lock) {
    std::lock_guard turn(lock_.mutex_);
    lock_.commit_turn_ = true;
  }
  ~CommitTurn() {
    {
      std::lock_guard turn(lock_.mutex_);
      lock_.commit_turn_ = false;
    }
    lock_.turn_over_.notify_all();
  }
  CommitTurn(const CommitTurn&) = delete;
  CommitTurn& operator=(const CommitTurn&) = delete;

 private:
  DatabaseLock& lock_;
};

// The write lock for who has the turn.
class CommitWriteLock {
 public:
  explicit CommitWriteLock(DatabaseLock& lock) : lock_(lock) {
    ::pthread_rwlock_wrlock(&lock_.lock_);
  }
  ~CommitWriteLock() { ::pthread_rwlock_unlock(&lock_.lock_); }
  CommitWriteLock(const CommitWriteLock&) = delete;
  CommitWriteLock& operator=(const CommitWriteLock&) = delete;

 private:
  DatabaseLock& lock_;
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_FILES_DATABASE_LOCK_H_
