// Tests that `testbed crashtest` tells of a client that hangs in a commit, which the crash would
// hide, of a recovery or another opening that hangs, for which it would wait for ever, and of a
// recovery that ends the process as if all was well before it has compared a row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/crash/engine_without_rows.h"
#include "tests/own_dir.h"
#include "tools/crashtest/crashtest.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kCommits = 5;  // before the hang, and that a round needs

void CommitUntilItHangs() {
  static int commits = 0;  // in the child that writes
  if (++commits <= kCommits) return;
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

std::string hung_once;  // a file that the first opening makes; later openings hang

void HangInLaterOpenings() {
  while (std::filesystem::exists(hung_once)) {
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
  const std::ofstream made(hung_once);
}

void Rest() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

// Makes one kill of the engine, with one client, and returns the sentences of its failures.
std::vector<std::string> FailuresOf(const std::string& engine, uint64_t seed,
                                    uint32_t verify_wait_ms = 600000) {
  const OwnDir dir("hanging_client_test");
  hung_once = dir.path() + ".opened";
  CrashtestOptions options = ShortCrashtest(engine, {"--dir", dir.path()});
  options.kills = 1;
  options.least_commits = kCommits;
  options.commits_wait_ms = 300;
  options.verify_wait_ms = verify_wait_ms;
  options.run.data.seed = seed;
  std::vector<std::string> failures = RunCrashtest(options).failures;
  std::filesystem::remove(hung_once);
  return failures;
}

TEST(HangingClientTest, FailsTheRoundBeforeACleanClose) {
  AddEngineWithoutRows("hanging", [] {}, CommitUntilItHangs);
  EXPECT_THAT(FailuresOf("hanging", SeedOfFirstCrash(90, 75)),
              ElementsAre(HasSubstr("did not end its commits within 300 ms")));
}

TEST(HangingClientTest, AHangingRecoveryFailsTheRound) {
  AddEngineWithoutRows("not-recovering", HangInLaterOpenings, Rest);
  EXPECT_THAT(FailuresOf("not-recovering", SeedOfFirstCrash(50), 1000),
              ElementsAre(HasSubstr("recovery did not end within 1000 ms")));
}

TEST(HangingClientTest, AHangingOpeningFailsTheRound) {
  const auto hang = [] {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  };
  AddEngineWithoutRows("not-opening", hang, Rest);
  EXPECT_THAT(FailuresOf("not-opening", SeedOfFirstCrash(50), 200),
              ElementsAre(HasSubstr("its process did not open it within 200 ms")));
}

// A library may end the process by itself.
TEST(HangingClientTest, ARecoveryThatEndsBeforeItHasComparedFailsTheRound) {
  AddEngineWithoutRows("ending", [] {}, Rest, [] { ::_exit(0); });
  EXPECT_THAT(FailuresOf("ending", SeedOfFirstCrash(50)),
              ElementsAre(HasSubstr("recovery ended by itself with exit code 0")));
}

}  // namespace
}  // namespace testbed
