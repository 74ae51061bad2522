// This header has the state that SQLite's connections share: the lock of the database file, and the
// index of the write-ahead log. Connections in several processes share it through the operating
// system. Here all connections are in one process, so the state is in memory, as SQLite's own VFS
// "unix-excl" does.
//
// A FileLock is the lock of a database file, with the five levels of sqlite3_io_methods::xLock. A
// WalIndex is the memory and the eight locks of xShmMap and xShmLock. Each connection has a Holder
// of each of the two, which says what the connection holds. FileLock and WalIndex are thread-safe;
// one thread at a time uses a Holder. Their functions return SQLITE_OK, or SQLITE_BUSY without
// waiting.
#ifndef TESTBED_ENGINES_SQLITE_LOCKS_H_
#define TESTBED_ENGINES_SQLITE_LOCKS_H_

#include <sqlite3.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/os/mutex.h"

namespace testbed::sqlite {

class FileLock {
 public:
  struct Holder {
    int level = SQLITE_LOCK_NONE;
  };
  // Raises the holder's level to `level`. If readers keep the holder from EXCLUSIVE, it stays at
  // PENDING, so that no new reader gets in.
  int Lock(Holder* holder, int level);
  // Lowers the holder's level to `level`, which is SHARED or NONE.
  void Unlock(Holder* holder, int level);
  bool Reserved() const;  // whether any connection writes or is about to
  // Waits until some holder has lowered its level, but at most for this time.
  void WaitForChange(std::chrono::milliseconds most) const;

 private:
  mutable Mutex mutex_;
  mutable CondVar lowered_;
  int readers_ GUARDED_BY(mutex_) = 0;                 // number of holders at SHARED or above
  const Holder* writer_ GUARDED_BY(mutex_) = nullptr;  // the holder at RESERVED or above
  bool shut_ GUARDED_BY(mutex_) = false;               // the writer is at PENDING or EXCLUSIVE
  uint64_t changes_ GUARDED_BY(mutex_) = 0;
};

class WalIndex {
 public:
  struct Holder {
    uint16_t shared = 0, exclusive = 0;  // bit i is set when the holder has lock i
  };
  // Returns the memory of a region, all zeros when it is new; null when there is none and `extend`
  // is false.
  void volatile* Region(size_t region, size_t size, bool extend);
  // Takes or releases `count` locks from `first` on, all or none, as `flags` (of xShmLock) say.
  int Lock(Holder* holder, int first, int count, int flags);
  void Clear();  // forgets all regions

 private:
  struct alignas(64) Slot {
    std::atomic<int> holders{0};  // number of holders; -1: held exclusively
  };
  std::array<Slot, SQLITE_SHM_NLOCK> locks_;
  Mutex mutex_;
  std::vector<std::unique_ptr<char[]>> regions_ GUARDED_BY(mutex_);
};

}  // namespace testbed::sqlite

#endif  // TESTBED_ENGINES_SQLITE_LOCKS_H_
