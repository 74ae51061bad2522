// A claim is held by one process, and a dead process's is free.
#include "tools/experiment/cluster/claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "tools/experiment/cluster/part.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class ClaimTest : public testing::Test {
 protected:
  ClaimTest() {
    std::string pattern = testing::TempDir() + "claim_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~ClaimTest() override { fs::remove_all(path_); }
  std::string path_;
};

TEST_F(ClaimTest, OneAtATimeHoldsIt) {
  const std::string file = path_ + "/round-1";
  std::optional<Claim> mine = Claim::Try(file);
  ASSERT_TRUE(mine);
  EXPECT_FALSE(Claim::Try(file));
  EXPECT_EQ(Claim::Holder(file), NodeName() + ", process " + std::to_string(::getpid()));
  mine.reset();
  EXPECT_FALSE(fs::exists(file));
  EXPECT_TRUE(Claim::Try(file));
}

TEST_F(ClaimTest, ADeadProcessHoldsNone) {
  const std::string file = path_ + "/round-1";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::optional<Claim> claim = Claim::Try(file);
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(Claim::Try(file));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(file));
  EXPECT_TRUE(Claim::Try(file));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(ClaimTest, EachProcessHasAPartOfItsOwn) {
  std::optional<Part> first(std::in_place, path_), second(std::in_place, path_);
  EXPECT_EQ(first->path(), path_ + "/testbed-" + NodeName() + "-1");
  EXPECT_EQ(second->path(), path_ + "/testbed-" + NodeName() + "-2");
  first.reset();
  EXPECT_FALSE(fs::exists(path_ + "/testbed-" + NodeName() + "-1"));
  const Part third(path_);
  EXPECT_EQ(third.path(), path_ + "/testbed-" + NodeName() + "-1");
}

}  // namespace
}  // namespace testbed
