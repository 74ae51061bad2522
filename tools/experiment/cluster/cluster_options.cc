#include "tools/experiment/cluster/cluster_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "device/error.h"
#include "tools/experiment/cluster/host_check.h"
#include "tools/experiment/cluster/parallel.h"
#include "tools/experiment/cluster/slurm.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

void RefuseMisplaced(bool given, const char* option, const char* belongs) {
  if (given) throw Error(Error::kUsage, fmt::format("{} is an option of {}", option, belongs));
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
  app.add_option("--on", options->on,
                 "Hosts that run the blocks of cells: slurm, slurm:PARTITION or ssh:HOST,HOST,...")
      ->type_name("HOSTS");
  app.add_option("--sbatch", options->sbatch,
                 "With --on slurm: an option of sbatch, such as gres=nvme:1; may be given again")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  AddDirectoryOption(
      app, "--databases", &options->databases,
      "Directory of databases and scratch devices, on a disk of each host [in --out]");
  app.add_option("--host-checks", options->host_checks,
                 "With run or --on: reasons to refuse a host: load, throttle, kind, or none "
                 "[load,throttle,kind]")
      ->type_name("LIST");
}

void CheckClusterOptions(const ClusterOptions& o, const std::string& word) {
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
  for (const std::string& option : o.sbatch) {
    if (!option.empty() && option[0] != '-') continue;
    throw Error(Error::kUsage,
                fmt::format("--sbatch {} is not accepted; it takes an option of sbatch "
                            "without dashes, such as gres=nvme:1",
                            option));
  }
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
    if (whole) return std::make_unique<ParallelLauncher>(out, std::move(hosts));
  }
  throw Error(Error::kUsage,
              fmt::format("--on {} is not accepted; it takes slurm, slurm:PARTITION or "
                          "ssh:HOST,HOST,...",
                          o.on));
}

}  // namespace testbed
