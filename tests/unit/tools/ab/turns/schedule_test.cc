// Tests the order in which sides take turns, and the processors that they get.
#include "tools/ab/turns/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "device/machine/host.h"
#include "tools/ab/turns/processors.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(AbScheduleTest, BlocksComeInPairsThatMirrorEachOther) {
  Schedule schedule(3, 1);
  for (int i = 0; i < 50; ++i) {
    const std::vector<int> first = schedule.NextBlock(), second = schedule.NextBlock();
    EXPECT_THAT(first, UnorderedElementsAre(0, 1, 2));
    EXPECT_EQ(std::vector<int>(first.rbegin(), first.rend()), second);
  }
}

TEST(AbScheduleTest, EachSideBeginsAboutAsOften) {
  Schedule schedule(2, 7);
  int begins = 0;
  for (int i = 0; i < 1000; ++i) {
    begins += schedule.NextBlock()[0];
    schedule.NextBlock();
  }
  EXPECT_GT(begins, 400);
  EXPECT_LT(begins, 600);
}

TEST(AbScheduleTest, EveryOrderOfRoundsComesUp) {
  Schedule schedule(3, 3);
  std::map<std::vector<int>, int> seen;
  for (int i = 0; i < 600; ++i) ++seen[schedule.Shuffled()];
  EXPECT_EQ(seen.size(), 6u);
  for (const auto& [order, times] : seen) EXPECT_GT(times, 50);
}

TEST(AbScheduleTest, AnotherSeedGivesAnotherOrder) {
  std::vector<int> one, other, again;
  Schedule a(2, 1), b(2, 2), c(2, 1);
  for (int i = 0; i < 64; ++i) {
    one.push_back(a.Shuffled()[0]);
    other.push_back(b.Shuffled()[0]);
    again.push_back(c.Shuffled()[0]);
  }
  EXPECT_NE(one, other);
  EXPECT_EQ(one, again);
}

TEST(AbProcessorsTest, SharesAreEqualAndDoNotOverlap) {
  EXPECT_THAT(Shares({0, 1}, 2), ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(Shares({0, 2, 3, 5, 9}, 2), ElementsAre(ElementsAre(0, 2), ElementsAre(3, 5)));
}

// Returns how many threads of this process may run on another processor.
int ThreadsBeside(int processor) {
  int beside = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    cpu_set_t set;
    CPU_ZERO(&set);
    const int thread = std::stoi(task.path().filename().string());
    if (::sched_getaffinity(thread, sizeof set, &set) != 0) continue;  // it has ended
    beside += CPU_COUNT(&set) != 1 || !CPU_ISSET(static_cast<size_t>(processor), &set);
  }
  return beside;
}

// A thread that makes others may do so between the listing and its own turn in it.
TEST(AbProcessorsTest, ThreadsThatAreMadeMeanwhileAreBoundToo) {
  const std::vector<int> own = OwnProcessors();
  if (own.size() < 2 || own.back() >= CPU_SETSIZE) GTEST_SKIP() << "needs two processors";
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> ends{false}, begun{false};
    std::thread maker([&] {
      std::vector<std::thread> made;
      while (made.size() < 100) {
        made.emplace_back([&ends] { ends.wait(false); });
        std::thread([] {}).join();  // a listing that goes on counts entries, and one has gone
        begun.store(true);
      }
      ends.wait(false);
      for (std::thread& thread : made) thread.join();
    });
    while (!begun.load()) {
    }
    BindProcess(::getpid(), {own[0]});
    EXPECT_EQ(ThreadsBeside(own[0]), 0);
    ends.store(true);
    ends.notify_all();
    maker.join();
    BindProcess(::getpid(), own);
  }
}

}  // namespace
}  // namespace testbed
