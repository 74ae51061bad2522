// Which rows the database of a run holds, as far as its workloads let one know.
#ifndef TESTBED_TOOLS_RUN_CHILD_RUN_ROWS_H_
#define TESTBED_TOOLS_RUN_CHILD_RUN_ROWS_H_

#include <cstdint>
#include <optional>

#include "tools/run/run_child.h"
#include "workloads/dataset.h"
#include "workloads/population.h"

namespace testbed {

// Returns how many rows the database holds after the plan; nothing when nobody counted them. The
// tables of most loaders hold other rows than the Dataset has. `population` may be null; then the plan
// has come to its end.
std::optional<uint64_t> RowsAtEnd(const RunPlan& plan, const Population* population,
                                  const Dataset& dataset);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_CHILD_RUN_ROWS_H_
