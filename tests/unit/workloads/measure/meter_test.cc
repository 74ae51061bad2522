#include "workloads/measure/meter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/account/operations.h"
#include "engines/engine.h"
#include "engines/registry.h"
#include "tests/unit/workloads/measure/map_engine.h"
#include "workloads/random.h"

namespace testbed {
namespace {

TEST(SteadyTest, TellsLevelFromMovingSeries) {
  Random random(5);
  std::vector<double> level, rising, falling, steps;
  for (int i = 0; i < 40; ++i) {
    const double noise = random.Unit() * 2 - 1;
    level.push_back(1000 + 20 * noise);
    rising.push_back(1000 + 20 * i + noise);
    falling.push_back(1000 - 10 * i + noise);
    steps.push_back((i < 30 ? 1000 : 700) + noise);
  }
  EXPECT_EQ(Steady(level), true);
  EXPECT_EQ(Steady(rising), false);
  EXPECT_EQ(Steady(falling), false);
  EXPECT_EQ(Steady(steps), false);
  EXPECT_EQ(Steady({1, 2, 3}), std::nullopt);
}

TEST(SteadyTest, ForgetsTheFirstHalf) {
  std::vector<double> warming;
  for (int i = 0; i < 40; ++i) warming.push_back(i < 20 ? 50 * i : 1000);
  EXPECT_EQ(Steady(warming), true);
}

TEST(PhaseAccountTest, TheBlocksOfChecksAreNotThoseOfOperations) {
  PhaseAccount account;
  account.LeaveOut({.checks = 10, .requests = 30, .misses = 5});
  EXPECT_FALSE(account.checks.has_value()) << "the engine counts no blocks";
  account.engine.block_requests = 60;
  account.engine.block_hits = 40;
  account.LeaveOut({});
  EXPECT_FALSE(account.checks.has_value()) << "its sessions count none";
  account.LeaveOut({.checks = 10, .requests = 30, .misses = 5});
  EXPECT_EQ(account.engine.block_requests, 30u);
  EXPECT_EQ(account.engine.block_hits, 15u);
  EXPECT_EQ(account.checks.value().requests, 30u);
  account.LeaveOut({.checks = 1, .requests = 100, .misses = 100});
  EXPECT_EQ(account.engine.block_requests, 0u);
  EXPECT_EQ(account.engine.block_hits, 0u);
}

// An engine may compute a counter from others that it does not read at the same moment.
TEST(MeterTest, ACounterThatFallsIsNoGrowthOfTwoToTheSixtyFour) {
  const std::unique_ptr<Engine> engine = FindEngine("null").open(".", {});
  const Meter meter(*engine, ".", AccountDepth::kFile, nullptr, false, false);
  Reading before, after;
  before.engine.block_requests = 100;
  before.engine.block_hits = 90;
  before.engine.more = {{"falls", 7}, {"grows", 7}};
  after.engine.block_requests = 130;
  after.engine.block_hits = 80;
  after.engine.block_reads = 5;
  after.engine.more = {{"falls", 6}, {"grows", 9}};
  const EngineCounters delta = meter.Account(before, after).engine;
  EXPECT_EQ(delta.block_requests, 30u);
  EXPECT_EQ(delta.block_hits, 0u);
  EXPECT_EQ(delta.block_reads, 5u);
  ASSERT_EQ(delta.more.size(), 2u);
  EXPECT_EQ(delta.more[0].second, 0u);
  EXPECT_EQ(delta.more[1].second, 2u);
}

TEST(MeterTest, ADeviceThatWasNotAtRestIsKnownWithoutCountsInTheKernel) {
  const std::unique_ptr<Engine> engine = FindEngine("null").open(".", {});
  const Meter meter(*engine, ".", AccountDepth::kDevice, nullptr, true, false);
  Reading before, after;
  before.device.emplace();
  after.device.emplace();
  EXPECT_TRUE(meter.Account(before, after).at_rest);
  after.at_rest = false;
  const PhaseAccount account = meter.Account(before, after);
  EXPECT_FALSE(account.at_rest);
  EXPECT_FALSE(account.closure.has_value());
}

// An engine with a setting that is dsync, such as that of its log. It has a name that the registry
// knows.
class DsyncEngine : public MapEngine {
 public:
  explicit DsyncEngine(std::string setting) : setting_(std::move(setting)) {}
  std::string name() const override { return "null"; }
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override {
    return {{"log_write_size", "4096"}, {setting_, "dsync"}};
  }

 private:
  const std::string setting_;
};

// A log that is written and not synced, as with --durability none, has no syncs.
TEST(MeterTest, AWriteOfTheLogCountsAsASyncWithODsyncAlone) {
  Reading before, after;
  FileCounts& log = after.ledger.ops[kUnscoped.id].file[static_cast<size_t>(FileKind::kLog)];
  log.writes = 500;
  log.write_bytes = 500 * 300;
  const std::unique_ptr<Engine> engine = FindEngine("null").open(".", {});
  const Meter meter(*engine, ".", AccountDepth::kFile, nullptr, false, false);
  const std::optional<LogWrites> unsynced = meter.Account(before, after).log;
  ASSERT_TRUE(unsynced.has_value() && unsynced->calls.has_value());
  EXPECT_EQ(unsynced->calls->writes, 500u);
  EXPECT_EQ(unsynced->calls->syncs, 0u);
  EXPECT_EQ(unsynced->calls->estimate_least_bytes, 500u * 300);
  log.syncs = 2;  // a new segment takes two
  const std::pair<const char*, uint64_t> kSyncs[] = {
      {"log_sync", 502}, {"transaction_sync.method", 502}, {"data_sync", 2}};
  for (const auto& [setting, syncs] : kSyncs) {
    DsyncEngine dsync(setting);
    const Meter of_dsync(dsync, ".", AccountDepth::kFile, nullptr, false, false);
    const std::optional<LogWrites> synced = of_dsync.Account(before, after).log;
    ASSERT_TRUE(synced.has_value() && synced->calls.has_value());
    EXPECT_EQ(synced->calls->syncs, syncs) << setting;
  }
  EXPECT_EQ(meter.Account(before, after).log.value().calls.value().syncs, 2u);
}

// Two readings between which an operation wrote some of each kind of file, and threads of others
// did.
class LogOfPhaseTest : public testing::Test {
 protected:
  LogOfPhaseTest() {
    LedgerCounts::Op& op = after_.ledger.ops[kUnscoped.id];
    LedgerCounts::Op& checkpoint = after_.ledger.ops[kCheckpoint.id];
    Of(op, FileKind::kLog) = 1000;
    Of(checkpoint, FileKind::kLog) = 200;
    Of(op, FileKind::kFsJournal) = 30;
    Of(op, FileKind::kFsMetadata) = 4;
    Of(op, FileKind::kData) = 100'000;
    Foreign(FileKind::kLog, 2000);
    Foreign(FileKind::kFsJournal, 70);
    Foreign(FileKind::kFsMetadata, 5);
    Foreign(FileKind::kData, 200'000);
  }
  static uint64_t& Of(LedgerCounts::Op& op, FileKind kind) {
    return op.kernel[static_cast<size_t>(kind)].write_bytes;
  }
  void Foreign(FileKind kind, uint64_t bytes) {
    LedgerCounts::Foreign foreign;
    foreign.thread = "jbd2";
    foreign.kind = kind;
    foreign.counts.write_bytes = bytes;
    after_.ledger.foreign.push_back(foreign);
  }
  // Counts writes of the log's files, by two kinds of operations, and one of a data file.
  void CountCalls() {
    constexpr auto kLog = static_cast<size_t>(FileKind::kLog);
    FileCounts& log = after_.ledger.ops[kUnscoped.id].file[kLog];
    log.writes = 10, log.write_bytes = 5000, log.syncs = 3;
    FileCounts& others = after_.ledger.ops[kCheckpoint.id].file[kLog];
    others.writes = 2, others.write_bytes = 192, others.syncs = 1;
    FileCounts& data = after_.ledger.ops[kUnscoped.id].file[static_cast<size_t>(FileKind::kData)];
    data.writes = 99, data.write_bytes = 99'000, data.syncs = 9;
  }
  // Returns what the log cost, as a meter tells it with or without the kernel account.
  std::optional<LogWrites> Log(bool kernel_account) const {
    const std::unique_ptr<Engine> engine = FindEngine("null").open(".", {});
    const Meter meter(*engine, ".", AccountDepth::kFile, nullptr, false, kernel_account);
    return meter.Account(before_, after_).log;
  }
  Reading before_, after_;
};

TEST_F(LogOfPhaseTest, TheDeviceWroteForItWhatAllThreadsDid) {
  CountCalls();
  const std::optional<LogWrites> log = Log(true);
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(log->device_bytes, 3200u);
  EXPECT_EQ(log->journal_bytes, 109u);
  EXPECT_EQ(log->bytes, 5192u);
  ASSERT_TRUE(log->calls.has_value());
  EXPECT_EQ(log->calls->writes, 12u);
  EXPECT_EQ(log->calls->syncs, 4u);
  EXPECT_EQ(log->calls->estimate_least_bytes, 4u * 4096);
}

TEST_F(LogOfPhaseTest, WithoutTheKernelAccountNothingIsToldOfTheDevice) {
  CountCalls();
  const std::optional<LogWrites> log = Log(false);
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(log->device_bytes, 0u);
  EXPECT_EQ(log->journal_bytes, 0u);
}

TEST_F(LogOfPhaseTest, WhatTheEngineSaysOfItsBytesComesFirst) {
  CountCalls();
  before_.engine.log_written_bytes = 1'000'000;
  after_.engine.log_written_bytes = 1'100'000;
  const std::optional<LogWrites> log = Log(true);
  ASSERT_TRUE(log.has_value() && log->calls.has_value());
  EXPECT_EQ(log->bytes, 100'000u);
  EXPECT_EQ(log->calls->estimate_least_bytes, 100'000u);
}

// InnoDB's calls are not counted, and the kernel tells what the device wrote for its log.
TEST_F(LogOfPhaseTest, WithoutCallsTheKernelTellsOfTheLog) {
  const std::optional<LogWrites> log = Log(true);
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(log->device_bytes, 3200u);
  EXPECT_FALSE(log->bytes.has_value());
  EXPECT_FALSE(log->calls.has_value());
}

TEST_F(LogOfPhaseTest, ALogThatNobodyWroteIsNone) {
  before_ = after_;
  EXPECT_FALSE(Log(true).has_value());
}

TEST(EngineCountersTest, OfAServerThatIsRepeatedTheCountersAreAddedOnce) {
  EngineCounters one;
  one.block_reads = 1;
  EngineCounters again = one;
  again.repeated = true;
  EXPECT_EQ(SumOfCounters({one, again, one}).block_reads, 2u);
}

TEST(EngineCountersTest, OfSeveralServersNothingIsKnownWhereOneDoesNotTell) {
  EngineCounters one;
  one.block_reads = 1;
  EXPECT_EQ(SumOfCounters({one, one}).block_reads, 2u);
  EXPECT_FALSE(SumOfCounters({one, std::nullopt}).block_reads.has_value());
}

TEST(EngineCountersTest, CountersOfSeveralServersAreAddedByName) {
  EngineCounters sum, more;
  sum.block_reads = 1;
  sum.more = {{"a", 1}};
  more.block_reads = 2;
  more.cache_bytes = 8;
  more.more = {{"a", 4}, {"b", 5}};
  more.now = {{"dirty", 6}};
  sum += more;
  EXPECT_EQ(sum.block_reads, 3u);
  EXPECT_EQ(sum.cache_bytes, 8u);
  EXPECT_FALSE(sum.block_hits.has_value());
  EXPECT_EQ(sum.more, (std::vector<std::pair<std::string, uint64_t>>{{"a", 5}, {"b", 5}}));
  EXPECT_EQ(sum.now, (std::vector<std::pair<std::string, uint64_t>>{{"dirty", 6}}));
}

}  // namespace
}  // namespace testbed
