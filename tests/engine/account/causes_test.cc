// Tests that flushes and compactions, which threads of a library perform, are each charged to their
// own kind.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "device/account/ledger.h"
#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

// The option that gives the engine a small memtable.
const std::map<std::string, std::string> kMemtable = {{"rocksdb", "write_buffer_size"},
                                                      {"pebble", "memtable_size"}};

class CausesTest : public AnyIoModeTest {
 public:
  static bool IsFor(const EngineCase& c) { return kMemtable.contains(c.engine); }
};

TEST_P(CausesTest, AFlushWritesEachRowAndACompactionReadsThemAgain) {
  constexpr uint64_t kRows = 12000, kSize = 300;
  options_.extra[kMemtable.at(info().name)] = "256k";
  Open();
  const OpKind load = DefineOp("causes-load", Ground::kForeground);
  const LedgerCounts before = Ledger::Get().Counts();
  {
    const IoScope scope(load);
    // The tables of level 0 overlap, so that none can be moved to level 1 as it is.
    for (uint64_t i = 0; i < kRows;) {
      session_->Begin();
      for (const uint64_t end = i + 100; i < end; ++i) {
        const uint64_t row = i * 7919 % kRows;
        Put(RowKey(row), RowValue(row, kSize));
      }
      session_->Commit();
    }
    engine_->Settle();
  }
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  const auto data = [&cost](OpKind op) {
    return cost.ops[op.id].file[static_cast<size_t>(FileKind::kData)];
  };
  EXPECT_GE(data(kFlush).write_bytes, kRows * kSize);
  EXPECT_GT(data(kCompaction).read_bytes, kRows * kSize / 2);
  EXPECT_GT(data(kCompaction).write_bytes, kRows * kSize / 2);
  EXPECT_EQ(data(kUnscoped).writes, 0u);
}

TESTBED_FOR_EVERY_ENGINE(CausesTest);

}  // namespace
}  // namespace testbed
