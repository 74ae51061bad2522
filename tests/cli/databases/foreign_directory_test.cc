// Tests that root makes no database where another user could lead it to other files, and makes one
// where it is called by sudo.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/cli/command.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr char kSmallLoad[] =
    "--engine btree --ram 32M --rows 100 --workload insert --account file --quiet ";

class ForeignDirectoryCommandTest : public CommandTest {
 protected:
  static constexpr uid_t kOther = 65534;

  void SetUp() override {
    CommandTest::SetUp();
    if (::geteuid() != 0) GTEST_SKIP() << "only root is asked, and can make another user's files";
    fs::create_directories(directory_ / "open/theirs");
    ASSERT_EQ(::chmod((directory_ / "open").c_str(), 01777), 0);
    ASSERT_EQ(::chown((directory_ / "open/theirs").c_str(), kOther, kOther), 0);
  }
  // Runs testbed in the directory of the other user.
  CommandResult RunInTheirs(const std::string& arguments) {
    const fs::path own = directory_;
    directory_ /= "open/theirs";
    CommandResult result = Run(arguments, "env -u SUDO_UID");
    fs::remove(own / "open/theirs.err");
    directory_ = own;
    return result;
  }
  bool TheirsIsEmpty() const { return fs::is_empty(directory_ / "open/theirs"); }
};

TEST_F(ForeignDirectoryCommandTest, NoDatabaseIsMadeInAnothersDirectoryWhereAllMayWrite) {
  for (const std::string command : {"", "crashtest --kills 1 "}) {
    for (const std::string dir : {"open/theirs", "open/theirs/db", "open/../open/theirs/a/b/"}) {
      SCOPED_TRACE(command + dir);
      const std::string load = command.empty() ? kSmallLoad : "--engine btree ";
      ExpectRefused(Run(command + load + "--dir " + dir, "env -u SUDO_UID"),
                    "open/theirs belongs to another user");
      EXPECT_TRUE(TheirsIsEmpty());
    }
  }
  // Nobody but root can rename a directory that root owns there.
  const CommandResult own = Run(kSmallLoad + std::string("--dir open/roots"), "env -u SUDO_UID");
  EXPECT_EQ(own.code, 0) << own.err;
}

TEST_F(ForeignDirectoryCommandTest, NorInOneThatIsTheWorkingDirectory) {
  ExpectRefused(RunInTheirs(kSmallLoad), "open/theirs belongs to another user");
  ExpectRefused(RunInTheirs(kSmallLoad + std::string("--scratch 64M")),
                "open/theirs belongs to another user");
  ExpectRefused(RunInTheirs("crashtest --engine btree --kills 1"),
                "open/theirs belongs to another user");
  EXPECT_TRUE(TheirsIsEmpty());
}

TEST_F(ForeignDirectoryCommandTest, NorIsADatabaseCopiedThereOrRewritten) {
  ASSERT_EQ(Run(kSmallLoad + std::string("--dir d"), "env -u SUDO_UID").code, 0);
  for (const char* to : {"open/theirs", "open/theirs/a/b/"}) {
    ExpectRefused(Run(std::string("backup d --to ") + to, "env -u SUDO_UID"),
                  "open/theirs belongs to another user");
  }
  EXPECT_TRUE(TheirsIsEmpty());
  fs::copy(directory_ / "d", directory_ / "open/theirs/d", fs::copy_options::recursive);
  for (const char* command : {"compact open/theirs/d", "backup open/theirs/d --to copy"}) {
    ExpectRefused(Run(command, "env -u SUDO_UID"), "open/theirs belongs to another user");
  }
  EXPECT_FALSE(fs::exists(directory_ / "copy"));
}

TEST_F(ForeignDirectoryCommandTest, WhoCallsRootBySudoHasItsOwn) {
  const CommandResult result =
      Run(kSmallLoad + std::string("--dir open/theirs/db"), "SUDO_UID=" + std::to_string(kOther));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(fs::exists(directory_ / "open/theirs/db/testbed.json"));
}

}  // namespace
}  // namespace testbed
