#include "engines/mmapv1/files/preallocator.h"

#include <filesystem>
#include <utility>

#include "device/error.h"
#include "engines/mmapv1/files/data_file.h"

namespace testbed::mmapv1 {

OpKind PreallocateOp() {
  static const OpKind op = DefineOp("preallocate", Ground::kBackground);
  return op;
}

Preallocator::Preallocator(bool zero_fill) : zero_fill_(zero_fill), thread_([this] { Run(); }) {}

Preallocator::~Preallocator() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Preallocator::Make(const std::string& path, uint64_t bytes) {
  IoScope scope(PreallocateOp());
  DataFile::Create(path, bytes, zero_fill_);
  allocated_.fetch_add(bytes, std::memory_order_relaxed);
}

void Preallocator::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !path_.empty(); });
    if (stop_) return;
    const std::string path = std::exchange(path_, {});
    const uint64_t bytes = bytes_;
    working_ = true;
    lock.unlock();
    try {
      Make(path, bytes);
    } catch (const Error&) {
      // Take tries it again, if it comes to that, and tells the user.
    }
    lock.lock();
    working_ = false;
    changed_.notify_all();
  }
}

void Preallocator::Request(const std::string& path, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  path_ = path;
  bytes_ = bytes;
  changed_.notify_all();
}

void Preallocator::WaitUntilIdle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !working_ && path_.empty(); });
}

void Preallocator::Take(const std::string& path, uint64_t bytes) {
  {
    std::unique_lock lock(mutex_);
    path_.clear();  // one that has not been begun is made here, by whoever needs it
    if (working_) waits_.fetch_add(1, std::memory_order_relaxed);
    changed_.wait(lock, [this] { return !working_; });
  }
  std::error_code none;
  const uintmax_t there = std::filesystem::file_size(path, none);
  if (none || there < bytes) Make(path, bytes);
}

}  // namespace testbed::mmapv1
