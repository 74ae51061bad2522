// Prints a results document (docs/results.md) as tables. All figures come from the document, so a
// stored file prints the same report as the run that wrote it.
#ifndef TESTBED_TOOLS_REPORT_REPORT_H_
#define TESTBED_TOOLS_REPORT_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace testbed {

std::string ReportText(const nlohmann::json& document);
std::string ReportCsv(const nlohmann::json& document);

// Reads a results file. Throws Error (kUsage) when the file cannot be read, is not a results file,
// has a schema that this version does not know, or lacks something that the functions here print.
nlohmann::json ReadResults(const std::string& path);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_REPORT_H_
