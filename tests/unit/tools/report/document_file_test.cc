// Tests what is said of a results file before it is read.
#include <gtest/gtest.h>

#include <string>

#include "device/error.h"
#include "tools/report/report.h"

namespace testbed {
namespace {

// The kernel would end the program without a sentence.
TEST(DocumentFileTest, ADocumentThatMemoryHasNoRoomForIsRefused) {
  const std::string meminfo =
      "MemTotal:       8000000 kB\nMemAvailable:   1000000 kB\nSwapTotal:           48 kB\n"
      "SwapFree:            24 kB\n";
  EXPECT_NO_THROW(CheckRoomForDocument("run.json", 250'000'000, meminfo));
  EXPECT_NO_THROW(CheckRoomForDocument("run.json", 1 << 30, "")) << "it is not known";
  try {
    CheckRoomForDocument("run.json", 300 << 20, meminfo);
    ADD_FAILURE() << "1.2 GiB are not free";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kUsage);
    EXPECT_STREQ(error.what(),
                 "run.json has 300 MiB, which take about 1.2 GiB of memory, and 977 MiB are free; "
                 "give fewer or shorter runs in one file, or read it on a larger machine");
  }
}

}  // namespace
}  // namespace testbed
