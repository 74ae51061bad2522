// Runs a process that commits until it is killed, and reports the commits that it has acknowledged.
#ifndef TESTBED_TESTS_CRASH_KILLED_CHILD_H_
#define TESTBED_TESTS_CRASH_KILLED_CHILD_H_

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "device/error.h"

namespace testbed {

// Tells the parent the number of rows that are acknowledged so far. Returns false when the parent
// is gone.
using Acknowledge = std::function<bool(uint64_t rows)>;

// Runs `commit` in a child and kills it some time after its first acknowledgement, which says that
// the database is open. Returns the rows it acknowledged, at least `from`.
inline uint64_t RunAndKill(uint64_t from, std::chrono::microseconds after_first,
                           const std::function<void(const Acknowledge&)>& commit) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    try {
      commit([&](uint64_t rows) { return ::write(pipe[1], &rows, sizeof rows) == sizeof rows; });
    } catch (const Error& error) {
      fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(1);
  }
  ::close(pipe[1]);
  uint64_t rows = from, next;
  const bool started = ::read(pipe[0], &next, sizeof(next)) == sizeof(next);
  EXPECT_TRUE(started) << "the child did not commit";
  if (started) rows = next;
  std::this_thread::sleep_for(after_first);
  ::kill(child, SIGKILL);
  while (::read(pipe[0], &next, sizeof(next)) == sizeof(next)) rows = next;
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";
  return rows;
}

// Runs `work` in a child and returns the text that it returned. Returns nothing when a check in it
// failed, which the child prints, when it threw, or when the process ended by itself. The parent
// must not have opened an engine that keeps threads for the whole process (rocksdb's pool): the
// child would wait for threads that a fork does not copy.
inline std::optional<std::string> InChild(const std::function<std::string()>& work) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    bool good = false;
    try {
      const std::string text = work();
      good = !testing::Test::HasFailure() &&
             ::write(pipe[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    } catch (const std::exception& error) {
      printf("%s\n", error.what());
    }
    fflush(stdout);
    ::_exit(good ? 0 : 1);
  }
  ::close(pipe[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n; (n = ::read(pipe[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? std::optional(text) : std::nullopt;
}

}  // namespace testbed

#endif  // TESTBED_TESTS_CRASH_KILLED_CHILD_H_
