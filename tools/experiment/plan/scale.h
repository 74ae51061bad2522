// The scale of an experiment that a plan asks for: one that the experiment has, or a factor of its
// scale "full".
//
// The functions keep no state and are thread-safe.
#ifndef TESTBED_TOOLS_EXPERIMENT_PLAN_SCALE_H_
#define TESTBED_TOOLS_EXPERIMENT_PLAN_SCALE_H_

#include <cstdint>
#include <string>

#include "tools/experiment/experiment.h"
#include "tools/experiment/plan/plan.h"

namespace testbed {

// Returns the memory that an option "ram" stands for, in bytes. Throws Error (kUsage) for a text
// that is no size.
uint64_t RamOf(const std::string& text, const PlanOptions& options);

// Returns the scale that is asked for. For a number, returns the scale "full" with its memory,
// where cells take that, multiplied by the number: that of all engines, and that of those which
// have their own there. Throws Error (kUsage) for any other name, and for a number by which the
// memory would be less or more than a run takes.
ExperimentScale FindScale(const Experiment& experiment, const PlanOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_PLAN_SCALE_H_
