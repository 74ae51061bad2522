// Tests the engine "log": every transaction is in its log as one complete record, exactly once.
#include "engines/log/log_engine.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "device/file/file_faults.h"
#include "engines/extra_options.h"
#include "engines/log_settings.h"
#include "engines/registry.h"
#include "tests/own_counter.h"
#include "tests/unit/device/log/log_test_util.h"
#include "tests/unit/engines/failing_new.h"

namespace testbed {
namespace {

using testing::ElementsAre;

class LogEngineTest : public LogTestDirectory {
 protected:
  std::unique_ptr<Engine> Open() { return OpenEngine("log", directory_, options_); }

  // Returns each record of the log as text: "table:key=value" for a row that was put, and
  // "table:key-" for an erased row, joined by blanks.
  std::vector<std::string> Transactions() {
    std::vector<std::string> transactions;
    for (const std::string& record : ReadLog(append_log::LogDirectory(directory_)).records) {
      std::string_view rest = record;
      std::string text;
      append_log::Row row;
      while (append_log::NextRow(&rest, &row)) {
        if (!text.empty()) text += ' ';
        text += std::to_string(row.table) + ":" + std::string(row.key) +
                (row.erase ? "-" : "=" + std::string(row.value));
      }
      transactions.push_back(text);
    }
    return transactions;
  }
  uint64_t Counter(const Engine& engine, const std::string& name) {
    return OwnCounter(engine.Counters(), name);
  }

  EngineOptions options_;
};

TEST_F(LogEngineTest, ATransactionIsOneRecordAndARolledBackOneIsNone) {
  options_.durability = Durability::kSync;
  auto engine = Open();
  const TableId main = engine->OpenTable("default");
  const TableId index = engine->OpenTable("index1");
  EXPECT_NE(main, index);
  auto session = engine->NewSession();
  session->Put(main, "a", "1");
  session->Begin();
  session->Put(main, "b", "2");
  session->Put(index, "2b", "");
  session->Erase(main, "a");
  session->Commit();
  session->Begin();
  session->Put(main, "never", "x");
  session->Rollback();
  session->Begin();
  session->Commit();
  // The records must be durable although the engine is still open.
  EXPECT_THAT(Transactions(), ElementsAre("0:a=1", "0:b=2 1:2b= 0:a-"));
  EXPECT_EQ(Counter(*engine, "log_syncs"), 3u);  // for the log's first frame and two commits
}

// A row may find no memory for its header, its key or its value.
TEST_F(LogEngineTest, ATransactionInWhichAWriteHasFailedIsNoRecord) {
  const std::string key(100, 'k'), value(3000, 'v');
  int failures = 0;
  {
    auto engine = Open();
    const TableId table = engine->OpenTable("default");
    for (int64_t allocations = 0; allocations < 4; ++allocations) {
      auto session = engine->NewSession();
      session->Begin();
      bool threw = false;
      FailingNew::Set(allocations);
      try {
        session->Put(table, "a", "1");
        session->Put(table, key, value);
      } catch (const std::exception&) {
        threw = true;
      }
      FailingNew::Clear();
      failures += threw;
      if (threw) {
        EXPECT_THROW(session->Put(table, "b", "2"), Error);
        EXPECT_THROW(session->Commit(), Error);
        session->Begin();
      }
      session->Rollback();
    }
    engine->NewSession()->Put(table, "c", "3");
  }
  EXPECT_GT(failures, 1);
  EXPECT_THAT(Transactions(), ElementsAre("0:c=3"));
}

// The rows that fit make the record of the transaction.
TEST_F(LogEngineTest, ARowThatIsTooLongIsRefusedAndItsTransactionGoesOn) {
  options_.extra = {{"log_segment", "1M"}};
  const std::string key(64 << 10, 'k'), value(512 << 10, 'v');
  {
    auto engine = Open();
    auto session = engine->NewSession();
    EXPECT_THROW(session->Put(0, "outside", value + "v"), Error);
    session->Begin();
    session->Put(0, "a", "1");
    EXPECT_THROW(session->Put(0, "b", value + "v"), Error);
    EXPECT_THROW(session->Put(0, key + "k", "3"), Error);
    session->Erase(0, key + "k");
    session->Put(0, key, value);
    EXPECT_THROW(session->Put(0, "d", value), Error);  // a segment has no room for both values
    session->Put(0, "e", "5");
    session->Commit();
  }
  EXPECT_THAT(Transactions(), ElementsAre("0:a=1 0:" + key + "=" + value + " 0:e=5"));
}

TEST_F(LogEngineTest, ReopeningGoesOnWithTheSameTables) {
  for (int pass = 0; pass < 2; ++pass) {
    auto engine = Open();
    const TableId other = engine->OpenTable(pass == 0 ? "index2" : "index1");
    EXPECT_EQ(other, pass == 0 ? 1u : 2u);
    EXPECT_EQ(engine->OpenTable("index2"), 1u);
    EXPECT_EQ(engine->OpenTable("default"), 0u);
    auto session = engine->NewSession();
    session->Put(other, "k" + std::to_string(pass), "v");
    session.reset();
  }
  EXPECT_THAT(Transactions(), ElementsAre("1:k0=v", "2:k1=v"));
}

TEST_F(LogEngineTest, TakesNoRowOfATableThatWasNotOpened) {
  {
    auto engine = Open();
    auto session = engine->NewSession();
    EXPECT_THROW(session->Put(1, "k", "v"), Error);
    EXPECT_THROW(session->Put(UINT32_MAX, "k", "v"), Error);  // has the bit of an erase
    EXPECT_THROW(session->Erase(4096, "k"), Error);
    session->Put(engine->OpenTable("index1"), "k", "v");
  }
  EXPECT_THAT(Transactions(), ElementsAre("1:k=v"));
}

TEST_F(LogEngineTest, DurabilityDecidesWhoSyncs) {
  constexpr uint32_t kNeverMs = 3'600'000;
  for (Durability durability : {Durability::kSync, Durability::kLazy, Durability::kNone}) {
    std::filesystem::remove_all(append_log::LogDirectory(directory_));
    options_.durability = durability;
    options_.lazy_interval_ms = kNeverMs;
    auto engine = Open();
    auto session = engine->NewSession();
    const uint64_t before = Counter(*engine, "log_syncs");
    for (int i = 0; i < 20; ++i) session->Put(0, "key", std::string(100, 'v'));
    const uint64_t syncs = Counter(*engine, "log_syncs") - before;
    EXPECT_EQ(syncs, durability == Durability::kSync ? 20u : 0u) << DurabilityName(durability);
    engine->Checkpoint();
    EXPECT_EQ(Transactions().size(), 20u) << DurabilityName(durability);
  }
  options_.durability = Durability::kLazy;
  options_.lazy_interval_ms = 20;
  auto engine = Open();
  const uint64_t before = Counter(*engine, "log_syncs");
  engine->NewSession()->Put(0, "key", "v");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (Counter(*engine, "log_syncs") == before && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(Counter(*engine, "log_syncs"), before) << "the log's thread syncs";
}

// docs/workloads.md says that this row makes a record of 300 bytes, framing included.
TEST_F(LogEngineTest, FramingIsWhatTheDocumentationSays) {
  options_.durability = Durability::kSync;
  options_.extra = {{"log_pad", "off"}};
  auto engine = Open();
  auto session = engine->NewSession();
  const EngineCounters before = engine->Counters();
  session->Put(0, std::string(16, 'k'), std::string(228, 'v'));
  EXPECT_EQ(*engine->Counters().log_written_bytes - *before.log_written_bytes, 300u);
  EXPECT_EQ(*engine->Counters().log_payload_bytes - *before.log_payload_bytes,
            16u + 228 + append_log::kRowHeaderBytes);
}

TEST_F(LogEngineTest, KeepsWhatItWasToldToAndUsesTheSegmentsAgain) {
  options_.durability = Durability::kSync;
  for (const std::string space : {"recycled", "growing"}) {
    std::filesystem::remove_all(append_log::LogDirectory(directory_));
    options_.extra = {{"log_space", space}, {"log_segment", "1M"}, {"log_keep", "2M"}};
    auto engine = Open();
    auto session = engine->NewSession();
    const uint64_t created = Counter(*engine, "log_segments_created");
    const std::string value(50000, 'v');
    for (int i = 0; i < 200; ++i) session->Put(0, std::to_string(i), value);
    engine->Checkpoint();
    EXPECT_LE(engine->SizeOnDisk().total(), 7u << 20);
    const std::vector<std::string> kept = Transactions();
    EXPECT_GE(kept.size(), (2u << 20) / 51000);
    EXPECT_LT(kept.size(), 110u);
    EXPECT_EQ(kept.back(), "0:199=" + value);
    if (space == "recycled") {
      EXPECT_GT(Counter(*engine, "log_segments_recycled"), 4u);
      EXPECT_EQ(Counter(*engine, "log_segments_created"), created);
    } else {
      EXPECT_GT(Counter(*engine, "log_segments_removed"), 4u);
    }
  }
}

TEST(TruncationPointTest, IsKeepBytesBeforeARecordThatIsFarFromTheLogsBegin) {
  constexpr uint64_t kKeep = 2000, kSegment = 1000;
  EXPECT_EQ(append_log::TruncationPoint(0, 5001, kKeep, kSegment), Lsn{3001});
  EXPECT_EQ(append_log::TruncationPoint(0, 5001, 0, kSegment), Lsn{5001});
  EXPECT_FALSE(append_log::TruncationPoint(0, 4000, kKeep, kSegment).has_value());
  EXPECT_EQ(append_log::TruncationPoint(0, 4001, kKeep, kSegment), Lsn{2001});
  EXPECT_EQ(append_log::TruncationPoint(1000, 5001, kKeep, kSegment), Lsn{3001});
  EXPECT_FALSE(append_log::TruncationPoint(1000, 5000, kKeep, kSegment).has_value());
  EXPECT_FALSE(append_log::TruncationPoint(3000, 5001, kKeep, kSegment).has_value());
}

// A thread that waited for long finds that others have truncated the log behind its record. The
// differences wrapped, so that the thread truncated the log up to its newest segment.
TEST(TruncationPointTest, IsNothingForARecordBeforeTheLogsBegin) {
  constexpr uint64_t kKeep = 2000, kSegment = 1000;
  for (const Lsn end : {Lsn{100}, Lsn{2500}, Lsn{8000}}) {
    EXPECT_FALSE(append_log::TruncationPoint(8000, end, kKeep, kSegment).has_value()) << end;
  }
}

TEST_F(LogEngineTest, ReadingIsRefusedInOneSentence) {
  auto engine = Open();
  auto session = engine->NewSession();
  std::string_view value;
  for (const auto& read : std::vector<std::function<void()>>{[&] { session->Get(0, "k", &value); },
                                                             [&] { session->NewCursor(0); }}) {
    try {
      read();
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      EXPECT_THAT(e.what(), testing::HasSubstr("only appends"));
    }
  }
  EXPECT_FALSE(FindEngine("log").capabilities.reads);
}

TEST_F(LogEngineTest, OptionsThatCannotBeLeaveNothing) {
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"log_write_size", "1000"}, {"log_space", "elastic"}, {"log_sync", "no"}}) {
    options_.extra = {{name, value}};
    try {
      Open();
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage) << e.what();
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory_)) << name;
  }
}

TEST_F(LogEngineTest, DurableWritesAreRefusedWithoutDurability) {
  options_.extra = {{"log_sync", "dsync"}};
  options_.durability = Durability::kNone;
  try {
    Open();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_THAT(e.what(), testing::HasSubstr("log_sync=dsync with --durability none"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  for (const Durability durability : {Durability::kLazy, Durability::kSync}) {
    options_.durability = durability;
    EXPECT_THAT(Open()->EffectiveSettings(), testing::Contains(testing::Pair("log_sync", "dsync")));
  }
}

// The same rule is in force for the logs of btree and fractal.
TEST_F(LogEngineTest, WhatHasNoEffectIsOff) {
  const auto log = [](const std::string& space, const std::string& io) {
    EngineOptions options;
    options.durability = Durability::kSync;
    options.extra = {
        {"log_space", space}, {"log_io", io}, {"log_prewrite", "on"}, {"log_uncached", "on"}};
    return LogOptionsOf(options, ExtraOptions("log", options.extra));
  };
  EXPECT_TRUE(log("recycled", "buffered").prewrite);
  EXPECT_TRUE(log("recycled", "buffered").uncached);
  EXPECT_FALSE(log("growing", "buffered").prewrite);
  EXPECT_FALSE(log("growing", "buffered").uncached);
  EXPECT_TRUE(log("recycled", "direct").prewrite);
  EXPECT_FALSE(log("recycled", "direct").uncached);
}

TEST_F(LogEngineTest, ItsBufferNeedsNoCache) {
  EXPECT_FALSE(FindEngine("log").capabilities.cache);
  EngineOptions options = DefaultEngineOptions(FindEngine("log"));
  const ExtraOptions none("log", options.extra);
  EXPECT_EQ(LogOptionsOf(options, none).buffer_bytes, 1u << 20);
  options.ram_bytes = 1 << 30;
  EXPECT_EQ(LogOptionsOf(options, none).buffer_bytes, 4u << 20);
}

TEST_F(LogEngineTest, WhatIsMissingIsNotNew) {
  options_.durability = Durability::kSync;
  Open()->NewSession()->Put(0, "key", "value");
  const std::string log = append_log::LogDirectory(directory_), tables = log + "/tables";
  const auto expect_refused = [&](const std::string& named) {
    for (const bool create : {true, false}) {
      options_.create = create;
      try {
        Open();
        ADD_FAILURE() << "no error";
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), Error::kCorruption) << e.what();
        EXPECT_THAT(e.what(), testing::HasSubstr(named));
      }
    }
    options_.create = true;
  };
  std::filesystem::rename(tables, directory_ + "/away");
  expect_refused(tables);
  std::filesystem::rename(directory_ + "/away", tables);
  EXPECT_THAT(Transactions(), ElementsAre("0:key=value"));
  std::filesystem::create_directory(directory_ + "/segments");
  for (const std::string& path : LogSegmentPaths(log)) {
    std::filesystem::rename(
        path, directory_ + "/segments/" + std::filesystem::path(path).filename().string());
  }
  expect_refused("the log in " + log);
  EXPECT_TRUE(LogSegmentPaths(log).empty());
}

// The creation was killed before it had made the file with the names of tables.
TEST_F(LogEngineTest, AnUnfinishedCreationIsMadeAnew) {
  Open();
  std::filesystem::remove(append_log::LogDirectory(directory_) + "/tables");
  options_.create = false;
  EXPECT_THROW(Open(), Error);
  options_.create = true;
  EXPECT_EQ(Open()->OpenTable("a"), 1u);
  std::filesystem::remove_all(append_log::LogDirectory(directory_));
  std::filesystem::create_directory(append_log::LogDirectory(directory_));
  EXPECT_EQ(Open()->OpenTable("b"), 1u);
}

// While a database is made, somebody exchanges its directory for that of another one. The creation
// fails, and must not remove the other one's files, which have the names of its own.
TEST_F(LogEngineTest, AFailedCreationLeavesADatabaseThatTookItsPlace) {
  options_.durability = Durability::kSync;
  // Making 200 segments takes seconds, and the exchange comes when the second one is there.
  options_.extra = {{"log_segment", "1M"}, {"log_keep", "200M"}};
  const std::string log = append_log::LogDirectory(directory_), theirs = Fresh("theirs");
  const std::vector<std::string> names = {"tables", "log-000001", "log-000002", "log-000003",
                                          "log-000004"};
  for (const std::string& name : names) Spill(theirs + "/" + name, "theirs");
  std::atomic<bool> ended{false};
  int exchanged = -1;
  std::thread other([&] {
    while (!ended && !std::filesystem::exists(LogSegmentPath(log, 2))) std::this_thread::yield();
    exchanged = ::renameat2(AT_FDCWD, log.c_str(), AT_FDCWD, theirs.c_str(), RENAME_EXCHANGE);
  });
  std::string error;
  try {
    Open();
  } catch (const Error& e) {
    error = e.what();
  }
  ended = true;
  other.join();
  if (exchanged != 0) GTEST_SKIP() << "the file system exchanges no directories";
  EXPECT_THAT(error, testing::HasSubstr("was moved, removed or replaced"));
  for (const std::string& name : names) EXPECT_EQ(Slurp(log + "/" + name), "theirs") << name;
}

TEST_F(LogEngineTest, AnOpenThatMayNotCreateRemovesNothing) {
  Open();
  const std::string log = append_log::LogDirectory(directory_);
  std::filesystem::remove(log + "/tables");
  const std::vector<std::string> segments = LogSegmentPaths(log);
  ASSERT_FALSE(segments.empty());
  options_.create = false;
  EXPECT_THROW(Open(), Error);
  EXPECT_EQ(LogSegmentPaths(log), segments);
}

TEST_F(LogEngineTest, OneProcessAtATime) {
  const auto engine = Open();
  try {
    Open();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage) << e.what();
  }
}

TEST_F(LogEngineTest, NamesOfTablesAreAsTheyWereWritten) {
  const std::string tables = append_log::LogDirectory(directory_) + "/tables";
  const auto read = [&] {
    std::ostringstream text;
    text << std::ifstream(tables).rdbuf();
    return text.str();
  };
  {
    const auto engine = Open();
    EXPECT_EQ(engine->OpenTable("a"), 1u);
    EXPECT_EQ(engine->OpenTable("b"), 2u);
    std::ofstream(tables + ".new") << "what a crash has left";
    EXPECT_EQ(engine->OpenTable("c"), 3u);
    std::ofstream(tables + ".new") << "what a crash has left";
  }
  EXPECT_EQ(Open()->OpenTable("c"), 3u);
  const std::string right = read();
  const auto expect_refused = [&](const std::string& text) {
    std::ofstream(tables) << text;
    try {
      Open();
      ADD_FAILURE() << "no error for " << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kCorruption) << e.what();
    }
    EXPECT_EQ(read(), text);
  };
  for (size_t i = 0; i < right.size(); ++i) {
    expect_refused(right.substr(0, i));
    std::string flipped = right;
    flipped[i] ^= 1;
    expect_refused(flipped);
  }
  expect_refused(right + "d\n");
  std::filesystem::remove_all(append_log::LogDirectory(directory_));
  Open();
  const std::string empty = read();
  expect_refused(right);  // another log's
  std::ofstream(tables) << empty;
  EXPECT_EQ(Open()->OpenTable("c"), 1u);
}

// The first failed write of a name may have left part of it.
TEST_F(LogEngineTest, NoTableAfterAFailedSync) {
  const auto engine = Open();
  FileFaults::Set(1, 2, EIO);  // the sync
  EXPECT_THROW(engine->OpenTable("a"), Error);
  EXPECT_EQ(FileFaults::Clear(), 2u);
  EXPECT_THROW(engine->OpenTable("a"), Error);
  EXPECT_EQ(engine->OpenTable("default"), 0u);
}

TEST_F(LogEngineTest, ManyThreadsLoseNothing) {
  options_.durability = Durability::kSync;
  auto engine = Open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto session = engine->NewSession();
      for (int i = 0; i < 50; ++i) {
        session->Begin();
        session->Put(0, std::to_string(t), std::to_string(i));
        session->Put(0, std::to_string(t), std::to_string(-i));
        session->Commit();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::string, int> next;
  const std::vector<std::string> all = Transactions();
  EXPECT_EQ(all.size(), 200u);
  for (const std::string& t : all) {
    const std::string thread = t.substr(2, 1);
    const std::string i = std::to_string(next[thread]++);
    EXPECT_EQ(t, "0:" + thread + "=" + i + " 0:" + thread + "=" + (i == "0" ? "0" : "-" + i));
  }
}

TEST(LogRowTest, WhatIsNoRowIsDamage) {
  std::string_view record = "0123456";
  append_log::Row row;
  EXPECT_THROW(append_log::NextRow(&record, &row), Error);
  const std::string longer(12, '\x7f');  // the header states more bytes than the record has
  record = longer;
  EXPECT_THROW(append_log::NextRow(&record, &row), Error);
}

}  // namespace
}  // namespace testbed
