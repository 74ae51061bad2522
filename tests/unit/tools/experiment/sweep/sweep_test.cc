// Tests which figures a sweep shows, and which of them in its grid.
#include "tools/experiment/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/experiment/experiment.h"

namespace testbed {
namespace {

using testing::HasSubstr;

// A replay that keeps the times of its trace has the rate that it was given. Once, that rate was
// marked as the best where the paces were an axis, or given as a setting of the workload.
TEST(SweepGridTest, OfReplaysInTheTimeOfATraceTheGridHasTheLatency) {
  using Words = std::vector<std::string>;
  const auto saved = [](const Words& pace) {
    Words words = {"--engine", "btree,null", "--workload", "insert,replay:a.trace"};
    words.insert(words.end(), pace.begin(), pace.end());
    return SweepOf(words).value().saved;
  };
  for (const Words& pace :
       {Words{"--speed", "1"}, Words{"--speed", "1,2"}, Words{"--workload-option", "speed=1"}}) {
    const std::string text = saved(pace);
    EXPECT_THAT(text, HasSubstr("metrics = [\"p99_us\"]\nbest = \"min\"")) << pace[1];
    EXPECT_THAT(text, HasSubstr("measured.operation.latency_from_intended_us.p99")) << pace[1];
  }
  for (const Words& pace :
       {Words{}, Words{"--speed", "max"}, Words{"--workload-option", "speed=max"}}) {
    EXPECT_THAT(saved(pace), HasSubstr("metrics = [\"ops\"]\nbest = \"max\""));
  }
}

// Engines may hold different memory with one --ram, so the rate stands beside what was held.
TEST(SweepTableTest, TheMemoryHeldStandsBesideTheRate) {
  for (const char* workload : {"insert", "insert,point-read"}) {
    const std::string text =
        SweepOf({"--engine", "btree,null", "--workload", workload}).value().saved;
    EXPECT_THAT(text, HasSubstr("metrics = [\"ops\", \"held\", ")) << workload;
    EXPECT_THAT(text, HasSubstr("\nheld = { value = \"held.bytes / 1048576\", unit = \"MiB\""));
  }
  const Experiment advise = LoadExperiment("advise");
  EXPECT_THAT(advise.tables.at(0).metrics, testing::Contains("held"));
}

}  // namespace
}  // namespace testbed
