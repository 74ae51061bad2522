#include "engines/mmapv1/files/preallocator.h"

#include <filesystem>
#include <utility>

#include "device/os/mutex.h"
#include "device/os/thread.h"
#include "engines/mmapv1/files/data_file.h"

namespace testbed::mmapv1 {

OpKind PreallocateOp() {
  static const OpKind op = DefineOp("preallocate", Ground::kBackground);
  return op;
}

Preallocator::Preallocator(bool zero_fill)
    : zero_fill_(zero_fill),
      thread_(StartThread("the preallocation of mmapv1's files", [this] { Run(); })) {}

Preallocator::~Preallocator() {
  {
    LockGuard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Preallocator::Make(const std::string& path, uint64_t bytes) {
  IoScope scope(PreallocateOp());
  try {
    DataFile::Create(path, bytes, zero_fill_);
  } catch (const Error& error) {
    // If even the removal of the file failed, the file stays: it is whole, but its name may not be
    // durable.
    LockGuard lock(mutex_);
    if (!error.disk_is_full() && !failure_) failure_ = error;
    throw;
  }
  allocated_.fetch_add(bytes, std::memory_order_relaxed);
}

void Preallocator::Run() {
  UniqueLock lock(mutex_);
  for (;;) {
    changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return stop_ || !path_.empty(); });
    if (stop_) return;
    const std::string path = std::exchange(path_, {});
    const uint64_t bytes = bytes_;
    working_ = true;
    lock.unlock();
    try {
      Make(path, bytes);
    } catch (const std::exception&) {
      // Take will try again when the file is needed, and will then report the error.
    }
    lock.lock();
    working_ = false;
    changed_.notify_all();
  }
}

void Preallocator::Request(const std::string& path, uint64_t bytes) {
  LockGuard lock(mutex_);
  path_ = path;
  bytes_ = bytes;
  changed_.notify_all();
}

void Preallocator::WaitUntilIdle() {
  UniqueLock lock(mutex_);
  changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return !working_ && path_.empty(); });
}

void Preallocator::Take(const std::string& path, uint64_t bytes) {
  {
    UniqueLock lock(mutex_);
    path_.clear();  // the caller makes the file, which was not begun
    changed_.notify_all();
    if (working_) waits_.fetch_add(1, std::memory_order_relaxed);
    changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return !working_; });
    if (failure_) throw Error(*failure_);
  }
  std::error_code none;
  const uintmax_t there = std::filesystem::file_size(path, none);
  if (none || there < bytes) Make(path, bytes);
}

}  // namespace testbed::mmapv1
