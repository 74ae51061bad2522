// Tests what is said of runs that differ in their devices.
#include "tools/experiment/verdict/mixed_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/tools/experiment/small_results.h"
#include "tools/experiment/report.h"

namespace testbed {
namespace {

class MixedTextsTest : public ResultsTest {};

// A round on a hard disk was averaged with those on flash, where the machines were equal.
TEST_F(MixedTextsTest, RoundsOnDevicesThatDifferAreNamed) {
  PlanRounds(3);
  const auto write = [this](size_t cell, const char* rotational, const char* readahead) {
    const nlohmann::json queue = {
        {"rotational", rotational}, {"read_ahead_kb", readahead}, {"scheduler", "none"}};
    dir_.WriteCell(cells_[cell],
                   {{"runs", {Run(90)}}, {"device", {{"name", "sda"}, {"queue", queue}}}});
  };
  write(0, "0", "128");
  write(1, "1", "128");   // another cell may have another device
  write(4, "0", "4096");  // the second round of the first cell
  EXPECT_THAT(MixedTexts(Results()), testing::IsEmpty());
  write(4, "1", "128");
  const std::string sentence =
      "the rounds of " + cells_[0].name + " had devices that differ in rotational (0, 1)";
  EXPECT_THAT(MixedTexts(Results()), testing::ElementsAre(sentence));
  EXPECT_THAT(ExperimentText(Results()), testing::HasSubstr("\n! the rounds of " + cells_[0].name));
}

}  // namespace
}  // namespace testbed
