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

using Rows = std::vector<std::optional<double>>;

json Phase(const char* kind, double inserted, double erased) {
  return {{"kind", kind},
          {"operations", json::array()},
          {"rows_inserted", inserted},
          {"rows_erased", erased}};
}

// A run on a loaded database knows how many rows there were before its phases from those that were
// there after them.
TEST(DatabaseRowsTest, OfALoadedDatabaseTheLastNumberTellsTheEarlierOnes) {
  const json document = {{"options", {{"workload", {"mixed"}}}}};
  json run = {{"phases", json::array({Phase("warm-up", 5, 0), Phase("measure", 1, 20)})},
              {"database", {{"rows", 86}}}};
  EXPECT_EQ(RowsAfterPhases(document, run), (Rows{105, 86}));
  const json settle = {{"kind", "settle"}};
  run["phases"].insert(run["phases"].begin(), settle);
  EXPECT_EQ(RowsAfterPhases(document, run), (Rows{100, 105, 86})) << "a step changes none";
  run.erase("database");
  EXPECT_EQ(RowsAfterPhases(document, run), (Rows{{}, {}, {}})) << "nobody tells";
}

TEST(DatabaseRowsTest, BehindAPhaseThatDoesNotTellOnlyACountDoes) {
  json untold = Phase("measure", 0, 0);
  untold.erase("rows_inserted");
  const json counted = {{"kind", "count"}, {"rows", 70}};
  const json run = {{"phases", json::array({Phase("load", 90, 0), untold, Phase("measure", 3, 0),
                                            counted, Phase("measure", 3, 1)})}};
  EXPECT_EQ(RowsAfterPhases({{"options", {{"workload", {"insert"}}}}}, run),
            (Rows{90, {}, {}, 70, 72}));
}

// The load adds rows to tables that have some.
TEST(DatabaseRowsTest, ALoadThatCountsItsTablesTellsAllRows) {
  json load = Phase("load", 30, 0);
  load["details"]["table_rows"] = 130;
  const json run = {{"phases", json::array({load, Phase("measure", 0, 7)})}};
  EXPECT_EQ(RowsAfterPhases({{"options", {{"workload", {"ib.i1"}}}}}, run), (Rows{130, 123}));
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
