// Tests the set of a transaction's writes against a model.
#include "engines/write_set.h"

#include <gtest/gtest.h>

#include <map>
#include <new>
#include <random>
#include <string>
#include <utility>

#include "tests/unit/engines/failing_new.h"

namespace testbed {
namespace {

using Key = std::pair<TableId, std::string>;
using Written = std::pair<bool, std::string>;
using Model = std::map<Key, Written>;

// Expects that `found` is the write at `at`, or null when `at` is not a row of the table.
void ExpectWrite(const RowWrite* found, const Model& model, Model::const_iterator at,
                 TableId table) {
  const bool there = at != model.end() && at->first.first == table;
  ASSERT_EQ(found != nullptr, there);
  if (there) {
    ASSERT_EQ(found->key, at->first.second);
  }
}

void ExpectNeighbours(const WriteSet& writes, const Model& model, const Key& key) {
  const auto& [table, k] = key;
  const auto before = [&](Model::const_iterator at) {
    return at == model.begin() ? model.end() : std::prev(at);
  };
  ExpectWrite(writes.After(table, k, false), model, model.lower_bound(key), table);
  ExpectWrite(writes.After(table, k, true), model, model.upper_bound(key), table);
  ExpectWrite(writes.Before(table, k, false), model, before(model.upper_bound(key)), table);
  ExpectWrite(writes.Before(table, k, true), model, before(model.lower_bound(key)), table);
  ExpectWrite(writes.Last(table), model, before(model.lower_bound({table + 1, ""})), table);
}

TEST(WriteSetTest, HoldsTheLastWriteOfEachRowAsAModelDoes) {
  WriteSet writes;
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    Model model;
    // The number of writes varies from a few, which leave most rows unchanged, to 20000.
    const int n = round % 20 == 0 ? 20000 : 1 << round % 12;
    for (int i = 0; i < n; ++i) {
      const Key key{1 + random() % 3, "key" + std::to_string(random() % (n + 1))};
      const Written value{random() % 4 == 0, std::string(random() % 40, 'a' + i % 26)};
      writes.Set(key.first, key.second, value.first, value.second);
      model[key] = value;
      if (i % 97 != 0) continue;
      const Key other{1 + random() % 3, "key" + std::to_string(random() % (n + 1))};
      const RowWrite* found = writes.Find(other.first, other.second);
      ASSERT_EQ(found != nullptr, model.contains(other));
      if (found != nullptr) {
        ASSERT_EQ(found->value, model[other].second);
        ASSERT_EQ(found->erase, model[other].first);
      }
      const bool beyond = i % 2 == 0;
      const auto at = beyond ? model.upper_bound(other) : model.lower_bound(other);
      ASSERT_EQ(writes.Position(other.first, other.second, beyond),
                static_cast<size_t>(std::distance(model.begin(), at)));
      ExpectNeighbours(writes, model, other);
    }
    ASSERT_EQ(writes.rows().size(), model.size());
    size_t position = 0;
    for (const auto& [key, value] : model) {
      const RowWrite& row = writes.rows()[writes.Sorted()[position++]];
      ASSERT_EQ(row.table, key.first);
      ASSERT_EQ(row.key, key.second);
      ASSERT_EQ(row.value, value.second);
      ASSERT_EQ(row.erase, value.first);
    }
    writes.Clear();
    ASSERT_TRUE(writes.empty());
    for (const auto& [key, value] : model) ASSERT_EQ(writes.Find(key.first, key.second), nullptr);
  }
}

// A cursor asks for the order while a transaction writes, and finds no memory for it.
TEST(WriteSetTest, TheOrderIsRightAfterWantOfMemory) {
  int failures = 0;
  for (int64_t allocations = 0; allocations < 8; ++allocations) {
    WriteSet writes;
    for (int row = 99; row >= 0; --row) writes.Set(1, std::to_string(1000 + row), false, "v");
    FailingNew::Set(allocations);
    try {
      writes.Sorted();
    } catch (const std::bad_alloc&) {
      ++failures;
    }
    FailingNew::Clear();
    writes.Set(1, "0999", false, "v");
    const std::vector<uint32_t>& sorted = writes.Sorted();
    ASSERT_EQ(sorted.size(), 101u);
    for (size_t i = 1; i < sorted.size(); ++i) {
      ASSERT_LT(writes.rows()[sorted[i - 1]].key, writes.rows()[sorted[i]].key) << allocations;
    }
  }
  EXPECT_GT(failures, 0);
}

TEST(WriteSetTest, ALargeSetIsClearedWithoutMemory) {
  WriteSet writes;
  for (int row = 0; row < 20'000; ++row) writes.Set(1, std::to_string(row), false, "v");
  FailingNew::Set(0);
  EXPECT_NO_THROW(writes.Clear());
  FailingNew::Clear();
  EXPECT_TRUE(writes.empty());
  EXPECT_EQ(writes.Find(1, "7"), nullptr);
  writes.Set(1, "7", false, "w");
  EXPECT_EQ(writes.Find(1, "7")->value, "w");
}

TEST(WriteSetTest, ARowMayBeWrittenFromItsOwnValue) {
  WriteSet writes;
  writes.Set(1, "k", false, "0123456789");
  for (int i = 0; i < 5; ++i) {
    writes.Set(1, "k", false, writes.Find(1, "k")->value.substr(1));
  }
  EXPECT_EQ(writes.Find(1, "k")->value, "56789");
}

}  // namespace
}  // namespace testbed
