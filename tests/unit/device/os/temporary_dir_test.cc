// Tests which temporary directories count as leftovers of killed runs.
#include "device/os/temporary_dir.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "device/os/sys_file.h"

namespace testbed {
namespace {

// Two hosts work in one directory of a file server. Neither sees the locks of the other.
TEST(TemporaryDirTest, WhereAnotherHostServesTheFilesNothingIsALeftover) {
  std::string parent = std::filesystem::current_path() / "temporary_dir_test_XXXXXX";
  ASSERT_NE(::mkdtemp(parent.data()), nullptr);
  const std::optional<uint64_t> id = MountIdOf(parent);
  if (!id) GTEST_SKIP() << "this kernel does not tell the ids of mounts";
  TemporaryDir(parent).Keep();
  std::filesystem::create_directories(parent + "/proc/self");
  const auto leftovers_on = [&](const std::string& type) {
    std::ofstream(parent + "/proc/self/mountinfo")
        << fmt::format("{} 1 0:50 / {} rw,relatime - {} server:/export rw\n", *id, parent, type);
    return TemporaryDir::Leftovers(parent, parent).size();
  };
  EXPECT_EQ(leftovers_on("nfs4"), 0u);
  EXPECT_EQ(leftovers_on("fuse.sshfs"), 0u);
  EXPECT_EQ(leftovers_on("ext4"), 1u);
  std::filesystem::remove_all(parent);
}

}  // namespace
}  // namespace testbed
