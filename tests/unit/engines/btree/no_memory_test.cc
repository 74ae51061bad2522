// Tests want of memory in commits: a commit either fails before the log has it, or puts the store
// out of service, also when it is the move of rows out of the change buffer.
#include <algorithm>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "engines/btree/tree/change_buffer.h"
#include "tests/unit/engines/btree/store_test.h"
#include "tests/unit/engines/failing_new.h"

namespace testbed::btree {
namespace {

class StoreNoMemoryTest : public StoreTest {
 protected:
  static constexpr int kRows = 3000;  // they need more pages than the pool has
  static std::string Key(int i) { return "a row with a long key " + std::to_string(10000 + i); }

  void TearDown() override {
    FailingNew::Clear();
    StoreTest::TearDown();
  }
  bool InService() {
    try {
      store_->CheckUsable();
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  // Commits the rows; an allocation fails after `allocations` others. Returns false when the commit
  // failed.
  bool Commit(const Model& rows, int64_t allocations) {
    StoreClient client(store_.get());
    const uint32_t table = store_->OpenTable("t")->table();
    std::vector<RowWrite> operations;
    for (const auto& [key, value] : rows) operations.push_back({value.empty(), table, key, value});
    FailingNew::Set(allocations);
    bool done = true;
    try {
      client.Commit(operations);
    } catch (const std::exception&) {
      done = false;
    }
    FailingNew::Clear();
    return done;
  }
  void Load() {
    for (int i = 0; i < kRows; i += 50) {
      Model rows;
      for (int j = i; j < i + 50; ++j) rows[Key(j)] = std::string(100, 'v');
      model_.insert(rows.begin(), rows.end());
      ASSERT_TRUE(Commit(rows, -1));
    }
  }
  void UseChangeBuffer() {
    options_.cache_bytes = 40 * options_.page_size;
    options_.change_buffer_bytes = 20 << 10;
  }

  Model model_;
};

TEST_F(StoreNoMemoryTest, AThreadHasItsMemoryBeforeItsFirstCommitIsLogged) {
  Open();
  StoreClient client(store_.get());
  const uint32_t table = store_->OpenTable("t")->table();
  const std::string keys = "abc", bytes(900, 'v');
  // Updates that grow make the leaf compact itself every few commits.
  const auto commit = [&](size_t row, size_t size) {
    const RowWrite op{false, table, std::string_view(keys).substr(row, 1),
                      std::string_view(bytes).substr(0, size)};
    client.Commit({&op, 1});
  };
  for (size_t size = 500; size < 600; ++size) commit(size % 3, size);
  bool refused = false;
  std::thread([&] {
    FailingNew::Set(0);
    try {
      for (size_t size = 600; size < 700; ++size) commit(size % 3, size);
    } catch (const std::exception&) {
      refused = true;
    }
    FailingNew::Clear();
  }).join();
  EXPECT_TRUE(refused);
  EXPECT_NO_THROW(commit(0, 800));
  EXPECT_EQ(Get("a").size(), 800u);
  ExpectSound();
}

TEST_F(StoreNoMemoryTest, ACommitThatFailsInServiceIsNotThere) {
  UseChangeBuffer();
  Open();
  Load();
  int failed = 0, out_of_service = 0;
  for (int i = 0; i < 2000 && failed < 25; ++i) {
    Model rows;
    for (uint64_t n = random_() % 12 + 1; n > 0; --n) {
      const bool erase = random_() % 5 == 0;
      rows[Key(static_cast<int>(random_() % kRows))] =
          erase ? "" : std::string(random_() % 200 + 1, static_cast<char>('a' + i % 26));
    }
    const bool done = Commit(rows, random_() % 2 == 0 ? static_cast<int64_t>(random_() % 400) : -1);
    if (!done) {
      ++failed;
      SCOPED_TRACE("failure " + std::to_string(failed));
      const bool in_doubt = !InService();
      if (in_doubt) {
        ++out_of_service;
        Open();
      }
      StoreClient client(store_.get());
      for (const auto& [key, value] : rows) {
        std::string found;
        if (!client.Get(store_->OpenTable("t"), key, &found)) found.clear();
        const std::string& before = model_[key];
        ASSERT_TRUE(found == before || (in_doubt && found == value))
            << key << ", in doubt: " << in_doubt;
        model_[key] = found;
      }
      ExpectSound();
      continue;
    }
    for (const auto& [key, value] : rows) model_[key] = value;
  }
  EXPECT_GT(failed, 15);
  EXPECT_GT(out_of_service, 3);
  EXPECT_LT(out_of_service, failed);
  std::erase_if(model_, [](const auto& row) { return row.second.empty(); });
  ExpectRows(store_->OpenTable("t"), model_);
  ExpectSound();
}

// Each allocation of OpenTable fails in turn. If the store stays in service, nothing of the table
// is there, and later tables have numbers and pages of their own.
TEST_F(StoreNoMemoryTest, ATableThatFindsNoMemoryLeavesItsNumberToTheNext) {
  Open();
  int in_service = 0, out_of_service = 0;
  for (int64_t allocations = 0;; ++allocations) {
    SCOPED_TRACE(allocations);
    const std::string number = std::to_string(allocations);
    const std::string name = "a table whose name takes memory " + number;
    FailingNew::Set(allocations);
    bool done = true;
    try {
      store_->OpenTable(name);
    } catch (const std::exception&) {
      done = false;
    }
    if (!FailingNew::Clear()) {
      ASSERT_TRUE(done);
      break;
    }
    if (!InService()) {
      ++out_of_service;
      Open();
      continue;
    }
    ++in_service;
    const Tree* const first = store_->OpenTable("first table " + number);
    const Tree* const second = store_->OpenTable("second table " + number);
    ASSERT_NE(first->table(), second->table());
    ASSERT_NE(first->root(), second->root());
    ASSERT_EQ(store_->OpenTable("first table " + number), first);
  }
  EXPECT_GE(in_service, 4);
  EXPECT_GT(out_of_service, 0);
  ExpectSound();
}

// A walk moves the rows that wait for its leaves by commits of its own.
TEST_F(StoreNoMemoryTest, AMoveThatTheTreesHaveByHalfEndsTheService) {
  UseChangeBuffer();
  Open();
  Load();
  int out_of_service = 0;
  for (int round = 0; round < 15; ++round) {
    SCOPED_TRACE(round);
    Open();  // with an empty pool
    Model rows;
    for (int i = 0; i < 600; i += 10) {
      rows[Key(i)] = std::string(100, static_cast<char>('a' + round % 26));
    }
    ASSERT_TRUE(Commit(rows, -1));
    for (const auto& [key, value] : rows) model_[key] = value;
    const ChangeBuffer* const buffer = store_->change_buffer();
    const uint64_t known = buffer->rows() + buffer->rows_moved();
    {
      StoreClient client(store_.get());
      TreeCursor cursor(store_->OpenTable("t"), client.context(), options_.page_size);
      FailingNew::Set(static_cast<int64_t>(random_() % 200));
      try {
        for (bool on = cursor.SeekForward({}, false); on; on = cursor.Next()) {
        }
      } catch (const std::exception&) {
      }
      FailingNew::Clear();
    }
    if (InService()) {
      ASSERT_EQ(buffer->rows() + buffer->rows_moved(), known);
    } else {
      ++out_of_service;
    }
  }
  EXPECT_GT(out_of_service, 2);
  Open();
  ExpectRows(store_->OpenTable("t"), model_);
  ExpectSound();
}

}  // namespace
}  // namespace testbed::btree
