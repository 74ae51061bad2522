// Tests the values of replays: each tells its key, and what makes them takes little memory, however
// many clients there are.
#include "workloads/trace/value_maker.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/workloads/trace/memory_in_use.h"

namespace testbed {
namespace {

TEST(ValueMakerTest, AThousandClientsTakeLittleMemory) {
  const Dataset dataset{DatasetOptions()};
  const uint64_t before = MemoryInUse();
  std::vector<std::unique_ptr<ValueMaker>> makers;
  for (uint64_t i = 0; i < 1000; ++i) makers.push_back(std::make_unique<ValueMaker>(dataset, i));
  EXPECT_LT(MemoryInUse(), before + (256u << 20));
}

std::string FirstValue(uint64_t seed, const std::string& key, size_t size) {
  DatasetOptions options;
  options.seed = seed;
  const Dataset dataset(options);
  std::string bytes(size, ' ');
  ValueMaker(dataset, 0).MakeFirst(key, bytes.size(), bytes.data());
  return bytes;
}

TEST(ValueMakerTest, ValuesOfADataSetAreNotThoseOfTheOneBefore) {
  const std::string first = FirstValue(1, "a key of no row", 500);
  EXPECT_NE(FirstValue(2, "a key of no row", 500), first);
  EXPECT_EQ(FirstValue(1, "a key of no row", 500), first);
}

// Whoever reads the row after the replay checks a short value by its row, too.
TEST(ValueMakerTest, AShortValueOfTheRowsOwnSizeIsTheRows) {
  DatasetOptions options;
  options.value_sizes = ValueSizes::kUniform;
  options.least_value = 2;
  options.most_value = 7;
  const Dataset dataset(options);
  ValueMaker maker(dataset, 77);
  char buffer[16];
  for (uint64_t row = 0; row < 50; ++row) {
    std::string value(dataset.ValueSize(row), ' ');
    maker.Make(dataset.Key(row, buffer), value.size(), value.data());
    EXPECT_TRUE(dataset.Check(row, value)) << row << " of " << value.size();
  }
}

TEST(ValueMakerTest, AValueTellsItsKey) {
  DatasetOptions options;
  options.value_size = 4;
  const Dataset dataset(options);
  char buffer[64];
  ValueMaker maker(dataset, 77);
  for (const std::string& key : {std::string(dataset.Key(5, buffer)), std::string("of no row")}) {
    // The last is longer than the bytes that values are cut from.
    for (const size_t size : {4u, 8u, 15u, 16u, 100u, 3'000'000u}) {
      SCOPED_TRACE(key + ", " + std::to_string(size));
      std::string first(size, ' '), next(size, ' ');
      maker.MakeFirst(key, size, first.data());
      maker.Make(key, size, next.data());
      EXPECT_NE(first, next);
      for (std::string* value : {&first, &next}) {
        EXPECT_TRUE(maker.MayHaveMade(key, *value));
        EXPECT_TRUE(ValueMaker(dataset, 0).MayHaveMade(key, *value)) << "of another client";
        EXPECT_FALSE(maker.MayHaveMade("another key", *value));
        value->back() = static_cast<char>(value->back() ^ 1);
        EXPECT_FALSE(maker.MayHaveMade(key, *value));
      }
    }
  }
  EXPECT_TRUE(maker.MayHaveMade("of no row", "short")) << "too short to tell";
}

}  // namespace
}  // namespace testbed
