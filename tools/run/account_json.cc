#include <string>
#include <utility>
#include <vector>

#include "tools/run/run_json.h"

namespace testbed {
namespace {

using nlohmann::json;

json ToJson(const FileCounts& c) {
  return {{"reads", c.reads},
          {"read_bytes", c.read_bytes},
          {"writes", c.writes},
          {"write_bytes", c.write_bytes},
          {"syncs", c.syncs}};
}

// Returns a number of requests, which is below 0 where a thread joined more waiting requests than
// it made (device/account/kernel_account.h).
json Requests(uint64_t n) {
  const auto below = static_cast<int64_t>(n);
  return below < 0 ? json(below) : json(n);
}

json ToJson(const BlockCounts& c) {
  return {{"reads", Requests(c.reads)},
          {"read_bytes", c.read_bytes},
          {"readahead_reads", Requests(c.readahead)},
          {"writes", Requests(c.writes)},
          {"write_bytes", c.write_bytes},
          {"flushes", c.flushes}};
}

json ToJson(const WireCounts& c) {
  return {{"round_trips", c.round_trips},
          {"sent_bytes", c.sent_bytes},
          {"received_bytes", c.received_bytes}};
}

template <typename Counts>
json ByKind(const std::array<Counts, kFileKinds>& counts) {
  json by_kind = json::object();
  const json nothing = ToJson(Counts{});
  for (size_t k = 0; k < kFileKinds; ++k) {
    json j = ToJson(counts[k]);
    if (j != nothing) by_kind[FileKindName(static_cast<FileKind>(k))] = std::move(j);
  }
  return by_kind;
}

json ToJson(const DeviceStats& d) {
  return {
      {"reads", d.reads},       {"read_merges", d.read_merges},    {"read_bytes", d.read_bytes},
      {"writes", d.writes},     {"write_merges", d.write_merges},  {"write_bytes", d.write_bytes},
      {"flushes", d.flushes},   {"discards", d.discards},          {"read_ms", d.read_ms},
      {"write_ms", d.write_ms}, {"discard_bytes", d.discard_bytes}};
}

json EngineJson(const EngineCounters& engine) {
  json j = json::object();
  const auto put = [&j](const char* name, const std::optional<uint64_t>& value) {
    if (value) j[name] = *value;
  };
  put("block_requests", engine.block_requests);
  put("block_hits", engine.block_hits);
  put("block_reads", engine.block_reads);
  put("block_read_bytes", engine.block_read_bytes);
  put("blocks_written", engine.blocks_written);
  put("block_write_bytes", engine.block_write_bytes);
  put("log_payload_bytes", engine.log_payload_bytes);
  put("log_written_bytes", engine.log_written_bytes);
  put("cache_bytes", engine.cache_bytes);
  for (const auto& [name, value] : engine.more) j["more"][name] = value;
  for (const auto& [name, value] : engine.now) j["now"][name] = value;
  return j;
}

json AddressCountersJson(const std::vector<AddressAccount>& addresses) {
  json all = json::array();
  for (const AddressAccount& of : addresses) {
    json j = {{"address", of.address.name}};
    if (!of.address.lost.empty()) j["lost"] = of.address.lost;
    if (of.engine) j["engine"] = EngineJson(*of.engine);
    all.push_back(std::move(j));
  }
  return all;
}

json LogJson(const LogWrites& log, bool in_kernel) {
  json j = json::object();
  if (log.bytes) j["bytes"] = *log.bytes;
  if (log.calls) {
    j["writes"] = log.calls->writes;
    j["syncs"] = log.calls->syncs;
    j["estimate_least_bytes"] = log.calls->estimate_least_bytes;
    j["estimate_bytes"] = log.calls->estimate_bytes;
  }
  if (in_kernel) {
    j["device_bytes"] = log.device_bytes;
    j["journal_bytes"] = log.journal_bytes;
  }
  return j;
}

// Returns an entry for each kind of operation that ran or cost something.
json CausesJson(const PhaseAccount& account) {
  json causes = json::array();
  for (OpKind op : DefinedOps()) {
    const LedgerCounts::Op& counts = account.ledger.ops[op.id];
    const FileCounts file = counts.FileTotal();
    const BlockCounts kernel = counts.KernelTotal();
    if (counts.operations == 0 && ToJson(file) == ToJson(FileCounts{}) && kernel == BlockCounts{} &&
        counts.wire == WireCounts{}) {
      continue;
    }
    json cause = {{"name", OpName(op)},
                  {"ground", OpGround(op) == Ground::kForeground ? "foreground" : "background"},
                  {"operations", counts.operations}};
    // The file level of an engine that calls the operating system itself is unknown, so it is left
    // out: 0 would be wrong.
    if (account.counts_files) {
      cause["file"] = ToJson(file);
      cause["file_by_kind"] = ByKind(counts.file);
      cause["file_reads_histogram"] = counts.file_reads;
    }
    if (account.counts_in_kernel) {
      cause["kernel"] = ToJson(kernel);
      cause["kernel_by_kind"] = ByKind(counts.kernel);
      cause["kernel_reads_histogram"] = counts.kernel_reads;
    }
    if (account.counts_wire) cause["wire"] = ToJson(counts.wire);
    causes.push_back(std::move(cause));
  }
  return causes;
}

}  // namespace

json AccountJson(const PhaseAccount& account) {
  json j = {{"causes", CausesJson(account)},
            {"engine", EngineJson(account.engine)},
            {"cpu_user_seconds", account.cpu_user_seconds},
            {"cpu_system_seconds", account.cpu_system_seconds},
            {"process_read_bytes", account.process_read_bytes},
            {"process_write_bytes", account.process_write_bytes},
            {"major_faults", account.major_faults},
            {"context_switches", account.context_switches}};
  if (account.counts_in_kernel) {
    json& foreign = j["other_threads"] = json::array();
    for (const LedgerCounts::Foreign& f : account.ledger.foreign) {
      foreign.push_back(
          {{"thread", f.thread}, {"kind", FileKindName(f.kind)}, {"kernel", ToJson(f.counts)}});
    }
  }
  if (!account.addresses.empty()) j["addresses"] = AddressCountersJson(account.addresses);
  if (account.checks) {
    j["checks"] = {{"count", account.checks->checks},
                   {"block_requests", account.checks->requests},
                   {"block_misses", account.checks->misses}};
  }
  if (account.log) j["log"] = LogJson(*account.log, account.counts_in_kernel);
  if (account.device) j["device"] = ToJson(*account.device);
  if (account.closure) {
    const Closure& c = *account.closure;
    j["closure"] = {{"reads", c.reads},
                    {"read_bytes", c.read_bytes},
                    {"writes", c.writes},
                    {"write_bytes", c.write_bytes},
                    {"at_rest", c.at_rest}};
  }
  return j;
}

}  // namespace testbed
