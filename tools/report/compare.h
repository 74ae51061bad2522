// Compares two results documents (docs/results.md) by the statistics of tools/statistics: each
// metric of each cell that both have, over their loads. docs/comparing.md says how it is done.
#ifndef TESTBED_TOOLS_REPORT_COMPARE_H_
#define TESTBED_TOOLS_REPORT_COMPARE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/output/table.h"
#include "tools/report/compare_terms.h"
#include "tools/statistics/comparison.h"
#include "tools/statistics/condition.h"

namespace testbed {

struct CompareSettings {
  std::vector<std::string> metrics;  // names of Metrics(); empty: DefaultCompareMetrics()
  double margin = 0.02;
  std::vector<Condition> fail_if;
};

// Returns the metrics that a comparison shows unless it is told others.
const std::vector<std::string>& DefaultCompareMetrics();

struct ComparedRow {
  std::string cell, metric;
  Answer answer;
};

struct JudgedCondition {
  Condition condition;
  Judgement judgement = Judgement::kUnknown;
  std::vector<std::string> cells;  // where it holds; else where it cannot be told; else all
};

struct DocumentComparison {
  CompareTerms terms;
  size_t cells = 0;               // that both documents have
  std::vector<ComparedRow> rows;  // corrected for the number of rows (ControlFalseDiscoveries)
  std::vector<std::string> only_first, only_second;  // cells that the other document lacks
  std::vector<JudgedCondition> conditions;
};

// Compares the second document with the first. Throws nlohmann::json::exception when one is
// damaged.
DocumentComparison CompareDocuments(const nlohmann::json& first, const nlohmann::json& second,
                                    const CompareSettings& settings);

// Throws Error (kUsage), which names the files, when the documents have no cell in common, or none
// with the metric of a condition.
void CheckCompared(const DocumentComparison& comparison, const std::string& first_file,
                   const std::string& second_file);

// Returns lines on what else may explain a difference: other programs that used the processors, and
// all that differs between the documents (TermsText). What is amiss has a "! " in its line.
std::string CircumstancesText(const nlohmann::json& first, const nlohmann::json& second,
                              const DocumentComparison& comparison);
// Returns a sentence on each rate, in the order of the rows.
struct RateSentence {
  std::string text;
  bool told = false;
};
std::vector<RateSentence> RateSentences(const DocumentComparison& comparison);
// Returns lines with the commands that would measure the loads that a document lacks; an empty text
// when both have enough.
std::string LackingLoadsText(const nlohmann::json& first, const nlohmann::json& second,
                             const DocumentComparison& comparison);

// Returns the comparison as a table.
Table ComparisonTable(const DocumentComparison& comparison);
// Returns the comparison as text: what differs between the documents, the answer about each rate,
// the table, and the further loads that would answer the open questions.
std::string ComparisonText(const nlohmann::json& first, const nlohmann::json& second,
                           const DocumentComparison& comparison);

// Exit codes of a comparison.
constexpr int kCompareConditionHolds = 1;    // some --fail-if holds
constexpr int kCompareConditionUnknown = 3;  // none holds, and some cannot be told
// Returns the exit code; 0 when no condition holds.
int CompareExitCode(const DocumentComparison& comparison);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_COMPARE_H_
