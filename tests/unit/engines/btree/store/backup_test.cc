// Tests backups of an open database (engines/btree/store/backup.h).
#include "engines/btree/store/backup.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include "device/file/directory.h"
#include "device/file/file_faults.h"
#include "device/os/signal_guard.h"
#include "tests/unit/engines/btree/store_test.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::btree {
namespace {

using testing::HasSubstr;

class BackupTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    to_ = dir_ + ".backup";
    options_.log.segment_bytes = 256 << 10;
    options_.cache_bytes = 60 * options_.page_size;
  }
  void TearDown() override {
    FileFaults::Clear();
    StoreTest::TearDown();
    std::filesystem::remove_all(to_);
  }
  // Writes random rows to the table "t".
  void Fill(int commits) {
    StoreClient client(store_.get());
    Tree* const tree = store_->OpenTable("t");
    for (int i = 0; i < commits; ++i) RandomCommit(&client, tree, &model_, 20, 2);
  }
  // Checks the copy in `dir`, opens it in place of the database and runs `body`.
  void InCopy(const std::string& dir, const std::function<void()>& body) {
    const Inspection inspection = InspectDatabase(dir, InspectOptions());
    for (const testbed::Fault& fault : inspection.faults.kept) ADD_FAILURE() << fault.Text();
    StoreOptions options = options_;
    options.create = false;
    std::unique_ptr<Store> source = std::exchange(store_, Store::Open(dir, options));
    body();
    ExpectSound();
    store_ = std::move(source);
  }
  void ExpectCopy(const std::string& dir) {
    InCopy(dir, [this] { ExpectRows(store_->OpenTable("t"), model_); });
  }
  std::string Refusal(const std::string& to, Error::Kind kind = Error::kUsage) {
    try {
      BackUp(store_.get(), to);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), kind) << e.what();
      return e.what();
    }
    return "it was made";
  }
  // Changes a byte of each leaf of the table in the data file. Returns the number of leaves.
  int DamageLeaves(uint32_t table) {
    std::fstream file(DataPath(dir_), std::ios::binary | std::ios::in | std::ios::out);
    std::string page(options_.page_size, '\0');
    int leaves = 0;
    for (uint64_t at = 0; file.seekg(static_cast<std::streamoff>(at)) &&
                          file.read(page.data(), static_cast<std::streamsize>(page.size()));
         at += page.size()) {
      const PageHeader* header = Header(page.data());
      if (header->type != PageType::kLeaf || header->table != table) continue;
      file.seekp(static_cast<std::streamoff>(at + page.size() - 1));
      file.put(static_cast<char>(page.back() ^ 1));
      ++leaves;
    }
    return leaves;
  }

  std::string to_;
  Model model_;
};

// Each commit of a thread moves an amount between two of its accounts, and counts itself in another
// row, whose value may be long. What the thread has written after a number of commits follows from
// that number.
class Accounts {
 public:
  explicit Accounts(int thread)
      : prefix_(std::to_string(thread) + "/"), random_(static_cast<uint32_t>(thread)) {}
  static std::string CountOf(int thread) { return std::to_string(thread) + "/count"; }

  // Returns the rows of the next commit.
  Model Next() {
    ++commits_;
    const std::string from = Account(), to = Account();
    const int amount = static_cast<int>(random_() % 100);
    balances_[from] -= amount;
    balances_[to] += amount;
    Model rows;
    for (const std::string& account : {from, to}) {
      rows[account] = std::to_string(balances_[account]) + std::string(random_() % 200, '.');
    }
    rows[prefix_ + "count"] =
        std::to_string(commits_) + std::string(random_() % 16 == 0 ? random_() % 9000 : 10, '.');
    for (const auto& [key, value] : rows) rows_[key] = value;
    return rows;
  }
  const Model& rows() const { return rows_; }

 private:
  std::string Account() { return prefix_ + std::to_string(random_() % 700); }

  const std::string prefix_;
  std::mt19937 random_;
  uint64_t commits_ = 0;
  std::map<std::string, int> balances_;
  Model rows_;
};

struct BackupMode {
  const char* name;
  TornPage torn_page;
  IoMode io;
  PageCodec codec;
  bool change_buffer;
};

class BackupWhileWritingTest : public BackupTest, public testing::WithParamInterface<BackupMode> {
 protected:
  static constexpr int kThreads = 3;

  void SetUp() override {
    BackupTest::SetUp();
    const BackupMode& mode = GetParam();
    options_.torn_page = mode.torn_page;
    options_.io = mode.io;
    if (mode.io == IoMode::kDirect) options_.log.mode = IoMode::kDirect;
    options_.compression = mode.codec;
    if (mode.codec != PageCodec::kNone) options_.page_size = 8192;
    options_.cache_bytes = 80 * options_.page_size;
    if (mode.change_buffer) options_.change_buffer_bytes = 20 << 10;
    options_.checkpoint_log_bytes = 512 << 10;
    options_.durability = Durability::kLazy;
    options_.log.flush_interval_ms = 5;
  }
  // Gives the file more than one part that a backup reads at once.
  void Load() {
    StoreClient client(store_.get());
    const uint32_t table = store_->OpenTable("t")->table();
    for (int i = 0; i < 7000; i += 100) {
      Model rows;
      for (int j = i; j < i + 100; ++j) {
        rows["loaded" + std::to_string(j)] =
            std::string(300, static_cast<char>('a' + random_() % 26));
      }
      Commit(&client, table, rows);
      model_.merge(rows);
    }
  }
  static void Commit(StoreClient* client, uint32_t table, const Model& rows) {
    std::vector<RowWrite> operations;
    for (const auto& [key, value] : rows) operations.push_back({false, table, key, value});
    client->Commit(operations);
  }
  void Write(int thread) {
    StoreClient client(store_.get());
    const uint32_t table = store_->OpenTable("t")->table();
    Accounts accounts(thread);
    while (!stop_) {
      const Model rows = accounts.Next();
      ++begun_[static_cast<size_t>(thread)];
      Commit(&client, table, rows);
      ++done_[static_cast<size_t>(thread)];
    }
  }
  using Commits = std::array<uint64_t, kThreads>;
  static Commits Now(const std::array<std::atomic<uint64_t>, kThreads>& counts) {
    Commits now{};
    for (size_t t = 0; t < now.size(); ++t) now[t] = counts[t];
    return now;
  }
  // Expects the rows after some number of commits of each thread, between the two given ones.
  void ExpectAMoment(const Commits& least, const Commits& most) {
    Model expected = model_;
    Tree* const tree = store_->OpenTable("t");
    for (int t = 0; t < kThreads; ++t) {
      const auto at = static_cast<size_t>(t);
      StoreClient client(store_.get());
      std::string count;
      ASSERT_TRUE(client.Get(tree, Accounts::CountOf(t), &count));
      const uint64_t commits = std::stoull(count);
      EXPECT_GE(commits, least[at]);
      EXPECT_LE(commits, most[at]);
      Accounts accounts(t);
      for (uint64_t i = 0; i < std::min(commits, most[at]); ++i) accounts.Next();
      for (const auto& [key, value] : accounts.rows()) expected[key] = value;
    }
    ExpectRows(tree, expected);
  }

  std::atomic<bool> stop_{false};
  std::array<std::atomic<uint64_t>, kThreads> begun_{}, done_{};
};

TEST_P(BackupWhileWritingTest, IsTheDatabaseOfOneMoment) {
  try {
    Open();
  } catch (const Error& e) {
    if (e.kind() != Error::kUsage) throw;
    GTEST_SKIP() << e.what();  // no direct IO here
  }
  Load();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] { Write(t); });
  }
  struct Backup {
    std::string dir;
    Commits least, most;
  };
  std::vector<Backup> backups;
  for (int i = 0; i < 3; ++i) {
    const Commits before = Now(done_);
    const auto gone_on = [&] {
      const Commits now = Now(done_);
      return std::equal(now.begin(), now.end(), before.begin(),
                        [](uint64_t a, uint64_t b) { return a >= b + 100; });
    };
    while (!gone_on()) std::this_thread::yield();
    backups.push_back({to_ + "/" + std::to_string(i), Now(done_), {}});
    BackUp(store_.get(), backups.back().dir);
    backups.back().most = Now(begun_);
  }
  stop_ = true;
  for (std::thread& thread : threads) thread.join();
  for (const Backup& backup : backups) {
    SCOPED_TRACE(backup.dir);
    InCopy(backup.dir, [&] { ExpectAMoment(backup.least, backup.most); });
  }
  // The database is as if there had been none.
  ExpectAMoment(Now(done_), Now(done_));
  ExpectSound();
  Open();
  ExpectAMoment(Now(done_), Now(done_));
}

INSTANTIATE_TEST_SUITE_P(
    Modes, BackupWhileWritingTest,
    testing::Values(BackupMode{"doublewrite_buffered", TornPage::kDoublewrite, IoMode::kBuffered,
                               PageCodec::kNone, false},
                    BackupMode{"doublewrite_mmap_change_buffer", TornPage::kDoublewrite,
                               IoMode::kMmap, PageCodec::kNone, true},
                    BackupMode{"doublewrite_direct_zstd", TornPage::kDoublewrite, IoMode::kDirect,
                               PageCodec::kZstd, false},
                    BackupMode{"images_buffered_lz4_change_buffer", TornPage::kFullPageImage,
                               IoMode::kBuffered, PageCodec::kLz4, true},
                    BackupMode{"images_direct", TornPage::kFullPageImage, IoMode::kDirect,
                               PageCodec::kNone, false},
                    BackupMode{"none_buffered", TornPage::kNone, IoMode::kBuffered,
                               PageCodec::kNone, false}),
    [](const auto& param) { return std::string(param.param.name); });

TEST_F(BackupTest, HasAllTablesAndIsADatabaseOfItsOwn) {
  Open();
  Fill(60);
  store_->OpenTable("empty");
  ASSERT_TRUE(std::filesystem::create_directory(to_)) << "an empty one is taken";
  BackUp(store_.get(), to_ + "/");
  Put("later", "row");
  InCopy(to_, [this] {
    EXPECT_EQ(store_->TableNames().size(), 2u);
    ExpectRows(store_->OpenTable("t"), model_);
    Put("own", "row");
  });
  InCopy(to_, [this] { EXPECT_EQ(Get("own"), "row"); });
  EXPECT_EQ(Get("later"), "row");
  EXPECT_EQ(Get("own"), "(absent)");
}

// The database grows and shrinks, so that pages of the checkpoint are free and others in use.
TEST_F(BackupTest, OfADatabaseWhoseRowsWereErasedIsNoLongerThanThePagesInUse) {
  Open();
  Fill(100);
  StoreClient client(store_.get());
  for (const auto& [key, value] : model_) {
    const RowWrite op{true, store_->OpenTable("t")->table(), key, {}};
    client.Commit({&op, 1});
  }
  model_.clear();
  BackUp(store_.get(), to_);
  EXPECT_LE(std::filesystem::file_size(DataPath(to_)), std::filesystem::file_size(DataPath(dir_)));
  ExpectCopy(to_);
}

TEST_F(BackupTest, GoesToADirectoryThatIsNewOrEmptyAndElsewhere) {
  Open();
  Fill(3);
  EXPECT_THAT(Refusal(""), HasSubstr("has no name"));
  EXPECT_THAT(Refusal(dir_), HasSubstr("or lies in it: give one elsewhere"));
  EXPECT_THAT(Refusal(dir_ + "/../" + std::filesystem::path(dir_).filename().string() + "/sub"),
              HasSubstr("or lies in it: give one elsewhere"));
  EXPECT_FALSE(IsThere(dir_ + "/sub"));
  std::ofstream(to_) << "a file";
  EXPECT_THAT(Refusal(to_), HasSubstr("is no directory"));
  std::filesystem::remove(to_);
  std::filesystem::create_directory(to_);
  std::ofstream(to_ + "/notes") << "theirs";
  EXPECT_THAT(Refusal(to_), HasSubstr("is not empty: give a new or an empty one"));
  EXPECT_EQ(NamesIn(to_), std::vector<std::string>{"notes"});
  BackUp(store_.get(), to_ + "/new/below");
  EXPECT_THAT(Refusal(to_ + "/new/below"), HasSubstr("is not empty"));
  ExpectCopy(to_ + "/new/below");
}

TEST_F(BackupTest, KeepsTheLogWhateverCheckpointsSay) {
  Open();
  Fill(5);
  const CheckpointState state = store_->CheckpointKeepingLog();
  for (int i = 0; i < 8; ++i) {
    Fill(40);
    store_->Checkpoint();
  }
  EXPECT_GT(store_->log()->EndLsn(), state.redo + 3 * options_.log.segment_bytes);
  EXPECT_LT(store_->log()->BeginLsn(), state.redo);
  store_->KeepLogFrom(kNoLsn);
  store_->Checkpoint();
  EXPECT_GT(store_->log()->BeginLsn(), state.redo);
}

// A failing call is one of the copy, or one of the database, which may be out of service then. Some
// calls are tried; TESTBED_FAULT_STRIDE=1 tries all.
TEST_F(BackupTest, ThatFailsLeavesNothingAndTheDatabaseAsItWas) {
  Open();
  Fill(20);
  for (const int error : {EIO, ENOSPC}) {
    Open();  // nothing is dirty, so that each backup makes the same calls
    FileFaults::Set(UINT64_MAX, UINT64_MAX, error);
    BackUp(store_.get(), to_);
    const uint64_t calls = FileFaults::Clear();
    EXPECT_GT(calls, 10u);
    const char* const set = ::getenv("TESTBED_FAULT_STRIDE");
    const uint64_t stride = set != nullptr ? std::strtoull(set, nullptr, 10) : 1 + calls / 15;
    uint64_t failed = 0;
    for (uint64_t call = 0; call < calls; call += 1 + random_() % (2 * stride - 1)) {
      SCOPED_TRACE("errno " + std::to_string(error) + " at call " + std::to_string(call));
      std::filesystem::remove_all(to_);
      bool made = true;
      FileFaults::Set(call, call + 1, error);
      try {
        BackUp(store_.get(), to_);
      } catch (const Error& e) {
        made = false;
        ++failed;
        EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      }
      FileFaults::Clear();
      EXPECT_EQ(IsThere(to_), made);
      if (made) ExpectCopy(to_);
      Open();
      ExpectRows(store_->OpenTable("t"), model_);
      if (HasFailure()) return;
    }
    EXPECT_GT(failed, 0u);  // a backup does without some calls, such as those that get space
    std::filesystem::remove_all(to_);
  }
}

TEST_F(BackupTest, ThatIsStoppedLeavesNothing) {
  Open();
  Fill(20);
  {
    const SignalGuard signals;
    ::raise(SIGTERM);
    EXPECT_THROW(BackUp(store_.get(), to_), Stopped);
  }
  EXPECT_FALSE(IsThere(to_));
  BackUp(store_.get(), to_);
  ExpectCopy(to_);
}

TEST_F(BackupTest, ThatFailsRemovesTheDirectoriesThatItMadeAlone) {
  Open();
  Fill(20);
  ASSERT_TRUE(std::filesystem::create_directory(to_));
  const std::string below = to_ + "/new/below";
  {
    const SignalGuard signals;
    ::raise(SIGTERM);
    EXPECT_THROW(BackUp(store_.get(), below), Stopped);
    EXPECT_EQ(NamesIn(to_), std::vector<std::string>());
    ASSERT_TRUE(std::filesystem::create_directory(to_ + "/new"));
    EXPECT_THROW(BackUp(store_.get(), below), Stopped);
    EXPECT_EQ(NamesIn(to_), std::vector<std::string>{"new"}) << "it was there";
  }
  BackUp(store_.get(), below);
  ExpectCopy(below);
}

// The power is cut after some of the calls of a backup, and when it has returned.
TEST_F(BackupTest, IsThereAfterAPowerCutOrIsNoDatabase) {
  Open();
  Fill(20);
  const std::string copy = to_ + "/copy", cut = dir_ + ".cut";
  std::filesystem::create_directory(to_);
  uint64_t calls = 0;
  {
    FailingDisk disk(to_);
    BackUp(store_.get(), copy);
    calls = disk.all_calls();
  }
  int made = 0, not_there = 0;
  const uint64_t stride = 1 + calls / 20;
  for (uint64_t call = 0; call < calls + stride; call += stride) {
    SCOPED_TRACE("call " + std::to_string(call));
    std::filesystem::remove_all(copy);
    FailingDisk disk(to_);
    disk.CutAfter(call, call);
    bool returned = true;
    try {
      BackUp(store_.get(), copy);
    } catch (const Error&) {
      returned = false;
    }
    disk.Cut(call);
    disk.CopyTo(cut);
    made += returned;
    if (returned || Store::Exists(cut + "/copy")) {
      ExpectCopy(cut + "/copy");
    } else {
      ++not_there;
    }
  }
  std::filesystem::remove_all(cut);
  EXPECT_GT(made, 0);
  EXPECT_GT(not_there, 10);
}

TEST_F(BackupTest, OfADamagedPageIsRefusedUnlessThePoolHasThePage) {
  options_.cache_bytes = 4 << 20;
  options_.torn_page = TornPage::kNone;  // the opening would repair the pages
  Open();
  Fill(20);
  const uint32_t table = store_->OpenTable("t")->table();
  store_->Checkpoint();
  ASSERT_GT(DamageLeaves(table), 3);
  BackUp(store_.get(), to_);
  ExpectCopy(to_);
  std::filesystem::remove_all(to_);
  Open();  // with an empty pool
  EXPECT_THAT(Refusal(to_, Error::kCorruption), HasSubstr("its checksum does not match"));
  EXPECT_FALSE(IsThere(to_));
}

class KilledBackupTest : public BackupTest {
 protected:
  // Makes one backup after the other in a process of their own, and kills it.
  void BackUpAndBeKilled(std::chrono::milliseconds after) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(60);
      try {
        Open();
        for (int i = 0; ::write(ends[1], "x", 1) == 1; ++i) {
          BackUp(store_.get(), to_ + "/" + std::to_string(i));
        }
      } catch (const Error& e) {
        ::dprintf(2, "child: %s\n", e.what());
      }
      ::_exit(1);
    }
    ::close(ends[1]);
    char byte;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
    std::this_thread::sleep_for(after);
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";
    ::close(ends[0]);
  }
  void ExpectRefused(const std::string& dir) {
    try {
      Store::Open(dir, options_);
      ADD_FAILURE() << "it was opened";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      EXPECT_THAT(e.what(), HasSubstr("holds a backup that was not finished"));
    }
    EXPECT_TRUE(IsThere(UnfinishedBackupPath(dir)));
  }
};

TEST_F(KilledBackupTest, IsNoDatabase) {
  Open();
  Fill(60);
  store_.reset();
  bool cut = false;
  for (int attempt = 0; attempt < 100 && !cut; ++attempt) {
    std::filesystem::remove_all(to_);
    BackUpAndBeKilled(std::chrono::milliseconds(1 + attempt));
    if (HasFatalFailure()) return;
    if (!IsThere(to_)) continue;
    for (const std::string& name : NamesIn(to_)) {
      const std::string dir = to_ + "/" + name;
      if (Store::Exists(dir)) {
        ExpectCopy(dir);
      } else if (IsThere(UnfinishedBackupPath(dir))) {
        cut = true;
        ExpectRefused(dir);
      }
    }
  }
  EXPECT_TRUE(cut);
  Open();
  ExpectRows(store_->OpenTable("t"), model_);
  ExpectSound();
}

}  // namespace
}  // namespace testbed::btree
