#include "workloads/measure/interval_surroundings.h"

namespace testbed {

IntervalSurroundings::IntervalSurroundings(AccountDepth depth, const BlockDevice* device,
                                           const MemoryBudget* budget)
    : device_(device), budget_(budget), background_(depth) {
  if (device_ != nullptr) last_device_ = device_->Stats();
  if (budget_ != nullptr) last_memory_ = budget_->Usage();
  last_host_ = ReadHostActivity();
}

void IntervalSurroundings::Sample(Interval* interval) {
  if (device_ != nullptr) {
    const DeviceStats now = device_->Stats();
    const DeviceStats d = now - last_device_;
    interval->device_reads = d.reads;
    interval->device_read_bytes = d.read_bytes;
    interval->device_writes = d.writes;
    interval->device_write_bytes = d.write_bytes;
    last_device_ = now;
  }
  interval->background = background_.Sample();
  interval->other_programs = background_.other_programs();
  const HostActivity host = ReadHostActivity();
  interval->host_context_switches = host.context_switches - last_host_.context_switches;
  interval->host_user_seconds = host.user_seconds - last_host_.user_seconds;
  interval->host_system_seconds = host.system_seconds - last_host_.system_seconds;
  interval->resident_bytes = RunResidentBytes();
  last_host_ = host;
  if (budget_ == nullptr) return;
  const MemoryUsage usage = budget_->Usage();
  interval->memory = usage;
  interval->memory->failcnt = usage.failcnt - last_memory_.failcnt;
  interval->memory->refaults = usage.refaults - last_memory_.refaults;
  last_memory_ = usage;
}

}  // namespace testbed
