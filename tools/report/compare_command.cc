#include "tools/report/compare_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/error.h"
#include "tools/report/compare.h"
#include "tools/report/report.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

constexpr char kCompareExamples[] =
    "\nExamples:\n"
    "  testbed --engine rocksdb --repeat 5 --json old.json; ...; testbed compare old.json "
    "new.json\n"
    "      rates, latencies, processor time, blocks and bytes over the loads of each\n"
    "  testbed compare old.json new.json --fail-if 'rate < -3%' --fail-if 'p99 > 10%'\n"
    "      exit code 1 when one of them holds for sure, 3 when that cannot be told, 2 when the "
    "files\n"
    "      cannot be compared, else 0\n";

struct CompareWords {
  std::vector<std::string> files, conditions;
  std::string metrics, within = "2%";
  bool as_csv = false;
};

int CompareFiles(const CompareWords& words) {
  CompareSettings settings;
  settings.margin = ParseMargin("--within", words.within);
  settings.metrics = ParseMetricNames("--metric", words.metrics);
  for (const std::string& text : words.conditions) {
    settings.fail_if.push_back(ParseCondition("--fail-if", text));
  }
  const nlohmann::json first = ReadResults(words.files[0]), second = ReadResults(words.files[1]);
  const std::string why = WhyNotComparable(first, second, words.files[0], words.files[1]);
  if (!why.empty()) throw Error(Error::kUsage, why);
  const DocumentComparison comparison = CompareDocuments(first, second, settings);
  CheckCompared(comparison, words.files[0], words.files[1]);
  fmt::print("{}", words.as_csv ? ComparisonTable(comparison).Csv()
                                : ComparisonText(first, second, comparison));
  return CompareExitCode(comparison);
}

}  // namespace

void AddCompareCommand(CLI::App& app, std::function<int()>* command) {
  auto words = std::make_shared<CompareWords>();
  CLI::App* compare = app.add_subcommand(
      "compare", "Say which of two results files is faster, and how sure that is");
  compare->footer(kCompareExamples);
  compare
      ->add_option("files", words->files,
                   "The results file of the base, and the one to compare with it")
      ->required()
      ->expected(2);
  compare
      ->add_option("--metric", words->metrics,
                   "Metrics to compare: all, or some of " + MetricNames() +
                       " [rate, p99, processor time, blocks, device, size]")
      ->type_name("LIST");
  compare
      ->add_option("--within", words->within,
                   "Largest difference at which the sides are called the same [2%]")
      ->type_name("PERCENT");
  compare
      ->add_option("--fail-if", words->conditions,
                   "Exit with 1 when this change of a metric is sure, such as 'rate < -3%'; may be "
                   "given again")
      ->type_name("CONDITION")
      ->allow_extra_args(false);
  compare->add_flag("--csv", words->as_csv, "Print comma-separated values");
  compare->callback([words, command] { *command = [words] { return CompareFiles(*words); }; });
}

}  // namespace testbed
