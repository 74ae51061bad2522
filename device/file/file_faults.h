// Makes calls of the file layer fail, so that tests can see what an error at each of them does.
//
//   FileFaults::Set(17, 18, EIO);      // the 18th call from now on fails, and no other
//   ...
//   uint64_t calls = FileFaults::Clear();
//
// A call is an open, read, write, sync, truncation, or reservation of space by device/file/file.h or
// read_ring.h: one that fails does nothing. ENOSPC is for those that can need space; others do not
// count then. Reads of a mapping cannot fail. Thread-safe; off, it costs a load a call.
#ifndef TESTBED_DEVICE_FILE_FILE_FAULTS_H_
#define TESTBED_DEVICE_FILE_FILE_FAULTS_H_

#include <atomic>
#include <cstdint>

namespace testbed {

class FileFaults {
 public:
  // Numbers calls from 0 on; those from `first` to before `last` fail with errno `error`.
  static void Set(uint64_t first, uint64_t last, int error);
  // No call fails any more. Returns how many were counted since Set.
  static uint64_t Clear();

  // The errno with which the call under way must fail, or 0.
  static int Next(bool can_need_space) {
    return armed_.load(std::memory_order_relaxed) ? Count(can_need_space) : 0;
  }

 private:
  static int Count(bool can_need_space);
  static inline std::atomic<bool> armed_{false};
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_FILE_FAULTS_H_
