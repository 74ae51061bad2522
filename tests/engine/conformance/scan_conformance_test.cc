// Tests cursors against a std::map.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "tests/engine/engine_test.h"
#include "tests/every_way.h"

namespace testbed {
namespace {

class ScanTest : public AnyIoModeTest {
 public:
  static bool IsFor(const EngineCase& c) { return FindEngine(c.engine).capabilities.scans; }

 protected:
  using Model = std::map<std::string, std::string>;

  // Keys have few different letters, so that they share prefixes and repeat, and some letters are
  // at the ends of the byte range.
  std::string RandomKey() {
    static constexpr char kLetters[] = {'\0', '\x01', 'a', 'b', '\x7f', '\x80', '\xff'};
    std::string key(1 + random_() % 6, ' ');
    for (char& c : key) c = kLetters[random_() % sizeof kLetters];
    if (random_() % 4 == 0) key = "a common prefix of some length " + key;
    return key;
  }

  std::string RandomValue() {
    const uint64_t kind = random_() % 100;
    const size_t size = kind < 5    ? 0
                        : kind < 80 ? random_() % 60
                        : kind < 98 ? random_() % 3000
                                    : random_() % 40000;
    return RowValue(random_() % 1000000, std::min(size, info().capabilities.max_value_size));
  }

  // Makes some writes, a part of them in transactions that commit or roll back.
  void Write(Model* model, int count) {
    while (count > 0) {
      const bool transaction = info().capabilities.transactions && random_() % 3 == 0;
      const bool commit = random_() % 4 != 0;
      Model before;
      if (transaction && !commit) before = *model;
      if (transaction) session_->Begin();
      for (int n = transaction ? 1 + random_() % 40 : 1; n > 0; --n, --count) {
        const std::string key = RandomKey();
        if (random_() % 3 == 0) {
          session_->Erase(table_, key);
          model->erase(key);
        } else {
          const std::string value = RandomValue();
          Put(key, value);
          (*model)[key] = value;
        }
      }
      if (transaction) commit ? session_->Commit() : session_->Rollback();
      if (transaction && !commit) *model = std::move(before);
    }
  }

  // Moves a cursor at random, and an iterator of the model with it. Both must always agree.
  void Walk(const Model& model, int moves) {
    std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
    auto at = model.end();
    for (int i = 0; i < moves; ++i) {
      bool on;
      switch (at == model.end() ? random_() % 4 : random_() % 16) {
        case 0: {
          const std::string key = RandomKey();
          SCOPED_TRACE("Seek " + testing::PrintToString(key));
          on = cursor->Seek(key);
          at = model.lower_bound(key);
          ASSERT_NO_FATAL_FAILURE(Compare(*cursor, on, at, model));
          continue;
        }
        case 1: {
          const std::string key = RandomKey();
          SCOPED_TRACE("SeekForPrev " + testing::PrintToString(key));
          on = cursor->SeekForPrev(key);
          at = model.upper_bound(key);
          at = at == model.begin() ? model.end() : std::prev(at);
          ASSERT_NO_FATAL_FAILURE(Compare(*cursor, on, at, model));
          continue;
        }
        case 2:
          on = cursor->First();
          at = model.begin();
          break;
        case 3:
          on = cursor->Last();
          at = model.empty() ? model.end() : std::prev(model.end());
          break;
        case 4:
        case 5:
        case 6:
        case 7:
        case 8:
        case 9:
          on = cursor->Next();
          ++at;
          break;
        default:
          on = cursor->Prev();
          at = at == model.begin() ? model.end() : std::prev(at);
          break;
      }
      ASSERT_NO_FATAL_FAILURE(Compare(*cursor, on, at, model));
    }
  }

  void Compare(const Cursor& cursor, bool on, Model::const_iterator at, const Model& model) {
    ASSERT_EQ(on, at != model.end());
    if (!on) return;
    ASSERT_EQ(testing::PrintToString(cursor.key()), testing::PrintToString(at->first));
    ASSERT_TRUE(cursor.value() == at->second);
  }

  // Walks from one end to the other in both directions.
  void WalkThrough(const Model& model) {
    std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
    auto at = model.begin();
    for (bool on = cursor->First(); on; on = cursor->Next(), ++at) {
      ASSERT_NE(at, model.end());
      ASSERT_NO_FATAL_FAILURE(Compare(*cursor, on, at, model));
    }
    ASSERT_EQ(at, model.end());
    auto back = model.rbegin();
    for (bool on = cursor->Last(); on; on = cursor->Prev(), ++back) {
      ASSERT_NE(back, model.rend());
      ASSERT_EQ(cursor->key(), back->first);
      ASSERT_TRUE(cursor->value() == back->second);
    }
    ASSERT_EQ(back, model.rend());
  }

  std::mt19937_64 random_;
};

TEST_P(ScanTest, AnEmptyTableHasNoRowToStandOn) {
  Open();
  std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
  EXPECT_FALSE(cursor->First());
  EXPECT_FALSE(cursor->Last());
  EXPECT_FALSE(cursor->Seek("a"));
  EXPECT_FALSE(cursor->SeekForPrev("a"));
}

TEST_P(ScanTest, SeeksFindTheNearestRow) {
  Open();
  for (const char* key : {"b", "d", "f"}) Put(key, key);
  std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
  ASSERT_TRUE(cursor->Seek("a"));
  EXPECT_EQ(cursor->key(), "b");
  ASSERT_TRUE(cursor->Seek("d"));
  EXPECT_EQ(cursor->key(), "d");
  ASSERT_TRUE(cursor->Seek(std::string_view("d\0", 2)));
  EXPECT_EQ(cursor->key(), "f");
  EXPECT_FALSE(cursor->Seek("g"));
  EXPECT_FALSE(cursor->SeekForPrev("a"));
  ASSERT_TRUE(cursor->SeekForPrev("d"));
  EXPECT_EQ(cursor->key(), "d");
  ASSERT_TRUE(cursor->SeekForPrev("e"));
  EXPECT_EQ(cursor->key(), "d");
  ASSERT_TRUE(cursor->SeekForPrev("z"));
  EXPECT_EQ(cursor->key(), "f");
  ASSERT_FALSE(cursor->Next());
  ASSERT_TRUE(cursor->First());
  ASSERT_FALSE(cursor->Prev());
}

TEST_P(ScanTest, ASeekTakesTheKeyThatItsCursorReturned) {
  Open();
  constexpr uint64_t kRows = 100;
  Load(kRows, 300);
  std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
  uint64_t row = 0;
  for (bool on = cursor->First(); on; on = cursor->Next(), ++row) {
    const bool found =
        row % 2 == 0 ? cursor->Seek(cursor->key()) : cursor->SeekForPrev(cursor->key());
    ASSERT_TRUE(found);
    ASSERT_EQ(cursor->key(), RowKey(row));
    ASSERT_EQ(cursor->value(), RowValue(row, 300));
  }
  EXPECT_EQ(row, kRows);
}

// A row may name the row to read next, in a page far away.
TEST_P(ScanTest, ASeekTakesTheValueThatItsCursorReturned) {
  Open();
  constexpr uint64_t kRows = 3000, kStep = 1009;
  for (uint64_t row = 0; row < kRows;) {
    session_->Begin();
    for (const uint64_t end = row + 1000; row < end; ++row) {
      Put(RowKey(row), RowKey((row + kStep) % kRows));
    }
    session_->Commit();
  }
  std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
  uint64_t row = 0;
  ASSERT_TRUE(cursor->Seek(RowKey(row)));
  for (int i = 0; i < 300; ++i) {
    const bool found =
        i % 2 == 0 ? cursor->Seek(cursor->value()) : cursor->SeekForPrev(cursor->value());
    row = (row + kStep) % kRows;
    ASSERT_TRUE(found);
    ASSERT_EQ(cursor->key(), RowKey(row));
  }
}

TEST_P(ScanTest, AgreesWithAModelUnderRandomWritesAndMoves) {
  std::vector<uint64_t> seeds = {301};
  if (EveryWay()) seeds = {301, 302, 303};
  for (const uint64_t seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_.seed(seed);
    Open();
    table_ = engine_->OpenTable("seed" + std::to_string(seed));
    Model model;
    for (int round = 0; round < 12; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      Write(&model, 250);
      ASSERT_NO_FATAL_FAILURE(Walk(model, 250));
      if (round % 4 == 1) engine_->Flush();
      if (round % 4 == 2) engine_->Checkpoint();
      if (round % 4 == 3) engine_->Settle();
      ASSERT_NO_FATAL_FAILURE(WalkThrough(model));
      if (round % 5 == 4) {
        Reopen();
        table_ = engine_->OpenTable("seed" + std::to_string(seed));
        ASSERT_NO_FATAL_FAILURE(WalkThrough(model));
      }
      for (int i = 0; i < 100; ++i) {
        const std::string key = RandomKey();
        const auto it = model.find(key);
        ASSERT_TRUE(Get(key) == (it == model.end() ? kAbsent : it->second));
      }
    }
    Close();
  }
}

TEST_P(ScanTest, WalksManyPagesBothWays) {
  options_.cache_bytes = 8 << 20;
  Open();
  const uint64_t rows = 40000 / RowsInOne();
  const size_t size = 150 * RowsInOne();
  // The rows are inserted in an order that fills the middle last.
  for (uint64_t i = 0; i < rows;) {
    session_->Begin();
    for (const uint64_t end = i + 1000; i < end; ++i) {
      const uint64_t row = i % 2 == 0 ? i : rows - i;
      Put(RowKey(row), RowValue(row, size));
    }
    session_->Commit();
  }
  engine_->Settle();
  Reopen();
  std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
  uint64_t row = 0;
  for (bool on = cursor->First(); on; on = cursor->Next(), ++row) {
    ASSERT_EQ(cursor->key(), RowKey(row));
    ASSERT_EQ(cursor->value(), RowValue(row, size));
  }
  EXPECT_EQ(row, rows);
  for (bool on = cursor->Last(); on; on = cursor->Prev()) ASSERT_EQ(cursor->key(), RowKey(--row));
  EXPECT_EQ(row, 0u);
}

TESTBED_FOR_EVERY_ENGINE(ScanTest);

}  // namespace
}  // namespace testbed
