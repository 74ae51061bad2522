// Formats an experiment's results: its tables with the published figures below them, and the
// verdict on each finding.
#ifndef TESTBED_TOOLS_EXPERIMENT_REPORT_H_
#define TESTBED_TOOLS_EXPERIMENT_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

std::string FindingsText(const ResultSet& results);
nlohmann::json FindingsJson(const ResultSet& results);
// Returns a section with a table for each finding, as in docs/findings.md: published figures next
// to measured ones, how often each part was true in resampled rounds, and the machine.
std::string FindingsMarkdown(const ResultSet& results);
// Returns the tables, the findings, and the cells that did not run with the reasons.
std::string ExperimentText(const ResultSet& results);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_REPORT_H_
