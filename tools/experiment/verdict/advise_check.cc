#include "tools/experiment/verdict/advise_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "device/account/block_device.h"
#include "device/error.h"
#include "device/machine/memory_budget.h"
#include "device/machine/read_limit.h"
#include "tools/experiment/sweep/forecast.h"
#include "tools/option_check.h"
#include "tools/option_values.h"
#include "tools/output/table.h"
#include "tools/run/surroundings.h"
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

// Returns the options of the cell's runs, without the scratch device.
RunOptions RunOptionsOf(const Cell& cell) {
  OptionMap options = cell.options;
  options.erase("scratch");
  return CellRunOptions(options);
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

// Returns why --read-iops cannot be enforced; "" when it can be. A limit is made and removed. With
// `scratch` the device of the runs is not made yet: the limit is then made on that of `out`.
std::string WhyNoReadLimit(uint64_t reads, const MemoryBudget* budget, const std::string& out,
                           bool scratch) {
  const std::string where = ExistingDirectory(out);
  const std::optional<BlockDevice> device = BlockDevice::Find(where);
  if (!device) return scratch ? "" : "the database's file system has no block device";
  std::string why = scratch ? "" : WhyNotAllReads(*device, where);
  if (why.empty()) (void)ReadLimit::Create(*device, reads, budget, &why);
  return why;
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
    const RunOptions run = RunOptionsOf(cell);
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

std::string FinalsText(const std::vector<Cell>& cells, int most) {
  const int rounds = cells.empty() ? 0 : cells.back().round;
  std::vector<Cell> last = cells;
  std::erase_if(last, [&](const Cell& cell) { return cell.round != rounds || !cell.runs(); });
  if (most <= rounds || last.size() < 2) return "";
  Forecast each = ForecastOf(last, [](const Cell&) { return false; });
  each.rehearse_seconds = 0;  // those of the rounds before serve these, too
  return fmt::format(
      "advise: then up to {} more of the ways that cannot be told from the best one, {} each if "
      "those are all\n",
      Counted(static_cast<uint64_t>(most - rounds), "round"), AboutText(each));
}

std::string RoundOfFinalsText(size_t ways, const std::vector<Cell>& cells, int most,
                              const std::string& rehearsals_dir) {
  const Forecast forecast = ForecastOf(cells, [](const Cell&) { return false; }, rehearsals_dir);
  return fmt::format("advise: {} cannot be told apart; round {} of at most {}, {}\n",
                     Counted(ways, "way"), cells.at(0).round, most, AboutText(forecast));
}

std::string WillRefuseText(const std::vector<Cell>& cells, const std::string& out, bool scratch) {
  std::vector<std::string> refused;
  uint64_t ram = 0, reads = 0;
  for (const Cell& cell : cells) {
    if (!cell.runs()) continue;
    const RunOptions run = RunOptionsOf(cell);
    ram = std::max(ram, run.ram_bytes);
    reads = std::max(reads, run.read_iops);
  }
  std::string why;
  const std::unique_ptr<MemoryBudget> budget =
      MemoryBudget::Create(ram, &why, CgroupFs::System(), reads != 0);
  if (budget != nullptr) why = budget->lacks();
  if (!why.empty()) refused.push_back("--ram: " + why);
  const auto device = BlockDevice::Find(ExistingDirectory(out));
  const std::string knob = device ? device->sysfs() + "/queue/read_ahead_kb" : "";
  if (!scratch && !device) refused.emplace_back("--readahead: no block device is known there");
  if (!scratch && device && ::access(knob.c_str(), W_OK) != 0) {
    refused.push_back(fmt::format("--readahead: {}: {}", knob, std::strerror(errno)));
  }
  if (reads != 0) why = WhyNoReadLimit(reads, budget.get(), out, scratch);
  if (reads != 0 && !why.empty()) refused.push_back("--read-iops: " + why);
  if (refused.empty()) return "";
  return fmt::format(
      "advise: there will be figures and no advice, because not in force will be {}; `testbed "
      "doctor` says what to change\n",
      fmt::join(refused, "; "));
}

}  // namespace testbed
