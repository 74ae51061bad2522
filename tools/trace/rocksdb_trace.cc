#include "tools/trace/rocksdb_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <istream>
#include <optional>

#include "device/error.h"
#include "tools/output/table.h"
#include "tools/trace/trace_builder.h"
#include "workloads/dataset.h"

namespace testbed {
namespace {

// The numbers of rocksdb::TraceType, and those of the entries of a write batch.
enum RecordType : uint8_t {
  kBeginRecord = 1,
  kEndRecord = 2,
  kWriteRecord = 3,
  kGetRecord = 4,
  kSeekRecord = 5,
  kSeekForPrevRecord = 6,
  kMultiGetRecord = 13,
};
enum Tag : uint8_t {
  kDeletion = 0,
  kValue = 1,
  kMerge = 2,
  kLogData = 3,
  kFamilyDeletion = 4,
  kFamilyValue = 5,
  kFamilyMerge = 6,
  kSingleDeletion = 7,
  kFamilySingleDeletion = 8,
  kNoop = 0xd,
  kFamilyRangeDeletion = 0xe,
  kRangeDeletion = 0xf,
};
constexpr size_t kRecordHeadBytes = 13;  // time, type, length of the payload
constexpr uint32_t kMostPayload = 256 << 20;
constexpr char kRocksdbMagic[] = "feedcafedeadbeef";

enum OperationKind : uint8_t { kGetKind, kMultiGetKind, kWriteKind, kSeekKind };

class RocksdbImporter {
 public:
  RocksdbImporter(const ImportOptions& options, const std::string& to)
      : options_(options),
        builder_(options, to, "rocksdb", {"point-read", "multi-get", "write", "seek"}, 1) {}

  uint64_t Read(std::istream& in) {
    std::string payload;
    bool ended = false;
    while (!ended && ReadRecord(in, &payload)) {
      ended = type_ == kEndRecord;
      if (record_ == 1) {
        CheckHead(payload);
      } else if (!ended) {
        Take(payload);
      }
    }
    // DB::EndTrace writes a last record. A trace without it comes from a program that died.
    if (!ended) {
      Refuse(record_ == 0 ? "is no trace of RocksDB"
                          : "is the last, and the record that ends a trace is missing: the copy or "
                            "the recording is not whole");
    }
    const uint64_t operations = builder_.Finish();
    if (operations == 0) Refuse("and the trace holds no operations");
    return operations;
  }

 private:
  [[noreturn]] void Refuse(const std::string& what) const {
    throw Error(Error::kUsage, fmt::format("{} record {}: {}", options_.from, record_, what));
  }
  void Demand(bool good) const {
    if (!good) Refuse("is not as RocksDB writes it");
  }

  bool ReadRecord(std::istream& in, std::string* payload) {
    char head[kRecordHeadBytes];
    in.read(head, sizeof head);
    const auto got = static_cast<size_t>(in.gcount());
    TraceBuilder::CheckStop();
    if (got == 0) return false;
    ++record_;
    const char* const cut = "the file ends within it";
    if (got != sizeof head) Refuse(record_ == 1 ? "is no trace of RocksDB" : cut);
    time_us_ = FixedAt<uint64_t>(head);
    type_ = static_cast<uint8_t>(head[8]);
    const auto size = FixedAt<uint32_t>(head + 9);
    if (record_ == 1 && type_ != kBeginRecord) Refuse("is no trace of RocksDB");
    if (size > kMostPayload) {
      Refuse(fmt::format("has {}, and records of {} MB at most are read", Counted(size, "byte"),
                         kMostPayload >> 20));
    }
    payload->resize(size);
    in.read(payload->data(), size);
    TraceBuilder::CheckStop();
    if (in.gcount() != static_cast<std::streamsize>(size)) Refuse(cut);
    return true;
  }

  void CheckHead(const std::string& payload) {
    if (!payload.starts_with(kRocksdbMagic)) Refuse("is no trace of RocksDB");
    if (payload.find("Trace Version: 0.2\t") == std::string::npos) {
      Refuse("has another version than 0.2, which RocksDB 6.20 and later write");
    }
    first_us_ = time_us_;
  }

  // Returns a key or another length-prefixed part of a payload.
  std::string_view Part(Decoder* in) const {
    const std::string_view part = in->String();
    Demand(in->good());
    return part;
  }
  static uint64_t Fixed(Decoder* in, int bytes) {
    uint64_t number = 0;
    for (int i = 0; i < bytes; ++i) number |= uint64_t{in->Byte()} << (8 * i);
    return number;
  }
  // RocksDB records the numbers of column families. The default one, 0, is the main table.
  uint32_t Table(uint64_t family) {
    return builder_.TableOf(family == 0 ? kMainTable : fmt::format("cf{}", family));
  }
  std::string_view Key(std::string_view key) {
    if (key.size() > kMostTraceKey) Refuse("has " + TraceBuilder::LongKey(key.size()));
    rooms_.emplace_back();
    return builder_.KeyOf(key, &rooms_.back());
  }

  void Take(const std::string& payload) {
    Decoder in(payload);
    const uint64_t map = Fixed(&in, 8);
    operation_.calls.clear();
    operation_.keys.clear();
    operation_.answers.clear();
    rooms_.clear();
    if (type_ == kWriteRecord && map == 1 << 1) return Write(Part(&in));
    if (type_ == kGetRecord && map == (1 << 2 | 1 << 3)) return Get(&in);
    const uint64_t bounds = 1 << 6 | 1 << 7;
    if ((type_ == kSeekRecord || type_ == kSeekForPrevRecord) &&
        (map & ~bounds) == (1 << 4 | 1 << 5)) {
      return Seek(&in);
    }
    if (type_ == kMultiGetRecord && map == (1 << 8 | 1 << 9 | 1 << 10)) return MultiGet(&in);
    Refuse(fmt::format("is of a kind that is not known here ({})", type_));
  }

  void Add(OperationKind kind) {
    const uint64_t us = time_us_ - std::min(time_us_, first_us_);
    TraceClient& client = builder_.client(0);
    client.Begin(kind, std::min<uint64_t>(us, 1ull << 53) * 1000);
    client.Repeat(operation_);
    client.End();
    client.Rest();
  }

  void Get(Decoder* in) {
    const uint32_t table = Table(Fixed(in, 4));
    operation_.calls.push_back(
        {.kind = TraceCallKind::kGet, .table = table, .key = Key(Part(in)), .answer = {}});
    Add(kGetKind);
  }

  void Seek(Decoder* in) {
    const uint32_t table = Table(Fixed(in, 4));
    const TraceCallKind seek =
        type_ == kSeekRecord ? TraceCallKind::kSeek : TraceCallKind::kSeekForPrev;
    operation_.calls = {{.kind = TraceCallKind::kOpenCursor, .table = table},
                        {.kind = seek, .key = Key(Part(in))},
                        {.kind = TraceCallKind::kValue},
                        {.kind = TraceCallKind::kCloseCursor}};
    Add(kSeekKind);
  }

  // The keys of a multi-get may be of several column families: each has a call of its own.
  void MultiGet(Decoder* in) {
    const uint64_t count = Fixed(in, 4);
    Decoder families(Part(in)), keys(Part(in));
    std::optional<uint32_t> last;
    for (uint64_t i = 0; i < count; ++i) {
      const uint32_t table = Table(Fixed(&families, 4));
      Demand(families.good());
      if (table != last) {
        operation_.calls.push_back({.kind = TraceCallKind::kMultiGet,
                                    .table = table,
                                    .number = 0,
                                    .first = static_cast<uint32_t>(i)});
        last = table;
      }
      operation_.keys.push_back(Key(Part(&keys)));
      operation_.answers.emplace_back();
      ++operation_.calls.back().number;
    }
    Add(kMultiGetKind);
  }

  void Write(std::string_view batch) {
    Demand(batch.size() >= 12);  // a sequence number (8 bytes) and a count (4)
    Decoder in(batch.substr(12));
    while (!in.empty()) TakeTag(&in);
    if (operation_.calls.empty()) return;
    if (operation_.calls.size() > 1) {
      operation_.calls.insert(operation_.calls.begin(), {.kind = TraceCallKind::kBegin});
      operation_.calls.push_back({.kind = TraceCallKind::kCommit});
    }
    Add(kWriteKind);
  }

  void TakeTag(Decoder* in) {
    const uint8_t tag = in->Byte();
    const bool family = tag == kFamilyValue || tag == kFamilyMerge || tag == kFamilyDeletion ||
                        tag == kFamilySingleDeletion || tag == kFamilyRangeDeletion;
    const uint64_t number = family ? in->Number() : 0;
    switch (tag) {
      case kValue:
      case kMerge:
      case kFamilyValue:
      case kFamilyMerge: {
        const std::string_view key = Part(in);
        operation_.calls.push_back({.kind = TraceCallKind::kPut,
                                    .table = Table(number),
                                    .number = Part(in).size(),
                                    .key = Key(key)});
        return;
      }
      case kDeletion:
      case kSingleDeletion:
      case kFamilyDeletion:
      case kFamilySingleDeletion:
        operation_.calls.push_back(
            {.kind = TraceCallKind::kErase, .table = Table(number), .key = Key(Part(in))});
        return;
      case kRangeDeletion:
      case kFamilyRangeDeletion:
        (void)Part(in);
        (void)Part(in);
        return;
      case kLogData:
        (void)Part(in);
        return;
      case kNoop:
        return;
      default:
        Refuse(fmt::format("its batch has an entry of a kind that is not known here ({})", tag));
    }
  }

  const ImportOptions& options_;
  TraceBuilder builder_;
  uint64_t record_ = 0, time_us_ = 0, first_us_ = 0;
  uint8_t type_ = 0;
  TraceOperation operation_;
  std::deque<std::string> rooms_;  // hashes of the operation's keys
};

}  // namespace

uint64_t ImportRocksdbTrace(std::istream& in, const ImportOptions& options, const std::string& to) {
  return RocksdbImporter(options, to).Read(in);
}

}  // namespace testbed
