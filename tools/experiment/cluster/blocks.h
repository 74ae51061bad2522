// Blocks of cells. The cells of a round that are compared with each other form a block and run on
// one host, one after the other, so a difference between hosts cancels in a comparison, as one
// between rounds does. These functions list the cells and blocks of an experiment, and run some of
// them beside other processes that share the results.
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
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/results_dir.h"
#include "tools/experiment/run.h"

namespace testbed {

struct Block {
  std::string key;
  std::vector<Cell> cells;  // the cells that run, in their order
  double seconds = 0;       // forecast for those that are not finished
  size_t left = 0;          // cells that are not finished
};

// Returns the blocks of the cells, in the order of their first cells. `out` may hold no results.
std::vector<Block> BlocksOf(const std::vector<Cell>& cells, const ResultsDir& out);

// Returns the tables that `testbed experiment cells` prints.
std::string CellsText(const std::vector<Cell>& cells, const ResultsDir& out);

// Returns the cells that the keys name, in the order of `cells`: `keys` are those of cells (--cell)
// or, with `of_blocks`, of blocks (--block). Throws Error (kUsage) for a key that names none.
std::vector<Cell> CellsOfKeys(const std::vector<Cell>& cells, const std::vector<std::string>& keys,
                              bool of_blocks);

// Returns values of --only, "AXIS=LABEL,LABEL", by which `testbed experiment run DIR` takes these
// cells of its blocks, and no others that an earlier --only has added; none when there was no other
// choice of cells. An axis with a label that has a comma, which --only cannot name, has none.
std::vector<std::string> OnlyOf(const std::vector<Cell>& cells, const ResultsDir& results);

// The exit code of a process whose host was refused.
inline constexpr int kHostRefused = 3;

struct BlockRunOptions {
  ExperimentRunOptions run;
  HostChecks checks;
  bool whole_blocks = false;  // the cells are whole blocks, each of which stays on one host
};

// Runs the cells beside other processes, after this host has passed its check. This process holds
// the claim on a block while it runs the block. A block that was begun on another host is begun
// anew: the results that it has are set aside. It is refused, and its results stay, when each of
// its cells is finished or has failed, or when this host lacks the library for a cell that is
// finished. Returns the exit code: 0 when every cell is finished, kHostRefused, 130 when the user
// asked to stop, else 1. Throws Error as RunExperiment does.
int RunCells(const Experiment& experiment, const std::vector<Cell>& cells,
             const ResultsDir& results, const BlockRunOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_BLOCKS_H_
