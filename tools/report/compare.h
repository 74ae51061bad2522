// Compares the cells of two sides by the statistics of tools/statistics (docs/comparing.md): each
// metric of each cell that both sides have, over its loads. A side is a results document
// (docs/results.md), or a directory of them (tools/experiment/verdict/compare_cells.h).
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

// Returns the names of the metrics that a comparison shows when the user names none.
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

// Facts about a side that belong to no cell.
struct ComparedSide {
  std::vector<std::string> disturbances;  // lines on failed runs, early ends and other programs
  std::string more_loads;                 // how to measure the side again, in several loads
};
// Returns the ComparedSide::disturbances of a results document. Of `document` it reads only the
// runs with their errors, and the fields of phases that foreign_cpu.h and EndedEarlyLine name.
std::vector<std::string> DisturbancesOf(const nlohmann::json& document);

struct CellComparison {
  CompareTerms terms;
  ComparedSide first, second;
  size_t cells = 0;               // number of cells that both sides have
  std::vector<ComparedRow> rows;  // corrected for the number of rows (ControlFalseDiscoveries)
  std::vector<std::string> only_first, only_second;  // cells that the other side lacks
  // The shown metrics that one side lacks in some cells. A metric that the user named is also here
  // when both sides lack it. They have no rows in these cells.
  std::vector<LackedMetric> lacked;
  bool measured = true;  // some cell has one of the shown metrics on both sides
  // For each percentile, the number of its rows whose runs had too few operations for it
  // (TellsPercentile). The percentile of such a run depends on the number of its operations.
  std::map<std::string, size_t> few_operations;
  std::vector<JudgedCondition> conditions;
};

// Compares the second side's cells with the first side's cells of the same names. When `terms` are
// not comparable, no condition is judged.
CellComparison CompareCells(const std::vector<DocumentCell>& first,
                            const std::vector<DocumentCell>& second, CompareTerms terms,
                            const CompareSettings& settings);

// Compares the second document with the first. Throws nlohmann::json::exception when one is
// damaged.
CellComparison CompareDocuments(const nlohmann::json& first, const nlohmann::json& second,
                                const CompareSettings& settings);

// Throws Error (kUsage), which names the files or directories, when the sides have no common cell,
// or none with the metric of a condition, or none with any of the metrics that the user named.
void CheckCompared(const CellComparison& comparison, const std::string& first_file,
                   const std::string& second_file);

// Returns lines on what else may explain a difference: runs that failed, other programs that used
// the processors, percentiles of few operations, and all that differs between the sides
// (TermsText). Further lines name the metrics that a side lacks. A warning line begins with "! ".
std::string CircumstancesText(const CellComparison& comparison);
// A sentence on the rate of one cell, in the order of the rows.
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
