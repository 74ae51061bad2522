// Tests the values of replays: what makes them takes little memory, however many clients there are.
#include "workloads/trace/value_maker.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace testbed {
namespace {

uint64_t MemoryInUse() {
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(ValueMakerTest, AThousandClientsShareTheBytesThatTheyCutValuesFrom) {
  const Dataset dataset{DatasetOptions()};
  const uint64_t before = MemoryInUse();
  std::vector<std::unique_ptr<ValueMaker>> makers;
  for (uint64_t i = 0; i < 1000; ++i) makers.push_back(std::make_unique<ValueMaker>(dataset, i));
  EXPECT_LT(MemoryInUse(), before + (256u << 20));
}

TEST(ValueMakerTest, ValuesOfADataSetAreNotThoseOfTheOneBefore) {
  const Dataset dataset{DatasetOptions()};
  const ValueMaker before(dataset, 0);
  const auto value = [](uint64_t seed) {
    DatasetOptions options;
    options.seed = seed;
    const Dataset dataset(options);
    ValueMaker maker(dataset, 0);
    std::string bytes(500, ' ');
    maker.MakeFirst("a key of no row", bytes.size(), bytes.data());
    return bytes;
  };
  const std::string first = value(1);
  EXPECT_NE(value(2), first);
  EXPECT_EQ(value(1), first);
}

}  // namespace
}  // namespace testbed
