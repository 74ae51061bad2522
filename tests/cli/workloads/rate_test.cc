// Tests --find-rate by the real program: what it prints and writes, what it says when no rate meets
// the limit, and what it refuses before anything is created.
#include <string>

#include "tests/cli/command.h"

namespace testbed {
namespace {

using nlohmann::json;

class RateCommandTest : public CommandTest {
 protected:
  // A known cost of each operation makes the rates small and alike on any machine.
  static constexpr char kSmall[] =
      "--engine btree --ram 64M --rows 2000 --threads 2 --seconds 0.2 --warmup 0 --account file "
      "--added-delay 200000 --quiet --json run.json ";
};

TEST_F(RateCommandTest, TheCurveIsPrintedAndInTheResults) {
  const CommandResult result = Run(std::string(kSmall) + "--find-rate 'p50 < 2ms'");
  ASSERT_EQ(result.code, 0) << result.err;
  const json document = Json("run.json");
  EXPECT_EQ(document["options"]["find_rate"], "p50 < 2ms");
  ASSERT_EQ(document["runs"].size(), 2u) << "the load, and what reads it";
  const json& run = document["runs"][1];
  ASSERT_EQ(run["find_rate"].size(), 1u);
  const json& found = run["find_rate"][0];
  EXPECT_EQ(found["name"], "point-read");
  EXPECT_EQ(found["operations_needed"], 200);
  ASSERT_GE(found["steps"].size(), 3u);
  EXPECT_FALSE(found["steps"][0].contains("target_rate")) << "the closed loop comes first";
  for (const json& step : found["steps"]) {
    if (step["meets"] == true) {
      EXPECT_GE(step["count"], 200);
    }
  }
  // The measured phase must run at the rate that was found.
  ASSERT_TRUE(found["found_rate"].is_number()) << found["sentence"];
  const json& measured = run["phases"].back();
  EXPECT_EQ(measured["kind"], "measure");
  EXPECT_EQ(measured["target_rate"], found["found_rate"]);
  EXPECT_EQ(found["again"]["target_rate"], found["found_rate"]);
  EXPECT_TRUE(measured["operations"][0].contains("latency_from_intended_us"));
  for (const std::string& text : {result.out, Run("report run.json").out}) {
    EXPECT_NE(text.find("Rates that --find-rate tried"), std::string::npos) << text;
    EXPECT_NE(text.find("point-read, 2 threads: p50 < 2ms "), std::string::npos) << text;
    EXPECT_EQ(text.find("closed loop: each client"), std::string::npos) << text;
  }
  ASSERT_EQ(Run("report run.json --svg plots").code, 0);
  const std::string curve = Read(directory_ / "plots/run_point-read_2thr_find-rate.svg");
  EXPECT_NE(curve.find("operations a second asked for"), std::string::npos);
  EXPECT_NE(curve.find("median"), std::string::npos) << curve;
  EXPECT_NE(curve.find("limit 2 ms"), std::string::npos) << curve;
}

TEST_F(RateCommandTest, ALimitThatNothingMeetsIsSaidPlainly) {
  const CommandResult result =
      Run(std::string(kSmall) +
          "--workload insert,mixed --mix point-read=1,update=1 --find-rate 'update p50 < 1us'");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("is missed even at the lowest rate"), std::string::npos) << result.out;
  const json run = Json("run.json")["runs"].back();
  const json& found = run["find_rate"][0];
  EXPECT_EQ(found["outcome"], "lowest misses");
  // The 200 updates that the median needs would take 2.6 seconds at the lowest rate.
  EXPECT_LT(run["phases"].back()["seconds"], 1.5) << "that rate is known to miss";
  EXPECT_EQ(found["steps"].size(), 7u);
  EXPECT_EQ(found["limited_operation"], "update");
}

TEST_F(RateCommandTest, AClosedLoopSaysWhatItsTailLeavesOut) {
  const CommandResult closed = Run(kSmall);
  ASSERT_EQ(closed.code, 0) << closed.err;
  EXPECT_NE(closed.out.find("closed loop: each client"), std::string::npos) << closed.out;
  const CommandResult open = Run(std::string(kSmall) + "--rate 1000");
  EXPECT_EQ(open.out.find("closed loop: each client"), std::string::npos) << open.out;
}

TEST_F(RateCommandTest, OperationsThatHadNotBegunAreCountedAndSaid) {
  const CommandResult late = Run(std::string(kSmall) + "--rate 100000");
  ASSERT_EQ(late.code, 0) << late.err;
  const json phase = Json("run.json")["runs"].back()["phases"].back();
  const auto due = phase["due_operations"].get<uint64_t>();
  EXPECT_GE(due, 19000u) << "100,000 a second for 0.2 s";
  EXPECT_EQ(phase["undone_operations"], due - phase["count"].get<uint64_t>());
  // The clients perform at most 10,000 operations a second, so nine of ten operations that were due
  // have not begun.
  const json& us = phase["operations"][0]["latency_from_intended_us"];
  EXPECT_GE(us["p99"].get<double>(), 0.8 * 0.2e6);
  for (const std::string& text : {late.out, Run("report run.json").out}) {
    EXPECT_NE(text.find("! point-read, 2 thr fell behind: "), std::string::npos) << text;
    EXPECT_NE(text.find("operations due had not begun"), std::string::npos) << text;
  }
  // A busy machine may keep clients from an easy rate, too, but not in each of several runs.
  std::string easy;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const CommandResult result = Run(std::string(kSmall) + "--rate 500");
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(Json("run.json")["runs"].back()["phases"].back()["target_rate"], 500);
    easy = result.out;
    if (easy.find("fell behind") == std::string::npos) return;
  }
  ADD_FAILURE() << easy;
}

TEST_F(RateCommandTest, WhatCannotBeSearchedIsRefused) {
  const std::string find = "--engine btree --rows 1000 --find-rate 'p99 < 5ms' ";
  ExpectRefused(Run(find + "--rate 100"), "--find-rate searches for the rate that --rate sets");
  ExpectRefused(Run(find + "--operations 100"), "--find-rate gives each rate the time");
  ExpectRefused(Run(find + "--queue-depth 4"), "--queue-depth");
  ExpectRefused(Run(find + "--workload insert"), "--find-rate needs a workload that does not load");
  ExpectRefused(Run("--engine btree --rows 1000 --find-rate 'fly p99 < 5ms'"),
                "fly p99 < 5ms names an operation that --workload point-read does not have");
  ExpectRefused(Run("--engine btree --rows 1000 --workload insert,ycsb-c --find-rate 'update p99 < "
                    "5ms'"),
                "update p99 < 5ms names an operation that --workload ycsb-c does not have; it has "
                "point-read");
  ExpectRefused(Run("ab --engine btree --a io=direct --b io=buffered --find-rate 'p99 < 5ms'"),
                "--find-rate");
  EXPECT_TRUE(DirectoryIsEmpty());
}

}  // namespace
}  // namespace testbed
