// An experiment's results as text: its tables with the published figures below them, and the
// verdict for each finding.
#ifndef TESTBED_TOOLS_EXPERIMENT_REPORT_H_
#define TESTBED_TOOLS_EXPERIMENT_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

std::string FindingsText(const ResultSet& results);
nlohmann::json FindingsJson(const ResultSet& results);
// A section with a table for each finding, as docs/findings.md has them: published beside ours, how
// often each part was true in resampled rounds, on which machine.
std::string FindingsMarkdown(const ResultSet& results);
// Both, with the cells that did not run and why.
std::string ExperimentText(const ResultSet& results);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_REPORT_H_
