// Tests kill -9 of testbed at every stage: no process may be left, and no file that `testbed
// scratch clean` does not remove.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "device/machine/memory_budget.h"
#include "tests/cli/started_command.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class KilledParentTest : public StartedCommandTest {
 protected:
  // Kills the process, and expects that no other process is left in the directory.
  void KillAndExpectNoneLeft(pid_t process) {
    ::kill(process, SIGKILL);
    EXPECT_TRUE(Becomes([&] { return Processes().empty(); }, 10))
        << Processes().size() << " processes outlived their parent";
    ::waitpid(process, nullptr, 0);
    for (const pid_t left : Processes()) ::kill(left, SIGKILL);
  }

  // Cleans until the directory is empty. One attempt may not be enough: the locks of a killed
  // process are released with its last thread, which may end a moment after the main thread.
  void CleanAndExpectEmpty() {
    std::vector<std::string> left;
    Becomes(
        [&] {
          const CommandResult clean = Run("scratch clean");
          EXPECT_EQ(clean.code, 0) << clean.err;
          left.clear();
          for (const auto& entry : fs::directory_iterator(directory_)) left.push_back(entry.path());
          return left.empty();
        },
        10);
    EXPECT_THAT(left, IsEmpty());
  }

  // Stops the process as a user does, and expects that it says so by its exit code and leaves
  // nothing.
  void StopAndExpectNothing(pid_t process) {
    ::kill(process, SIGTERM);
    EXPECT_EQ(ExitCodeOf(process), 130);
    CleanAndExpectEmpty();
  }

  bool Holds(const std::string& part) const {
    for (const auto& entry : fs::directory_iterator(directory_)) {
      if (entry.path().filename().string().find(part) != std::string::npos) return true;
    }
    return false;
  }

  // Returns whether a database in a temporary directory is recorded as loaded.
  bool Loaded() const {
    for (const auto& entry : fs::directory_iterator(directory_)) {
      const std::string record = Read(entry.path() / "testbed.json");
      if (record.find("\"loaded\": true") != std::string::npos) return true;
    }
    return false;
  }
};

constexpr char kLongRun[] =
    "--engine btree --ram 32M --rows 20000 --workload insert,point-read --seconds 60 --warmup 0 "
    "--quiet";

TEST_F(KilledParentTest, ARunThatLoads) {
  const pid_t process = Start("--engine btree --ram 32M --rows 3000000 --workload insert --quiet");
  ASSERT_TRUE(BecomesWhileItRuns(process, [&] { return Processes().size() >= 2; }));
  LetItWork();
  KillAndExpectNoneLeft(process);
  CleanAndExpectEmpty();
}

TEST_F(KilledParentTest, ARunThatMeasures) {
  const pid_t process = Start(kLongRun);
  ASSERT_TRUE(BecomesWhileItRuns(process, [&] { return Loaded() && Processes().size() >= 2; }));
  LetItWork();
  KillAndExpectNoneLeft(process);
  CleanAndExpectEmpty();
}

TEST_F(KilledParentTest, UnderNohup) {
  const pid_t process = Start(kLongRun, "nohup");
  ASSERT_TRUE(BecomesWhileItRuns(process, [&] { return Loaded() && Processes().size() >= 2; }));
  LetItWork();
  KillAndExpectNoneLeft(process);
}

TEST_F(KilledParentTest, KilledByTimeout) {
  // With --foreground, timeout kills only its child, and not the whole process group.
  const pid_t process = Start(kLongRun, "timeout --foreground -s KILL 600");
  ASSERT_TRUE(BecomesWhileItRuns(process, [&] { return Loaded() && Processes().size() >= 3; }));
  LetItWork();
  ::kill(process, SIGALRM);  // which timeout gets when its time is over
  EXPECT_TRUE(Becomes([&] { return Processes().empty(); }, 20));
  ::waitpid(process, nullptr, 0);
}

TEST_F(KilledParentTest, ACrashtestThatWrites) {
  const pid_t process = Start("crashtest --engine btree --kills 50 --longest-ms 60000 --quiet");
  ASSERT_TRUE(BecomesWhileItRuns(process, [&] { return Processes().size() >= 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  KillAndExpectNoneLeft(process);
  CleanAndExpectEmpty();
}

// A program that ignores the ends of its children hands that on to those that it executes.
TEST_F(KilledParentTest, UnderAProgramThatIgnoresItsChildren) {
  const CommandResult result =
      Run("crashtest --engine btree --kills 1 --longest-ms 50 --writers 1 --quiet",
          "env --ignore-signal=CHLD");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_F(KilledParentTest, AnExperiment) {
  const pid_t process = Start(
      "experiment read-size --scale tiny --set seconds=60 --set rows=20000 --out results "
      "--quiet");
  // The test waits until the first load is finished and a cell is running.
  ASSERT_TRUE(BecomesWhileItRuns(process, [&] {
    std::error_code none;
    const fs::directory_iterator loads(directory_ / "results/loads", none);
    return loads != fs::directory_iterator() && Processes().size() >= 2;
  }));
  LetItWork();
  KillAndExpectNoneLeft(process);
}

// A script that calls testbed, such as one of `git bisect run`, must tell the user's stop from a
// failure.
TEST_F(KilledParentTest, AStopWhileAScratchDeviceIsWrittenIsAStop) {
  if (::geteuid() != 0) GTEST_SKIP() << "a scratch device needs root";
  const pid_t process = Start(std::string(kLongRun) + " --scratch 2G");
  ASSERT_TRUE(BecomesWhileItRuns(process, [&] { return Holds(".testbed-scratch"); }));
  StopAndExpectNothing(process);
}

// The load is under way, so that no phase has shown yet how much memory the run holds.
TEST_F(KilledParentTest, AStopOfARehearsalIsAStop) {
  const pid_t process = Start(
      "--engine btree --rows 4000000 --ram 64M --cache-pct most --workload insert,point-read "
      "--seconds 60 --account file --quiet");
  ASSERT_TRUE(BecomesWhileItRuns(process, [&] { return Processes().size() >= 2; }));
  StopAndExpectNothing(process);
}

// A run tries the engine's options in the directory of --dir. What a kill left of that made the
// directory a foreign one, and --fresh said that it was not testbed's.
TEST_F(KilledParentTest, WhatATryOfTheOptionsLeftInTheDirectoryIsRemoved) {
  const std::string run =
      "--engine btree --dir d --rows 100 --workload insert --threads 1 --account off --quiet";
  const fs::path left = directory_ / "d/testbed-0123456789abcdef.tmp";
  const auto leave = [&left] {
    fs::create_directories(left / "db");
    fs::permissions(left, fs::perms::owner_all);
    std::ofstream(left / "testbed.json") << R"({"schema": "testbed-database/1", "loaded": false})";
  };
  leave();
  const CommandResult first = Run(run);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_FALSE(fs::exists(left));
  leave();
  const CommandResult fresh = Run(run + " --fresh");
  EXPECT_EQ(fresh.code, 0) << fresh.err;
  EXPECT_THAT(fresh.err, Not(HasSubstr("stays")));
  EXPECT_FALSE(fs::exists(left));
  // Beside files of the user nothing is removed.
  fs::create_directory(directory_ / "theirs");
  std::ofstream(directory_ / "theirs/photo") << "x";
  fs::rename(directory_ / "d", directory_ / "theirs/testbed-0123456789abcdef.tmp");
  ExpectRefused(Run("--engine btree --dir theirs --rows 100 --workload insert"), "is not empty");
  EXPECT_TRUE(fs::exists(directory_ / "theirs/testbed-0123456789abcdef.tmp/testbed.json"));
}

// Once, the report of a run told of the cgroup of another run, as if it were its own matter.
TEST_F(KilledParentTest, ARunSaysNothingOfAnEmptyCgroupThatItRemoved) {
  std::string why_not;
  const auto budget = MemoryBudget::Create(64 << 20, &why_not);
  if (budget == nullptr) GTEST_SKIP() << why_not;
  const std::string left =
      fs::path(budget->path()).parent_path() / fmt::format("testbed-{:016x}", ::getpid());
  ASSERT_EQ(::mkdir(left.c_str(), 0755), 0) << left;
  const CommandResult result =
      Run("--engine null --rows 100 --operations 10 --warmup 0 --threads 1 --account off --quiet "
          "--json run.json");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_FALSE(fs::exists(left));
  EXPECT_THAT(Json("run.json")["notes"].dump(), Not(HasSubstr(left)));
  ::rmdir(left.c_str());
}

// Within these times the image is written, a file system is made and a database is loaded, so that
// the kills come at all of these stages.
TEST_F(KilledParentTest, SettingUpAScratchDevice) {
  if (::geteuid() != 0) GTEST_SKIP() << "a scratch device needs root";
  for (int ms = 10; ms <= 3000; ms = ms * 2) {
    SCOPED_TRACE(ms);
    const pid_t process = Start(std::string(kLongRun) + " --scratch 256M");
    ASSERT_TRUE(BecomesWhileItRuns(process, [&] { return Holds(".testbed-scratch"); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    KillAndExpectNoneLeft(process);
    CleanAndExpectEmpty();
  }
}

}  // namespace
}  // namespace testbed
