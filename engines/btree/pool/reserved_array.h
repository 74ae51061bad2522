// A ReservedArray reserves address space for the largest number of elements that can ever be
// needed. The kernel gives memory, filled with zeros, when an element is first touched; Release
// gives memory back. Elements are neither constructed nor destroyed. The constructor throws Error
// (kIo) when there is no address space.
#ifndef TESTBED_ENGINES_BTREE_POOL_RESERVED_ARRAY_H_
#define TESTBED_ENGINES_BTREE_POOL_RESERVED_ARRAY_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
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
    if (at == MAP_FAILED) {
      const int code = errno;
      throw Error(Error::kIo,
                  "the system reserves no " + std::to_string(bytes_ >> 20) +
                      " MiB of address space for the btree: " + std::strerror(code) +
                      "; see whether ulimit -v bounds it, or vm.overcommit_memory is 2",
                  code);
    }
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

  // Makes the kernel give the memory of [from, from + n) now, so that no thread waits for that at
  // the first touch. The memory is in huge pages if the kernel has them, which saves TLB misses.
  // Elements that have memory keep their values. Returns false when the kernel cannot populate
  // memory.
  //
  // Only these ranges use huge pages. If several threads first touched the same huge page at the
  // same time, each would get a huge page for a while, and the process could exceed its memory
  // limit.
  bool Populate(size_t from, size_t n) {
    void* at = static_cast<void*>(at_ + from);
    ::madvise(at, n * sizeof(T), MADV_HUGEPAGE);  // it fails when there are no huge pages
    return ::madvise(at, n * sizeof(T), MADV_POPULATE_WRITE) == 0;
  }
  // Gives the memory of all whole kernel pages in [from, from + n) back; their elements become
  // zero.
  void Release(size_t from, size_t n) {
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = (reinterpret_cast<uintptr_t>(at_ + from) + page - 1) / page * page;
    const auto end = reinterpret_cast<uintptr_t>(at_ + from + n) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }

 private:
  const size_t bytes_;
  void* mapping_;
  T* at_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_RESERVED_ARRAY_H_
