// Tests what tests/samples/samples.py says of headers that it is asked for. ctest runs it on all.
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <string>

#include "tests/paths.h"

namespace testbed {
namespace {

struct SamplesResult {
  int code = -1;
  std::string text;
};

SamplesResult Samples(const std::string& arguments) {
  const std::string command =
      "python3 " + SourceDir() + "/tests/samples/samples.py " + arguments + " 2>&1 </dev/null";
  SamplesResult result;
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  while (const size_t n = ::fread(buffer, 1, sizeof buffer, pipe)) result.text.append(buffer, n);
  const int status = ::pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

TEST(HeaderSamplesTest, HeadersWithoutSamplesAreToldAndAreNoError) {
  if (::system("python3 --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no python3 here";
  const std::string build = std::filesystem::path(TestbedBinary()).parent_path();
  const std::string header = "tools/inspect/check_command.h";
  for (const std::string& where : {build, std::string("--show")}) {
    SCOPED_TRACE(where);
    const SamplesResult none = Samples(where + " " + header);
    EXPECT_EQ(none.code, 0) << none.text;
    EXPECT_EQ(none.text.find(header + ": no samples to "), 0u) << none.text;
  }
  EXPECT_NE(Samples("--show device/log/log_copy.h").text.find("copy.Finish"), std::string::npos);
  EXPECT_EQ(Samples("--show nosuch.h").code, 1);
}

}  // namespace
}  // namespace testbed
