// An array of address space for as many elements as there could ever be; memory comes as elements
// are touched, as zeros, and goes back with Release. Nothing is constructed or destroyed.
#ifndef TESTBED_ENGINES_BTREE_POOL_RESERVED_ARRAY_H_
#define TESTBED_ENGINES_BTREE_POOL_RESERVED_ARRAY_H_

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/error.h"

namespace testbed::btree {

template <typename T>
class ReservedArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  static constexpr size_t kHugePage = 2u << 20;

  explicit ReservedArray(size_t size) : bytes_(size * sizeof(T) + kHugePage) {
    void* at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw Error::Io("mmap", "(memory of the btree cache)", errno);
    mapping_ = at;
    const auto address = reinterpret_cast<uintptr_t>(at);
    at_ = reinterpret_cast<T*>((address + kHugePage - 1) / kHugePage * kHugePage);
  }
  ~ReservedArray() { ::munmap(mapping_, bytes_); }
  ReservedArray(const ReservedArray&) = delete;
  ReservedArray& operator=(const ReservedArray&) = delete;

  T& operator[](size_t i) { return at_[i]; }
  const T& operator[](size_t i) const { return at_[i]; }
  T* data() { return at_; }
  const T* data() const { return at_; }

  // Has the kernel give memory for [from, from + n) now, cleared, so that nobody waits for that at
  // the first touch; in huge pages where it has them, which saves misses of the TLB. What is there
  // stays as it is. False where the kernel cannot. Elsewhere memory comes in small pages: threads
  // that first touch the same huge page at the same moment would each be given one for a while,
  // and a memory limit would be passed by that.
  bool Populate(size_t from, size_t n) {
    void* at = static_cast<void*>(at_ + from);
    ::madvise(at, n * sizeof(T), MADV_HUGEPAGE);  // an error means that there are none
    return ::madvise(at, n * sizeof(T), MADV_POPULATE_WRITE) == 0;
  }
  // Gives the memory of whole kernel pages in [from, from + n) back; they read as zeros again.
  void Release(size_t from, size_t n) {
    ::madvise(static_cast<void*>(at_ + from), n * sizeof(T), MADV_DONTNEED);
  }

 private:
  const size_t bytes_;
  void* mapping_;
  T* at_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_RESERVED_ARRAY_H_
