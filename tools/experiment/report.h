// An experiment's results as text: its tables with the published figures below them, and the
// verdict for each finding.
#ifndef TESTBED_TOOLS_EXPERIMENT_REPORT_H_
#define TESTBED_TOOLS_EXPERIMENT_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

struct Verdict {
  enum Kind { kReproduced, kNotReproduced, kOpposite, kUntestable, kWaits, kIncomplete };
  std::string id, claim;
  Kind kind = kIncomplete;
  std::string because;  // why it is untestable, what it waits for, which cell is missing
  std::string figures;
  std::vector<std::string> mechanisms;  // what changed, as measured
};
const char* VerdictName(Verdict::Kind kind);
std::vector<Verdict> CheckFindings(const ResultSet& results);

std::string TablesText(const ResultSet& results);
std::string TablesCsv(const ResultSet& results);
std::string FindingsText(const ResultSet& results);
nlohmann::json FindingsJson(const ResultSet& results);
// Both, with the cells that did not run and why.
std::string ExperimentText(const ResultSet& results);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_REPORT_H_
