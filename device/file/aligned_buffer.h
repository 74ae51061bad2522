// An AlignedBuffer owns a block of memory that is aligned for direct IO.
#ifndef TESTBED_DEVICE_FILE_ALIGNED_BUFFER_H_
#define TESTBED_DEVICE_FILE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace testbed {

// Its bytes are not initialized. The constructor throws std::bad_alloc.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size, size_t alignment = 4096) : size_(size) {
    const size_t whole = (size + alignment - 1) / alignment * alignment;
    data_ = static_cast<char*>(std::aligned_alloc(alignment, whole));
    if (data_ == nullptr) throw std::bad_alloc();
  }
  ~AlignedBuffer() { std::free(data_); }
  AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  char* data() { return data_; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_ALIGNED_BUFFER_H_
