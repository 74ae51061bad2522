// A sweep: a command line of a run some of whose options were given lists. It is run as an
// experiment, with an axis for each such option, so that it goes on where it was interrupted,
// shares loads and prints a grid with the best marked.
//
//   testbed --engine btree,rocksdb --page-size 4k,8k,16k --cache-pct 20,50
//
// Options whose single values are lists or may hold commas (--workload, --mix, --scratch, --keys,
// settings of engines and workloads, names of files) are not swept. --threads is swept with the
// others; alone, its list runs on one database in one document, as --help says.
#ifndef TESTBED_TOOLS_EXPERIMENT_SWEEP_SWEEP_H_
#define TESTBED_TOOLS_EXPERIMENT_SWEEP_SWEEP_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/experiment/experiment.h"
#include "tools/options.h"

namespace testbed {

struct Sweep {
  Experiment experiment;  // has one round: --rounds belong to a call, and a later call may add some
  std::string saved;  // the experiment with the rounds, as a file that `testbed experiment` takes
  RunOptions output;  // the options of output and of the sweep; others are unset
};

// Returns the sweep that the words of a command line stand for; nothing when no option was given a
// list and --save, --out, --rounds and --forecast are absent: the words are those of a single run.
// Throws Error (kUsage) when a value of a list is not accepted, such as a release of an engine that
// is not there (but with --save), and for options that a sweep cannot have (--dir, --reuse,
// --json).
std::optional<Sweep> SweepOf(const std::vector<std::string>& words);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_SWEEP_SWEEP_H_
