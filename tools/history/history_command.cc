#include "tools/history/history_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/signal_guard.h"
#include "device/os/temporary_dir.h"
#include "tools/history/history_series.h"
#include "tools/history/history_store.h"
#include "tools/history/otava.h"
#include "tools/option_values.h"
#include "tools/output/csv.h"
#include "tools/output/output_file.h"
#include "tools/output/standard_streams.h"
#include "tools/output/table.h"
#include "tools/report/compare.h"
#include "tools/report/report.h"
#include "tools/statistics/condition.h"
#include "tools/statistics/document_cells.h"
#include "tools/statistics/metrics.h"
#include "tools/statistics/sentence.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr char kHistoryExamples[] =
    "\nExamples:\n"
    "  testbed history add run.json --commit \"$(git rev-parse HEAD)\"\n"
    "  testbed history show --metric rate,p99\n"
    "  testbed history check --last 3\n"
    "      exit code 1 when a metric got worse, 3 when there are too few results to tell, else 0\n"
    "  testbed history export otava; otava analyze series1 --config-file otava/otava.yaml\n";

constexpr char kHistoryAddExamples[] =
    "\nExamples:\n"
    "  testbed history add run.json --commit \"$(git rev-parse HEAD)\"\n"
    "  testbed history add first.json second.json --commit 1f2e3d4 --branch mine\n"
    "      two results of a commit, on a branch of their own\n";

constexpr char kHistoryShowExamples[] =
    "\nExamples:\n"
    "  testbed history show --metric rate,p99\n"
    "      each phase's figures in the order of the results, with their commits\n"
    "  testbed history show --branch mine --csv >mine.csv\n";

constexpr char kHistoryCheckExamples[] =
    "\nExamples:\n"
    "  testbed history check --last 3\n"
    "      exit code 1 when a metric got worse, 3 when there are too few results to tell, else 0\n"
    "  testbed history check --metric rate --otava none\n"
    "      the rate alone, and no change points\n";

constexpr char kHistoryExportExamples[] =
    "\nExamples:\n"
    "  testbed history export otava; otava analyze series1 --config-file otava/otava.yaml\n"
    "  testbed history export otava --metric rate,p99 --branch mine\n"
    "  testbed history export otava --postgres; psql -f otava/history.sql\n"
    "      for PostgreSQL; otava analyze --branch main --update-postgres notes change points "
    "there\n";

constexpr int kGotWorse = 1;
constexpr int kTooFew = 3;

struct HistoryWords {
  std::string store = "testbed-history", branch = "main", commit, metrics, last = "3", otava;
  std::string directory;
  std::vector<std::string> files;
  bool as_csv = false, postgres = false;
};

// Returns why a result has no place in a history; "" when it has. What a failed run has left out
// may be what went badly, so the others would not stand for the commit.
std::string WhyNotAdded(const HistoryEntry& entry) {
  const nlohmann::json& document = entry.document;
  const nlohmann::json& runs = document.at("runs");
  if (!TellsWhen(entry)) return "it does not tell when it was measured (\"started\")";
  if (document.value("partial", false)) return "it was interrupted";
  if (!PhasesWithWrongAnswers(document).empty()) return "its engine gave wrong answers";
  if (std::any_of(runs.begin(), runs.end(),
                  [](const nlohmann::json& run) { return run.contains("error"); })) {
    return "a run of it failed";
  }
  return CellsOf(document).empty() ? "it measured nothing" : "";
}

int AddToHistory(const HistoryWords& words) {
  // All files are checked before the first is added.
  std::vector<HistoryEntry> entries;
  for (const std::string& file : words.files) {
    if (StopRequested()) throw Stopped("before a result was added", "the command");
    entries.push_back({words.branch, words.commit, ReadResults(file)});
    const std::string why = WhyNotAdded(entries.back());
    if (!why.empty()) {
      throw Error(Error::kUsage, fmt::format("{} is not added, because {}", file, why));
    }
  }
  const size_t added = HistoryStore(words.store).Add(entries);
  fmt::print("{} of {} on {} added to {}\n", Counted(added, "result"), words.commit, words.branch,
             words.store);
  return 0;
}

// Throws Error (kUsage) when the branch has no result, or no result has one of the metrics.
std::vector<HistorySeries> ReadSeries(const HistoryWords& words,
                                      const std::vector<std::string>& metrics) {
  const std::vector<HistoryEntry> entries = HistoryStore(words.store).Read(words.branch);
  if (entries.empty()) {
    throw Error(Error::kUsage,
                fmt::format("--store {} has no result of --branch {}", words.store, words.branch));
  }
  std::vector<HistorySeries> series = SeriesOf(entries, metrics);
  if (series.empty()) {
    throw Error(Error::kUsage, fmt::format("--store {} has no result of --branch {} with {}",
                                           words.store, words.branch, fmt::join(metrics, ", ")));
  }
  return series;
}

std::vector<std::string> MetricsOr(const HistoryWords& words,
                                   const std::vector<std::string>& otherwise) {
  std::vector<std::string> metrics = ParseMetricNames("--metric", words.metrics);
  return metrics.empty() ? otherwise : metrics;
}

int ShowHistory(const HistoryWords& words) {
  const std::vector<std::string> columns = {"phase", "metric",     "started", "commit",
                                            "mean",  "half_width", "loads"};
  Csv csv(columns);
  Table table("Results of " + words.branch,
              {"phase", "metric", "started", "commit", "mean", "+-", "loads"});
  for (const HistorySeries& series : ReadSeries(words, MetricsOr(words, {"rate"}))) {
    for (const HistoryPoint& point : series.points) {
      const Estimate& value = point.value;
      const bool spread = value.n >= 2;
      csv.Row({CsvText(series.title), CsvText(series.metric), CsvText(point.started),
               CsvText(point.commit), CsvNumber(value.mean),
               spread ? CsvNumber(value.half_width) : "", CsvNumber(value.n)});
      table.Row({series.title, series.metric, point.started, point.commit.substr(0, 12),
                 Short(value.mean),
                 spread && value.mean != 0
                     ? fmt::format("{:.1f} %", 100 * value.half_width / value.mean)
                     : "-",
                 fmt::format("{}", value.n)});
    }
  }
  fmt::print("{}", words.as_csv ? csv.Text() : table.Text());
  return 0;
}

int Export(const HistoryWords& words) {
  const std::vector<HistorySeries> series =
      ReadSeries(words, MetricsOr(words, DefaultCompareMetrics()));
  MakeOutputDirectory("the directory", words.directory);
  for (const std::string& file : words.postgres
                                     ? WriteOtavaDatabase(series, words.branch, words.directory)
                                     : WriteOtavaFiles(series, words.directory)) {
    fmt::print("{}\n", file);
  }
  return 0;
}

// Files for Otava in a temporary directory, which the destructor removes.
class OtavaFiles {
 public:
  explicit OtavaFiles(const std::vector<HistorySeries>& series)
      : directory_(fs::temp_directory_path().string()),
        files_(WriteOtavaFiles(series, directory_.path())) {}
  OtavaFiles(const OtavaFiles&) = delete;
  OtavaFiles& operator=(const OtavaFiles&) = delete;
  ~OtavaFiles() {
    std::error_code ignored;
    for (const std::string& file : files_) fs::remove(file, ignored);
  }
  const std::string& path() const { return directory_.path(); }

 private:
  TemporaryDir directory_;
  std::vector<std::string> files_;
};

// Returns the change points. A failure of Otava becomes Error (kUsage), whose exit code is 2, so
// that exit code 1 always means that something got worse.
std::vector<ChangePoint> ChangePointsBy(const std::string& otava,
                                        const std::vector<HistorySeries>& series,
                                        const std::string& directory) {
  try {
    return FindChangePoints(series, otava, directory);
  } catch (const Error& e) {
    throw Error(Error::kUsage, fmt::format("--otava {} cannot be used ({}); give another, or none",
                                           otava, e.what()));
  }
}

// Prints the change points, and returns whether one among the last results is for the worse.
bool PrintChangePoints(const std::vector<HistorySeries>& series, const HistoryWords& words,
                       size_t last) {
  if (words.otava == "none") return false;
  const std::string name = words.otava.empty() ? "otava" : words.otava;
  std::optional<std::string> otava = name;
  if (name.find('/') == std::string::npos) otava = FindProgram(name);
  if (!otava && !words.otava.empty()) {
    throw Error(Error::kUsage,
                fmt::format("--otava {} is not on the PATH; give its path, or none", name));
  }
  if (!otava) {
    fmt::print(
        "change points are left out: otava is not on the PATH (pip install apache-otava, or "
        "--otava PROGRAM)\n");
    return false;
  }
  if (series.empty()) return false;  // Otava takes no empty list of tests
  const OtavaFiles files(series);
  Table table("Change points by Apache Otava",
              {"phase", "metric", "commit", "before", "after", "change"});
  bool worse = false;
  for (const ChangePoint& found : ChangePointsBy(*otava, series, files.path())) {
    const double ratio = found.after / found.before;
    table.Row({found.series->title, found.series->metric, found.commit.substr(0, 12),
               Short(found.before), Short(found.after),
               std::isfinite(ratio) ? SignedChangeText(ratio) + " %" : "-"});
    const bool speed = FindMetric(found.series->metric)->speed;
    const bool recent = found.index + last >= found.series->points.size();
    worse = worse || (recent && (speed ? ratio < 1 : ratio > 1));
  }
  fmt::print("{}", table.empty() ? "no change points by Apache Otava\n" : table.Text());
  return worse;
}

// Returns why the series is not judged; "" when it is.
std::string WhyNotJudged(const HistorySeries& series) {
  switch (series.state) {
    case SeriesState::kGoesOn:
      return "";
    case SeriesState::kLacksMetric:
      return series.metric + " is lacking in the newest result";
    case SeriesState::kOtherTerms:
      break;
  }
  return "the newest commit was measured with other settings or on another machine";
}

// Returns a line for each reason why series are not judged; "" when all are.
std::string EndedText(const std::vector<HistorySeries>& series) {
  std::map<std::string, std::set<std::string>> titles;  // by reason
  for (const HistorySeries& s : series) {
    if (!s.goes_on()) titles[WhyNotJudged(s)].insert(OneLine(s.title));
  }
  std::string text;
  for (const auto& [why, of_why] : titles) {
    text += fmt::format("not judged, because {}: {}\n", why, fmt::join(of_why, "; "));
  }
  return text;
}

int CheckHistory(const HistoryWords& words) {
  const auto last = static_cast<size_t>(ParseCount("--last", words.last, kLeastLoads, 1000));
  std::vector<HistorySeries> series = ReadSeries(words, MetricsOr(words, DefaultCompareMetrics()));
  Table table(fmt::format("The last {} results against those before", last),
              {"phase", "metric", "before", "last", "change (interval)", "answer", "results"});
  bool worse = false, enough = false;
  const std::vector<HistoryChange> changes = ChangesOf(series, last);
  for (const HistoryChange& change : changes) {
    const Answer& answer = change.answer;
    const Metric& metric = *FindMetric(change.series->metric);
    enough = enough || (answer.reason != Reason::kFewLoads && answer.reason != Reason::kNoValues);
    worse = worse || GotWorse(change);
    table.Row({change.series->title, metric.name, Short(answer.a), Short(answer.b),
               EffectText(answer), OutcomeText(answer, metric),
               fmt::format("{}, {}", answer.loads_a, answer.loads_b)});
  }
  fmt::print("{}{}", table.Text(), EndedText(series));
  if (!enough) {
    std::string why = "no series that goes on has a value above 0";
    if (!changes.empty()) {
      why = fmt::format("no series has {} results before the last {}", kLeastLoads, last);
    }
    fmt::print("cannot be told: {}\n", why);
  }
  std::erase_if(series, [](const HistorySeries& s) { return !s.goes_on(); });
  worse = PrintChangePoints(series, words, last) || worse;
  return worse ? kGotWorse : enough ? 0 : kTooFew;
}

using HistoryAction = int (*)(const HistoryWords&);

CLI::App* AddOne(CLI::App* history, const std::string& name, const std::string& what,
                 const char* examples, HistoryAction action,
                 const std::shared_ptr<HistoryWords>& words, std::function<int()>* command) {
  CLI::App* one = history->add_subcommand(name, what);
  one->footer(examples);
  AddDirectoryOption(*one, "--store", &words->store, "Directory of the history [testbed-history]");
  one->add_option("--branch", words->branch, "Branch that the results are of [main]")
      ->type_name("NAME");
  if (name != "add") {
    one->add_option("--metric", words->metrics, "Metrics: all, or some of " + MetricNames())
        ->type_name("LIST");
  }
  one->callback(
      [action, words, command] { *command = [action, words] { return action(*words); }; });
  return one;
}

}  // namespace

void AddHistoryCommand(CLI::App& app, std::function<int()>* command) {
  auto words = std::make_shared<HistoryWords>();
  CLI::App* history = app.add_subcommand(
      "history", "Keep results by branch and commit, and say what changed (docs/comparing.md)");
  history->require_subcommand(1);
  history->footer(kHistoryExamples);
  const auto add_one = [&](const char* name, const char* what, const char* examples,
                           HistoryAction action) {
    return AddOne(history, name, what, examples, action, words, command);
  };
  CLI::App* add = add_one("add", "Add results to the history", kHistoryAddExamples, AddToHistory);
  add->add_option("files", words->files, "Results written by --json")->required();
  add->add_option("--commit", words->commit, "Commit that the results are of")
      ->required()
      ->type_name("COMMIT");
  CLI::App* show =
      add_one("show", "Print the results in their order", kHistoryShowExamples, ShowHistory);
  show->add_flag("--csv", words->as_csv, "Print comma-separated values");
  CLI::App* check =
      add_one("check", "Say what changed: the last results against those before, and change points",
              kHistoryCheckExamples, [](const HistoryWords& given) {
                return JudgedOrFailed([&] { return CheckHistory(given); });
              });
  check->add_option("--last", words->last, "Number of last results to judge, 3 at least [3]")
      ->type_name("N");
  check
      ->add_option("--otava", words->otava,
                   "Program of Apache Otava, or none [otava, if it is on the PATH]")
      ->type_name("PROGRAM");
  CLI::App* exported = add_one("export", "Write files and a configuration for Apache Otava",
                               kHistoryExportExamples, Export);
  exported->add_option("directory", words->directory, "Directory to write to")->required();
  exported->add_flag("--postgres", words->postgres,
                     "Write an SQL script for PostgreSQL in place of CSV files");
}

}  // namespace testbed
