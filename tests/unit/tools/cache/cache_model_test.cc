#include "tools/cache/cache_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <list>
#include <unordered_map>

#include "workloads/random.h"

namespace testbed {
namespace {

// A real LRU cache, with which the model is compared.
class Lru {
 public:
  explicit Lru(size_t capacity) : capacity_(capacity) {}
  bool Access(uint64_t page) {
    const auto found = at_.find(page);
    if (found != at_.end()) {
      order_.splice(order_.end(), order_, found->second);
      return true;
    }
    order_.push_back(page);
    at_[page] = std::prev(order_.end());
    if (at_.size() > capacity_) {
      at_.erase(order_.front());
      order_.pop_front();
    }
    return false;
  }

 private:
  const size_t capacity_;
  std::list<uint64_t> order_;
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> at_;
};

CacheModel::Hits Simulate(const std::function<uint64_t()>& draw, size_t first, size_t second) {
  Lru engine(first), page_cache(second);
  CacheModel::Hits hits;
  constexpr int kWarm = 300000, kCount = 300000;
  for (int i = 0; i < kWarm + kCount; ++i) {
    const uint64_t page = draw();
    if (engine.Access(page)) continue;
    const bool device = !page_cache.Access(page);
    if (i < kWarm) continue;
    hits.engine_misses += 1.0 / kCount;
    hits.device_reads += device ? 1.0 / kCount : 0;
  }
  return hits;
}

TEST(CacheModelTest, OfEvenAccessAgreesWithTwoLruCaches) {
  constexpr uint64_t kPages = 10000;
  const CacheModel model({.ram_bytes = 6000, .page_bytes = 1, .stored_bytes = 0.5},
                         PagePopularity::Even(kPages, 0, 0));
  Random random(1);
  for (const double cache : {500.0, 2000.0, 4500.0}) {
    const CacheModel::Hits expected =
        Simulate([&] { return random.Below(kPages); }, static_cast<size_t>(cache),
                 static_cast<size_t>((6000 - cache) / 0.5));
    const CacheModel::Hits hits = model.At(cache);
    EXPECT_NEAR(hits.engine_misses, expected.engine_misses, 0.02) << cache;
    EXPECT_NEAR(hits.device_reads, expected.device_reads, 0.02) << cache;
  }
}

TEST(CacheModelTest, OfSkewedAccessAgreesWithTwoLruCaches) {
  constexpr uint64_t kRows = 200000;
  constexpr double kRowsPerPage = 20;
  Random random(2);
  Zipfian zipf(kRows, 0.9);
  Permutation scatter(kRows, 3);
  const auto row = [&] { return scatter(zipf(random)); };
  const CacheModel model({.ram_bytes = 4000, .page_bytes = 1, .stored_bytes = 0.6},
                         PagePopularity(row, kRows, kRowsPerPage));
  for (const double cache : {400.0, 2000.0}) {
    const CacheModel::Hits expected =
        Simulate([&] { return static_cast<uint64_t>(static_cast<double>(row()) / kRowsPerPage); },
                 static_cast<size_t>(cache), static_cast<size_t>((4000 - cache) / 0.6));
    const CacheModel::Hits hits = model.At(cache);
    EXPECT_NEAR(hits.engine_misses, expected.engine_misses, 0.04) << cache;
    EXPECT_NEAR(hits.device_reads, expected.device_reads, 0.04) << cache;
  }
}

TEST(CacheModelTest, AHotPartThatFitsIsNeverRead) {
  const CacheModel model({.ram_bytes = 100, .page_bytes = 1, .stored_bytes = 1},
                         PagePopularity::Even(1000, 40, 1.0));
  EXPECT_NEAR(model.At(41).engine_misses, 0, 1e-6);
  EXPECT_GT(model.At(20).engine_misses, 0.3);
  EXPECT_NEAR(model.At(20).device_reads, 0, 1e-6) << "the page cache has the rest";
}

TEST(CacheModelTest, DirectReadsHaveNoSecondCache) {
  const CacheModel model(
      {.ram_bytes = 100, .page_bytes = 1, .stored_bytes = 1, .page_cache = false},
      PagePopularity::Even(1000, 0, 0));
  EXPECT_NEAR(model.At(50).device_reads, 0.95, 0.01);
  EXPECT_EQ(model.At(50).device_reads, model.At(50).engine_misses);
}

TEST(CacheModelTest, CostsAreFoundAgain) {
  const ReadCosts true_costs = {2e-6, 8e-6, 40e-6};
  std::vector<ReadTrial> trials;
  for (const auto& [misses, reads] : {std::pair{0.9, 0.2}, {0.5, 0.4}, {0.3, 0.28}, {0.7, 0.3}}) {
    trials.push_back({true_costs.Rate(misses, reads), misses, reads});
  }
  const ReadCosts costs = FitReadCosts(trials);
  EXPECT_NEAR(costs.base, true_costs.base, 1e-9);
  EXPECT_NEAR(costs.miss, true_costs.miss, 1e-9);
  EXPECT_NEAR(costs.device, true_costs.device, 1e-9);
}

TEST(CacheModelTest, CostsAreFoundThoughTheDevicesSpeedChanges) {
  std::vector<ReadTrial> trials;
  double speed = 0.8;
  for (const auto& [misses, reads] : {std::pair{0.9, 0.2}, {0.5, 0.4}, {0.3, 0.28}, {0.7, 0.3}}) {
    const double cpu = 6e-6 + 9e-6 * misses + 4e-6 * reads, device = 100e-6 * speed * reads;
    trials.push_back({2 / (1.5 * cpu + device), misses, reads, cpu, device, 2});
    speed += 0.1;
  }
  const ReadCosts costs = FitReadCosts(trials);
  EXPECT_NEAR(costs.base, 4.5e-6, 1e-9);
  EXPECT_NEAR(costs.miss, 6.75e-6, 1e-9);
  EXPECT_NEAR(costs.device, 3e-6 + 50e-6 * 0.98, 5e-6 * 0.3);
  const std::vector<double> rates = SteadyRates(trials);
  EXPECT_GT(rates[0], 0);
  EXPECT_LT(std::abs(rates[3] / costs.Rate(0.7, 0.3) - 1), 0.02);
}

// Such a trial's time per operation is infinite. Once, that made the rates of all trials 0.
TEST(CacheModelTest, ATrialInWhichNoOperationEndedTellsNothingOfTheOthers) {
  std::vector<ReadTrial> trials = {{20000, 0.9, 0.2, 30e-6, 20e-6, 2},
                                   {15000, 0.5, 0.4, 20e-6, 40e-6, 2},
                                   {25000, 0.3, 0.1, 18e-6, 10e-6, 2}};
  const std::vector<double> rates = SteadyRates(trials);
  const ReadCosts costs = FitReadCosts(trials);
  trials.push_back({0, 7000, 5000, 0.4, 0.6, 2});
  const std::vector<double> with = SteadyRates(trials);
  ASSERT_EQ(with.size(), 4u);
  for (size_t i = 0; i < rates.size(); ++i) EXPECT_EQ(with[i], rates[i]) << i;
  EXPECT_EQ(with[3], 0);
  const ReadCosts costs_with = FitReadCosts(trials);
  EXPECT_EQ(costs_with.base, costs.base);
  EXPECT_EQ(costs_with.miss, costs.miss);
  EXPECT_EQ(costs_with.device, costs.device);
  EXPECT_EQ(FitReadCosts({trials[3]}).Rate(1, 1), 0) << "no operation ended in any";
}

TEST(CacheModelTest, NoCostIsNegativeWhateverTheNoise) {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    std::vector<ReadTrial> trials;
    for (int k = 0; k < 4; ++k) {
      trials.push_back({1000 + 9000 * random.Unit(), random.Unit(), random.Unit() * 0.5});
    }
    const ReadCosts costs = FitReadCosts(trials);
    EXPECT_GE(costs.base, 0);
    EXPECT_GE(costs.miss, 0);
    EXPECT_GE(costs.device, 0);
    EXPECT_TRUE(std::isfinite(costs.Rate(0.5, 0.5)));
  }
}

}  // namespace
}  // namespace testbed
