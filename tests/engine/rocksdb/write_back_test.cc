// Tests that rocksdb refuses options of write-back which the run leaves without effect.
#include <gtest/gtest.h>

#include <string>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"

#ifdef TESTBED_HAVE_ROCKSDB

namespace testbed {
namespace {

TEST(RocksdbWriteBackTest, ADistanceWithoutEffectIsRefused) {
  const EngineInfo& info = FindEngine("rocksdb");
  EngineOptions options = DefaultEngineOptions(info);
  options.io = IoMode::kDirect;
  options.durability = Durability::kNone;
  for (const std::string name : {"bytes_per_sync", "wal_bytes_per_sync"}) {
    const auto refusal = [&] {
      return ErrorOf(Error::kUsage, [&] { CheckEngineOptions(info, options); });
    };
    const std::string refused = " " + name + "=4194304 with --";
    options.extra = {{name, "4M"}};
    EXPECT_NE(refusal().find(refused), std::string::npos) << refusal();
    options.extra = {{"options", name + "=4M"}};
    EXPECT_NE(refusal().find(refused), std::string::npos) << refusal();
    options.extra[name] = "0";
    CheckEngineOptions(info, options);
  }
  options.extra = {{"wal_bytes_per_sync", "4M"}};
  options.durability = Durability::kLazy;
  CheckEngineOptions(info, options);
  options.extra = {{"bytes_per_sync", "4M"}};
  options.io = IoMode::kBuffered;
  CheckEngineOptions(info, options);
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_ROCKSDB
