// FileFaults makes chosen calls of the file layer fail, so that a test sees what an error at each
// call does.
//
//   FileFaults::Set(17, 18, EIO);      // the 18th call from now on fails, and no other
//   ...
//   uint64_t calls = FileFaults::Clear();
//
// A call is an open, read, write, sync, truncation, reservation of space or punched hole by
// device/file/file.h, or a start or an end of a read by read_ring.h. A call that is made to fail
// does nothing; only the end of a read comes after the read. With ENOSPC only calls that can need
// space are counted and fail. Reads of a mapping are no calls and cannot fail. Thread-safe. While
// no fault is set, a call costs one load more.
#ifndef TESTBED_DEVICE_FILE_FILE_FAULTS_H_
#define TESTBED_DEVICE_FILE_FILE_FAULTS_H_

#include <atomic>
#include <cstdint>

namespace testbed {

class FileFaults {
 public:
  // Numbers calls from 0 on, and lets calls `first` to `last` - 1 fail with errno `error`.
  static void Set(uint64_t first, uint64_t last, int error);
  // Lets no call fail any more. Returns the number of calls since Set.
  static uint64_t Clear();

  // Counts a call. Returns the errno with which it must fail, or 0. The file layer calls this.
  static int Next(bool can_need_space) {
    return armed_.load(std::memory_order_relaxed) ? Count(can_need_space) : 0;
  }

 private:
  static int Count(bool can_need_space);
  static inline std::atomic<bool> armed_{false};
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_FILE_FAULTS_H_
