// Records the reads of data files in the order in which they were asked for, so that something else
// can be shown what the run did: the readahead model replays them.
//
//   ReadTrace::Start(1 << 20);
//   ... the run ...
//   ReadTrace::Recording recording = ReadTrace::Stop();
//
// Costs one branch a read while it is off. Thread-safe; one recording at a time.
#ifndef TESTBED_DEVICE_FILE_READ_TRACE_H_
#define TESTBED_DEVICE_FILE_READ_TRACE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace testbed {

class ReadTrace {
 public:
  struct Read {
    uint64_t offset;
    uint32_t bytes;
    uint32_t file : 31;   // a number for each time that a file was opened
    uint32_t mapped : 1;  // touched through a mapping, not read
  };
  struct Recording {
    std::vector<Read> reads;
    uint64_t dropped = 0;  // came after `most`
  };

  static void Start(size_t most);
  static Recording Stop();
  static uint32_t NewFile();

  static void Note(uint32_t file, uint64_t offset, size_t bytes, bool mapped) {
    if (on_.load(std::memory_order_relaxed)) Record(file, offset, bytes, mapped);
  }

 private:
  static void Record(uint32_t file, uint64_t offset, size_t bytes, bool mapped);
  static std::atomic<bool> on_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_READ_TRACE_H_
