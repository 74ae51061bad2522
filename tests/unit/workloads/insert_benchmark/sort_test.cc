#include "workloads/insert_benchmark/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "workloads/insert_benchmark/schema.h"
#include "workloads/random.h"

namespace testbed {
namespace {

// The numbers of entries are none, one, as many as memory holds, one more, and many times as many.
TEST(IbSorterTest, EntriesComeInOrderOnceEach) {
  const std::string path = testing::TempDir() + "ib_sorter_test";
  for (const uint64_t count : {0u, 1u, 100u, 101u, 5000u}) {
    IbSorter sorter(path, 20, 100);
    std::vector<std::string> expected;
    Random random(count);
    for (uint64_t i = 0; i < count; ++i) {
      IbSorter::Entry entry;
      IbPut(random.Next() % 50, 12, entry.bytes);  // many entries have equal beginnings
      IbPut(i, 8, entry.bytes + 12);
      expected.emplace_back(entry.bytes, 20);
      sorter.Add(entry);
    }
    sorter.Finish();
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(sorter.runs(), count <= 100 ? 0u : (count + 99) / 100);
    std::sort(expected.begin(), expected.end());
    std::vector<std::string> found;
    for (IbSorter::Entry entry; sorter.Next(&entry);) found.emplace_back(entry.bytes, 20);
    EXPECT_EQ(found, expected) << count;
    EXPECT_EQ(sorter.size(), count);
  }
}

TEST(IbSorterTest, AFileOfItsTemporaryFilesNameStays) {
  const std::string path = testing::TempDir() + "ib_sorter_theirs";
  std::ofstream(path) << "theirs";
  {
    IbSorter sorter(path, 20, 100);
    for (uint64_t i = 0; i < 1000; ++i) {
      IbSorter::Entry entry{};
      IbPut(i, 8, entry.bytes);
      sorter.Add(entry);
    }
    sorter.Finish();
    EXPECT_GT(sorter.runs(), 1u);
  }
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "theirs");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace testbed
