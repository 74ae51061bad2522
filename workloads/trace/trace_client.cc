#include "workloads/trace/trace_client.h"

#include <fmt/format.h>

#include <utility>

#include "device/error.h"
#include "workloads/trace/trace_writer.h"

namespace testbed {

size_t TraceBlockBytes(uint32_t clients) {
  constexpr size_t kOfAllClients = 32 << 20, kLeastBlock = 8 << 10;
  const size_t each = kOfAllClients / std::max(1u, clients);
  return std::clamp(each / 2, kLeastBlock, kBlockBytes);  // a buffer has room for two blocks
}

TraceClient::TraceClient(TraceWriter& writer, uint32_t number, size_t block_bytes)
    : writer_(writer),
      number_(number),
      block_bytes_(block_bytes),
      buffer_(2 * block_bytes),
      at_(buffer_.data()),
      end_(at_ + buffer_.size()) {}

void TraceClient::MultiGet(TableId table, std::span<const std::string_view> keys,
                           const std::vector<FoundRow>& rows) {
  Start(TraceCallKind::kMultiGet, 2 * kMostNumberBytes);
  at_ = PutNumber(at_, table);
  at_ = PutNumber(at_, keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    Room(2 * kMostNumberBytes + keys[i].size());
    PutKey(keys[i]);
    at_ = PutNumber(at_, rows[i].found ? rows[i].value.size() + 2 : 1);
  }
}

void TraceClient::RepeatMultiGet(const TraceOperation& operation, const TraceCall& call) {
  Start(TraceCallKind::kMultiGet, 2 * kMostNumberBytes);
  at_ = PutNumber(at_, call.table);
  at_ = PutNumber(at_, call.number);
  for (size_t i = call.first; i < call.first + call.number; ++i) {
    Room(2 * kMostNumberBytes + operation.keys[i].size());
    PutKey(operation.keys[i]);
    PutAnswer(operation.answers[i]);
  }
}

void TraceClient::Repeat(const TraceOperation& operation) {
  using enum TraceCallKind;
  for (const TraceCall& call : operation.calls) {
    switch (call.kind) {
      case kBegin:
      case kCommit:
      case kRollback:
        Call(call.kind);
        break;
      case kGet:
        Get(call.table, call.key, call.answer);
        break;
      case kPut:
        Put(call.table, call.key, call.number);
        break;
      case kErase:
        Erase(call.table, call.key);
        break;
      case kMultiGet:
        RepeatMultiGet(operation, call);
        break;
      default:
        Append(call.kind, 3 * kMostNumberBytes + call.key.size());
        at_ = PutNumber(at_, call.cursor);
        if (call.kind == kOpenCursor) at_ = PutNumber(at_, call.table);
        if (call.kind == kSeek || call.kind == kSeekForPrev) PutKey(call.key);
        if (call.kind >= kNext && call.kind <= kPrevValues) at_ = PutNumber(at_, call.number);
    }
  }
}

uint32_t TraceClient::OpenCursor(TableId table) {
  uint32_t cursor = next_cursor_;
  if (free_cursors_.empty()) {
    if (cursor == kMostTraceCursors) {
      throw Error(Error::kRun,
                  fmt::format("the trace cannot hold more than {} cursors that a client "
                              "has open at once; leave out --record",
                              kMostTraceCursors));
    }
    ++next_cursor_;
  } else {
    cursor = free_cursors_.back();
    free_cursors_.pop_back();
  }
  Start(TraceCallKind::kOpenCursor, 2 * kMostNumberBytes);
  at_ = PutNumber(at_, cursor);
  at_ = PutNumber(at_, table);
  return cursor;
}

void TraceClient::CloseCursor(uint32_t cursor) {
  Start(TraceCallKind::kCloseCursor, kMostNumberBytes);
  at_ = PutNumber(at_, cursor);
  ForgetCursor(cursor);
}

void TraceClient::EndCursor(uint32_t cursor) noexcept {
  try {
    recording_ ? CloseCursor(cursor) : ForgetCursor(cursor);
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void TraceClient::WriteSteps() {
  using enum TraceCallKind;
  Append(
      step_forward_ ? (steps_asked_ ? kNextValues : kNext) : (steps_asked_ ? kPrevValues : kPrev),
      2 * kMostNumberBytes);
  at_ = PutNumber(at_, step_cursor_);
  at_ = PutNumber(at_, steps_);
}

void TraceClient::RefuseKey(size_t bytes) {
  throw Error(Error::kRun,
              fmt::format("the trace cannot hold a key of {} bytes, which is more than "
                          "{}; leave out --record, or give shorter keys",
                          bytes, kMostTraceKey));
}

void TraceClient::RefuseValue(size_t bytes) {
  throw Error(Error::kRun, fmt::format("the trace cannot hold a value of {} bytes, which is more "
                                       "than {}; leave out --record, or give shorter values",
                                       bytes, kMostTraceValue));
}

void TraceClient::Grow(size_t n) {
  const size_t size = Size();
  if (size + n > kMostBlockBytes) {
    throw Error(Error::kRun,
                fmt::format("the trace cannot hold an operation with more than {} MB of keys and "
                            "calls; leave out --record, or give smaller transactions",
                            kMostBlockBytes >> 20));
  }
  buffer_.resize(std::min(std::max(2 * buffer_.size(), size + n), kMostBlockBytes));
  at_ = buffer_.data() + size;
  end_ = buffer_.data() + buffer_.size();
}

void TraceClient::HandOver() {
  handed_over_ += operations_;
  writer_.Add({.entry = {.offset = 0,
                         .first_ns = first_ns_,
                         .client = number_,
                         .operations = std::exchange(operations_, 0),
                         .stored_bytes = 0,
                         .raw_bytes = static_cast<uint32_t>(Size())},
               .bytes = {buffer_.data(), Size()}});
  at_ = buffer_.data();
}

}  // namespace testbed
