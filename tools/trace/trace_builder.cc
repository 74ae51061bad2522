#include "tools/trace/trace_builder.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/output/json_text.h"
#include "tools/output/table.h"
#include "workloads/random.h"

namespace testbed {
namespace {

// Returns whether JSON can hold the text, as the facts of a trace hold the names of its tables.
bool IsUtf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

}  // namespace

TraceBuilder::TraceBuilder(const ImportOptions& options, const std::string& to,
                           const std::string& workload, const std::vector<std::string>& kinds,
                           uint32_t clients)
    : options_(options), writer_(to), most_clients_(clients) {
  facts_.workload = workload;
  facts_.kinds = kinds;
}

void TraceBuilder::CheckStop() {
  if (StopRequested()) throw Stopped("before the whole file was read", "the import");
}

std::string TraceBuilder::LongKey(size_t bytes) {
  return fmt::format("a key of {}, and a trace holds keys of {} at most", Counted(bytes, "byte"),
                     Count(kMostTraceKey));
}

TraceClient& TraceBuilder::client(uint64_t i) {
  if (const auto known = own_.find(i); known != own_.end()) return *clients_[known->second];
  if (clients_.size() == most_clients_) return *clients_[i % most_clients_];
  const size_t block = TraceBlockBytes(static_cast<uint32_t>(most_clients_));
  own_.emplace(i, clients_.size());
  clients_.push_back(std::make_unique<TraceClient>(writer_, facts_.clients++, block));
  return *clients_.back();
}

uint32_t TraceBuilder::TableOf(std::string_view name) {
  if (const auto known = tables_.find(name); known != tables_.end()) return known->second;
  if (facts_.tables.size() == kMostTraceTables) {
    throw Error(Error::kUsage,
                fmt::format("{} names more tables than a trace may have, which is {}",
                            options_.from, kMostTraceTables));
  }
  std::string text(name);
  if (!IsUtf8(text)) {
    throw Error(Error::kUsage,
                fmt::format("{} names the table {}, which is no UTF-8 text, as a trace needs; "
                            "convert the file",
                            options_.from, Utf8Text(text)));
  }
  const auto id = static_cast<uint32_t>(facts_.tables.size());
  tables_.emplace(text, id);
  facts_.tables.push_back({id, std::move(text), {}, {}});
  return id;
}

std::string_view TraceBuilder::KeyOf(std::string_view key, std::string* room) const {
  if (!options_.hash_keys) return key;
  // Each part of a shorter key's hash is a hash of the whole key. The time would grow with the
  // square of the length, so that the parts of a longer one follow from its first two, which are
  // different for different keys.
  constexpr size_t kShorterKey = 512;
  room->clear();
  const size_t size = std::max<size_t>(key.size(), 8);
  uint64_t first = 0, second = 0;
  for (uint64_t i = 0; room->size() < size; ++i) {
    const uint64_t seed = Mix64(options_.hash_seed + i);
    const uint64_t part = i < 2 || size <= kShorterKey
                              ? XXH3_64bits_withSeed(key.data(), key.size(), seed)
                              : Mix64(second + Mix64(first + seed));
    if (i == 0) first = part;
    if (i == 1) second = part;
    room->append(reinterpret_cast<const char*>(&part), std::min(sizeof part, size - room->size()));
  }
  return *room;
}

uint64_t TraceBuilder::Finish() {
  for (const auto& client : clients_) {
    client->Finish();
    facts_.operations += client->operations();
    facts_.last_ns = std::max(facts_.last_ns, client->last_ns());
    for (size_t k = 0; k < kTraceCalls; ++k) facts_.calls[k] += client->calls()[k];
  }
  if (facts_.operations != 0) writer_.Finish(facts_);
  return facts_.operations;
}

}  // namespace testbed
