#include "device/os/thread.h"

#include <gtest/gtest.h>

#include <string>

#include "device/error.h"
#include "device/os/child_process.h"
#include "tests/few_threads.h"

namespace testbed {
namespace {

constexpr char kLimits[] =
    "; see how many processes and threads this user may have (ulimit -u) and how many its cgroup "
    "may (pids.max)";

TEST(ThreadTest, RunsAndIsJoined) {
  int ran = 0;
  StartThread("a test", [&ran] { ran = 1; }).join();
  EXPECT_EQ(ran, 1);
}

TEST(ThreadTest, OneThatIsNotMadeNamesItselfAndTheLimits) {
  EXPECT_EQ(WithFewThreads(1, [] { StartThread("a test", [] {}).join(); }),
            std::string("the system does not make a thread for a test: Resource temporarily "
                        "unavailable") +
                kLimits);
  EXPECT_EQ(WithFewThreads(1, [] { (void)ForkChild(); }),
            std::string("the system does not make another process (fork): Resource temporarily "
                        "unavailable") +
                kLimits);
}

// A program that goes on after the error, as one that tries again, would run out of descriptors.
TEST(ChildProcessTest, AProgramThatIsNotForkedLeavesNoDescriptorOpen) {
  const std::string said = WithFewThreads(1, [] {
    const int before = LowestFreeDescriptor();
    try {
      RunProgram({"/bin/true"});
    } catch (const Error& e) {
      const int left = LowestFreeDescriptor() - before;
      throw Error(e.kind(), std::to_string(left) + " left: " + e.what());
    }
  });
  EXPECT_TRUE(said.starts_with("0 left: the system does not make another process")) << said;
}

}  // namespace
}  // namespace testbed
