// Models the device reads that a kernel of 2014 (Linux 3.x) would have made for a series of file
// reads.
//
// Since Linux 4.10 a read is sent to the device as a whole, whatever read_ahead_kb says. Before,
// the on-demand readahead cut it into windows of that size, or into single pages where it was 0,
// which the experiments of 2014 show. This model replays reads against a page cache of a given size
// with the algorithm of that time, so that the published curve, today's device and the explanation
// can be compared.
//
//   ReadaheadModel model({.read_ahead_bytes = 16384, .cache_bytes = 64 << 20});
//   model.Read(file, offset, bytes);    // pread
//   model.Touch(file, offset, bytes);   // access through mmap
//   model.totals().reads;
//
// The model follows Wu Fengguang et al., "On the design of a new Linux readahead framework" (OSR
// 42(5), 2008) and the kernel's mm/readahead.c (ondemand_readahead) and mm/filemap.c
// (filemap_fault) of 3.x. It omits the "context" rule for cached neighbours, MADV_SEQUENTIAL, the
// end of the file, the second list of the page cache (the model has one LRU list), merging of
// requests by the block layer, and the effect of other threads between two pages of one read.
#ifndef TESTBED_TOOLS_RUN_READAHEAD_MODEL_H_
#define TESTBED_TOOLS_RUN_READAHEAD_MODEL_H_

#include <cstdint>
#include <list>
#include <unordered_map>

namespace testbed {

// Not thread-safe.
class ReadaheadModel {
 public:
  static constexpr uint64_t kPage = 4096;
  struct Options {
    uint64_t read_ahead_bytes = 128 << 10;  // read_ahead_kb of the device
    uint64_t cache_bytes = 0;               // size of the page cache; 0 = unlimited
    uint64_t max_request_bytes = 0;         // longer requests are split; 0 = no limit
    bool random = false;                    // MADV_RANDOM
  };
  struct Totals {
    uint64_t reads = 0, read_bytes = 0;  // at the device
    uint64_t calls = 0;                  // reads and touches that were replayed
    uint64_t missing = 0;                // calls that found a page missing
  };

  explicit ReadaheadModel(const Options& options)
      : options_(options),
        window_(static_cast<int64_t>(options.read_ahead_bytes / kPage)),
        capacity_(options.cache_bytes / kPage) {}

  // Replays a pread of these bytes of a file.
  void Read(uint32_t file, uint64_t offset, uint64_t bytes);
  // Replays an access to these bytes of a file through a memory mapping.
  void Touch(uint32_t file, uint64_t offset, uint64_t bytes);
  const Totals& totals() const { return totals_; }
  // Restarts the counts; cached pages stay cached.
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
  Page* Find(uint32_t file, int64_t page);
  void Fetch(uint32_t file, int64_t page, int64_t pages);
  void OnDemand(uint32_t file, FileState* ra, int64_t page, int64_t wanted);
  void Window(uint32_t file, FileState* ra, int64_t page);
  void Fault(uint32_t file, FileState* ra, int64_t page);

  const Options options_;
  const int64_t window_;
  const uint64_t capacity_;
  std::unordered_map<uint64_t, Page> cache_;
  std::list<uint64_t> ages_;  // least recently used first
  std::unordered_map<uint32_t, FileState> files_;
  Totals totals_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_READAHEAD_MODEL_H_
