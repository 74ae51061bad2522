// Tests that what PostgreSQL reads for a client is charged to the client's operation, and is what
// the server itself counts.
#ifdef TESTBED_HAVE_POSTGRES
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/page_cache.h"
#include "engines/registry.h"
#include "tests/engine/account/closure_test.h"
#include "tests/engine/setting_in_force.h"

namespace testbed {
namespace {

class ServedProcessTest : public ClosureTest {
 protected:
  void SetUp() override {
    options_ = DefaultEngineOptions(FindEngine("postgres"));
    options_.durability = Durability::kNone;
    options_.cache_bytes = 48 * kMiB;  // it holds all blocks, so that each is read once
    options_.extra = {
        {"autovacuum", "off"}, {"checkpoint_log_bytes", "32M"}, {"wal_segment_size", "1M"}};
    try {
      CheckEngineOptions(FindEngine("postgres"), options_);
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
    // The cluster is a copy of one that is made once, as in the other tests of engines.
    const std::string templates = std::filesystem::current_path() / "engine_test_templates";
    ::setenv("TESTBED_SERVER_TEMPLATES", templates.c_str(), 1);
    ClosureTest::SetUp();
  }
  std::unique_ptr<Engine> OpenServer() const {
    return OpenEngine("postgres", scratch_->path() + "/db", options_);
  }
  EngineOptions options_;
};

TEST_P(ServedProcessTest, ReadsOfAnOperationAreThoseThatTheServerCounts) {
  constexpr uint64_t kRows = 20000;
  const OpKind read = DefineOp("served-process-read", Ground::kForeground);
  std::unique_ptr<Engine> engine = OpenServer();
  if (std::atoi(SettingInForce(*engine, "version").c_str()) < 15) {
    GTEST_SKIP() << "before 15 the server tells its counts up to a second later";
  }
  TableId table = engine->OpenTable("default");
  std::unique_ptr<Session> session = engine->NewSession();
  for (uint64_t row = 0; row < kRows;) {
    session->Begin();
    for (const uint64_t end = row + 100; row < end; ++row) {
      session->Put(table, RowKey(row), RowValue(row, 400));
    }
    session->Commit();
  }
  session.reset();
  engine->Settle();
  engine.reset();
  // The page cache holds nothing, and the kernel reads no more than it is asked for.
  std::ofstream(scratch_->device().sysfs() + "/queue/read_ahead_kb") << 0;
  if (DropPages(scratch_->path()).after.cached != 0) GTEST_SKIP() << "pages cannot be dropped here";
  engine = OpenServer();
  table = engine->OpenTable("default");
  // What sessions read of the catalogue is in the server's cache from here on.
  session = engine->NewSession();
  std::string_view value;
  ASSERT_TRUE(session->Get(table, RowKey(0), &value));
  session.reset();
  (void)engine->Counters();
  (void)engine->Counters();
  const uint64_t before = engine->Counters().block_reads.value_or(0);
  const Balance cost = Cost([&] {
    session = engine->NewSession();
    std::mt19937_64 random(302);
    for (int i = 0; i < 1000; ++i) {
      const IoScope scope(read);
      ASSERT_TRUE(session->Get(table, RowKey(random() % kRows), &value));
    }
    session.reset();
  });
  const uint64_t counted = engine->Counters().block_reads.value_or(0) - before;
  const BlockCounts& charged =
      cost.ledger.ops[read.id].kernel[static_cast<size_t>(FileKind::kData)];
  EXPECT_GT(counted, 300u);
  const auto bytes = static_cast<double>(counted * kPage);
  EXPECT_NEAR(static_cast<double>(charged.read_bytes), bytes, bytes / 1000 + 2 * kPage);
}

INSTANTIATE_TEST_SUITE_P(FileSystems, ServedProcessTest, testing::Values(FileSystem::kExt4));

}  // namespace
}  // namespace testbed
#endif
