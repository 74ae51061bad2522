// What a trace is made of (docs/trace-format.md): operations of clients, each a list of calls on a
// session. This header has the calls, the facts about a whole trace, and the decoding of
// operations.
//
//   TraceOperation operation;
//   OperationDecoder decoder(facts, entry, bytes);
//   while (decoder.Next(&operation)) Use(operation);
#ifndef TESTBED_WORKLOADS_TRACE_TRACE_FORMAT_H_
#define TESTBED_WORKLOADS_TRACE_TRACE_FORMAT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "workloads/trace/encoding.h"

namespace testbed {

inline constexpr char kTraceMagic[9] = "tbtrace\n";
inline constexpr char kTraceEndMagic[9] = "tbtrend\n";
inline constexpr uint32_t kTraceVersion = 1;
inline constexpr size_t kTraceHeadBytes = 16;   // magic, version, 4 bytes of zeros
inline constexpr size_t kBlockHeadBytes = 40;   // BlockEntry, sizes, checksum
inline constexpr size_t kTraceTailBytes = 40;   // place and sizes of the index, checksum, magic
inline constexpr size_t kIndexEntryBytes = 32;  // BlockEntry
// A client hands its block to the writer when it has kBlockBytes bytes, or fewer where there are
// many clients. A reader accepts at most kMostBlockBytes.
inline constexpr size_t kBlockBytes = 128 << 10;
inline constexpr size_t kMostBlockBytes = 256 << 20;
inline constexpr size_t kMostTraceKinds = 24;
inline constexpr size_t kMostTraceTables = 4096;
inline constexpr uint32_t kMostTraceClients = 4096;
inline constexpr size_t kMostTraceKey = 64 << 10;
inline constexpr uint64_t kMostTraceValue = 1ull << 30;
inline constexpr uint32_t kMostTraceCursors = 1024;  // cursors that a client has open at once

// A call on a session or a cursor. The numbers are those in the file.
enum class TraceCallKind : uint8_t {
  kEnd = 0,  // ends an operation
  kBegin,
  kCommit,
  kRollback,
  kGet,
  kPut,
  kErase,
  kMultiGet,
  kOpenCursor,
  kCloseCursor,
  kSeek,
  kSeekForPrev,
  kFirst,
  kLast,
  kNext,        // `number` steps forward without reading the values
  kPrev,        // `number` steps back without reading the values
  kNextValues,  // `number` steps forward, with the value read after each
  kPrevValues,  // `number` steps back, with the value read after each
  kValue,       // the value of the row to which Seek, SeekForPrev, First or Last went
};
inline constexpr size_t kTraceCalls = 19;
inline bool TraceCallWrites(TraceCallKind kind) {
  return kind == TraceCallKind::kPut || kind == TraceCallKind::kErase;
}

// The answer to a get: whether the row was found, and the size of its value.
struct TraceAnswer {
  enum State : uint8_t { kUnknown, kAbsent, kFound };
  State state = kUnknown;
  uint64_t size = 0;  // bytes of the value that was found
};

struct TraceCall {
  TraceCallKind kind = TraceCallKind::kEnd;
  uint32_t table = 0;    // get, put, erase, multi-get and open-cursor: TraceTable::id
  uint32_t cursor = 0;   // calls on cursors: slot of the cursor
  uint64_t number = 0;   // put: bytes of the value; next and prev: steps; multi-get: keys
  std::string_view key;  // get, put, erase and seek: the key; multi-get: the first key
  TraceAnswer answer;    // get: its answer
  uint32_t first = 0;    // multi-get: index of its first key in TraceOperation::keys
};

// One operation of a client. The keys lie in the block, which `block` keeps.
struct TraceOperation {
  uint64_t start_ns = 0;  // since the phase began
  uint32_t client = 0, kind = 0;
  std::vector<TraceCall> calls;
  std::vector<std::string_view> keys;  // keys of multi-gets
  std::vector<TraceAnswer> answers;    // answers to `keys`, in the same order
  std::shared_ptr<const std::string> block;

  // Returns the key of the first call that has one; an empty string when none has.
  std::string_view FirstKey() const;
  // Returns whether the operation needs no other one: it ends the transaction that it begins, and
  // uses only cursors that it opens.
  bool StandsAlone() const;
};

struct TraceTable {
  uint32_t id = 0;
  std::string name;
  // For an index that the engine maintained: the name of its table, and the parts of the keys of
  // its entries.
  std::string index_of;
  std::vector<IndexPart> parts;
};

// The facts about a trace as a whole. They are written at the end of the file.
struct TraceFacts {
  std::string workload, engine;  // those of the run; in an imported trace the format and ""
  uint32_t clients = 0;
  uint64_t operations = 0, last_ns = 0;  // last_ns: start of the last operation
  std::vector<std::string> kinds;        // names of the kinds of operations
  std::vector<TraceTable> tables;
  std::array<uint64_t, kTraceCalls> calls{};

  bool writes() const;
  nlohmann::json ToJson() const;
  // Throws nlohmann::json::exception or Error when the JSON is not what ToJson wrote.
  static TraceFacts FromJson(const nlohmann::json& json);
};

// A BlockEntry says where a block lies and what it holds. It takes 32 bytes in the index, and the
// head of a block repeats it.
struct BlockEntry {
  uint64_t offset = 0, first_ns = 0;
  uint32_t client = 0, operations = 0, stored_bytes = 0, raw_bytes = 0;

  void AppendTo(std::string* out) const;
  static BlockEntry At(const char* bytes);
};

// Decodes the operations of one block. Not thread-safe.
class OperationDecoder {
 public:
  // `facts` must outlive the object. Tables and kinds are checked against them.
  OperationDecoder(const TraceFacts& facts, const BlockEntry& entry,
                   std::shared_ptr<const std::string> bytes);
  // Decodes the next operation. Returns false at the end of the block. Throws Error (kUsage) when
  // the bytes are no operation; the text is the end of a sentence that names the trace.
  bool Next(TraceOperation* operation);

 private:
  bool ReadCall(TraceOperation* operation);
  void ReadMultiGet(TraceOperation* operation, TraceCall* call);
  std::string_view Key();
  TraceAnswer Answer();
  uint32_t Table();

  const TraceFacts& facts_;
  const BlockEntry entry_;
  const std::shared_ptr<const std::string> bytes_;
  std::vector<bool> tables_;  // by id
  Decoder decoder_;
  uint64_t start_ns_;
  uint32_t left_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_TRACE_FORMAT_H_
