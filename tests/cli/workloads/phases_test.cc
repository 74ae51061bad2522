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
  ExpectRefused(Run(small + "--workload insert,point-read,settle --record a.trace"), "--record");
  ExpectRefused(Run("ab --engine btree --a io=direct --b io=buffered --workload 'point-read 5s'"),
                "ab compares the last workload");
  EXPECT_TRUE(DirectoryIsEmpty());
}

}  // namespace
}  // namespace testbed
