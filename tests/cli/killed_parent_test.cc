// What kill -9 of testbed leaves behind, at every stage of what it does: no process, and nothing on
// disk that `testbed scratch clean` does not find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/started_command.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

class KilledParentTest : public StartedCommandTest {
 protected:
  // Kills the process, and expects that no other is left in the directory.
  void KillAndExpectNoneLeft(pid_t process) {
    ::kill(process, SIGKILL);
    EXPECT_TRUE(Becomes([&] { return Processes().empty(); }, 10))
        << Processes().size() << " processes outlived their parent";
    ::waitpid(process, nullptr, 0);
    for (const pid_t left : Processes()) ::kill(left, SIGKILL);
  }

  // The locks of a killed process go with the last of its threads, which may end a moment after the
  // one that the process is seen by.
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

  bool Holds(const std::string& part) const {
    for (const auto& entry : fs::directory_iterator(directory_)) {
      if (entry.path().filename().string().find(part) != std::string::npos) return true;
    }
    return false;
  }

  // As the record of the database in the temporary directory says.
  bool Loaded() const {
    for (const auto& entry : fs::directory_iterator(directory_)) {
      const std::string record = Read(entry.path() / "testbed.json");
      if (record.find("\"loaded\": true") != std::string::npos) return true;
    }
    return false;
  }
};

constexpr char kRun[] =
    "--engine btree --ram 32M --rows 20000 --workload insert,point-read --seconds 60 --warmup 0 "
    "--quiet";

TEST_F(KilledParentTest, ARunThatLoads) {
  const pid_t process = Start("--engine btree --ram 32M --rows 3000000 --workload insert --quiet");
  ASSERT_TRUE(Becomes([&] { return Processes().size() >= 2; }));
  LetItWork();
  KillAndExpectNoneLeft(process);
  CleanAndExpectEmpty();
}

TEST_F(KilledParentTest, ARunThatMeasures) {
  const pid_t process = Start(kRun);
  ASSERT_TRUE(Becomes([&] { return Loaded() && Processes().size() >= 2; }));
  LetItWork();
  KillAndExpectNoneLeft(process);
  CleanAndExpectEmpty();
}

TEST_F(KilledParentTest, UnderNohup) {
  const pid_t process = Start(kRun, "nohup");
  ASSERT_TRUE(Becomes([&] { return Loaded() && Processes().size() >= 2; }));
  LetItWork();
  KillAndExpectNoneLeft(process);
}

TEST_F(KilledParentTest, KilledByTimeout) {
  // In the foreground it kills its child alone; otherwise all of the process group.
  const pid_t process = Start(kRun, "timeout --foreground -s KILL 2");
  ASSERT_TRUE(Becomes([&] { return Processes().size() >= 3; }));
  EXPECT_TRUE(Becomes([&] { return Processes().empty(); }, 20));
  ::waitpid(process, nullptr, 0);
}

TEST_F(KilledParentTest, ACrashtestThatWrites) {
  const pid_t process = Start("crashtest --engine btree --kills 50 --longest-ms 60000 --quiet");
  ASSERT_TRUE(Becomes([&] { return Processes().size() >= 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  KillAndExpectNoneLeft(process);
  CleanAndExpectEmpty();
}

TEST_F(KilledParentTest, AnExperiment) {
  const pid_t process =
      Start("experiment read-size --scale tiny --set seconds=60 --out results --quiet");
  // The first load is done, and a cell reads.
  ASSERT_TRUE(Becomes([&] {
    std::error_code none;
    const fs::directory_iterator loads(directory_ / "results/loads", none);
    return loads != fs::directory_iterator() && Processes().size() >= 2;
  }));
  LetItWork();
  KillAndExpectNoneLeft(process);
}

// The image is written, a file system made, and a database loaded within this time, so that kills
// come at all of these stages.
TEST_F(KilledParentTest, SettingUpAScratchDevice) {
  if (::geteuid() != 0) GTEST_SKIP() << "a scratch device needs root";
  for (int ms = 10; ms <= 3000; ms = ms * 2) {
    SCOPED_TRACE(ms);
    const pid_t process = Start(std::string(kRun) + " --scratch 256M");
    ASSERT_TRUE(Becomes([&] { return Holds(".testbed-scratch"); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    KillAndExpectNoneLeft(process);
    CleanAndExpectEmpty();
  }
}

}  // namespace
}  // namespace testbed
