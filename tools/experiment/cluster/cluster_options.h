// The options of `testbed experiment` for many hosts (docs/clusters.md).
#ifndef TESTBED_TOOLS_EXPERIMENT_CLUSTER_CLUSTER_OPTIONS_H_
#define TESTBED_TOOLS_EXPERIMENT_CLUSTER_CLUSTER_OPTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "tools/experiment/cluster/launcher.h"
#include "tools/experiment/experiment.h"
#include "tools/experiment/plan/plan.h"

namespace CLI {
class App;
}

namespace testbed {

struct ClusterOptions {
  std::vector<std::string> cells, blocks;  // --cell and --block, of `run`
  std::string on;                   // "slurm:PARTITION", "ssh:HOST,HOST"; empty: this host alone
  std::vector<std::string> sbatch;  // options of sbatch(1), without dashes: "gres=nvme:1"
  std::string databases;            // directory on each host; empty: the results'
  std::string host_checks = "load,throttle,kind";
};

void AddClusterOptions(CLI::App& app, ClusterOptions* options);

// Checks that the options fit together. `word` is the first of the command line: "run", "cells",
// "list", "show", "plan", or none of these. Throws Error (kUsage).
void CheckClusterOptions(const ClusterOptions& options, const std::string& word);

// Throws Error (kUsage) when --on may run blocks on several hosts at once, and a cell works on a
// server that runs already: that server has one schema, and each block would replace the database
// of another.
void CheckGivenServers(const ClusterOptions& options, const std::vector<Cell>& cells);

// Returns a line that says what ram = "auto" stands for on the other hosts: half of the memory of
// this host. Returns "" without --on, where no cell and no load of `cells` has that memory, and
// where results of an earlier call have it.
std::string MemoryNote(const ClusterOptions& options, const Experiment& experiment,
                       const PlanOptions& plan, const std::vector<Cell>& cells);

// Returns the launcher that --on names. Throws Error (kUsage) for an unknown name, and when the
// launcher's programs are not installed.
std::unique_ptr<Launcher> LauncherOf(const ClusterOptions& options, const std::string& out);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_CLUSTER_OPTIONS_H_
