// Tests that each phase goes on with the rows that the database holds. A scan must find the rows
// that the runs reported, after a warm-up, --reuse, a change of the number of clients, a request to
// stop and kill -9.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

using nlohmann::json;

class PopulationRunTest : public CommandTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (!HasEngine(GetParam())) GTEST_SKIP() << GetParam() << " is not here";
    CopyClusters();
  }

  std::string Arguments(const std::string& more) const {
    // A server takes memory for itself.
    const char* const ram = FindEngine(GetParam()).capabilities.server ? "192M" : "128M";
    return fmt::format(
        "{} --dir d --rows 3000 --value-size 100 --indexes 1 --rows-per-transaction 100 "
        "--ram {} --account off --quiet --json run.json {}",
        EngineWords(GetParam()), ram, more);
  }
  // Returns whether the engine's database can be used after a kill. That of bf-tree, which recovers
  // from no log, cannot when it was written to.
  bool OutlivesKills() const {
    const std::vector<Durability>& has = FindEngine(GetParam()).capabilities.durabilities;
    return std::find(has.begin(), has.end(), Durability::kLazy) != has.end();
  }
  CommandResult Mixed(const std::string& arguments) {
    std::filesystem::remove(directory_ / "run.json");
    return Run(Arguments(arguments));
  }

  // Sends a signal to the run and its child in the middle of the writing phase. That phase has
  // begun when the record says that the load is complete, but does not tell the rows.
  int Interrupt(const std::string& arguments, int signal, int ms = 400) {
    std::filesystem::remove(directory_ / "run.json");
    const pid_t run = fork();
    if (run == 0) {
      setpgid(0, 0);
      const std::string command = "cd " + directory_.string() + " && exec " + TestbedBinary() +
                                  " " + Arguments(arguments) + " >/dev/null 2>&1 </dev/null";
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    setpgid(run, run);
    bool writes = false;
    for (int i = 0; i < 6000 && !writes; ++i) {
      const json record = json::parse(Read(directory_ / "d/testbed.json"), nullptr, false);
      writes = record.is_object() && record.value("loaded", false) &&
               record.value("population", json()).is_null();
      usleep(10000);
    }
    EXPECT_TRUE(writes) << "the record never said that a loaded database is written to";
    usleep(static_cast<useconds_t>(ms) * 1000);
    kill(-run, signal);
    int status = 0;
    waitpid(run, &status, 0);
    // The run's child may end a moment later, and holds the directory's lock until then.
    int lock = -1;
    for (int i = 0; i < 6000 && (lock = Hold("d")) < 0; ++i) usleep(10000);
    close(lock);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // Returns the number of rows by which the database has grown, as the run's phases reported it.
  int64_t Grown() {
    int64_t rows = 0;
    const json document = Json("run.json");
    for (const json& phase : document["runs"].back()["phases"]) {
      if (phase["kind"] == "load") continue;
      rows += phase.value("rows_inserted", 0) - phase.value("rows_erased", 0);
    }
    return rows;
  }
  int64_t RowsSaid() { return Json("run.json")["runs"].back()["database"]["rows"]; }

  // Returns the number of rows that testbed counts by a scan, after the record of them was removed.
  int64_t RowsCounted() {
    json record = json::parse(Read(directory_ / "d/testbed.json"));
    record.erase("population");
    std::ofstream(directory_ / "d/testbed.json") << record;
    const CommandResult result = Mixed("--reuse --workload point-read --operations 100");
    EXPECT_EQ(result.code, 0) << result.err;
    const json phase = Json("run.json")["runs"][0]["phases"][0];
    EXPECT_EQ(phase["name"], "count-rows");
    EXPECT_EQ(phase["rows"], RowsSaid());
    return phase["rows"];
  }
};

TEST_P(PopulationRunTest, GoesOnWhereTheDatabaseIs) {
  const std::string mix = "--mix point-read=20,update=20,insert=40,erase=20 ";
  CommandResult result =
      Mixed("--workload insert,mixed --warmup 0.2 --seconds 0.3 --threads 3 " + mix);
  ASSERT_EQ(result.code, 0) << result.err;
  int64_t rows = 3000 + Grown();
  EXPECT_GT(rows, 3000);
  EXPECT_EQ(RowsSaid(), rows);
  EXPECT_EQ(RowsCounted(), rows);

  result = Mixed("--reuse --workload mixed --operations 2000 --threads 2 --mix insert=10,erase=30");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_LT(Grown(), 0);
  rows += Grown();
  EXPECT_EQ(RowsSaid(), rows);
  EXPECT_EQ(RowsCounted(), rows);

  // On a slow machine the signal may come before the first operation.
  for (int ms = 400; ms <= 32000; ms *= 2) {
    EXPECT_EQ(Interrupt("--reuse --workload mixed --seconds 600 --threads 4 " + mix, SIGINT, ms),
              130);
    if (Grown() != 0) break;
  }
  EXPECT_NE(Grown(), 0);
  rows += Grown();
  EXPECT_EQ(RowsSaid(), rows);
  EXPECT_EQ(RowsCounted(), rows);

  // A killed run does not report its rows. The next run must count them, and report that.
  if (OutlivesKills()) {
    Interrupt("--reuse --workload mixed --seconds 600 --threads 2 " + mix, SIGKILL);
    result = Mixed("--reuse --workload mixed --operations 500 --threads 1 " + mix);
    ASSERT_EQ(result.code, 0) << result.err;
    const json counted = Json("run.json")["runs"][0]["phases"][0];
    ASSERT_EQ(counted["name"], "count-rows");
    rows = counted["rows"].get<int64_t>() + Grown();
    EXPECT_EQ(RowsSaid(), rows);
    EXPECT_EQ(RowsCounted(), rows);
  }

  result = Mixed("--reuse --workload mixed --threads 2 --mix erase=1 --operations 100000000");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json("run.json")["runs"][0]["phases"][0]["ended_because"], "no row is left to erase");
  EXPECT_NE(result.out.find("no row is left to erase"), std::string::npos) << result.out;
  EXPECT_EQ(Grown(), -rows);
  EXPECT_EQ(RowsCounted(), 0);
}

// A complete load must stay usable, whatever ends the phase after it.
using KeptLoadTest = PopulationRunTest;
TEST_P(KeptLoadTest, ALoadIsKeptWhenThePhaseAfterItIsStopped) {
  for (int signal : {SIGINT, SIGKILL}) {
    Interrupt("--fresh --workload insert,mixed --warmup 0 --seconds 600 --mix update=1", signal);
    const CommandResult result = Mixed("--reuse --workload point-read --operations 100");
    EXPECT_EQ(result.code, 0) << result.err;
  }
}

// The population is the workload's, whatever the engine.
INSTANTIATE_TEST_SUITE_P(Engines, PopulationRunTest,
                         testing::Values("btree", "fractal", "mmapv1", "rocksdb", "sqlite"),
                         [](const auto& engine) { return EngineTestName(engine.param); });
INSTANTIATE_TEST_SUITE_P(EveryWay, PopulationRunTest,
                         testing::Values("wiredtiger", "lmdb", "innodb", "mdbx", "pebble",
                                         "bf-tree", "mysql", "postgres"),
                         [](const auto& engine) { return EngineTestName(engine.param); });

INSTANTIATE_TEST_SUITE_P(Engines, KeptLoadTest, testing::Values("btree", "rocksdb"),
                         [](const auto& engine) { return engine.param; });

// When the record cannot be written after a run, the run's results must be kept, and the old
// record, which makes the next run count the rows, must stay.
TEST_F(CommandTest, ARecordThatCannotBeWrittenCostsNoResult) {
  // Nothing is renamed over a file that something is mounted on.
  const std::string record_stays =
      "unshare --mount sh -c 'mount --bind d/testbed.json d/testbed.json && exec \"$@\"' -";
  if (std::system("unshare --mount true >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "only root may mount";
  }
  const std::string common =
      "--engine btree --dir d --rows 1000 --ram 64M --quiet --json run.json --operations 100 ";
  ASSERT_EQ(Run(common + "--workload insert").code, 0);
  json record = json::parse(Read(directory_ / "d/testbed.json"));
  record.erase("population");
  std::ofstream(directory_ / "d/testbed.json") << record;
  CommandResult result = Run(common + "--reuse --workload point-read", record_stays);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("the record of the database could not be written"), std::string::npos);
  EXPECT_EQ(Json("run.json")["runs"][0]["phases"].size(), 2u);  // the count and the measurement
  EXPECT_EQ(json::parse(Read(directory_ / "d/testbed.json")), record);
  // A writing run must not begin when the record cannot be changed before it.
  ASSERT_EQ(Run(common + "--reuse --workload point-read").code, 0);
  std::filesystem::remove(directory_ / "run.json");
  const std::string writing = common + "--reuse --workload mixed --mix insert=1 --warmup 0";
  result = Run(writing, record_stays);
  ExpectRefused(result, "testbed.json");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "run.json"));
  result = Run(writing);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json("run.json")["runs"][0]["database"]["rows"], 1100);
}

// A file of keys has a fixed number of rows. The test erases them until none is left.
TEST_F(CommandTest, KeysOfAFileAreErasedUntilNoneIsLeft) {
  {
    std::ofstream keys(directory_ / "keys");
    for (int i = 0; i < 500; ++i) keys << "key-" << i * 7 % 500 << "\n";
  }
  const std::string common =
      "--engine btree --dir d --keys keys --ram 64M --quiet --json run.json ";
  CommandResult result =
      Run(common +
          "--workload insert,mixed --warmup 0 --mix erase=50,point-read=25,update=25 "
          "--operations 400 --threads 2 --verify all");
  ASSERT_EQ(result.code, 0) << result.err;
  const json measured = Json("run.json")["runs"][0]["phases"][2];
  const int64_t left = 500 - measured["rows_erased"].get<int64_t>();
  EXPECT_EQ(measured["not_found"], 0);
  EXPECT_EQ(Json("run.json")["runs"][0]["database"]["rows"], left);
  result = Run(common + "--reuse --workload mixed --mix erase=1 --operations 9999");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json("run.json")["runs"][0]["phases"][0]["rows_erased"], left);
}

}  // namespace
}  // namespace testbed
