#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <thread>

#include "device/os/thread.h"

namespace testbed {
namespace {

int made = 0, destroyed = 0;

struct Counted {
  Counted() { ++made; }
  ~Counted() { ++destroyed; }
  int value = 0;
};

Counted* CountedOfThread() {
  return OfThread([] { return std::make_unique<Counted>(); });
}

// Uses the object when all objects that the thread has made later are destroyed.
struct UsesItAtTheEnd {
  int found = -1;
  ~UsesItAtTheEnd() { CountedOfThread()->value = 1; }
};

TEST(OfThreadTest, EachThreadHasOneUntilItEnds) {
  Counted* const mine = CountedOfThread();
  EXPECT_EQ(CountedOfThread(), mine);
  made = destroyed = 0;
  std::thread([mine] {
    Counted* const own = CountedOfThread();
    EXPECT_NE(own, mine);
    EXPECT_EQ(CountedOfThread(), own);
    EXPECT_EQ(destroyed, 0);
  }).join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(CountedOfThread(), mine);
}

TEST(OfThreadTest, IsMadeAnewForWhatIsDestroyedLater) {
  made = destroyed = 0;
  std::thread([] {
    thread_local UsesItAtTheEnd last;
    last.found = CountedOfThread()->value;
    EXPECT_EQ(last.found, 0);
  }).join();
  EXPECT_EQ(made, 2);
  EXPECT_EQ(destroyed, 2);
}

TEST(OfThreadTest, TwoFunctionsHaveTwoObjects) {
  const auto other = [] { return OfThread([] { return std::make_unique<int>(7); }); };
  int* const one = OfThread([] { return std::make_unique<int>(8); });
  EXPECT_EQ(*one, 8);
  EXPECT_EQ(*other(), 7);
  EXPECT_EQ(other(), other());
}

TEST(OfThreadTest, IsTriedAgainWhenItCouldNotBeMade) {
  std::thread([] {
    bool fails = true;
    const auto get = [&fails] {
      return OfThread([&fails] {
        if (fails) throw std::runtime_error("not now");
        return std::make_unique<int>(3);
      });
    };
    EXPECT_THROW(get(), std::runtime_error);
    fails = false;
    EXPECT_EQ(*get(), 3);
  }).join();
}

}  // namespace
}  // namespace testbed
