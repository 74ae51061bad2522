// A comparison's document as text: the answer in a sentence first, then the figures behind it.
#ifndef TESTBED_TOOLS_AB_AB_REPORT_H_
#define TESTBED_TOOLS_AB_AB_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace testbed {

// Returns the comparison that the file holds; null when it cannot be read or holds something else.
// Throws Error (kUsage) when the comparison is damaged.
nlohmann::json ReadAbDocument(const std::string& path);

// Returns the report. Throws nlohmann::json::exception or Error for what is no comparison.
std::string AbReportText(const nlohmann::json& document);

// Returns the exit code of the comparison: 130 when the user stopped it; without --fail-if 0, or 1
// when a side failed; with --fail-if 3 when a condition holds for sure, 0 when none does for sure,
// and else 125, by which `git bisect run` passes over a commit.
int AbExitCode(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_AB_REPORT_H_
