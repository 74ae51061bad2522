// Writes the records of a run (run_record.h) as parts of a results document (docs/results.md).
//
//   const nlohmann::json phase = PhaseJson(record);   // one element of "phases"
//   const nlohmann::json run = RunJson(of_run);       // one element of "runs", without "phases"
//
// All of it is thread-safe: the functions work on their arguments alone.
#ifndef TESTBED_TOOLS_RUN_RUN_JSON_H_
#define TESTBED_TOOLS_RUN_RUN_JSON_H_

#include <nlohmann/json.hpp>

#include "tools/run/run_record.h"

namespace testbed {

nlohmann::json PhaseJson(const PhaseRecord& phase);

// Returns "account" of a phase.
nlohmann::json AccountJson(const PhaseAccount& account);

nlohmann::json RunJson(const RunRecord& run);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_JSON_H_
