#include "tools/results/results_command.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/lower_case.h"
#include "device/os/signal_guard.h"
#include "tools/command/usage_text.h"
#include "tools/option_values.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "tools/output/progress.h"
#include "tools/output/table.h"
#include "tools/report/rows.h"
#include "tools/results/benchmark_json.h"
#include "tools/results/query.h"
#include "tools/results/sources.h"
#include "tools/results/store.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kResultsExamples[] =
    "\nExamples:\n"
    "  testbed results add run.json testbed-read-size-tiny\n"
    "      a run and all cells of an experiment, into testbed-results.db\n"
    "  testbed results query \"select engine, phase, operation, threads, rate, latency_us_p99\n"
    "      from results where kind = 'measure' order by rate desc\"\n"
    "  testbed results query \"select label, phase, end_seconds, operations, max_us, background\n"
    "      from series where kind = 'measure' order by max_us desc limit 10\"\n"
    "      the stalls: the worst seconds of all runs, and the background work of that second\n"
    "  testbed results query 'select * from cells' --csv cells.csv\n"
    "  testbed results columns latency\n"
    "      the tables and columns that there are\n"
    "  testbed results export --csv tables\n"
    "      each table as a file; docs/store.md tells how Python makes Parquet of them (python/)\n"
    "  testbed results export --benchmark old.json --where \"label = 'before'\"\n"
    "  testbed results export --benchmark new.json --where \"label = 'after'\"\n"
    "      two files for google-benchmark's tools: compare.py benchmarks old.json new.json\n";

constexpr char kResultsAddExamples[] =
    "\nExamples:\n"
    "  testbed results add run.json testbed-read-size-tiny\n"
    "      a run and all cells of an experiment, into testbed-results.db\n"
    "  testbed results add old/ new/ --store both.db\n"
    "      every result in two directories, into a file of its own\n"
    "  testbed --engine btree --json - | testbed results add -\n";

constexpr char kResultsListExamples[] =
    "\nExamples:\n"
    "  testbed results list\n"
    "      a line for each run and each experiment: when, where, of which engines\n"
    "  testbed results list --store both.db --wide\n";

constexpr char kResultsQueryExamples[] =
    "\nExamples:\n"
    "  testbed results query \"select engine, phase, operation, threads, rate, latency_us_p99\n"
    "      from results where kind = 'measure' order by rate desc\"\n"
    "  testbed results query \"select label, phase, end_seconds, operations, max_us, background\n"
    "      from series where kind = 'measure' order by max_us desc limit 10\"\n"
    "      the stalls: the worst seconds of all runs, and the background work of that second\n"
    "  testbed results query 'select * from cells' --csv cells.csv\n";

constexpr char kResultsExportExamples[] =
    "\nExamples:\n"
    "  testbed results export --csv tables\n"
    "      each table as a file; docs/store.md tells how Python makes Parquet of them (python/)\n"
    "  testbed results export --benchmark old.json --where \"label = 'before'\"\n"
    "  testbed results export --benchmark new.json --where \"label = 'after'\"\n"
    "      two files for google-benchmark's tools: compare.py benchmarks old.json new.json\n";

constexpr char kResultsColumnsExamples[] =
    "\nExamples:\n"
    "  testbed results columns latency\n"
    "      the columns with that word in their names, and what each is read from\n"
    "  testbed results columns series.\n"
    "      all columns of a table\n"
    "  testbed results columns --json columns.json\n";

constexpr int kInterrupted = 130;

struct ResultsWords {
  std::string store = "testbed-results.db", sql, what, where, csv, json_file, benchmark;
  std::vector<std::string> paths;
  bool wide = false;
};

int AddToStore(const ResultsWords& words) {
  // All documents are read before the store is touched.
  ProgressLine progress("results add", {});
  std::vector<std::string> left_out;
  const std::vector<ResultsSource> sources =
      FindSources(words.paths, &left_out, [&progress](size_t done, size_t all) {
        progress.Say(fmt::format("{} of {} read", done, Counted(all, "document")));
      });
  if (StopRequested()) return kInterrupted;
  ResultsStore store(words.store);
  AddedRows added;
  size_t seen = 0;
  for (const ResultsSource& source : sources) {
    if (StopRequested()) break;
    progress.Say(fmt::format("{} of {} added", seen, Counted(sources.size(), "document")));
    added += store.Add(
        {source.Document(), source.path, source.experiment, source.scale, source.metrics});
    ++seen;
  }
  progress.Clear();
  fmt::print(stderr, "{}", LeftOutText(left_out));
  fmt::print("{}: {} of {} added, with {}, {} of results and {} of series\n", words.store,
             added.documents, Counted(sources.size(), "document"), Counted(added.runs, "run"),
             Counted(added.results, "row"), Count(added.series));
  if (const size_t known = seen - added.documents; known != 0) {
    fmt::print("{} {} there already\n", known, known == 1 ? "was" : "were");
  }
  return seen == sources.size() ? 0 : kInterrupted;
}

// Returns the number of characters that a line may have: the width of the terminal, and no limit
// without a terminal or with `wide`.
size_t LineWidth(bool wide) {
  winsize size{};
  if (wide || ::isatty(STDOUT_FILENO) != 1) return SIZE_MAX;
  const bool told = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return told ? size.ws_col : Table::kNarrow;
}

int ListStore(const ResultsWords& words) {
  // All results of an experiment are one row. Their files lie in folders of one directory (cells/,
  // loads/, failed/), which distinguishes them from another experiment or sweep of the same name.
  const QueryAnswer answer = AskStore(words.store, R"sql(
WITH folders AS (SELECT *, rtrim(rtrim(path, replace(path, '/', '')), '/') AS folder FROM documents),
     placed AS (SELECT *, CASE WHEN experiment IS NULL THEN path
                               ELSE rtrim(folder, replace(folder, '/', '')) END AS place FROM folders)
SELECT min(d.document) AS document, count(DISTINCT d.document) AS documents,
       count(r.run) AS runs, min(d.started) AS started, d.label AS label,
       d.experiment || coalesce(' (' || d.scale || ')', '') AS experiment,
       group_concat(DISTINCT r.engine) AS engines, d.host AS host, d.place AS path
FROM placed AS d LEFT JOIN runs AS r ON r.document = d.document
GROUP BY CASE WHEN d.experiment IS NULL THEN d.document END, d.experiment, d.scale, d.label, d.host, d.place
ORDER BY started, document)sql");
  fmt::print("{}", AnswerTable(answer, LineWidth(words.wide)));
  return 0;
}

// Returns the files of the store. A journal beside it is there when a process was killed.
InUse UsedStore(const ResultsWords& words) {
  return {.inputs = {words.store, words.store + "-journal"}};
}

int QueryStore(const ResultsWords& words) {
  CheckOutputFiles({{"--csv", words.csv}, {"--json", words.json_file}}, UsedStore(words));
  const QueryAnswer answer = AskStore(words.store, words.sql);
  // AnswerJson may throw, so it is called before any file is written.
  std::string as_json = words.json_file.empty() ? "" : AnswerJson(answer);
  const bool files = !words.csv.empty() || !words.json_file.empty();
  WriteOutputs({{"--csv", words.csv, [&answer] { return AnswerCsv(answer); }},
                {"--json", words.json_file, [&as_json] { return as_json; }}},
               files ? "" : AnswerTable(answer, LineWidth(words.wide)));
  return 0;
}

// Returns the SQL for the rows of a table that --where selects: the rows of "results" for which it
// is true, and the rows of other tables that belong to the same documents. All are in the order in
// which they were added.
std::string ExportSql(const std::string& table, const std::string& where) {
  std::string sql = "SELECT * FROM " + table;
  // The line break ends a comment that the condition may have.
  if (!where.empty()) {
    sql += table == "results"
               ? " WHERE (" + where + "\n)"
               : " WHERE document IN (SELECT document FROM results WHERE " + where + "\n)";
  }
  return sql + " ORDER BY rowid";
}

// Throws Error (kUsage) when --where is no condition by itself. ExportSql sets it in brackets,
// which such a text could close and open anew.
void CheckWhere(const ResultsWords& words) {
  if (words.where.empty()) return;
  (void)AskStore(words.store, "SELECT 1 FROM results WHERE " + words.where + "\nLIMIT 0");
}

std::string ExportFile(const ResultsWords& words, const std::string& table) {
  return (fs::path(words.csv) / (table + ".csv")).string();
}

// Throws Error (kUsage) when a file of the export may not be written.
void CheckExport(const ResultsWords& words) {
  const InUse in_use = UsedStore(words);
  CheckOutputDirectory("--csv", words.csv);
  CheckOutputFiles({{"--benchmark", words.benchmark}}, in_use);
  std::vector<OutputFile> files = {{"--benchmark", words.benchmark}};
  for (const auto& [table, columns] : StoreColumns()) {
    if (!words.csv.empty()) files.push_back({"--csv", ExportFile(words, table)});
  }
  CheckOutputPlaces(files, in_use);
}

int ExportStore(const ResultsWords& words) {
  if (words.csv.empty() && words.benchmark.empty()) {
    throw Error(Error::kUsage,
                "testbed results export needs --csv DIR or --benchmark FILE; see `testbed results "
                "export --help`");
  }
  CheckExport(words);
  CheckWhere(words);
  auto store = OpenStore(words.store);                     // one snapshot for all tables
  std::vector<std::pair<std::string, std::string>> files;  // names and contents
  if (!words.csv.empty()) {
    for (const auto& [table, columns] : StoreColumns()) {
      // A store of an earlier version may lack a table, until the next document is added.
      if (Ask(store.get(), "PRAGMA table_info(" + table + ")").rows.empty()) continue;
      files.emplace_back(ExportFile(words, table),
                         AnswerCsv(Ask(store.get(), ExportSql(table, words.where))));
    }
  }
  std::string benchmark;
  if (!words.benchmark.empty()) {
    const json document = BenchmarkJson(Ask(store.get(), ExportSql("results", words.where)),
                                        Ask(store.get(), kPhasesSql));
    benchmark = JsonText(document, 2) + "\n";
  }
  store.reset();
  if (!words.csv.empty()) MakeOutputDirectory("--csv", words.csv);
  std::string said;
  for (const auto& [file, text] : files) {
    WriteOutputFile("--csv", file, text);
    said += file + "\n";
  }
  if (!words.benchmark.empty()) said += words.benchmark + "\n";
  WriteThenSay({{"--benchmark", words.benchmark, [&benchmark] { return benchmark; }}}, said);
  return 0;
}

// Returns the tables as JSON, a line for each column.
std::string ColumnsText(const json& tables) {
  std::string text;
  for (const auto& [table, columns] : tables.items()) {
    text += (text.empty() ? "{" : ",") + fmt::format("\n \"{}\": [", table);
    for (size_t c = 0; c < columns.size(); ++c) {
      text += (c == 0 ? "\n  " : ",\n  ") + JsonText(columns[c]);
    }
    text += "]";
  }
  return text + "\n}\n";
}

// Prints the columns of the store, or those whose table or name has `what` in it.
int PrintColumns(const ResultsWords& words) {
  const json tables = RowTablesJson();
  CheckOutputFiles({{"--json", words.json_file}});
  QueryAnswer answer{{"table", "column", "from", "at"}, {}};
  std::vector<std::string> names;
  for (const auto& [table, columns] : StoreColumns()) {
    for (size_t c = 0; c < columns.size(); ++c) {
      names.push_back(columns[c]);
      const std::string name = LowerCase(table + "." + columns[c]);
      if (name.find(LowerCase(words.what)) == std::string::npos) continue;
      // "document", the first column, and the columns of two tables are the store's own.
      const bool of_document = tables.contains(table) && c > 0;
      const json source = of_document ? tables[table][c - 1] : json::object();
      answer.rows.push_back(std::vector<json>{table, columns[c], source.value("of", "store"),
                                              source.value("at", "")});
    }
  }
  if (answer.rows.empty()) {
    const std::string guess = NearestName(words.what, names);
    throw Error(Error::kUsage,
                fmt::format("no table or column has '{}' in its name; {}", words.what,
                            guess.empty() ? "`testbed results columns` names all"
                                          : "did you mean " + guess + "?"));
  }
  WriteOutputs({{"--json", words.json_file, [&tables] { return ColumnsText(tables); }}},
               words.json_file.empty() ? AnswerTable(answer, SIZE_MAX) : "");
  return 0;
}

using ResultsAction = int (*)(const ResultsWords&);

// Runs the action and returns its exit code, or that of an interruption when the user stopped it.
int ExitCodeOf(ResultsAction action, const ResultsWords& words) {
  try {
    return action(words);
  } catch (const Error& error) {
    if (error.kind() != Error::kRun || !StopRequested()) throw;
    fmt::print(stderr, "testbed: {}\n", error.what());
    return kInterrupted;
  }
}

struct ResultsCommands {
  CLI::App* results;
  std::shared_ptr<ResultsWords> words;
  std::function<int()>* command;

  CLI::App* Add(const std::string& name, const std::string& what, const char* examples,
                ResultsAction action) const {
    CLI::App* one = results->add_subcommand(name, what);
    one->footer(examples);
    one->callback([action, words = words, command = command] {
      *command = [action, words] { return ExitCodeOf(action, *words); };
    });
    return one;
  }
  void AddStoreOption(CLI::App* one) const {
    one->add_option_function<std::string>(
           "--store",
           [words = words](const std::string& text) {
             if (text.empty() || text == "-") {
               RefuseValue("--store", text, "the name of a file");
             }
             words->store = text;
           },
           "SQLite file with the results [testbed-results.db]")
        ->type_name("FILE");
  }
};

void AddQueryCommand(const ResultsCommands& commands) {
  ResultsWords* words = commands.words.get();
  CLI::App* query = commands.Add("query", "Answer a question in SQL; no query changes the results",
                                 kResultsQueryExamples, QueryStore);
  commands.AddStoreOption(query);
  query->add_option("sql", words->sql, "A SELECT over the tables that `results columns` names")
      ->required()
      ->type_name("SQL");
  AddFileOption(*query, "--csv", &words->csv, "Write the answer as CSV; - is standard output");
  AddFileOption(*query, "--json", &words->json_file,
                "Write the answer as a list of objects; - is standard output");
  query->add_flag("--wide", words->wide,
                  "Print all columns, even beyond the width of the terminal");
}

void AddExportCommand(const ResultsCommands& commands) {
  ResultsWords* words = commands.words.get();
  CLI::App* exported = commands.Add(
      "export", "Write tables as CSV, or google-benchmark's JSON (Parquet: the package in python/)",
      kResultsExportExamples, ExportStore);
  commands.AddStoreOption(exported);
  exported
      ->add_option_function<std::string>(
          "--where",
          [words](const std::string& text) {
            if (text.empty()) RefuseValue("--where", text, "a condition in SQL");
            words->where = text;
          },
          "Rows of the table results for which this SQL is true, and their documents [all]")
      ->type_name("CONDITION");
  AddDirectoryOption(*exported, "--csv", &words->csv, "Directory for a file of each table");
  AddFileOption(*exported, "--benchmark", &words->benchmark,
                "Write a file for compare.py of google-benchmark; - is standard output");
}

}  // namespace

void AddResultsCommand(CLI::App& app, std::function<int()>* command) {
  const ResultsCommands commands{
      app.add_subcommand("results",
                         "Keep the results of all runs in one file, and query it (docs/store.md)"),
      std::make_shared<ResultsWords>(), command};
  commands.results->require_subcommand(1);
  commands.results->footer(kResultsExamples);
  CLI::App* add = commands.Add("add", "Add results; results that the store has already are skipped",
                               kResultsAddExamples, AddToStore);
  commands.AddStoreOption(add);
  add->add_option("results", commands.words->paths,
                  "Results that --json wrote (- is standard input), directories of them, and "
                  "directories of experiments")
      ->required()
      ->type_name("FILE");
  CLI::App* list =
      commands.Add("list", "Print the results that the store has", kResultsListExamples, ListStore);
  commands.AddStoreOption(list);
  list->add_flag("--wide", commands.words->wide,
                 "Print all columns, even beyond the width of the terminal");
  AddQueryCommand(commands);
  AddExportCommand(commands);
  CLI::App* columns = commands.Add(
      "columns", "Print the tables and columns, and what part of a result each is read from",
      kResultsColumnsExamples, PrintColumns);
  columns->add_option("what", commands.words->what, "A part of a table's or column's name [all]");
  AddFileOption(*columns, "--json", &commands.words->json_file,
                "Write the names and sources of the columns to a file; - is standard output");
}

}  // namespace testbed
