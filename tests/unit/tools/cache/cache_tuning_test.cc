#include "tools/cache/cache_tuning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "workloads/random.h"

namespace testbed {
namespace {

constexpr double kGibibyte = 1 << 30;

double FindBestShare(double start, const std::function<double(double)>& rate, size_t* trials) {
  double best = 0;
  const TryShare measure = [&](double pct) { return CacheTrial{pct, {rate(pct), 0, 0}}; };
  *trials = ClimbShare({start, kMostShare, kGibibyte, measure}, &best).size();
  return best;
}

TEST(CacheTuningTest, FindsTheTopFromEitherEnd) {
  for (const double top : {5.0, 22.0, 37.0, 64.0, 90.0}) {
    const auto rate = [&](double pct) { return 10000 - 2 * (pct - top) * (pct - top); };
    for (const double start : {5.0, 50.0, 90.0}) {
      size_t trials = 0;
      const double found = FindBestShare(start, rate, &trials);
      EXPECT_GE(rate(found), 0.97 * rate(top)) << "top " << top << " from " << start;
      EXPECT_LE(trials, 15u);
    }
  }
}

TEST(CacheTuningTest, IsNotCaughtByTheLowerOfTwoTops) {
  const auto rate = [](double pct) { return pct < 60 ? 80000 - 900 * pct : 200 + 400 * pct; };
  for (const double start : {5.0, 50.0, 70.0, 90.0}) {
    size_t trials = 0;
    EXPECT_EQ(FindBestShare(start, rate, &trials), 5) << start;
  }
}

TEST(CacheTuningTest, FindsATopBesideACliff) {
  const auto rate = [](double pct) {
    return pct < 8 ? 37000 : pct < 60 ? 56000 - 350 * pct : 500 * pct;
  };
  for (const double start : {5.0, 50.0, 90.0}) {
    size_t trials = 0;
    EXPECT_NEAR(FindBestShare(start, rate, &trials), 10, 3) << start;
  }
}

TEST(CacheTuningTest, StaysWhereNothingMatters) {
  size_t trials = 0;
  EXPECT_EQ(FindBestShare(50, [](double) { return 1000.0; }, &trials), 50);
}

TEST(CacheTuningTest, NeverLeavesTheRange) {
  double best = 0;
  for (const CacheTrial& trial :
       ClimbShare({1, kMostShare, kGibibyte,
                   [](double pct) { return CacheTrial{pct, {100 - pct, 0, 0}}; }},
                  &best)) {
    EXPECT_GE(trial.cache_pct, kLeastShare);
    EXPECT_LE(trial.cache_pct, kMostShare);
  }
  EXPECT_EQ(best, kLeastShare);
}

// The search tries no smaller share, even where the other memory leaves less room than the least.
TEST(CacheTuningTest, TriesNoShareThatTheEngineRefuses) {
  for (const double least : {12.0, 40.0}) {
    ShareSearch search;
    search.ram_bytes = kGibibyte;
    search.least = least;
    search.measure = [](double pct) { return CacheTrial{pct, {100 - pct, 0, 0}, kGibibyte / 2}; };
    double best = 0;
    for (const CacheTrial& trial : ClimbShare(search, &best)) EXPECT_GE(trial.cache_pct, least);
    EXPECT_EQ(best, least);
  }
}

// RocksDB in 256 MB held 6 MB beside a small cache, but 33 MB beside a large one, so that the
// kernel killed the run at 90 %.
TEST(CacheTuningTest, LeavesRoomForWhatTheAllocatorLoses) {
  constexpr double kMiB = 1 << 20;
  std::vector<CacheTrial> trials;
  for (const double pct : {5.0, 20.0}) {
    trials.push_back({.cache_pct = pct, .other_bytes = 6 * kMiB});
  }
  const double largest = LargestShare(trials, 256 * kMiB);
  EXPECT_LT(largest / 100 * 256 * kMiB, (256 - 33) * kMiB);
  EXPECT_GT(largest, 75);
}

TEST(CacheTuningTest, NeverLeavesTheMemory) {
  // The engine needs a fifth of the memory, and a tenth of its cache's size, beside the cache. So
  // it exceeds the memory from about 73 % on.
  const auto other = [](double pct) { return kGibibyte * 0.2 + 0.1 * kGibibyte * pct / 100; };
  double best = 0;
  for (const CacheTrial& trial :
       ClimbShare({30, kMostShare, kGibibyte,
                   [&](double pct) { return CacheTrial{pct, {1000 + pct, 0, 0}, other(pct)}; }},
                  &best)) {
    EXPECT_LT(kGibibyte * trial.cache_pct / 100 + other(trial.cache_pct), kGibibyte * 0.95);
  }
  EXPECT_GT(best, 55);
}

// The device's speed changes by up to a quarter from one trial to the next, as that of a shared
// device does. A choice by the rates alone would follow these changes.
TEST(CacheTuningTest, IsNotMisledByADeviceOfChangingSpeed) {
  Random random(3);
  for (const double top : {10.0, 40.0, 85.0}) {
    const auto trial = [&](double pct) {
      const double reads = 0.2 + 0.01 * std::abs(pct - top), cpu = 30e-6 + 0.02e-6 * pct;
      const double device = 80e-6 * reads * (0.75 + 0.5 * random.Unit());
      return CacheTrial{pct, {4 / (1.2 * cpu + device), 1, reads, cpu, device, 4}};
    };
    for (int i = 0; i < 20; ++i) {
      double best = 0;
      ClimbShare({i % 2 == 0 ? 5.0 : 90.0, kMostShare, kGibibyte, trial}, &best);
      EXPECT_NEAR(best, top, 6) << i;
    }
  }
}

// The trials have 12 % of noise, on a curve whose neighbouring shares differ by 10 %. The
// prediction from all trials must choose better than the rates of the single trials.
TEST(CacheTuningTest, ThePredictionSteadiesTheChoice) {
  const CacheModel model({.ram_bytes = kGibibyte, .page_bytes = 8192, .stored_bytes = 3000},
                         PagePopularity::Even(500000, 150000, 0.9));
  const ReadCosts costs = {4e-6, 3e-6, 45e-6};
  Random random(11);
  const auto rate = [&](double pct) {
    const CacheModel::Hits hits = model.At(kGibibyte * pct / 100);
    return costs.Rate(hits.engine_misses, hits.device_reads);
  };
  double top = 0;
  for (double pct = kLeastShare; pct <= kMostShare; pct += 5) top = std::max(top, rate(pct));
  const auto chosen = [&](bool predicts) {
    ShareSearch search;
    search.ram_bytes = kGibibyte;
    search.measure = [&](double pct) {
      const CacheModel::Hits hits = model.At(kGibibyte * pct / 100);
      const double noise = 0.88 + 0.24 * random.Unit();
      return CacheTrial{pct, {rate(pct) * noise, hits.engine_misses, hits.device_reads}};
    };
    if (predicts) {
      search.predict = [&](const std::vector<CacheTrial>& trials) {
        return SharePrediction(model, kGibibyte, trials);
      };
    }
    double sum = 0;
    for (int i = 0; i < 30; ++i) {
      double best = 0;
      ClimbShare(search, &best);
      sum += rate(best) / top;
    }
    return sum / 30;
  };
  const double with = chosen(true), without = chosen(false);
  EXPECT_GT(with, 0.985);
  EXPECT_GT(with, without);
}

// The model wrongly predicts that with a small share the page cache holds the whole database, so
// that nothing is read. The trials show the lowest rate there, so the prediction must be ignored.
TEST(CacheTuningTest, APredictionThatTheTrialsContradictHasNoPart) {
  const double pages = 500000;
  const CacheModel model(
      {.ram_bytes = kGibibyte, .page_bytes = 8192, .stored_bytes = 0.9 * kGibibyte / pages},
      PagePopularity::Even(pages, 150000, 0.9));
  ShareSearch search;
  search.ram_bytes = kGibibyte;
  search.measure = [](double pct) {
    const double reads = 0.6 - 0.002 * pct;
    return CacheTrial{pct, {1 / (1e-6 + 30e-6 * reads), 0.9, reads}};
  };
  search.predict = [&](const std::vector<CacheTrial>& trials) {
    return SharePrediction(model, kGibibyte, trials);
  };
  double best = 0;
  ClimbShare(search, &best);
  EXPECT_GT(best, 60);
}

// With the smallest share no operation ends within a trial. All scores were 0 then, so that the
// share at which the search had begun was chosen, and no predicted rate was a number.
TEST(CacheTuningTest, AShareWithWhichNoOperationEndsSpoilsNoOther) {
  const CacheModel model({.ram_bytes = kGibibyte, .page_bytes = 8192, .stored_bytes = 8192},
                         PagePopularity::Even(500000, 0, 0));
  ShareSearch search;
  search.ram_bytes = kGibibyte;
  search.measure = [](double pct) {
    if (pct < 10) return CacheTrial{pct, {0, 9000, 9000, 0.5, 0.9, 4}};
    const double reads = 1 - 0.01 * pct, cpu = 20e-6, device = 100e-6 * reads;
    return CacheTrial{pct, {4 / (cpu + device), reads, reads, cpu, device, 4}};
  };
  search.predict = [&](const std::vector<CacheTrial>& trials) {
    return SharePrediction(model, kGibibyte, trials);
  };
  double best = 0;
  const std::vector<CacheTrial> trials = ClimbShare(search, &best);
  EXPECT_GT(best, 70);
  const nlohmann::json prediction = search.predict(trials).ToJson();
  for (const nlohmann::json& point : prediction["curve"]) {
    EXPECT_TRUE(std::isfinite(point["rate"].get<double>())) << point;
    EXPECT_GT(point["rate"], 0);
  }
}

TEST(CacheTuningTest, ABlockTakesWhatWasReadOfIt) {
  CacheTrial silent{}, small{}, large{};
  small.block_bytes = 3000, large.block_bytes = 5000;
  EXPECT_EQ(StoredBytes({}, 8000), 8000);
  EXPECT_EQ(StoredBytes({silent, silent}, 8000), 8000);
  EXPECT_EQ(StoredBytes({small, silent, large}, 8000), 4000);
}

// Once, the block size of the share's other measurements was averaged with 0.
TEST(CacheTuningTest, AMeasurementWithoutReadsTellsNoSizeOfABlock) {
  int measured = 0, merged = 0;
  double best = 0;
  for (const CacheTrial& trial :
       ClimbShare({50, kMostShare, kGibibyte,
                   [&](double pct) {
                     return CacheTrial{pct, {1000, 0, 0}, 0, measured++ < 4 ? 0.0 : 4000.0};
                   }},
                  &best)) {
    if (trial.times == 1) continue;
    ++merged;
    EXPECT_EQ(trial.block_bytes, 4000) << trial.cache_pct;
  }
  EXPECT_GT(merged, 0);
}

// The best few shares are measured three times. The figures of the measurements differ, so that a
// figure that is left out, or taken with another weight, is not the mean.
TEST(CacheTuningTest, TheFiguresOfAShareAreTheMeansOfItsMeasurements) {
  std::map<double, int> measured;
  double best = 0;
  const TryShare measure = [&](double pct) {
    const int before = measured[pct]++;
    const double more = 1 + 0.03 * before * before;  // 1, 1.03 and 1.12
    CacheTrial trial{pct, {1000 * more, 3 * more, 2 * more, 1e-4 * more, 2e-4 * more, 4}};
    trial.other_bytes = 600 * more;
    trial.block_bytes = 4000 * more;
    return trial;
  };
  int merged = 0;
  for (const CacheTrial& trial : ClimbShare({50, kMostShare, kGibibyte, measure}, &best)) {
    ASSERT_EQ(trial.times, measured[trial.cache_pct]) << trial.cache_pct;
    if (trial.times == 1) continue;
    ++merged;
    ASSERT_EQ(trial.times, 3) << trial.cache_pct;
    constexpr double kMean = 1.05;
    EXPECT_NEAR(trial.measured.rate, 1000 * kMean, 1e-6);
    EXPECT_NEAR(trial.measured.engine_misses, 3 * kMean, 1e-9);
    EXPECT_NEAR(trial.measured.device_reads, 2 * kMean, 1e-9);
    EXPECT_NEAR(trial.measured.cpu_seconds, 1e-4 * kMean, 1e-12);
    EXPECT_NEAR(trial.measured.device_seconds, 2e-4 * kMean, 1e-12);
    EXPECT_EQ(trial.measured.clients, 4);
    EXPECT_NEAR(trial.other_bytes, 600 * kMean, 1e-6);
    EXPECT_NEAR(trial.block_bytes, 4000 * kMean, 1e-6);
  }
  EXPECT_EQ(merged, 3);
}

TEST(CacheTuningTest, OtherMemoryHasAPartThatGrowsWithTheCache) {
  std::vector<CacheTrial> trials;
  for (const double pct : {10.0, 50.0, 80.0}) trials.push_back({pct, {}, 20 + 0.3 * 10 * pct});
  const OtherMemory other = FitOtherMemory(trials, 1000);
  EXPECT_NEAR(other.bytes, 20, 1e-6);
  EXPECT_NEAR(other.per_cache_byte, 0.3, 1e-9);
  for (CacheTrial& trial : trials) trial.other_bytes = 100 - trial.cache_pct;
  EXPECT_GE(FitOtherMemory(trials, 1000).per_cache_byte, 0) << "it does not shrink";
}

// In the trials the engine's blocks take 1.4 times their size in the cache, and misses are measured
// to 2 %.
TEST(CacheTuningTest, FindsWhatABlockTakesInTheCache) {
  const CacheModel model({.ram_bytes = 1000, .page_bytes = 1, .stored_bytes = 0.4},
                         PagePopularity::Even(2000, 400, 0.7));
  const CacheModel real = model.WithPageBytes(1.4);
  Random random(5);
  std::vector<CacheTrial> trials;
  for (const double pct : {5.0, 10.0, 20.0, 50.0, 90.0}) {
    const CacheModel::Hits hits = real.At(10 * pct);
    const double misses = hits.engine_misses * (0.98 + 0.04 * random.Unit());
    trials.push_back({pct, {1000, misses, hits.device_reads}});
  }
  EXPECT_NEAR(FitPageBytes(model, 1000, trials).page_bytes(), 1.4, 0.11);
}

TEST(CacheTuningTest, PredictsTheCurveOfItsOwnModel) {
  const CacheModel model({.ram_bytes = 1000, .page_bytes = 1, .stored_bytes = 0.4},
                         PagePopularity::Even(2000, 0, 0));
  const ReadCosts costs = {5e-6, 10e-6, 80e-6};
  std::vector<CacheTrial> trials;
  double best = 0, best_rate = 0;
  for (double pct = 5; pct <= 90; pct += 5) {
    const CacheModel::Hits hits = model.At(10 * pct);
    const double rate = costs.Rate(hits.engine_misses, hits.device_reads);
    if (pct == 10 || pct == 45 || pct == 80) {
      trials.push_back({pct, {rate, hits.engine_misses, hits.device_reads}});
    }
    if (rate > best_rate) {
      best_rate = rate;
      best = pct;
    }
  }
  const nlohmann::json prediction = SharePrediction(model, 1000, trials).ToJson();
  EXPECT_EQ(prediction["best_pct"], best);
  EXPECT_NEAR(prediction["device_read_us"].get<double>(), 80, 0.1);
  EXPECT_NEAR(prediction["engine_miss_us"].get<double>(), 10, 0.1);
}

// At 5 % the engine takes twice the processor time. That must not count as the cost of a miss.
TEST(CacheTuningTest, ATrialOfAStarvedCacheIsLeftOut) {
  const CacheModel model({.ram_bytes = 1000, .page_bytes = 1, .stored_bytes = 0.4},
                         PagePopularity::Even(2000, 0, 0));
  std::vector<CacheTrial> trials;
  for (const double pct : {80.0, 5.0, 20.0, 50.0, 35.0}) {
    const CacheModel::Hits hits = model.At(10 * pct);
    const double cpu = (pct == 5 ? 2 : 1) * (10e-6 + 8e-6 * hits.engine_misses);
    const double device = 90e-6 * hits.device_reads;
    trials.push_back(
        {pct, {4 / (1.3 * cpu + device), hits.engine_misses, hits.device_reads, cpu, device, 4}});
  }
  const nlohmann::json prediction = SharePrediction(model, 1000, trials).ToJson();
  EXPECT_EQ(prediction["starved_pct"], 5);
  EXPECT_GT(prediction["best_pct"], 5);
  EXPECT_NEAR(prediction["engine_miss_us"].get<double>(), 1.3 * 8 / 4, 0.3);
}

}  // namespace
}  // namespace testbed
