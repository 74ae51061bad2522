// Writes the file of a trace (docs/trace-format.md). A thread of its own compresses the blocks and
// writes them, so that a client only copies its full buffer.
//
//   TraceWriter writer("run.trace");
//   TraceClient client(writer, 0);       // trace_client.h; its buffers become blocks
//   ...
//   client.Finish();
//   writer.Finish(facts);
//
// The file is PATH.new, and locked, until Finish renames it. When the writer is destroyed without
// Finish, it removes the file. A file PATH.new that a killed process left is replaced; any other
// file of that name is refused. When PATH is a symbolic link, the file that it names is replaced.
// The new file gets the owner and the mode of the file that it replaces
// (device/file/replacement.h). The thread's IO is charged to the operation "record".
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

// Throws Error (kUsage) when a TraceWriter would refuse `path`: it is a device, a pipe or anything
// else but a regular file with a name, a symbolic link that may not be followed, or there is a file
// PATH.new that no killed process left.
void CheckTracePlace(const std::string& path);
// Returns the name that the file has until Finish renames it. Throws Error (kUsage) for a symbolic
// link that may not be followed.
std::string UnfinishedTrace(const std::string& path);

class TraceWriter {
 public:
  // Creates the file. Throws Error: kUsage, as CheckTracePlace does, and kIo. With an empty path
  // the writer compresses the blocks and writes nothing, which is for measuring the cost of
  // recording.
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
  // name. Throws Error (kRun) when the file could not be written. The caller must have set
  // `facts.operations` and `facts.last_ns`.
  void Finish(const TraceFacts& facts);

 private:
  void Work();
  void Write(Block block);
  void Put(std::string_view bytes);
  void Stop();
  void Discard();
  [[noreturn]] void Fail(const std::exception& error) const;

  const std::string path_, place_, unfinished_;  // PATH; with links followed; PATH.new
  std::unique_ptr<File> file_;
  uint64_t end_ = 0, written_back_ = 0;  // offsets in the file; touched by one thread at a time
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
