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
// or has a schema that this version does not know.
nlohmann::json ReadResults(const std::string& path);

// Returns a table with two documents side by side: the figures of every phase and operation that
// both have, their ratios, and, where both were repeated, whether the confidence intervals of the
// rates are apart. Lines above the table name the options that differ.
std::string CompareText(const nlohmann::json& base, const nlohmann::json& other);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_REPORT_H_
