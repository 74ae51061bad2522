// Models the reads that a kernel of 2014 (Linux 3.x) would have sent to the device for a series of
// file reads.
//
// Since Linux 4.10 a read is sent to the device as a whole, whatever read_ahead_kb is, unless it is
// 0: then each page is a request, as in 2014. Before, the on-demand readahead cut a read into
// windows of read_ahead_kb. The experiments of 2014 show that. This model replays reads against a
// page cache of a given size and the readahead algorithm of that time, so that the published curve,
// today's device and the explanation can stand side by side.
//
//   ReadaheadModel model({.read_ahead_bytes = 16384, .cache_bytes = 64 << 20});
//   model.Read(file, offset, bytes);    // pread
//   model.Touch(file, offset, bytes);   // access through mmap
//   model.totals().reads;
//
// Follows Wu Fengguang et al., "On the design of a new Linux readahead framework" (OSR 42(5), 2008)
// and the kernel's mm/readahead.c (ondemand_readahead) and mm/filemap.c (filemap_fault) of 3.x.
// The model leaves out the "context" rule for cached neighbours, MADV_SEQUENTIAL, the end of the
// file, the two lists of the page cache (here it is one LRU list), the merging of requests by the
// block layer, and the interference of other threads between two pages of one read.
//
// Not thread-safe.
#ifndef TESTBED_TOOLS_RUN_READAHEAD_MODEL_H_
#define TESTBED_TOOLS_RUN_READAHEAD_MODEL_H_

#include <cstdint>
#include <list>
#include <unordered_map>

namespace testbed {

class ReadaheadModel {
 public:
  static constexpr uint64_t kPage = 4096;
  struct Options {
    uint64_t read_ahead_bytes = 128 << 10;  // read_ahead_kb of the device
    uint64_t cache_bytes = 0;               // size of the page cache; 0 = unlimited
    uint64_t max_request_bytes = 0;         // a longer request is sent in parts; 0 = no limit
    bool random = false;                    // MADV_RANDOM
  };
  struct Totals {
    uint64_t reads = 0, read_bytes = 0;  // requests sent to the device, and their bytes
    uint64_t calls = 0;                  // calls of Read and Touch
    uint64_t missing = 0;                // calls that found a page missing in the page cache
  };

  explicit ReadaheadModel(const Options& options)
      : options_(options),
        window_(static_cast<int64_t>(options.read_ahead_bytes / kPage)),
        capacity_(options.cache_bytes / kPage) {}

  // Replays a pread of `bytes` at `offset`. `file` is any number that identifies the file.
  void Read(uint32_t file, uint64_t offset, uint64_t bytes);
  // Replays an access through mmap to the same range of pages.
  void Touch(uint32_t file, uint64_t offset, uint64_t bytes);
  const Totals& totals() const { return totals_; }
  // Sets the totals to 0; the cached pages stay.
  void ResetTotals() { totals_ = {}; }

 private:
  // The kernel's struct file_ra_state, in pages.
  struct FileState {
    int64_t start = 0, size = 0, async_size = 0, previous = -1000;
    int mmap_miss = 0;
  };
  struct Page {
    std::list<uint64_t>::iterator age;
    bool mark = false;    // PG_readahead: touching it starts the next window
    bool mapped = false;  // in the process's page table, so an access does not fault
  };
  static uint64_t Key(uint32_t file, int64_t page) {
    return static_cast<uint64_t>(file) << 40 | static_cast<uint64_t>(page);
  }
  // Returns a cached page and makes it the most recently used; null when it is not cached.
  Page* Find(uint32_t file, int64_t page);
  // Reads the pages of a range that are not cached, with one request for each run of them.
  void Fetch(uint32_t file, int64_t page, int64_t pages);
  // Chooses the window to read for `page`, of `wanted` pages still to read: ondemand_readahead.
  void OnDemand(uint32_t file, FileState* ra, int64_t page, int64_t wanted);
  // Reads the window that *ra describes and marks the page at which the next window starts.
  void Window(uint32_t file, FileState* ra, int64_t page);
  // Replays a page fault: the page is not in the process's page table.
  void Fault(uint32_t file, FileState* ra, int64_t page);

  const Options options_;
  const int64_t window_;     // read_ahead_bytes in pages
  const uint64_t capacity_;  // cache_bytes in pages
  std::unordered_map<uint64_t, Page> cache_;
  std::list<uint64_t> ages_;  // least recently used first
  std::unordered_map<uint32_t, FileState> files_;
  Totals totals_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_READAHEAD_MODEL_H_
