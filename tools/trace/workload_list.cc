#include "tools/trace/workload_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "device/error.h"
#include "tools/option_values.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

// Parses the NUMBER of NAME:NUMBER; `part` is the whole of it, for the message.
size_t ParseTimes(const std::string& option, const std::string& part, const std::string& number) {
  size_t n = 0;
  const char* end = number.data() + number.size();
  const auto [at, error] = std::from_chars(number.data(), end, n);
  if (error != std::errc() || at != end || n < 1 || n > 1000) {
    RefuseValue(option, part, "NAME:NUMBER with a number from 1 to 1000");
  }
  return n;
}

bool TakesTrace(const WorkloadInfo& info) {
  const auto trace = [](const auto& option) { return option.first == "trace"; };
  return std::any_of(info.extra_options.begin(), info.extra_options.end(), trace) ||
         std::any_of(info.run_options.begin(), info.run_options.end(), trace);
}

}  // namespace

void SetWorkloads(const std::string& option, const std::string& text, RunOptions* options) {
  options->workloads.clear();
  std::string trace;
  for (const std::string& part : Split(text, ',')) {
    const size_t colon = part.find(':');
    const std::string name = part.substr(0, colon);
    const WorkloadInfo& info = FindKnownWorkload(name);
    size_t times = 1;
    if (colon != std::string::npos && TakesTrace(info)) {
      const std::string file = part.substr(colon + 1);
      if (file.empty()) RefuseValue(option, part, name + ":FILE with the file of a trace");
      if (!trace.empty() && file != trace) {
        throw Error(Error::kUsage,
                    fmt::format("{} names two traces, {} and {}; replay them in runs of their own, "
                                "the second with --reuse",
                                option, trace, file));
      }
      trace = options->workload.extra["trace"] = file;
    } else if (colon != std::string::npos) {
      times = ParseTimes(option, part, part.substr(colon + 1));
    }
    options->workloads.insert(options->workloads.end(), times, name);
  }
}

}  // namespace testbed
