#include "tools/results/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "tests/unit/tools/results/small_document.h"
#include "tools/report/rows.h"
#include "tools/results/query.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class RunsStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasSqlite()) GTEST_SKIP() << "this build has no SQLite";
    std::string pattern = testing::TempDir() + "store_test_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    path_ = (directory_ / "store.db").string();
  }
  void TearDown() override {
    if (!directory_.empty()) fs::remove_all(directory_);
  }
  AddedRows Add(const json& document) { return ResultsStore(path_).Add({document, "run.json"}); }
  // Returns the rows of the answer, each as the text of its JSON.
  std::vector<std::string> Ask(const std::string& sql) {
    std::vector<std::string> rows;
    for (const std::vector<json>& row : AskStore(path_, sql).rows) rows.push_back(json(row).dump());
    return rows;
  }
  json Value(const std::string& sql) { return AskStore(path_, sql).rows.at(0).at(0); }
  // Returns the sentence of the error that the SQL causes; an empty string when it causes none.
  std::string ErrorOfSql(const std::string& sql) {
    try {
      (void)AskStore(path_, sql);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kUsage) << sql;
      return error.what();
    }
    return "";
  }
  std::string ErrorOfOpening() {
    std::string sentences;
    try {
      ResultsStore store(path_);
    } catch (const Error& error) {
      sentences = error.what();
    }
    try {
      (void)OpenStore(path_);
    } catch (const Error& error) {
      EXPECT_EQ(sentences, error.what()) << "reading and adding refuse alike";
    }
    return sentences;
  }
  static std::string Bytes(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  void Change(const std::string& sql) {
    SqliteFile::Open(path_, SqliteFile::Access::kWrite)->Execute(sql);
  }

  fs::path directory_;
  std::string path_;
};

// Once, the rate that a search found was in no table, and json_each was refused as if it wrote.
TEST_F(RunsStoreTest, TheRatesOfASearchAreWithItsRun) {
  json document = SmallDocument();
  Add(document);
  EXPECT_EQ(Value("SELECT find_rate FROM runs"), json());
  document["runs"][0]["find_rate"] = json::parse(
      R"([{"name": "mixed", "found_rate": 400}, {"name": "scan", "found_rate": null}])");
  Add(document);
  EXPECT_THAT(Ask("SELECT document, search.value ->> 'name', search.value ->> 'found_rate' "
                  "FROM runs, json_each(runs.find_rate) AS search"),
              ElementsAre(R"([2,"mixed",400])", R"([2,"scan",null])"));
}

TEST_F(RunsStoreTest, ARowForEachRunPhaseOperationAndSecond) {
  const AddedRows added = Add(SmallDocument());
  EXPECT_EQ(added.documents, 1u);
  EXPECT_EQ(added.runs, 1u);
  EXPECT_EQ(added.results, 4u);
  EXPECT_EQ(added.series, 6u);
  EXPECT_EQ(added.causes, 4u);
  EXPECT_THAT(Ask("SELECT phase_index, phase, kind, operation, count, rate FROM results"),
              ElementsAre(R"([0,"insert","load","insert",100,50.0])",
                          R"([1,"settle","settle",null,null,null])",
                          R"([2,"mixed","measure","point-read",60,30.0])",
                          R"([2,"mixed","measure","update",40,20.0])"));
  EXPECT_THAT(
      Ask("SELECT kernel_reads, phase_own_reads, phase_other_programs_reads, latency_us_p99 "
          "FROM results WHERE phase = 'mixed'"),
      ElementsAre("[30,50.0,7.0,90.0]", "[null,50.0,7.0,90.0]"));
  // The settle was made without the kernel account, which alone tells the IO of other programs.
  EXPECT_THAT(Ask("SELECT phase_own_reads, phase_other_programs_reads, "
                  "phase_other_programs_write_bytes FROM results WHERE kind = 'settle'"),
              ElementsAre("[null,null,null]"));
  EXPECT_THAT(Ask("SELECT end_seconds, operations, background, background_write_bytes FROM series "
                  "WHERE phase = 'mixed' ORDER BY max_us DESC LIMIT 1"),
              ElementsAre(R"([2.0,3,"checkpoint eviction",4196.0])"));
  EXPECT_THAT(
      Ask("SELECT threads, seed, grade, engine_effective, accounting_kernel_account FROM runs"),
      ElementsAre(R"([8,42,"B","{\"a\":\"b\"}",1])"));
  EXPECT_THAT(Ask("SELECT command, notes, partial, path FROM documents"),
              ElementsAre(R"(["testbed --engine btree --label before","one note",0,"run.json"])"));
}

// Numbers can be compared as numbers, and texts stay as they are.
TEST_F(RunsStoreTest, ValuesHaveTheTypesOfTheDocument) {
  Add(SmallDocument("0042"));
  EXPECT_THAT(Ask("SELECT DISTINCT machine_cpus, machine_load, machine_kernel, "
                  "machine_cpu_governor, label, "
                  "option_page_size, option_drop_caches, option_mix, option_workload FROM results"),
              ElementsAre(R"([2,0.3,"6.10",null,"0042",8192,0,null,"insert mixed"])"));
  json document = SmallDocument();
  document["options"]["seed"] = UINT64_MAX;
  document["options"]["rate"] = NAN;
  Add(document);
  // As doubles, up to 2048 large seeds that follow each other would be equal.
  EXPECT_EQ(Value("SELECT option_seed FROM results WHERE document = 2"), "18446744073709551615");
  EXPECT_TRUE(Value("SELECT option_rate FROM results WHERE document = 2").is_null());
}

TEST_F(RunsStoreTest, TheSameDocumentTwiceAddsNothing) {
  Add(SmallDocument());
  const std::string before = Bytes(path_);
  const AddedRows again = Add(json::parse(SmallDocument().dump(4)));
  EXPECT_EQ(again.documents + again.runs + again.results + again.series + again.cells, 0u);
  EXPECT_EQ(Value("SELECT count(*) FROM results"), 4);
  EXPECT_EQ(Bytes(path_), before);
  EXPECT_EQ(Add(SmallDocument("after")).documents, 1u);
}

TEST_F(RunsStoreTest, ACellHasItsMetricsAlsoWhenItIsToldLater) {
  json document = SmallDocument();
  document["cell"] = {{"name", "io=direct"}, {"labels", {{"io", "direct"}}}, {"round", 2}};
  ResultsStore store(path_);
  store.Add({document, "cell.json"});
  EXPECT_THAT(Ask("SELECT experiment FROM documents"), ElementsAre("[null]"));
  for (int time = 0; time < 2; ++time) {
    const AddedRows told = store.Add(
        {document, "cell.json", "read-size", "tiny", {{"qps", "/s", 12.5}, {"reads", "", NAN}}});
    EXPECT_EQ(told.cells, time == 0 ? 2u : 0u);
    EXPECT_EQ(told.documents, 0u);
  }
  EXPECT_THAT(Ask("SELECT experiment, scale FROM documents"),
              ElementsAre(R"(["read-size","tiny"])"));
  EXPECT_THAT(Ask("SELECT cell_name, cell_round, labels ->> 'io', metric, unit, value FROM cells"),
              ElementsAre(R"(["io=direct",2,"direct","qps","/s",12.5])",
                          R"(["io=direct",2,"direct","reads",null,null])"));
}

TEST_F(RunsStoreTest, NamesOfAnyBytesComeBack) {
  const std::string labels[] = {"a \"name\", with 'commas'\nand lines; --",
                                "<script>alert(1)</script>",
                                "bytes \xff\xfe",
                                "an escape \\xff",
                                std::string("nul\0inside", 10),
                                "gr\xc3\xbcn"};
  for (const std::string& label : labels) Add(SmallDocument(label));
  const QueryAnswer answer = AskStore(path_, "SELECT label FROM documents ORDER BY document");
  ASSERT_EQ(answer.rows.size(), std::size(labels));
  for (size_t i = 0; i < std::size(labels); ++i) EXPECT_EQ(answer.rows[i][0], labels[i]);
  // In the file they are UTF-8, as other programs expect it.
  EXPECT_EQ(Value("SELECT hex(label) FROM documents WHERE document = 3"),
            "6279746573205C7866665C786665");
}

TEST_F(RunsStoreTest, OtherProgramsFilesAreRefusedAndStayAsTheyAre) {
  Change("CREATE TABLE customers (name); INSERT INTO customers VALUES ('x')");
  const std::string theirs = Bytes(path_);
  EXPECT_THAT(ErrorOfOpening(), HasSubstr("another program's SQLite file"));
  EXPECT_EQ(Bytes(path_), theirs);
  std::ofstream(path_) << "{\"schema\": \"testbed-results/1\"}";
  EXPECT_THAT(ErrorOfOpening(), HasSubstr("no SQLite file"));
  EXPECT_EQ(Bytes(path_), "{\"schema\": \"testbed-results/1\"}");
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_THAT(ErrorOfOpening(), HasSubstr("no regular file"));
  EXPECT_EQ(Files(), std::set<std::string>({"store.db"}));
}

TEST_F(RunsStoreTest, AnotherVersionIsRefusedAndADamagedStoreIsASentence) {
  Add(SmallDocument());
  Change("PRAGMA user_version = 2");
  const std::string later = Bytes(path_);
  EXPECT_THAT(ErrorOfOpening(), HasSubstr("another version of testbed (2; this one has 1)"));
  EXPECT_EQ(Bytes(path_), later);
  Change("PRAGMA user_version = 1");
  fs::resize_file(path_, 8192);
  EXPECT_THAT(ErrorOfSql("SELECT * FROM results"), HasSubstr("is damaged"));
  EXPECT_THROW(Add(SmallDocument("more")), Error);
}

TEST_F(RunsStoreTest, AStoreOfAnEarlierVersionGetsTheColumnsItLacks) {
  Add(SmallDocument());
  Change(
      "ALTER TABLE results DROP COLUMN rate; ALTER TABLE series DROP COLUMN background;"
      "DROP TABLE cells");
  for (const char* sql : {"SELECT rate FROM results", "SELECT * FROM cells"}) {
    EXPECT_THAT(ErrorOfSql(sql), HasSubstr("gets with the next document that is added")) << sql;
  }
  Add(SmallDocument("after"));
  EXPECT_THAT(Ask("SELECT label, rate FROM results WHERE phase = 'insert'"),
              ElementsAre(R"(["before",null])", R"(["after",50.0])"));
  EXPECT_EQ(Value("SELECT count(background) FROM series"), 2);
  EXPECT_EQ(Value("SELECT count(*) FROM cells"), 0);
}

TEST_F(RunsStoreTest, AQuestionChangesNothing) {
  Add(SmallDocument());
  const std::string before = Bytes(path_);
  const std::string other = (directory_ / "other.db").string();
  for (const std::string& sql :
       {std::string("DELETE FROM results"), std::string("UPDATE results SET rate = 1"),
        std::string("INSERT INTO documents (hash, added, path) VALUES ('x', 'x', 'x')"),
        std::string("DROP TABLE results"), std::string("CREATE TABLE t (x)"),
        std::string("CREATE TEMP TABLE t (x)"), "ATTACH '" + other + "' AS other",
        "VACUUM INTO '" + other + "'", std::string("PRAGMA user_version = 7"),
        std::string("PRAGMA journal_mode = WAL"), std::string("PRAGMA writable_schema = 1"),
        std::string("BEGIN IMMEDIATE"), std::string("REINDEX")}) {
    EXPECT_THAT(ErrorOfSql(sql), HasSubstr("only SELECT is")) << sql;
  }
  EXPECT_THAT(ErrorOfSql("SELECT load_extension('x')"),
              HasSubstr("not authorized to use function"));
  EXPECT_THAT(ErrorOfSql("SELECT 1; DELETE FROM results"), HasSubstr("SELECT"));
  EXPECT_THAT(ErrorOfSql("SELECT 1; SELECT 2"), HasSubstr("more than one statement"));
  EXPECT_THAT(ErrorOfSql(" ; -- nothing"), HasSubstr("empty"));
  EXPECT_THAT(ErrorOfSql("SELEC 1"), HasSubstr("syntax error"));
  EXPECT_THAT(ErrorOfSql("SELECT speed FROM results"), HasSubstr("`testbed results columns`"));
  EXPECT_EQ(Bytes(path_), before);
  EXPECT_EQ(Files(), std::set<std::string>({"store.db"}));
  EXPECT_EQ(ErrorOfSql("SELECT 1; -- and a comment"), "");
  EXPECT_EQ(ErrorOfSql("EXPLAIN QUERY PLAN SELECT * FROM results"), "");
  EXPECT_EQ(AskStore(path_, "PRAGMA table_info(results)").rows.size(),
            ResultRows().columns.size() + 1);
  EXPECT_EQ(Value("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 9) "
                  "SELECT sum(x) FROM n"),
            45);
}

// A process that is killed in the middle of an addition leaves a journal. Reading undoes the
// change.
TEST_F(RunsStoreTest, AKilledAdditionLeavesNothing) {
  Add(SmallDocument());
  const pid_t child = ::fork();
  if (child == 0) {
    const auto file = SqliteFile::Open(path_, SqliteFile::Access::kWrite);
    file->Execute(
        "PRAGMA cache_size = 5; BEGIN IMMEDIATE; DELETE FROM results;"
        "INSERT INTO documents (hash, added, path) WITH RECURSIVE n(x) AS (SELECT 1 UNION "
        "ALL SELECT x + 1 FROM n WHERE x < 5000) SELECT x, hex(randomblob(200)), x FROM n");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
  ASSERT_TRUE(fs::exists(path_ + "-journal")) << "nothing had reached the file yet";
  EXPECT_EQ(Value("SELECT count(*) FROM results"), 4);
  EXPECT_EQ(Value("SELECT count(*) FROM documents"), 1);
  EXPECT_EQ(Add(SmallDocument("after")).results, 4u);
}

TEST_F(RunsStoreTest, AWriterIsWaitedForAndThenNamed) {
  Add(SmallDocument());
  // Adds a document while another connection holds the file: until the addition has ended, or for
  // the time `held`. Returns the sentence with which it was refused.
  const auto add_beside = [this](std::optional<std::chrono::milliseconds> held) {
    const auto other = SqliteFile::Open(path_, SqliteFile::Access::kWrite);
    other->Execute("BEGIN IMMEDIATE");
    std::string refused;
    std::thread adding([&] {
      try {
        Add(SmallDocument("beside"));
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::kIo);
        refused = error.what();
      }
    });
    if (held) {
      std::this_thread::sleep_for(*held);
    } else {
      adding.join();
    }
    other->Execute("COMMIT");
    if (held) adding.join();
    return refused;
  };
  EXPECT_THAT(add_beside(std::nullopt), HasSubstr("in use by another process"));
  EXPECT_EQ(Value("SELECT count(*) FROM documents"), 1);
  EXPECT_EQ(add_beside(std::chrono::milliseconds(700)), "");
  EXPECT_EQ(Value("SELECT count(*) FROM documents"), 2);
}

TEST_F(RunsStoreTest, AnEmptyFileIsAStoreWithoutResults) {
  std::ofstream(path_).close();
  EXPECT_THROW((void)OpenStore(path_), Error);
  EXPECT_EQ(Add(SmallDocument()).documents, 1u);
}

// The counts and rates of a run that lost a server leave these operations out.
TEST(RowTablesTest, OperationsWithoutAnAnswerAreCounted) {
  json document = SmallDocument();
  document["runs"][0]["phases"][2]["unanswered"] =
      json::parse(R"([{"name": "point-read", "count": 3}, {"name": "update", "count": 4}])");
  const std::vector<RowColumn>& columns = ResultRows().columns;
  size_t at = 0;
  while (at < columns.size() && columns[at].name != "phase_unanswered") ++at;
  ASSERT_LT(at, columns.size());
  json unanswered = json::array();
  ForEachRow(ResultRows(), document,
             [&](const std::vector<json>& cells) { unanswered.push_back(cells[at]); });
  EXPECT_EQ(unanswered, json::parse("[0, null, 7, 7]")) << "a load, a settle, two operations";
}

// Once, a store could not tell what a checkpoint had written, nor what the kernel's threads had.
TEST_F(RunsStoreTest, EachCauseOfIoIsARow) {
  json document = SmallDocument();
  document["runs"][0]["phases"][2]["account"]["causes"] = json::parse(R"([
      {"name": "update", "ground": "foreground", "operations": 40, "kernel": {"writes": 1}},
      {"name": "checkpoint", "ground": "background", "operations": 2,
       "kernel": {"writes": 5, "write_bytes": 20480},
       "kernel_by_kind": {"data": {"write_bytes": 16384},
                          "fs-metadata": {"write_bytes": 4096}}}])");
  Add(document);
  EXPECT_THAT(Ask("SELECT cause, ground, operations, kernel_writes, "
                  "kernel_by_kind_data_write_bytes, kernel_by_kind_fs_metadata_write_bytes, "
                  "phase_user_bytes_written FROM causes WHERE phase = 'mixed'"),
              ElementsAre(R"(["update","foreground",40,1,null,null,1000])",
                          R"(["checkpoint","background",2,5,16384,4096,1000])",
                          R"(["rsync","other program",null,null,null,null,1000])"));
  EXPECT_EQ(Value("SELECT kernel_reads FROM causes WHERE cause = 'rsync' AND phase = 'insert'"), 7);
}

// The names are the same for SQLite whatever the case of their letters.
TEST(RowTablesTest, EachNameStandsOnceInATable) {
  for (const RowTable* table : {&RunRows(), &ResultRows(), &SeriesRows(), &CauseRows()}) {
    std::set<std::string> names = {"document"};
    for (const RowColumn& column : table->columns) {
      EXPECT_TRUE(names.insert(column.name).second) << table->name << "." << column.name;
      EXPECT_EQ(column.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"),
                std::string::npos)
          << column.name;
    }
  }
}

}  // namespace
}  // namespace testbed
