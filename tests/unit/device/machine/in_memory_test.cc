// Tests which directories lie in memory, with the mount table of another machine.
#include "device/machine/in_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "device/file/page_cache.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

TEST(InMemoryTest, WhatCannotBeKnownLiesOnADisk) {
  EXPECT_FALSE(LiesInMemory("/proc"));
  EXPECT_FALSE(LiesInMemory("/no/such/path"));
}

// A live CD has such an overlay as its root, whose files have no device.
TEST(InMemoryTest, AnOverlayLiesWhereItsUpperLayerDoes) {
  const std::string memory = "/dev/shm";
  if (!IsInMemory(memory)) GTEST_SKIP() << memory << " is on no tmpfs here";
  EXPECT_TRUE(LiesInMemory(memory));
  const std::string place = "/proc";  // a mount that is taken for the overlay
  const std::optional<uint64_t> id = MountIdOf(place);
  if (!id) GTEST_SKIP() << "this kernel does not tell the ids of mounts";
  std::string prefix = std::filesystem::current_path() / "in_memory_test_XXXXXX";
  ASSERT_NE(::mkdtemp(prefix.data()), nullptr);
  std::filesystem::create_directories(prefix + "/proc/self");
  const auto with_upper = [&](const std::string& upper) {
    std::ofstream(prefix + "/proc/self/mountinfo") << fmt::format(
        "{} 1 0:50 / {} rw,relatime - overlay overlay rw,lowerdir=/lower{}\n", *id, place, upper);
    return LiesInMemory(place, prefix);
  };
  EXPECT_TRUE(with_upper(",upperdir=" + memory + ",workdir=/work"));
  EXPECT_FALSE(with_upper("")) << "an overlay that is read alone has no upper layer";
  EXPECT_FALSE(with_upper(",upperdir=/no/such/path")) << "as a container sees it";
  EXPECT_FALSE(with_upper(",upperdir=" + place)) << "a layer below itself";
  EXPECT_FALSE(with_upper(",upperdir=dev/shm")) << "a relative path";
  std::filesystem::remove_all(prefix);
}

}  // namespace
}  // namespace testbed
