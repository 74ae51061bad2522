#include "device/lower_case.h"

#include <gtest/gtest.h>

namespace testbed {
namespace {

TEST(LowerCaseTest, ChangesTheLettersOfAsciiAlone) {
  EXPECT_EQ(LowerCase("AZaz09@[`{-_"), "azaz09@[`{-_");
  EXPECT_EQ(LowerCase("\xc3\x84 \xc0\xdf"), "\xc3\x84 \xc0\xdf");
  EXPECT_EQ(LowerCase(""), "");
  EXPECT_EQ(LowerCase('Q'), 'q');
}

}  // namespace
}  // namespace testbed
