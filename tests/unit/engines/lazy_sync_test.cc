// Tests the thread that makes commits durable within an interval.
#include "engines/lazy_sync.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace testbed {
namespace {

using std::chrono::milliseconds;

// Waits until the condition holds, for at most a minute. Returns whether it does.
template <typename Condition>
bool Becomes(const Condition& condition) {
  for (int i = 0; i < 60000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(1));
  return condition();
}

TEST(LazySyncTest, SyncsWhenThereIsANewCommit) {
  std::atomic<uint64_t> commits{1}, syncs{0};
  LazySync lazy(milliseconds(1), [&] { return commits.load(); }, [&] { ++syncs; });
  for (uint64_t n = 1; n < 4; ++n) {
    ++commits;
    EXPECT_TRUE(Becomes([&] { return syncs.load() >= n; }));
  }
  EXPECT_NO_THROW(lazy.ThrowIfFailed());
}

TEST(LazySyncTest, AFailureIsToldFromThenOnAndNothingIsSyncedAfterIt) {
  std::atomic<uint64_t> commits{1}, syncs{0};
  LazySync lazy(
      milliseconds(1), [&] { return commits.load(); },
      [&] {
        ++syncs;
        throw Error::Io("sync", "log", EIO);
      });
  const auto failed = [&] {
    try {
      lazy.ThrowIfFailed();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), EIO);
      return true;
    }
    return false;
  };
  ++commits;
  EXPECT_TRUE(Becomes(failed));
  ++commits;
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_TRUE(failed());
  EXPECT_EQ(syncs.load(), 1u);
}

// WiredTiger does not tell its commits, so each turn asks it for a sync, which is over at once when
// there are none. After some time without commits the first sync came too late then.
TEST(LazySyncTest, TurnsThatFindNothingToSyncLeaveThePaceAsItIs) {
  using Clock = std::chrono::steady_clock;
  constexpr milliseconds kInterval{20};
  std::vector<Clock::time_point> turns;
  std::atomic<uint64_t> count{0};
  {
    LazySync lazy(kInterval, [&] {
      turns.push_back(Clock::now());
      const bool finds = turns.size() == 1;
      if (finds) std::this_thread::sleep_for(kInterval / 2);
      ++count;
      return finds;
    });
    ASSERT_TRUE(Becomes([&] { return count.load() >= 60; }));
  }
  // A busy machine may delay turns, but hardly all of them.
  Clock::duration shortest = Clock::duration::max();
  for (size_t i = 40; i < turns.size(); ++i) {
    shortest = std::min(shortest, turns[i] - turns[i - 1]);
  }
  EXPECT_LT(shortest, kInterval * 3 / 4) << "a sync took half of the interval";
}

// An exception that escapes the thread would end the program that embeds the engine.
TEST(LazySyncTest, WantOfMemoryIsAFailureAsAnyOther) {
  for (const bool in_sync : {true, false}) {
    std::atomic<uint64_t> commits{1};
    std::atomic<bool> none{false};
    const auto fail = [&] {
      if (none.load()) throw std::bad_alloc();
    };
    LazySync lazy(
        milliseconds(1),
        [&] {
          if (!in_sync) fail();
          return commits.load();
        },
        [&] { fail(); });
    EXPECT_NO_THROW(lazy.ThrowIfFailed());
    none.store(true);
    ++commits;
    EXPECT_TRUE(Becomes([&] {
      try {
        lazy.ThrowIfFailed();
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::kRun);
        EXPECT_EQ(std::string(error.what()).find("no memory is left"), 0u) << error.what();
        return true;
      }
      return false;
    }));
  }
}

}  // namespace
}  // namespace testbed
