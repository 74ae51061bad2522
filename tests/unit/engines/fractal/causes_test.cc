// Tests that what the tree does for itself is not charged to the operation whose thread does it.
#include <cstddef>
#include <string>

#include "device/account/ledger.h"
#include "tests/unit/engines/fractal/small_store.h"

namespace testbed::fractal {
namespace {

class FractalCausesTest : public SmallStoreTest {};

// A put writes to the root's buffer, and to the log. Its thread flushes buffers, evicts nodes and
// takes the checkpoint here, as no other thread does anything.
TEST_F(FractalCausesTest, FlushesEvictionsAndCheckpointsAreNoPartOfAPut) {
  constexpr int kRows = 6000;
  options_.cache_bytes = 512 << 10;
  Open();
  const OpKind put = DefineOp("fractal-causes-put", Ground::kForeground);
  const LedgerCounts before = Ledger::Get().Counts();
  {
    const IoScope scope(put);
    for (int i = 0; i < kRows; ++i) {
      const std::string key = std::to_string(100000 + i * 7919 % kRows), value(500, 'v');
      const RowWrite op{false, tree_->table(), key, value};
      client_->Commit({&op, 1});
    }
    store_->Checkpoint();
  }
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  const auto data = [&cost](OpKind op) {
    return cost.ops[op.id].file[static_cast<size_t>(FileKind::kData)];
  };
  EXPECT_EQ(data(put).reads, 0u);
  EXPECT_EQ(data(put).writes, 0u);
  EXPECT_EQ(data(put).syncs, 0u);
  EXPECT_GT(data(kCompaction).reads, 0u);
  EXPECT_GT(data(kEviction).writes, 0u);
  EXPECT_GT(data(kCheckpoint).writes, 0u);
  EXPECT_GT(data(kCheckpoint).syncs, 0u);
  const FileCounts nobody = cost.ops[kUnscoped.id].FileTotal();
  EXPECT_EQ(nobody.reads + nobody.writes + nobody.syncs, 0u);
}

}  // namespace
}  // namespace testbed::fractal
