// Makes tables of a results document (docs/results.md). Everything printed comes from the document,
// so a stored file prints the same report as the run that wrote it.
#ifndef TESTBED_TOOLS_REPORT_REPORT_H_
#define TESTBED_TOOLS_REPORT_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace testbed {

std::string ReportText(const nlohmann::json& document);
std::string ReportCsv(const nlohmann::json& document);

// Reads a results file. Throws Error (kUsage) when it is none or of a schema that this version does
// not know.
nlohmann::json ReadResults(const std::string& path);

// Two results side by side: each figure of every phase and operation that both have, with the ratio
// and, where both were repeated, whether the confidence intervals are apart.
std::string CompareText(const nlohmann::json& base, const nlohmann::json& other);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_REPORT_H_
