// Prints the results of an experiment: its tables with the published figures below them, and the
// verdict on each finding.
#ifndef TESTBED_TOOLS_EXPERIMENT_REPORT_H_
#define TESTBED_TOOLS_EXPERIMENT_REPORT_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/experiment/results.h"
#include "tools/output/report_style.h"

namespace testbed {

std::string FindingsText(const ResultSet& results);
nlohmann::json FindingsJson(const ResultSet& results);

// Returns a Markdown section as in docs/findings.md, with a table for each finding: the published
// figures beside ours, and the share of resampled rounds in which each part was true. The section's
// heading names the machine.
std::string FindingsMarkdown(const ResultSet& results);

// Returns the number of planned runs that are not finished.
size_t OpenRuns(const ResultSet& results);

// Returns why cells were not planned to run, each reason with the number of its cells.
std::map<std::string, int> ReasonsNotRun(const ResultSet& results);

// Returns a sentence about the tails of latency in the tables that count from the moment at which
// an operation began: in a closed loop they leave out requests that would have waited. Returns an
// empty string when the tables have none.
std::string WaitingClientsText(const ResultSet& results);

// Returns the tables and the findings, with the cells that did not run and the reasons; of the
// experiment "advise" also its advice.
std::string ExperimentText(const ResultSet& results, const ReportStyle& style = {.wide = true});

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_REPORT_H_
