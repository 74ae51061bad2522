// Tests sides of `testbed ab` that somebody ends, holds or keeps from starting: the other side's
// figures are kept, nothing is left behind, and a sentence says which side and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "device/machine/host.h"
#include "tests/cli/started_command.h"

namespace testbed {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kOneLoadInSlices[] =
    "ab --engine btree --a '' --b '' --rows 1000 --threads 1 --workload point-read "
    "--loads 1 --slice 0.1 --warmup 0 --account off --json ab.json ";

constexpr char kLoadsInRounds[] =
    "ab --engine btree --a '' --b '' --rows 1000 --threads 1 --workload insert,mixed --mix "
    "update=1 --seconds 1 --warmup 0 --loads 3 --account off --json ab.json ";

class FailingSideTest : public StartedCommandTest {
 protected:
  // Returns the processes that run the sides of a comparison.
  std::vector<pid_t> Sides(pid_t comparison) const {
    std::vector<pid_t> sides = Processes();
    std::erase(sides, comparison);
    return sides;
  }

  // Returns how many databases have files.
  size_t Databases() const {
    size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      std::error_code none;
      found += std::filesystem::exists(entry.path() / "db/btree.data", none);
    }
    return found;
  }

  // Waits for the end of a process and returns its exit code; -1 when it does not end in time, or
  // a signal ends it.
  static int CodeOf(pid_t process) {
    int status = 0;
    const bool ended = Becomes([&] { return ::waitpid(process, &status, WNOHANG) == process; });
    if (!ended) {
      ::kill(process, SIGKILL);
      ::waitpid(process, &status, 0);
    }
    return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // Expects that the document and the messages name one side that a signal has stopped.
  void ExpectOneStopped() {
    const nlohmann::json document = Json("ab.json");
    ASSERT_EQ(document["errors"].size(), 1u);
    EXPECT_THAT(document["errors"][0]["sentence"].get<std::string>(),
                HasSubstr("a signal that was sent to its process alone"));
    EXPECT_EQ(document["loads"], 0);
    EXPECT_EQ(document["partial"], false);
    const std::string failed = document["errors"][0]["side"], other = failed == "a" ? "b" : "a";
    size_t kept = 0;
    for (const nlohmann::json& sample : document["samples"]) kept += sample["side"] == other;
    EXPECT_GT(kept, 0u);
    EXPECT_THAT(Read(directory_ / "err"), HasSubstr("side " + failed + " failed: a signal"));
    for (const char* name : {"ab.json", "out", "err"}) std::filesystem::remove(directory_ / name);
    EXPECT_THAT(Processes(), IsEmpty());
    EXPECT_TRUE(DirectoryIsEmpty());
  }
};

// A side that gets SIGTERM ends without an error, but early. Only the signal tells its run from a
// whole one.
TEST_F(FailingSideTest, ASideInSlicesThatIsAskedToStopIsNamed) {
  const pid_t comparison = Start(kOneLoadInSlices + std::string("--time 3s --quiet > out 2> err"));
  ASSERT_TRUE(Becomes([&] { return Sides(comparison).size() == 2; }));
  ::kill(Sides(comparison)[1], SIGTERM);
  // The database of the stopped side is removed at once, while the other side goes on.
  EXPECT_TRUE(Becomes([&] { return Databases() == 1 && Sides(comparison).size() == 1; }));
  EXPECT_EQ(CodeOf(comparison), 1);
  ExpectOneStopped();
}

TEST_F(FailingSideTest, ARoundThatIsAskedToStopIsNamed) {
  const pid_t comparison = Start(kLoadsInRounds + std::string("--quiet > out 2> err"));
  ASSERT_TRUE(Becomes([&] { return Sides(comparison).size() == 1; }));
  ::kill(Sides(comparison)[0], SIGTERM);
  EXPECT_EQ(CodeOf(comparison), 1);
  ExpectOneStopped();
}

// A process that is stopped (SIGSTOP) handles no signal but SIGKILL until it is continued.
TEST_F(FailingSideTest, ASideThatIsHeldIsToldAndDoesNotKeepTheComparisonFromStopping) {
  const pid_t comparison =
      Start(kOneLoadInSlices + std::string("--time 20s --report-interval 1 > out 2> err"));
  ASSERT_TRUE(Becomes([&] { return Sides(comparison).size() == 2; }));
  // Wait until both sides are measured in slices.
  ASSERT_TRUE(
      Becomes([&] { return Read(directory_ / "err").find("measuring") != std::string::npos; }));
  ::kill(Sides(comparison)[1], SIGSTOP);
  EXPECT_TRUE(Becomes(
      [&] { return Read(directory_ / "err").find("waiting for side ") != std::string::npos; }));
  ::kill(comparison, SIGTERM);
  EXPECT_EQ(CodeOf(comparison), 130);
  EXPECT_THAT(Read(directory_ / "out"), HasSubstr("stopped by a signal"));
  for (const char* name : {"ab.json", "out", "err"}) std::filesystem::remove(directory_ / name);
  EXPECT_TRUE(Becomes([&] { return Processes().empty(); }));
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(FailingSideTest, ASideThatIsHeldBeforeItsSlicesOrInARoundIsTold) {
  for (const std::string& command :
       {kOneLoadInSlices + std::string("--time 20s "), std::string(kLoadsInRounds)}) {
    SCOPED_TRACE(command);
    const pid_t comparison = Start(command + "--report-interval 1 > out 2> err");
    ASSERT_TRUE(Becomes([&] { return !Sides(comparison).empty(); }));
    ::kill(Sides(comparison)[0], SIGSTOP);
    // In slices the sides are loaded at the same time, if each has a processor.
    if (command.starts_with(kOneLoadInSlices) && OwnProcessors().size() >= 2) {
      EXPECT_TRUE(Becomes([&] { return Sides(comparison).size() == 2; }));
    }
    EXPECT_TRUE(Becomes([&] {
      return Read(directory_ / "err").find("is stopped (SIGSTOP)") != std::string::npos;
    }));
    ::kill(comparison, SIGTERM);
    EXPECT_EQ(CodeOf(comparison), 130);
    for (const char* name : {"ab.json", "out", "err"}) std::filesystem::remove(directory_ / name);
    EXPECT_TRUE(Becomes([&] { return Processes().empty(); }));
    EXPECT_TRUE(DirectoryIsEmpty());
  }
}

// LD_TRACE_LOADED_OBJECTS makes the dynamic linker list the libraries and end the program.
TEST_F(FailingSideTest, ASideThatEndsByItselfIsNamedWithItsExitCode) {
  const CommandResult result =
      Run("ab --engine null --a '' --b env:LD_TRACE_LOADED_OBJECTS=1 --rows 1000 --threads 1 "
          "--workload point-read --time 1s --loads 1 --slice 0.05 --warmup 0 --account off "
          "--quiet");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err,
              HasSubstr("side b failed: the run ended without a result, with exit code 0"));
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(FailingSideTest, ASideThatNeedsMoreThanItsMemoryIsNamed) {
  const CommandResult result = Run(
      "ab --engine btree --a '' --b 'ram=32M cache-size=31M' --rows 200000 --json ab.json "
      "--threads 1 --ram 128M --workload point-read --time 4s --loads 1 --slice 0.05 --warmup 0 "
      "--quiet");
  if (result.code == 0) GTEST_SKIP() << "this machine does not enforce --ram";
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("side b failed"));
  EXPECT_THAT(result.err, HasSubstr("--ram 32M"));
  const nlohmann::json document = Json("ab.json");
  std::filesystem::remove(directory_ / "ab.json");
  EXPECT_TRUE(document["errors"][0].value("out_of_memory", false));
  size_t kept = 0;
  for (const nlohmann::json& sample : document["samples"]) kept += sample["side"] == "a";
  EXPECT_GT(kept, 0u);
  EXPECT_TRUE(DirectoryIsEmpty());
}

}  // namespace
}  // namespace testbed
