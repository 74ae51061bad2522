// A Preallocator makes the data file that will be needed next, on a thread of its own.
//
//   Preallocator preallocator(zero_fill);
//   preallocator.Request(path, bytes);
//   preallocator.Take(path, bytes);    // the file is there: waits for it, or makes it now
//
// If a file could not be made in the background because the disk was full, Take tries again and
// throws the error (kIo) to its caller. Any other error lasts: every later Take throws it, because
// a file that exists may have a name that is not durable. The destructor waits for a file that is
// being made. Thread-safe.
#ifndef TESTBED_ENGINES_MMAPV1_FILES_PREALLOCATOR_H_
#define TESTBED_ENGINES_MMAPV1_FILES_PREALLOCATOR_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/os/mutex.h"

namespace testbed::mmapv1 {

// The cost of preallocation is charged to this kind of operation, on whichever thread it runs.
OpKind PreallocateOp();

class Preallocator {
 public:
  // With `zero_fill` files are written with zeros, else their space is reserved (DataFile::Create).
  explicit Preallocator(bool zero_fill);
  ~Preallocator();
  Preallocator(const Preallocator&) = delete;
  Preallocator& operator=(const Preallocator&) = delete;

  // Has the file made in the background. Replaces a request whose file was not begun yet.
  void Request(const std::string& path, uint64_t bytes);
  // Returns when the file is there with `bytes` or more: drops a request that was not begun, waits
  // for a file that is being made, and makes this one if it is missing or shorter.
  void Take(const std::string& path, uint64_t bytes);
  // Returns when no file is wanted or being made. A file that could not be made is not wanted any
  // more.
  void WaitUntilIdle();

  // Return the bytes of the files that were made, by Take, too, and how many of them were written.
  uint64_t allocated_bytes() const { return allocated_.load(std::memory_order_relaxed); }
  uint64_t written_bytes() const { return zero_fill_ ? allocated_bytes() : 0; }
  // Returns how many calls of Take had to wait.
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }

 private:
  void Run();
  void Make(const std::string& path, uint64_t bytes);

  const bool zero_fill_;
  std::atomic<uint64_t> allocated_{0}, waits_{0};
  Mutex mutex_;
  CondVar changed_;
  std::string path_ GUARDED_BY(mutex_);  // wanted file; empty when none is wanted
  uint64_t bytes_ GUARDED_BY(mutex_) = 0;
  bool working_ GUARDED_BY(mutex_) = false, stop_ GUARDED_BY(mutex_) = false;
  std::optional<Error> failure_ GUARDED_BY(mutex_);  // the first error that lasts
  std::thread thread_;                               // declared last: it uses the other members
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_FILES_PREALLOCATOR_H_
