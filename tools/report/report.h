// Makes tables of a results document (docs/results.md). Everything printed comes from the document,
// so the report of a stored file is the same as that of the run that wrote it.
#ifndef TESTBED_TOOLS_REPORT_REPORT_H_
#define TESTBED_TOOLS_REPORT_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace testbed {

std::string ReportText(const nlohmann::json& document);
std::string ReportCsv(const nlohmann::json& document);

// Reads a results file. Throws Error (kUsage) when the file is not one or has an unknown schema.
nlohmann::json ReadResults(const std::string& path);

// Compares two results: every phase and operation that both have, with each figure, the ratio and,
// where both were repeated, whether the confidence intervals are apart.
std::string CompareText(const nlohmann::json& base, const nlohmann::json& other);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_REPORT_H_
