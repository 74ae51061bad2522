#include "tools/report/report_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/ab/ab_report.h"
#include "tools/command/command_words.h"
#include "tools/experiment/report.h"
#include "tools/experiment/results.h"
#include "tools/experiment/results_dir.h"
#include "tools/html/report_page.h"
#include "tools/live/series_text.h"
#include "tools/output/output_file.h"
#include "tools/output/table.h"
#include "tools/report/csv.h"
#include "tools/report/explain/columns.h"
#include "tools/report/report.h"
#include "tools/results/sources.h"

namespace testbed {
namespace {

constexpr char kReportExamples[] =
    "\nExamples:\n"
    "  testbed report run.json\n"
    "      the tables of a run, in lines of 100 characters; --wide has all columns\n"
    "  testbed report run.json --markdown\n"
    "      the same for an issue or a post\n"
    "  testbed report *.json --csv >runs.csv\n"
    "      a row for each run, phase and operation, with settings and machine as columns\n"
    "  testbed report testbed-read-size-tiny\n"
    "      the tables of an experiment and its findings; --wide has all columns, as when it ran\n"
    "  testbed report run.json --series\n"
    "      the rate and the tail latency of each second as curves, the stalls and the worst "
    "seconds\n"
    "  testbed report run.json --command\n"
    "      the command that repeats it\n"
    "  testbed report run.json --html run.html\n"
    "      one page with plots, which opens from disk without a network\n"
    "  testbed report before.json after.json results/ --html all.html --svg plots\n"
    "      several results on one page; each plot as a file, too\n"
    "  testbed report ab.json --html ab.html\n"
    "      a comparison by testbed ab: its answer, and each change with its interval\n"
    "  testbed --engine btree --json - | testbed report -\n";

constexpr char kExplainExamples[] =
    "\nExamples:\n"
    "  testbed explain 'kernel B/read'\n"
    "  testbed explain memory\n"
    "      all columns of the memory table\n"
    "  testbed explain closure\n"
    "      a word of the lines below the tables; labels of rows and causes are such words, too\n"
    "  testbed explain\n";

struct TextForms {
  ReportStyle style;
  bool text = false, csv = false, csv_series = false, series = false, command = false;
};

void AddTextForms(CLI::App* report, TextForms* forms) {
  report->add_flag("--text", forms->text,
                   "Print the tables as text, in lines of 100 characters [unless another form is "
                   "given]");
  report->add_flag("--wide", forms->style.wide, "Print all columns of the tables, however wide");
  report->add_flag("--markdown", forms->style.markdown, "Print the tables as Markdown for GitHub");
  report->add_flag("--csv", forms->csv, "Print a row for each run, phase and operation, as CSV");
  report->add_flag("--csv-series", forms->csv_series,
                   "Print a row for each second of each phase, as CSV");
  report->add_flag(
      "--series", forms->series,
      "Print rate and tail latency of each second as curves, the stalls, and the worst seconds");
  report->add_flag("--command", forms->command, "Print the command that repeats the runs");
}

// Throws Error (kUsage) when several forms were asked for: one report is printed, and a page or
// plots are written instead of one. --wide and --markdown are of the tables, and go together.
void CheckOneForm(const TextForms& forms, const PageOutputs& page) {
  std::vector<std::string> given;
  const auto add = [&given](bool is, const char* option) {
    if (is) given.push_back(option);
  };
  add(forms.text, "--text");
  add(forms.csv, "--csv");
  add(forms.csv_series, "--csv-series");
  add(forms.series, "--series");
  add(forms.command, "--command");
  add(forms.style.markdown, "--markdown");
  if (page.any()) {
    given.push_back(!page.html.empty() ? "--html" : !page.svg.empty() ? "--svg" : "--png");
  }
  const bool tables = given.empty() || forms.text || forms.style.markdown;
  if (forms.style.wide && !tables) {
    throw Error(Error::kUsage, fmt::format("{} takes no --wide, which is for the tables of a "
                                           "report; leave one of them out",
                                           given[0]));
  }
  if (given.size() < 2) return;
  throw Error(Error::kUsage, fmt::format("{} and {} are two forms of a report; give one, and call "
                                         "testbed report again for the other",
                                         given[0], given[1]));
}

// Returns the files that the paths stand for: of a directory, its results files. The results of an
// experiment, and directories without results files, stand for themselves.
std::vector<std::string> FilesOf(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    std::error_code none;
    std::vector<std::string> files;
    if (std::filesystem::is_directory(path, none) && !ResultsDir(path).Exists()) {
      files = JsonFilesIn(path);
    }
    if (files.empty()) files = {path};
    all.insert(all.end(), files.begin(), files.end());
  }
  return all;
}

// Returns the tables of a run, of a comparison (`testbed ab`), or of an experiment.
std::string TablesOf(const std::string& path, const ReportStyle& style) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) {
    if (!ResultsDir(path).Exists()) FindSources({path});  // throws, and says what is missing
    return ExperimentText(ResultSet::Read(path), style);
  }
  DocumentFile file = ReadDocumentFile(path);
  if (!IsAbDocument(file.document)) return ReportText(ResultsOf(std::move(file)), style);
  CheckAbDocument(file.document, path);
  return AbReportText(file.document, style);
}

// Returns the line that tells whose tables or curves follow.
std::string HeadingOf(const std::string& path, const ReportStyle& style) {
  const std::string name = OneLine(path);
  return style.markdown ? Fenced("results: " + name + "\n") + "\n" : "results: " + name + "\n";
}

// Returns the tables of all paths, which follow each other. Those of several files are named, as
// two runs of one engine may differ in nothing that their tables show.
std::string TablesOfPaths(const std::vector<std::string>& paths, const ReportStyle& style) {
  std::string text;
  const std::vector<std::string> files = FilesOf(paths);
  for (const std::string& path : files) {
    if (StopRequested()) break;
    text += text.empty() ? "" : "\n";
    if (files.size() > 1) text += HeadingOf(path, style);
    text += TablesOf(path, style);
  }
  return text;
}

// Returns the results of all paths in the form that the user asked for. Tables and commands of
// several files follow each other; CSV has one header.
std::string TextOfPaths(const std::vector<std::string>& paths, const TextForms& forms) {
  const bool csv_rows = forms.csv || forms.csv_series;
  if (!csv_rows && !forms.series && !forms.command) return TablesOfPaths(paths, forms.style);
  const auto csv = forms.csv ? RunsCsv : SeriesCsv;
  const std::string header = csv({});
  std::string text = csv_rows ? header : "";
  for (const std::string& path : paths) {
    std::vector<std::string> left_out;
    const std::vector<ResultsSource> sources = FindSources({path}, &left_out);
    fmt::print(stderr, "{}", LeftOutText(left_out));
    const bool several = paths.size() > 1 || sources.size() > 1;
    for (const ResultsSource& source : sources) {
      if (StopRequested()) return text;
      const nlohmann::json document = source.Document();
      if (csv_rows) {
        text += csv({&document}).substr(header.size());
        continue;
      }
      if (!text.empty()) text += "\n";
      // The heading is a comment of the shell, so that the commands can be run as they are printed.
      if (several) text += (forms.command ? "# " : "") + HeadingOf(source.path, {});
      text += forms.command ? RepeatCommand(document) : SeriesText(document);
    }
  }
  return text;
}

void AddPageOptions(CLI::App* report, PageOutputs* page) {
  AddFileOption(*report, "--html", &page->html,
                "Write a page with plots to a file; - is standard output");
  AddDirectoryOption(*report, "--svg", &page->svg,
                     "Write each plot of the page to a directory, as SVG");
  AddDirectoryOption(*report, "--png", &page->png,
                     "Write each plot of the page to a directory, as PNG");
}

void AddExplainCommand(CLI::App& app, std::function<int()>* command) {
  auto what = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>(false);
  CLI::App* explain =
      app.add_subcommand("explain", "Say what a column, a table or a word of a report means");
  explain->footer(kExplainExamples);
  explain->add_option("what", *what, "A column, a table or a word, or a part of it [all]");
  explain->add_flag("--markdown", *markdown, "Print all explanations as a Markdown page");
  explain->callback([what, markdown, command] {
    *command = [what, markdown] {
      if (*markdown && !what->empty()) {
        throw Error(Error::kUsage,
                    fmt::format("explain --markdown prints all explanations as one page; leave out "
                                "--markdown, or '{}'",
                                *what));
      }
      fmt::print("{}", *markdown ? ColumnsPage() : ExplainText(*what));
      return 0;
    };
  });
}

}  // namespace

void AddReportCommands(CLI::App& app, std::function<int()>* command) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto forms = std::make_shared<TextForms>();
  auto page = std::make_shared<PageOutputs>();
  CLI::App* report = app.add_subcommand(
      "report", "Print the tables of results, or make a page with plots of them");
  report->footer(kReportExamples);
  report
      ->add_option(
          "results", *files,
          "Results and comparisons that --json wrote (- is standard input), directories of "
          "them, and directories of experiments")
      ->required()
      ->type_name("FILE");
  AddTextForms(report, forms.get());
  AddPageOptions(report, page.get());
  report->callback([files, forms, page, command] {
    *command = [files, forms, page] {
      CheckOneForm(*forms, *page);
      if (page->any()) {
        WritePages(*files, *page);
        return 0;
      }
      const std::string text = TextOfPaths(*files, *forms);
      // A report of some of the results would look like one of all.
      if (StopRequested()) throw Stopped("before all results were read", "the report");
      fmt::print("{}", text);
      return 0;
    };
  });
  AddExplainCommand(app, command);
}

}  // namespace testbed
