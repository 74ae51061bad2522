#include "tools/cache/cache_rehearsal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "engines/registry.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr double kRam = 256 << 20;
constexpr double kMiB = 1 << 20;

// Imitates an engine that holds `other` bytes, and `factor` bytes for each byte of its cache. It
// fills the share `fills` of the cache, and at its peak holds `peak` times the mean.
struct FakeEngine {
  double other = 20 * kMiB, factor = 1.2, fills = 1, peak = 1.01, database = 1e12;
  std::vector<double> asked = {};
  Rehearsal operator()(double pct) {
    asked.push_back(pct);
    const double filled = std::min(kRam * pct / 100 * fills, database);
    const double mean = other + filled * factor;
    return {pct, filled, mean, mean * peak};
  }
};

double Find(FakeEngine* engine, std::vector<Rehearsal>* all = nullptr) {
  double chosen = 0;
  const auto rehearsals =
      FindMostShare(50, kRam, [&](double pct) { return (*engine)(pct); }, &chosen);
  if (all != nullptr) *all = rehearsals;
  return chosen;
}

TEST(CacheRehearsalTest, WhatIsChosenWasRehearsedAndFillsTheMemoryButForAFewPercent) {
  for (const double other : {5 * kMiB, 60 * kMiB, 120 * kMiB}) {
    for (const double factor : {1.0, 1.2, 1.6}) {
      for (const double fills : {0.8, 1.0}) {
        for (const double peak : {1.0, 1.02, 1.15}) {
          FakeEngine engine{other, factor, fills, peak};
          std::vector<Rehearsal> all;
          const double chosen = Find(&engine, &all);
          EXPECT_LE(all.size(), 4u);
          // The chosen share is one that was rehearsed, or slightly less.
          EXPECT_TRUE(std::any_of(engine.asked.begin(), engine.asked.end(), [&](double asked) {
            return chosen <= asked && chosen > asked - 1.5;
          })) << chosen;
          const Rehearsal again = engine(chosen);
          EXPECT_LE(again.own_most, 0.985 * kRam) << other << " " << factor << " " << peak;
          EXPECT_LE(again.own_mean, 0.95 * kRam);
          if (chosen > 94) continue;  // the largest share that may be given
          EXPECT_GE(NeededBytes(again), 0.965 * kRam) << other << " " << factor << " " << peak;
        }
      }
    }
  }
}

TEST(CacheRehearsalTest, TheMostAtAMomentBoundsTheShareWhereItIsFarFromTheMean) {
  FakeEngine calm{20 * kMiB, 1.2, 1, 1.0}, wild{20 * kMiB, 1.2, 1, 1.3};
  EXPECT_LT(Find(&wild), 0.85 * Find(&calm));
}

// A larger cache would hold no more, and an engine may size its other memory by what the cache
// leaves over.
TEST(CacheRehearsalTest, ACacheThatStaysHalfEmptyIsNotMadeLarger) {
  FakeEngine engine;
  engine.database = 40 * kMiB;
  EXPECT_EQ(Find(&engine), 50);
  EXPECT_EQ(engine.asked, std::vector<double>{50});
  engine.asked.clear();
  engine.database = 70 * kMiB;
  EXPECT_GT(Find(&engine), 50);
  engine.database = 0;  // an engine that does not say what its cache holds
  EXPECT_EQ(Find(&engine), 95);
}

// A run fails when the cache is too small for its transactions. The search must then end, and must
// not choose such a share.
TEST(CacheRehearsalTest, AShareThatIsTooSmallToWorkInEndsTheSearch) {
  const auto rehearse = [](double least) {
    double chosen = 0;
    FindMostShare(
        50, kRam,
        [&](double pct) {
          if (pct < least) throw Error(Error::kRun, "rolled back");
          // With a share above 30 % the engine needs more than the memory, else much less.
          return Rehearsal{pct, 0, kRam * (pct > 30 ? 1.2 : 0.5), 0};
        },
        &chosen);
    return chosen;
  };
  EXPECT_GT(rehearse(10), 10);
  EXPECT_LE(rehearse(10), 30);
  EXPECT_THROW(rehearse(60), Error) << "the first already is";
}

// Once, a stop by the user counted as a failure of a share that is too small. The search then went
// on and chose a share, or ended with another error.
TEST(CacheRehearsalTest, AStopEndsTheSearchWhicheverRehearsalItComesIn) {
  for (const size_t whole : {0, 1, 2}) {
    size_t done = 0;
    double chosen = 0;
    const auto rehearse = [&](double pct) {
      if (done++ == whole) throw Stopped("while it was rehearsed");
      const double own = kRam * pct / 100;
      return Rehearsal{pct, own, own, own};
    };
    EXPECT_THROW(FindMostShare(20, kRam, rehearse, &chosen), Stopped) << whole;
    EXPECT_EQ(done, whole + 1);
  }
}

// WiredTiger rolls transactions back when its cache is too small. After a first share that was too
// large, such a failure must not end the search.
TEST(CacheRehearsalTest, BetweenTooLargeAndTooSmallTheMiddleIsTried) {
  double chosen = 0;
  std::vector<double> asked;
  FindMostShare(
      50, kRam,
      [&](double pct) {
        asked.push_back(pct);
        if (pct < 28) throw Error(Error::kRun, "rolled back");
        const double own = pct >= 50 ? 1.25 * kRam : 0.9 * kRam;
        return Rehearsal{pct, 0, own, own};
      },
      &chosen);
  EXPECT_LT(asked[1], 28);
  EXPECT_EQ(asked[2], (asked[1] + 50) / 2);
  EXPECT_GE(chosen, asked[2]);
}

TEST(CacheRehearsalTest, ARunThatWasEndedIsDoneAnewWithLess) {
  json rehearsals = RehearsalsJson({{60, 1, 2, 3}}, 60);
  EXPECT_TRUE(rehearsals["ended_pct"].empty());
  const RunOptions options = ParseRunOptions({"--engine", "btree"});
  LowerShare(options, &rehearsals);
  LowerShare(options, &rehearsals);
  EXPECT_EQ(rehearsals["ended_pct"].size(), 2u);
  EXPECT_EQ(rehearsals["ended_pct"][0], 60);
  EXPECT_NEAR(rehearsals["chosen_pct"], 60 * 0.97 * 0.97, 1e-9);
}

TEST(CacheRehearsalTest, AShareThatWasTooLargeIsNotChosen) {
  // The engine needs much more as soon as its cache exceeds half of the memory. A line through
  // smaller shares does not predict that.
  double chosen = 0;
  std::vector<double> asked;
  const auto rehearse = [&](double pct) {
    asked.push_back(pct);
    const double cache = kRam * pct / 100;
    return Rehearsal{pct, cache, pct > 52 ? kRam * 1.1 : cache * 1.2, 0};
  };
  FindMostShare(50, kRam, rehearse, &chosen);
  EXPECT_GT(asked[1], 52);
  EXPECT_LE(chosen, 52);
  EXPECT_GE(chosen, 50);
}

// The memory of each rehearsal varies by chance, so that a line through the points misleads. A
// rehearsal that exceeded the memory bounds the choice, although another one with a similar share
// stayed within it.
TEST(CacheRehearsalTest, WhatChanceSparedOneRehearsalIsNotReliedOn) {
  double chosen = 0;
  std::vector<double> needs = {257, 259, 229, 264};
  size_t at = 0;
  const auto all = FindMostShare(
      50, kRam,
      [&](double pct) {
        const double own = 0.95 * kMiB * needs[std::min<size_t>(at++, 3)];
        return Rehearsal{pct, kRam * pct / 100, own, own};
      },
      &chosen);
  ASSERT_EQ(all.size(), 4u);
  for (size_t i : {0, 1, 3}) {
    if (all[i].cache_pct - all[2].cache_pct > 4) continue;
    EXPECT_LE(chosen, all[i].cache_pct - 100 * (needs[i] - 256) / 1.1 / 256 + 1e-9) << i;
  }
  EXPECT_GT(chosen, all[2].cache_pct - 5);
}

TEST(CacheRehearsalTest, ACacheThatStillFillsNeedsTheRest) {
  const Rehearsal filling{50, 100 * kMiB, 120 * kMiB, 120 * kMiB, 28 * kMiB};
  const Rehearsal full{50, 128 * kMiB, 148 * kMiB, 148 * kMiB};
  EXPECT_EQ(NeededBytes(filling), NeededBytes(full));
  EXPECT_EQ(NextShare({filling}, kRam, kRam), NextShare({full}, kRam, kRam));
}

TEST(CacheRehearsalTest, MemoryThatIsTooLittleForAnyShareIsSaid) {
  FakeEngine engine{1.2 * kRam, 1, 1, 1};
  double chosen = 0;
  try {
    FindMostShare(50, kRam, [&](double pct) { return engine(pct); }, &chosen);
    FAIL() << "chose " << chosen;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("--ram 256M"));
  }
}

json Phase(const char* kind, double cache, double mean, double most) {
  return {{"kind", kind},
          {"memory", {{"engine_cache", cache}, {"own_mean", mean}, {"own_most", most}}}};
}

TEST(CacheRehearsalTest, ARunHeldWhatItsLargestPhaseHeld) {
  const json run = {{"phases",
                     {Phase("load", 5, 50, 70), Phase("settle", 9, 0, 0),
                      Phase("warm-up", 7, 90, 95), Phase("measure", 8, 60, 65)}}};
  const Rehearsal rehearsal = RehearsalOf(40, 10, run);
  EXPECT_EQ(rehearsal.cache_pct, 40);
  EXPECT_EQ(rehearsal.filled_bytes, 9);
  EXPECT_EQ(rehearsal.own_mean, 60) << "a warm-up is no phase that is compared";
  EXPECT_EQ(rehearsal.own_most, 95) << "but it must fit";
  EXPECT_EQ(rehearsal.to_come, 2) << "from 7 to 8 it grew";
  json still = run;
  still["phases"].push_back(Phase("measure", 8, 60, 65));
  EXPECT_EQ(RehearsalOf(40, 10, still).to_come, 0);
  json untold = run;
  for (json& phase : untold["phases"]) phase["memory"]["engine_cache"] = nullptr;
  EXPECT_EQ(RehearsalOf(40, 10, untold).filled_bytes, 0) << "the engine does not tell";
  EXPECT_EQ(RehearsalOf(40, 10, untold).own_mean, 60);
  json failed = run;
  failed["error"] = {{"sentence", "no room"}, {"exit_code", 2}};
  EXPECT_THROW(RehearsalOf(40, 10, failed), Error);
  EXPECT_THROW(RehearsalOf(40, 10, {{"phases", {{{"kind", "load"}}}}}), Error);
}

RunOptions Options(std::vector<std::string> more) {
  std::vector<std::string> words = {"--engine", "btree", "--cache-pct", "most"};
  words.insert(words.end(), more.begin(), more.end());
  RunOptions options = ParseRunOptions(words);
  options.Resolve();
  return options;
}

bool HasBfTree() {
  return std::any_of(Engines().begin(), Engines().end(),
                     [](const EngineInfo& info) { return info.name == "bf-tree"; });
}

// bf-tree's cache has a power of two bytes: 3 % less of the memory may give it the same size again.
TEST(CacheRehearsalTest, AShareIsThatOfTheCacheAsItIsRoundedDown) {
  if (!HasBfTree()) GTEST_SKIP() << "this build has no bf-tree";
  RunOptions options = ParseRunOptions({"--engine", "bf-tree", "--durability", "none", "--io",
                                        "direct", "--ram", "200M", "--cache-pct", "most"});
  options.Resolve();
  EXPECT_EQ(ShareInForce(options, 78), 64);
  EXPECT_EQ(ShareInForce(options, 64), 64);
  EXPECT_EQ(ShareInForce(Options({"--ram", "200M"}), 78.25), 78.25) << "btree rounds nothing";
  json rehearsals = RehearsalsJson({{64, 1, 2, 3}}, 64);
  LowerShare(options, &rehearsals);
  EXPECT_EQ(rehearsals["ended_pct"][0], 64);
  EXPECT_EQ(rehearsals["chosen_pct"], 32);
}

// The results said that the cache of such a run had 80M, and a full cache seemed to have room.
TEST(CacheRehearsalTest, ACacheThatIsRoundedDownHasTheSizeThatItThenHas) {
  if (!HasBfTree()) GTEST_SKIP() << "this build has no bf-tree";
  RunOptions options = ParseRunOptions({"--engine", "bf-tree", "--durability", "none", "--io",
                                        "direct", "--ram", "200M", "--cache-pct", "40"});
  options.Resolve();
  EXPECT_EQ(options.engine.cache_bytes, 64u << 20);
  EXPECT_EQ(options.ToJson()["cache_pct"], 32);
  EXPECT_EQ(options.CacheBytesOf(65), 128u << 20);
  for (uint64_t mib = 65; mib < 128; ++mib) {  // a run is repeated with the share of its results
    options.ram_bytes = mib << 20;
    EXPECT_EQ(options.CacheBytesOf(100.0 * 64 / static_cast<double>(mib)), 64u << 20) << mib;
  }
  options.ram_bytes = 200 << 20;
  options.databases = 3;
  EXPECT_EQ(options.CacheBytesOf(40), 3u * (16 << 20)) << "each has a third of 80M";
  EXPECT_EQ(Options({"--ram", "200M"}).CacheBytesOf(40), 80u << 20) << "btree rounds nothing";
  const json run = {
      {"phases", {Phase("load", 64 * kMiB, 9, 9), Phase("measure", 64 * kMiB, 9, 9)}}};
  const Rehearsal full = RehearsalOf(40, 64 * kMiB, run);
  EXPECT_EQ(full.to_come, 0);
  EXPECT_EQ(RehearsalsJson({full}, 40)["rehearsals"][0]["cache_bytes"], 64 * kMiB);
}

TEST(CacheRehearsalTest, ARehearsalIsShortAndOfTheMostThreads) {
  const RunOptions rehearsal =
      RehearsalOptions(Options({"--workload", "concurrent-inserts:3,point-read:4", "--threads",
                                "2,9,4", "--repeat", "5", "--seconds", "30"}));
  EXPECT_THAT(rehearsal.workloads, ElementsAre("concurrent-inserts", "concurrent-inserts",
                                               "concurrent-inserts", "point-read", "point-read"));
  EXPECT_THAT(rehearsal.threads, ElementsAre(9));
  EXPECT_EQ(rehearsal.repeat, 1);
  EXPECT_EQ(rehearsal.seconds, 6);
  EXPECT_EQ(RehearsalOptions(Options({"--seconds", "0.5"})).seconds, 0.5);
  EXPECT_EQ(RehearsalOptions(Options({"--seconds", "3600"})).seconds, 60);
  EXPECT_EQ(RehearsalOptions(Options({"--workload-option", "query_seconds=1800"}))
                .workload.extra["query_seconds"],
            "60");
}

// The recording takes up to a sixteenth of the run's memory. Without it in the rehearsals the cache
// got this memory, too.
TEST(CacheRehearsalTest, TheReadaheadModelIsRehearsed) {
  const RunOptions options = Options({"--readahead-model"});
  EXPECT_TRUE(RehearsalOptions(options).readahead_model);
  EXPECT_FALSE(RehearsalOptions(Options({})).readahead_model);
  EXPECT_NE(RehearsalIdentity(options), RehearsalIdentity(Options({})));
}

TEST(CacheRehearsalTest, APhaseIsRehearsedWithALengthRateAndPopularRowsOfItsOwn) {
  const RunOptions options =
      Options({"--distribution", "zipfian", "--workload",
               "insert, point-read:2 600s, mixed 30s @ 5000, point-read 3s ~2, mixed 100s ~3"});
  const RunOptions rehearsal = RehearsalOptions(options);
  EXPECT_THAT(rehearsal.workloads,
              ElementsAre("insert", "point-read", "point-read", "mixed", "mixed"));
  EXPECT_THAT(rehearsal.phase_seconds, ElementsAre(60, 60, 6, 20));
  EXPECT_THAT(rehearsal.phase_rates, ElementsAre(0, 0, 5000, 0));
  EXPECT_THAT(rehearsal.phase_popular, ElementsAre(1, 1, 1, 3));
  EXPECT_FALSE(IsWhole(options));
  const auto with = [](const std::string& workload) {
    return RehearsalIdentity(
        Options({"--distribution", "zipfian", "--workload", "insert, " + workload}));
  };
  EXPECT_NE(with("point-read 600s"), with("point-read 30s"));
  EXPECT_NE(with("point-read ~2"), with("point-read"));
}

// Cells that read other rows, or fewer rows, fill their caches otherwise. An earlier version made
// them share the rehearsal of the first cell.
TEST(CacheRehearsalTest, CellsThatReadOtherRowsShareNoRehearsal) {
  const json usual = RehearsalIdentity(Options({}));
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{"--distribution", "zipfian"},
                                             {"--zipf-theta", "0.5"},
                                             {"--hot-fraction", "0.3"},
                                             {"--hot-probability", "0.9"},
                                             {"--hit-ratio", "0.5"},
                                             {"--operations", "100"},
                                             {"--seconds", "3"},
                                             {"--warmup", "1"},
                                             {"--rate", "100"},
                                             {"--read-iops", "100"}}) {
    EXPECT_NE(RehearsalIdentity(Options(other)), usual) << other[0];
  }
  for (const std::vector<std::string>& same : std::vector<std::vector<std::string>>{
           {"--seed", "43"}, {"--durability", "none"}, {"--readahead", "4k"}}) {
    EXPECT_EQ(RehearsalIdentity(Options(same)), usual) << same[0];
  }
}

// With slow commits a phase changes fewer rows in its time. Cells of all durabilities shared the
// rehearsal of the first one.
TEST(CacheRehearsalTest, CellsThatWriteForATimeShareARehearsalOfTheirDurabilityAlone) {
  const auto with = [](const std::string& workload, std::vector<std::string> more) {
    more.insert(more.begin(), {"--workload", workload, "--seconds", "30"});
    return RehearsalIdentity(Options(std::move(more)));
  };
  for (const std::string writes : {"insert,mixed", "insert,point-read,mixed"}) {
    EXPECT_NE(with(writes, {"--durability", "sync"}), with(writes, {"--durability", "none"}));
    EXPECT_NE(with(writes, {"--lazy-interval", "5"}), with(writes, {"--lazy-interval", "500"}));
  }
  for (const std::string loads : {"insert", "insert,point-read"}) {
    EXPECT_EQ(with(loads, {"--durability", "sync"}), with(loads, {"--durability", "none"}));
  }
}

// The rehearsals of these runs are the same, but the cache of the longer run grows further after
// what was rehearsed.
TEST(CacheRehearsalTest, ALongerRunSharesNoRehearsalOfAShorterOne) {
  const auto identity = [](std::vector<std::string> more) {
    return RehearsalIdentity(Options(std::move(more)));
  };
  const std::vector<std::vector<std::vector<std::string>>> pairs = {
      {{"--seconds", "5"}, {"--seconds", "20"}},
      {{"--workload", "insert, point-read 5s"}, {"--workload", "insert, point-read 20s"}},
      {{"--workload", "insert,point-read:2", "--seconds", "4"},
       {"--workload", "insert,point-read:3", "--seconds", "4"}},
      {{"--workload-option", "query_seconds=5"}, {"--workload-option", "query_seconds=20"}},
      {{"--seconds", "4", "--threads", "4"}, {"--seconds", "4", "--threads", "2,4"}},
      {{"--seconds", "4"}, {"--seconds", "4", "--repeat", "2"}}};
  for (const auto& pair : pairs) {
    EXPECT_NE(identity(pair[0]), identity(pair[1])) << pair[1][1];
  }
}

TEST(CacheRehearsalTest, ARehearsalOfAShortRunIsTheWholeRun) {
  EXPECT_TRUE(IsWhole(Options({"--workload", "insert,point-read", "--seconds", "4"})));
  for (const std::vector<std::string>& longer : std::vector<std::vector<std::string>>{
           {"--workload", "insert,point-read", "--seconds", "30"},
           {"--workload", "insert,point-read", "--seconds", "4", "--threads", "2,4"},
           {"--workload", "insert,point-read", "--seconds", "4", "--repeat", "2"},
           {"--workload", "insert,point-read:3", "--seconds", "4"},
           {"--seconds", "4", "--workload-option", "query_seconds=1800"}}) {
    EXPECT_FALSE(IsWhole(Options(longer))) << longer.back();
  }
}

// The phases take ten seconds each, so that after five of them the rehearsal is long enough.
TEST(CacheRehearsalTest, ALongRehearsalEndsWhenTheMemoryStandsStill) {
  const std::vector<std::string> planned = {"a", "b", "b", "b", "b", "b", "b", "b"};
  const auto enough = [&](std::vector<double> held, double seconds = 10, double cache = 100) {
    json phases = json::array();
    for (double mean : held) {
      phases.push_back(Phase("load", cache, mean, mean));
      phases.back()["seconds"] = seconds;
      phases.push_back({{"kind", "settle"}, {"seconds", 0}});
    }
    return ShowedEnough(phases, planned, 100);
  };
  EXPECT_TRUE(enough({10, 50, 90, 120, 120.5}));
  EXPECT_FALSE(enough({10, 50, 90, 120, 124})) << "it still grows";
  EXPECT_FALSE(enough({10, 50, 90, 120, 120.5}, 1)) << "the rest is short too";
  EXPECT_FALSE(enough({10, 50, 90, 120, 120.5}, 10, 60)) << "the cache is not full";
  EXPECT_FALSE(enough({120, 120.5}, 100)) << "they are of two workloads";
  EXPECT_TRUE(enough({120, 120, 120}, 100));
  EXPECT_FALSE(enough({1, 2, 3, 4, 5, 120, 120, 120})) << "nothing is left";
}

TEST(CacheRehearsalTest, RunsWhoseMemoryIsAlikeShareWhatWasRehearsed) {
  std::string directory = ::testing::TempDir() + "rehearsals_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const auto with = [&](std::vector<std::string> more) {
    RunOptions options = Options(more);
    options.rehearsals_dir = directory + "/kept";
    return options;
  };
  EXPECT_TRUE(KeptRehearsals(with({})).is_null());
  KeepRehearsals(with({}), RehearsalsJson({{50, 1, 2, 3}}, 50));
  EXPECT_EQ(KeptRehearsals(with({}))["chosen_pct"], 50);
  EXPECT_FALSE(KeptRehearsals(with({"--seed", "7"})).is_null());
  EXPECT_FALSE(KeptRehearsals(with({"--durability", "sync"})).is_null());
  EXPECT_FALSE(KeptRehearsals(with({"--readahead", "4k"})).is_null());
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{"--ram", "512M"},
                                             {"--db-ratio", "3"},
                                             {"--threads", "9"},
                                             {"--page-size", "16k"},
                                             {"--io", "direct"},
                                             {"--workload", "insert"},
                                             {"--engine-option", "change_buffer_pct=5"}}) {
    EXPECT_TRUE(KeptRehearsals(with(other)).is_null()) << other[0];
  }
  RunOptions release = with({}), keys = with({});
  release.release = "10.4.2";
  EXPECT_TRUE(KeptRehearsals(release).is_null());
  keys.data.keys_file = "paths";
  EXPECT_TRUE(KeptRehearsals(keys).is_null());
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace testbed
