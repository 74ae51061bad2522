// Makes the data file that will be needed next, on a thread of its own.
//
//   Preallocator preallocator(zero_fill);
//   preallocator.Request(path, bytes);
//   preallocator.Take(path, bytes);    // the file is there: waits for it, or makes it now
//
// A file that could not be made in the background is tried again by Take, whose error (kIo) is then
// the caller's. The destructor waits for a file that is being made. Thread-safe.
#ifndef TESTBED_ENGINES_MMAPV1_FILES_PREALLOCATOR_H_
#define TESTBED_ENGINES_MMAPV1_FILES_PREALLOCATOR_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "device/account/ledger.h"

namespace testbed::mmapv1 {

// What preallocation costs is charged to this kind of operation, wherever it runs.
OpKind PreallocateOp();

class Preallocator {
 public:
  explicit Preallocator(bool zero_fill);
  ~Preallocator();
  Preallocator(const Preallocator&) = delete;
  Preallocator& operator=(const Preallocator&) = delete;

  void Request(const std::string& path, uint64_t bytes);
  void Take(const std::string& path, uint64_t bytes);
  void WaitUntilIdle();

  uint64_t allocated_bytes() const { return allocated_.load(std::memory_order_relaxed); }
  uint64_t written_bytes() const { return zero_fill_ ? allocated_bytes() : 0; }
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }  // of Take

 private:
  void Run();
  void Make(const std::string& path, uint64_t bytes);

  const bool zero_fill_;
  std::atomic<uint64_t> allocated_{0}, waits_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string path_;  // wanted; empty: none
  uint64_t bytes_ = 0;
  bool working_ = false, stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_FILES_PREALLOCATOR_H_
