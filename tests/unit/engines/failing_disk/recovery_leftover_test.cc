// Tests that the next recovery removes all files that an interrupted one left.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/btree/store/store.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::btree {
namespace {

namespace fs = std::filesystem;

class BtreeRecoveryLeftoverTest : public testing::Test {
 protected:
  BtreeRecoveryLeftoverTest() {
    std::string pattern = fs::current_path() / "recovery_leftover_XXXXXX";
    base_ = ::mkdtemp(pattern.data());
    dir_ = base_ + "/disk";
    crashed_ = base_ + "/crashed";
    options_.durability = Durability::kSync;
    options_.cache_bytes = 32 << 20;
    options_.checkpoint_log_bytes = 256 << 20;
  }
  ~BtreeRecoveryLeftoverTest() override { fs::remove_all(base_); }

  // Makes a database whose log has more than recovery keeps in memory, as a killed process leaves
  // it.
  void MakeCrashed() {
    fs::create_directories(dir_);
    const auto store = Store::Open(dir_ + "/db", options_);
    const Tree* table = store->OpenTable("t");
    StoreClient client(store.get());
    const std::string value(1000, 'v');
    for (int n = 0; n < 80; ++n) {
      std::vector<std::string> keys;
      for (int i = 0; i < 100; ++i) keys.push_back("key" + std::to_string(n * 100 + i));
      std::vector<RowWrite> rows;
      for (const std::string& key : keys) rows.push_back({false, table->table(), key, value});
      client.Commit(rows);
    }
    fs::copy(dir_, crashed_, fs::copy_options::recursive);
  }
  void Restore() {
    fs::remove_all(dir_);
    fs::copy(crashed_, dir_, fs::copy_options::recursive);
  }

  std::string base_, dir_, crashed_;
  StoreOptions options_;
};

TEST_F(BtreeRecoveryLeftoverTest, NoTemporaryFileOutlivesTheNextOpening) {
  MakeCrashed();
  options_.create = false;
  Restore();
  uint64_t calls = 0;
  {
    FailingDisk disk(dir_);
    const auto store = Store::Open(dir_ + "/db", options_);
    calls = disk.all_calls();
  }
  for (uint64_t before = 0; before < 24; before += 4) {
    Restore();
    const std::string cut = base_ + "/cut";
    {
      FailingDisk disk(dir_);
      disk.CutAfter(calls - before, before);
      try {
        Store::Open(dir_ + "/db", options_);
      } catch (const Error&) {
      }
      disk.Cut(before);
      disk.CopyTo(cut);
    }
    Store::Open(cut + "/db", options_);
    EXPECT_FALSE(fs::exists(cut + "/db/btree.replay")) << before << " calls before the end";
  }
}

}  // namespace
}  // namespace testbed::btree
