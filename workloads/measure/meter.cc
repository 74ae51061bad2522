#include "workloads/measure/meter.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "device/account/wire.h"
#include "device/os/run_cpu.h"
#include "workloads/measure/log_estimate.h"

namespace testbed {
namespace {

void Pause(long ms) {
  timespec pause{0, ms * 1000000};
  nanosleep(&pause, nullptr);
}

bool SameDevice(const DeviceStats& a, const DeviceStats& b) {
  return a.reads == b.reads && a.read_bytes == b.read_bytes && a.writes == b.writes &&
         a.write_bytes == b.write_bytes && b.in_flight == 0;
}

// Returns the growth of a counter. An engine may compute a counter from others that it does not
// read at the same moment, and a server may begin to count anew: a counter that fell did not grow.
uint64_t Growth(uint64_t before, uint64_t after) { return after - std::min(before, after); }

// Returns the growth of the counters, and the values at the end of figures that can also fall.
EngineCounters EngineDelta(const EngineCounters& before, EngineCounters after) {
  for (const auto counter :
       {&EngineCounters::block_requests, &EngineCounters::block_hits, &EngineCounters::block_reads,
        &EngineCounters::block_read_bytes, &EngineCounters::blocks_written,
        &EngineCounters::block_write_bytes, &EngineCounters::log_payload_bytes,
        &EngineCounters::log_written_bytes}) {
    if (after.*counter) after.*counter = Growth((before.*counter).value_or(0), *(after.*counter));
  }
  for (auto& [name, value] : after.more) {
    uint64_t base = 0;
    for (const auto& [old_name, old_value] : before.more) {
      if (old_name == name) base = old_value;
    }
    value = Growth(base, value);
  }
  return after;
}

// Returns nothing when no log was written. For an engine whose file calls are not counted, such as
// InnoDB, only the kernel account tells what the device wrote for the log. With `dsync` each write
// of the log is durable by itself.
std::optional<LogWrites> LogDelta(const LedgerCounts& delta, const EngineCounters& engine,
                                  bool kernel, bool dsync) {
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
  if (file.write_bytes == 0 && device == 0) return std::nullopt;
  LogWrites log;
  log.bytes = engine.log_written_bytes;
  if (file.write_bytes != 0) {
    log.bytes = log.bytes.value_or(file.write_bytes);
    log.calls.emplace();
    log.calls->writes = file.writes;
    log.calls->syncs = file.syncs + (dsync ? file.writes : 0);
    const LogWriteEstimate estimate = EstimateLogWrites(*log.bytes, log.calls->syncs);
    log.calls->estimate_least_bytes = static_cast<uint64_t>(estimate.least_bytes);
    log.calls->estimate_bytes = static_cast<uint64_t>(estimate.expected_bytes);
  }
  if (kernel) {
    log.device_bytes = device;
    log.journal_bytes = journal;
  }
  return log;
}

// Returns what the server at each address counted between the readings; no counters for a server
// that was lost.
std::vector<AddressAccount> AddressDeltas(const Reading& before, const Reading& after) {
  std::vector<AddressAccount> all;
  for (size_t i = 0; i < after.addresses.size(); ++i) {
    AddressAccount& account = all.emplace_back();
    account.address = after.addresses[i];
    if (i >= before.by_address.size() || i >= after.by_address.size()) continue;
    const std::optional<EngineCounters>& first = before.by_address[i];
    const std::optional<EngineCounters>& last = after.by_address[i];
    if (first && last) account.engine = EngineDelta(*first, *last);
  }
  return all;
}

int64_t Difference(uint64_t a, uint64_t b) { return static_cast<int64_t>(a - b); }

}  // namespace

// Returns whether the engine opens its log files with O_DSYNC, according to its setting log_sync
// or, for wiredtiger, transaction_sync.
bool Meter::LogIsDsync(const Engine& engine) {
  const auto settings = engine.EffectiveSettings();
  return std::any_of(settings.begin(), settings.end(), [](const auto& setting) {
    return setting.second == "dsync" &&
           (setting.first == "log_sync" || setting.first == "transaction_sync.method");
  });
}

void Meter::WriteBack() const {
  if (depth_ != AccountDepth::kDevice) return;
  const IoScope scope(kWriteback);
  const int fd = ::open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::syncfs(fd);
  ::close(fd);
}

void Meter::ReadAtRest(Reading* reading) const {
  WriteBack();
  const int attempts = own_device_ ? 300 : 60;  // each takes at most 15 milliseconds
  for (int attempt = 0; attempt < attempts; ++attempt) {
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
  ReadProcess(&reading);
  return reading;
}

Reading Meter::ReadNow() const {
  Reading reading;
  reading.at_rest = false;
  reading.ledger = Ledger::Get().Counts();
  if (device_ != nullptr && depth_ == AccountDepth::kDevice) reading.device = device_->Stats();
  ReadProcess(&reading);
  return reading;
}

void Meter::ReadProcess(Reading* reading) const {
  reading->by_address = engine_.CountersByAddress();
  reading->engine =
      reading->by_address.empty() ? engine_.Counters() : SumOfCounters(reading->by_address);
  reading->addresses = engine_.ServerAddresses();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const CpuSeconds cpu = CpuOfRun();
  reading->cpu_user_seconds = cpu.user;
  reading->cpu_system_seconds = cpu.system;
  reading->process_read_bytes = static_cast<uint64_t>(usage.ru_inblock) * 512;
  reading->process_write_bytes = static_cast<uint64_t>(usage.ru_oublock) * 512;
  reading->major_faults = static_cast<uint64_t>(usage.ru_majflt);
  reading->context_switches = static_cast<uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
}

PhaseAccount Meter::Account(const Reading& before, const Reading& after) const {
  PhaseAccount account;
  account.counts_files = file_layer_;
  account.counts_in_kernel = kernel_account_;
  account.counts_wire = is_server_ && CountsWire();
  account.ledger = after.ledger - before.ledger;
  account.engine = EngineDelta(before.engine, after.engine);
  account.addresses = AddressDeltas(before, after);
  account.log = LogDelta(account.ledger, account.engine, kernel_account_, log_is_dsync_);
  account.cpu_user_seconds = after.cpu_user_seconds - before.cpu_user_seconds;
  account.cpu_system_seconds = after.cpu_system_seconds - before.cpu_system_seconds;
  account.process_read_bytes = after.process_read_bytes - before.process_read_bytes;
  account.process_write_bytes = after.process_write_bytes - before.process_write_bytes;
  account.major_faults = after.major_faults - before.major_faults;
  account.context_switches = after.context_switches - before.context_switches;
  if (!before.device || !after.device) return account;
  const DeviceStats device = *after.device - *before.device;
  account.device = device;
  account.at_rest = before.at_rest && after.at_rest;
  if (kernel_account_) {
    const BlockCounts kernel = account.ledger.KernelTotal();
    account.closure = {Difference(kernel.reads, device.reads),
                       Difference(kernel.read_bytes, device.read_bytes),
                       Difference(kernel.writes, device.writes),
                       Difference(kernel.write_bytes, device.write_bytes), account.at_rest};
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
