// Tests the errors of a database that cannot be opened, read or written, and that no commit is
// lost.
#include <signal.h>
#include <sys/resource.h>

#include <cerrno>
#include <fstream>

#include "device/file/file_faults.h"
#include "tests/unit/engines/btree/store_test.h"

namespace testbed::btree {
namespace {

class StoreErrorTest : public StoreTest {
 protected:
  std::string ErrorOfOpen(Error::Kind kind) {
    try {
      Open();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), kind) << e.what();
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
      return e.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }
};

TEST_F(StoreErrorTest, AnotherPageSize) {
  options_.page_size = 8192;
  Open();
  store_.reset();
  options_.page_size = 4096;
  EXPECT_EQ(ErrorOfOpen(Error::kUsage), "the database in " + dir_ +
                                            " has 8192-byte pages, not 4096: give --page-size 8k, "
                                            "or --fresh");
}

TEST_F(StoreErrorTest, ANewerFormat) {
  Open();
  store_.reset();
  {
    std::fstream file(dir_ + "/btree.data", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(40);  // after the page header and the magic
    const uint32_t version = 99;
    file.write(reinterpret_cast<const char*>(&version), 4);
  }
  EXPECT_NE(ErrorOfOpen(Error::kUsage).find("has format version 99, this testbed knows 1"),
            std::string::npos);
}

TEST_F(StoreErrorTest, NotADatabaseFile) {
  std::ofstream(dir_ + "/btree.data") << std::string(10000, 'x');
  EXPECT_NE(ErrorOfOpen(Error::kCorruption).find("is not a btree data file"), std::string::npos);
}

TEST_F(StoreErrorTest, AMissingDirectory) {
  dir_ += "/none";
  options_.create = false;
  EXPECT_NE(ErrorOfOpen(Error::kUsage).find("/none does not exist"), std::string::npos);
}

TEST_F(StoreErrorTest, ADirectoryThatMayNotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::permissions(
      dir_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_NE(ErrorOfOpen(Error::kIo).find("choose a directory that this user may write to"),
            std::string::npos);
}

TEST_F(StoreErrorTest, OpenInThisProcess) {
  Open();
  try {
    Store::Open(dir_, options_);
    ADD_FAILURE() << "it is open twice";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_NE(std::string(e.what()).find("is in use by this process already"), std::string::npos);
  }
}

// Another process that makes or restores a database has the directory locked.
TEST_F(StoreErrorTest, ADirectoryInUseIsNotTakenForADatabaseWithoutItsDataFile) {
  std::ofstream(DoublewritePath(dir_)) << "x";
  const DirLock lock(dir_, "the database in");
  EXPECT_NE(ErrorOfOpen(Error::kUsage).find("is in use by this process already"),
            std::string::npos);
}

TEST_F(StoreErrorTest, ACacheOfTooFewPages) {
  options_.cache_bytes = 10 * 4096;
  EXPECT_NE(ErrorOfOpen(Error::kUsage).find("fewer than 16 pages"), std::string::npos);
}

// The unfinished data file tells that the other files are what an unfinished Create has left. A
// later Create that is refused must not take it away.
TEST_F(StoreErrorTest, WhatAnUnfinishedCreateLeftIsNoObstacleAfterARefusedOne) {
  std::ofstream(UnfinishedDataPath(dir_)) << "x";
  std::ofstream(DoublewritePath(dir_)) << "x";
  options_.torn_page = TornPage::kAtomic;  // refused, as IO is buffered
  EXPECT_NE(ErrorOfOpen(Error::kUsage).find("torn_page=atomic"), std::string::npos);
  options_.torn_page = TornPage::kDoublewrite;
  EXPECT_NO_THROW(Open());
  ASSERT_NE(store_, nullptr);
  Put("a", "1");
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(StoreErrorTest, ALogThatIsGone) {
  Open();
  Put("a", "1");
  store_.reset();
  std::filesystem::remove_all(dir_ + "/btree.log");
  std::filesystem::create_directory(dir_ + "/btree.log");
  ErrorOfOpen(Error::kCorruption);
}

TEST_F(StoreErrorTest, ABrokenPageFailsTheReadThatNeedsIt) {
  options_.torn_page = TornPage::kNone;  // a doublewrite file would repair the page
  Open();
  for (int i = 0; i < 3000; ++i) Put("key" + std::to_string(i), std::string(100, 'v'));
  const PageId root = store_->OpenTable("t")->root();
  store_.reset();
  {
    std::fstream file(dir_ + "/btree.data", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(root) * 4096 + 2000);
    file.write("damage", 6);
  }
  Open();
  try {
    Get("key7");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kCorruption);
    EXPECT_NE(std::string(e.what()).find("page " + std::to_string(root) + " of file " + dir_ +
                                         "/btree.data: its checksum does not match"),
              std::string::npos)
        << e.what();
  }
}

// A limit of the file size stands for a full disk. An opening must not need space for what a commit
// reserved while the last checkpoint was taken, whichever version wrote the checkpoint.
TEST_F(StoreErrorTest, ADatabaseOpensWithoutTheSpaceThatACommitReserved) {
  for (const bool earlier : {false, true}) {
    SCOPED_TRACE(earlier);
    RunAndCrash([&] {
      Put("a", "1");
      store_->space()->Promise(20000);
      store_->Checkpoint();
      store_->space()->Unpromise(20000);
      store_->space()->GiveBack();
      Put("b", "2");
    });
    ASSERT_LT(std::filesystem::file_size(DataPath(dir_)), 8u << 20) << "given back";
    if (earlier) {
      CheckpointState state =
          ReadCheckpoint(dir_, CheckSuperblock(DataPath(dir_), dir_, options_.page_size).database);
      ++state.sequence;
      Extend(&state.space, 20000);
      WriteCheckpoint(dir_, options_.page_size, state);
    }
    ::signal(SIGXFSZ, SIG_IGN);
    struct rlimit before;
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = before;
    limit.rlim_cur = 16 << 20;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_NO_THROW(Open());
    ::setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_NE(store_, nullptr);
    EXPECT_EQ(Get("a") + Get("b"), "12");
    ExpectSound();
  }
}

// A file that a crash left with reserved space behind its pages gives the space back.
TEST_F(StoreErrorTest, WhatACrashLeftReservedIsGivenBack) {
  RunAndCrash([&] {
    Put("a", "1");
    store_->space()->Promise(5000);
    store_->Checkpoint();
  });
  ASSERT_GT(std::filesystem::file_size(DataPath(dir_)), 5000u * 4096);
  Open();
  EXPECT_LT(std::filesystem::file_size(DataPath(dir_)), 8u << 20);
  EXPECT_EQ(Get("a"), "1");
  ExpectSound();
}

// A table that may not be durable must not be handed out by a second call: no commit to it can
// succeed.
TEST_F(StoreErrorTest, ATableWhoseCreationFailedIsNotThereUntilItIsMade) {
  options_.durability = Durability::kSync;
  uint64_t refused = 0, out_of_service = 0;
  for (;; ++refused) {
    Open();
    FileFaults::Set(refused, refused + 1, EIO);
    bool made = true;
    try {
      store_->OpenTable("t");
    } catch (const Error&) {
      made = false;
    }
    FileFaults::Clear();
    if (made) break;
    bool again = true, committed = true;
    try {
      store_->OpenTable("t");
    } catch (const Error&) {
      again = false;
      ++out_of_service;
    }
    try {
      Put("a", "1");
    } catch (const Error&) {
      committed = false;
    }
    EXPECT_EQ(again, committed) << "call " << refused;
    store_.reset();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directory(dir_);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(out_of_service, 0u);
}

// A limit of the file size stands for a full disk. The commit that does not fit must fail with the
// reason, and all commits before it must be found after the next open.
TEST_F(StoreErrorTest, AFullDiskLosesNothing) {
  options_.durability = Durability::kSync;
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {3 << 20, 3 << 20};
    int done = 0;
    std::string why = "none";
    try {
      auto store = Store::Open(dir_, options_);
      Tree* tree = store->OpenTable("t");
      ::setrlimit(RLIMIT_FSIZE, &limit);
      StoreClient client(store.get());
      for (; done < 100000; ++done) {
        const std::string key = std::to_string(done), value(3000, 'v');
        const RowWrite op{false, tree->table(), key, value};
        client.Commit({&op, 1});
      }
    } catch (const Error& e) {
      why = e.what();
    }
    ::dprintf(pipe_ends[1], "%d %s\n", done, why.c_str());
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  std::string said;
  char buffer[1000];
  for (ssize_t n; (n = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, n);
  ::close(pipe_ends[0]);
  ::waitpid(child, nullptr, 0);
  const int done = std::stoi(said);
  EXPECT_GT(done, 100);
  EXPECT_LT(done, 100000);
  EXPECT_NE(said.find("btree.data: File too large"), std::string::npos) << said;
  Open();
  for (int i = 0; i < done; ++i) ASSERT_EQ(Get(std::to_string(i)).size(), 3000u) << i;
  ExpectSound();
}

}  // namespace
}  // namespace testbed::btree
