// Blocks of cells: the cells of a round that are compared with each other run on one host, one after the
// other, so that what hosts differ by cancels as what rounds differ by does. These functions list the
// cells and blocks of an experiment, and run some of them beside other processes that share the results.
//
//   testbed experiment cells NAME                          the keys of cells and blocks
//   testbed experiment run NAME --block round-1 --out DIR
//   testbed experiment run DIR --cell KEY                  DIR has the results of an earlier call
#ifndef TESTBED_TOOLS_EXPERIMENT_CLUSTER_BLOCKS_H_
#define TESTBED_TOOLS_EXPERIMENT_CLUSTER_BLOCKS_H_

#include <string>
#include <vector>

#include "tools/experiment/cluster/host_check.h"
#include "tools/experiment/experiment.h"
#include "tools/experiment/plan.h"
#include "tools/experiment/results_dir.h"
#include "tools/experiment/run.h"

namespace testbed {

struct Block {
  std::string key;
  std::vector<Cell> cells;  // that run, in their order
  double seconds = 0;       // forecast for those that are not finished
  size_t left = 0;          // cells that are not finished
};

// Returns the blocks of the cells, in the order of their first cells. `out` may hold no results yet.
std::vector<Block> BlocksOf(const std::vector<Cell>& cells, const ResultsDir& out);

// Returns the tables that `testbed experiment cells` prints.
std::string CellsText(const std::vector<Cell>& cells, const ResultsDir& out);

// Returns those of the cells that the keys name, in the order of `cells`: `keys` are of cells (--cell) or,
// with `of_blocks`, of blocks (--block). Throws Error (kUsage) for a key that is none of theirs.
std::vector<Cell> CellsOfKeys(const std::vector<Cell>& cells, const std::vector<std::string>& keys,
                              bool of_blocks);

// The exit code of a process whose host was refused.
inline constexpr int kHostRefused = 3;

struct BlockRunOptions {
  ExperimentRunOptions run;
  HostChecks checks;
  bool whole_blocks = false;  // cells are those of whole blocks, which stay on one host
};

// Runs the cells beside other processes, after the host was checked. A block is kept for this process
// while it runs; one that was begun on another host is begun anew: the results that it has are set aside.
// It is refused, and its results stay, when each of its cells is finished or has failed, or when this host
// lacks the library for a cell that is finished. Returns the exit code: 0 when every cell is finished, kHostRefused, 130 when the user asked to stop,
// else 1. Throws Error as RunExperiment does.
int RunCells(const Experiment& experiment, const std::vector<Cell>& cells,
             const ResultsDir& results, const BlockRunOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_BLOCKS_H_
