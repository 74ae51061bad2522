// Tests rows in every engine: a get must return what was put.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

class RowTest : public EngineTest {
 public:
  static constexpr CaseChoice kChoice = {.own_modes = true, .variants = true};
};
class RowRuleTest : public AnyIoModeTest {};

TEST_P(RowRuleTest, GetFindsWhatWasPutAndNothingElse) {
  Open();
  EXPECT_EQ(Get("a"), kAbsent);
  Put("b", "1");
  EXPECT_EQ(Get("b"), "1");
  EXPECT_EQ(Get("a"), kAbsent);
  EXPECT_EQ(Get("bb"), kAbsent);
  EXPECT_EQ(Get("c"), kAbsent);
}

TEST_P(RowRuleTest, PutReplacesAndEraseRemoves) {
  Open();
  Put("k", "first");
  Put("k", "a second, longer value");
  EXPECT_EQ(Get("k"), "a second, longer value");
  Put("k", "3");
  EXPECT_EQ(Get("k"), "3");
  session_->Erase(table_, "k");
  EXPECT_EQ(Get("k"), kAbsent);
  session_->Erase(table_, "k");
  session_->Erase(table_, "never there");
  Put("k", "back");
  EXPECT_EQ(Get("k"), "back");
  Reopen();
  EXPECT_EQ(Get("k"), "back");
}

TEST_P(RowRuleTest, AnEmptyValueIsAValue) {
  Open();
  Put("k", "");
  EXPECT_EQ(Get("k"), "");
  EXPECT_EQ(Get("other"), kAbsent);
  Reopen();
  EXPECT_EQ(Get("k"), "");
}

TEST_P(RowRuleTest, KeysOfEverySizeUpToTheStatedMaximum) {
  Open();
  const size_t max = info().capabilities.max_key_size;
  std::vector<std::string> keys;
  for (size_t size : {size_t{1}, size_t{2}, size_t{15}, size_t{16}, size_t{17}, size_t{127},
                      size_t{128}, size_t{255}, size_t{256}, size_t{1000}, max / 2, max - 1, max}) {
    if (size > max || (!keys.empty() && size <= keys.back().size())) continue;
    std::string key = RowValue(size, size);
    keys.push_back(key);
    Put(key, "size " + std::to_string(size));
  }
  for (int pass = 0; pass < 2; ++pass) {
    for (const std::string& key : keys) {
      EXPECT_EQ(Get(key), "size " + std::to_string(key.size()));
    }
    engine_->Settle();
    Reopen();
  }
}

TEST_P(RowRuleTest, AKeyAboveTheStatedMaximumIsRefusedAndDoesNoHarm) {
  Open();
  // The maximum is that of the smallest page size.
  const std::string too_long(info().capabilities.max_key_size * 4, 'k');
  const auto refused = [&] {
    const std::string sentence = ErrorOf(Error::kUsage, [&] { Put(too_long, "v"); });
    EXPECT_NE(sentence.find(std::to_string(too_long.size())), std::string::npos) << sentence;
  };
  refused();
  session_->Begin();
  Put("before", "1");
  refused();
  Put("later", "1");
  session_->Commit();
  EXPECT_EQ(Get(too_long), kAbsent);
  EXPECT_EQ(Rows(table_), (std::vector<std::string>{"before=1", "later=1"}));
}

TEST_P(RowTest, ValuesOfEverySizeUpToMegabytes) {
  Open();
  // InnoDB 5.6 takes values up to a tenth of the log, and that of a test is small.
  const size_t most = GetParam().IsOldMariadb() ? 1 << 20 : 5 << 20;
  const size_t max = std::min<size_t>(info().capabilities.max_value_size, most);
  std::vector<size_t> sizes;
  for (size_t size = 1; size < max; size = size * 2 + size / 7 + 1) sizes.push_back(size);
  for (size_t page : {4096, 8192, 16384, 65536}) {
    for (size_t size : {page - 64, page - 1, page, page + 1}) {
      if (size < max) sizes.push_back(size);
    }
  }
  sizes.push_back(max);
  for (size_t size : sizes) Put("size" + std::to_string(size), RowValue(size, size));
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t size : sizes) {
      // Not EXPECT_EQ: megabytes make no useful message.
      EXPECT_TRUE(Get("size" + std::to_string(size)) == RowValue(size, size)) << "size " << size;
    }
    Reopen();
  }
  // From big to small and back.
  Put("size1", RowValue(7, max));
  Put("size" + std::to_string(max), "small");
  Reopen();
  EXPECT_TRUE(Get("size1") == RowValue(7, max));
  EXPECT_EQ(Get("size" + std::to_string(max)), "small");
}

TEST_P(RowRuleTest, KeysAndValuesAreAnyBytesAndKeysOrderAsUnsignedBytes) {
  Open();
  using namespace std::string_literals;
  std::vector<std::string> keys = {"\0"s,       "\0\0"s,     "\0\x01"s,      "\x01"s,  "a"s,
                                   "a\0"s,      "a\0b"s,     "a\x7f"s,       "a\x80"s, "a\xff"s,
                                   "b"s,        "\x7f"s,     "\x80"s,        "\xff"s,  "\xff\0"s,
                                   "\xff\x7f"s, "\xff\xff"s, "\xff\xff\xff"s};
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string& key = keys[(i * 7) % keys.size()];
    Put(key, "<" + key + "\0>"s);
  }
  std::sort(keys.begin(), keys.end(), [](const std::string& a, const std::string& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      return static_cast<uint8_t>(x) < static_cast<uint8_t>(y);
    });
  });
  for (int pass = 0; pass < 2; ++pass) {
    for (const std::string& key : keys) EXPECT_EQ(Get(key), "<" + key + "\0>"s);
    if (info().capabilities.scans) {
      std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
      size_t i = 0;
      for (bool on = cursor->First(); on; on = cursor->Next(), ++i) {
        ASSERT_LT(i, keys.size());
        EXPECT_EQ(cursor->key(), keys[i]);
      }
      EXPECT_EQ(i, keys.size());
    }
    Reopen();
  }
}

// A secondary index is read in this way: its values are the keys of the rows. Short values and long
// ones lie in different places.
TEST_P(RowRuleTest, WhatACallReturnedMayBeGivenToTheNext) {
  Open();
  const std::vector<std::string> names = {"ada", "a name that is longer than a short string", "b"};
  for (uint64_t i = 0; i < names.size(); ++i) {
    Put(std::to_string(i), names[i]);
    Put(names[i], RowValue(i, 300));
  }
  std::string_view value;
  for (uint64_t i = 0; i < names.size(); ++i) {
    ASSERT_TRUE(session_->Get(table_, std::to_string(i), &value));
    ASSERT_TRUE(session_->Get(table_, value, &value)) << names[i];
    EXPECT_EQ(value, RowValue(i, 300));
    Put("copy", value);
    EXPECT_EQ(Get("copy"), RowValue(i, 300));
  }
  std::vector<FoundRow> rows;
  const std::vector<std::string_view> numbers = {"0", "1", "2"};
  session_->MultiGet(table_, numbers, &rows);
  const std::vector<std::string_view> found = {rows[2].value, rows[0].value, rows[1].value};
  session_->MultiGet(table_, found, &rows);
  for (uint64_t i = 0; i < names.size(); ++i) {
    ASSERT_TRUE(rows[i].found);
    EXPECT_EQ(rows[i].value, RowValue((i + 2) % 3, 300));
  }
  ASSERT_TRUE(session_->Get(table_, "1", &value));
  session_->Erase(table_, value);
  EXPECT_EQ(Get(names[1]), kAbsent);
}

// The value of a Get may pin a page and a snapshot until the next call of the session. Here that is
// the one that makes the cursor.
TEST_P(RowRuleTest, ACursorSeesWhatOthersHaveCommittedSinceTheLastGet) {
  if (!info().capabilities.scans) GTEST_SKIP() << "it has no cursors";
  Open();
  Put("a", "1");
  const std::unique_ptr<Session> other = engine_->NewSession();
  for (const char* key : {"b", "c", "d"}) {
    std::string_view value;
    ASSERT_TRUE(session_->Get(table_, "a", &value));
    EXPECT_EQ(value, "1");
    other->Put(table_, key, "2");
    const std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
    ASSERT_TRUE(cursor->Seek(key)) << key;
    EXPECT_EQ(cursor->key(), key);
  }
}

TEST_P(RowTest, ReopeningKeepsEveryRow) {
  Open();
  constexpr uint64_t kRows = 3000;
  Load(kRows, 200);
  for (uint64_t row = 0; row < kRows; row += 3) session_->Erase(table_, RowKey(row));
  for (int pass = 0; pass < 3; ++pass) {
    Reopen();
    for (uint64_t row = 0; row < kRows; ++row) {
      ASSERT_EQ(Get(RowKey(row)), row % 3 == 0 ? kAbsent : RowValue(row, 200));
    }
    if (pass == 0) engine_->Flush();
    if (pass == 1) engine_->Settle();
  }
}

TEST_P(RowRuleTest, ATableThatThreadsOpenAtOnceHasOneNumber) {
  Open();
  for (int round = 0; round < 5; ++round) {
    const std::string name = "new" + std::to_string(round);
    std::vector<TableId> numbers(4);
    std::vector<std::thread> threads;
    for (TableId& number : numbers) {
      threads.emplace_back([&, to = &number] { *to = engine_->OpenTable(name); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::count(numbers.begin(), numbers.end(), numbers[0]), 4) << name;
  }
}

TEST_P(RowRuleTest, ManyTablesAreApart) {
  Open();
  constexpr int kTables = 16;
  std::vector<TableId> tables;
  for (int t = 0; t < kTables; ++t) tables.push_back(engine_->OpenTable("t" + std::to_string(t)));
  for (int t = 0; t < kTables; ++t) {
    for (int row = t; row < 100; ++row) {
      session_->Put(tables[t], RowKey(row), std::to_string(t * 1000 + row));
    }
  }
  for (int pass = 0; pass < 2; ++pass) {
    for (int t = 0; t < kTables; ++t) {
      EXPECT_EQ(engine_->OpenTable("t" + std::to_string(t)), tables[t]);
      for (int row = 0; row < 100; ++row) {
        ASSERT_EQ(Get(tables[t], RowKey(row)), row < t ? kAbsent : std::to_string(t * 1000 + row));
      }
    }
    EXPECT_EQ(Get(RowKey(50)), kAbsent);  // "default" stays empty
    Reopen();
    // The tables are opened in another order than the one in which they were created.
    for (int t = kTables - 1; t >= 0; --t) tables[t] = engine_->OpenTable("t" + std::to_string(t));
  }
}

TEST_P(RowRuleTest, ATableThatWasNotOpenedIsRefused) {
  Open();
  Put("k", "v");
  const std::string too_long(info().capabilities.max_key_size * 4, 'k');
  for (const TableId table : {table_ + 1, TableId{4096}, TableId{1} << 31, UINT32_MAX}) {
    std::string_view value;
    EXPECT_THROW(session_->Get(table, "k", &value), Error) << table;
    EXPECT_THROW(session_->Put(table, "k", "w"), Error) << table;
    EXPECT_THROW(session_->Erase(table, "k"), Error) << table;
    EXPECT_THROW(session_->Erase(table, too_long), Error) << table;
    EXPECT_THROW(session_->NewCursor(table)->First(), Error) << table;
  }
  session_->Begin();
  EXPECT_THROW(session_->Put(UINT32_MAX, "k", "w"), Error);
  Put("l", "v");
  session_->Commit();
  EXPECT_EQ(Rows(table_), (std::vector<std::string>{"k=v", "l=v"}));
}

TEST_P(RowRuleTest, ThreadsWithTwoSessionsEachDoNotDisturbOneAnother) {
  Open();
  constexpr int kThreads = 4, kRows = 300;
  const TableId other = engine_->OpenTable("other");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::unique_ptr<Session> a = engine_->NewSession();
      std::unique_ptr<Session> b = engine_->NewSession();
      std::string_view value;
      for (int i = 0; i < kRows; ++i) {
        // Neighbouring rows belong to different threads, so pages are shared.
        const uint64_t row = static_cast<uint64_t>(i) * kThreads + t;
        a->Put(table_, RowKey(row), RowValue(row, 100));
        ASSERT_TRUE(b->Get(table_, RowKey(row), &value)) << row;
        ASSERT_EQ(value, RowValue(row, 100));
        b->Begin();
        b->Put(other, RowKey(row), "first");
        b->Put(other, RowKey(row), RowValue(row, 50));
        b->Commit();
        if (i % 5 == 4) a->Erase(table_, RowKey(row - 4 * kThreads));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int pass = 0; pass < 2; ++pass) {
    for (uint64_t row = 0; row < kRows * kThreads; ++row) {
      const bool erased = row / kThreads % 5 == 0;
      ASSERT_EQ(Get(RowKey(row)), erased ? kAbsent : RowValue(row, 100));
      ASSERT_EQ(Get(other, RowKey(row)), RowValue(row, 50));
    }
    Close();
    Open();
    ASSERT_EQ(engine_->OpenTable("other"), other);
  }
}

TEST_P(RowTest, EveryDurabilityKeepsRowsOverACleanClose) {
  WithSmallLog();
  for (Durability durability : info().capabilities.durabilities) {
    options_.durability = durability;
    Open();
    const std::string name = DurabilityName(durability);
    for (int i = 0; i < 50; ++i) Put(name + std::to_string(i), RowValue(i, 300));
    // Without durability, a close alone does not promise that commits are kept; a checkpoint does.
    if (durability == Durability::kNone) engine_->Checkpoint();
    Close();
  }
  Open();
  for (Durability durability : info().capabilities.durabilities) {
    const std::string name = DurabilityName(durability);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(Get(name + std::to_string(i)), RowValue(i, 300));
  }
}

TEST_P(RowTest, SaysWhatIsInForceAndHowBigItIs) {
  Open();
  Load(2000, 500);
  engine_->Settle();
  EXPECT_EQ(engine_->name(), GetParam().engine);
  EXPECT_FALSE(engine_->EffectiveSettings().empty());
  EXPECT_FALSE(info().version.empty());
  // The files must be large enough for a million bytes of values that do not compress.
  EXPECT_GT(engine_->SizeOnDisk().total(), 900'000u);
  // The size that the engine reports must be that of its files, wherever it keeps them.
  uint64_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_)) {
    struct stat status = {};
    if (!entry.is_regular_file() || ::stat(entry.path().c_str(), &status) != 0) continue;
    files += std::min<uint64_t>(status.st_size, status.st_blocks * 512);
  }
  const DiskSize size = engine_->SizeOnDisk();
  EXPECT_NEAR(static_cast<double>(size.total() + size.preallocated_bytes),
              static_cast<double>(files), 256e3);
}

TESTBED_FOR_EVERY_ENGINE(RowTest);
TESTBED_FOR_EVERY_ENGINE(RowRuleTest);

}  // namespace
}  // namespace testbed
