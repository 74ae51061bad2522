// Runs code in a process that then ends at once, as if it were killed. It closes nothing that the
// code has opened, but everything that was written to the kernel survives.
#ifndef TESTBED_TESTS_CRASHED_CHILD_H_
#define TESTBED_TESTS_CRASHED_CHILD_H_

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <functional>

namespace testbed {

// Calls `work` in a child process and waits for its end. The test fails when `work` throws, with
// what it has thrown on standard error.
inline void RunInCrashedChild(const std::function<void()>& work) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      work();
    } catch (const std::exception& e) {
      ::dprintf(2, "child: %s\n", e.what());
      ::_exit(3);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

}  // namespace testbed

#endif  // TESTBED_TESTS_CRASHED_CHILD_H_
