#include "workloads/measure/meter.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmath>

#include "workloads/measure/log_estimate.h"

namespace testbed {
namespace {

using nlohmann::json;

void Pause(long ms) {
  timespec pause{0, ms * 1000000};
  nanosleep(&pause, nullptr);
}

bool SameDevice(const DeviceStats& a, const DeviceStats& b) {
  return a.reads == b.reads && a.read_bytes == b.read_bytes && a.writes == b.writes &&
         a.write_bytes == b.write_bytes && b.in_flight == 0;
}

json ToJson(const FileCounts& c) {
  return {{"reads", c.reads},
          {"read_bytes", c.read_bytes},
          {"writes", c.writes},
          {"write_bytes", c.write_bytes},
          {"syncs", c.syncs}};
}

json ToJson(const BlockCounts& c) {
  return {{"reads", c.reads},   {"read_bytes", c.read_bytes},   {"readahead_reads", c.readahead},
          {"writes", c.writes}, {"write_bytes", c.write_bytes}, {"flushes", c.flushes}};
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

json EngineDelta(const EngineCounters& before, const EngineCounters& after) {
  json j = json::object();
  auto put = [&j](const char* name, const std::optional<uint64_t>& from,
                  const std::optional<uint64_t>& to) {
    if (to) j[name] = *to - from.value_or(0);
  };
  put("block_requests", before.block_requests, after.block_requests);
  put("block_hits", before.block_hits, after.block_hits);
  put("block_reads", before.block_reads, after.block_reads);
  put("block_read_bytes", before.block_read_bytes, after.block_read_bytes);
  put("blocks_written", before.blocks_written, after.blocks_written);
  put("block_write_bytes", before.block_write_bytes, after.block_write_bytes);
  put("log_payload_bytes", before.log_payload_bytes, after.log_payload_bytes);
  put("log_written_bytes", before.log_written_bytes, after.log_written_bytes);
  if (after.cache_bytes) j["cache_bytes"] = *after.cache_bytes;
  for (const auto& [name, value] : after.more) {
    uint64_t base = 0;
    for (const auto& [old_name, old_value] : before.more) {
      if (old_name == name) base = old_value;
    }
    j["more"][name] = value - base;
  }
  for (const auto& [name, value] : after.now) j["now"][name] = value;
  return j;
}

json DeviceDelta(const DeviceStats& d) {
  return {
      {"reads", d.reads},       {"read_merges", d.read_merges},    {"read_bytes", d.read_bytes},
      {"writes", d.writes},     {"write_merges", d.write_merges},  {"write_bytes", d.write_bytes},
      {"flushes", d.flushes},   {"discards", d.discards},          {"read_ms", d.read_ms},
      {"write_ms", d.write_ms}, {"discard_bytes", d.discard_bytes}};
}

// Returns what log writes cost: as the engine reports them, at the device, and as estimated from
// the engine's counters alone. Returns null when no log was written.
json LogDelta(const LedgerCounts& delta, const json& engine, bool kernel) {
  constexpr auto kLog = static_cast<size_t>(FileKind::kLog);
  constexpr size_t kJournal[] = {static_cast<size_t>(FileKind::kFsJournal),
                                 static_cast<size_t>(FileKind::kFsMetadata)};
  FileCounts file;
  uint64_t device = 0, journal = 0;
  for (const LedgerCounts::Op& op : delta.ops) {
    file += op.file[kLog];
    device += op.kernel[kLog].write_bytes;
    for (size_t kind : kJournal) journal += op.kernel[kind].write_bytes;
  }
  for (const LedgerCounts::Foreign& f : delta.foreign) {
    if (f.kind == FileKind::kLog) device += f.counts.write_bytes;
    if (f.kind == FileKind::kFsJournal || f.kind == FileKind::kFsMetadata) {
      journal += f.counts.write_bytes;
    }
  }
  if (file.write_bytes == 0) return {};
  // Without sync calls every write is counted as one sync, as with O_DSYNC.
  const uint64_t syncs = file.syncs != 0 ? file.syncs : file.writes;
  const uint64_t bytes = engine.value("log_written_bytes", file.write_bytes);
  const LogWriteEstimate estimate = EstimateLogWrites(bytes, syncs);
  json j = {{"bytes", bytes},
            {"writes", file.writes},
            {"syncs", syncs},
            {"estimate_least_bytes", static_cast<uint64_t>(estimate.least_bytes)},
            {"estimate_bytes", static_cast<uint64_t>(estimate.expected_bytes)}};
  if (kernel) {
    j["device_bytes"] = device;
    j["journal_bytes"] = journal;
  }
  return j;
}

int64_t Difference(uint64_t a, uint64_t b) { return static_cast<int64_t>(a - b); }

}  // namespace

void Meter::ReadAtRest(Reading* reading) const {
  if (depth_ == AccountDepth::kDevice) {
    IoScope scope(kWriteback);
    const int fd = ::open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
      ::syncfs(fd);
      ::close(fd);
    }
  }
  for (int attempt = 0; attempt < 300; ++attempt) {
    const DeviceStats before = device_->Stats();
    const LedgerCounts counts = Ledger::Get().Counts();
    if (before.in_flight == 0) {
      Pause(5);
      reading->ledger = Ledger::Get().Counts();
      reading->device = device_->Stats();
      if (SameDevice(before, *reading->device) &&
          counts.KernelTotal() == reading->ledger.KernelTotal()) {
        return;
      }
    }
    Pause(10);
  }
  reading->at_rest = false;
  reading->ledger = Ledger::Get().Counts();
  reading->device = device_->Stats();
}

Reading Meter::Read() const {
  Reading reading;
  if (device_ != nullptr && depth_ == AccountDepth::kDevice) {
    ReadAtRest(&reading);
  } else {
    reading.ledger = Ledger::Get().Counts();
  }
  reading.engine = engine_.Counters();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  reading.cpu_user_seconds = seconds(usage.ru_utime);
  reading.cpu_system_seconds = seconds(usage.ru_stime);
  reading.process_read_bytes = static_cast<uint64_t>(usage.ru_inblock) * 512;
  reading.process_write_bytes = static_cast<uint64_t>(usage.ru_oublock) * 512;
  reading.major_faults = static_cast<uint64_t>(usage.ru_majflt);
  return reading;
}

json Meter::Account(const Reading& before, const Reading& after) const {
  const LedgerCounts delta = after.ledger - before.ledger;
  json account;
  json& causes = account["causes"] = json::array();
  for (OpKind op : DefinedOps()) {
    const LedgerCounts::Op& counts = delta.ops[op.id];
    const FileCounts file = counts.FileTotal();
    const BlockCounts kernel = counts.KernelTotal();
    if (counts.operations == 0 && ToJson(file) == ToJson(FileCounts{}) &&
        kernel == testbed::BlockCounts{}) {
      continue;
    }
    json cause = {{"name", OpName(op)},
                  {"ground", OpGround(op) == Ground::kForeground ? "foreground" : "background"},
                  {"operations", counts.operations}};
    // The file level of an engine that calls the operating system itself is unknown, so it is left
    // out: 0 would be wrong.
    if (file_layer_) {
      cause["file"] = ToJson(file);
      cause["file_by_kind"] = ByKind(counts.file);
      cause["file_reads_histogram"] = counts.file_reads;
    }
    if (kernel_account_) {
      cause["kernel"] = ToJson(kernel);
      cause["kernel_by_kind"] = ByKind(counts.kernel);
      cause["kernel_reads_histogram"] = counts.kernel_reads;
    }
    causes.push_back(std::move(cause));
  }
  if (kernel_account_) {
    json& foreign = account["other_threads"] = json::array();
    for (const LedgerCounts::Foreign& f : delta.foreign) {
      foreign.push_back(
          {{"thread", f.thread}, {"kind", FileKindName(f.kind)}, {"kernel", ToJson(f.counts)}});
    }
  }
  account["engine"] = EngineDelta(before.engine, after.engine);
  if (json log = LogDelta(delta, account["engine"], kernel_account_); !log.is_null()) {
    account["log"] = std::move(log);
  }
  account["cpu_user_seconds"] = after.cpu_user_seconds - before.cpu_user_seconds;
  account["cpu_system_seconds"] = after.cpu_system_seconds - before.cpu_system_seconds;
  account["process_read_bytes"] = after.process_read_bytes - before.process_read_bytes;
  account["process_write_bytes"] = after.process_write_bytes - before.process_write_bytes;
  account["major_faults"] = after.major_faults - before.major_faults;
  if (before.device && after.device) {
    const DeviceStats device = *after.device - *before.device;
    account["device"] = DeviceDelta(device);
    if (kernel_account_) {
      const BlockCounts kernel = delta.KernelTotal();
      account["closure"] = {{"reads", Difference(kernel.reads, device.reads)},
                            {"read_bytes", Difference(kernel.read_bytes, device.read_bytes)},
                            {"writes", Difference(kernel.writes, device.writes)},
                            {"write_bytes", Difference(kernel.write_bytes, device.write_bytes)},
                            {"at_rest", before.at_rest && after.at_rest}};
    }
  }
  return account;
}

std::optional<bool> Steady(const std::vector<double>& values, double tolerance) {
  if (values.size() < 6) return std::nullopt;
  const size_t first = values.size() / 2, n = values.size() - first;
  double sum = 0, slope_sum = 0, squares = 0, early = 0;
  const double middle = static_cast<double>(n - 1) / 2;
  for (size_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(i) - middle, y = values[first + i];
    sum += y;
    slope_sum += x * y;
    squares += x * x;
    if (i < n / 2) early += y;
  }
  const double mean = sum / static_cast<double>(n);
  if (mean == 0) return true;
  const double slope = slope_sum / squares * static_cast<double>(n);
  const double late_mean = (sum - early) / static_cast<double>(n - n / 2);
  const double early_mean = early / static_cast<double>(n / 2);
  return std::abs(slope) < tolerance * mean && std::abs(late_mean - early_mean) < tolerance * mean;
}

}  // namespace testbed
