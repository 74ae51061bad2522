// Tests `testbed results` as a user meets it: what is added, asked and exported, what is refused,
// and what a kill leaves.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/results/csv_records.h"
#include "tests/cli/started_command.h"
#include "tests/paths.h"
#include "tools/results/sqlite_file.h"
#include "tools/results/store.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kRun[] =
    "--engine btree --ram 64M --rows 2000 --seconds 0.4 --warmup 0 --threads 1,2 --quiet "
    "--workload insert,mixed --mix point-read=70,update=30 --json run.json ";

class ResultsStoreTest : public StartedCommandTest {
 protected:
  void SetUp() override {
    StartedCommandTest::SetUp();
    if (!HasSqlite()) GTEST_SKIP() << "this build has no SQLite";
  }
  // Makes run.json. The tests share the run without more options.
  json Measure(const std::string& more = "") {
    if (more.empty()) {
      static const std::string run = [this] { return Measure(" ").dump(); }();
      Write("run.json", run);
      return json::parse(run);
    }
    const CommandResult result = Run(kRun + more);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json("run.json");
  }
  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }
  std::string Add(const std::string& words) {
    const CommandResult result = Run("results add " + words);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  }
  // Returns the answer as a list of objects.
  json Ask(const std::string& sql) {
    const CommandResult result = Run("results query --json - \"" + sql + "\"");
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? json::parse(result.out) : json();
  }
  // Returns the question of the page docs/store.md that has these words.
  static std::string QuestionWith(const std::string& words) {
    const std::string page = Read(SourceDir() + "/docs/store.md"), asks = "results query \"";
    const size_t begin = page.rfind(asks, page.find(words)) + asks.size();
    return page.substr(begin, page.find('"', begin) - begin);
  }
  // Returns the phase of the run that measures.
  static json& Measured(json& run) {
    for (json& phase : run["phases"]) {
      if (phase["kind"] == "measure") return phase;
    }
    ADD_FAILURE() << "the run measured nothing";
    return run;
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_))
      names.insert(entry.path().filename());
    return names;
  }
};

TEST_F(ResultsStoreTest, TheTableIsTheCsvOfTheRun) {
  Measure(
      "--csv run.csv --csv-series series.csv --label 'a \"name\", with\nlines <script>\x1b[31m'");
  EXPECT_NE(Add("run.json").find("1 of 1 document added"), std::string::npos);
  ASSERT_EQ(Run("results export --csv tables").code, 0);
  for (const auto& [table, csv] : std::map<std::string, std::string>{
           {"results.csv", "run.csv"}, {"series.csv", "series.csv"}}) {
    const std::vector<Record> of_run = ParseCsv(Read(directory_ / csv));
    std::vector<Record> of_store = ParseCsv(Read(directory_ / "tables" / table));
    ASSERT_EQ(of_store.size(), of_run.size());
    ASSERT_GE(of_run.size(), 4u);
    for (size_t i = 0; i < of_run.size(); ++i) {
      EXPECT_EQ(of_store[i].at("document"), "1");
      of_store[i].erase("document");
      for (auto [column, value] : of_run[i]) {
        if (value == "true" || value == "false") value = value == "true" ? "1" : "0";
        EXPECT_EQ(of_store[i].at(column), value) << table << ": " << column;
      }
      EXPECT_EQ(of_store[i].size(), of_run[i].size());
    }
  }
  EXPECT_EQ(ParseCsv(Read(directory_ / "tables/runs.csv")).size(), 2u);
  EXPECT_EQ(ParseCsv(Read(directory_ / "tables/documents.csv")).size(), 1u);
  EXPECT_EQ(Read(directory_ / "tables/cells.csv").find("document,experiment"), 0u);
  // A name is no command of a terminal, and no line of its own.
  for (const char* words : {"results list", "results query 'select label from runs limit 1'"}) {
    const std::string text = Run(words).out;
    EXPECT_NE(text.find("with lines <script>"), std::string::npos) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  }
  // The same document, laid out otherwise and under another name, is there already.
  Write("copy.json", Json("run.json").dump());
  EXPECT_NE(Add("copy.json run.json").find("0 of 2 documents added"), std::string::npos);
  EXPECT_EQ(Ask("select count(*) as n from documents")[0]["n"], 1);
}

TEST_F(ResultsStoreTest, AnswersAreATableCsvOrJson) {
  Measure("--label before --account file");
  Add("run.json");
  const std::string sql =
      "\"select engine, threads, operation, count, rate from results where kind = 'measure' "
      "order by threads, operation\" ";
  const std::string table = Run("results query " + sql).out;
  EXPECT_EQ(table.substr(0, 7), "4 rows\n");
  EXPECT_NE(table.find("\n  engine  threads  operation"), std::string::npos) << table;
  ASSERT_EQ(Run("results query " + sql + "--csv a.csv --json a.json").out, "");
  const std::vector<Record> records = ParseCsv(Read(directory_ / "a.csv"));
  const json objects = Json("a.json");
  ASSERT_EQ(records.size(), 4u);
  ASSERT_EQ(objects.size(), 4u);
  json document = Json("run.json");
  size_t found = 0;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(std::stod(records[i].at("rate")), objects[i]["rate"].get<double>());
    for (const json& operation : Measured(document["runs"][i / 2])["operations"]) {
      if (operation["name"] == objects[i]["operation"]) {
        EXPECT_EQ(objects[i]["rate"], operation["rate"]);
        ++found;
      }
    }
  }
  EXPECT_EQ(found, 4u);
  EXPECT_EQ(Run("results query " + sql + "--csv -").out, Read(directory_ / "a.csv"));
  const std::string list = Run("results list").out;
  EXPECT_NE(list.find("before"), std::string::npos) << list;
  EXPECT_NE(list.find("run.json"), std::string::npos) << list;
  EXPECT_NE(Run("results columns LATENCY_us_p99").out.find("operation  /latency_us/p99"),
            std::string::npos);
  ExpectRefused(Run("results columns latnecy_us_p99"), "did you mean latency_us_p99?");
}

// The example query of the help must return the stall in the series as its first row.
TEST_F(ResultsStoreTest, TheWorstSecondsAreFoundByTheExampleOfTheHelp) {
  json document = Measure("--label stalls");
  json& second = Measured(document["runs"][1])["series"][0];
  second["operations"] = 2;
  second["max_us"] = 3e6;
  second["background"] = json::array();
  second["background"].push_back(
      {{"name", "checkpoint"}, {"read_bytes", 0}, {"write_bytes", 4096}});
  Write("stall.json", document.dump());
  Add("run.json stall.json");
  const std::string help = Run("results --help").out;
  const size_t begin = help.find("\"select label, phase, end_seconds"),
               end = help.find('"', begin + 1);
  ASSERT_NE(end, std::string::npos) << help;
  const CommandResult answer =
      Run("results query " + help.substr(begin, end + 1 - begin) + " --csv worst.csv");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const Record worst = ParseCsv(Read(directory_ / "worst.csv")).at(0);
  EXPECT_EQ(worst.at("max_us"), "3000000");
  EXPECT_EQ(worst.at("operations"), "2");
  EXPECT_EQ(worst.at("background"), "checkpoint");
}

// The questions that the page asks are answered.
TEST_F(ResultsStoreTest, ThePagesQuestionsAreSqlThatWorks) {
  Measure("--label before");
  Add("run.json");
  const std::string page = Read(SourceDir() + "/docs/store.md"), asks = "testbed results query \"";
  size_t asked = 0;
  for (size_t at = page.find(asks); at != std::string::npos;
       at = page.find(asks, at + 1), ++asked) {
    const size_t begin = at + asks.size(), end = page.find('"', begin);
    (void)Ask(page.substr(begin, end - begin));
  }
  EXPECT_GT(asked, 5u);
}

TEST_F(ResultsStoreTest, AStalledSecondIsNoEndOfAPhase) {
  json document = Measure();
  json& series = Measured(document["runs"][1])["series"];
  const json second = series[0];
  series = json::array();
  // The last entry is the rest of a phase, which is too short for a rate.
  for (const auto& [end, operations] :
       {std::pair(1.0, 1000), std::pair(2.0, 1000), std::pair(3.0, 1000), std::pair(4.0, 20),
        std::pair(4.02, 3)}) {
    series.push_back(second);
    series.back().update({{"end_seconds", end}, {"operations", operations}});
  }
  Measured(document["runs"][0])["series"] = json::array();
  Write("stall.json", document.dump());
  Add("stall.json");
  const json stalled = Ask(QuestionWith("rate < usual"));
  ASSERT_EQ(stalled.size(), 1u) << stalled;
  EXPECT_EQ(stalled[0]["operations"], 20);
}

constexpr char kStoredCells[] = R"toml(
name = "two"
title = "Two cells"
[options]
engine = "btree"
workload = "insert,point-read"
rows = 2000
ram = "64M"
warmup = 0
account = "file"
operations = 300
[scale.tiny]
rounds = 2
[[axis]]
name = "threads"
values = [1, 2]
[metrics]
rate = { value = "point_read.rate", unit = "/s" }
[[table]]
title = "t"
rows = ["threads"]
metrics = ["rate"]
[[finding]]
id = "X1"
claim = "c"
[[finding.part]]
says = "s"
holds = "rate[threads=1] > 0"
)toml";

TEST_F(ResultsStoreTest, AnExperimentsCellsAndLoadsAreInIt) {
  Write("e.toml", kStoredCells);
  const CommandResult run = Run("experiment e.toml --scale tiny --quiet --out o --csv cells.csv");
  ASSERT_EQ(run.code, 0) << run.err;
  Add("o");
  EXPECT_NE(Add("o/ o/cells").find("0 of"), std::string::npos) << "they are there already";
  const std::vector<Record> of_experiment = ParseCsv(Read(directory_ / "cells.csv"));
  ASSERT_EQ(of_experiment.size(), 4u);
  const json cells =
      Ask("select experiment, scale, cell_round as round, labels ->> 'threads' as threads, metric, "
          "unit, "
          "value from cells order by cell_name, cell_round");
  ASSERT_EQ(cells.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(cells[i]["experiment"], "two");
    EXPECT_EQ(cells[i]["unit"], "/s");
    EXPECT_EQ(of_experiment[i].at("threads"), cells[i]["threads"].get<std::string>());
    EXPECT_EQ(of_experiment[i].at("round"), std::to_string(cells[i]["round"].get<int>()));
    EXPECT_EQ(std::stod(of_experiment[i].at("rate")), cells[i]["value"].get<double>());
  }
  const json loads =
      Ask("select count(*) as n from documents where experiment = 'two' and document "
          "not in (select document from cells)");
  size_t expected = 0;
  for (const auto& entry : fs::directory_iterator(directory_ / "o/loads")) {
    expected += entry.path().extension() == ".json";
  }
  EXPECT_EQ(loads[0]["n"], expected);
  EXPECT_GT(expected, 0u);
  EXPECT_NE(Run("results list").out.find("two (tiny)"), std::string::npos);
  // A cell whose run failed has no document in cells/, but the run is a row.
  const fs::path cell = fs::directory_iterator(directory_ / "o/cells")->path().filename();
  json failed = Json("o/cells/" + cell.string());
  failed["runs"][0]["error"] = {{"sentence", "the disk is full"}, {"exit_code", 1}};
  Write("o/failed/" + cell.string(), failed.dump());
  fs::remove(directory_ / "o/cells" / cell);
  Add("o");
  EXPECT_EQ(Ask("select count(*) as n from runs where error_sentence = 'the disk is full'")[0]["n"],
            1);
}

// All sweeps have the same name. What tells them apart is where their results are.
TEST_F(ResultsStoreTest, ListHasARowForEachDirectoryOfAnExperiment) {
  json document = Measure();
  {
    ResultsStore store((directory_ / "testbed-results.db").string());
    const auto add = [&](const std::string& path, const std::string& host) {
      document["host"] = host;
      document["notes"] = {path};
      store.Add({document, path, "sweep", ""});
    };
    for (const char* path : {"a/cells/1.json", "a/loads/2.json", "a/failed/3.json"}) add(path, "h");
    add("b/cells/1.json", "h");
    add("b/cells/2.json", "i");
  }
  const std::string list = Run("results list").out;
  EXPECT_EQ(list.substr(0, 7), "3 rows\n") << list;
  const std::regex row("\n +1 +3 +6 .* sweep +btree +h +a/\n");
  EXPECT_TRUE(std::regex_search(list, row)) << list;
}

// A sweep is planned at a scale that nobody chose.
TEST_F(ResultsStoreTest, ASweepHasNoScale) {
  const CommandResult sweep =
      Run("--engine btree --page-size 4k,8k --ram 64M --rows 500 --operations 100 --threads 1 "
          "--account file --quiet --out s");
  ASSERT_EQ(sweep.code, 0) << sweep.err;
  Add("s");
  const json nothing_chosen = json::parse(R"([{"experiment": "sweep", "scale": null}])");
  EXPECT_EQ(Ask("select distinct experiment, scale from cells"), nothing_chosen);
  EXPECT_EQ(Ask("select distinct experiment, scale from documents"), nothing_chosen);
}

TEST_F(ResultsStoreTest, AComparisonInADirectoryIsLeftOutAndNamed) {
  Write("d/run.json", Measure().dump());
  Write("d/ab.json", R"({"schema": "testbed-ab/1"})");
  const std::string line = "testbed: left out d/ab.json: a comparison of testbed ab";
  const CommandResult added = Run("results add d");
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_NE(added.out.find("1 of 1 document added"), std::string::npos) << added.out;
  EXPECT_NE(added.err.find(line), std::string::npos) << added.err;
  for (const std::string form : {"--csv", "--csv-series", "--series", "--command"}) {
    const CommandResult of_run = Run("report d/run.json " + form), of_all = Run("report d " + form);
    EXPECT_EQ(of_all.code, 0) << form << of_all.err;
    EXPECT_EQ(of_all.out, of_run.out) << form;
    EXPECT_NE(of_all.err.find(line), std::string::npos) << form << of_all.err;
  }
  fs::remove(directory_ / "d/run.json");
  ExpectRefused(Run("results add d"), "d holds comparisons of testbed ab alone");
  ExpectRefused(Run("results add d/ab.json"), "of the schema testbed-ab/1, but not of a run");
}

TEST_F(ResultsStoreTest, WhatIsNoResultsFileIsRefusedBeforeTheStoreIsMade) {
  const std::string text = Measure().dump();
  Write("cut.json", text.substr(0, text.size() / 2));
  Write("older.json", "{\"schema\": \"testbed-results/0\", \"runs\": []}");
  Write("theirs.json", "{\"name\": \"package\"}");
  Write("damaged.json", "{\"schema\": \"testbed-results/1\", \"runs\": [{\"phases\": 7}]}");
  Write("long.json", "{");
  fs::resize_file(directory_ / "long.json", (uint64_t{1} << 30) + 1);
  fs::create_directory(directory_ / "empty");
  ExpectRefused(Run("results add run.json cut.json"),
                "cut.json is not a results file of this version: "
                "it is cut off");
  ExpectRefused(Run("results add run.json older.json"), "another version of testbed");
  ExpectRefused(Run("results add run.json theirs.json"), "JSON of another program");
  ExpectRefused(Run("results add damaged.json"), "damaged");
  ExpectRefused(Run("results add none.json"), "none.json cannot be read");
  ExpectRefused(Run("results add run.json long.json"), "long.json has more than the 1 GiB");
  ExpectRefused(Run("results add empty"), "empty holds no results");
  ExpectRefused(Run("results add"), "needs");
  ExpectRefused(Run("results"),
                "testbed results needs a command: add, list, query, export, columns");
  ExpectRefused(Run("results add run.json --store ''"), "--store '' is not accepted");
  ExpectRefused(Run("results add run.json --store no/s.db"), "--store no/s.db cannot be written");
  ExpectRefused(Run("results query 'select 1'"), "--store testbed-results.db has no results yet");
  ExpectRefused(Run("results list --store empty"), "--store empty is no regular file");
  EXPECT_EQ(Names(), std::set<std::string>({"run.json", "cut.json", "older.json", "theirs.json",
                                            "damaged.json", "long.json", "empty"}));
}

TEST_F(ResultsStoreTest, AnotherProgramsFileIsNeverWrittenTo) {
  Measure();
  const std::string theirs = (directory_ / "theirs.db").string();
  SqliteFile::Open(theirs, SqliteFile::Access::kWrite)->Execute("CREATE TABLE customers (name)");
  const std::string before = Read(theirs);
  for (const char* command : {"add run.json", "list", "query 'select 1'", "export --csv out"}) {
    ExpectRefused(Run(std::string("results ") + command + " --store theirs.db"),
                  "another program's SQLite file");
  }
  EXPECT_EQ(Read(theirs), before);
  EXPECT_EQ(Names(), std::set<std::string>({"run.json", "theirs.db"}));
}

TEST_F(ResultsStoreTest, AQuestionCannotChangeOrLoseAnything) {
  Measure();
  Add("run.json");
  const std::string before = Read(directory_ / "testbed-results.db");
  ExpectRefused(Run("results query 'drop table results'"), "only SELECT is");
  ExpectRefused(Run("results query \"attach 'x.db' as x\""), "only SELECT is");
  ExpectRefused(Run("results query \"vacuum into 'x.db'\""), "only SELECT is");
  ExpectRefused(Run("results query 'select speed from results'"), "no such column: speed");
  ExpectRefused(Run("results query 'select 1 as a, 2 as a' --json a.json"),
                "two columns are called a");
  ExpectRefused(Run("results export --csv out --where 'rate >'"), "the SQL is not accepted");
  ExpectRefused(Run("results export"), "needs --csv DIR or --benchmark FILE");
  ExpectRefused(Run("results export --csv run.json"), "--csv run.json is no directory");
  EXPECT_EQ(Run("results query 'select * from results, series' | head -c 10").code, 0);
  EXPECT_EQ(Read(directory_ / "testbed-results.db"), before);
  EXPECT_EQ(Names(), std::set<std::string>({"run.json", "testbed-results.db"}));
}

// When neither the directory nor the file may be written, reading must work, and adding must fail
// with one sentence.
TEST_F(ResultsStoreTest, AReadOnlyPlaceIsReadFrom) {
  Measure();
  Add("run.json");
  if (geteuid() != 0) GTEST_SKIP() << "mounting a read-only file system needs root";
  fs::create_directory(directory_ / "ro");
  fs::rename(directory_ / "testbed-results.db", directory_ / "ro/s.db");
  Write("after.json", Measure("--label after --account file").dump());
  const std::string script =
      "cd " + directory_.string() + " && mount --bind ro ro && mount -o remount,ro,bind ro && " +
      TestbedBinary() +
      " results query --store ro/s.db 'select count(*) as n from documents' >out && " + "{ " +
      TestbedBinary() + " results add after.json --store ro/s.db 2>err; echo $? >code; }";
  Write("script.sh", script);
  const int status = std::system(("unshare --mount --propagation private sh " +
                                  (directory_ / "script.sh").string() + " 2>/dev/null")
                                     .c_str());
  if (status != 0 && Read(directory_ / "out").empty()) GTEST_SKIP() << "no mount namespaces here";
  EXPECT_NE(Read(directory_ / "out").find('1'), std::string::npos);
  EXPECT_EQ(Read(directory_ / "code"), "2\n");
  const std::string err = Read(directory_ / "err");
  EXPECT_NE(err.find("--store ro/s.db cannot be written"), std::string::npos) << err;
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
}

// An addition that is killed leaves whole documents, and the same command adds the rest.
TEST_F(ResultsStoreTest, AKillInTheMiddleLosesNothing) {
  json document = Measure();
  fs::create_directory(directory_ / "many");
  constexpr int kDocuments = 100;
  for (int i = 0; i < kDocuments; ++i) {
    document["label"] = "number " + std::to_string(i);
    Write("many/" + std::to_string(i) + ".json", document.dump());
  }
  const fs::path store = directory_ / "testbed-results.db";
  for (int kill = 0; kill < 3; ++kill) {
    const uintmax_t before = fs::exists(store) ? fs::file_size(store) : 0;
    const pid_t adding = Start("results add many");
    EXPECT_TRUE(
        Becomes([&] { return fs::exists(store) && fs::file_size(store) > before + 100000; }));
    ::kill(adding, SIGKILL);
    ::waitpid(adding, nullptr, 0);
    const json whole =
        Ask("select count(*) as documents, min(n) as least, max(n) as most, min(s) as series from "
            "(select "
            "(select count(*) from results as r where r.document = d.document) as n, (select "
            "count(*) from "
            "series as r where r.document = d.document) as s from documents as d)");
    const json& first = whole[0];
    EXPECT_GT(first["documents"], 0);
    EXPECT_EQ(first["least"], first["most"]);
    EXPECT_GT(first["series"], 0);
  }
  Add("many");
  EXPECT_EQ(Ask("select count(distinct label) as n from documents")[0]["n"], kDocuments);
  EXPECT_EQ(Ask("select count(*) as n from documents")[0]["n"], kDocuments);
}

TEST_F(ResultsStoreTest, SeveralProcessesAddAtOnce) {
  json document = Measure();
  for (int i = 0; i < 40; ++i) {
    document["label"] = "number " + std::to_string(i);
    Write((i % 2 == 0 ? "even/" : "odd/") + std::to_string(i) + ".json", document.dump());
  }
  const pid_t processes[] = {Start("results add even odd"), Start("results add odd even"),
                             Start("results add even")};
  for (const pid_t process : processes) {
    int status = 0;
    ::waitpid(process, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_EQ(Ask("select count(*) as n from documents")[0]["n"], 40);
}

// Once, each table was read by itself, so that a later table had rows of documents that an earlier
// one lacked.
TEST_F(ResultsStoreTest, AnExportBesideAnAdditionHasTheSameDocumentsInAllTables) {
  json document = Measure();
  Add("run.json");
  for (int i = 0; i < 60; ++i) {
    document["label"] = "number " + std::to_string(i);
    Write("many/" + std::to_string(i) + ".json", document.dump());
  }
  const auto documents_of = [this](const std::string& table) {
    std::set<std::string> documents;
    for (const Record& row : ParseCsv(Read(directory_ / "tables" / (table + ".csv")))) {
      documents.insert(row.at("document"));
    }
    return documents;
  };
  const pid_t adding = Start("results add many");
  for (bool adds = true; adds && !HasFailure();) {
    adds = State(std::to_string(adding)) != 'Z';
    const CommandResult exported = Run("results export --csv tables");
    EXPECT_EQ(exported.code, 0) << exported.err;
    const std::set<std::string> documents = documents_of("documents");
    for (const char* table : {"runs", "results", "series", "causes"}) {
      EXPECT_EQ(documents_of(table), documents) << table;
    }
  }
  ::waitpid(adding, nullptr, 0);
  EXPECT_EQ(documents_of("documents").size(), 61u);
}

TEST_F(ResultsStoreTest, AStoreOfAnEarlierVersionIsExportedWithTheTablesThatItHas) {
  Measure();
  Add("run.json");
  const std::string store = directory_ / "testbed-results.db";
  SqliteFile::Open(store, SqliteFile::Access::kWrite)->Execute("DROP TABLE causes");
  const CommandResult exported = Run("results export --csv tables");
  EXPECT_EQ(exported.code, 0) << exported.err;
  EXPECT_TRUE(fs::exists(directory_ / "tables/results.csv"));
  EXPECT_FALSE(fs::exists(directory_ / "tables/causes.csv"));
}

TEST_F(ResultsStoreTest, TwoResultsAreExportedForTheCompareToolOfGoogleBenchmark) {
  Measure("--label before --repeat 2 --account file");
  fs::rename(directory_ / "run.json", directory_ / "before.json");
  Measure("--label after --repeat 2 --account file");
  Add("before.json run.json");
  EXPECT_EQ(Run("results export --benchmark old.json --where \"label = 'before' -- the old\"").code,
            0);
  EXPECT_EQ(Run("results export --benchmark - --where \"label = 'after'\" >new.json").code, 0);
  const json old = Json("old.json"), then = Json("new.json");
  std::set<std::string> names;
  for (const json& entry : old["benchmarks"]) {
    names.insert(entry["name"]);
    EXPECT_EQ(entry["label"], "before");
    EXPECT_EQ(entry["repetitions"], 2);
    EXPECT_GT(entry["real_time"], 0);
    const bool mixed = entry["name"].get<std::string>().starts_with("btree/mixed/");
    EXPECT_GT(entry[mixed ? "phase_cpu_us_per_op" : "cpu_time"], 0);
  }
  EXPECT_TRUE(names.contains("btree/insert/threads:1"));
  for (const char* operation : {"point-read", "update"}) {
    for (const char* threads : {"1", "2"}) {
      EXPECT_TRUE(names.contains(std::string("btree/mixed/") + operation + "/threads:" + threads));
    }
  }
  for (const json& entry : then["benchmarks"]) EXPECT_TRUE(names.contains(entry["name"]));
  ExpectRefused(Run("results export --benchmark x.json --where \"label = 'none'\""),
                "no operation with a latency");
  // The text is a condition only within brackets. Once, it chose all rows.
  ExpectRefused(Run("results export --csv tables --where \"1 = 1) or (1\""),
                "the SQL is not accepted");
}

}  // namespace
}  // namespace testbed
