// Tests from which phases the figures of a whole run are computed.
#include "tools/experiment/figures.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace testbed {
namespace {

using nlohmann::json;

json Phase(const std::string& name, const std::string& kind, double rate, double held) {
  return {{"name", name},
          {"kind", kind},
          {"rate", rate},
          {"memory", {{"held_mean", held}, {"held_most", held}, {"limit", 100}}}};
}

// A check walks through the whole database, which fills the page cache. The work that was measured
// before the check may need much less memory.
TEST(FiguresTest, ACheckOfTheDatabaseIsNotWhatWasMeasured) {
  json run;
  run["phases"] =
      json::array({Phase("linkbench-load", "load", 3, 70), Phase("linkbench", "measure", 7, 60),
                   Phase("linkbench-check", "measure", 1, 99)});
  const Figures figures = FiguresOf(json::object(), run);
  EXPECT_EQ(figures.at("held.bytes"), 60);
  EXPECT_EQ(figures.at("held.full"), 0);
  EXPECT_EQ(figures.at("measured.rate"), 7);
  EXPECT_EQ(figures.at("linkbench_check.rate"), 1);
}

// bf-tree's cache has a power of two bytes. A full one was said never to have been filled.
TEST(FiguresTest, TheCacheThatWasInUseIsAShareOfTheCacheThatThereWas) {
  json run;
  run["phases"] = json::array({Phase("point-read", "measure", 1, 99)});
  json document = {{"options", {{"ram", 1000}}}};
  json& rehearsal = document["cache_rehearsal"]["rehearsals"].emplace_back();
  rehearsal = {{"cache_pct", 90.0}, {"engine_cache", 512.0}};
  EXPECT_DOUBLE_EQ(FiguresOf(document, run).at("held.cache_share"), 512.0 / 900);
  rehearsal["cache_bytes"] = 512.0;
  EXPECT_DOUBLE_EQ(FiguresOf(document, run).at("held.cache_share"), 1);
}

// Figures of a later search take the place of those of an earlier one. A search that missed its
// limit at every rate has no found_rate, and must not leave the earlier one there.
TEST(FiguresTest, ASearchThatFoundNoRateShowsNoneOfTheSearchBeforeIt) {
  const auto search = [](const char* name, const json& found, double measured) {
    return json{{"name", name}, {"found_rate", found}, {"measured_rate", measured}};
  };
  json run;
  run["find_rate"] = json::array(
      {search("ycsb-a", 3000, 3000), search("ycsb-c", 5000, 5000), search("ycsb-c", json(), 100)});
  Figures figures = FiguresOf(json::object(), run);
  EXPECT_EQ(figures.at("find_rate.ycsb_c.measured_rate"), 100);
  EXPECT_FALSE(figures.contains("find_rate.ycsb_c.found_rate"));
  EXPECT_EQ(figures.at("find_rate.ycsb_a.found_rate"), 3000);
  run["find_rate"].push_back(search("ycsb-c", 4000, 4000));
  figures = FiguresOf(json::object(), run);
  EXPECT_EQ(figures.at("find_rate.ycsb_c.found_rate"), 4000);
}

TEST(FiguresTest, ACheckAloneIsWhatWasMeasured) {
  json run;
  run["phases"] = json::array({Phase("linkbench-check", "measure", 1, 99)});
  const Figures figures = FiguresOf(json::object(), run);
  EXPECT_EQ(figures.at("held.bytes"), 99);
  EXPECT_EQ(figures.at("measured.rate"), 1);
}

}  // namespace
}  // namespace testbed
