// The figures of a run: every number of its document, by name, for tables and findings.
#ifndef TESTBED_TOOLS_EXPERIMENT_FIGURES_H_
#define TESTBED_TOOLS_EXPERIMENT_FIGURES_H_

#include <nlohmann/json.hpp>
#include <string>

#include "tools/experiment/expression.h"

namespace testbed {

// Returns every number of a run, and of the load that it shares with others (`load` is its
// document, or null), named by its path (expression.h). A text that is a number counts as one, and
// true as 1; the series of the phases are left out:
//
// - Later phases of a name get _2, _3, ... after it. The phases of the load come first, as in a run
//   that loads its own database, so that a name means the same phase in both.
// - PHASE.write_bytes_with_settle is the bytes that the device wrote in the phase and in the settle
//   right behind it, other programs' apart; the settle of a shared load counts, too.
// - A list of numbers becomes .count, .min, .max and .sum; an object with a "name" is named by it.
// - The last measured phase is also "measured", and its most frequent operation is also
//   "measured.operation": of about equally frequent ones the first. A phase that only checks the
//   database (WorkloadInfo::only_checks) is measured when there is no other.
// - "find_rate.WORKLOAD" is the last search of --find-rate for the workload, as "measured" is the
//   last phase.
// - "held.bytes" is the memory that the run held (docs/results.md, "held_mean") in the measured
//   phase that held most, or in the load that held most when no other phase was measured. A phase
//   that only checks the database counts when there is neither.
// - "held.share" is "held.bytes" as a share of --ram.
// - "held.full" is 1 when such a phase held nearly all of --ram at some moment; otherwise 0.
// - "loaded.rows" is the number of rows that all loads of the run inserted.
// - "planned.ended_early" is the number of its phases that ended before they were told to, for want
//   of rows; a run without such a phase lacks it.
Figures FiguresOf(const nlohmann::json& document, const nlohmann::json& run,
                  const nlohmann::json& load = {});

// Returns the grade of a run's account (docs/accounting.md), "" when it is not known: the worse one
// of its own and of that of the load that it shares with others, because figures of both are used.
// Throws nlohmann::json::exception when the run has no account.
std::string GradeOf(const nlohmann::json& run, const nlohmann::json& load);

// Returns a list of the document in place; an empty list when it has none. A copy of all phases
// would take longer than reading them.
const nlohmann::json& ListOf(const nlohmann::json& document, const char* name);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_FIGURES_H_
