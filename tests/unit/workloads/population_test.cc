#include "workloads/population.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "workloads/row_chooser.h"
#include "workloads/workload.h"

namespace testbed {
namespace {

using nlohmann::json;
using Range = RangeSet::Range;

std::shared_ptr<const Dataset> Rows(uint64_t rows, KeyOrder order = KeyOrder::kSequential) {
  DatasetOptions options;
  options.rows = rows;
  options.order = order;
  options.key_size = order == KeyOrder::kRandom ? 8 : 16;
  return std::make_shared<const Dataset>(options);
}

TEST(PopulationTest, PlacesAndRowsBelongTogether) {
  for (uint64_t rows : {1, 2, 7, 1000}) {
    Population population(Rows(rows));
    std::set<uint64_t> seen;
    for (uint64_t place = 0; place < rows + 10; ++place) {
      const uint64_t row = population.RowOf(place);
      EXPECT_EQ(population.PlaceOf(row), place);
      seen.insert(row);
    }
    EXPECT_EQ(seen.size(), rows + 10);
    EXPECT_EQ(*seen.rbegin(), rows + 9);
  }
}

// Rows that a client took but did not insert or erase must be as before.
TEST(PopulationTest, ABatchThatWasNotDoneChangesNothing) {
  Population population(Rows(100));
  {
    Population::Client client(population);
    std::vector<size_t> held;
    {
      Population::Batch batch(client);
      for (int i = 0; i < 3; ++i) held.push_back(batch.TakeInsert().held);
      for (int i = 0; i < 3; ++i) held.push_back(batch.TakeErase()->held);
    }
    EXPECT_EQ(population.there().count(), 97u);
    client.Begin(held[1]);
    client.Done(held[1]);
    client.Begin(held[4]);
    client.Done(held[4]);
  }
  EXPECT_TRUE(population.known());
  EXPECT_EQ(population.there().Ranges(), (std::vector<Range>{{0, 1}, {2, 100}, {101, 102}}));
  // The numbers that were given back are used first.
  Population::Client client(population);
  Population::Batch batch(client);
  EXPECT_EQ(batch.TakeInsert().place, 100u);
  EXPECT_EQ(batch.TakeInsert().place, 102u);
  EXPECT_EQ(batch.TakeInsert().place, 103u);
}

TEST(PopulationTest, AWriteThatFailedMakesItUnknown) {
  Population population(Rows(100));
  {
    Population::Client client(population);
    size_t held;
    {
      Population::Batch batch(client);
      held = batch.TakeInsert().held;
    }
    client.Begin(held);
  }
  EXPECT_FALSE(population.known());
  EXPECT_TRUE(population.ToJson().is_null());
}

TEST(PopulationTest, KeptRowsAreNotErased) {
  Population population(Rows(4));
  Population::Client reader(population), eraser(population);
  {
    Population::Batch batch(reader);
    batch.Keep(0);
    batch.Keep(2);
  }
  {
    Population::Batch batch(eraser);
    EXPECT_EQ(batch.TakeErase()->place, 1u);
    EXPECT_EQ(batch.TakeErase()->place, 3u);
    EXPECT_FALSE(batch.TakeErase().has_value());
    EXPECT_TRUE(batch.Hopeful());
  }
  { Population::Batch batch(reader); }
  Population::Batch batch(eraser);
  EXPECT_EQ(batch.TakeErase()->place, 0u);
}

// The erases of a batch pass over a kept row once; one that is kept meanwhile they must still see.
TEST(PopulationTest, ABatchErasesNoRowThatItKeepsBetweenItsErases) {
  Population population(Rows(6));
  Population::Client reader(population), eraser(population);
  {
    Population::Batch batch(reader);
    batch.Keep(0);
    batch.Keep(2);
  }
  {
    Population::Batch batch(eraser);
    EXPECT_EQ(batch.TakeErase()->place, 1u);
    batch.Keep(4);
    batch.TakeInsert();
    EXPECT_EQ(batch.TakeErase()->place, 3u);
    EXPECT_EQ(batch.TakeErase()->place, 5u);
    EXPECT_FALSE(batch.TakeErase().has_value());
  }
  { Population::Batch batch(reader); }
  // What the eraser took and did not erase is there again, and nothing is kept.
  Population::Batch batch(eraser);
  for (uint64_t place = 0; place < 6; ++place) EXPECT_EQ(batch.TakeErase()->place, place);
}

// A row that two clients keep stays until both have begun another batch, or ended.
TEST(PopulationTest, ARowIsKeptUntilNoClientKeepsIt) {
  Population population(Rows(2));
  auto first = std::make_unique<Population::Client>(population);
  Population::Client second(population), eraser(population);
  {
    Population::Batch batch(*first);
    batch.Keep(0);
    batch.Keep(0);
  }
  {
    Population::Batch batch(second);
    batch.Keep(0);
  }
  { Population::Batch batch(second); }
  {
    Population::Batch batch(eraser);
    EXPECT_EQ(batch.TakeErase()->place, 1u) << "the first client keeps place 0";
    EXPECT_FALSE(batch.TakeErase().has_value());
  }
  first.reset();
  Population::Batch batch(eraser);
  EXPECT_EQ(batch.TakeErase()->place, 0u);
}

TEST(PopulationTest, IsHopelessWhenNothingIsThereAndNothingIsHeld) {
  Population population(Rows(1));
  Population::Client a(population), b(population);
  size_t erased, inserted;
  {
    Population::Batch batch(a);
    erased = batch.TakeErase()->held;
    inserted = batch.TakeInsert().held;
  }
  a.Begin(erased);
  a.Done(erased);
  {
    Population::Batch batch(b);
    EXPECT_FALSE(batch.TakeErase().has_value());
    EXPECT_TRUE(batch.Hopeful());
  }
  a.Begin(inserted);
  a.Done(inserted);
  { Population::Batch batch(a); }
  {
    Population::Batch batch(b);
    erased = batch.TakeErase()->held;
    EXPECT_EQ(population.there().count(), 0u);
  }
  b.Begin(erased);
  b.Done(erased);
  {
    // b has taken no further batch since its erase, so its row could still be given back.
    Population::Batch batch(a);
    EXPECT_TRUE(batch.Hopeful());
  }
  { Population::Batch batch(b); }
  Population::Batch batch(a);
  EXPECT_FALSE(batch.Hopeful());
}

TEST(PopulationTest, IsAsItWasAfterItWasWrittenDown) {
  Population population(Rows(10));
  EXPECT_TRUE(population.as_loaded());
  population.FromJson({{"rows", 5}, {"places", {{3, 6}, {12, 14}}}, {"next", 15}});
  EXPECT_FALSE(population.as_loaded());
  EXPECT_EQ(population.there().Ranges(), (std::vector<Range>{{3, 6}, {12, 14}}));
  const json text = population.ToJson();
  Population other(Rows(10));
  other.FromJson(text);
  EXPECT_EQ(other.ToJson(), text);
  EXPECT_EQ(other.next(), 15u);
  other.FromJson(nullptr);
  EXPECT_FALSE(other.known());
  for (const json& damaged :
       {json(3), json::object(), json{{"rows", 4}, {"places", {{3, 6}}}, {"next", 10}},
        json{{"rows", 3}, {"places", {{3, 6}}}, {"next", 9}},
        json{{"rows", 4}, {"places", {{8, 12}}}, {"next", 11}},
        json{{"rows", 6}, {"places", {{3, 6}, {4, 7}}}, {"next", 10}},
        json{{"rows", "x"}, {"places", "y"}, {"next", 10}}}) {
    EXPECT_THROW(other.FromJson(damaged), Error) << damaged;
  }
}

// Returns the place of one more row, which the client has inserted.
uint64_t Insert(Population::Client* client) {
  Population::Batch batch(*client);
  const Population::Batch::Taken taken = batch.TakeInsert();
  client->Begin(taken.held);
  client->Done(taken.held);
  return taken.place;
}

// Processes that know nothing of each other must never insert the same row, and know all rows once
// they have told each other.
TEST(PopulationTest, ProcessesInsertRowsOfTheirOwnAndUniteThem) {
  constexpr uint64_t kRows = 10, kShares = 3, kEach = 2 * Population::kInsertBlock + 5;
  std::vector<std::unique_ptr<Population>> all;
  for (uint64_t share = 0; share < kShares; ++share) {
    all.push_back(std::make_unique<Population>(Rows(kRows)));
    all.back()->Divide(share, kShares);
  }
  std::set<uint64_t> places;
  for (uint64_t round = 1; round <= 2; ++round) {
    std::vector<json> records;
    for (const auto& population : all) {
      {
        Population::Client client(*population);
        for (uint64_t i = 0; i < kEach; ++i) {
          const uint64_t place = Insert(&client);
          EXPECT_TRUE(places.insert(place).second) << place << " was inserted twice";
          EXPECT_GE(place, kRows);
        }
      }
      records.push_back(population->ToJson());
    }
    const json united = Population::Unite(records);
    EXPECT_EQ(united["rows"], kRows + round * kShares * kEach);
    for (const auto& population : all) {
      population->FromJson(united);
      EXPECT_EQ(population->ToJson(), united);
      for (const uint64_t place : places) ASSERT_TRUE(population->there().Contains(place));
    }
  }
  EXPECT_LT(all[0]->there().Ranges().size(), 20u) << "a row is found among few ranges";
}

TEST(PopulationTest, WhatOneProcessDoesNotKnowNobodyKnows) {
  const json whole = Population(Rows(10)).ToJson();
  EXPECT_EQ(Population::Unite({whole, whole}), whole);
  EXPECT_TRUE(Population::Unite({whole, nullptr}).is_null());
  EXPECT_THROW(Population::Unite({whole, json{{"places", 3}}}), Error);
}

// Clients that insert and erase at the same time must never get the same row, and no row may be
// lost.
TEST(PopulationTest, ClientsShareItRightly) {
  constexpr uint64_t kRows = 5000;
  Population population(Rows(kRows));
  std::vector<std::vector<uint64_t>> inserted(4), erased(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Random random(t);
      Population::Client client(population);
      for (int i = 0; i < 3000; ++i) {
        std::vector<std::pair<bool, Population::Batch::Taken>> taken;
        {
          Population::Batch batch(client);
          for (int k = 0; k < 5; ++k) {
            if (random.Below(2) == 0) {
              taken.emplace_back(true, batch.TakeInsert());
            } else if (const auto place = batch.TakeErase()) {
              taken.emplace_back(false, *place);
            }
          }
          batch.Keep(random.Below(kRows));
        }
        for (const auto& [insert, place] : taken) {
          if (random.Below(8) == 0) continue;
          client.Begin(place.held);
          (insert ? inserted : erased)[t].push_back(place.place);
          client.Done(place.held);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<uint64_t, int> model;
  for (uint64_t place = 0; place < kRows; ++place) model[place] = 1;
  for (const auto& places : inserted) {
    for (uint64_t place : places) EXPECT_EQ(++model[place], 1) << place;
  }
  for (const auto& places : erased) {
    for (uint64_t place : places) --model[place];
  }
  uint64_t count = 0;
  for (const auto& [place, times] : model) {
    EXPECT_TRUE(times == 0 || times == 1) << place;
    EXPECT_EQ(population.there().Contains(place), times == 1) << place;
    count += static_cast<uint64_t>(times);
  }
  EXPECT_EQ(population.there().count(), count);
}

class ChooserTest : public testing::Test {
 protected:
  // Returns the number of times that each row is drawn.
  std::map<uint64_t, int> Draw(Distribution distribution, int times, double theta = 0.99) {
    WorkloadOptions options;
    options.distribution = distribution;
    options.zipf_theta = theta;
    options.hot_fraction = 0.1;
    options.hot_probability = 0.9;
    options.population = population_;
    RowChooser chooser(*dataset_, options, 1);
    std::map<uint64_t, int> drawn;
    for (int i = 0; i < times; ++i) ++drawn[chooser.Next()];
    return drawn;
  }
  void Is(json places, uint64_t next) {
    uint64_t rows = 0;
    for (const json& range : places) rows += range[1].get<uint64_t>() - range[0].get<uint64_t>();
    population_->FromJson({{"rows", rows}, {"places", places}, {"next", next}});
  }
  bool There(uint64_t row) const {
    return population_->there().Contains(population_->PlaceOf(row));
  }

  const std::shared_ptr<const Dataset> dataset_ = Rows(1000);
  const std::shared_ptr<Population> population_ = std::make_shared<Population>(dataset_);
};

TEST_F(ChooserTest, DrawsOnlyRowsThatAreThere) {
  for (const json& places :
       {json{{0, 1000}}, json{{300, 1000}}, json{{999, 1200}}, json{{0, 1500}}, json{{5, 6}},
        json{{1700, 1703}, {1900, 2500}}, json{{12345, 13000}}}) {
    Is(places, 20000);
    for (Distribution distribution :
         {Distribution::kUniform, Distribution::kZipfian, Distribution::kLatest, Distribution::kHot,
          Distribution::kExponential, Distribution::kSequential}) {
      for (const auto& [row, times] : Draw(distribution, 2000)) {
        EXPECT_TRUE(There(row)) << row << " of " << places << ", "
                                << DistributionName(distribution);
      }
    }
  }
}

TEST_F(ChooserTest, DrawsEachRowThatIsThereAlike) {
  Is({{900, 1000}, {1050, 1150}}, 1150);
  const std::map<uint64_t, int> drawn = Draw(Distribution::kUniform, 200000);
  EXPECT_EQ(drawn.size(), 200u);
  for (const auto& [row, times] : drawn) EXPECT_NEAR(times, 1000, 200) << row;
}

// Popular rows must stay popular, and a row that takes the place of an erased one gets its
// popularity.
TEST_F(ChooserTest, PopularityStaysWithItsRows) {
  const auto most = [](const std::map<uint64_t, int>& drawn) {
    return std::max_element(drawn.begin(), drawn.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  };
  const uint64_t popular = most(Draw(Distribution::kZipfian, 20000));
  const uint64_t place = population_->PlaceOf(popular);
  Is({{place, 1000 + place}}, 1000 + place);
  EXPECT_EQ(most(Draw(Distribution::kZipfian, 20000)), popular);
  Is({{place + 1, 1001 + place}}, 1001 + place);
  EXPECT_EQ(most(Draw(Distribution::kZipfian, 20000)), 1000 + place);

  Is({{0, 1000}}, 1001);
  int hot = 0;
  for (const auto& [row, times] : Draw(Distribution::kHot, 10000)) hot += row < 100 ? times : 0;
  EXPECT_NEAR(hot, 9100, 200);
}

TEST_F(ChooserTest, LatestAreTheRowsInsertedLast) {
  Is({{0, 1010}}, 1010);
  const std::map<uint64_t, int> drawn = Draw(Distribution::kLatest, 20000);
  EXPECT_GT(drawn.at(1009), drawn.at(1008));
  EXPECT_GT(drawn.at(1008), drawn.at(1000));
  EXPECT_GT(drawn.at(1000), drawn.at(900));
  // After the inserted rows the rows that were loaded last are the most popular.
  EXPECT_GT(drawn.at(999), drawn.at(100));
}

// Once, there were as many ranks as rows had been loaded, so that no row behind them was drawn.
TEST_F(ChooserTest, LatestHasARankForEachRowWhateverTheTheta) {
  Is({{0, 5000}}, 5000);
  for (const double theta : {0.99, 1.0}) {
    double all = 0, of_loaded = 0;  // sums of rank^-theta, the newest row having rank 1
    for (int rank = 1; rank <= 5000; ++rank) {
      const double weight = std::pow(rank, -theta);
      all += weight;
      of_loaded += rank > 4000 ? weight : 0;
    }
    int loaded = 0;
    for (const auto& [row, times] : Draw(Distribution::kLatest, 200000, theta)) {
      loaded += row < 1000 ? times : 0;
    }
    EXPECT_NEAR(loaded / 200000.0, of_loaded / all, 0.004) << theta;
  }
}

// Erases take the loaded rows in an order of their own. Once, the rows that were loaded first were
// out of reach of the ranks when others had been erased.
TEST_F(ChooserTest, LatestDrawsAllLoadedRowsThatAreLeft) {
  Is({{500, 1100}}, 1100);
  double all = 0, of_first = 0;  // sums of rank^-0.99 of rows that are there, and of half the load
  for (uint64_t row = 0; row < 1100; ++row) {
    const double weight = There(row) ? std::pow(1100 - row, -0.99) : 0;
    all += weight;
    of_first += row < 500 ? weight : 0;
  }
  const std::map<uint64_t, int> drawn = Draw(Distribution::kLatest, 200000);
  EXPECT_EQ(drawn.size(), 600u);
  int first = 0;
  for (const auto& [row, times] : drawn) first += row < 500 ? times : 0;
  EXPECT_NEAR(first / 200000.0, of_first / all, 0.006);
}

TEST(DatasetRowTest, KeysTellTheirRows) {
  for (KeyOrder order : {KeyOrder::kSequential, KeyOrder::kRandom, KeyOrder::kPermuted}) {
    const auto data = Rows(1000, order);
    char buffer[64];
    for (uint64_t row : {0ull, 1ull, 999ull, 1000ull, 123456789ull}) {
      EXPECT_EQ(data->RowOf(data->Key(row, buffer)), row);
      EXPECT_EQ(data->RowOf(data->AbsentKey(row, buffer)), std::nullopt);
    }
    EXPECT_EQ(data->RowOf("x"), std::nullopt);
  }
}

}  // namespace
}  // namespace testbed
