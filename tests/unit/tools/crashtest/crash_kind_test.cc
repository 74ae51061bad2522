// Tests what the rounds of crashtest choose.
#include "tools/crashtest/crash_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace testbed {
namespace {

// An engine that syncs only for groups of commits loses those of a client that is alone.
TEST(CrashKindTest, InEveryEighthRoundOneClientIsAlone) {
  CrashtestOptions options;
  options.writers = 3;
  std::set<int> alone;
  for (int round = 1; round <= 32; ++round) {
    const std::vector<int> clients = ClientsOf(options, round);
    if (round % 8 == 7) {
      ASSERT_EQ(clients.size(), 1u) << round;
      alone.insert(clients[0]);
    } else {
      EXPECT_THAT(clients, testing::ElementsAre(0, 1, 2)) << round;
    }
  }
  EXPECT_THAT(alone, testing::ElementsAre(0, 1, 2));
  options.writers = 1;
  EXPECT_THAT(ClientsOf(options, 7), testing::ElementsAre(0));
}

}  // namespace
}  // namespace testbed
