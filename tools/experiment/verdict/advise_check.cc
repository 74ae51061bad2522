#include "tools/experiment/verdict/advise_check.h"

#include <fmt/format.h>

#include "device/error.h"
#include "tools/option_check.h"
#include "tools/option_values.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

// Throws Error (kUsage) when the option is there and its value is a list.
void RefuseListOf(const std::map<std::string, std::string>& asked, const char* name,
                  const char* one) {
  const auto found = asked.find(name);
  if (found == asked.end() || found->second.find(',') == std::string::npos) return;
  throw Error(Error::kUsage, fmt::format("--{} {} is a list: advice is for {}; ask for each of "
                                         "them in a call with an --out of its own",
                                         name, found->second, one));
}

// Throws Error (kUsage) when the rate, by which ways are told apart, is set or searched for.
void RefuseRate(const RunOptions& run) {
  const auto speed = run.workload.extra.find("speed");
  const bool in_time = speed != run.workload.extra.end() && speed->second != "max";
  if (run.rate == 0 && run.find_rate.empty() && run.phase_rates.empty() && !in_time) return;
  throw Error(Error::kUsage,
              "advise tells ways apart by the rate that clients reach, and --rate, --find-rate, "
              "--speed or a rate in --workload sets it; leave that out");
}

}  // namespace

void CheckAsked(const std::map<std::string, std::string>& asked,
                const std::vector<std::string>& set) {
  for (const std::string& text : set) {
    const std::string name = text.substr(0, text.find('='));
    if (!asked.contains(name)) continue;
    throw Error(Error::kUsage,
                fmt::format("--set {} and --{} are the same option; give one of them", text, name));
  }
  RefuseListOf(asked, "engine", "one engine");
  for (const auto& [name, value] : asked) CheckOptionValue(name, value);
  RefuseListOf(asked, "threads", "one number of clients");
  if (const auto ram = asked.find("ram"); ram != asked.end()) {
    (void)ParseSize("--ram", ram->second, 1 << 20, uint64_t{1024} << 40);
  }
  const std::string& engine = asked.at("engine");
  (void)FindKnownEngine(engine.substr(0, engine.find_first_of(":@")));
}

void CheckAdvised(const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    if (!cell.runs()) continue;
    OptionMap options = cell.options;
    options.erase("scratch");
    const RunOptions run = CellRunOptions(options);
    RefuseRate(run);
    for (const std::string& name : run.workloads) {
      const WorkloadInfo& workload = FindWorkload(name);
      if (!workload.loads && !workload.only_settles) return;
    }
  }
  throw Error(Error::kUsage,
              "advise measures what follows the load, and --workload names nothing there; give a "
              "load and what to serve, as in insert,point-read");
}

}  // namespace testbed
