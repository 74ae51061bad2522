// Tests that the account of files forgets the tables that RocksDB removes.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "device/account/kernel_account.h"
#include "device/account/ledger.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"

#ifdef TESTBED_HAVE_ROCKSDB

namespace testbed {
namespace {

namespace fs = std::filesystem;

// A ledger tells its kernel account each file. This account remembers the data files.
class DataFileNumbers : public KernelAccount {
 public:
  void Attach(ThreadLedger*, int) override {}
  void Detach(ThreadLedger*, int) override {}
  void RegisterFile(uint64_t, uint64_t inode, FileKind kind) override {
    if (kind == FileKind::kData) numbers_.insert(inode);
  }
  bool RegisterJournal(uint64_t, uint64_t) override { return true; }
  void AddCounts(LedgerCounts*) const override {}
  const std::set<uint64_t>& numbers() const { return numbers_; }

 private:
  std::set<uint64_t> numbers_;
};

std::set<uint64_t> KnownDataFiles() {
  DataFileNumbers account;
  Ledger& ledger = Ledger::Get();
  const AccountDepth depth = ledger.depth();
  ledger.Configure(AccountDepth::kKernel, &account);
  ledger.Configure(depth, nullptr);
  return account.numbers();
}

// RocksDB closes a table before it removes it, by its own file system.
TEST(RocksdbRemovedFileTest, TheAccountForgetsATableThatACompactionRemoved) {
  std::string dir = fs::current_path() / "rocksdb_removed_XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  const std::set<uint64_t> before = KnownDataFiles();
  EngineOptions options;
  options.cache_bytes = 8 << 20;
  {
    const std::unique_ptr<Engine> engine = OpenEngine("rocksdb", dir, options);
    const std::unique_ptr<Session> session = engine->NewSession();
    const TableId table = engine->OpenTable("t");
    for (int turn = 0; turn < 3; ++turn) {
      for (uint64_t row = 0; row < 500; ++row) {
        session->Put(table, RowKey(row), RowValue(row, 200));
      }
      engine->Settle();
    }
  }
  std::set<uint64_t> there;
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    struct stat st;
    if (::stat(entry.path().c_str(), &st) == 0) there.insert(st.st_ino);
  }
  uint64_t tables = 0;
  for (const uint64_t number : KnownDataFiles()) {
    if (before.contains(number)) continue;
    ++tables;
    EXPECT_TRUE(there.contains(number)) << number;
  }
  EXPECT_GT(tables, 0u);
  fs::remove_all(dir);
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_ROCKSDB
