// Latches for pages that are read in place from a mapping of the data file (mmap mode).
//
// A page is read either from its frame in the pool or, when it is in none, from the mapping. The
// two must never be in use at once, since the frame may be newer. One word a page says which holds:
//
//   bit 31     the page is in the pool: go there
//   bit 30     the mapping's page passed its checksum
//   bits 0-29  readers of the mapping
//
// A thread that brings a page into the pool sets bit 31, which turns new readers to the pool, waits
// until the mapping's readers are gone, and copies the page. When the page leaves the pool, it has
// been written to the file, so that the mapping shows it; then the bit is cleared. Bit 31 is set
// and cleared under the page table's latch.
//
// The words are one array, which the kernel fills as it is touched: 4 bytes for each page ever
// read, less than the page tables of the mapping itself.
#ifndef TESTBED_ENGINES_BTREE_MAPPED_H_
#define TESTBED_ENGINES_BTREE_MAPPED_H_

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "device/error.h"
#include "engines/btree/latch.h"
#include "engines/btree/page.h"

namespace testbed::btree {

class MappedPages {
 public:
  MappedPages() {
    void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw Error::Io("mmap", "(page latches)", errno);
    words_ = static_cast<std::atomic<uint32_t>*>(at);
  }
  ~MappedPages() { ::munmap(static_cast<void*>(words_), kBytes); }
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;

  // Returns false when the page is in the pool.
  bool TryLockShared(PageId page) {
    std::atomic<uint32_t>& word = Word(page);
    uint32_t w = word.load(std::memory_order_relaxed);
    do {
      if ((w & kInPool) != 0) return false;
    } while (!word.compare_exchange_weak(w, w + 1, std::memory_order_acquire));
    return true;
  }
  void UnlockShared(PageId page) { Word(page).fetch_sub(1, std::memory_order_release); }

  void SetInPool(PageId page) { Word(page).fetch_or(kInPool, std::memory_order_acq_rel); }
  void WaitForReaders(PageId page) {
    for (int spin = 0; (Word(page).load(std::memory_order_acquire) & kReaders) != 0; ++spin) {
      if (spin < 100) {
        CpuRelax();
      } else {
        std::this_thread::yield();
      }
    }
  }
  void ClearInPool(PageId page) { Word(page).fetch_and(~kInPool, std::memory_order_acq_rel); }

  bool Verified(PageId page) {
    return (Word(page).load(std::memory_order_relaxed) & kVerified) != 0;
  }
  void SetVerified(PageId page) { Word(page).fetch_or(kVerified, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kInPool = 1u << 31;
  static constexpr uint32_t kVerified = 1u << 30;
  static constexpr uint32_t kReaders = kVerified - 1;
  static constexpr size_t kBytes = kMaxPages * sizeof(uint32_t);

  std::atomic<uint32_t>& Word(PageId page) { return words_[page]; }
  std::atomic<uint32_t>* words_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_MAPPED_H_
