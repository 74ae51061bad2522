// Tests which stored results may be compared.
#include "tools/report/compare_terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tools/ab/option_rules.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Returns a document without runs, with a value of each option that makes the rows.
json WithOptionsOfRows() {
  return {{"data", {{"rows", 1000}, {"key_bytes", 16000}, {"value_bytes", 400000}}},
          {"options",
           {{"rows", 1000},
            {"key_size", 16},
            {"value_size", 400},
            {"compressibility", 0.5},
            {"key_order", "random"},
            {"keys", ""},
            {"indexes", 0}}},
          {"runs", json::array()}};
}

// What forbids a comparison by `testbed ab` forbids one of stored results.
TEST(WhyNotComparableTest, EachOptionThatMakesTheRowsForbids) {
  const json first = WithOptionsOfRows();
  EXPECT_EQ(WhyNotComparable(first, first, "a", "b"), "");
  for (const std::string option : OptionsOfRows()) {
    std::string name = option;
    std::replace(name.begin(), name.end(), '-', '_');
    ASSERT_TRUE(first["options"].contains(name)) << name;
    json second = first;
    second["options"][name] = "another";
    EXPECT_THAT(WhyNotComparable(first, second, "a", "b"),
                HasSubstr("a and b cannot be compared, because their data differ: --" + option));
    second["options"].erase(name);
    EXPECT_EQ(WhyNotComparable(first, second, "a", "b"), "") << "a document of before " << option;
  }
}

// Each seed draws other sizes, and the loads of one result have seeds of their own.
TEST(WhyNotComparableTest, RandomSizesAreThoseThatWereAskedFor) {
  json first = WithOptionsOfRows();
  first["options"]["value_size"] = "100-1000";
  json second = first;
  second["data"]["value_bytes"] = 400001;
  EXPECT_EQ(WhyNotComparable(first, second, "a", "b"), "");
  second["options"]["value_size"] = "100-900";
  EXPECT_THAT(WhyNotComparable(first, second, "a", "b"),
              HasSubstr("--value-size 100-1000 against 100-900"));
  second["options"]["value_size"] = 400;
  EXPECT_THAT(WhyNotComparable(first, second, "a", "b"),
              HasSubstr("--value-size 100-1000 against 400"));
  first["options"]["value_size"] = 400;
  EXPECT_THAT(WhyNotComparable(first, second, "a", "b"),
              HasSubstr("value_bytes 400000 against 400001"));
  // The sizes of a column are those of a file.
  for (json* document : {&first, &second}) (*document)["options"]["value_size"] = "column";
  EXPECT_THAT(WhyNotComparable(first, second, "a", "b"),
              HasSubstr("value_bytes 400000 against 400001"));
}

TEST(WhyNotComparableTest, TheSentenceHasBothValues) {
  const json first = WithOptionsOfRows();
  json second = first;
  second["options"]["keys"] = "urls.txt";
  EXPECT_EQ(WhyNotComparable(first, second, "a", "b"),
            "a and b cannot be compared, because their data differ: --keys not set against "
            "urls.txt");
  second = first;
  second["options"]["compressibility"] = 0.25;
  EXPECT_THAT(WhyNotComparable(first, second, "a", "b"),
              HasSubstr("--compressibility 0.5 against 0.25"));
}

// What an index costs is a question about a setting, as by `testbed ab`.
TEST(WhyNotComparableTest, IndexesAreASetting) {
  const json first = WithOptionsOfRows();
  json second = first;
  second["options"]["indexes"] = 2;
  EXPECT_EQ(WhyNotComparable(first, second, "a", "b"), "");
  EXPECT_EQ(TermsText(TermsOf(first, second)), "setting differs: indexes: 0 against 2\n");
  const OptionRule* rule = FindOptionRule("indexes");
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->use, OptionUse::kSide);
}

// A document of one task does not say so.
TEST(CompareTermsTest, ARunWithoutTasksHasOne) {
  const json first = WithOptionsOfRows();
  json second = first;
  second["options"]["tasks"] = 3;
  EXPECT_EQ(TermsText(TermsOf(first, second)), "setting differs: tasks: 1 against 3\n");
  EXPECT_EQ(TermsText(TermsOf(second, first)), "setting differs: tasks: 3 against 1\n");
  EXPECT_EQ(TermsText(TermsOf(first, first)), "");
}

// Of two engines with the same --ram and direct IO, one may hold half of what the other holds.
TEST(CompareTermsTest, MemoryThatTwoEnginesHeldIsTermsOfTheirs) {
  const auto held = [](const char* engine, int mib, int mib_of_second) {
    json document = WithOptionsOfRows();
    document["options"]["engine"] = engine;
    json phases = json::array();
    for (const int of_phase : {mib, mib_of_second}) {
      phases.push_back({{"name", "point-read"}, {"kind", "measure"}});
      phases.back()["memory"]["held_mean"] = of_phase << 20;
    }
    phases.push_back({{"name", "insert"}, {"kind", "load"}});
    phases.back()["memory"]["held_mean"] = 7 << 20;
    document["runs"] = json::array({{{"threads", 1}, {"phases", phases}}});
    return document;
  };
  const auto text = [](const json& first, const json& second) {
    return TermsText(TermsOf(first, second));
  };
  const std::string engines = "setting differs: engine: btree against rocksdb\n";
  const json btree = held("btree", 100, 100);
  EXPECT_EQ(text(btree, held("rocksdb", 90, 80)),
            engines + "setting differs: memory held: 100M against 85M\n");
  EXPECT_EQ(text(btree, held("rocksdb", 91, 91)), engines);
  EXPECT_EQ(text(btree, held("btree", 50, 50)), "") << "a metric of the comparison tells it";
  json unknown = held("rocksdb", 50, 50);
  for (json& phase : unknown["runs"][0]["phases"]) phase.erase("memory");
  EXPECT_EQ(text(btree, unknown), engines);
}

// The account costs time and its depth is no option of the document, but of its runs.
TEST(CompareTermsTest, TheDepthOfTheAccountIsASetting) {
  json first = WithOptionsOfRows();
  const json failed = {{"threads", 1}, {"error", {{"sentence", "no space"}}}};
  first["runs"] = json::array({failed, {{"accounting", {{"depth", "device"}}}}});
  json second = first;
  EXPECT_EQ(TermsText(TermsOf(first, second)), "");
  second["runs"][1]["accounting"]["depth"] = "off";
  EXPECT_EQ(TermsText(TermsOf(first, second)), "setting differs: account: device against off\n");
  EXPECT_TRUE(TermsOf(first, second).comparable());
  second["runs"][1]["accounting"].erase("depth");
  EXPECT_EQ(TermsText(TermsOf(first, second)), "") << "a document that does not tell the depth";
  EXPECT_EQ(TermsText(TermsOf(second, first)), "");
}

}  // namespace
}  // namespace testbed
