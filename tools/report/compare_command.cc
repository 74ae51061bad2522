#include "tools/report/compare_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/experiment/verdict/compare_cells.h"
#include "tools/output/csv.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "tools/output/standard_streams.h"
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
    "      cannot be compared, else 0\n"
    "  testbed compare sweep-before sweep-after\n"
    "      the cells of two sweeps or experiments, matched by their settings\n"
    "  testbed compare sweep-7.8.3 sweep-10.4.2 --ignore engine\n"
    "      engine=rocksdb@7.8.3 is compared with engine=rocksdb@10.4.2\n";

struct CompareWords {
  std::vector<std::string> files, conditions, ignored;
  std::string metrics, json_file, within = "2%";
  bool as_csv = false;
};

CompareSettings SettingsOf(const CompareWords& words) {
  CompareSettings settings;
  settings.margin = ParseMargin("--within", words.within);
  settings.metrics = ParseMetricNames("--metric", words.metrics);
  for (const std::string& text : words.conditions) {
    settings.fail_if.push_back(ParseCondition("--fail-if", text));
  }
  return settings;
}

bool IsDirectory(const std::string& path) {
  std::error_code none;
  return path != "-" && std::filesystem::is_directory(path, none);
}

CellComparison CompareFiles(const CompareWords& words, const CompareSettings& settings) {
  if (!words.ignored.empty()) {
    throw Error(Error::kUsage,
                "--ignore belongs to two directories of experiments or sweeps, whose "
                "cells are matched; leave it out for two files");
  }
  const nlohmann::json first = ReadResults(words.files[0]), second = ReadResults(words.files[1]);
  // After Ctrl-C the input may be cut off, because Ctrl-C also ends the program that writes it into
  // a pipe.
  if (StopRequested()) throw Stopped("before it was made", "the comparison");
  const std::string why = WhyNotComparable(first, second, words.files[0], words.files[1]);
  if (!why.empty()) throw Error(Error::kUsage, why);
  return CompareDocuments(first, second, settings);
}

CellComparison CompareAny(const CompareWords& words) {
  const CompareSettings settings = SettingsOf(words);
  const bool directories[] = {IsDirectory(words.files[0]), IsDirectory(words.files[1])};
  if (directories[0] && directories[1]) {
    return CompareDirectories(words.files[0], words.files[1], {.ignored = words.ignored}, settings);
  }
  if (!directories[0] && !directories[1]) return CompareFiles(words, settings);
  const std::string& file = words.files[directories[0] ? 1 : 0];
  if (file != "-" && !std::filesystem::exists(file)) (void)ReadResults(file);  // throws
  throw Error(
      Error::kUsage,
      fmt::format("{} is a directory and {} is not; give two files written by --json, or two "
                  "directories of experiments or sweeps",
                  words.files[directories[0] ? 0 : 1], file));
}

// Returns the answers of the comparison's document as rows. The columns have the fields' names.
std::string AnswersCsv(const nlohmann::json& document) {
  const std::vector<std::string> columns = {"cell",  "metric", "first",       "second",
                                            "scale", "effect", "low",         "high",
                                            "p",     "answer", "loads_first", "loads_second"};
  Csv csv(columns);
  for (const nlohmann::json& answer : document.at("answers")) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) cells.push_back(CsvValue(answer.at(column)));
    csv.Row(cells);
  }
  return csv.Text();
}

int CompareIt(const CompareWords& words) {
  CheckOutputFiles({{"--json", words.json_file}}, {.inputs = words.files});
  const CellComparison comparison = CompareAny(words);
  CheckCompared(comparison, words.files[0], words.files[1]);
  const nlohmann::json document = ComparisonJson(comparison, words.files[0], words.files[1]);
  WriteOutputs({{"--json", words.json_file, [&] { return JsonText(document, 1) + "\n"; }}},
               words.as_csv ? AnswersCsv(document) : ComparisonText(comparison));
  return CompareExitCode(comparison);
}

}  // namespace

void AddCompareCommand(CLI::App& app, std::function<int()>* command) {
  auto words = std::make_shared<CompareWords>();
  CLI::App* compare =
      app.add_subcommand("compare", "Say which of two results is faster, and how sure that is");
  compare->footer(kCompareExamples);
  compare
      ->add_option(
          "files", words->files,
          "The results file of the base and the one to compare with it, or two directories "
          "of experiments or sweeps")
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
  compare
      ->add_option("--ignore", words->ignored,
                   "Also match cells of the two directories that differ in these axes alone")
      ->type_name("AXES")
      ->delimiter(',')
      ->allow_extra_args(false);
  AddFileOption(*compare, "--json", &words->json_file, "Write the comparison to a file as JSON");
  compare->add_flag("--csv", words->as_csv,
                    "Print the answers as CSV, whose columns are fields of --json");
  compare->callback([words, command] {
    *command = [words] { return JudgedOrFailed([&] { return CompareIt(*words); }); };
  });
}

}  // namespace testbed
