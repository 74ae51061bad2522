// The settings of one comparison (`testbed ab`), and their checks.
#ifndef TESTBED_TOOLS_AB_AB_OPTIONS_H_
#define TESTBED_TOOLS_AB_AB_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/ab/side.h"
#include "tools/statistics/condition.h"

namespace testbed {

// A Way is how the sides share the machine. docs/ab.md says what each way assumes.
enum class Way {
  kInterleave,  // loaded side by side, their clients work in alternating slices of time
  kDuet,        // all work at once, each on its own processors: in slices, or for whole runs
  kRounds,      // whole runs one after the other, each with a database loaded anew
};
const char* WayName(Way way);
// Returns a sentence about what the way assumes.
std::string WayAssumes(Way way);

struct AbOptions {
  RunOptions common;  // the options outside of the sides; option_rules.h says which those are
  std::vector<AbSide> sides;
  std::optional<Way> way;      // unset: Resolve chooses it by the workload
  double until = 0.02;         // sides whose rates differ by at most this share are the same
  std::optional<double> time;  // the comparison ends after these seconds at the latest
  int loads = 0;  // maximum number of loads of each side; 0: as many as the time allows
  double slice_seconds = 0.1;
  bool slice_given = false;  // the user gave the slice, and so expects slices
  std::vector<Condition> fail_if;
  // The kinds of operation whose metrics are measured apart. It is empty when all operations are
  // measured together: in slices, and when the workload has one kind.
  std::vector<std::string> kinds;
  // Whether the workload leaves the database unchanged, so that it can go on in slices.
  bool unchanged = true;
  // Whether the workload starts its operations by a clock of its own, as the replay of a trace at
  // the trace's pace.
  bool paced = false;
  std::string json_file;

  // Returns the metrics that the comparison is made for, apart from those of --fail-if: the rate,
  // or, where the user or the workload sets that, p99. Of several kinds of operation it is p99 of
  // each. Kinds are resolved.
  std::vector<std::string> Asked() const;

  // Computes the settings that the user left open, on each side and in `common`. Throws Error
  // (kUsage) for options that do not fit together, before anything is created.
  void Resolve();
  // Sets `kinds` and `paced`, and throws Error (kUsage) for a workload that ends by itself in
  // slices, and for a condition of --fail-if whose metric is not measured with these kinds. The
  // options are resolved, and the workload accepts them.
  void ResolveKinds();
  // Returns the workload that is measured, the last of the list.
  const std::string& measured() const { return sides.front().options.workloads.back(); }
  bool in_slices() const { return way == Way::kInterleave || (way == Way::kDuet && unchanged); }
  // Returns the seconds that the lengths of loads and runs are planned for.
  double seconds() const { return time.value_or(600); }
  // Returns whether seconds() ends the comparison, too. A number of loads that was given without a
  // time is made, however long that takes.
  bool time_ends() const { return time || loads == 0; }
  // Returns whether the process of each side executes its program anew (RunStart). When one side
  // must, because it has variables or is a release, all do: a process that is forked alone has the
  // addresses and the heap of this one, which may make it faster or slower.
  bool executes() const;

 private:
  void CompleteWorkloads();
  void ChooseWay();
  void CheckPhases() const;
  void CheckSlices() const;
  void CheckWarmUp() const;
  void CheckDuet() const;
  void CheckMetric(const Condition& condition) const;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_AB_OPTIONS_H_
