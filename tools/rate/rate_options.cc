#include "tools/rate/rate_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "device/error.h"
#include "tools/rate/rate_limit.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

[[noreturn]] void RefuseWith(const std::string& what) {
  throw Error(Error::kUsage, "--find-rate " + what);
}

}  // namespace

void AddRateOptions(CLI::App& app, RunOptions& o) {
  app.option_defaults()->group("Workload");
  app.add_option_function<std::string>(
         "--find-rate",
         [&o](const std::string& text) {
           o.find_rate = ParseRateLimit("--find-rate", text).Text();
         },
         "Search for the highest rate of an open loop that meets a limit of latency, such as "
         "'p99 < 5ms'; each step takes --warmup, then --seconds or as long as the percentile needs "
         "(docs/rates.md)")
      ->type_name("LIMIT");
}

bool IsOpenLoop(const RunOptions& options) {
  return options.rate > 0 || !options.find_rate.empty() || !options.phase_rates.empty();
}

void CheckArrivals(const RunOptions& options) {
  if (options.arrivals != Arrivals::kEven && !IsOpenLoop(options)) {
    throw Error(Error::kUsage,
                "--arrivals exponential belongs to an open loop: give --rate, --find-rate or a "
                "rate in --workload, or leave --arrivals out");
  }
}

void CheckRateOptions(const RunOptions& options) {
  if (options.find_rate.empty()) return;
  if (options.rate > 0) {
    RefuseWith("searches for the rate that --rate sets; give one of them");
  }
  if (options.operations != 0) {
    RefuseWith(
        "gives each rate the time that its percentile needs, and --operations would end it; leave "
        "it out");
  }
  if (options.queue_depth > 1) {
    RefuseWith(
        "starts operations by the clock, and --queue-depth keeps as many reads in flight as it "
        "says; give one of them");
  }
  if (options.workload.extra.contains("speed") && options.workload.extra.at("speed") != "max") {
    RefuseWith("and --speed both set the starts of operations; give one of them");
  }
  if (!options.phase_rates.empty()) {
    RefuseWith("searches for the rate that --workload gives its phases; leave one of them out");
  }
  const auto loads = [](const std::string& name) {
    return FindWorkload(name).loads || FindWorkload(name).only_settles;
  };
  if (std::all_of(options.workloads.begin(), options.workloads.end(), loads)) {
    RefuseWith("needs a workload that does not load, such as --workload insert,point-read");
  }
}

void CheckRateWorkloads(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset) {
  if (options.find_rate.empty()) return;
  const RateLimit limit = ParseRateLimit("--find-rate", options.find_rate);
  std::set<std::string> operations;
  for (const std::string& name : options.workloads) {
    const WorkloadInfo& info = FindWorkload(name);
    if (info.loads || info.only_settles) continue;
    const auto workload = info.make(dataset, options.workload);
    if (workload->operations() != 0 || workload->timed()) {
      RefuseWith(fmt::format(
          "needs a workload without an end or a pace of its own; {} {}", name,
          workload->timed() ? "sets the starts of its operations itself" : "ends by itself"));
    }
    std::set<std::string> own;
    for (const OpKind op : workload->planned_ops()) own.insert(OpName(op));
    if (limit.operation.empty() || own.contains(limit.operation)) continue;
    RefuseWith(fmt::format("{} names an operation that --workload {} does not have; it has {}",
                           limit.Text(), name, fmt::join(own, ", ")));
  }
}

}  // namespace testbed
