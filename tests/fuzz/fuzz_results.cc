#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/error.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_files.h"
#include "tools/database/database_files.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/report.h"
#include "tools/experiment/results.h"
#include "tools/experiment/results_dir.h"
#include "tools/experiment/verdict/compare_cells.h"
#include "tools/output/json_text.h"
#include "tools/report/compare.h"
#include "tools/report/csv.h"
#include "tools/report/report.h"

namespace testbed {
namespace {

// Calls `step`, which may throw Error, but no other exception. Returns whether it did not throw.
template <typename Step>
bool Attempt(const Step& step) {
  try {
    step();
    return true;
  } catch (const Error&) {
    return false;
  } catch (const std::exception& e) {
    Require(false, e.what());
    return false;
  }
}

void UseResults(const std::string& path) {
  nlohmann::json document;
  if (!Attempt([&] { document = ReadResults(path); })) return;
  Require(Attempt([&] {
            (void)ReportText(document);
            (void)RunsCsv({&document});
            (void)SeriesCsv({&document});
            (void)ReportText(document, {.wide = true, .markdown = true});
            (void)ComparisonText(CompareDocuments(document, document, {}));
          }),
          "a results file that was read cannot be printed");
}

constexpr char kExperiment[] = R"(
name = "one"
title = "One cell"
[options]
engine = "null"
workload = "insert,point-read"
rows = 1000
[scale.tiny]
rounds = 1
[[axis]]
name = "threads"
values = [1]
[metrics]
rate = { value = "point_read.rate" }
[[table]]
title = "t"
rows = ["threads"]
metrics = ["rate"]
[[finding]]
id = "X1"
claim = "c"
[[finding.part]]
says = "s"
holds = "rate[threads=1] > 1"
)";

// Reads the results of an experiment with the input in place of one of its files.
void UseExperiment(std::string_view bytes, const std::string& dir) {
  static const Experiment experiment = ParseExperiment(kExperiment, "one.toml");
  PlanOptions options;
  options.scale = "tiny";
  const std::vector<Cell> cells = PlanCells(experiment, options);
  ResultsDir results(dir + "/results");
  results.Create(experiment, options);
  const auto show = [&] {
    Attempt([&] {
      const ResultSet set = ResultSet::Read(results.path());
      (void)ExperimentText(set);
    });
    Attempt(
        [&] { (void)ComparisonText(CompareDirectories(results.path(), results.path(), {}, {})); });
  };
  std::filesystem::create_directories(results.path() + "/cells");
  std::ofstream(results.CellFile(cells.at(0)), std::ios::binary) << bytes;
  show();
  std::ofstream(results.path() + "/experiment.json", std::ios::binary) << bytes;
  show();
}

}  // namespace

// Takes any bytes for a results file, which must be printed, or refused with a sentence. JSON that
// could be read must be unchanged after it was written and read again.
TESTBED_FUZZ_TARGET(results) {
  const ScratchDir dir;
  const std::string path = dir.path() + "/results.json";
  std::ofstream(path, std::ios::binary) << bytes;
  UseResults(path);
  std::ofstream(dir.path() + "/" + kRecordFile, std::ios::binary) << bytes;
  Attempt([&] { (void)RemoveDatabase(dir.path(), dir.path()); });
  const nlohmann::json document = ParseJson(bytes);
  if (document.is_discarded()) return;
  UseExperiment(bytes, dir.path());
  const std::string text = JsonText(document);
  Require(JsonText(ParseJson(text)) == text, "a document is another one when it is read again");
}

}  // namespace testbed
