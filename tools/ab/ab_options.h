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
  kDuet,        // both work at once, each on its own processors
  kRounds,      // whole runs one after the other, each with a database loaded anew
};
const char* WayName(Way way);
// Returns a sentence about what the way assumes.
std::string WayAssumes(Way way);

struct AbOptions {
  RunOptions common;  // the options outside of the sides; option_rules.h says which those are
  std::vector<AbSide> sides;
  std::optional<Way> way;  // unset: Resolve chooses it by the workload
  double until = 0.02;     // sides whose rates differ by at most this share are the same
  double seconds = 600;    // the comparison ends after this time at the latest
  int loads = 0;           // maximum number of loads of each side; 0: as many as the time allows
  double slice_seconds = 0.2;
  std::vector<Condition> fail_if;
  // The kinds of operation whose metrics are measured apart. It is empty when all operations are
  // measured together: in slices, and when the workload has one kind.
  std::vector<std::string> kinds;
  std::string json_file;

  // Computes the settings that the user left open, on each side and in `common`. Throws Error
  // (kUsage) for options that do not fit together, before anything is created.
  void Resolve();
  // Sets `kinds`, and throws Error (kUsage) for a condition of --fail-if whose metric is not
  // measured with these kinds. The options are resolved, and the workload accepts them.
  void ResolveKinds();
  // Returns the workload that is measured, the last of the list.
  const std::string& measured() const { return sides.front().options.workloads.back(); }
  bool in_slices() const { return way != Way::kRounds; }

 private:
  void CompleteWorkloads();
  void ChooseWay();
  void CheckPhases() const;
  void CheckSlices() const;
  void CheckMetric(const Condition& condition) const;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_AB_OPTIONS_H_
