// Tests how a limit of latency is written, and how many operations its percentile needs.
#include "tools/rate/rate_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/error.h"

namespace testbed {
namespace {

std::string WhyNot(const std::string& text) {
  try {
    (void)ParseRateLimit("--find-rate", text);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    return e.what();
  }
  return "";
}

TEST(RateLimitTest, IsAPercentileAndATimeWithOrWithoutAnOperation) {
  const RateLimit plain = ParseRateLimit("--find-rate", "p99 < 5ms");
  EXPECT_EQ(plain.operation, "");
  EXPECT_DOUBLE_EQ(plain.share, 0.99);
  EXPECT_EQ(plain.limit_ns, 5'000'000u);
  const RateLimit of_updates = ParseRateLimit("--find-rate", "  update  p99.9<1.5s ");
  EXPECT_EQ(of_updates.operation, "update");
  EXPECT_DOUBLE_EQ(of_updates.share, 0.999);
  EXPECT_EQ(of_updates.limit_ns, 1'500'000'000u);
  EXPECT_EQ(ParseRateLimit("--find-rate", "p50 < 0.5 us").limit_ns, 500u);
}

TEST(RateLimitTest, ItsTextIsReadAsTheSame) {
  for (const char* text : {"p99 < 5ms", "update p99.9 < 1500ms", "p50 < 0.5us", "p99.99 < 2s"}) {
    EXPECT_EQ(ParseRateLimit("--find-rate", text).Text(), text);
  }
  EXPECT_EQ(ParseRateLimit("--find-rate", "p99<0.005 s").Text(), "p99 < 5ms");
}

TEST(RateLimitTest, AnythingElseIsRefusedWithWhatIsAccepted) {
  for (const char* text : {"",
                           "p99",
                           "p99 > 5ms",
                           "p99 < ",
                           "p99 < 5",
                           "p99 < 5min",
                           "p99 < -5ms",
                           "p99 < 0ms",
                           "p99 < nan s",
                           "p99 < 1e9s",
                           "99 < 5ms",
                           "p < 5ms",
                           "p49 < 5ms",
                           "p100 < 5ms",
                           "p99.999 < 5ms",
                           "pp99 < 5ms",
                           "max < 5ms",
                           "a b p99 < 5ms",
                           "p99 < 5ms < 6ms",
                           "< 5ms",
                           "p99 < 5 m s",
                           "p99x < 5ms"}) {
    EXPECT_THAT(WhyNot(text), testing::HasSubstr("'p99 < 5ms'")) << text;
    EXPECT_THAT(WhyNot(text), testing::StartsWith("--find-rate ")) << text;
  }
}

TEST(RateLimitTest, AHundredOperationsAreExpectedAboveThePercentile) {
  const auto needed = [](const char* text) {
    return ParseRateLimit("--find-rate", text).OperationsNeeded();
  };
  EXPECT_EQ(needed("p50 < 1s"), 200u);
  EXPECT_EQ(needed("p99 < 1s"), 10'000u);
  EXPECT_EQ(needed("p99.9 < 1s"), 100'000u);
  EXPECT_EQ(needed("p99.99 < 1s"), 1'000'000u);
}

}  // namespace
}  // namespace testbed
