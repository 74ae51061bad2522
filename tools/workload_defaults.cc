#include "tools/workload_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/error.h"
#include "tools/command/command_words.h"
#include "tools/trace/trace_options.h"
#include "workloads/registry.h"

namespace testbed {

std::map<std::string, std::string> WorkloadDefaults(
    const std::vector<std::string>& workloads,
    const std::function<bool(const std::string& name)>& given) {
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
  return values;
}

void ApplyWorkloadDefaults(const std::vector<std::string>& words, RunOptions* options) {
  std::vector<std::string> more;
  for (const auto& [option, value] :
       WorkloadDefaults(options->workloads,
                        [&](const std::string& name) { return Gives(words, "--" + name); })) {
    more.push_back("--" + option);
    more.push_back(value);
  }
  if (!more.empty()) *options = ParseRunOptions(more, std::move(*options));
  ApplyTraceThreads(words, options);
}

}  // namespace testbed
