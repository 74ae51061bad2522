// Tests mixgraph by the real program: shares of its operations, answers, details, its rate, and
// that what it writes is known to other workloads.
#include <string>

#include "tests/cli/command.h"

namespace testbed {
namespace {

using nlohmann::json;

class MixgraphTest : public CommandTest {
 protected:
  json Phase(const std::string& words, const std::string& name) {
    const CommandResult result = Run(
        "--engine btree --ram 64M --rows 20000 --warmup 0 --account off --quiet --json run.json " +
        words);
    EXPECT_EQ(result.code, 0) << words << result.err;
    json found;
    const json document = Json("run.json");
    for (const json& phase : document["runs"].back()["phases"]) {
      if (phase["name"] == name) found = phase;
    }
    return found;
  }
};

TEST_F(MixgraphTest, OperationsHaveTheSharesOfTheModelAndEachAnswerIsRight) {
  const json phase = Phase(
      "--workload fillrandom,mixgraph,point-read --workload-option model=zippydb "
      "--workload-option draws=independent --verify all --threads 2 --operations 20000",
      "mixgraph");
  ASSERT_EQ(phase["operations"].size(), 3u);
  const double shares[] = {0.83, 0.14, 0.03};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(phase["operations"][i]["count"].get<double>() / 20000, shares[i], 0.01);
  }
  EXPECT_EQ(phase["not_found"], 0);
  EXPECT_EQ(phase["wrong"], 0);
  EXPECT_EQ(phase["verified"], 20000);
  EXPECT_EQ(phase["rows_inserted"], 0) << "an update of a row that is there";
  EXPECT_EQ(phase["details"]["keys"], "prefix_dist");
  EXPECT_NEAR(phase["details"]["mean_value_bytes"].get<double>(), 36, 5);
  // Rows with values of other sizes are right for other workloads, too.
  const json document = Json("run.json");
  const json& after = document["runs"].back()["phases"].back();
  EXPECT_EQ(after["name"], "point-read");
  EXPECT_EQ(after["verified"], 20000);
  EXPECT_EQ(after["wrong"], 0);
}

TEST_F(MixgraphTest, ItsDefaultsAreThoseOfDbBench) {
  const json phase = Phase("--workload fillseq,mixgraph --operations 500", "mixgraph");
  EXPECT_EQ(phase["threads"], 1);
  ASSERT_EQ(phase["operations"].size(), 1u);
  EXPECT_EQ(phase["operations"][0]["name"], "point-read");
  EXPECT_EQ(phase["details"]["keys"], "all_random");
  EXPECT_EQ(Json("run.json")["options"]["value_size"], 100);
}

// The values that mixgraph writes have other sizes than those of the load. Only the record tells
// later runs of them.
TEST_F(MixgraphTest, LaterRunsKnowThatValuesOfOtherSizesWereStored) {
  const std::string common =
      "--engine btree --ram 64M --rows 2000 --value-size 400 --account off --quiet --dir d "
      "--json run.json --operations 2000 --warmup 0 ";
  const std::string puts =
      "--workload-option mix_get_ratio=0 --workload-option mix_put_ratio=1 --workload ";
  const auto run = [&](const std::string& words) {
    const CommandResult result = Run(common + words);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json("run.json")["runs"][0].contains("other_sizes");
  };
  EXPECT_FALSE(run("--workload fillrandom,readrandom"));
  EXPECT_FALSE(run("--reuse --workload readrandom"));
  EXPECT_FALSE(run(puts + "mixgraph --reuse")) << "it began on rows of the load";
  EXPECT_TRUE(run("--reuse --workload readrandom"));
  EXPECT_TRUE(run("--reuse --workload readrandom")) << "the record keeps it";
  EXPECT_FALSE(run("--fresh --workload fillrandom,readrandom"));
}

TEST_F(MixgraphTest, TheSineIsAnOpenLoop) {
  const json phase = Phase(
      "--workload fillseq,mixgraph --threads 2 --seconds 0.5 --workload-option sine_mix_rate=on "
      "--workload-option sine_a=0 --workload-option sine_d=1000",
      "mixgraph");
  // No machine exceeds the rate, as a closed loop would by far. One that stalls at the end does
  // less.
  EXPECT_LE(phase["count"].get<double>(), 1000 * phase["seconds"].get<double>() + 10);
  EXPECT_GT(phase["count"], 100);
  EXPECT_TRUE(phase["operations"][0].contains("latency_from_intended_us"));
}

TEST_F(MixgraphTest, WhatItCannotDoIsRefused) {
  const std::string small = "--engine btree --rows 1000 --workload insert,mixgraph ";
  ExpectRefused(Run(small + "--workload-option value_sigma=wide"), "value_sigma");
  ExpectRefused(Run(small + "--workload-option mix_get_ratio=0"), "mix_get_ratio");
  ExpectRefused(Run(small + "--workload-option model=udb"), "zippydb");
  ExpectRefused(Run(small + "--workload-option keyrange_num=2000 --workload-option "
                            "keyrange_dist_a=1"),
                "keyrange_num 2000 is more than the rows");
  ExpectRefused(Run(small + "--workload-option sine_mix_rate=on --workload-option sine_a=0 "
                            "--workload-option sine_d=0"),
                "sine_a to sine_d give a rate that is never above 0");
  ExpectRefused(Run(small + "--workload-option sine_mix_rate=on --rate 5"),
                "--rate gives mixgraph a rate");
  EXPECT_TRUE(DirectoryIsEmpty());
}

}  // namespace
}  // namespace testbed
