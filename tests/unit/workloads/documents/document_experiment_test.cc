// Tests which cells of an experiment share a load, with the document workloads.
#include <gtest/gtest.h>

#include "tools/experiment/experiment.h"
#include "tools/experiment/plan/plan.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

constexpr char kText[] = R"toml(
name = "loads"
title = "Loads"
[options]
workload = "document-load,document-query"
engine = "btree"
rows = 100
ram = "64M"
[scale.small]
[[axis]]
name = "device"
values = [ { label = "a", scratch = "128M,ext4" }, { label = "b", scratch = "128M,xfs" } ]
[[axis]]
name = "format"
values = [
  { label = "bson", workload-option = { format = "bson" } },
  { label = "cbor", workload-option = { format = "cbor" } },
]
[[axis]]
name = "access"
values = [
  { label = "whole", workload-option = { access = "whole" } },
  { label = "needed", workload-option = { access = "needed" } },
]
[metrics]
qps = "document_query.rate"
)toml";

TEST(DocumentExperimentTest, ALoadIsSharedUnlessItsOwnOptionsOrItsDeviceDiffer) {
  const std::vector<Cell> cells =
      PlanCells(ParseExperiment(kText, "test"), {"small", {}, {}, {}, 1});
  ASSERT_EQ(cells.size(), 8u);  // the axes are device, format and access, which varies fastest
  for (const Cell& cell : cells) EXPECT_TRUE(cell.runs()) << cell.name << " " << cell.skipped;
  EXPECT_EQ(cells[0].load_key, cells[1].load_key) << "how a query reads makes no other database";
  EXPECT_NE(cells[0].load_key, cells[2].load_key) << "another format does";
  EXPECT_NE(cells[0].load_key, cells[4].load_key) << "another device holds another one";
}

TEST(DocumentExperimentTest, AWorkloadIsGivenItsOwnOptionsOnly) {
  const std::map<std::string, std::string> all = {{"format", "bson"}, {"access", "needed"}};
  EXPECT_EQ(OptionsOfWorkloads(all, {"document-load"}),
            (std::map<std::string, std::string>{{"format", "bson"}}));
  EXPECT_EQ(OptionsOfWorkloads(all, {"document-query"}), all);
  EXPECT_TRUE(OptionsOfWorkloads(all, {"insert"}).empty());
}

TEST(DocumentExperimentTest, AWorkloadIsGivenEachOptionThatItKnows) {
  for (const WorkloadInfo& info : Workloads()) {
    for (const auto* known : {&info.extra_options, &info.run_options}) {
      for (const auto& [name, meaning] : *known) {
        const std::map<std::string, std::string> one = {{name, "1"}};
        EXPECT_EQ(OptionsOfWorkloads(one, {info.name}), one) << info.name;
      }
    }
  }
}

}  // namespace
}  // namespace testbed
