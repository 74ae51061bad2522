// Tests what the engine of a recording passes on to the phase that is recorded.
#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/workloads/measure/map_engine.h"
#include "workloads/trace/trace_recorder.h"

namespace testbed {
namespace {

class RecordedPhaseTest : public RunnerTest {
 protected:
  PhaseResult Record() {
    const std::unique_ptr<Workload> read = FindWorkload("point-read").make(dataset_, {});
    TraceRecorder recorder("", engine_, read->name(), read->ops());
    PhaseOptions phase;
    phase.threads = 2;
    phase.operations = 100;
    phase.recorder = &recorder;
    return RunPhase(recorder.engine(), *read, phase);
  }
};

TEST_F(RecordedPhaseTest, OperationsAreToldByTheAddressOfTheirClient) {
  Load(1, 100);
  engine_.addresses = {{"n1", ""}, {"n2", ""}};
  const PhaseResult result = Record();
  ASSERT_EQ(result.addresses.size(), 2u);
  EXPECT_EQ(result.addresses[0].count, 50u);
  EXPECT_EQ(result.addresses[1].name, "n2");
}

TEST_F(RecordedPhaseTest, ALostAddressEndsThePhase) {
  Load(1, 100);
  engine_.addresses = {{"n1", ""}, {"n2", ""}};
  engine_.lost_reads = 1;
  EXPECT_THROW(Record(), Error);
}

}  // namespace
}  // namespace testbed
