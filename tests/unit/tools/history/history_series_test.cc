#include "tools/history/history_series.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace testbed {
namespace {

using nlohmann::json;

// Returns the result of a night, with one load for each of the rates.
HistoryEntry Entry(int night, const std::vector<double>& rates, int cache_pct = 50) {
  json document = {{"started", "2026-10-" + std::to_string(10 + night) + "T02:00:00Z"},
                   {"options", {{"engine", "btree"}, {"cache_pct", cache_pct}, {"seed", night}}},
                   {"testbed", std::to_string(night)},  // versions change, and the series goes on
                   {"machine", {{"cpu_model", "x"}}},
                   {"runs", json::array()}};
  for (size_t load = 0; load < rates.size(); ++load) {
    const json operations = json::array(
        {{{"name", "point-read"}, {"latency_us", {{"p99", 30}}}, {"rate", rates[load]}}});
    const json phase = {
        {"name", "point-read"}, {"kind", "measure"},        {"count", 10},
        {"rate", rates[load]},  {"operations", operations}, {"account", json::object()}};
    document["runs"].push_back({{"threads", 1}, {"load", load}, {"phases", json::array({phase})}});
  }
  return {"main", "c" + std::to_string(night), document};
}

TEST(HistorySeriesTest, JoinsResultsOfTheSameSettingsWhateverTheVersions) {
  std::vector<HistoryEntry> entries;
  for (int night = 0; night < 3; ++night) entries.push_back(Entry(night, {100, 104}));
  entries.push_back(Entry(3, {50}, 20));
  const std::vector<HistorySeries> series = SeriesOf(entries, {"rate", "p99"});
  ASSERT_EQ(series.size(), 4u);
  EXPECT_EQ(series[0].title, "btree point-read, 1 thr");
  EXPECT_EQ(series[0].points.size(), 3u);
  EXPECT_EQ(series[0].points[2].commit, "c2");
  EXPECT_EQ(series[0].points[2].value.mean, 102);
  EXPECT_EQ(series[0].points[2].value.n, 2u);
  EXPECT_EQ(series[2].title, "btree point-read, 1 thr (settings 2)");
  EXPECT_EQ(series[2].points.size(), 1u);
}

// The title is also a comment of a file, whose next line it would begin.
TEST(HistorySeriesTest, ATitleIsOneLine) {
  HistoryEntry entry = Entry(0, {100});
  entry.document["options"]["engine"] = "b\ntree";
  EXPECT_EQ(SeriesOf({entry}, {"rate"}).at(0).title, "b tree point-read, 1 thr");
}

TEST(HistorySeriesTest, ATitleNamesTheReleaseOfTheEngine) {
  HistoryEntry first = Entry(0, {100}), second = Entry(1, {100});
  second.document["options"]["release"] = "9.8.7";
  const std::vector<HistorySeries> series = SeriesOf({first, second}, {"rate"});
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].title, "btree point-read, 1 thr");
  EXPECT_EQ(series[1].title, "btree@9.8.7 point-read, 1 thr (settings 2)");
}

TEST(HistorySeriesTest, ARunWhoseSettingsWereRefusedIsOfAnotherSeries) {
  std::vector<HistoryEntry> entries;
  for (int night = 0; night < 4; ++night) entries.push_back(Entry(night, {100}));
  for (size_t night : {1, 3}) {
    entries[night].document["not_in_force"] = {{{"option", "ram"}, {"why", "only root may"}}};
  }
  const std::vector<HistorySeries> series = SeriesOf(entries, {"rate"});
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].points.size(), 2u);
  EXPECT_EQ(series[1].points.size(), 2u);
  EXPECT_EQ(series[1].points[1].commit, "c3");
}

// Each night has another seed, so its random sizes of values differ. They must not begin a new
// series, but sizes that are measured from a file must.
TEST(HistorySeriesTest, RandomSizesOfValuesGoOnWithEachSeed) {
  std::vector<HistoryEntry> entries;
  for (int night = 0; night < 3; ++night) {
    entries.push_back(Entry(night, {100}));
    json& document = entries.back().document;
    document["options"]["value_size"] = "100-1000";
    document["data"] = {{"rows", 1000}, {"key_bytes", 16000}, {"value_bytes", 550000 + night}};
  }
  EXPECT_EQ(SeriesOf(entries, {"rate"}).size(), 1u);
  for (HistoryEntry& entry : entries) entry.document["options"]["value_size"] = "column";
  EXPECT_EQ(SeriesOf(entries, {"rate"}).size(), 3u);
}

// The rehearsals of each night find another share, and "options" has what they found. A size of the
// cache that was given is a setting.
TEST(HistorySeriesTest, SizesOfTheCacheThatRehearsalsFoundGoOn) {
  std::vector<HistoryEntry> entries;
  for (int night = 0; night < 3; ++night) {
    entries.push_back(Entry(night, {100}, 50 + night));
    json& options = entries.back().document["options"];
    options["cache_size"] = 1000000 + night;
    options["cache_most"] = true;
  }
  EXPECT_EQ(SeriesOf(entries, {"rate"}).size(), 1u);
  entries[1].document["options"]["cache_most"] = false;
  EXPECT_EQ(SeriesOf(entries, {"rate"}).size(), 2u) << "a share that was given is another setting";
  for (HistoryEntry& entry : entries) entry.document["options"]["cache_most"] = false;
  EXPECT_EQ(SeriesOf(entries, {"rate"}).size(), 3u);
  for (HistoryEntry& entry : entries) {
    entry.document["options"]["cache_most"] = true;
    entry.document["options"]["io"] = entry.commit;
  }
  EXPECT_EQ(SeriesOf(entries, {"rate"}).size(), 3u) << "other settings are no less settings";
}

TEST(HistorySeriesTest, AnotherDepthOfTheAccountIsAnotherSeries) {
  std::vector<HistoryEntry> entries;
  for (const char* depth : {"device", "off", "device"}) {
    entries.push_back(Entry(static_cast<int>(entries.size()), {100}));
    entries.back().document["runs"][0]["accounting"]["depth"] = depth;
  }
  const std::vector<HistorySeries> series = SeriesOf(entries, {"rate"});
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].points.size(), 2u);
}

// Returns for each series whether later results continue it (HistorySeries::goes_on()).
std::vector<bool> GoOn(const std::vector<HistoryEntry>& entries) {
  std::vector<bool> all;
  for (const HistorySeries& series : SeriesOf(entries, {"rate"})) all.push_back(series.goes_on());
  return all;
}

// An update of the kernel ends a series and begins another. If the ended one were judged, a slow
// result on its last nights would be reported for ever.
TEST(HistorySeriesTest, ASeriesThatEndedIsNotJudged) {
  std::vector<HistoryEntry> entries;
  for (int night = 0; night < 12; ++night) {
    entries.push_back(Entry(night, {(night < 9 ? 100.0 : 80.0) + night % 3}));
  }
  EXPECT_TRUE(GotWorse(ChangesOf(SeriesOf(entries, {"rate"}), 3)[0]));
  std::vector<HistoryEntry> updated = entries;
  updated.push_back(Entry(12, {80}));
  updated.back().document["machine"]["kernel"] = "7.0";
  EXPECT_EQ(GoOn(updated), (std::vector<bool>{false, true}));
  std::vector<HistorySeries> series = SeriesOf(updated, {"rate"});
  const std::vector<HistoryChange> changes = ChangesOf(series, 3);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].series->title, "btree point-read, 1 thr (settings 2)");
  EXPECT_FALSE(changes[0].answer.told());
  // The same holds when the same commit was measured before and after the update.
  updated.back().commit = "c11";
  EXPECT_EQ(GoOn(updated), (std::vector<bool>{false, true}));
  // A series ends when a later commit is measured without it. Series that are measured at the same
  // commits all go on.
  entries.push_back(Entry(12, {50}, 20));
  EXPECT_EQ(GoOn(entries), (std::vector<bool>{false, true}));
  entries.back().commit = "c11";
  EXPECT_EQ(GoOn(entries), (std::vector<bool>{true, true}));
}

// What the newest result lacks is not judged by older ones, whatever other metrics are asked for.
// The settings and the machine are not the reason.
TEST(HistorySeriesTest, AMetricThatTheNewestResultLacksIsNotJudged) {
  std::vector<HistoryEntry> entries;
  for (int night = 0; night < 8; ++night) entries.push_back(Entry(night, {100.0 + night % 3}));
  json& phase = entries.back().document["runs"][0]["phases"][0];
  phase["operations"][0]["latency_us"].erase("p99");
  std::vector<HistorySeries> series = SeriesOf(entries, {"rate", "p99"});
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].state, SeriesState::kGoesOn);
  EXPECT_EQ(series[1].state, SeriesState::kLacksMetric);
  EXPECT_EQ(SeriesOf(entries, {"p99"}).at(0).state, SeriesState::kLacksMetric);
  const std::vector<HistoryChange> changes = ChangesOf(series, 3);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].series->metric, "rate");
  entries.push_back(Entry(8, {100}));
  series = SeriesOf(entries, {"rate", "p99"});
  EXPECT_EQ(series[1].state, SeriesState::kGoesOn) << "the next result has it again";
  entries.back().document["machine"]["kernel"] = "7.0";
  series = SeriesOf(entries, {"rate", "p99"});
  ASSERT_EQ(series.size(), 4u);
  EXPECT_EQ(series[0].state, SeriesState::kOtherTerms);
  EXPECT_EQ(series[1].state, SeriesState::kOtherTerms);
  EXPECT_EQ(series[3].state, SeriesState::kGoesOn);
}

TEST(HistorySeriesTest, FindsTheLastResultsWorseByNights) {
  std::vector<HistoryEntry> entries;
  for (int night = 0; night < 10; ++night) entries.push_back(Entry(night, {100.0 + night % 3}));
  const auto changes = [&](size_t last) { return ChangesOf(SeriesOf(entries, {"rate"}), last); };
  EXPECT_FALSE(GotWorse(changes(3)[0]));
  for (int night = 10; night < 13; ++night) entries.push_back(Entry(night, {90.0 + night % 3}));
  const std::vector<HistorySeries> series = SeriesOf(entries, {"rate", "p99"});
  const std::vector<HistoryChange> worse = ChangesOf(series, 3);
  ASSERT_EQ(worse.size(), 2u);
  EXPECT_TRUE(GotWorse(worse[0]));
  EXPECT_EQ(worse[0].answer.loads_a, 10);
  EXPECT_EQ(worse[0].answer.loads_b, 3);
  EXPECT_FALSE(GotWorse(worse[1]));
  EXPECT_EQ(ChangesOf(series, 12)[0].answer.reason, Reason::kFewLoads);
  EXPECT_EQ(ChangesOf(series, 100)[0].answer.outcome, Outcome::kUnknown);
}

}  // namespace
}  // namespace testbed
