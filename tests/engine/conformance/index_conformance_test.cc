// Tests secondary indexes that an engine keeps itself: at any time, an index must hold exactly the
// entries of the rows of its table.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

// Returns whether the engine of the case keeps indexes. MyRocks and old servers do not.
bool KeepsIndexes(const EngineCase& c) {
  return FindEngine(c.engine).capabilities.indexes && !c.IsMyRocks() && !c.IsOldMariadb() &&
         !c.IsOldPostgres();
}

// The value of a row has three letters, each one of two, and then four that no index uses.
class IndexTest : public EngineTest {
 public:
  static constexpr CaseChoice kChoice = {.variants = true};
  static bool IsFor(const EngineCase& c) { return KeepsIndexes(c); }

 protected:
  void OpenBoth() {
    Open();
    ASSERT_TRUE(engine_->KeepsIndexes());
    index_ = engine_->OpenIndex("default_index", table_, {{3, 2}, {0, 1}});
  }
  static std::string Value(uint64_t row) {
    std::string value = "abcde....";
    value[0] = static_cast<char>(row * 7 % 5);
    value[3] = static_cast<char>(250 + row * 13 % 6);
    value[4] = static_cast<char>(row * 31 % 11);
    return value;
  }
  static std::string Entry(uint64_t row) {
    const std::string value = Value(row);
    return value.substr(3, 2) + value[0] + RowKey(row);
  }
  std::vector<std::string> Keys(bool forward) {
    std::vector<std::string> keys;
    std::unique_ptr<Cursor> cursor = session_->NewCursor(index_);
    for (bool on = forward ? cursor->First() : cursor->Last(); on;
         on = forward ? cursor->Next() : cursor->Prev()) {
      EXPECT_EQ(cursor->value(), "");
      keys.emplace_back(cursor->key());
    }
    if (!forward) std::reverse(keys.begin(), keys.end());
    return keys;
  }
  void ExpectEntries(const std::set<std::string>& entries) {
    const std::vector<std::string> wanted(entries.begin(), entries.end());
    EXPECT_EQ(Keys(true), wanted);
    EXPECT_EQ(Keys(false), wanted);
  }
  TableId index_ = 0;
};

TEST_P(IndexTest, HasAnEntryOfEachRowInOrder) {
  OpenBoth();
  std::set<std::string> entries;
  for (uint64_t row = 0; row < 700; ++row) {
    Put(RowKey(row), Value(row));
    entries.insert(Entry(row));
  }
  ExpectEntries(entries);
  for (uint64_t row = 0; row < 700; row += 3) {
    session_->Erase(table_, RowKey(row));
    entries.erase(Entry(row));
  }
  for (uint64_t row = 1; row < 700; row += 3) {
    Put(RowKey(row), Value(row + 1));
    entries.erase(Entry(row));
    entries.insert(Value(row + 1).substr(3, 2) + Value(row + 1)[0] + RowKey(row));
  }
  for (int pass = 0; pass < 2; ++pass) {
    ExpectEntries(entries);
    engine_->Settle();
    Close();
    OpenBoth();
  }
}

TEST_P(IndexTest, SeeksAndGetsAsATableDoes) {
  OpenBoth();
  std::set<std::string> entries;
  for (uint64_t row = 0; row < 300; ++row) {
    Put(RowKey(row), Value(row));
    entries.insert(Entry(row));
  }
  std::vector<std::string> wanted(entries.begin(), entries.end());
  for (uint64_t row = 0; row < 300; row += 7) {
    const std::string entry = Entry(row);
    for (size_t size : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{4}, entry.size()}) {
      wanted.push_back(entry.substr(0, size));
    }
    wanted.push_back(entry + "x");
  }
  std::unique_ptr<Cursor> cursor = session_->NewCursor(index_);
  std::string_view value;
  for (const std::string& key : wanted) {
    EXPECT_EQ(session_->Get(index_, key, &value), entries.contains(key));
    const auto after = entries.lower_bound(key);
    ASSERT_EQ(cursor->Seek(key), after != entries.end());
    if (after != entries.end()) {
      EXPECT_EQ(cursor->key(), *after);
    }
    const auto above = entries.upper_bound(key);
    ASSERT_EQ(cursor->SeekForPrev(key), above != entries.begin());
    if (above != entries.begin()) {
      EXPECT_EQ(cursor->key(), *std::prev(above));
    }
  }
}

// Sessions that have read the table before, each in its own way, must not block the building of the
// index.
TEST_P(IndexTest, IsBuiltForRowsThatAreThere) {
  Open();
  std::set<std::string> entries;
  for (uint64_t row = 0; row < 2000; ++row) {
    Put(RowKey(row), Value(row));
    entries.insert(Entry(row));
  }
  std::unique_ptr<Session> other = engine_->NewSession();
  std::string_view value;
  EXPECT_TRUE(other->Get(table_, RowKey(5), &value));
  std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
  EXPECT_TRUE(cursor->First());
  index_ = engine_->OpenIndex("default_index", table_, {{3, 2}, {0, 1}});
  EXPECT_EQ(engine_->OpenIndex("default_index", table_, {{3, 2}, {0, 1}}), index_);
  ExpectEntries(entries);
  EXPECT_TRUE(other->Get(table_, RowKey(5), &value));
  EXPECT_EQ(value, Value(5));
  EXPECT_TRUE(cursor->Next());
  EXPECT_EQ(cursor->key(), RowKey(1));
  other.reset();
}

TEST_P(IndexTest, FollowsTransactions) {
  OpenBoth();
  Put(RowKey(1), Value(1));
  session_->Begin();
  Put(RowKey(2), Value(2));
  session_->Erase(table_, RowKey(1));
  EXPECT_EQ(Keys(true), std::vector<std::string>{Entry(2)});
  session_->Rollback();
  EXPECT_EQ(Keys(true), std::vector<std::string>{Entry(1)});
  session_->Begin();
  Put(RowKey(2), Value(2));
  session_->Commit();
  ExpectEntries({Entry(1), Entry(2)});
}

TEST_P(IndexTest, IsNotWrittenToByOthers) {
  OpenBoth();
  ErrorOf(Error::kUsage, [&] { session_->Put(index_, Entry(1), ""); });
  ErrorOf(Error::kUsage, [&] { session_->Erase(index_, Entry(1)); });
  EXPECT_TRUE(Keys(true).empty());
}

TESTBED_FOR_EVERY_ENGINE(IndexTest);

class NoIndexTest : public AnyIoModeTest {
 public:
  static bool IsFor(const EngineCase& c) { return !KeepsIndexes(c); }
};

TEST_P(NoIndexTest, SaysSo) {
  Open();
  EXPECT_FALSE(engine_->KeepsIndexes());
  const std::string sentence =
      ErrorOf(Error::kUsage, [&] { engine_->OpenIndex("i", table_, {{0, 1}}); });
  EXPECT_NE(sentence.find(info().name), std::string::npos) << sentence;
}

TESTBED_FOR_EVERY_ENGINE(NoIndexTest);

}  // namespace
}  // namespace testbed
