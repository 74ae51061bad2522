// Tests that the reports of a phase's seconds have all that its causes moved.
#include "tools/live/second_reporter.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "device/account/kernel_account.h"
#include "device/account/ledger.h"

namespace testbed {
namespace {

using nlohmann::json;

// A CountsOfOne has the requests that the test sets, all of one kind of operation.
class CountsOfOne : public KernelAccount {
 public:
  explicit CountsOfOne(OpKind op) : op_(op) {}
  void Attach(ThreadLedger*, int) override {}
  void Detach(ThreadLedger*, int) override {}
  void RegisterFile(uint64_t, uint64_t, FileKind) override {}
  bool RegisterJournal(uint64_t, uint64_t) override { return true; }
  void AddCounts(LedgerCounts* counts) const override {
    counts->ops[op_.id].kernel[static_cast<size_t>(FileKind::kData)] += counted;
  }

  BlockCounts counted;

 private:
  const OpKind op_;
};

// Once, a second whose requests added up to 0 was not reported, and its bytes were in no second.
TEST(SecondReporterTest, BytesWithoutARequestAreReported) {
  const OpKind op = DefineOp("checkpoint", Ground::kBackground);
  CountsOfOne account(op);
  Ledger::Get().Configure(AccountDepth::kKernel, &account);
  json line;
  SecondReporter reporter("mixed", {op}, {}, Ledger::Get().Counts(), [&line](const json& offered) {
    line = offered;
    return true;
  });
  Interval interval{};
  interval.counts = {0};
  interval.max_latency_ns = {0};
  const auto is_reported = [&](const BlockCounts& of_second) {
    account.counted += of_second;
    interval.end_seconds += 1;
    reporter.Second({interval.end_seconds, &interval, 0, -1});
    const SecondReport second = ParseSecond(line.at("second"));
    for (const SecondReport::Cause& cause : second.causes) {
      if (cause.name == "checkpoint") return cause.kernel == of_second;
    }
    return false;
  };
  EXPECT_FALSE(is_reported({}));
  EXPECT_TRUE(is_reported({.reads = 3, .read_bytes = 4096}));
  EXPECT_TRUE(is_reported({.write_bytes = 8192})) << "bios that joined waiting requests";
  EXPECT_TRUE(is_reported({.reads = ~uint64_t{0}, .writes = 1, .write_bytes = 4096}));
  Ledger::Get().Configure(AccountDepth::kFile, nullptr);
}

TEST(SecondReporterTest, APercentileThatTooFewOperationsTellIsNotReported) {
  const OpKind op = DefineOp("checkpoint", Ground::kBackground);
  json line;
  SecondReporter reporter("mixed", {op}, {}, Ledger::Get().Counts(), [&line](const json& offered) {
    line = offered;
    return true;
  });
  Interval interval{};
  interval.counts = {0};
  interval.max_latency_ns = {0};
  interval.p50_ns = 1000;
  interval.p99_ns = 2000;
  interval.p999_ns = 3000;
  interval.max_ns = 4000;
  const auto told = [&](uint64_t operations) {
    interval.end_seconds += 1;
    interval.operations = operations;
    reporter.Second({interval.end_seconds, &interval, 0, -1});
    return line.at("second").at("us");
  };
  EXPECT_EQ(told(20000), json::array({1.0, 2.0, 3.0, 4.0}));
  EXPECT_EQ(told(1000), json::array({1.0, 2.0, 0.0, 4.0}));
  EXPECT_EQ(told(999), json::array({1.0, 0.0, 0.0, 4.0}));
  EXPECT_EQ(told(19), json::array({0.0, 0.0, 0.0, 4.0}));
}

// Once, the write-back at the beginning of a phase was in its first second, and in no account.
TEST(SecondReporterTest, TheFirstSecondBeginsAtTheBorderOfThePhase) {
  const OpKind op = DefineOp("checkpoint", Ground::kBackground);
  CountsOfOne account(op);
  Ledger::Get().Configure(AccountDepth::kKernel, &account);
  account.counted += {.writes = 7, .write_bytes = 7 * 4096};
  const LedgerCounts border = Ledger::Get().Counts();
  account.counted += {.reads = 2, .read_bytes = 8192};  // as clients open their tables
  json line;
  SecondReporter reporter("mixed", {op}, {}, border, [&line](const json& offered) {
    line = offered;
    return true;
  });
  Interval interval{};
  interval.end_seconds = 1;
  interval.counts = {0};
  interval.max_latency_ns = {0};
  reporter.Second({interval.end_seconds, &interval, 0, -1});
  const SecondReport second = ParseSecond(line.at("second"));
  ASSERT_EQ(second.causes.size(), 1u);
  EXPECT_EQ(second.causes[0].name, "checkpoint");
  EXPECT_EQ(second.causes[0].kernel, (BlockCounts{.reads = 2, .read_bytes = 8192}));
  Ledger::Get().Configure(AccountDepth::kFile, nullptr);
}

}  // namespace
}  // namespace testbed
