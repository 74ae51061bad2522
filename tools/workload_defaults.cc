#include "tools/workload_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "device/error.h"
#include "tools/command/command_words.h"
#include "tools/trace/trace_options.h"
#include "workloads/dataset.h"
#include "workloads/registry.h"
#include "workloads/workload.h"

namespace testbed {
namespace {

// Returns whether the workload has scans whose length --scan-rows decides. A workload that cannot
// be made here (a replay, whose trace need not be there) has none.
bool ScansAtLength(const WorkloadInfo& info, const std::map<std::string, double>& mix) {
  DatasetOptions data;
  data.rows = 1000;  // any number of rows will do
  WorkloadOptions options;
  options.mix = mix;
  try {
    return info.make(std::make_shared<const Dataset>(data), options)->takes_scan_rows();
  } catch (const Error&) {
    return false;
  }
}

// Throws Error (kUsage) when the rows of a scan that the workload `of` stands for would be those of
// another one, too, which stands for none.
void CheckScanRows(const std::vector<std::string>& workloads, const std::string& of,
                   const std::string& rows, const std::map<std::string, double>& mix) {
  for (const WorkloadInfo& info : Workloads()) {
    if (std::find(workloads.begin(), workloads.end(), info.name) == workloads.end()) continue;
    const bool own = std::any_of(info.defaults.begin(), info.defaults.end(),
                                 [](const auto& value) { return value.first == "scan-rows"; });
    if (own || info.loads || info.only_settles || !ScansAtLength(info, mix)) continue;
    throw Error(Error::kUsage,
                fmt::format("--workload {} stands for --scan-rows {}, and {} would scan as few "
                            "rows; run them one by one with --reuse, or give --scan-rows",
                            of, rows, info.name));
  }
}

}  // namespace

std::map<std::string, std::string> WorkloadDefaults(
    const std::vector<std::string>& workloads,
    const std::function<bool(const std::string& name)>& given,
    const std::map<std::string, double>& mix) {
  if (given("keys") && given("key-order")) {
    throw Error(Error::kUsage,
                "--keys inserts keys in an order of their own, and --key-order asks for one; leave "
                "one of them out");
  }
  std::map<std::string, std::string> values, of;  // by option: its value, and the workload it is of
  for (const WorkloadInfo& info : Workloads()) {
    if (std::find(workloads.begin(), workloads.end(), info.name) == workloads.end()) continue;
    for (const auto& [option, value] : info.defaults) {
      // The size and order of keys from a file (--keys) follow from the file.
      const bool of_keys = option == "key-size" || option == "key-order";
      if (given(option) || (of_keys && given("keys"))) continue;
      const auto [at, first] = values.try_emplace(option, value);
      if (first) of[option] = info.name;
      if (at->second == value) continue;
      throw Error(
          Error::kUsage,
          fmt::format("--workload {} stands for --{} {}, and {} for {}; run them one by one "
                      "with --reuse, or give --{}",
                      of[option], option, at->second, info.name, value, option));
    }
  }
  const auto scan = values.find("scan-rows");
  if (scan != values.end()) CheckScanRows(workloads, of["scan-rows"], scan->second, mix);
  return values;
}

void ApplyWorkloadDefaults(const std::vector<std::string>& words, RunOptions* options) {
  std::vector<std::string> more;
  for (const auto& [option, value] : WorkloadDefaults(
           options->workloads, [&](const std::string& name) { return Gives(words, "--" + name); },
           options->workload.mix)) {
    more.push_back("--" + option);
    more.push_back(value);
  }
  if (!more.empty()) *options = ParseRunOptions(more, std::move(*options));
  ApplyTraceThreads(words, options);
}

}  // namespace testbed
