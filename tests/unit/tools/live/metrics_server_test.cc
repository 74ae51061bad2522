// Tests that a server of --metrics whose process is not made leaves nothing behind.
#include "tools/live/metrics_server.h"

#include <gtest/gtest.h>

#include <string>

#include "device/error.h"
#include "tests/few_threads.h"

namespace testbed {
namespace {

TEST(MetricsServerTest, OneThatIsNotForkedLeavesNoDescriptorOpen) {
  const std::string said = WithFewThreads(1, [] {
    const int before = LowestFreeDescriptor();
    try {
      const MetricsServer server(ListenAddress{}, "1");
    } catch (const Error& e) {
      const int left = LowestFreeDescriptor() - before;
      throw Error(e.kind(), std::to_string(left) + " left: " + e.what());
    }
  });
  EXPECT_TRUE(said.starts_with("0 left: the system does not make another process")) << said;
}

}  // namespace
}  // namespace testbed
