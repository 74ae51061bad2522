#include "tools/trace/trace_info.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <optional>

#include "device/os/signal_guard.h"
#include "tools/output/table.h"
#include "tools/report/figures.h"
#include "tools/trace/key_sketch.h"
#include "workloads/measure/histogram.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr uint64_t kSecond = 1000000000;  // in nanoseconds

// Returns the seconds of which a trace has operations, or none when all of them begin at once. An
// import lets operations of one time follow each other by a nanosecond, and `trace scale` leaves
// out some of these: imported operations that follow each other by less than 100 ns on the mean
// have no times of their own. With `in_whole_seconds` the clock of an imported trace counts whole
// seconds, so its last operations begin anywhere in the last second.
std::optional<double> SecondsOf(const TraceFacts& facts, bool in_whole_seconds) {
  const bool is_imported = facts.engine.empty();
  const uint64_t least_ns = is_imported ? 100 : 1;
  if (facts.last_ns / least_ns <= facts.operations) return std::nullopt;
  if (is_imported && in_whole_seconds && facts.last_ns >= kSecond) {
    return static_cast<double>(facts.last_ns / kSecond + 1);
  }
  return static_cast<double>(facts.last_ns) / 1e9;
}

// Returns how many of `count` operations begin in a second; null when all begin at once.
json PerSecond(uint64_t count, const std::optional<double>& seconds) {
  return seconds ? json(static_cast<double>(count) / *seconds) : json();
}

json SizesJson(const Histogram& histogram) {
  HistogramCounts counts;
  counts.Add(histogram);
  return {{"count", counts.count()},
          {"mean", counts.mean_ns()},
          {"p50", counts.Percentile(0.5)},
          {"p99", counts.Percentile(0.99)},
          {"max", counts.max_ns()}};
}

// Collects the figures of a trace, operation by operation.
class Collector {
 public:
  explicit Collector(const TraceFacts& facts) : counts_(facts.kinds.size()) {}

  void Take(const TraceOperation& operation) {
    ++counts_[operation.kind];
    CountSecond(operation.start_ns / kSecond);
    in_whole_seconds_ = in_whole_seconds_ && operation.start_ns % kSecond < kMostTiesNs;
    for (const TraceCall& call : operation.calls) {
      using enum TraceCallKind;
      if (call.kind == kMultiGet) {
        for (size_t i = call.first; i < call.first + call.number; ++i) {
          Key(call.table, operation.keys[i]);
          Answer(operation.answers[i]);
        }
        continue;
      }
      const bool keyed = call.kind == kGet || call.kind == kPut || call.kind == kErase ||
                         call.kind == kSeek || call.kind == kSeekForPrev;
      if (keyed) Key(call.table, call.key);
      if (call.kind == kGet) Answer(call.answer);
      if (call.kind == kPut) written_.Record(call.number);
      if (call.kind < kNext || call.kind > kPrevValues) continue;
      steps_.Record(call.number);
      stepped_ += call.number;
    }
  }

  json Sizes() const {
    return {{"key_bytes", SizesJson(key_sizes_)},
            {"value_bytes_written", SizesJson(written_)},
            {"value_bytes_read", SizesJson(read_)},
            {"cursor_steps", SizesJson(steps_)}};
  }
  json Kinds(const TraceFacts& facts, const std::optional<double>& seconds) const {
    json kinds = json::array();
    for (size_t k = 0; k < counts_.size(); ++k) {
      if (counts_[k] == 0) continue;
      kinds.push_back({{"name", facts.kinds[k]},
                       {"count", counts_[k]},
                       {"per_second", PerSecond(counts_[k], seconds)}});
    }
    return kinds;
  }
  json Keys() const {
    json keys = {{"different", sketch_.keys()},
                 {"exact", sketch_.exact()},
                 {"first_accesses", sketch_.first_accesses()},
                 {"rows_stepped_to", stepped_},
                 {"popular", json::array()},
                 {"cache", json::array()}};
    for (const double share : {0.001, 0.01, 0.1, 0.5}) {
      keys["popular"].push_back({{"share", share}, {"accesses", sketch_.PopularShare(share)}});
    }
    for (const double share : {0.01, 0.05, 0.1, 0.2, 0.5, 1.0}) {
      const double cached = share * sketch_.keys();
      keys["cache"].push_back(
          {{"share", share}, {"keys", cached}, {"hits", sketch_.HitShare(cached)}});
    }
    return keys;
  }
  json Absent() const { return {{"found", found_}, {"absent", absent_}, {"unknown", unknown_}}; }
  uint64_t busiest_second() const { return busiest_; }
  // Returns whether all operations begin at whole seconds, or behind others of that second.
  bool in_whole_seconds() const { return in_whole_seconds_; }

 private:
  static constexpr uint64_t kMostTiesNs = 10000000;  // ten million operations, 1 ns apart
  // Operations come in the order of their starts, so one second is counted at a time. A trace may
  // have millions of them.
  void CountSecond(uint64_t second) {
    if (second != second_) in_second_ = 0;
    second_ = second;
    busiest_ = std::max(busiest_, ++in_second_);
  }
  void Key(uint32_t table, std::string_view key) {
    key_sizes_.Record(key.size());
    sketch_.Touch(XXH3_64bits_withSeed(key.data(), key.size(), table));
  }
  void Answer(const TraceAnswer& answer) {
    if (answer.state == TraceAnswer::kFound) read_.Record(answer.size);
    ++(answer.state == TraceAnswer::kFound    ? found_
       : answer.state == TraceAnswer::kAbsent ? absent_
                                              : unknown_);
  }

  std::vector<uint64_t> counts_;
  uint64_t second_ = 0, in_second_ = 0;  // the second of the last operation, and its operations
  uint64_t busiest_ = 0;                 // operations of the busiest second
  bool in_whole_seconds_ = true;
  Histogram key_sizes_, written_, read_, steps_;
  uint64_t stepped_ = 0;  // rows to which cursors stepped
  KeySketch sketch_;
  uint64_t found_ = 0, absent_ = 0, unknown_ = 0;
};

std::string RatesText(const json& info) {
  if (info.at("seconds").is_null()) return "that begin at once";
  return fmt::format("in {} s; {} a second, {} in the busiest second", Short(info.at("seconds")),
                     Short(info.at("per_second")), Count(info.at("busiest_second")));
}

std::string SizesTable(const json& sizes) {
  Table table("Sizes", {"what", "count", "mean", "p50", "p99", "max"});
  const std::pair<const char*, const char*> rows[] = {
      {"key_bytes", "bytes of a key"},
      {"value_bytes_written", "bytes of a value written"},
      {"value_bytes_read", "bytes of a value read"},
      {"cursor_steps", "steps of a cursor at once"}};
  for (const auto& [name, what] : rows) {
    const json& size = sizes.at(name);
    if (size.at("count") == 0) continue;
    table.Row({what, Count(size.at("count")), Short(size.at("mean")), Count(size.at("p50")),
               Count(size.at("p99")), Count(size.at("max"))});
  }
  return table.Text();
}

std::string KeysText(const json& keys) {
  std::string text =
      fmt::format("Keys: {}{}", WithNoun(Whole(keys.at("different")), "different one"),
                  keys.at("exact") ? "" : ", estimated from a sample of them");
  for (const json& popular : keys.at("popular")) {
    text += fmt::format("{} the most popular {} get {} of the accesses",
                        &popular == &keys.at("popular").front() ? ";" : ",",
                        Percent(popular.at("share")), Percent(popular.at("accesses")));
  }
  // The rows of a scan, but for its first, may be most of what a phase reads.
  if (const uint64_t stepped = keys.at("rows_stepped_to"); stepped != 0) {
    text += fmt::format(
        "; {} to which cursors stepped {} not among these accesses, because a trace has no keys of "
        "such rows",
        Counted(stepped, "row"), stepped == 1 ? "is" : "are");
  }
  Table table("Working set: what a cache of the most recently used keys would answer",
              {"keys cached", "share of the keys", "share of the accesses"});
  for (const json& cache : keys.at("cache")) {
    table.Row({Whole(cache.at("keys")), Percent(cache.at("share")), Percent(cache.at("hits"))});
  }
  return Wrapped(text, Table::kNarrow) + "\n" + table.Text();
}

}  // namespace

json TraceInfo(const TraceFile& file) {
  const TraceFacts& facts = file.facts();
  Collector collector(facts);
  TraceStream stream(file, AllClients(file));
  TraceOperation operation;
  while (stream.Next(&operation)) {
    if (StopRequested()) throw Stopped("before the whole trace was read", "the command");
    collector.Take(operation);
  }
  json info = facts.ToJson();
  info["file"] = file.path();
  info["version"] = kTraceVersion;
  info["file_bytes"] = file.bytes();
  const std::optional<double> seconds = SecondsOf(facts, collector.in_whole_seconds());
  info["seconds"] = seconds ? json(*seconds) : json();
  info["per_second"] = PerSecond(facts.operations, seconds);
  info["busiest_second"] = collector.busiest_second();
  info["operations_by_kind"] = collector.Kinds(facts, seconds);
  info["answers"] = collector.Absent();
  info["sizes"] = collector.Sizes();
  info["keys"] = collector.Keys();
  return info;
}

std::string TraceInfoText(const json& info) {
  const double operations = info.at("operations");
  std::string text = fmt::format(
      "{}: {} on {}, {}, {} {}; {} bytes of the file for each operation\n\n",
      OneLine(info.at("file")), OneLine(info.at("workload")),
      info.at("engine").get_ref<const std::string&>().empty() ? "no engine"
                                                              : OneLine(info.at("engine")),
      Counted(info.at("clients"), "client"), WithNoun(Whole(operations), "operation"),
      RatesText(info), Short(info.at("file_bytes").get<double>() / std::max(1.0, operations)));
  Table kinds("Operations of the trace", {"operation", "count", "share", "per second"});
  for (const json& kind : info.at("operations_by_kind")) {
    const double count = kind.at("count");
    const json& rate = kind.at("per_second");
    kinds.Row({OneLine(kind.at("name")), Whole(count), Percent(count / operations),
               rate.is_null() ? "-" : Short(rate)});
  }
  Table calls("Calls", {"call", "count", "per operation"});
  for (const auto& [name, count] : info.at("calls").items()) {
    calls.Row({name, Count(count), Short(count.get<double>() / std::max(1.0, operations))});
  }
  text = Wrapped(text, Table::kNarrow);
  text += kinds.Text() + calls.Text() + SizesTable(info.at("sizes"));
  const json& answers = info.at("answers");
  text += fmt::format("\nGets: {} found their row, {} did not, for {} it is not known\n\n",
                      Count(answers.at("found")), Count(answers.at("absent")),
                      Count(answers.at("unknown")));
  return text + KeysText(info.at("keys"));
}

}  // namespace testbed
