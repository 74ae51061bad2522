// Tests a run in its own process: work that the engine leaves to its close, where errors would go
// unnoticed, must be done before.
#include "tools/run/run_child.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/account/ledger.h"
#include "device/file/page_cache.h"
#include "device/machine/memory_budget.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"
#include "tools/options.h"
#include "workloads/measure/runner.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class RunChildTest : public testing::Test {
 protected:
  RunChildTest() {
    std::string pattern = fs::current_path() / "run_child_test_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~RunChildTest() override { fs::remove_all(dir_); }

  // Runs a load and updates with lazy commits, and stops the run after the updates, so that no
  // settle follows. With `fails` the disk then fails all syncs.
  json Run(bool fails) {
    stop_ = false;
    RunOptions options = ParseRunOptions({"--engine", "btree", "--rows", "2000", "--workload",
                                          "insert,ycsb-a", "--operations", "300", "--warmup", "0",
                                          "--durability", "lazy", "--lazy-interval", "10000",
                                          "--account", "file", "--quiet", "--dir", dir_});
    options.Resolve();
    RunPlan plan;
    plan.phases = options.workloads;
    plan.threads = 1;
    plan.label = "test";
    plan.engine_dir = dir_ + "/db";
    fs::create_directory(plan.engine_dir);
    FailingDisk disk(dir_);
    RunTalk talk;
    talk.offer = [](const json&) { return false; };
    talk.await = [] { return json::object(); };
    talk.report = [&](const json& line) {
      const bool updated = line.contains("phase") && line["phase"]["name"] == "ycsb-a";
      if (updated && fails) disk.Fail({DiskCall::kSync, 0, EIO, true});
      stop_ = stop_ || updated;
    };
    return ExecuteRun(options, plan, [] { return stop_; }, talk);
  }

  // Makes a directory that imitates the group of a budget whose limit was hit `hits` times. A run
  // with HitOnce as its `stop` hits the limit five times more soon after each phase begins.
  std::string MakeGroup(uint64_t hits) {
    const std::string group = dir_ + "/group";
    fs::create_directory(group);
    std::ofstream(group + "/memory.max") << "67108864\n";
    std::ofstream(group + "/cgroup.procs") << "";
    events_ = group + "/memory.events";
    hits_ = hits;
    WriteHits();
    return group;
  }
  static void WriteHits() { std::ofstream(events_) << "high 0\nmax " << hits_ << "\noom 0\n"; }
  static bool HitOnce() {
    if (std::exchange(begun_, false)) {
      hits_ += 5;
      WriteHits();
    }
    return false;
  }

  static inline bool stop_ = false;
  static inline std::atomic<int> looks_ = 0;  // looks for a stop since the load; 0 before its end
  static inline bool begun_ = false;          // a phase has begun, and did not hit the limit yet
  static inline uint64_t hits_ = 0;
  static inline std::string events_;
  std::string dir_;
};

TEST_F(RunChildTest, ARunEndsWithoutAnErrorWhenItsCommitsAreDurable) {
  const json run = Run(false);
  EXPECT_FALSE(run.contains("error")) << run["error"];
}

TEST_F(RunChildTest, LazyCommitsThatCannotBeMadeDurableAreAnError) {
  const json run = Run(true);
  ASSERT_TRUE(run.contains("error"));
  EXPECT_EQ(run["error"]["exit_code"], 1);
}

// A stop waited for the interval, which may be a minute, and a load that was whole is kept.
TEST_F(RunChildTest, AStopEndsTheWaitForTheLazyCommitsOfALoad) {
  RunOptions options =
      ParseRunOptions({"--engine", "btree", "--rows", "1000", "--workload", "ib.i0,ib.vac",
                       "--lazy-interval", "60000", "--account", "file", "--quiet", "--dir", dir_});
  options.Resolve();
  RunPlan plan;
  plan.phases = options.workloads;
  plan.label = "test";
  plan.engine_dir = dir_ + "/db";
  fs::create_directory(plan.engine_dir);
  looks_ = 0;
  bool loaded = false;
  std::vector<std::string> phases;
  RunTalk talk;
  talk.offer = [](const json&) { return false; };
  talk.await = [] { return json::object(); };
  talk.report = [&](const json& line) {
    loaded = loaded || line.contains("loaded");
    if (!line.contains("phase")) return;
    phases.push_back(line["phase"]["name"].get<std::string>());
    looks_ = 1;
  };
  const auto start = std::chrono::steady_clock::now();
  // The stop comes when the run looks for it a second time after the load, which is in the wait.
  const json run = ExecuteRun(options, plan, [] { return looks_ != 0 && ++looks_ > 2; }, talk);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
  EXPECT_FALSE(run.contains("error")) << run["error"];
  EXPECT_EQ(run.value("partial", false), true);
  EXPECT_EQ(phases, std::vector<std::string>{"ib.i0"});
  EXPECT_TRUE(loaded);
}

// The destructor of the engine cannot report a failure. Once, the run went on as if there was none.
TEST_F(RunChildTest, AFailureBeforeTheEngineIsOpenedAnewIsAnError) {
  RunOptions options =
      ParseRunOptions({"--engine", "mmapv1", "--rows", "1000", "--workload", "ib.i0,ib.vac",
                       "--drop-caches", "--account", "file", "--quiet", "--dir", dir_});
  options.Resolve();
  RunPlan plan;
  plan.phases = options.workloads;
  plan.label = "test";
  plan.engine_dir = dir_ + "/db";
  fs::create_directory(plan.engine_dir);
  FailingDisk disk(dir_);
  RunTalk talk;
  talk.offer = [](const json&) { return false; };
  talk.await = [] { return json::object(); };
  talk.report = [&](const json& line) {
    const bool loaded = line.contains("phase") && line["phase"]["name"] == "ib.i0";
    if (loaded) disk.Fail({DiskCall::kMsync, 0});
  };
  const json run = ExecuteRun(options, plan, [] { return false; }, talk);
  ASSERT_TRUE(run.contains("error"));
  EXPECT_NE(run["error"]["sentence"].get<std::string>().find("msync"), std::string::npos)
      << run["error"];
}

// The kernel counts the hits since the group was made. Once, the later phases had the hits of those
// before them.
TEST_F(RunChildTest, APhaseHasTheHitsOfTheLimitThatCameInIt) {
  const std::unique_ptr<MemoryBudget> budget = MemoryBudget::Attach(MakeGroup(3));
  RunOptions options = ParseRunOptions({"--engine", "btree", "--rows", "2000", "--workload",
                                        "insert,point-read:2", "--seconds", "0.3", "--warmup", "0",
                                        "--account", "file", "--quiet", "--dir", dir_});
  options.Resolve();
  RunPlan plan;
  plan.phases = options.workloads;
  plan.label = "test";
  plan.engine_dir = dir_ + "/db";
  plan.budget = budget.get();
  fs::create_directory(plan.engine_dir);
  std::vector<uint64_t> hits;  // hits of the limit in the phases that read
  RunTalk talk;
  talk.offer = [](const json&) { return false; };
  talk.await = [] { return json::object(); };
  talk.report = [&](const json& line) {
    begun_ = begun_ || line.contains("begins");
    if (!line.contains("phase") || line["phase"]["name"] != "point-read") return;
    hits.push_back(line["phase"]["memory"]["limit_hits"].get<uint64_t>());
  };
  const json run = ExecuteRun(options, plan, HitOnce, talk);
  EXPECT_FALSE(run.contains("error")) << run["error"];
  EXPECT_EQ(hits, (std::vector<uint64_t>{5, 5}));
}

// A check reads the whole database, so that a round after it would find other pages in the cache,
// and would not write the changed pages that the check has evicted.
TEST_F(RunChildTest, RoundsThatLoadAreCheckedOnceAfterTheLast) {
  // --verify-every lets no operation be checked, so each check is one of the whole database.
  RunOptions options =
      ParseRunOptions({"--engine", "btree", "--rows", "2000", "--workload", "concurrent-inserts:3",
                       "--verify-every", "1000000", "--account", "file", "--quiet", "--dir", dir_});
  options.Resolve();
  RunPlan plan;
  plan.phases = options.workloads;
  plan.label = "test";
  plan.engine_dir = dir_ + "/db";
  fs::create_directory(plan.engine_dir);
  const auto checks = [] { return Ledger::Get().Counts().ops[VerifyOp().id].operations; };
  const uint64_t before = checks();
  std::vector<uint64_t> after_round;
  RunTalk talk;
  talk.offer = [](const json&) { return false; };
  talk.await = [] { return json::object(); };
  talk.report = [&](const json& line) {
    if (line.contains("phase")) after_round.push_back(checks() - before);
  };
  const json run = ExecuteRun(options, plan, [] { return false; }, talk);
  EXPECT_FALSE(run.contains("error")) << run["error"];
  EXPECT_EQ(after_round, (std::vector<uint64_t>{0, 0, 1}));
}

// The kernel drops no page that is mapped, so the run must close the engine first.
TEST_F(RunChildTest, DroppedCachesAreEmptyThoughTheEngineMapsItsFiles) {
  RunOptions options =
      ParseRunOptions({"--engine",      "mmapv1", "--rows",        "20000",
                       "--value-size",  "1000",   "--workload",    "insert,point-read",
                       "--operations",  "10",     "--warmup",      "0",
                       "--ram",         "64M",    "--account",     "file",
                       "--mmap-advice", "random", "--drop-caches", "--quiet",
                       "--dir",         dir_});
  options.Resolve();
  RunPlan plan;
  plan.phases = options.workloads;
  plan.label = "test";
  plan.engine_dir = dir_ + "/db";
  fs::create_directory(plan.engine_dir);
  uint64_t loaded = 0, cold = UINT64_MAX;
  RunTalk talk;
  talk.offer = [](const json&) { return false; };
  talk.await = [] { return json::object(); };
  talk.report = [&](const json& line) {
    if (line.contains("phase") && line["phase"]["name"] == "insert")
      loaded = Residency(plan.engine_dir).cached;
    if (line.value("begins", "") == "point-read") cold = Residency(plan.engine_dir).cached;
  };
  const json run = ExecuteRun(options, plan, [] { return false; }, talk);
  EXPECT_FALSE(run.contains("error")) << run["error"];
  if (DropPages(plan.engine_dir).after.cached != 0) GTEST_SKIP() << "pages cannot be dropped here";
  EXPECT_GT(loaded, 20u << 20);
  EXPECT_LT(cold, loaded / 4);
}

// The record of a database tells its loader, but not its rows after a replay or a kill.
TEST(HasPopulationTest, AReplayHasTheRowsOfItsDatabasesLoader) {
  const json rows = {{"rows", 3}, {"places", {{0, 3}}}, {"next", 3}};
  const auto has = [](const std::string& workload, const std::string& loader, const json& known) {
    RunPlan plan;
    plan.phases = {workload};
    plan.loader = loader;
    plan.population = known;
    return HasPopulation(plan);
  };
  for (const json& known : {rows, json()}) {
    EXPECT_TRUE(has("replay", "insert", known));
    EXPECT_TRUE(has("point-read", "insert", known));
    EXPECT_TRUE(has("point-read", "", known));
  }
  EXPECT_TRUE(has("replay", "", rows)) << "only rows of a data set are in a record";
  for (const char* loader : {"replay-load", "sysbench-load", ""}) {
    EXPECT_FALSE(has("replay", loader, json())) << loader;
  }
  EXPECT_TRUE(has("settle", "insert", rows));
  EXPECT_FALSE(has("settle", "insert", json())) << "the rows would be counted for nothing";
}

}  // namespace
}  // namespace testbed
