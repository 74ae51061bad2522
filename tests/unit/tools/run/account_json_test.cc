// Tests the account of a phase as JSON: each count must be under its own name.
#include <gtest/gtest.h>

#include <cstddef>

#include "device/account/ledger.h"
#include "tools/run/run_json.h"

namespace testbed {
namespace {

using nlohmann::json;

// Two figures that change places, or one that is left out, show where no two are equal.
TEST(AccountJsonTest, OfACauseNoCountStandsUnderTheNameOfAnother) {
  const OpKind read = DefineOp("point-read", Ground::kForeground);
  PhaseAccount account;
  account.counts_files = account.counts_in_kernel = true;
  LedgerCounts::Op& counts = account.ledger.ops[read.id];
  const auto log = static_cast<size_t>(FileKind::kLog);
  counts.operations = 12;
  counts.file[log] = {.reads = 1, .read_bytes = 2, .writes = 3, .write_bytes = 4, .syncs = 5};
  counts.kernel[log] = {.reads = 6, .read_bytes = 7, .writes = 8, .write_bytes = 9};
  counts.kernel[log].flushes = 10;
  counts.kernel[log].readahead = 11;
  const json j = AccountJson(account);
  ASSERT_EQ(j["causes"].size(), 1u);
  const json& cause = j["causes"][0];
  EXPECT_EQ(cause["operations"], 12);
  EXPECT_EQ(cause["ground"], "foreground");
  EXPECT_EQ(
      cause["file"],
      json({{"reads", 1}, {"read_bytes", 2}, {"writes", 3}, {"write_bytes", 4}, {"syncs", 5}}));
  EXPECT_EQ(cause["kernel"], json({{"reads", 6},
                                   {"read_bytes", 7},
                                   {"writes", 8},
                                   {"write_bytes", 9},
                                   {"flushes", 10},
                                   {"readahead_reads", 11}}));
  EXPECT_EQ(cause["file_by_kind"], json({{"log", cause["file"]}}));
  EXPECT_EQ(cause["kernel_by_kind"], json({{"log", cause["kernel"]}}));
}

TEST(AccountJsonTest, OfADeviceNoCountStandsUnderTheNameOfAnother) {
  PhaseAccount account;
  account.device = DeviceStats{.reads = 1, .read_merges = 2, .read_bytes = 3, .read_ms = 4};
  account.device->writes = 5;
  account.device->write_merges = 6;
  account.device->write_bytes = 7;
  account.device->write_ms = 8;
  account.device->discards = 9;
  account.device->discard_bytes = 10;
  account.device->flushes = 11;
  EXPECT_EQ(AccountJson(account)["device"], json({{"reads", 1},
                                                  {"read_merges", 2},
                                                  {"read_bytes", 3},
                                                  {"read_ms", 4},
                                                  {"writes", 5},
                                                  {"write_merges", 6},
                                                  {"write_bytes", 7},
                                                  {"write_ms", 8},
                                                  {"discards", 9},
                                                  {"discard_bytes", 10},
                                                  {"flushes", 11}}));
}

TEST(AccountJsonTest, OfAnAccountNoCountStandsUnderTheNameOfAnother) {
  PhaseAccount account;
  account.counts_in_kernel = true;
  account.log = LogWrites{.bytes = 1, .device_bytes = 2, .journal_bytes = 3};
  account.log->calls =
      LogWrites::Calls{.writes = 4, .syncs = 5, .estimate_least_bytes = 6, .estimate_bytes = 7};
  account.checks = CheckBlocks{.checks = 8, .requests = 9, .misses = 10};
  account.closure = Closure{.reads = 11, .read_bytes = 12, .writes = 13, .write_bytes = 14};
  account.cpu_user_seconds = 15;
  account.cpu_system_seconds = 16;
  account.process_read_bytes = 17;
  account.process_write_bytes = 18;
  account.major_faults = 19;
  account.context_switches = 20;
  const json j = AccountJson(account);
  EXPECT_EQ(j["log"], json({{"bytes", 1},
                            {"device_bytes", 2},
                            {"journal_bytes", 3},
                            {"writes", 4},
                            {"syncs", 5},
                            {"estimate_least_bytes", 6},
                            {"estimate_bytes", 7}}));
  EXPECT_EQ(j["checks"], json({{"count", 8}, {"block_requests", 9}, {"block_misses", 10}}));
  EXPECT_EQ(j["closure"], json({{"reads", 11},
                                {"read_bytes", 12},
                                {"writes", 13},
                                {"write_bytes", 14},
                                {"at_rest", true}}));
  EXPECT_EQ(j["cpu_user_seconds"], 15);
  EXPECT_EQ(j["cpu_system_seconds"], 16);
  EXPECT_EQ(j["process_read_bytes"], 17);
  EXPECT_EQ(j["process_write_bytes"], 18);
  EXPECT_EQ(j["major_faults"], 19);
  EXPECT_EQ(j["context_switches"], 20);
}

TEST(AccountJsonTest, OfAnEngineNoCounterStandsUnderTheNameOfAnother) {
  PhaseAccount account;
  EngineCounters& engine = account.engine;
  engine.block_requests = 1;
  engine.block_hits = 2;
  engine.block_reads = 3;
  engine.block_read_bytes = 4;
  engine.blocks_written = 5;
  engine.block_write_bytes = 6;
  engine.log_payload_bytes = 7;
  engine.log_written_bytes = 8;
  engine.cache_bytes = 9;
  engine.more = {{"own", 10}};
  engine.now = {{"dirty", 11}};
  EXPECT_EQ(AccountJson(account)["engine"], json({{"block_requests", 1},
                                                  {"block_hits", 2},
                                                  {"block_reads", 3},
                                                  {"block_read_bytes", 4},
                                                  {"blocks_written", 5},
                                                  {"block_write_bytes", 6},
                                                  {"log_payload_bytes", 7},
                                                  {"log_written_bytes", 8},
                                                  {"cache_bytes", 9},
                                                  {"more", {{"own", 10}}},
                                                  {"now", {{"dirty", 11}}}}));
}

}  // namespace
}  // namespace testbed
