// Tests that a command replays one trace, though it opens the file for each phase.
#include "workloads/trace/known_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "device/error.h"
#include "workloads/dataset.h"
#include "workloads/registry.h"
#include "workloads/trace/trace_client.h"
#include "workloads/trace/trace_writer.h"

namespace testbed {
namespace {

class KnownTraceTest : public testing::Test {
 protected:
  ~KnownTraceTest() override { std::filesystem::remove(path_); }

  void Write(uint64_t gets) const {
    TraceWriter writer(path_);
    TraceClient client(writer, 0);
    for (uint64_t i = 0; i < gets; ++i) {
      client.Begin(0, i);
      client.Get(0, "key", false, 0);
      client.End();
    }
    client.Finish();
    TraceFacts facts;
    facts.kinds = {"point-read"};
    facts.tables = {{0, kMainTable, {}, {}}};
    facts.clients = 1;
    facts.operations = gets;
    facts.calls = client.calls();
    writer.Finish(facts);
  }
  // Returns the sentence with which the workload refuses the trace; an empty string when it takes
  // it.
  std::string Refusal(const std::string& workload) const {
    DatasetOptions data;
    data.rows = 10;
    WorkloadOptions options;
    options.extra = {{"trace", path_}};
    try {
      (void)FindWorkload(workload).make(std::make_shared<const Dataset>(data), options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kUsage);
      return error.what();
    }
    return "";
  }
  static std::string NewPath() {
    static int tests = 0;
    return testing::TempDir() + "known_trace_test_" + std::to_string(::getpid()) + "_" +
           std::to_string(++tests);
  }

  const std::string path_ = NewPath();
  const std::string replaced_ =
      "trace " + path_ +
      ": was replaced or changed since the command began; leave the file as it is until the "
      "command has ended";
};

TEST_F(KnownTraceTest, ATraceThatWasReplacedIsRefusedAtItsNextOpening) {
  Write(3);
  for (const char* workload : {"replay", "replay-load", "replay"}) {
    EXPECT_EQ(Refusal(workload), "") << workload;
  }
  Write(4);
  for (const char* workload : {"replay", "replay-load"}) {
    EXPECT_EQ(Refusal(workload), replaced_) << workload;
  }
}

TEST_F(KnownTraceTest, AProgramThatIsExecutedTakesTheTraceOfItsParent) {
  Write(3);
  EXPECT_EQ(KnownTrace(path_), "");
  KnowTrace(path_, "");
  const TraceFile file(path_);
  CheckKnownTrace(file);
  EXPECT_EQ(KnownTrace(path_), file.identity());
  KnowTrace(path_, file.identity());
  EXPECT_EQ(Refusal("replay"), "");
  KnowTrace(path_, "of another trace");
  EXPECT_EQ(Refusal("replay"), replaced_);
}

}  // namespace
}  // namespace testbed
