// A comparison's document as text: the answer in a sentence first, then the figures behind it. The
// page of `testbed report --html` (tools/html/) shows the same words and tables.
//
//   const nlohmann::json document = ParseJson(text);
//   if (IsAbDocument(document)) {
//     CheckAbDocument(document, path);
//     fmt::print("{}", AbReportText(document));
//   }
#ifndef TESTBED_TOOLS_AB_AB_REPORT_H_
#define TESTBED_TOOLS_AB_AB_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/ab/answers.h"
#include "tools/output/report_style.h"
#include "tools/output/table.h"

namespace testbed {

bool IsAbDocument(const nlohmann::json& document);
// Throws Error (kUsage), which names `path`, when the comparison is damaged.
void CheckAbDocument(const nlohmann::json& document, const std::string& path);

// The functions below throw nlohmann::json::exception or Error for what is no comparison.

// What a report says in words.
struct AbWords {
  struct Saying {
    std::string text;  // without a line break at its end
    // A condition holds, a side failed, the comparison was stopped, or the answer is on other terms
    // than were asked for.
    bool alarm = false;
  };
  struct SideWords {
    std::string label, settings;  // the engine is always among the settings
  };
  // The answers about what was asked, then what they do not hold for: settings that are not in
  // force, metrics that leave out more than a hundredth of a side's work, and unequal memory.
  std::vector<Saying> sentences;
  std::vector<SideWords> sides;
  std::string way;  // how the sides were compared, in how many loads, and what that assumes
  std::vector<std::string> notes;
};
// `answers` are those of AbAnswers(document), here and below.
AbWords WordsOfAb(const nlohmann::json& document, const std::vector<AbAnswer>& answers);

// Return the tables: the metrics, a row for each answer; the counters that moved; and what each
// side did at rest, while other sides had their slices. The last two may be empty.
Table MetricsOfAb(const nlohmann::json& document, const std::vector<AbAnswer>& answers);
Table MovedOfAb(const nlohmann::json& document);
Table RestOfAb(const nlohmann::json& document);

// Returns an entry of "errors" as a sentence: "side b failed: ...".
std::string FailureText(const nlohmann::json& error);

std::string AbReportText(const nlohmann::json& document, const ReportStyle& style = {});

// The exit code by which `git bisect run` passes over a commit.
constexpr int kAbCannotBeTold = 125;
// Returns the exit code of the comparison: 130 when the user stopped it; without --fail-if 0, or 1
// when a side failed; with --fail-if 3 when a condition holds for sure, 0 when none does for sure,
// and else kAbCannotBeTold.
int AbExitCode(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_AB_REPORT_H_
