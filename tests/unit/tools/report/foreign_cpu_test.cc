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

// The work of a server that the run did not start cannot be told from that of other programs.
TEST(ForeignCpuTest, AServerThatRunsAlreadyMayBeTheOtherProgram) {
  json document = DocumentOf({PhaseWithShare("mixed", "measure", 0.43)});
  document["options"]["engine_options"] = {{"connect", "mysql://me@localhost/"}};
  EXPECT_EQ(ForeignCpuLine(document),
            "! other programs, the server of --connect included where it is on this host, used up "
            "to 43 % of the processors in user mode during mixed: rates and times are not the "
            "engine's alone\n");
  document["options"]["engine_options"] = json::object();
  EXPECT_EQ(ForeignCpuLine(document).rfind("! other programs used up to 43 %", 0), 0u);
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
  document["runs"][0]["phases"][0]["tasks"][2]["steal_share"] = 0.2;
  EXPECT_EQ(StealLine(document),
            "! the hypervisor gave up to 20 % of the processors to other machines during mixed: "
            "rates and times are not the engine's alone\n");
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

// A rate that is the harness's own must not pass for the engine's.
TEST(ForeignCpuTest, TimeThatTheHarnessTookHasALineOfItsOwn) {
  const auto phase = [](const std::string& name, const std::string& kind, const json& seconds) {
    return json{{"name", name},
                {"kind", kind},
                {"thread_seconds", {2.0, 3.0}},
                {"preparing_seconds", seconds}};
  };
  EXPECT_EQ(PreparingLine(DocumentOf({phase("insert", "load", 0.49),
                                      phase("point-read", "warm-up", 5.0),
                                      phase("scan", "measure", nullptr),
                                      {{"name", "old"}, {"kind", "measure"}}})),
            "");
  EXPECT_EQ(
      PreparingLine(DocumentOf({phase("insert", "load", 0.5), phase("point-read", "measure", 4.0),
                                phase("scan", "measure", 0.1)})),
      "! the harness itself took up to 80 % of the clients' time during insert, point-read, "
      "to choose rows and make keys and values: ops/s is not the engine's alone\n");
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
