// Tests that the results tell the rows of a database. After each run, whatever ended it, a scan of
// all tables must find the rows from before, plus those inserted, minus those erased. The tests run
// the real program with every engine that keeps data.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "tests/cli/started_command.h"

namespace testbed {
namespace {

using nlohmann::json;

// The runs have no account, because its readings would wait for the writes of other programs.
constexpr char kCommon[] = " --ram 256M --account off --quiet --dir d --json run.json ";

class RowCountTest : public StartedCommandTest, public testing::WithParamInterface<std::string> {
 protected:
  enum class End { kItself, kInterrupt, kKillOfChild, kKillOfAll };

  void SetUp() override {
    if (!HasEngine(GetParam())) GTEST_SKIP() << GetParam() << " is not here";
    StartedCommandTest::SetUp();
    CopyClusters();
  }
  void TearDown() override {
    for (const pid_t left : Processes()) ::kill(left, SIGKILL);
    StartedCommandTest::TearDown();
  }

  // Returns whether the engine's database can be used after a kill. That of bf-tree, which recovers
  // from no log, cannot when it was written to.
  bool OutlivesKills() const {
    const std::vector<Durability>& has = FindEngine(GetParam()).capabilities.durabilities;
    return std::find(has.begin(), has.end(), Durability::kLazy) != has.end();
  }
  // Returns whether the engine has room for the longest nodes of LinkBench: a record of bf-tree has
  // up to half a page.
  static bool HasRoomForNodes() { return GetParam() != "bf-tree"; }

  // Loads a database and checks its rows. Later calls of ExpectRows start from their number.
  void Load(const std::string& arguments) {
    arguments_ = EngineWords(GetParam()) + kCommon + settings_;
    const CommandResult result = Run(arguments_ + " " + arguments);
    ASSERT_EQ(result.code, 0) << result.err;
    rows_ = 0;
    EXPECT_GT(ExpectRows("the load", Scan()), 0);
  }

  // Runs testbed on the database until it ends in the given way: by itself, or in the middle of a
  // phase. On a busy machine the phase may not have begun by then; the run is then repeated with
  // more time.
  void GoOn(const std::string& arguments, End end = End::kItself) {
    SCOPED_TRACE(arguments);
    if ((end == End::kKillOfChild || end == End::kKillOfAll) && !OutlivesKills()) return;
    if (end == End::kItself) {
      const CommandResult result = Run(arguments_ + " --reuse " + arguments);
      ASSERT_EQ(result.code, 0) << result.err;
      EXPECT_NE(ExpectRows(arguments, Scan()), 0);
      return;
    }
    int64_t inserted = 0;
    for (int ms = 125; inserted == 0 && ms <= 32000; ms *= 2) {
      inserted = EndAfter(ms, arguments, end);
    }
    EXPECT_NE(inserted, 0) << "it never wrote";
  }

  // Runs testbed and ends it after `ms` milliseconds. Returns the number of rows that were
  // inserted, according to the results or, after a kill, to the tables.
  int64_t EndAfter(int ms, const std::string& arguments, End end) {
    std::filesystem::remove(directory_ / "run.json");
    const pid_t process = Start(arguments_ + " --reuse " + arguments);
    EXPECT_TRUE(Becomes([&] { return Processes().size() >= 2; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    if (end == End::kInterrupt) ::kill(process, SIGINT);
    if (end == End::kKillOfChild) {
      for (const pid_t other : Processes()) {
        if (other != process) ::kill(other, SIGKILL);
      }
    }
    if (end == End::kKillOfAll) ::kill(process, SIGKILL);
    int status = 0;
    ::waitpid(process, &status, 0);
    const int64_t found = ScanAtEnd();
    if (end == End::kInterrupt) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130);
      return ExpectRows(arguments, found);
    }
    EXPECT_TRUE(end == End::kKillOfChild ? WIFEXITED(status) && WEXITSTATUS(status) == 1
                                         : WIFSIGNALED(status));
    // A killed phase has no figures, so the rows in the tables are taken as the new expected
    // number.
    return found - std::exchange(rows_, found);
  }

  // Waits until a killed process releases its files, and returns what Scan does. The process's
  // threads may hold the files for a moment after it has disappeared from /proc.
  int64_t ScanAtEnd() {
    int64_t rows = -1;
    EXPECT_TRUE(Becomes([&] {
      if (!Processes().empty()) return false;
      try {
        rows = Scan();
        return true;
      } catch (const Error&) {
        return false;
      }
    }));
    EXPECT_TRUE(Becomes([&] {
      const int fd = Hold("d");
      if (fd >= 0) ::close(fd);
      return fd >= 0;
    }));
    return rows;
  }

  // `found` is the number of rows that Scan has found after the run.
  int64_t ExpectRows(const std::string& after, int64_t found) {
    // A run that was interrupted before its first phase has no results.
    const json document =
        std::filesystem::exists(directory_ / "run.json") ? Json("run.json") : json::object();
    int64_t inserted = 0;
    for (const json& run : document.value("runs", json::array())) {
      for (const json& phase : run["phases"]) {
        if (phase["kind"] == "settle" || phase["kind"] == "count") continue;
        inserted += phase["rows_inserted"].get<int64_t>();
        rows_ += phase["rows_inserted"].get<int64_t>() - phase["rows_erased"].get<int64_t>();
        last_ = phase;
      }
    }
    EXPECT_EQ(found, rows_) << after;
    return inserted;
  }

  // Returns the number of rows that the engine finds in all tables.
  int64_t Scan() const {
    EngineOptions options = DefaultEngineOptions(FindEngine(GetParam()));
    options.create = false;
    const std::unique_ptr<Engine> engine = OpenEngine(GetParam(), directory_ / "d/db", options);
    const std::unique_ptr<Session> session = engine->NewSession();
    int64_t rows = 0;
    for (const std::string& table : tables_) {
      const std::unique_ptr<Cursor> cursor = session->NewCursor(engine->OpenTable(table));
      for (bool on = cursor->First(); on; on = cursor->Next()) ++rows;
    }
    return rows;
  }

  std::string settings_, arguments_;
  std::vector<std::string> tables_;
  int64_t rows_ = 0;
  json last_;  // the last phase of the last run that reported one
};

// What is counted is what the runs say. Each run of the tests has the engines of this project and
// one of the others; ServerRunTest has servers that are killed.
INSTANTIATE_TEST_SUITE_P(Engines, RowCountTest,
                         testing::Values("btree", "fractal", "mmapv1", "rocksdb"),
                         [](const auto& engine) { return EngineTestName(engine.param); });
INSTANTIATE_TEST_SUITE_P(EveryWay, RowCountTest,
                         testing::Values("wiredtiger", "lmdb", "innodb", "sqlite", "mdbx", "pebble",
                                         "bf-tree", "mysql", "postgres"),
                         [](const auto& engine) { return EngineTestName(engine.param); });

TEST_P(RowCountTest, InsertBenchmarkWithDeletes) {
  tables_ = {"pi1", "pi2", "pi3"};
  settings_ =
      "--workload-option nr1=3000 --workload-option nr2=1500 --workload-option query_seconds=";
  settings_ += "60 --workload-option rate=500";
  Load("--workload ib.i0,ib.x,ib.i1 --threads 3");
  const std::string deletes = " --workload-option deletes=1";
  GoOn("--workload ib.i1,ib.i2 --threads 3" + deletes);
  GoOn("--workload ib.i2 --threads 2");  // fewer clients than there are tables
  EXPECT_EQ(last_["details"]["table_rows"], rows_);
  GoOn("--workload ib.qr100 --threads 3", End::kInterrupt);
  GoOn("--workload ib.qp100 --threads 3", End::kKillOfChild);
  GoOn("--workload ib.i1 --threads 3" + deletes);
  GoOn("--workload ib.qr500 --threads 3", End::kKillOfAll);
  GoOn("--workload ib.qp500 --threads 3" + deletes, End::kInterrupt);
  // table_rows follows from the bounds that the steps find in the tables, so the bounds must be
  // right.
  GoOn("--workload ib.i1,ib.i2 --threads 3" + deletes);
  EXPECT_EQ(last_["details"]["table_rows"], rows_);
}

TEST_P(RowCountTest, ConcurrentInserts) {
  if (FindEngine(GetParam()).capabilities.server) {
    GTEST_SKIP() << "the insert benchmark ends in the same ways, and a server takes long to begin";
  }
  tables_ = {"pi1", "pi2", "pi3"};
  settings_ = "--rows 6000 --workload-option rows_per_commit=100";
  Load("--workload concurrent-inserts:2 --threads 2");
  GoOn("--workload concurrent-inserts:2 --threads 3");  // one more client than before
  const std::string endless =
      "--workload concurrent-inserts --threads 3 --workload-option "
      "rows_per_round=1000000000";
  GoOn(endless, End::kInterrupt);
  GoOn(endless, End::kKillOfAll);
  GoOn("--workload concurrent-inserts --threads 3");
  EXPECT_EQ(last_["details"]["table_rows"], rows_);
}

TEST_P(RowCountTest, Sysbench) {
  if (FindEngine(GetParam()).capabilities.server) {
    GTEST_SKIP() << "the insert benchmark ends in the same ways, and a server takes long to begin";
  }
  tables_ = {"sbtest1", "sbtest2"};
  settings_ = "--rows 1500 --workload-option tables=2";
  Load("--workload sysbench-load --threads 2");
  GoOn("--workload oltp-delete,oltp-insert --threads 2 --operations 600");
  const std::string endless = " --threads 2 --warmup 0 --seconds 60";
  GoOn("--workload oltp-read-write" + endless, End::kInterrupt);
  GoOn("--workload oltp-insert" + endless, End::kKillOfChild);
  GoOn("--workload oltp-insert" + endless, End::kKillOfAll);
  GoOn("--workload oltp-insert,oltp-delete --threads 3 --operations 900");
}

TEST_P(RowCountTest, LinkBench) {
  if (!HasRoomForNodes()) GTEST_SKIP() << GetParam() << " takes no values as long as a node";
  tables_ = {"node", "link", "count"};
  settings_ = "--rows 1500";
  Load("--workload linkbench-load --threads 2");
  GoOn("--workload linkbench --threads 2 --operations 2000");
  GoOn("--workload linkbench --threads 3 --seconds 0.3 --warmup 0.3");
  const std::string endless = "--workload linkbench --threads 2 --warmup 0 --seconds 60";
  GoOn(endless, End::kInterrupt);
  GoOn(endless, End::kKillOfChild);
  GoOn(endless, End::kKillOfAll);
  GoOn("--workload linkbench --threads 1 --operations 2000");
  const json check = last_["details"]["check"];
  EXPECT_EQ(check["nodes"].get<int64_t>() + check["links"].get<int64_t>() +
                check["counts"].get<int64_t>(),
            rows_);
}

// The phase after a load is killed. The load had ended before, so its database must be usable.
TEST_P(RowCountTest, ALoadedDatabaseOutlivesTheKillOfThePhaseAfterTheLoad) {
  if (!OutlivesKills()) GTEST_SKIP() << "a database of " << GetParam() << " is lost by a kill";
  struct Case {
    std::string load, then, check;
    std::vector<std::string> tables;
    int64_t rows;
  };
  for (const Case& c : std::vector<Case>{{"document-load",
                                          "document-query --seconds 60",
                                          "document-query --operations 2000",
                                          {"default"},
                                          3000},
                                         {"linkbench-load",
                                          "linkbench --seconds 60",
                                          "linkbench-check",
                                          {"node", "link", "count"},
                                          3000},
                                         {"ib.i0", "ib.x,ib.qp100", "ib.vac", {"pi1"}, 3000}}) {
    SCOPED_TRACE(c.load);
    tables_ = c.tables;
    arguments_ = EngineWords(GetParam()) + kCommon + "--rows 3000 --threads 1 --warmup 0 ";
    const pid_t process = Start(arguments_ + "--fresh --workload " + c.load + "," + c.then);
    // A server on a busy machine takes its time for a load.
    EXPECT_TRUE(Becomes(
        [&] {
          return Read(directory_ / "d/testbed.json").find("\"loaded\": true") != std::string::npos;
        },
        120));
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    EXPECT_GE(ScanAtEnd(), c.rows);
    const CommandResult again = Run(arguments_ + "--reuse --verify all --workload " + c.check);
    EXPECT_EQ(again.code, 0) << again.err;
    std::filesystem::remove_all(directory_ / "d");
  }
}

// A load into a loaded database must be refused, because its inserts would update existing rows.
TEST_P(RowCountTest, ALoadIntoALoadedDatabaseIsRefused) {
  for (const auto& [load, table] :
       std::vector<std::pair<std::string, std::string>>{{"insert", "default"},
                                                        {"document-load", "default"},
                                                        {"ib.i0", "pi1"},
                                                        {"linkbench-load", "node"}}) {
    SCOPED_TRACE(load);
    if (load == "linkbench-load" && !HasRoomForNodes()) continue;
    tables_ = {table};
    arguments_ = EngineWords(GetParam()) + kCommon + "--rows 1000 --threads 1 ";
    ExpectRefused(Run(arguments_ + "--fresh --workload " + load + "," + load),
                  "--workload " + load + " loads an empty database");
    ASSERT_EQ(Run(arguments_ + "--fresh --workload " + load).code, 0);
    const int64_t rows = Scan();
    EXPECT_EQ(rows, 1000);
    ExpectRefused(Run(arguments_ + "--reuse --workload " + load),
                  "--workload " + load + " loads an empty database");
    EXPECT_EQ(Scan(), rows);
  }
}

}  // namespace
}  // namespace testbed
