// Reads a trace (docs/trace-format.md) block by block; the file may be of any size.
//
//   const TraceFile file("run.trace");
//   TraceStream stream(file, {0, 1, 2});       // the operations of these clients, by time
//   TraceOperation operation;
//   while (stream.Next(&operation)) Use(operation);
//
// All errors are Error (kUsage) with a sentence that names the file and what is wrong with it.
#ifndef TESTBED_WORKLOADS_TRACE_TRACE_FILE_H_
#define TESTBED_WORKLOADS_TRACE_TRACE_FILE_H_

#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "device/file/file.h"
#include "device/os/mutex.h"
#include "workloads/trace/trace_format.h"

namespace testbed {

// Thread-safe; its contents do not change after construction.
class TraceFile {
 public:
  // Reads and checks the facts and the index, not the blocks.
  explicit TraceFile(const std::string& path);
  const std::string& path() const { return path_; }
  // Returns what tells the opened file from one that has taken its path, or has other contents: its
  // inode, its size, the time of its last change and the checksum of its index.
  const std::string& identity() const { return identity_; }
  uint64_t bytes() const { return bytes_; }
  const TraceFacts& facts() const { return facts_; }
  const std::vector<BlockEntry>& blocks() const { return blocks_; }

  // Returns the unpacked bytes of block `i`. Threads that read the same block share its bytes while
  // any of them holds them. Throws when the block cannot be read or unpacked, and when its
  // checksum is wrong.
  std::shared_ptr<const std::string> Read(size_t i) const;
  // Checks the checksums of all blocks.
  void CheckBlocks() const;
  // Throws the error that says what is wrong with the file.
  [[noreturn]] void Refuse(const std::string& what) const;

 private:
  void ReadHead() const;
  void ReadIndex();
  void Identify(uint64_t index_checksum);
  void TakeIndex(const std::string& raw, uint64_t end);
  void ReadStored(size_t i, std::string* stored) const;

  const std::string path_;
  std::string identity_;
  std::unique_ptr<File> file_;
  uint64_t bytes_ = 0;
  TraceFacts facts_;
  std::vector<BlockEntry> blocks_;
  mutable Mutex mutex_;
  // By block: the unpacked bytes, as long as a thread holds them.
  mutable std::vector<std::weak_ptr<const std::string>> held_ GUARDED_BY(mutex_);
};

// Returns the operations of some clients in the order of their starts. Operations of the same
// client keep their order. Holds a block of each client in memory. Not thread-safe.
class TraceStream {
 public:
  // `file` must outlive the object.
  TraceStream(const TraceFile& file, const std::vector<uint32_t>& clients);
  // Sets *operation to the next operation. Returns false at the end.
  bool Next(TraceOperation* operation);

 private:
  struct Client {
    std::vector<size_t> blocks;  // blocks not opened yet; back() is the next
    std::unique_ptr<OperationDecoder> decoder;
    TraceOperation next;
  };
  bool Advance(Client* client);

  const TraceFile& file_;
  std::vector<Client> clients_;
  using Due = std::pair<uint64_t, size_t>;  // start of a client's next operation, and its index
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

// Returns the numbers of all clients of the trace.
std::vector<uint32_t> AllClients(const TraceFile& file);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_TRACE_FILE_H_
