// Writes the file of a trace (docs/trace-format.md). A thread of its own compresses the blocks and
// writes them, so that a client only copies its full buffer.
//
//   TraceWriter writer("run.trace");
//   TraceClient client(writer, 0);       // trace_client.h; its buffers become blocks
//   ...
//   client.Finish();
//   writer.Finish(facts);
//
// The file is PATH.new, and locked, until Finish renames it. It is removed when the writer is destroyed
// before. What a killed process has left of it is replaced, and any other file of that name is refused.
// PATH may be a symbolic link: that is followed, and the file that it names is replaced. A file that was
// there gives its owner and mode (device/file/replacement.h).
// The thread's IO is charged to the operation "record".
#ifndef TESTBED_WORKLOADS_TRACE_TRACE_WRITER_H_
#define TESTBED_WORKLOADS_TRACE_TRACE_WRITER_H_

#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "device/file/file.h"
#include "device/os/mutex.h"
#include "workloads/trace/trace_format.h"

namespace testbed {

// Throws Error (kUsage) when a TraceWriter would refuse what is there: at `path` a device, a pipe or
// anything else that is no regular file with a name, a symbolic link that may not be followed, or a file
// PATH.new that no killed process left.
void CheckTracePlace(const std::string& path);
// Returns the name of the file as long as it is not whole. Throws Error (kUsage) for a symbolic link
// that may not be followed.
std::string UnfinishedTrace(const std::string& path);

class TraceWriter {
 public:
  // Creates the file. Throws Error: kUsage, as CheckTracePlace does, and kIo. An empty path makes a writer that compresses the blocks
  // and writes nothing, for the measurement of what recording costs.
  explicit TraceWriter(const std::string& path);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  struct Block {
    BlockEntry entry;
    std::string bytes;
  };
  // Takes a block over. Waits when many blocks are not written yet. Throws Error (kRun) when the
  // writer's thread has failed. Thread-safe.
  void Add(Block block);
  // Waits until all blocks are written, writes the index and the facts, and gives the file its
  // name. Throws Error (kRun) when the file could not be written. `facts.operations` and
  // `facts.last_ns` are the caller's.
  void Finish(const TraceFacts& facts);

 private:
  void Work();
  void Write(Block block);
  void Put(std::string_view bytes);
  void Stop();
  [[noreturn]] void Fail(const std::exception& error) const;

  const std::string path_, place_, unfinished_;  // as given, with links followed, until it is whole
  std::unique_ptr<File> file_;
  uint64_t end_ = 0, written_back_ = 0;  // of the file; touched by one thread at a time
  std::string stored_;
  std::string index_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Block> queue_ GUARDED_BY(mutex_);
  bool stop_ GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_TRACE_WRITER_H_
