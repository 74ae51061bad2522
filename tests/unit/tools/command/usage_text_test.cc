#include "tools/command/usage_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

namespace testbed {
namespace {

using testing::StartsWith;

// Releases of the parser have other words about a range, and the build has only one of them.
TEST(UsageTextTest, ANumberOutOfItsRangeHasOneSentenceWhateverTheParsersWords) {
  const CLI::App app("", "testbed");
  const auto sentence = [&](const std::string& range) {
    return ParseErrorText(app, "--threads: Value -2 not in range " + range);
  };
  for (const std::string range : {"1 to 1000", "[1 - 1000]"}) {
    EXPECT_THAT(sentence(range), StartsWith("--threads -2 is not accepted; it takes a whole number "
                                            "from 1 to 1000; see"));
  }
  for (const std::string range : {"-0.5 to 1", "[-0.5 - 1]"}) {
    EXPECT_THAT(sentence(range),
                StartsWith("--threads -2 is not accepted; it takes a number from -0.5 to 1; see"));
  }
  EXPECT_THAT(ParseErrorText(app, "--threads: what else"), StartsWith("--threads: what else; see"));
}

}  // namespace
}  // namespace testbed
