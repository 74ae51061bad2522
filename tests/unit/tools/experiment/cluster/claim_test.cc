// A claim is held by one process, and a dead process's is free.
#include "tools/experiment/cluster/claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>

#include "device/error.h"
#include "device/os/sys_file.h"
#include "tools/database/database_files.h"
#include "tools/experiment/cluster/part.h"
#include "tools/experiment/results_dir.h"

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
  EXPECT_TRUE(Claim::IsHeld(file));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(file));
  EXPECT_FALSE(Claim::IsHeld(file));
  EXPECT_TRUE(Claim::Try(file));
  ::close(ready[0]);
  ::close(ready[1]);
}

// Two hosts whose mounts do not pass locks on would both hold the claim on a block.
TEST_F(ClaimTest, AMountThatKeepsLocksToItsHostIsRefused) {
  const std::optional<uint64_t> id = MountIdOf(path_);
  if (!id) GTEST_SKIP() << "this kernel does not tell the mount of a file";
  fs::create_directories(path_ + "/proc/self");
  const auto refusal = [&](const std::string& type, const std::string& options) -> std::string {
    std::ofstream(path_ + "/proc/self/mountinfo")
        << *id << " 1 0:50 / /shared rw,relatime - " << type << " server:/x rw" << options << "\n";
    try {
      CheckLocksReachHosts(path_, path_);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("nfs", ",nolock,local_lock=all"), testing::HasSubstr("local_lock=all"));
  EXPECT_THAT(refusal("nfs4", ",local_lock=posix"), testing::HasSubstr("(local_lock=posix)"));
  EXPECT_THAT(refusal("lustre", ",localflock"), testing::HasSubstr("(localflock)"));
  EXPECT_THAT(refusal("cifs", ",nobrl"), testing::HasSubstr("(nobrl)"));
  EXPECT_THAT(refusal("fuse.sshfs", ""), testing::HasSubstr("(sshfs)"));
  EXPECT_EQ(refusal("nfs4", ",vers=4.2,local_lock=none"), "");
  EXPECT_EQ(refusal("nfs", ",vers=3,local_lock=flock"), "") << "claims are locks of fcntl";
  EXPECT_EQ(refusal("lustre", ",flock"), "");
  EXPECT_EQ(refusal("ext4", ""), "");
}

TEST_F(ClaimTest, EachProcessHasAPartOfItsOwn) {
  const std::string mine = path_ + "/testbed-" + NodeName() + "-0123abcd-";
  std::optional<Part> first(std::in_place, path_, "0123abcd");
  const Part second(path_, "0123abcd"), of_others(path_, "89abcdef");
  EXPECT_EQ(first->path(), mine + "1");
  EXPECT_EQ(second.path(), mine + "2");
  EXPECT_EQ(of_others.path(), path_ + "/testbed-" + NodeName() + "-89abcdef-1");
  first.reset();
  EXPECT_FALSE(fs::exists(mine + "1"));
  const Part third(path_, "0123abcd");
  EXPECT_EQ(third.path(), mine + "1");
}

// Once, the databases of a killed process stayed: the cells that they were loaded for may have run
// on another host.
TEST_F(ClaimTest, ThePartOfAKilledProcessIsTakenOverWithoutWhatNobodyNeeds) {
  const Part part(path_, PartId(path_));
  const std::string needed = "0123456789abcdef-1.2", other = "0123456789abcdef-2-0123abcd";
  for (const std::string& name : {needed, other, std::string(kOwnDatabase), std::string("mine")}) {
    const std::string dir = part.path() + "/" + name;
    fs::create_directories(dir);
    WriteRecord(dir, {{"schema", kDatabaseSchema}, {"engine", "btree"}, {"loaded", true}});
  }
  // A directory without a record is not testbed's.
  fs::create_directories(part.path() + "/0123456789abcdef-3/somebodys");
  part.RemoveLeftovers({"0123456789abcdef-1"});
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(part.path())) {
    left.insert(entry.path().filename());
  }
  EXPECT_EQ(left, (std::set<std::string>{"0123456789abcdef-3", needed, "mine"}));
  EXPECT_NE(PartId(path_), PartId("/"));
  fs::create_directory_symlink(path_, path_ + "/link");
  EXPECT_EQ(PartId(path_ + "/link"), PartId(path_)) << "one directory by two names";
}

}  // namespace
}  // namespace testbed
