// Tests what the sampler of a phase's intervals tells of other programs.
#include "workloads/measure/interval_surroundings.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "device/account/kernel_account.h"
#include "device/account/ledger.h"

namespace testbed {
namespace {

// A CountsOfOthers has the requests of foreign threads that the test sets.
class CountsOfOthers : public KernelAccount {
 public:
  void Attach(ThreadLedger*, int) override {}
  void Detach(ThreadLedger*, int) override {}
  void RegisterFile(uint64_t, uint64_t, FileKind) override {}
  bool RegisterJournal(uint64_t, uint64_t) override { return true; }
  void AddCounts(LedgerCounts* counts) const override {
    counts->foreign.push_back({"cp", FileKind::kOtherFile, other_program});
    counts->foreign.push_back({"kworker", FileKind::kData, {.writes = 1000}});
  }

  BlockCounts other_program{.reads = 70, .read_bytes = 7000};
};

// Once, requests of other programs were known of the whole account alone, which ends with the
// write-back behind the phase.
TEST(IntervalSurroundingsTest, AnIntervalHasWhatOtherProgramsDidInIt) {
  CountsOfOthers account;
  Ledger::Get().Configure(AccountDepth::kKernel, &account);
  IntervalSurroundings surroundings(AccountDepth::kKernel, nullptr, nullptr);
  Interval interval{};
  surroundings.Sample(&interval);
  EXPECT_EQ(interval.other_programs, BlockCounts{}) << "they came before";
  account.other_program += {.reads = 3, .read_bytes = 300, .writes = 2, .write_bytes = 20};
  surroundings.Sample(&interval);
  const BlockCounts expected{.reads = 3, .read_bytes = 300, .writes = 2, .write_bytes = 20};
  EXPECT_EQ(interval.other_programs, expected);
  surroundings.Sample(&interval);
  EXPECT_EQ(interval.other_programs, BlockCounts{});
  Ledger::Get().Configure(AccountDepth::kFile, nullptr);
}

}  // namespace
}  // namespace testbed
