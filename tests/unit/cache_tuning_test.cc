#include "tools/cache_tuning.h"

#include <gtest/gtest.h>

#include <cmath>

namespace testbed {
namespace {

double Find(double start, const std::function<double(double)>& rate, size_t* trials) {
  double best = 0;
  *trials = ClimbShare(
                start,
                [&](double pct) {
                  return ReadTrial{rate(pct), 0, 0};
                },
                &best)
                .size();
  return best;
}

TEST(CacheTuningTest, FindsTheTopFromEitherEnd) {
  for (const double top : {5.0, 22.0, 37.0, 64.0, 90.0}) {
    const auto rate = [&](double pct) { return 10000 - 2 * (pct - top) * (pct - top); };
    for (const double start : {5.0, 50.0, 90.0}) {
      size_t trials = 0;
      const double found = Find(start, rate, &trials);
      EXPECT_GE(rate(found), 0.97 * rate(top)) << "top " << top << " from " << start;
      EXPECT_LE(trials, 14u);
    }
  }
}

TEST(CacheTuningTest, StaysWhereNothingMatters) {
  size_t trials = 0;
  EXPECT_EQ(Find(
                50, [](double) { return 1000.0; }, &trials),
            50);
}

TEST(CacheTuningTest, NeverLeavesTheRange) {
  double best = 0;
  for (const CacheTrial& trial : ClimbShare(
           1,
           [](double pct) {
             return ReadTrial{100 - pct, 0, 0};
           },
           &best)) {
    EXPECT_GE(trial.cache_pct, kLeastShare);
    EXPECT_LE(trial.cache_pct, kMostShare);
  }
  EXPECT_EQ(best, kLeastShare);
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
  const nlohmann::json prediction = PredictionJson(model, 1000, trials);
  EXPECT_EQ(prediction["best_pct"], best);
  EXPECT_NEAR(prediction["device_read_us"].get<double>(), 80, 0.1);
  EXPECT_NEAR(prediction["engine_miss_us"].get<double>(), 10, 0.1);
}

}  // namespace
}  // namespace testbed
