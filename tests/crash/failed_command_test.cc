// Tests that the command `testbed crashtest` does not end as if nothing was lost when something
// was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/error.h"
#include "tests/crash/engine_without_rows.h"
#include "tests/own_dir.h"
#include "tools/command/command_line.h"

namespace testbed {
namespace {

TEST(FailedCommandTest, AFailureIsPrintedAndIsTheExitCode) {
  AddEngineWithoutRows("breaking", [] {}, [] { throw Error(Error::kRun, "it broke"); });
  const OwnDir dir("failed_command_test");
  std::vector<std::string> words = {"testbed", "crashtest", "--engine", "breaking", "--io"};
  // The first crash is to come while the client writes.
  words.insert(words.end(), {"buffered", "--seed", std::to_string(SeedOfFirstCrash(50))});
  words.insert(words.end(),
               {"--writers", "1", "--longest-ms", "1", "--dir", dir.path(), "--quiet"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  testing::internal::CaptureStdout();
  const int code = RunCommandLine(static_cast<int>(argv.size()), argv.data());
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 1) << out;
  EXPECT_THAT(out, testing::HasSubstr("FAILED round 1: a client failed, and no fault was "
                                      "injected: it broke\n"));
  EXPECT_THAT(out, testing::Not(testing::HasSubstr("no acknowledged commit lost")));
}

}  // namespace
}  // namespace testbed
