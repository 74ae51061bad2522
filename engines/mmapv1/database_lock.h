// The lock of a database: many readers or one writer, greedy for writers (a reader that comes while
// a writer waits, waits too), as in the original. Not recursive.
//
//   { ReadLock lock(database_lock); ... }
//   { WriteLock lock(database_lock); ... }
#ifndef TESTBED_ENGINES_MMAPV1_DATABASE_LOCK_H_
#define TESTBED_ENGINES_MMAPV1_DATABASE_LOCK_H_

#include <pthread.h>

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
  pthread_rwlock_t lock_;
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
  explicit WriteLock(DatabaseLock& lock) : lock_(lock) {
    if (::pthread_rwlock_trywrlock(&lock_.lock_) == 0) return;
    waited_ = true;
    ::pthread_rwlock_wrlock(&lock_.lock_);
  }
  ~WriteLock() { ::pthread_rwlock_unlock(&lock_.lock_); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;
  bool waited() const { return waited_; }  // for somebody else

 private:
  DatabaseLock& lock_;
  bool waited_ = false;
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_DATABASE_LOCK_H_
