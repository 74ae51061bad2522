// Allocations fail at any place of a commit, and so in flushes, splits, merges and evictions.
// Readers must find every acknowledged row meanwhile, and so must the next opening.
#include <gtest/gtest.h>

#include <map>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/error.h"
#include "tests/unit/engines/failing_new.h"
#include "tests/unit/engines/fractal/small_store.h"

namespace testbed::fractal {
namespace {

TEST(FractalGateTest, AnExceptionInsideBreaksIt) {
  Gate whole, left, closed;
  try {
    const Gate::Pass pass(&left);
    throw std::runtime_error("in a pass");
  } catch (const std::runtime_error&) {
    const Gate::Pass pass(&whole);
  }
  EXPECT_TRUE(left.broken());
  EXPECT_THROW(
      {
        const Gate::Close close(&closed);
        throw std::runtime_error("while closed");
      },
      std::runtime_error);
  EXPECT_TRUE(closed.broken());
  const Gate::Close close(&whole);
  EXPECT_FALSE(whole.broken());
}

// An AddSorted of several messages that fails adds all of them or none.
TEST(FractalNoMemoryBufferTest, KeepsWhatItHasAndCountsIt) {
  std::mt19937_64 random(7);
  std::map<std::string, std::string> model;
  MessageBuffer buffer;
  int failed = 0;
  for (int i = 0; i < 3000; ++i) {
    std::map<std::string, std::string> rows;
    for (uint64_t n = random() % 3 == 0 ? 20 : 1; n > 0; --n) {
      rows[std::to_string(random() % 700)] = std::string(random() % 300, 'v');
    }
    std::vector<Message> messages;
    for (const auto& [key, value] : rows) messages.push_back({1, false, key, value});
    FailingNew::Set(static_cast<int64_t>(random() % 6));
    bool threw = false;
    try {
      messages.size() == 1 ? buffer.Add(messages[0]) : buffer.AddSorted(messages);
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    failed += FailingNew::Clear();
    size_t added = 0;
    for (const auto& [key, value] : rows) {
      const std::optional<Message> found = buffer.Find(key);
      added += found && found->value == value;
    }
    if (!threw || added == rows.size()) {
      ASSERT_EQ(added, rows.size());
      for (const auto& [key, value] : rows) model[key] = value;
    }
    if (i % 50 != 0) continue;
    buffer.AddSorted({});
    std::map<std::string, std::string> found;
    for (const Message& m : buffer.All()) found[std::string(m.key)] = m.value;
    ASSERT_EQ(found, model);
    ASSERT_EQ(buffer.bytes(), buffer.Serialize().size() - 4 + 8 * model.size());
  }
  EXPECT_GT(failed, 300);
}

class FractalNoMemoryTest : public SmallStoreTest {
 protected:
  static constexpr uint64_t kKeys = 1500;

  FractalNoMemoryTest() {
    options_.cache_bytes = 256 << 10;
    Open();
  }
  ~FractalNoMemoryTest() override { FailingNew::Clear(); }
  static std::string Key(uint64_t n) { return std::to_string(n * 2654435761u % 1000003); }

  // Changes some rows. An allocation fails after `allocations` others. Returns false when the
  // commit threw, and what it was to change is then in doubt.
  bool Commit(bool erase_most, int64_t allocations) {
    std::map<std::string, std::string> rows;
    for (uint64_t n = random_() % 15 + 1; n > 0; --n) {
      const bool erase = random_() % 20 < (erase_most ? 19 : 2);
      rows[Key(random_() % kKeys)] = erase ? "" : std::string(random_() % 500 + 1, 'v') + "x";
    }
    std::vector<RowWrite> writes;
    for (const auto& [key, value] : rows)
      writes.push_back({value.empty(), tree_->table(), key, value});
    FailingNew::Set(allocations);
    bool done = true;
    try {
      client_->Commit(writes);
    } catch (const std::bad_alloc&) {
      done = false;
    } catch (const Error&) {
      done = false;
    }
    FailingNew::Clear();
    for (const auto& [key, value] : rows) {
      std::set<std::string>& may_be = model_[key];
      if (done) may_be.clear();
      if (!done && may_be.empty()) may_be.insert("");
      may_be.insert(value);
    }
    return done;
  }
  std::string Value(const std::string& key) {
    std::string value;
    return client_->Get(tree_, key, &value) ? value : "";
  }
  void Compare() {
    for (auto& [key, may_be] : model_) {
      const std::string value = Value(key);
      ASSERT_TRUE(may_be.contains(value)) << key << " has " << value.size() << " bytes";
    }
  }
  // Reduces the possible values of rows in doubt to those that the database has.
  void Settle() {
    for (auto& [key, may_be] : model_) may_be = {Value(key)};
  }
  bool OutOfService() {
    try {
      store_->Checkpoint();
      return false;
    } catch (const Error&) {
      return true;
    }
  }

  std::map<std::string, std::set<std::string>> model_;  // values of a row, "" for none
  std::mt19937_64 random_{5};
};

TEST_F(FractalNoMemoryTest, NoAcknowledgedRowIsLost) {
  int failed = 0, out_of_service = 0;
  uint64_t splits = 0, merges = 0;
  for (int i = 0; i < 3000 && failed < 40; ++i) {
    const bool arm = random_() % 3 == 0;
    if (Commit(i % 400 >= 200, arm ? static_cast<int64_t>(random_() % 300) : -1)) continue;
    ++failed;
    SCOPED_TRACE("failure " + std::to_string(failed));
    ASSERT_NO_FATAL_FAILURE(Compare());
    if (OutOfService()) {
      ++out_of_service;
      splits += store_->tree_counters().leaf_splits.load();
      merges += store_->tree_counters().merges.load();
      Open();
      ASSERT_NO_FATAL_FAILURE(Compare());
    }
    Settle();
  }
  EXPECT_GT(failed, 20);
  EXPECT_GT(out_of_service, 10);
  EXPECT_GT(splits, 20u);
  EXPECT_GT(merges, 2u);
}

}  // namespace
}  // namespace testbed::fractal
