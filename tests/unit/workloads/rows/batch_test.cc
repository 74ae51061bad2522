// Tests that a client prepares no more values at once than the memory of a run bears.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tests/unit/workloads/lying_engine.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

// Returns how many operations a client of the workload prepares when it is asked for 64.
size_t Prepared(const std::string& workload, const DatasetOptions& data,
                const WorkloadOptions& options) {
  LyingEngine engine;
  const std::unique_ptr<Session> session = engine.NewSession();
  const auto made = FindWorkload(workload).make(std::make_shared<const Dataset>(data), options);
  made->OpenTables(engine);
  return made->NewClient(*session, 0, 1)->Generate(64);
}

size_t Prepared(const std::string& workload, size_t value_size, const WorkloadOptions& options) {
  DatasetOptions data;
  data.rows = 10;
  data.value_size = value_size;
  return Prepared(workload, data, options);
}

TEST(BatchTest, LargeValuesArePreparedAFewAtATime) {
  WorkloadOptions updates;
  updates.mix = {{"update", 1}};
  EXPECT_EQ(Prepared("mixed", 1000, updates), 32u);
  EXPECT_EQ(Prepared("mixed", 300'000, updates), 3u);
  EXPECT_EQ(Prepared("mixed", 5'000'000, updates), 1u);
  WorkloadOptions puts;
  puts.extra = {{"mix_get_ratio", "0"}, {"mix_put_ratio", "1"}};
  EXPECT_EQ(Prepared("mixgraph", 100, puts), 64u);
  puts.extra["mix_max_value_size"] = "300000";
  EXPECT_EQ(Prepared("mixgraph", 100, puts), 3u);
}

class SizesOfAColumnTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(keys_); }
  // Returns a data set whose first `large` values have `bytes` bytes, and 5000 others 10.
  DatasetOptions Data(int large, int bytes) const {
    std::ofstream lines(keys_);
    for (int i = 0; i < large + 5000; ++i) lines << i << '\t' << (i < large ? bytes : 10) << '\n';
    DatasetOptions data;
    data.order = KeyOrder::kFile;
    data.keys_file = keys_;
    data.value_sizes = ValueSizes::kColumn;
    return data;
  }
  // A process reads a file of keys once, so each test has a file of its own.
  const std::string keys_ = testing::TempDir() + "testbed_batch_test_keys_" +
                            std::to_string(::getpid()) +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SizesOfAColumnTest, OneLargeValueDoesNotMakeEachBatchSmall) {
  WorkloadOptions updates;
  updates.mix = {{"update", 1}};
  EXPECT_GT(Prepared("mixed", Data(1, 20'000'000), updates), 1u);
}

TEST_F(SizesOfAColumnTest, LargeValuesAmongSmallOnesArePreparedAFewAtATime) {
  const DatasetOptions data = Data(100, 300'000);
  EXPECT_EQ(Prepared("insert", data, {}), 4u) << "a megabyte";
  // All updates are of the large values: the rows of the first keys.
  WorkloadOptions updates;
  updates.mix = {{"update", 1}};
  updates.distribution = Distribution::kHot;
  updates.hot_fraction = 0.01;
  EXPECT_EQ(Prepared("mixed", data, updates), 4u);
}

}  // namespace
}  // namespace testbed
