// The buffer into which one client's operations are recorded. Each method appends the bytes of a
// call to memory that only this client touches: a few nanoseconds, no lock and no clock.
//
//   TraceClient client(writer, 0);
//   client.Begin(kind, start_ns);             // an operation begins
//   client.Get(table, key, true, 400);
//   client.End();
//   client.Rest();                            // outside the timed part: a full buffer goes on
//   client.Finish();
//
// Calls outside of Begin and End, such as those that check an answer, are no part of an operation,
// and the caller does not pass them on (`recording`). A call that exceeds the limits of a trace
// throws Error (kRun), since no reader would take it. Not thread-safe.
#ifndef TESTBED_WORKLOADS_TRACE_TRACE_CLIENT_H_
#define TESTBED_WORKLOADS_TRACE_TRACE_CLIENT_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "workloads/trace/encoding.h"
#include "workloads/trace/trace_format.h"

namespace testbed {

class TraceWriter;

// Returns the bytes at which each of `clients` clients hands its block to the writer. The buffers
// of all clients take 32 MB at most, or 16 kB each if that is more. The recorded run has these
// buffers in its memory, and a reader of the trace holds a block of each client.
size_t TraceBlockBytes(uint32_t clients);

class alignas(128) TraceClient {
 public:
  // `writer` must outlive the object. The client hands a block to it when the block has
  // `block_bytes` bytes, and has room for two of these.
  TraceClient(TraceWriter& writer, uint32_t number, size_t block_bytes = kBlockBytes);
  TraceClient(const TraceClient&) = delete;
  TraceClient& operator=(const TraceClient&) = delete;

  bool recording() const { return recording_; }

  // Begins an operation that started `start_ns` after the phase began. A start before that of the
  // last operation counts as equal to it.
  void Begin(size_t kind, uint64_t start_ns) {
    Room(3 * kMostNumberBytes);
    if (operations_ == 0) first_ns_ = last_ns_ = std::max(start_ns, last_ns_);
    start_ns = std::max(start_ns, last_ns_);
    at_ = PutNumber(at_, start_ns - last_ns_);
    at_ = PutNumber(at_, kind);
    last_ns_ = start_ns;
    recording_ = true;
  }
  void End() {
    if (failure_ != nullptr) [[unlikely]]
      std::rethrow_exception(failure_);
    FlushSteps();
    Room(1);
    *at_++ = 0;
    ++operations_;
    recording_ = false;
  }

  void Call(TraceCallKind kind) { Start(kind, 0); }
  void Get(TableId table, std::string_view key, bool found, size_t size) {
    WithKey(TraceCallKind::kGet, table, key);
    at_ = PutNumber(at_, found ? size + 2 : 1);
  }
  // Records a get whose answer may not be known, as in imported traces.
  void Get(TableId table, std::string_view key, const TraceAnswer& answer) {
    WithKey(TraceCallKind::kGet, table, key);
    PutAnswer(answer);
  }
  void Put(TableId table, std::string_view key, size_t value_size) {
    if (value_size > kMostTraceValue) RefuseValue(value_size);
    WithKey(TraceCallKind::kPut, table, key);
    at_ = PutNumber(at_, value_size);
  }
  void Erase(TableId table, std::string_view key) { WithKey(TraceCallKind::kErase, table, key); }
  void MultiGet(TableId table, std::span<const std::string_view> keys,
                const std::vector<FoundRow>& rows);

  // Writes the calls of an operation of another trace, between Begin and End.
  void Repeat(const TraceOperation& operation);

  // Returns the number of the cursor that is opened, for the calls on it.
  uint32_t OpenCursor(TableId table);
  void CloseCursor(uint32_t cursor);
  // Says that the cursor was closed outside of an operation. Its number may be given to another
  // one.
  void ForgetCursor(uint32_t cursor) { free_cursors_.push_back(cursor); }
  // Does what the destructor of a cursor has to tell: CloseCursor within an operation, ForgetCursor
  // outside. The next End throws the error of it.
  void EndCursor(uint32_t cursor) noexcept;
  void Seek(TraceCallKind kind, uint32_t cursor, std::string_view key) {
    Start(kind, kMostNumberBytes * 2 + key.size());
    at_ = PutNumber(at_, cursor);
    if (kind == TraceCallKind::kSeek || kind == TraceCallKind::kSeekForPrev) PutKey(key);
    asked_ = false;
    sought_ = cursor;
  }
  // Records one step of the cursor. Successive steps of the same kind become one call of the trace.
  void Step(uint32_t cursor, bool forward) {
    if (steps_ != 0 && step_cursor_ == cursor && step_forward_ == forward) {
      FoldStep();
    } else {
      FlushSteps();
      step_cursor_ = cursor;
      step_forward_ = forward;
    }
    ++steps_;
    step_asked_ = false;
  }
  // Records that the value of the row on which the cursor stands was read.
  void AskValue(uint32_t cursor) {
    if (steps_ != 0 && step_cursor_ == cursor) {
      step_asked_ = true;
    } else if (!asked_ && sought_ == cursor) {
      Start(TraceCallKind::kValue, kMostNumberBytes);
      at_ = PutNumber(at_, cursor);
      asked_ = true;
    }
  }

  // Hands a full buffer to the writer, and waits for the writer when it is far behind. Throws Error
  // when the writer has failed.
  void Rest() {
    if (Size() >= block_bytes_) HandOver();
  }
  // Hands the rest to the writer.
  void Finish() {
    if (operations_ != 0) HandOver();
  }

  uint64_t last_ns() const { return last_ns_; }
  uint64_t operations() const { return handed_over_ + operations_; }
  const std::array<uint64_t, kTraceCalls>& calls() const { return calls_; }

 private:
  size_t Size() const { return static_cast<size_t>(at_ - buffer_.data()); }
  void Room(size_t n) {
    if (static_cast<size_t>(end_ - at_) < n) Grow(n);
  }
  void Start(TraceCallKind kind, size_t room) {
    if (steps_ != 0) FlushSteps();
    Append(kind, room);
  }
  void Append(TraceCallKind kind, size_t room) {
    Room(room + 1);
    *at_++ = static_cast<char>(kind);
    ++calls_[static_cast<size_t>(kind)];
  }
  void PutAnswer(const TraceAnswer& answer) {
    at_ = PutNumber(at_, answer.state == TraceAnswer::kFound    ? answer.size + 2
                         : answer.state == TraceAnswer::kAbsent ? 1
                                                                : 0);
  }
  void RepeatMultiGet(const TraceOperation& operation, const TraceCall& call);
  void WithKey(TraceCallKind kind, TableId table, std::string_view key) {
    Start(kind, 3 * kMostNumberBytes + key.size());
    at_ = PutNumber(at_, table);
    PutKey(key);
  }
  void PutKey(std::string_view key) {
    if (key.size() > kMostTraceKey) RefuseKey(key.size());
    at_ = PutNumber(at_, key.size());
    std::memcpy(at_, key.data(), key.size());
    at_ += key.size();
  }
  // Ends the run of steps before the last step when their values were read and that of the last
  // step was not, or the reverse; the last step then begins another run.
  void FoldStep() {
    if (steps_ == 1) {
      steps_asked_ = step_asked_;
    } else if (steps_asked_ != step_asked_) {
      --steps_;
      WriteSteps();
      steps_ = 1;
      steps_asked_ = step_asked_;
    }
  }
  void FlushSteps() {
    if (steps_ == 0) return;
    FoldStep();
    WriteSteps();
    steps_ = 0;
  }
  void WriteSteps();
  [[noreturn]] static void RefuseKey(size_t bytes);
  [[noreturn]] static void RefuseValue(size_t bytes);
  void Grow(size_t n);
  void HandOver();

  TraceWriter& writer_;
  const uint32_t number_;
  const size_t block_bytes_;
  std::vector<char> buffer_;
  char* at_;
  char* end_;
  uint64_t first_ns_ = 0, last_ns_ = 0, handed_over_ = 0;
  uint32_t operations_ = 0;  // operations in the buffer
  bool recording_ = false;
  // The number of steps that are not written yet (steps_), whether the values were read after them
  // (steps_asked_), and whether the value was read after the last step (step_asked_).
  uint64_t steps_ = 0;
  uint32_t step_cursor_ = 0;
  bool step_forward_ = true, steps_asked_ = false, step_asked_ = false;
  uint32_t sought_ = 0;  // the cursor that was positioned last; asked_: its value was read
  bool asked_ = true;
  uint32_t next_cursor_ = 0;
  std::vector<uint32_t> free_cursors_;
  std::exception_ptr failure_;  // the error of EndCursor, which End throws
  std::array<uint64_t, kTraceCalls> calls_{};
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_TRACE_CLIENT_H_
