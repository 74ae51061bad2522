// Tests that no two phases that write to a database have the same number, whatever becomes of its
// record.
#include "workloads/writing_phases.h"

#include <gtest/gtest.h>

#include <optional>

namespace testbed {
namespace {

TEST(WritingPhasesTest, APhaseOfALaterRunHasANumberOfItsOwn) {
  WritingPhases first(uint64_t{0});
  EXPECT_EQ(first.Begin(), 1u);
  EXPECT_EQ(first.Begin(), 2u);
  WritingPhases next(first.last());
  EXPECT_EQ(next.last(), 2u);
  EXPECT_EQ(next.Begin(), 3u);
}

TEST(WritingPhasesTest, AnUnknownNumberIsFollowedByAGreaterOne) {
  WritingPhases unknown(std::nullopt);
  EXPECT_GT(unknown.Begin(), 1'000'000'000u) << "no database has had as many phases";
}

}  // namespace
}  // namespace testbed
