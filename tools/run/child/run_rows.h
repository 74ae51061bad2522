// Tells what the database of a run holds, as far as it follows from the workloads: who loaded it,
// and the number of its rows.
#ifndef TESTBED_TOOLS_RUN_CHILD_RUN_ROWS_H_
#define TESTBED_TOOLS_RUN_CHILD_RUN_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tools/run/run_child.h"
#include "workloads/dataset.h"
#include "workloads/population.h"

namespace testbed {

// Returns the workload that loaded the database of the plan, or loads it; empty when it is not
// known.
std::string LoaderOfRun(const RunPlan& plan);

// Returns the number of rows that the database holds after the plan; nothing when it is not known,
// as with most loaders, whose tables hold other rows than the Dataset has. `population` may be
// null; then the plan must have come to its end.
std::optional<uint64_t> RowsAtEnd(const RunPlan& plan, const Population* population,
                                  const Dataset& dataset);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_CHILD_RUN_ROWS_H_
