// Tests phases over time by the real program: each has its own length and rate, they follow each
// other at once, and settle is a phase.
#include <string>
#include <vector>

#include "tests/cli/command.h"

namespace testbed {
namespace {

using nlohmann::json;

class PhasesTest : public CommandTest {
 protected:
  static constexpr char kSmall[] =
      "--engine btree --ram 64M --rows 2000 --threads 2 --account file --quiet --json run.json ";
  // Returns the phases of all runs as "name/kind".
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const json document = Json("run.json");
    for (const json& run : document["runs"]) {
      for (const json& phase : run["phases"]) {
        names.push_back(phase["name"].get<std::string>() + "/" + phase["kind"].get<std::string>());
        phases_.push_back(phase);
      }
    }
    return names;
  }
  std::vector<json> phases_;
};

TEST_F(PhasesTest, EachHasItsOwnLengthAndRate) {
  const CommandResult result =
      Run(std::string(kSmall) +
          "--seconds 3 --workload 'insert, ycsb-a 200ms, ycsb-c 1s @ 200, ycsb-f @ 25, settle'");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<std::string> expected = {"insert/load",    "settle/settle",  "ycsb-a/measure",
                                             "ycsb-c/measure", "ycsb-f/measure", "settle/settle"};
  ASSERT_EQ(Names(), expected) << "no warm-up, and no settling between them";
  EXPECT_GE(phases_[2]["seconds"], 0.2);
  EXPECT_LT(phases_[2]["seconds"], 2.9) << "not --seconds";
  EXPECT_FALSE(phases_[2].contains("target_rate"));
  EXPECT_EQ(phases_[3]["target_rate"], 200);
  EXPECT_GE(phases_[3]["seconds"], 0.9);
  EXPECT_LT(phases_[3]["seconds"], 2.9);
  EXPECT_EQ(phases_[4]["target_rate"], 25);
  EXPECT_GE(phases_[4]["seconds"], 2.9);
  // No machine exceeds a rate. One that stalls at a phase's end does less.
  for (const size_t i : {3, 4}) {
    const double rate = phases_[i]["target_rate"], seconds = phases_[i]["seconds"];
    EXPECT_LE(phases_[i]["count"].get<double>(), rate * seconds + 5);
    EXPECT_GT(phases_[i]["count"], 35);
  }
}

TEST_F(PhasesTest, ARampRisesFromSecondToSecond) {
  const CommandResult result =
      Run("--engine null --ram 64M --rows 2000 --threads 2 --account off --quiet --json run.json "
          "--workload 'insert, point-read 4s @ 100..4k'");
  ASSERT_EQ(result.code, 0) << result.err;
  ASSERT_EQ(Json("run.json")["options"]["phase_curves"], json::array({"100..4000"}));
  (void)Names();
  const json& phase = phases_.back();
  EXPECT_EQ(phase["target_rate"], 2050);
  EXPECT_NEAR(phase["due_operations"].get<double>(), 2050 * 4, 100);
  // The time that the last second of the series lacks is the phase's end.
  double before = 0, sum = 0, end = 0;
  size_t seconds = 0;
  for (const json& second : phase["series"]) {
    const double now = second["operations"], length = second["end_seconds"].get<double>() - end;
    end = second["end_seconds"];
    sum += now;
    if (length < 0.5) continue;
    EXPECT_GT(now / length, before) << "in the second that ends at " << end;
    before = now / length;
    ++seconds;
    // No machine is ahead of the ramp.
    EXPECT_LE(sum, 100 * end + 3900 * end * end / 8 + 20);
  }
  EXPECT_GE(seconds, 3u);
  EXPECT_GT(before, 2500) << "the last second";
}

TEST_F(PhasesTest, OtherPopularRowsAreNotInTheCacheYet) {
  const CommandResult result = Run(
      "--engine btree --ram 64M --cache-size 2M --rows 30000 --threads 1 --account file --quiet "
      "--json run.json --verify none --distribution zipfian --zipf-theta 1.3 --operations 3000 "
      "--workload 'insert, point-read ~1, point-read ~1, point-read ~2'");
  ASSERT_EQ(result.code, 0) << result.err;
  ASSERT_EQ(Json("run.json")["options"]["phase_popular"], json::array({1, 1, 2}));
  ASSERT_EQ(Names().back(), "point-read/measure");
  const auto reads = [this](size_t from_end) {
    return phases_[phases_.size() - from_end]["account"]["engine"]["block_reads"].get<double>();
  };
  EXPECT_LT(reads(2), reads(3)) << "the popular rows of the phase before are cached";
  EXPECT_GT(reads(1), 1.15 * reads(2));
}

TEST_F(PhasesTest, ADatabaseThatIsReusedHasThemToo) {
  ASSERT_EQ(Run(std::string(kSmall) + "--dir d --workload insert").code, 0);
  const CommandResult result = Run(std::string(kSmall) +
                                   "--dir d --reuse --workload 'settle, point-read 100ms @ 1k' "
                                   "--repeat-runs 2");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<std::string> expected = {"settle/settle", "point-read/measure", "settle/settle",
                                             "point-read/measure"};
  ASSERT_EQ(Names(), expected);
  EXPECT_EQ(phases_[3]["target_rate"], 1000);
}

TEST_F(PhasesTest, WhatHasNoLengthOrRateIsRefused) {
  const std::string small = "--engine btree --rows 1000 ";
  ExpectRefused(Run(small + "--workload 'insert 5s,point-read'"),
                "gives insert a length or a rate");
  ExpectRefused(Run(small + "--workload 'linkbench-load,linkbench-check 5s'"),
                "--workload gives linkbench-check a length of its own, and it ends by itself");
  ExpectRefused(Run(small + "--workload 'insert,point-read @ 5' --find-rate 'p99 < 5ms'"),
                "--find-rate");
  ExpectRefused(Run(small + "--workload 'insert,point-read @ 5' --queue-depth 4"), "--queue-depth");
  ExpectRefused(Run(small + "--workload 'insert,point-read 5s @ 1..5' --find-rate 'p99 < 5ms'"),
                "--find-rate");
  ExpectRefused(Run(small + "--workload 'insert,point-read 5s @ 1..5' --queue-depth 4"),
                "--queue-depth");
  ExpectRefused(Run(small + "--workload 'insert,point-read @ 1..5' --operations 5"),
                "--operations ends the phase; give it a length");
  ExpectRefused(Run(small + "--workload 'insert,point-read 2s @ 9^0 3s/9s'"),
                "the rate 9^0 3s/9s, which is less than one operation in its 2 seconds");
  ExpectRefused(Run(small + "--workload 'linkbench-load,linkbench-check @ 1..5'"),
                "--workload gives linkbench-check a rate that changes, and it ends");
  ExpectRefused(Run(small + "--workload 'insert,point-read ~2'"),
                "--workload gives point-read popular rows of its own, ~2, and it has none");
  ExpectRefused(Run(small + "--workload 'fillrandom,mixgraph ~2' --distribution zipfian"),
                "--workload gives mixgraph popular rows of its own, ~2, and it has none");
  for (const char* own : {"5s", "@ 1..5", "~2"}) {
    ExpectRefused(Run("ab --engine btree --a io=direct --b io=buffered --distribution zipfian "
                      "--workload 'point-read " +
                      std::string(own) + "'"),
                  "ab compares the last workload");
  }
  ExpectRefused(Run(small + "--workload insert,point-read,settle --record a.trace"), "--record");
  ExpectRefused(Run("ab --engine btree --a io=direct --b io=buffered --workload 'point-read 5s'"),
                "ab compares the last workload");
  EXPECT_TRUE(DirectoryIsEmpty());
}

}  // namespace
}  // namespace testbed
