#include "device/os/dir_lock.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "device/error.h"
#include "tests/unit/engines/failing_new.h"

namespace testbed {
namespace {

class DirLockTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "dir_lock_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string dir_;
};

TEST_F(DirLockTest, IsHeldByOneAndGivenBack) {
  std::optional<DirLock> first(std::in_place, dir_, "--dir");
  try {
    DirLock second(dir_, "--dir");
    FAIL() << "two hold it";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_NE(std::string(e.what()).find("--dir " + dir_ + " is in use by this process already"),
              std::string::npos);
  }
  DirLock moved = std::move(*first);
  first.reset();
  EXPECT_THROW(DirLock(dir_, "--dir"), Error);
  moved = DirLock();
  EXPECT_NO_THROW(DirLock(dir_, "--dir"));
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
}

TEST_F(DirLockTest, TryTakesADirectoryThatIsFreeAndNoLink) {
  std::filesystem::create_directory_symlink(dir_, dir_ + ".link");
  EXPECT_FALSE(DirLock::Try(dir_ + ".link").has_value());
  std::filesystem::remove(dir_ + ".link");
  EXPECT_FALSE(DirLock::Try(dir_ + "/nosuch").has_value());
  {
    const DirLock held(dir_, "--dir");
    EXPECT_FALSE(DirLock::Try(dir_).has_value());
  }
  const std::optional<DirLock> lock = DirLock::Try(dir_);
  ASSERT_TRUE(lock.has_value());
  EXPECT_TRUE(lock->Leads(dir_));
  EXPECT_THROW(DirLock(dir_, "--dir"), Error);
}

TEST_F(DirLockTest, ANameThatLeadsElsewhereByNowIsRefused) {
  const auto check = [&](const std::string& path) {
    try {
      CheckLockedDirectory(path);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ESTALE);
      EXPECT_NE(std::string(e.what()).find("the directory " + dir_ + " was moved"),
                std::string::npos);
      return false;
    }
    return true;
  };
  const std::string elsewhere = dir_ + ".elsewhere";
  std::filesystem::remove_all(elsewhere);
  {
    const DirLock lock(dir_ + "/", "--dir");
    EXPECT_TRUE(check(dir_ + "/log/1"));
    std::filesystem::rename(dir_, elsewhere);
    EXPECT_FALSE(check(dir_ + "/log/1"));
    std::filesystem::create_directory(dir_);
    EXPECT_FALSE(check(dir_ + "/log/1"));
    EXPECT_FALSE(check(dir_));
    EXPECT_TRUE(check(dir_ + ".elsewhere/log/1"));
    {
      const DirLock newer(dir_, "--dir");
      EXPECT_TRUE(check(dir_ + "/log/1"));
    }
    EXPECT_FALSE(check(dir_ + "/log/1"));
    std::filesystem::remove(dir_);
    std::filesystem::rename(elsewhere, dir_);
    EXPECT_TRUE(check(dir_ + "/log/1"));
    std::filesystem::rename(dir_, elsewhere);
  }
  EXPECT_TRUE(check(dir_ + "/log/1"));
  std::filesystem::rename(elsewhere, dir_);
}

TEST_F(DirLockTest, TheRootIsADirectoryLikeOthers) {
  const DirLock lock("/", "--dir");
  EXPECT_NO_THROW(CheckLockedDirectory("/"));
  EXPECT_NO_THROW(CheckLockedDirectory("/db/file"));
  EXPECT_NO_THROW(CheckLockedDirectory(dir_ + "/file"));
}

TEST_F(DirLockTest, EndsWithAProcessThatIsKilled) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    DirLock lock(dir_, "--dir");
    if (write(ready[1], "x", 1) == 1) pause();
    _exit(1);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  try {
    DirLock second(dir_, "--dir");
    ADD_FAILURE() << "two processes hold it";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("is used by another testbed now"), std::string::npos);
  }
  try {
    DirLock second(dir_, "the database in");
    ADD_FAILURE() << "two processes hold it";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("is used by another process now"), std::string::npos)
        << "a program that embeds the engine is no testbed";
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(DirLock(dir_, "--dir"));
  close(ready[0]), close(ready[1]);
}

// A forked child has copies of its parent's descriptors, and a lock of flock(2) ends with the last
// copy or with the word of any of them.
TEST_F(DirLockTest, IsTheParentsAndNotItsForkedChildrens) {
  std::optional<DirLock> lock(std::in_place, dir_, "--dir");
  const pid_t dropping = fork();
  if (dropping == 0) {
    lock.reset();
    _exit(0);
  }
  waitpid(dropping, nullptr, 0);
  EXPECT_THROW(DirLock(dir_, "--dir"), Error) << "a child has given its parent's lock back";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t living = fork();
  if (living == 0) {
    close(ends[1]);
    char byte;
    _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);  // returns when the parent has closed its end
  }
  lock.reset();
  EXPECT_NO_THROW(DirLock(dir_, "--dir")) << "a child keeps its parent's lock";
  close(ends[0]), close(ends[1]);
  waitpid(living, nullptr, 0);
}

// The list of locked directories is copied by a fork, and the parent's locks are not the child's.
TEST_F(DirLockTest, AForkedChildIsToldThatAnotherProcessHoldsIt) {
  const DirLock held(dir_, "--dir");
  const pid_t child = fork();
  if (child == 0) {
    try {
      const DirLock second(dir_, "--dir");
    } catch (const Error& e) {
      _exit(std::string(e.what()).find("is used by another testbed now") != std::string::npos ? 0
                                                                                              : 2);
    }
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A thread of the parent, such as one of an open database, may hold the mutex of the locked
// directories at the moment of a fork. A child that found it locked would wait for ever.
TEST_F(DirLockTest, IsTakenByAForkedChildWhateverItsParentsThreadsDo) {
  const DirLock held(dir_, "--dir");
  const std::string other = dir_ + "/other", file = dir_ + "/file";
  std::filesystem::create_directory(other);
  std::atomic<bool> stop{false};
  std::thread checks([&] {
    while (!stop.load()) CheckLockedDirectory(file);
  });
  int status = 0;
  for (int i = 0; i < 20 && status == 0; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      const bool taken = DirLock::Try(other).has_value();
      ::_exit(taken ? 0 : 1);
    }
    if (child < 0 || ::waitpid(child, &status, 0) != child) status = -1;
  }
  stop.store(true);
  checks.join();
  EXPECT_EQ(status, 0) << "a child hung, or did not get the lock";
}

TEST_F(DirLockTest, IsGivenBackWhenThereIsNoMemoryForIt) {
  const std::string option = "--dir";
  FailingNew::Set(0);
  EXPECT_THROW(DirLock(dir_, option), std::bad_alloc);
  FailingNew::Clear();
  EXPECT_NO_THROW(DirLock(dir_, option));
}

TEST_F(DirLockTest, ADirectoryThatIsMissingIsNamed) {
  EXPECT_THROW(DirLock(dir_ + "/nosuch", "--dir"), Error);
}

}  // namespace
}  // namespace testbed
