#include "tools/database/database_rows.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace testbed {
namespace {

using nlohmann::json;

// The bytes that an update writes and the bytes that a row takes on disk are both compared with the
// same user bytes.
TEST(DatabaseRowsTest, ARowsBytesHaveItsIndexEntriesInThem) {
  json document = {{"options", {{"workload", {"insert"}}, {"indexes", 0}}},
                   {"data", {{"rows", 100}, {"key_bytes", 1600}, {"value_bytes", 40000}}}};
  EXPECT_EQ(MeanRowBytes(document), 416);
  document["options"]["indexes"] = 2;
  EXPECT_EQ(MeanRowBytes(document), 416 + 2 * 24);
  document["options"]["workload"] = {"document-load"};
  EXPECT_EQ(MeanRowBytes(document), std::nullopt);
}

TEST(DatabaseRowsTest, ADatabaseWithoutRowsHasNone) {
  const json operations = json::array();
  const json load = {{"kind", "load"}, {"operations", operations}, {"rows_inserted", 9}};
  const json erase = {
      {"kind", "measure"}, {"operations", operations}, {"rows_inserted", 0}, {"rows_erased", 9}};
  const json run = {{"phases", json::array({load, erase})}};
  const std::vector<std::optional<double>> rows =
      RowsAfterPhases({{"options", {{"workload", {"insert", "mixed"}}}}}, run);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], 9);
  EXPECT_EQ(rows[1], 0);
}

TEST(DatabaseRowsTest, TheLoaderIsThatOfTheFirstWorkloadThatNeedsOne) {
  const auto loader = [](const json& workloads) {
    return LoaderOf({{"options", {{"workload", workloads}}}});
  };
  EXPECT_EQ(loader({"insert", "mixed"}), "insert");
  EXPECT_EQ(loader({"settle", "linkbench"}), "linkbench-load");
  EXPECT_EQ(loader({"replay"}), "") << "it runs on any database";
  EXPECT_EQ(loader({"of-another-build"}), "");
  EXPECT_EQ(LoaderOf({{"runs", json::array()}}), "");
}

}  // namespace
}  // namespace testbed
