// Tests that a client prepares no more values at once than the memory of a run bears.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/workloads/lying_engine.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

// Returns how many operations a client of the workload prepares when it is asked for 64.
size_t Prepared(const std::string& workload, size_t value_size, const WorkloadOptions& options) {
  DatasetOptions data;
  data.rows = 10;
  data.value_size = value_size;
  LyingEngine engine;
  const std::unique_ptr<Session> session = engine.NewSession();
  const auto made = FindWorkload(workload).make(std::make_shared<const Dataset>(data), options);
  made->OpenTables(engine);
  return made->NewClient(*session, 0, 1)->Generate(64);
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

}  // namespace
}  // namespace testbed
