// Tests that the memory of rocksdb's compressed secondary cache is in a counter of its own.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "engines/registry.h"
#include "tests/engine/engine_test.h"

#ifdef TESTBED_HAVE_ROCKSDB

namespace testbed {
namespace {

// Returns the counter after each row was read several times; 0 when there is none.
uint64_t CompressedBytes(Engine* engine, TableId table) {
  constexpr uint64_t kRows = 20000;
  const std::unique_ptr<Session> session = engine->NewSession();
  session->Begin();
  for (uint64_t row = 0; row < kRows; ++row) session->Put(table, RowKey(row), RowValue(row, 200));
  session->Commit();
  engine->Settle();
  // RocksDB puts a block there when the block cache has dropped it for the second time.
  std::string_view value;
  for (int pass = 0; pass < 4; ++pass) {
    for (uint64_t row = 0; row < kRows; ++row) session->Get(table, RowKey(row), &value);
  }
  for (const auto& [name, bytes] : engine->Counters().now) {
    if (name == "compressed_cache_bytes") return bytes;
  }
  return 0;
}

// Returns whether the release has such a cache (engines/rocksdb/versions.h); the tests are linked
// with all of them.
bool HasCompressedCache() {
  const std::string version = FindEngine("rocksdb").version;
  const int first = std::stoi(version), second = std::stoi(version.substr(version.find('.') + 1));
  return first > 7 || (first == 7 && second >= 4);
}

TEST(RocksdbCompressedCacheTest, ItsMemoryIsCounted) {
  if (!HasCompressedCache()) GTEST_SKIP() << "this release has none";
  std::string dir = std::filesystem::current_path() / "compressed_cache_test_XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  EngineOptions options = DefaultEngineOptions(FindEngine("rocksdb"));
  options.cache_bytes = 1 << 20;
  for (const char* bytes : {"0", "8M"}) {
    options.extra = {{"compressed_secondary_cache", bytes}};
    const std::unique_ptr<Engine> engine = OpenEngine("rocksdb", dir, options);
    const uint64_t held = CompressedBytes(engine.get(), engine->OpenTable("t"));
    if (std::string(bytes) == "0") {
      EXPECT_EQ(held, 0u);
      continue;
    }
    EXPECT_GT(held, 100u << 10);
    EXPECT_LT(held, 10 * kMiB);
  }
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_ROCKSDB
