// Tests that an operation includes the use of its answer. An engine may read the value only when
// the client uses it; that IO must be charged to the operation, and not to a later verification.
#include <fmt/format.h>

#include <cmath>

#include "tests/cli/command.h"

namespace testbed {
namespace {

using nlohmann::json;

class ConsumeTest : public CommandTest {
 protected:
  // Returns the last phase of a run; null when the machine has no kernel account.
  json LastPhase(const std::string& options) {
    const CommandResult result = Run(options + " --quiet --json run.json");
    EXPECT_EQ(result.code, 0) << result.err;
    if (result.code != 0) return {};
    const json run = Json("run.json")["runs"].back();
    if (!run["accounting"]["kernel_account"]) return {};
    return run["phases"].back();
  }
  static uint64_t ReadBytes(const json& phase, const std::string& cause) {
    for (const json& c : phase["account"]["causes"]) {
      if (c["name"] == cause) return c["kernel"]["read_bytes"];
    }
    return 0;
  }
  static uint64_t AllReadBytes(const json& phase) {
    uint64_t bytes = 0;
    for (const json& c : phase["account"]["causes"]) {
      bytes += c["kernel"]["read_bytes"].get<uint64_t>();
    }
    return bytes;
  }
};

// lmdb answers with a pointer into its mapping. The reads must be charged to the operation, and
// their number must not depend on how many answers are verified.
TEST_F(ConsumeTest, ChecksDoNotReadForTheOperation) {
  if (!HasEngine("lmdb")) GTEST_SKIP() << "no lmdb here";
  if (geteuid() != 0) GTEST_SKIP() << "who read is known to root only";
  const std::string common =
      "--engine lmdb --dir db --ram 32M --rows 8000 --value-size 16000 --threads 1 ";
  ASSERT_EQ(
      Run(common + "--workload insert --rows-per-transaction 100 --durability none --quiet").code,
      0);
  double reads_unchecked = 0;
  for (const std::string verify : {"none", "sample", "all"}) {
    const json phase = LastPhase(common + "--reuse --workload point-read --operations 2000 " +
                                 "--drop-caches --mmap-advice random --verify " + verify);
    if (phase.is_null()) GTEST_SKIP() << "no kernel account here";
    const double own = static_cast<double>(ReadBytes(phase, "point-read"));
    EXPECT_GE(own, 2000 * 16000 * 0.6) << verify;
    EXPECT_GE(own, 0.99 * static_cast<double>(AllReadBytes(phase))) << verify;
    EXPECT_EQ(phase["verified"], verify == "none" ? 0 : verify == "all" ? 2000 : 31);
    if (reads_unchecked == 0) reads_unchecked = own;
    EXPECT_LE(std::abs(own / reads_unchecked - 1), 0.02) << verify;
  }
}

TEST_F(ConsumeTest, ScansReadTheRowsTheyReturn) {
  if (geteuid() != 0) GTEST_SKIP() << "who read is known to root only";
  for (const std::string engine :
       {"rocksdb", "wiredtiger", "btree", "lmdb", "innodb", "fractal", "mmapv1", "sqlite", "mdbx",
        "pebble", "bf-tree", "mysql", "postgres"}) {
    if (!HasEngine(engine)) continue;
    // A server takes memory for itself, and long to begin.
    const bool server = FindEngine(engine).capabilities.server;
    const bool like_another = engine == "mdbx" || engine == "bf-tree";
    if ((server || like_another) && !EveryWay()) continue;
    const std::string common = fmt::format("{} --dir {}.db --ram {} --rows 15000 ",
                                           EngineWords(engine), engine, server ? "192M" : "96M");
    const CommandResult load = Run(
        common + "--workload insert --threads 2 --rows-per-transaction 100 --account off --quiet");
    ASSERT_EQ(load.code, 0) << load.err;
    const json phase = LastPhase(common +
                                 "--reuse --threads 1 --workload mixed --mix scan=1 --scan-rows "
                                 "500 --operations 5 --drop-caches");
    if (phase.is_null()) GTEST_SKIP() << "no kernel account here";
    ASSERT_GT(phase["rows_read"], 1000) << engine;
    EXPECT_GE(AllReadBytes(phase), phase["rows_read"].get<uint64_t>() * 416) << engine;
  }
}

TEST_F(ConsumeTest, WhatIsDoneWithAnAnswerIsRecordedAndCosts) {
  const auto harness_ns = [&](const std::string& consume) {
    const CommandResult result =
        Run("--engine null --rows 1000 --value-size 64000 --threads 1 --operations 1000 "
            "--workload insert,point-read --ram 0 --account file --quiet --json "
            "run.json --consume " +
            consume);
    EXPECT_EQ(result.code, 0) << result.err;
    const json document = Json("run.json");
    EXPECT_EQ(document["options"]["consume"], consume);
    return document["runs"][0]["accounting"]["harness_ns_per_operation"].get<double>();
  };
  const double none = harness_ns("none");
  EXPECT_GT(harness_ns("touch"), none + 100);  // touching the values takes time
  EXPECT_GT(harness_ns("copy"), none + 300);
  ExpectRefused(Run("--engine null --consume all"), "touch, copy, none");
}

}  // namespace
}  // namespace testbed
