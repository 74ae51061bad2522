#include "workloads/trace/trace_format.h"

#include <algorithm>
#include <bitset>

#include "device/error.h"

namespace testbed {
namespace {

using nlohmann::json;

// The names of the calls in the facts, which have a count of each.
constexpr const char* kCallNames[kTraceCalls] = {
    "end",       "begin",       "commit",       "rollback",    "get",           "put",   "erase",
    "multi-get", "open-cursor", "close-cursor", "seek",        "seek-for-prev", "first", "last",
    "next",      "prev",        "next-values",  "prev-values", "value"};

constexpr uint32_t kMostTableId = 1 << 20;

[[noreturn]] void Refuse(const char* what) { throw Error(Error::kUsage, what); }

}  // namespace

std::string_view TraceOperation::FirstKey() const {
  for (const TraceCall& call : calls) {
    if (!call.key.empty()) return call.key;
  }
  return {};
}

bool TraceOperation::StandsAlone() const {
  using enum TraceCallKind;
  std::bitset<kMostTraceCursors> opened;
  bool in_transaction = false;
  for (const TraceCall& call : calls) {
    if (call.kind == kBegin) {
      in_transaction = true;
    } else if (call.kind == kCommit || call.kind == kRollback) {
      if (!in_transaction) return false;
      in_transaction = false;
    } else if (call.kind == kOpenCursor) {
      opened.set(call.cursor);
    } else if (call.kind > kOpenCursor && !opened.test(call.cursor)) {
      return false;
    }
  }
  return !in_transaction;
}

bool TraceFacts::writes() const {
  return calls[static_cast<size_t>(TraceCallKind::kPut)] != 0 ||
         calls[static_cast<size_t>(TraceCallKind::kErase)] != 0;
}

json TraceFacts::ToJson() const {
  json j = {{"workload", workload},     {"engine", engine},       {"clients", clients},
            {"operations", operations}, {"last_ns", last_ns},     {"kinds", kinds},
            {"tables", json::array()},  {"calls", json::object()}};
  for (const TraceTable& table : tables) {
    json entry = {{"id", table.id}, {"name", table.name}};
    if (!table.index_of.empty()) {
      entry["index_of"] = table.index_of;
      for (const IndexPart& part : table.parts)
        entry["parts"].push_back({part.offset, part.length});
    }
    j["tables"].push_back(std::move(entry));
  }
  for (size_t i = 1; i < kTraceCalls; ++i) {
    if (calls[i] != 0) j["calls"][kCallNames[i]] = calls[i];
  }
  return j;
}

TraceFacts TraceFacts::FromJson(const json& j) {
  TraceFacts facts;
  facts.workload = j.at("workload");
  facts.engine = j.at("engine");
  facts.clients = j.at("clients");
  facts.operations = j.at("operations");
  facts.last_ns = j.at("last_ns");
  facts.kinds = j.at("kinds").get<std::vector<std::string>>();
  for (const json& entry : j.at("tables")) {
    TraceTable table{entry.at("id"), entry.at("name"), entry.value("index_of", std::string()), {}};
    for (const json& part : entry.value("parts", json::array())) {
      table.parts.push_back({part.at(0), part.at(1)});
    }
    if (table.id > kMostTableId || table.name.empty()) Refuse("its tables are none");
    facts.tables.push_back(std::move(table));
  }
  for (size_t i = 1; i < kTraceCalls; ++i) {
    facts.calls[i] = j.at("calls").value(kCallNames[i], uint64_t{0});
  }
  const bool names = std::all_of(facts.kinds.begin(), facts.kinds.end(), [](const auto& kind) {
    return !kind.empty() && kind.size() <= 64;
  });
  if (!names || facts.kinds.size() > kMostTraceKinds || facts.tables.size() > kMostTraceTables ||
      facts.clients > kMostTraceClients) {
    Refuse("it has more kinds of operations, tables or clients than a trace may have");
  }
  return facts;
}

void BlockEntry::AppendTo(std::string* out) const {
  AppendFixed(out, offset);
  AppendFixed(out, first_ns);
  AppendFixed(out, client);
  AppendFixed(out, operations);
  AppendFixed(out, stored_bytes);
  AppendFixed(out, raw_bytes);
}

BlockEntry BlockEntry::At(const char* bytes) {
  return {FixedAt<uint64_t>(bytes),      FixedAt<uint64_t>(bytes + 8),
          FixedAt<uint32_t>(bytes + 16), FixedAt<uint32_t>(bytes + 20),
          FixedAt<uint32_t>(bytes + 24), FixedAt<uint32_t>(bytes + 28)};
}

OperationDecoder::OperationDecoder(const TraceFacts& facts, const BlockEntry& entry,
                                   std::shared_ptr<const std::string> bytes)
    : facts_(facts),
      entry_(entry),
      bytes_(std::move(bytes)),
      decoder_(*bytes_),
      start_ns_(entry.first_ns),
      left_(entry.operations) {
  for (const TraceTable& table : facts_.tables) {
    if (tables_.size() <= table.id) tables_.resize(table.id + 1);
    tables_[table.id] = true;
  }
}

uint32_t OperationDecoder::Table() {
  const uint64_t id = decoder_.Number();
  if (id >= tables_.size() || !tables_[id]) Refuse("a call names a table that it does not have");
  return static_cast<uint32_t>(id);
}

std::string_view OperationDecoder::Key() {
  const std::string_view key = decoder_.String();
  if (key.size() > kMostTraceKey) Refuse("a key is too long");
  return key;
}

TraceAnswer OperationDecoder::Answer() {
  const uint64_t number = decoder_.Number();
  if (number == 0) return {};
  if (number == 1) return {TraceAnswer::kAbsent, 0};
  if (number - 2 > kMostTraceValue) Refuse("a value is too long");
  return {TraceAnswer::kFound, number - 2};
}

void OperationDecoder::ReadMultiGet(TraceOperation* operation, TraceCall* call) {
  call->table = Table();
  call->number = decoder_.Number();
  call->first = static_cast<uint32_t>(operation->keys.size());
  for (uint64_t i = 0; i < call->number && decoder_.good(); ++i) {
    operation->keys.push_back(Key());
    operation->answers.push_back(Answer());
  }
  if (decoder_.good() && call->number != 0) call->key = operation->keys[call->first];
}

// Decodes a call. Returns false at the end of the operation.
bool OperationDecoder::ReadCall(TraceOperation* operation) {
  const uint8_t kind = decoder_.Byte();
  if (kind == 0) return false;
  if (kind >= kTraceCalls) Refuse("a call is of no known kind");
  TraceCall call{.kind = static_cast<TraceCallKind>(kind)};
  using enum TraceCallKind;
  switch (call.kind) {
    case kGet:
    case kPut:
    case kErase:
      call.table = Table();
      call.key = Key();
      if (call.kind == kGet) call.answer = Answer();
      if (call.kind == kPut) call.number = decoder_.Number();
      if (call.number > kMostTraceValue) Refuse("a value is too long");
      break;
    case kMultiGet:
      ReadMultiGet(operation, &call);
      break;
    case kBegin:
    case kCommit:
    case kRollback:
      break;
    default:
      call.cursor = static_cast<uint32_t>(std::min<uint64_t>(decoder_.Number(), kMostTraceCursors));
      if (call.cursor == kMostTraceCursors) Refuse("a cursor's number is too large");
      if (call.kind == kOpenCursor) call.table = Table();
      if (call.kind == kSeek || call.kind == kSeekForPrev) call.key = Key();
      if (call.kind >= kNext && call.kind <= kPrevValues) call.number = decoder_.Number();
  }
  operation->calls.push_back(call);
  return true;
}

bool OperationDecoder::Next(TraceOperation* operation) {
  if (left_ == 0) {
    if (!decoder_.empty()) Refuse("a block holds more bytes than operations");
    return false;
  }
  --left_;
  start_ns_ += decoder_.Number();
  operation->start_ns = start_ns_;
  operation->client = entry_.client;
  const uint64_t kind = decoder_.Number();
  if (kind >= facts_.kinds.size()) Refuse("an operation is of a kind that it does not have");
  operation->kind = static_cast<uint32_t>(kind);
  operation->calls.clear();
  operation->keys.clear();
  operation->answers.clear();
  operation->block = bytes_;
  while (ReadCall(operation)) {
  }
  if (!decoder_.good()) Refuse("a block ends within an operation");
  return true;
}

}  // namespace testbed
