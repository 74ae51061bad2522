// A DatabaseLock is the lock of a database: it admits many readers or one writer. Writers go first:
// a reader that comes while a writer waits must wait, too, as in the original. Not recursive.
//
//   { ReadLock lock(database_lock); ... }
//   { WriteLock lock(database_lock); ... }
//
// The group commit must not wait until clients pause in their writes. While a CommitTurn lives, no
// further WriteLock is given, so the group commit waits only for the writer that has the lock.
//
//   { CommitTurn turn(database_lock); ReadLock lock(database_lock); ... }
#ifndef TESTBED_ENGINES_MMAPV1_FILES_DATABASE_LOCK_H_
#define TESTBED_ENGINES_MMAPV1_FILES_DATABASE_LOCK_H_

#include <pthread.h>

#include <mutex>

#include "device/os/mutex.h"

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
  Mutex writers_;  // held by the writer that waits for lock_ or has it
  Mutex mutex_;    // protects commit_turn_
  CondVar turn_over_;
  bool commit_turn_ GUARDED_BY(mutex_) = false;
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

// The analysis cannot follow the writers' mutex, which a WriteLock holds during its whole life.
class WriteLock {
 public:
  explicit WriteLock(DatabaseLock& lock) NO_THREAD_SAFETY_ANALYSIS
      : lock_(lock),
        waited_(!lock.writers_.try_lock()) {
    if (waited_) lock_.writers_.lock();
    {
      UniqueLock turn(lock_.mutex_);
      waited_ = waited_ || lock_.commit_turn_;
      lock_.turn_over_.wait(lock_.mutex_,
                            [this]() REQUIRES(lock_.mutex_) { return !lock_.commit_turn_; });
    }
    if (::pthread_rwlock_trywrlock(&lock_.lock_) == 0) return;
    waited_ = true;
    ::pthread_rwlock_wrlock(&lock_.lock_);
  }
  ~WriteLock() NO_THREAD_SAFETY_ANALYSIS {
    ::pthread_rwlock_unlock(&lock_.lock_);
    lock_.writers_.unlock();
  }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;
  bool waited() const { return waited_; }  // whether it waited for another thread or a CommitTurn

 private:
  DatabaseLock& lock_;
  bool waited_;
};

// A CommitTurn keeps further writers out while it lives. There is one CommitTurn at a time.
class CommitTurn {
 public:
  explicit CommitTurn(DatabaseLock& lock) : lock_(lock) {
    LockGuard turn(lock_.mutex_);
    lock_.commit_turn_ = true;
  }
  ~CommitTurn() {
    {
      LockGuard turn(lock_.mutex_);
      lock_.commit_turn_ = false;
    }
    lock_.turn_over_.notify_all();
  }
  CommitTurn(const CommitTurn&) = delete;
  CommitTurn& operator=(const CommitTurn&) = delete;

 private:
  DatabaseLock& lock_;
};

// A CommitWriteLock is the write lock for the thread that has the CommitTurn.
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
