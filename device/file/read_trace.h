// Records the reads of data files in the order in which they were asked for. The readahead model
// (tools/run/readahead_model.h) replays a recording.
//
//   ReadTrace::Start(1 << 20);
//   ... the run ...
//   ReadTrace::Recording recording = ReadTrace::Stop();
//
// While no recording is on, a read costs one branch more. Note() and NewFile() are thread-safe.
// There is one recording at a time, which one thread starts and stops. Other threads may read data
// files meanwhile, as an engine's own threads do after the end of a phase.
#ifndef TESTBED_DEVICE_FILE_READ_TRACE_H_
#define TESTBED_DEVICE_FILE_READ_TRACE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace testbed {

class ReadTrace {
 public:
  struct Read {
    uint64_t offset;
    uint32_t bytes;
    uint32_t file : 31;   // number of the File object (NewFile)
    uint32_t mapped : 1;  // 1 if the bytes were touched through a mapping
  };
  // A Recording owns the memory in which the reads were recorded, as a copy of them would take that
  // much memory once more.
  struct Recording {
    std::unique_ptr<Read[]> slots;  // the first `count` of them have a read
    size_t count = 0;
    uint64_t dropped = 0;  // number of reads that found the recording full
    std::span<const Read> reads() const { return {slots.get(), count}; }
  };

  // Starts a recording that keeps the first `most` reads.
  static void Start(size_t most);
  // Ends the recording and returns it. Waits for the threads that are in Note().
  static Recording Stop();
  // Returns a new number for a file that is being opened.
  static uint32_t NewFile();

  // Records a read, if a recording is on. The file layer calls this.
  static void Note(uint32_t file, uint64_t offset, size_t bytes, bool mapped) {
    if (on_.load(std::memory_order_relaxed)) Record(file, offset, bytes, mapped);
  }

 private:
  static void Record(uint32_t file, uint64_t offset, size_t bytes, bool mapped);
  static std::atomic<bool> on_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_READ_TRACE_H_
