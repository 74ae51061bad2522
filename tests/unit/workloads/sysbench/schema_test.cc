#include "workloads/sysbench/schema.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace testbed::sysbench {
namespace {

std::string Row(uint32_t id, uint64_t random) {
  std::string row(kRowBytes, '\0');
  PutBigEndian(7, row.data());
  PutC(id, random, row.data() + kKBytes);
  PutPad(random + 1, row.data() + kKBytes + kCBytes);
  return row;
}

TEST(SysbenchSchemaTest, ARowIsOneOfItsIdAndNoOtherBytesAre) {
  const std::string row = Row(5, 99);
  EXPECT_TRUE(CheckRow(5, row));
  EXPECT_FALSE(CheckRow(6, row));
  EXPECT_FALSE(CheckRow(5, row.substr(1)));
  for (size_t at = kKBytes; at < row.size(); ++at) {
    std::string changed = row;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(CheckRow(5, changed)) << at;
  }
  // ###########-###########-..., ten groups and five, each padded with a space.
  const std::string c = row.substr(kKBytes, kCBytes), pad = row.substr(kKBytes + kCBytes);
  for (size_t i = 0; i < kCBytes; ++i) {
    EXPECT_EQ(c[i] == '-', i % 12 == 11 && i + 1 < kCBytes) << i;
  }
  EXPECT_EQ(c.back(), ' ');
  EXPECT_EQ(pad.back(), ' ');
}

TEST(SysbenchSchemaTest, SpecialIdsAreThreeQuartersInTheMiddleHundredth) {
  constexpr uint32_t kSize = 100000;
  constexpr int kDraws = 400000;
  const auto draw = [](RandType type) {
    Settings settings{.table_size = kSize, .rand_type = type};
    Ids ids(settings, 1);
    std::vector<int> counts(kSize + 1);
    for (int i = 0; i < kDraws; ++i) {
      const uint32_t id = ids.Next();
      EXPECT_TRUE(id >= 1 && id <= kSize) << id;
      if (id >= 1 && id <= kSize) ++counts[id];
    }
    return counts;
  };
  const auto share = [](const std::vector<int>& counts, uint32_t from, uint32_t to) {
    double sum = 0;
    for (uint32_t id = from; id <= to; ++id) sum += counts[id];
    return sum / kDraws;
  };
  // sysbench uses one random number twice: for the middle only its upper three quarters are left,
  // so the lowest quarter of the hundredth is hardly drawn.
  const std::vector<int> special = draw(RandType::kSpecial);
  EXPECT_NEAR(share(special, 49501, 50500), 0.75 + 0.25 * 0.012 * 4, 0.02);
  EXPECT_LT(share(special, 49501, 49700), 0.02);
  EXPECT_NEAR(share(draw(RandType::kUniform), 1, kSize / 2), 0.5, 0.01);
  EXPECT_NEAR(share(draw(RandType::kGaussian), 1, kSize / 2), 0.5, 0.01);
  // By the 80:20 rule, the first fifth of the ids gets four fifths of the draws.
  EXPECT_NEAR(share(draw(RandType::kPareto), 1, kSize / 5), 0.8, 0.01);
  EXPECT_GT(share(draw(RandType::kZipfian), 1, kSize / 10), 0.5);
}

}  // namespace
}  // namespace testbed::sysbench
