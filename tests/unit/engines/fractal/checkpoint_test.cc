// Tests which state of a node a checkpoint holds when the node changes meanwhile, and what a failed
// write leaves.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>

#include "device/error.h"
#include "device/file/file_faults.h"
#include "engines/fractal/cache/meta.h"
#include "engines/fractal/tree/tree.h"
#include "tests/unit/engines/fractal/small_store.h"

namespace testbed::fractal {
namespace {

// A tree with only a cache around it, so that the test makes each step of a checkpoint itself.
class FractalBareTreeTest : public SmallStoreTest {
 protected:
  static constexpr uint64_t kNodeSize = 16 << 10;
  static constexpr int kRows = 3000;

  FractalBareTreeTest() {
    FileOptions options;
    options.kind = FileKind::kData;
    options.create = FileOptions::kTruncate;
    file_ = File::Open(dir_ + "/data", options);
    CacheOptions cache;
    cache.limit = 64 << 20;  // no node is evicted
    cache_ = std::make_unique<Cache>(file_.get(), &table_, &gate_, cache);
    const TreeEnv env{cache_.get(), &gate_, &counters_, {4096, kNodeSize, 4}, &root_limit_};
    bare_ = std::make_unique<Tree>(env, 1, Tree::CreateRoot(cache_.get(), 4096));
  }
  void Write(int row, bool erase) {
    bare_->MakeRoom(&reads_);
    const std::string key = std::to_string(100000 + row), value(erase ? 0 : 100, 'v');
    const Gate::Pass pass(&gate_);
    bare_->Insert({{++number_, erase, key, value}});
  }
  void FlushAll() {
    while (bare_->Clean(1, &reads_)) {
    }
  }
  // Returns the rows in the leaves of the checkpoint in progress.
  uint64_t RowsInProgress() {
    std::vector<TableEntry> tables;
    BlockTable::Blocks blocks;
    std::string why;
    EXPECT_TRUE(
        ParseTable(SerializeTables({}) + table_.SerializeInProgress(), &tables, &blocks, &why));
    uint64_t rows = 0;
    for (const auto& [block, place] : blocks) {
      std::string bytes(place.bytes, '\0');
      file_->Read(place.offset, bytes.data(), bytes.size());
      Node node(block);
      EXPECT_TRUE(ParseHeader(bytes.substr(0, place.header_bytes), place.bytes, &node, &why))
          << why;
      for (size_t i = 0; node.leaf() && i < node.parts.size(); ++i) {
        Part& part = node.parts[i];
        const std::string_view stored(bytes.data() + part.place.start, part.place.stored);
        EXPECT_TRUE(ParsePart(stored, part.place, block, true, &part, &why)) << why;
        rows += part.rows->count();
        if (i == 0) continue;
        EXPECT_EQ(part.rows->key(0).substr(0, node.pivots[i - 1].size()), node.pivots[i - 1]);
        EXPECT_NE(node.pivots[i - 1], "");
      }
    }
    return rows;
  }

  std::unique_ptr<File> file_;
  BlockTable table_{kFileBegin};
  Gate gate_;
  TreeCounters counters_;
  std::atomic<uint64_t> root_limit_{kNodeSize};
  std::unique_ptr<Cache> cache_;
  std::unique_ptr<Tree> bare_;
  ReadCounters reads_;
  uint64_t number_ = 0;
};

TEST_F(FractalBareTreeTest, ACheckpointHasLeavesAsTheyWereBeforeTheirMerge) {
  for (int i = 0; i < kRows; ++i) Write(i * 7919 % kRows, false);
  FlushAll();
  root_limit_ = 64 << 20;  // the erases wait in the root
  for (int row = 0; row < kRows; ++row) {
    if (row % 20 != 0) Write(row, true);
  }
  {
    const Gate::Close close(&gate_);
    cache_->BeginCheckpoint();
  }
  const uint64_t merges = counters_.merges.load();
  FlushAll();
  EXPECT_GT(counters_.merges.load(), merges + 5);
  cache_->WriteCheckpoint();
  EXPECT_EQ(RowsInProgress(), uint64_t{kRows});
}

// A thread that is held up between its commit and this question may meet a later checkpoint. The
// difference wrapped, and asked for one more checkpoint.
TEST(FractalLogGrowthTest, ACommitBeforeTheNewestCheckpointAsksForNone) {
  EXPECT_EQ(LogGrowth(100, 250), 150u);
  EXPECT_EQ(LogGrowth(100, 100), 0u);
  EXPECT_EQ(LogGrowth(100, 40), 0u);
}

class FractalWriteErrorTest : public SmallStoreTest {
 protected:
  FractalWriteErrorTest() {
    options_.durability = Durability::kSync;
    Open();
    Commit();
  }
  ~FractalWriteErrorTest() override { FileFaults::Clear(); }
  void Commit() {
    const RowWrite row{false, tree_->table(), "key", "value"};
    client_->Commit({&row, 1});
  }
};

TEST_F(FractalWriteErrorTest, ACheckpointThatCannotWriteEndsTheService) {
  FileFaults::Set(0, UINT64_MAX, EIO);
  EXPECT_THROW(store_->Checkpoint(), Error);
  EXPECT_GT(FileFaults::Clear(), 0u);
  EXPECT_THROW(Commit(), Error);
  EXPECT_THROW(store_->Checkpoint(), Error);
}

TEST_F(FractalWriteErrorTest, ANodeThatCannotBeWrittenEndsTheService) {
  FileFaults::Set(0, UINT64_MAX, EIO);
  EXPECT_THROW(store_->cache()->Write(store_->cache()->Find(tree_->root())), Error);
  FileFaults::Clear();
  EXPECT_THROW(Commit(), Error);
}

TEST_F(FractalWriteErrorTest, AFullDiskIsNoSuchError) {
  FileFaults::Set(0, UINT64_MAX, ENOSPC);
  EXPECT_THROW(store_->Checkpoint(), Error);
  EXPECT_THROW(store_->cache()->Write(store_->cache()->Find(tree_->root())), Error);
  EXPECT_GT(FileFaults::Clear(), 0u);
  Commit();
  store_->Checkpoint();
}

}  // namespace
}  // namespace testbed::fractal
