// Compares the cells of two sides by the statistics of tools/statistics: each metric of each cell
// that both have, over their loads. A side is a results document (docs/results.md), or a directory
// of them (tools/experiment/verdict/compare_cells.h). docs/comparing.md says how it is done.
//
//   const CellComparison comparison = CompareDocuments(first, second, {.metrics = {"rate"}});
//   fmt::print("{}", ComparisonText(comparison));
#ifndef TESTBED_TOOLS_REPORT_COMPARE_H_
#define TESTBED_TOOLS_REPORT_COMPARE_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/output/table.h"
#include "tools/report/compare_terms.h"
#include "tools/statistics/comparison.h"
#include "tools/statistics/condition.h"
#include "tools/statistics/document_cells.h"

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

// What is said of a side besides its cells.
struct ComparedSide {
  std::vector<std::string> disturbances;  // lines about failed runs and what else took processors
  std::string more_loads;                 // what would measure it anew, in several loads
};
// `document` needs of a results document no more than its runs with their errors, and of their
// phases what tools/report/foreign_cpu.h names.
std::vector<std::string> DisturbancesOf(const nlohmann::json& document);

struct CellComparison {
  CompareTerms terms;
  ComparedSide first, second;
  size_t cells = 0;               // that both sides have
  std::vector<ComparedRow> rows;  // corrected for the number of rows (ControlFalseDiscoveries)
  std::vector<std::string> only_first, only_second;  // cells that the other side lacks
  // Of the metrics that are shown, those that a side lacks in some cells; of those that the user
  // named, also those that neither has. They have no rows there.
  std::vector<LackedMetric> lacked;
  bool measured = true;  // some of the metrics that are shown, on both sides of some cell
  // By percentile, the number of its rows that are of runs with too few operations for it
  // (TellsPercentile). It is that of the slowest few then, and depends on their number.
  std::map<std::string, size_t> few_operations;
  std::vector<JudgedCondition> conditions;
};

// Compares the second side's cells with those of the same names of the first. On other terms than
// comparable ones no condition is judged.
CellComparison CompareCells(const std::vector<DocumentCell>& first,
                            const std::vector<DocumentCell>& second, CompareTerms terms,
                            const CompareSettings& settings);

// Compares the second document with the first. Throws nlohmann::json::exception when one is
// damaged.
CellComparison CompareDocuments(const nlohmann::json& first, const nlohmann::json& second,
                                const CompareSettings& settings);

// Throws Error (kUsage), which names the files or directories, when the sides have no cell in
// common, or none with the metric of a condition or with any of the metrics that the user named.
void CheckCompared(const CellComparison& comparison, const std::string& first_file,
                   const std::string& second_file);

// Returns lines on what else may explain a difference: runs that failed, other programs that used
// the processors, percentiles of few operations, and all that differs between the sides
// (TermsText); and on metrics that a side lacks. What is amiss has a "! " in its line.
std::string CircumstancesText(const CellComparison& comparison);
// Returns a sentence on each rate, in the order of the rows.
struct RateSentence {
  std::string text;
  bool told = false;
};
std::vector<RateSentence> RateSentences(const CellComparison& comparison);
// Returns lines with the commands that would measure the loads that a side lacks; an empty text
// when both have enough.
std::string LackingLoadsText(const CellComparison& comparison);
// Above this number of cells a text counts the answers about rates, and has sentences for the
// differences alone.
constexpr size_t kMostSentences = 20;

// Returns the comparison as a table.
Table ComparisonTable(const CellComparison& comparison);
// Returns the comparison as text: what differs between the sides' settings, the answer about each
// rate, the table, and the further loads that would answer the open questions.
std::string ComparisonText(const CellComparison& comparison);
// Returns the comparison as a document of the schema testbed-compare/1 (docs/comparing.md).
nlohmann::json ComparisonJson(const CellComparison& comparison, const std::string& first_file,
                              const std::string& second_file);

// Exit codes of a comparison.
constexpr int kCompareConditionHolds = 1;    // some --fail-if holds
constexpr int kCompareConditionUnknown = 3;  // none holds, and some cannot be told
// Returns the exit code; 0 when no condition holds.
int CompareExitCode(const CellComparison& comparison);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_COMPARE_H_
