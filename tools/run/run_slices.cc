#include "tools/run/run_slices.h"

#include "device/os/run_cpu.h"
#include "tools/run/run_json.h"
#include "workloads/measure/clock.h"

namespace testbed {

using nlohmann::json;

namespace {

// Returns the counts at the end of a slice or of a rest. A meter reads the processor time last,
// when it has asked the engine for its counters, which is right at a begin. Here that work must not
// count, so the time is read before it.
Reading ReadAtEnd(const Meter& meter) {
  const CpuSeconds cpu = CpuOfRun();
  Reading reading = meter.ReadNow();
  reading.cpu_user_seconds = cpu.user;
  reading.cpu_system_seconds = cpu.system;
  return reading;
}

}  // namespace

ParentSlices::ParentSlices(const Meter& meter, const RunTalk& talk)
    : meter_(meter), talk_(talk), before_rest_(meter.ReadNow()), rest_began_(Clock::Get().Now()) {}

std::optional<double> ParentSlices::Next() {
  talk_.report({{"ready", true}});
  const json word = talk_.await();
  if (!word.contains("slice")) return std::nullopt;
  after_rest_ = ReadAtEnd(meter_);
  rest_ended_ = Clock::Get().Now();
  return word["slice"].get<double>();
}

void ParentSlices::Ends() { after_ = ReadAtEnd(meter_); }

void ParentSlices::Done(const Interval& slice, const HistogramCounts& latency, double seconds) {
  const Clock& clock = Clock::Get();
  PhaseAccount account = meter_.Account(before_, after_);
  account.LeaveOut(slice.checks);
  json figures = {{"mean", slice.mean_ns / 1000},
                  {"p50", static_cast<double>(slice.p50_ns) / 1000},
                  {"p99", static_cast<double>(slice.p99_ns) / 1000},
                  {"p999", static_cast<double>(slice.p999_ns) / 1000}};
  if (latency.count() != slice.operations) figures["count"] = latency.count();
  if (latency.count() == 0) figures = json::object();  // all operations were left out
  const PhaseAccount at_rest = meter_.Account(before_rest_, after_rest_);
  const double rest = static_cast<double>(clock.ToNs(rest_ended_ - rest_began_)) / 1e9;
  talk_.report({{"slice",
                 {{"seconds", seconds},
                  {"count", slice.operations},
                  {"rate", static_cast<double>(slice.operations) / seconds},
                  {"operations", {{{"name", "all"}, {"latency_us", figures}}}},
                  {"latency_ns_histogram", latency.Buckets()},
                  {"account", AccountJson(account)},
                  {"rest", {{"seconds", rest}, {"account", AccountJson(at_rest)}}}}}});
  // The rest begins after the report: the time of sending it to the parent is no work of the side.
  before_rest_ = meter_.ReadNow();
  rest_began_ = clock.Now();
}

}  // namespace testbed
