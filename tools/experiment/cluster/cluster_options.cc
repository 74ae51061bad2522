#include "tools/experiment/cluster/cluster_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "device/machine/host.h"
#include "tools/experiment/cluster/host_check.h"
#include "tools/experiment/cluster/parallel.h"
#include "tools/experiment/cluster/slurm.h"
#include "tools/option_values.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

// Options of sbatch that testbed sets itself. Some of them give each task its block, or let testbed
// find its tasks again to await or cancel them; others give each task a node for itself.
constexpr std::string_view kOwnOfSbatch[] = {
    "array",         "clusters", "exclusive", "job-name",  "nodes", "open-mode", "output",
    "oversubscribe", "parsable", "share",     "test-only", "wait",  "wrap"};

constexpr char kAcceptedHosts[] = "slurm, slurm:PARTITION or ssh:HOST,HOST,...";

void RefuseMisplaced(bool given, const char* option, const char* belongs) {
  if (given) throw Error(Error::kUsage, fmt::format("{} is an option of {}", option, belongs));
}

void CheckSbatch(const std::string& option) {
  const std::string name = option.substr(0, option.find('='));
  if (name.empty() || name[0] == '-') {
    throw Error(Error::kUsage,
                fmt::format("--sbatch {} is not accepted; it takes an option of sbatch "
                            "without dashes, such as gres=nvme:1",
                            option));
  }
  for (const std::string_view own : kOwnOfSbatch) {
    if (!IsBeginOf(name, own)) continue;
    throw Error(Error::kUsage, fmt::format("--sbatch {} is not accepted; testbed decides what "
                                           "sbatch gets as --{}",
                                           option, own));
  }
}

// GNU parallel would take me:secret@n1 for a user with a password, which it passes to sshpass. All
// users of the machine would see that password in the words of processes, and the log has it.
void RefuseLoginPassword(const std::string& on) {
  if (!on.starts_with("ssh:")) return;
  const std::string logins = on.substr(on.find(':') + 1);
  for (size_t at = 0; at < logins.size();) {
    const size_t end = std::min(logins.find(',', at), logins.size());
    const std::string login = logins.substr(at, end - at);
    const size_t user_end = login.rfind('@');
    if (user_end != std::string::npos && login.find(':') < user_end) {
      throw Error(Error::kUsage,
                  "--on takes no password, which would be printed and stored: ssh must reach each "
                  "host by a key");
    }
    at = end + 1;
  }
}

// GNU parallel takes two names of a host for two hosts. The blocks of both would run there at once,
// and each would slow the other down.
void CheckHosts(const std::string& on, const std::vector<std::string>& logins) {
  for (size_t i = 0; i < logins.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (!IsOneHost(logins[k], logins[i])) continue;
      throw Error(Error::kUsage, fmt::format("--on {} names host {} twice; give each host once", on,
                                             HostOfLogin(logins[i])));
    }
  }
}

}  // namespace

void AddClusterOptions(CLI::App& app, ClusterOptions* options) {
  app.add_option(
         "--cell", options->cells,
         "With run: the key of a cell, which `testbed experiment cells` lists; may be given "
         "again")
      ->type_name("KEY")
      ->allow_extra_args(false);
  app.add_option("--block", options->blocks,
                 "With run: the key of a block, whose cells run on this host; may be given again")
      ->type_name("KEY")
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--on",
         [options](const std::string& text) {
           if (text.empty()) RefuseValue("--on", text, kAcceptedHosts);
           options->on = text;
         },
         std::string("Hosts that run the blocks of cells: ") + kAcceptedHosts)
      ->type_name("HOSTS");
  app.add_option("--sbatch", options->sbatch,
                 "With --on slurm: an option of sbatch, such as gres=nvme:1; may be given again")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  AddDirectoryOption(
      app, "--databases", &options->databases,
      "Directory for databases and scratch devices, on a disk of each host itself [in --out]");
  app.add_option("--host-checks", options->host_checks,
                 "With run or --on: what makes testbed refuse a host: load, throttle, kind, or "
                 "none [load,throttle,kind]")
      ->type_name("LIST");
}

void CheckClusterOptions(const ClusterOptions& o, const std::string& word) {
  RefuseLoginPassword(o.on);  // first, because other refusals print the hosts
  const bool runs = word == "run";
  RefuseMisplaced(!runs && !o.cells.empty(), "--cell", "testbed experiment run");
  RefuseMisplaced(!runs && !o.blocks.empty(), "--block", "testbed experiment run");
  RefuseMisplaced(!o.sbatch.empty() && !o.on.starts_with("slurm"), "--sbatch", "--on slurm");
  const bool explains = word == "list" || word == "show" || word == "plan" || word == "cells";
  RefuseMisplaced((explains || runs) && !o.on.empty(), "--on", "testbed experiment NAME");
  if (runs && o.cells.empty() == o.blocks.empty()) {
    throw Error(Error::kUsage,
                "testbed experiment run takes --cell KEY or --block KEY, which `testbed experiment "
                "cells` lists");
  }
  (void)ParseHostChecks(o.host_checks);
  for (const std::string& option : o.sbatch) CheckSbatch(option);
}

void CheckGivenServers(const ClusterOptions& o, const std::vector<Cell>& cells) {
  const bool one_host = o.on.starts_with("ssh:") && o.on.find(',') == std::string::npos;
  if (o.on.empty() || one_host) return;
  const auto has_server = [](const OptionMap& options) {
    return options.contains("connect") || options.contains("engine-option.connect");
  };
  const bool given = std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) {
    return cell.runs() && (has_server(cell.options) || has_server(cell.load_options));
  });
  if (!given) return;
  throw Error(Error::kUsage,
              fmt::format("--on {} is not accepted with connect: blocks on several hosts would "
                          "replace each other's database on that one server; give --on ssh:HOST "
                          "with one host, or leave connect out, so that each host starts a server",
                          o.on));
}

// The plan with twice as much memory tells whether cells or loads depend on it.
std::string MemoryNote(const ClusterOptions& o, const Experiment& e, const PlanOptions& plan,
                       const std::vector<Cell>& cells) {
  if (o.on.empty() || plan.auto_ram) return "";
  const uint64_t ram = AutoRam(plan);
  PlanOptions of_twice = plan;
  of_twice.auto_ram = 2 * ram;
  const std::vector<Cell> others = PlanCells(e, of_twice);
  const auto ram_of = [](const OptionMap& options) {
    const auto found = options.find("ram");
    return found == options.end() ? std::string() : found->second;
  };
  const bool equal = std::equal(cells.begin(), cells.end(), others.begin(), others.end(),
                                [&](const Cell& a, const Cell& b) {
                                  return ram_of(a.options) == ram_of(b.options) &&
                                         ram_of(a.load_options) == ram_of(b.load_options);
                                });
  if (equal) return "";
  return fmt::format(
      "{}: ram = \"auto\" is {} on all hosts, half of the memory of {}, where this command runs; "
      "where the hosts have another memory, begin the experiment on one of them\n",
      e.name, ShortSize(ram), HostName());
}

std::unique_ptr<Launcher> LauncherOf(const ClusterOptions& o, const std::string& out) {
  const size_t colon = o.on.find(':');
  const std::string kind = o.on.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : o.on.substr(colon + 1);
  if (kind == "slurm" && (colon == std::string::npos || !rest.empty())) {
    return std::make_unique<SlurmLauncher>(out, rest, o.sbatch);
  }
  if (kind == "ssh" && !rest.empty()) {
    std::vector<std::string> hosts;
    for (size_t at = 0; at <= rest.size();) {
      const size_t end = std::min(rest.find(',', at), rest.size());
      hosts.push_back(rest.substr(at, end - at));
      at = end + 1;
    }
    const bool whole = std::none_of(hosts.begin(), hosts.end(),
                                    [](const std::string& host) { return host.empty(); });
    if (whole) {
      CheckHosts(o.on, hosts);
      return std::make_unique<ParallelLauncher>(out, std::move(hosts));
    }
  }
  RefuseValue("--on", o.on, kAcceptedHosts);
}

}  // namespace testbed
