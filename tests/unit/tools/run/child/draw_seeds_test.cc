// Tests that each client of a run draws rows of its own. Two clients of different threads, phases
// or tasks draw different rows, or draw the same rows in different orders.
#include "tools/run/child/draw_seeds.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/workloads/lying_engine.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

constexpr int kThreads = 3;

// Returns the keys that each thread of the workload reads first.
std::vector<std::vector<std::string>> FirstKeys(uint64_t seed) {
  DatasetOptions data;
  data.rows = 1'000'000;
  WorkloadOptions options;
  options.seed = seed;
  const auto made = FindWorkload("point-read").make(std::make_shared<const Dataset>(data), options);
  LyingEngine engine;
  made->OpenTables(engine);
  const std::unique_ptr<Session> session = engine.NewSession();
  std::vector<std::vector<std::string>> all;
  for (int thread = 0; thread < kThreads; ++thread) {
    const std::unique_ptr<Client> client = made->NewClient(*session, thread, kThreads);
    const size_t n = client->Generate(8);
    std::vector<std::string>& keys = all.emplace_back();
    for (size_t i = 0; i < n; ++i) keys.emplace_back(client->RequestOf(i).key);
  }
  return all;
}

TEST(DrawSeedsTest, NoClientOfAnyTaskAndPhaseDrawsAsAnotherOne) {
  std::set<std::vector<std::string>> drawn;
  size_t clients = 0;
  for (int task = 0; task < 6; ++task) {
    for (uint64_t phase = 1; phase <= 6; ++phase) {
      const uint64_t warm_up = SeedOfDrawing(SeedOfTask(42, task), phase);
      for (const uint64_t seed : {warm_up, SeedAfterWarmUp(warm_up)}) {
        for (const std::vector<std::string>& keys : FirstKeys(seed)) {
          EXPECT_EQ(keys.size(), 8u);
          drawn.insert(keys);
          ++clients;
        }
      }
    }
  }
  EXPECT_EQ(clients, 6u * 6 * 2 * kThreads);
  EXPECT_EQ(drawn.size(), clients);
}

// The loads of --repeat have seeds that follow each other, as those of a user's own runs often do.
TEST(DrawSeedsTest, NoDrawingOfALoadHasTheSeedOfAnotherLoads) {
  std::set<uint64_t> seeds;
  size_t drawings = 0;
  for (uint64_t load = 0; load < 64; ++load) {
    for (int task = 0; task < 16; ++task) {
      for (uint64_t drawing = 1; drawing <= 16; ++drawing) {
        const uint64_t seed = SeedOfDrawing(SeedOfTask(42 + load, task), drawing);
        seeds.insert({seed, SeedAfterWarmUp(seed)});
        drawings += 2;
      }
    }
  }
  EXPECT_EQ(seeds.size(), drawings);
}

// Once, each share of --cache-pct auto that was tried again began with the seed of its first trial,
// whose rows were cached by then.
TEST(DrawSeedsTest, NoTrialHasTheSeedOfAnotherTrialOrPhase) {
  std::set<uint64_t> seeds;
  size_t phases = 0;
  for (uint64_t load = 0; load < 16; ++load) {
    for (uint64_t drawing = 1; drawing <= 16; ++drawing) {
      const uint64_t warm_up = SeedOfDrawing(42 + load, drawing);
      uint64_t seed = SeedAfterWarmUp(warm_up);
      seeds.insert({warm_up, seed});
      phases += 2;
      for (int trial = 0; trial < 100; ++trial, ++phases) {
        seed = SeedOfNextTrial(seed);
        seeds.insert(seed);
      }
    }
  }
  EXPECT_EQ(seeds.size(), phases);
}

TEST(DrawSeedsTest, Task0DrawsAsARunWithoutOthers) {
  EXPECT_EQ(SeedOfTask(42, 0), 42u);
  EXPECT_EQ(SeedOfDrawing(42, 1), 42u);
}

}  // namespace
}  // namespace testbed
