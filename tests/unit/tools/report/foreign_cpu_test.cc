#include "tools/report/foreign_cpu.h"

#include <gtest/gtest.h>

namespace testbed {
namespace {

using nlohmann::json;

json PhaseWithShare(const std::string& name, const std::string& kind, const json& share) {
  return {{"name", name}, {"kind", kind}, {"foreign_cpu_share", share}};
}

json DocumentOf(const std::vector<json>& phases) {
  json document = {{"runs", json::array()}};
  for (const json& phase : phases) document["runs"].push_back({{"phases", {phase}}});
  return document;
}

TEST(ForeignCpuTest, TheLineNamesThePhasesAndTheLargestShare) {
  EXPECT_EQ(ForeignCpuLine(DocumentOf({PhaseWithShare("insert", "load", 0.05),
                                       PhaseWithShare("scan", "measure", 0.04),
                                       PhaseWithShare("point-read", "measure", 0.43),
                                       PhaseWithShare("point-read", "measure", 0.2),
                                       PhaseWithShare("mixed", "measure", nullptr)})),
            "! other programs used up to 43 % of the processors in user mode during insert, "
            "point-read: rates and times are not the engine's alone\n");
}

TEST(ForeignCpuTest, OfSeveralTasksTheBusiestHostCounts) {
  json document = DocumentOf({PhaseWithShare("mixed", "measure", 0.0)});
  document["runs"][0]["phases"][0]["tasks"] = {{{"foreign_cpu_share", 0.0}},
                                               {{"foreign_cpu_share", 0.31}},
                                               {{"foreign_cpu_share", nullptr}}};
  EXPECT_EQ(ForeignCpuLine(document),
            "! other programs used up to 31 % of the processors in user mode during mixed: rates "
            "and times are not the engine's alone\n");
  EXPECT_EQ(MostForeignCpu(document["runs"][0]), 0.31);
}

TEST(ForeignCpuTest, TimeThatTheHypervisorTookHasALineOfItsOwn) {
  json document =
      DocumentOf({PhaseWithShare("insert", "load", 0.0), PhaseWithShare("scan", "measure", 0.0),
                  PhaseWithShare("settle", "settle", 0.0)});
  const auto phase = [&](int run) -> json& { return document["runs"][run]["phases"][0]; };
  EXPECT_EQ(StealLine(document), "") << "a document of an older version";
  phase(0)["steal_share"] = 0.049;
  phase(1)["steal_share"] = 0.12;
  phase(2)["steal_share"] = 0.9;
  EXPECT_EQ(StealLine(document),
            "! the hypervisor gave up to 12 % of the processors to other machines during scan: "
            "rates and times are not the engine's alone\n");
  EXPECT_EQ(ForeignCpuLine(document), "");
}

TEST(ForeignCpuTest, WhatIsNotMeasuredOrNotKnownIsNotSaid) {
  const json document = DocumentOf({PhaseWithShare("settle", "settle", 0.9),
                                    PhaseWithShare("w", "warm-up", 0.9),
                                    PhaseWithShare("t", "tune", 0.9),
                                    PhaseWithShare("insert", "load", 0.049),
                                    PhaseWithShare("mixed", "measure", nullptr),
                                    {{"name", "old"}, {"kind", "measure"}}});
  EXPECT_EQ(ForeignCpuLine(document), "");
  EXPECT_EQ(MostForeignCpu(document["runs"][0]), std::nullopt);
  EXPECT_EQ(MostForeignCpu(document["runs"][3]), 0.049);
  EXPECT_EQ(MostForeignCpu(document["runs"][4]), std::nullopt);
  EXPECT_EQ(MostForeignCpu(document["runs"][5]), std::nullopt);
  EXPECT_EQ(MostForeignCpu({{"error", {{"sentence", "x"}}}}), std::nullopt);
}

}  // namespace
}  // namespace testbed
