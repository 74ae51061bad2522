// Tests that the workloads with several kinds of operation know which of them their options ask
// for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "workloads/registry.h"

namespace testbed {
namespace {

using testing::ElementsAre;

std::vector<std::string> Planned(const std::string& workload, const WorkloadOptions& options = {}) {
  DatasetOptions data;
  data.rows = 500;
  const auto made = FindWorkload(workload).make(std::make_shared<const Dataset>(data), options);
  std::vector<std::string> names;
  for (const OpKind op : made->planned_ops()) names.push_back(OpName(op));
  return names;
}

TEST(PlannedOpsTest, AreThoseWithAShare) {
  EXPECT_THAT(Planned("point-read"), ElementsAre("point-read"));
  EXPECT_THAT(Planned("mixed", {.mix = {{"erase", 5}, {"point-read", 95}, {"scan", 0}}}),
              ElementsAre("point-read", "erase"));
  EXPECT_THAT(Planned("ycsb-c"), ElementsAre("point-read"));
  EXPECT_THAT(Planned("ycsb-f"), ElementsAre("point-read", "read-modify-write"));
  EXPECT_THAT(Planned("readwhilewriting"), ElementsAre("point-read", "update"));
  EXPECT_EQ(Planned("linkbench").size(), 10u);
  EXPECT_THAT(Planned("mixgraph"), ElementsAre("point-read"));
  EXPECT_THAT(Planned("mixgraph", {.extra = {{"mix_seek_ratio", "1"}}}),
              ElementsAre("point-read", "scan"));
}

TEST(ChangesRowSizesTest, TellsWhichWorkloadsLeaveRowsOfAnotherMeanSize) {
  DatasetOptions data;
  data.rows = 500;
  const auto changes = [&](const std::string& workload, const WorkloadOptions& options) {
    return FindWorkload(workload)
        .make(std::make_shared<const Dataset>(data), options)
        ->changes_row_sizes();
  };
  const WorkloadOptions erases = {.mix = {{"erase", 5}, {"point-read", 95}}};
  EXPECT_FALSE(changes("mixed", erases)) << "all rows have one size";
  EXPECT_FALSE(changes("mixgraph", {})) << "it only reads";
  EXPECT_TRUE(changes("mixgraph", {.extra = {{"mix_put_ratio", "1"}}}));
  data.value_sizes = ValueSizes::kUniform;
  data.least_value = 10;
  data.most_value = 90;
  EXPECT_TRUE(changes("mixed", erases));
  EXPECT_FALSE(changes("mixed", {.mix = {{"update", 1}}}));
}

TEST(RunsInTasksTest, TellsWhichWorkloadsSeveralProcessesCanPerform) {
  DatasetOptions data;
  data.rows = 500;
  const auto runs = [&](const std::string& workload, const WorkloadOptions& options = {}) {
    return FindWorkload(workload)
        .make(std::make_shared<const Dataset>(data), options)
        ->runs_in_tasks();
  };
  EXPECT_TRUE(runs("point-read"));
  EXPECT_TRUE(runs("multi-get"));
  EXPECT_TRUE(runs("ycsb-d"));
  EXPECT_TRUE(runs("mixed", {.mix = {{"insert", 5}, {"point-read", 95}}}));
  EXPECT_FALSE(runs("mixed", {.mix = {{"erase", 5}, {"point-read", 95}}}));
  EXPECT_FALSE(runs("linkbench"));
  EXPECT_FALSE(runs("insert"));
}

}  // namespace
}  // namespace testbed
