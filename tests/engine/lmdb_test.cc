// Tests what is special to LMDB: a single writer, values that are views into the mapping and what
// such views keep from being reused, a full map, durability by flags, and an account without the
// file level. The conformance suite tests its behaviour as an engine.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/account/kernel_account.h"
#include "device/account/ledger.h"
#include "device/error.h"
#include "device/machine/scratch.h"
#include "engines/registry.h"
#include "tests/at_rest.h"
#include "tests/contents.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/setting_in_force.h"
#include "tests/own_counter.h"

#ifdef TESTBED_HAVE_LMDB

namespace testbed {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class LmdbTest : public testing::Test {
 protected:
  LmdbTest() : options_(DefaultEngineOptions(FindEngine("lmdb"))) {
    std::string pattern = fs::current_path() / "lmdb_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.durability = Durability::kNone;
  }
  ~LmdbTest() override {
    Close();
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }

  void Open() { OpenAt(dir_); }
  void OpenAt(const std::string& dir) {
    Close();
    engine_ = OpenEngine("lmdb", dir, options_);
    table_ = engine_->OpenTable("t");
    session_ = engine_->NewSession();
  }
  void Close() {
    session_.reset();
    engine_.reset();
  }
  void Put(uint64_t row, size_t size) { session_->Put(table_, RowKey(row), RowValue(row, size)); }
  std::string GetBy(Session* session, std::string_view key) {
    std::string_view value;
    return session->Get(table_, key, &value) ? std::string(value) : "(absent)";
  }
  std::string Setting(const std::string& name) const { return SettingInForce(*engine_, name); }
  uint64_t Now(const std::string& name) const { return OwnCounter(engine_->Counters(), name); }
  // Replaces the same rows again and again, which frees pages. Returns by how many pages the file
  // grew.
  uint64_t GrowthByReplacing(int rounds) {
    auto writer = engine_->NewSession();
    const uint64_t before = Now("file_pages");
    for (int round = 0; round < rounds; ++round) {
      for (uint64_t row = 0; row < 20; ++row) {
        writer->Put(table_, RowKey(row), RowValue(row + round, 1000));
      }
    }
    return Now("file_pages") - before;
  }

  std::string dir_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  TableId table_ = 0;
};

struct Mapping {
  uintptr_t begin = 0, end = 0;
  std::string flags;  // VmFlags
};

Mapping MappingOf(const std::string& file) {
  Mapping mapping;
  std::ifstream smaps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') < line.find(' ')) {
      here = line.ends_with(file);
      if (!here) continue;
      char* rest = nullptr;
      mapping.begin = std::strtoull(line.c_str(), &rest, 16);
      mapping.end = std::strtoull(rest + 1, nullptr, 16);
    } else if (here && line.starts_with("VmFlags:")) {
      mapping.flags = line + " ";
    }
  }
  return mapping;
}

// A link that leads to itself cannot be examined, so the file must not be taken for a new one,
// which would be removed when it cannot be opened.
TEST_F(LmdbTest, AFileThatCannotBeExaminedIsNotNew) {
  for (const auto& [engine, name] : {std::pair("lmdb", "data.mdb"), {"mdbx", "mdbx.dat"}}) {
    const auto is = [&e = engine](const EngineInfo& info) { return info.name == e; };
    if (std::none_of(Engines().begin(), Engines().end(), is)) continue;
    const std::string dir = dir_ + "/" + engine, file = dir + "/" + name;
    fs::create_directory(dir);
    fs::create_symlink(name, file);
    EngineOptions options = DefaultEngineOptions(FindEngine(engine));
    ErrorOf(Error::kIo, [&, &e = engine] { OpenEngine(e, dir, options); });
    EXPECT_TRUE(fs::is_symlink(file)) << file;
  }
}

TEST_F(LmdbTest, AFullMapIsOneSentenceAndLosesNothing) {
  options_.extra["map_size"] = "2M";
  Open();
  uint64_t rows = 0;
  const std::string sentence = ErrorOf(Error::kRun, [&] {
    for (; rows < 10000; ++rows) Put(rows, 1000);
  });
  EXPECT_NE(sentence.find("map_size"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("2097152"), std::string::npos) << sentence;
  EXPECT_GT(rows, 500u);
  EXPECT_EQ(GetBy(session_.get(), RowKey(rows - 1)), RowValue(rows - 1, 1000));
  // A transaction that meets a full map must be rolled back, and leave the session usable.
  session_->Begin();
  ErrorOf(Error::kRun, [&] {
    for (uint64_t i = 0; i < 10000; ++i) Put(rows + i, 1000);
  });
  ErrorOf(Error::kRun, [&] { Put(0, 10); });
  session_->Rollback();
  EXPECT_EQ(GetBy(session_.get(), RowKey(0)), RowValue(0, 1000));
  options_.extra["map_size"] = "64M";
  Open();
  EXPECT_EQ(Setting("map_size"), std::to_string(64 * kMiB));
  for (uint64_t row = 0; row < rows; ++row) {
    ASSERT_EQ(GetBy(session_.get(), RowKey(row)), RowValue(row, 1000));
  }
  Put(rows, 1000);
  EXPECT_EQ(GetBy(session_.get(), RowKey(rows)), RowValue(rows, 1000));
}

TEST_F(LmdbTest, AFileThatIsNotOursIsLeftAsItIs) {
  const std::string text(20000, 'x');
  std::ofstream(dir_ + "/data.mdb") << text;
  const std::string sentence = ErrorOf(Error::kCorruption, [&] { Open(); });
  EXPECT_NE(sentence.find(dir_), std::string::npos) << sentence;
  EXPECT_EQ(ContentOf(dir_ + "/data.mdb"), text);
  EXPECT_FALSE(fs::exists(dir_ + "/lock.mdb")) << "left by an open that failed";
}

TEST_F(LmdbTest, NothingIsLeftOfADatabaseThatDoesNotFitIntoTheAddresses) {
  std::vector<std::unique_ptr<Engine>> engines;
  options_.extra["map_size"] = "32T";
  std::string inner;
  const std::string sentence = ErrorOf(Error::kUsage, [&] {
    for (int i = 0; i < 10; ++i) {
      inner = dir_ + "/" + std::to_string(i);
      engines.push_back(OpenEngine("lmdb", inner, options_));
    }
  });
  EXPECT_NE(sentence.find("map_size"), std::string::npos) << sentence;
  EXPECT_FALSE(fs::exists(inner)) << "nor of its directory, which the call made";
}

TEST_F(LmdbTest, WritemapCanBeTurnedOnAndOff) {
  options_.extra["map_size"] = "256M";
  for (uint64_t round = 0; round < 4; ++round) {
    options_.extra["writemap"] = round % 2 == 0 ? "on" : "off";
    options_.durability = round < 2 ? Durability::kSync : Durability::kLazy;
    Open();
    EXPECT_EQ(Setting("flags").find("MDB_WRITEMAP") != std::string::npos, round % 2 == 0);
    for (uint64_t row = 0; row < round * 100; ++row) {
      ASSERT_EQ(GetBy(session_.get(), RowKey(row)), RowValue(row, 300)) << round;
    }
    for (uint64_t row = round * 100; row < round * 100 + 100; ++row) Put(row, 300);
    session_->Begin();
    Put(5000, 100);
    session_->Rollback();
    EXPECT_EQ(GetBy(session_.get(), RowKey(5000)), "(absent)");
    EXPECT_EQ(fs::file_size(dir_ + "/data.mdb"), 256 * kMiB);  // since the first round
    EXPECT_LT(engine_->SizeOnDisk().total(), 2 * kMiB);
  }
}

TEST_F(LmdbTest, AdviceIsThatOfTheMapping) {
  for (Advice advice : {Advice::kNormal, Advice::kRandom}) {
    options_.mmap_advice = advice;
    Open();
    const bool random = MappingOf(dir_ + "/data.mdb").flags.find(" rr ") != std::string::npos;
    EXPECT_EQ(random, advice == Advice::kRandom);
    EXPECT_EQ(Setting("advice"), AdviceName(advice));
    EXPECT_EQ(Setting("flags").find("MDB_NORDAHEAD") != std::string::npos, random);
  }
}

// The value is not copied, and must still not change before the session's next call.
TEST_F(LmdbTest, AValueIsAViewIntoTheMappingThatStays) {
  Open();
  for (uint64_t row = 0; row < 20; ++row) Put(row, 1000);
  std::string_view value;
  ASSERT_TRUE(session_->Get(table_, RowKey(7), &value));
  const auto cursor_session = engine_->NewSession();
  const auto cursor = cursor_session->NewCursor(table_);
  ASSERT_TRUE(cursor->Seek(RowKey(8)));
  const Mapping mapping = MappingOf(dir_ + "/data.mdb");
  for (std::string_view view : {value, cursor->value(), cursor->key()}) {
    const auto at = reinterpret_cast<uintptr_t>(view.data());
    EXPECT_GE(at, mapping.begin);
    EXPECT_LE(at + view.size(), mapping.end);
  }
  GrowthByReplacing(50);
  EXPECT_EQ(value, RowValue(7, 1000));
  EXPECT_EQ(cursor->value(), RowValue(8, 1000));
  // The next row is of the same commit, a new look of the newest.
  ASSERT_TRUE(cursor->Next());
  EXPECT_EQ(cursor->value(), RowValue(9, 1000));
  ASSERT_TRUE(cursor->Seek(RowKey(9)));
  EXPECT_EQ(cursor->value(), RowValue(9 + 49, 1000));
  EXPECT_EQ(GetBy(session_.get(), RowKey(7)), RowValue(7 + 49, 1000));
}

TEST_F(LmdbTest, IdleSessionsHoldBackOnlyWhatMayStillBeLookedAt) {
  Open();
  for (uint64_t row = 0; row < 20; ++row) Put(row, 1000);
  GrowthByReplacing(20);  // now there are enough free pages
  ASSERT_EQ(GrowthByReplacing(20), 0u);
  std::string_view value;

  ASSERT_TRUE(session_->Get(table_, RowKey(1), &value));
  EXPECT_GT(GrowthByReplacing(20), 100u) << "a view is held";
  EXPECT_FALSE(session_->Get(table_, "no such row", &value));
  EXPECT_EQ(GrowthByReplacing(20), 0u) << "after a miss";

  ASSERT_TRUE(session_->Get(table_, RowKey(1), &value));
  session_->Begin();
  EXPECT_EQ(GrowthByReplacing(20), 0u) << "in a transaction that has not read";
  ASSERT_TRUE(session_->Get(table_, RowKey(1), &value));
  session_->Commit();
  EXPECT_EQ(GrowthByReplacing(20), 0u) << "after a transaction";

  ASSERT_TRUE(session_->Get(table_, RowKey(1), &value));
  Put(30, 10);
  EXPECT_EQ(GrowthByReplacing(20), 0u) << "after a write";

  auto cursor = session_->NewCursor(table_);
  ASSERT_TRUE(cursor->First());
  EXPECT_GT(GrowthByReplacing(20), 0u) << "a cursor stands on a row";
  ASSERT_TRUE(cursor->Last());
  ASSERT_FALSE(cursor->Next());
  EXPECT_EQ(GrowthByReplacing(20), 0u) << "it walked off";
  ASSERT_TRUE(cursor->First());
  Put(31, 10);
  EXPECT_EQ(GrowthByReplacing(20), 0u) << "its session wrote";
  ASSERT_TRUE(cursor->First());
  cursor.reset();
  EXPECT_EQ(GrowthByReplacing(20), 0u) << "it is gone";
}

// A key or value that was just read may be passed to a write at once, even when the write moves it.
TEST_F(LmdbTest, WhatWasReadCanBeWrittenBack) {
  Open();
  constexpr uint64_t kRows = 60;
  for (uint64_t row = 0; row < kRows; ++row) Put(row, 40);
  session_->Begin();
  Put(kRows, 40);  // the page is a copy of this transaction now
  const auto cursor = session_->NewCursor(table_);
  for (uint64_t row = 0; row < kRows; row += 2) {
    ASSERT_TRUE(cursor->Seek(RowKey(row)));
    session_->Put(table_, cursor->key(), RowValue(row, 41 + row % 7));
    ASSERT_TRUE(cursor->Seek(RowKey(row + 1)));
    session_->Put(table_, "copy of " + RowKey(row + 1), cursor->value());
    std::string_view value;
    ASSERT_TRUE(session_->Get(table_, RowKey(row), &value));
    session_->Put(table_, "a" + RowKey(row), value);
  }
  session_->Commit();
  for (uint64_t row = 0; row < kRows; row += 2) {
    ASSERT_EQ(GetBy(session_.get(), RowKey(row)), RowValue(row, 41 + row % 7));
    ASSERT_EQ(GetBy(session_.get(), "a" + RowKey(row)), RowValue(row, 41 + row % 7));
    ASSERT_EQ(GetBy(session_.get(), "copy of " + RowKey(row + 1)), RowValue(row + 1, 40));
  }
}

TEST_F(LmdbTest, ASecondWriterOfOneThreadIsRefusedAndDoesNotWaitForItself) {
  Open();
  Put(1, 10);
  const auto other = engine_->NewSession();
  session_->Begin();
  Put(1, 20);
  for (int i = 0; i < 2; ++i) {
    const std::string sentence = ErrorOf(Error::kRun, [&] { other->Put(table_, RowKey(2), "x"); });
    EXPECT_NE(sentence.find("one writer"), std::string::npos) << sentence;
    other->Begin();
    ErrorOf(Error::kRun, [&] { other->Erase(table_, RowKey(1)); });
    other->Rollback();
  }
  ErrorOf(Error::kRun, [&] { engine_->OpenTable("new"); });
  EXPECT_EQ(GetBy(other.get(), RowKey(1)), RowValue(1, 10));
  session_->Commit();
  other->Put(table_, RowKey(2), "x");
  EXPECT_EQ(GetBy(session_.get(), RowKey(1)), RowValue(1, 20));
  EXPECT_EQ(GetBy(session_.get(), RowKey(2)), "x");
}

TEST_F(LmdbTest, ATransactionEndsOnTheThreadThatBeganToWrite) {
  Open();
  session_->Begin();
  Put(1, 10);
  EXPECT_FALSE(session_->HeldByOtherThread());
  std::thread([&] {
    ErrorOf(Error::kRun, [&] { session_->Commit(); });
    ErrorOf(Error::kRun, [&] { session_->Rollback(); });
    ErrorOf(Error::kRun, [&] { Put(2, 10); });
    EXPECT_TRUE(session_->HeldByOtherThread());
  }).join();
  session_->Commit();
  std::thread([&] { EXPECT_FALSE(session_->HeldByOtherThread()); }).join();
  EXPECT_EQ(GetBy(session_.get(), RowKey(1)), RowValue(1, 10));
  EXPECT_EQ(GetBy(session_.get(), RowKey(2)), "(absent)");
}

// From its first write on, a transaction is the only writer, so later writes can rely on what it
// reads.
TEST_F(LmdbTest, TransactionsThatBeginWithAWriteAreSerial) {
  Open();
  constexpr int kThreads = 4, kRounds = 200;
  session_->Put(table_, "sum", "0");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto session = engine_->NewSession();
      for (int i = 0; i < kRounds; ++i) {
        session->Begin();
        session->Put(table_, RowKey(t), "mine");
        const int sum = std::stoi(GetBy(session.get(), "sum"));
        session->Put(table_, "sum", std::to_string(sum + 1));
        session->Commit();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(GetBy(session_.get(), "sum"), std::to_string(kThreads * kRounds));
}

TEST_F(LmdbTest, MoreTablesAndReadersThanAskedForAreErrorsThatNameTheOption) {
  options_.extra["max_tables"] = "3";
  options_.extra["max_readers"] = "4";
  Open();
  Put(1, 10);
  engine_->OpenTable("u");
  engine_->OpenTable("v");
  EXPECT_NE(ErrorOf(Error::kUsage, [&] { engine_->OpenTable("w"); }).find("max_tables"),
            std::string::npos);
  engine_->Counters();  // reads by a snapshot that is not one of the four
  std::vector<std::unique_ptr<Session>> sessions;
  const std::string sentence = ErrorOf(Error::kUsage, [&] {
    for (int i = 0; i < 10; ++i) {
      sessions.push_back(engine_->NewSession());
      GetBy(sessions.back().get(), RowKey(1));
    }
  });
  EXPECT_EQ(sessions.size(), 5u);
  EXPECT_NE(sentence.find("max_readers"), std::string::npos) << sentence;
  sessions.clear();
  EXPECT_EQ(GetBy(engine_->NewSession().get(), RowKey(1)), RowValue(1, 10));
}

// --threads takes up to this many clients.
TEST_F(LmdbTest, AThousandClientsReadByGetAndByCursorsAtOnce) {
  Open();
  Put(1, 10);
  // The clients' slots are a hole of the lock file until they are used.
  EXPECT_LT(engine_->SizeOnDisk().total(), fs::file_size(dir_ + "/lock.mdb"));
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::unique_ptr<Cursor>> cursors;
  for (int i = 0; i < 1000; ++i) {
    sessions.push_back(engine_->NewSession());
    ASSERT_EQ(GetBy(sessions.back().get(), RowKey(1)), RowValue(1, 10)) << i;
    for (int walk = 0; walk < 2; ++walk) {
      cursors.push_back(sessions.back()->NewCursor(table_));
      ASSERT_TRUE(cursors.back()->First()) << i;
    }
  }
  cursors.clear();
}

TEST_F(LmdbTest, CountersAreWhatThePagesAre) {
  Open();
  const auto commits = [&] { return engine_->Counters().more.at(0).second; };
  const uint64_t before = commits();
  for (uint64_t row = 0; row < 2000; ++row) Put(row, 500);
  EXPECT_EQ(commits() - before, 2000u);
  EXPECT_EQ(Now("rows"), 2000u);
  EXPECT_EQ(Now("depth"), 3u);
  EXPECT_GE(Now("used_pages") * 4096, 2000u * 500);
  EXPECT_LE(Now("used_pages"), Now("file_pages"));
  const EngineCounters counters = engine_->Counters();
  EXPECT_FALSE(counters.block_requests || counters.block_reads || counters.cache_bytes);
  // Tables that this run has not opened count as well.
  const uint64_t used = Now("used_pages");
  Close();
  engine_ = OpenEngine("lmdb", dir_, options_);
  EXPECT_EQ(Now("rows"), 2000u);
  EXPECT_EQ(Now("used_pages"), used);
}

TEST_F(LmdbTest, ALazyCommitIsSyncedSoonAndAtRestNothingIs) {
  options_.durability = Durability::kLazy;
  options_.lazy_interval_ms = 20;
  Open();
  const auto syncs = [] { return Ledger::Get().Counts().ops[kCheckpoint.id].operations; };
  std::this_thread::sleep_for(milliseconds(200));
  const uint64_t before = syncs();
  Put(1, 100);
  for (int i = 0; i < 6000 && syncs() == before; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_GE(syncs(), before + 1);
  // A late sync may have been for an earlier commit. Then one more sync comes, and no others.
  bool rests = false;
  for (int ms = 200; !rests && ms <= 3200; ms *= 2) {
    const uint64_t after = syncs();
    std::this_thread::sleep_for(milliseconds(ms));
    rests = syncs() == after;
  }
  EXPECT_TRUE(rests);
  EXPECT_EQ(Setting("lazy_interval_ms"), "20");
  EXPECT_EQ(Setting("flags"), "MDB_NOTLS|MDB_NOMETASYNC");
}

// The kernel's account of a database on a device of its own.
class LmdbAccountTest : public LmdbTest {
 protected:
  void SetUp() override {
    std::string why;
    if (!ScratchDevice::Available(&why)) GTEST_SKIP() << why;
    const auto tasks = fs::directory_iterator("/proc/self/task");
    if (std::distance(begin(tasks), end(tasks)) > 1) {
      GTEST_SKIP() << "threads of an earlier test cannot see a new mount: run it alone";
    }
    ScratchOptions scratch;
    scratch.directory = dir_;
    scratch.bytes = 300 * kMiB;
    scratch_ = ScratchDevice::Create(scratch);
    account_ = KernelAccount::Start(scratch_->device(), &why);
    if (account_ == nullptr) GTEST_SKIP() << why;
    Ledger::Get().Configure(AccountDepth::kDevice, account_.get());
  }
  void TearDown() override {
    Close();
    Ledger::Get().Configure(AccountDepth::kFile, nullptr);
    account_.reset();
    scratch_.reset();
  }

  // Returns the IO that some work cost, and expects that the account closes exactly.
  template <typename Work>
  LedgerCounts Cost(Work work) {
    EXPECT_TRUE(ComesToRest(scratch_->device(), 10000));
    const LedgerCounts before = Ledger::Get().Counts();
    const DeviceStats device_before = scratch_->device().Stats();
    work();
    EXPECT_TRUE(ComesToRest(scratch_->device(), 10000));
    const LedgerCounts cost = Ledger::Get().Counts() - before;
    const DeviceStats device = scratch_->device().Stats() - device_before;
    const BlockCounts kernel = cost.KernelTotal();
    EXPECT_EQ(kernel.reads, device.reads);
    EXPECT_EQ(kernel.read_bytes, device.read_bytes);
    EXPECT_EQ(kernel.writes, device.writes);
    EXPECT_EQ(kernel.write_bytes, device.write_bytes);
    return cost;
  }

  std::unique_ptr<ScratchDevice> scratch_;
  std::unique_ptr<KernelAccount> account_;
};

TEST_F(LmdbAccountTest, CommitsPayForTheirWritesAndSyncs) {
  const OpKind insert = DefineOp("lmdb-insert", Ground::kForeground);
  constexpr uint64_t kCommits = 200;
  std::map<Durability, BlockCounts> data;
  for (Durability durability : {Durability::kSync, Durability::kLazy, Durability::kNone}) {
    options_.durability = durability;
    options_.lazy_interval_ms = 60000;
    OpenAt(scratch_->path() + "/" + DurabilityName(durability));
    const LedgerCounts cost = Cost([&] {
      for (uint64_t row = 0; row < kCommits; ++row) {
        IoScope scope(insert);
        Put(row, 1000);
      }
    });
    const LedgerCounts::Op& op = cost.ops[insert.id];
    data[durability] = op.kernel[static_cast<size_t>(FileKind::kData)];
    EXPECT_EQ(op.FileTotal().writes, 0u);
    EXPECT_EQ(op.kernel[static_cast<size_t>(FileKind::kOtherFile)], BlockCounts{});
    std::printf("  %s: %lu writes of %lu bytes to data, %lu flushes\n", DurabilityName(durability),
                data[durability].writes, data[durability].write_bytes, data[durability].flushes);
    Close();
  }
  // A commit copies at least a leaf, the table's entry and the list of free pages, and writes a
  // root page. Some syncs may become part of a commit of the file system's journal, but never the
  // second one of a commit, after the root page.
  EXPECT_GE(data[Durability::kLazy].write_bytes, kCommits * 4 * 4096);
  EXPECT_GE(data[Durability::kSync].write_bytes, kCommits * 4 * 4096);
  EXPECT_GE(data[Durability::kSync].flushes, data[Durability::kLazy].flushes + kCommits / 2);
  EXPECT_EQ(data[Durability::kNone], BlockCounts{});
}

TEST_F(LmdbAccountTest, ReadsThatMissThePageCachePayForTheirPages) {
  constexpr uint64_t kRows = 20000;
  const OpKind read = DefineOp("lmdb-read", Ground::kForeground);
  options_.mmap_advice = Advice::kRandom;
  const std::string dir = scratch_->path() + "/db";
  OpenAt(dir);
  session_->Begin();
  for (uint64_t row = 0; row < kRows; ++row) Put(row, 1000);
  session_->Commit();
  Close();
  EXPECT_TRUE(scratch_->Remount());  // empties the page cache of it
  OpenAt(dir);
  constexpr uint64_t kReads = 500;
  std::string_view value;
  const LedgerCounts cost = Cost([&] {
    for (uint64_t i = 0; i < kReads; ++i) {
      const uint64_t row = i * 7919 % kRows;
      IoScope scope(read);
      ASSERT_TRUE(session_->Get(table_, RowKey(row), &value));
      ASSERT_EQ(value, RowValue(row, 1000));
    }
  });
  const LedgerCounts::Op& op = cost.ops[read.id];
  const BlockCounts& data = op.kernel[static_cast<size_t>(FileKind::kData)];
  EXPECT_EQ(op.KernelTotal(), data);
  EXPECT_EQ(data.read_bytes, data.reads * 4096) << "a page each, without readahead";
  EXPECT_GT(data.reads, kReads / 2);
  EXPECT_LT(data.reads, 2 * kReads);
}

// The file system is cut off from its device just after a commit was acknowledged. Durability sync
// must lose no commit, lazy at most the last one (its root page), and no commit may be found by
// half.
TEST_F(LmdbAccountTest, APowerCutTakesTheLastLazyCommitAtMost) {
  for (Durability durability : {Durability::kSync, Durability::kLazy}) {
    SCOPED_TRACE(DurabilityName(durability));
    options_.durability = durability;
    options_.lazy_interval_ms = 60000;
    const std::string dir = scratch_->path() + "/cut-" + DurabilityName(durability);
    uint64_t rows = 0;
    for (int round = 0; round < 6; ++round) {
      OpenAt(dir);
      for (int i = 0; i < 100 + round * 37; ++i, ++rows) {
        session_->Begin();
        Put(rows, 700);
        session_->Put(table_, "last", std::to_string(rows));
        session_->Commit();
      }
      scratch_->Shutdown();
      Close();
      EXPECT_TRUE(scratch_->Remount());
      OpenAt(dir);
      const uint64_t last = std::stoull(GetBy(session_.get(), "last"));
      ASSERT_GE(last + 1, rows - (durability == Durability::kLazy ? 1 : 0));
      ASSERT_LE(last, rows - 1);
      rows = last + 1;
      for (uint64_t row = 0; row < rows; ++row) {
        ASSERT_EQ(GetBy(session_.get(), RowKey(row)), RowValue(row, 700)) << row << " of " << rows;
      }
      ASSERT_EQ(GetBy(session_.get(), RowKey(rows)), "(absent)");
      Close();
    }
  }
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_LMDB
