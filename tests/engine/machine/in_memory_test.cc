// Tests which devices lie in memory, on the kernel of this machine. Needs root and loop devices.
#include "device/machine/in_memory.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "device/account/block_device.h"
#include "device/file/page_cache.h"

namespace testbed {
namespace {

// Returns the first word that the command writes.
std::string FirstWord(const std::string& command) {
  FILE* const pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  char word[64] = "";
  if (pipe == nullptr || ::fscanf(pipe, "%63s", word) != 1) word[0] = 0;
  if (pipe != nullptr) ::pclose(pipe);
  return word;
}

// A loop device over an image in a new directory of `parent`.
class LoopOverImage {
 public:
  explicit LoopOverImage(const std::string& parent) : directory_(parent + "/in_memory_XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) return;
    const std::string image = directory_ + "/image";
    node_ = FirstWord("truncate -s 16M " + image + " && losetup -f --show " + image);
  }
  ~LoopOverImage() {
    if (!node_.empty()) FirstWord("losetup -d " + node_);
    std::filesystem::remove_all(directory_);
  }
  LoopOverImage(const LoopOverImage&) = delete;
  LoopOverImage& operator=(const LoopOverImage&) = delete;

  void RemoveImage() const { std::filesystem::remove(directory_ + "/image"); }
  const std::string& node() const { return node_; }  // empty when there is no device

 private:
  std::string directory_, node_;
};

TEST(InMemoryEngineTest, ALoopDeviceLiesWhereItsImageDoes) {
  const std::string memory = "/dev/shm", disk = std::filesystem::current_path();
  if (::geteuid() != 0) GTEST_SKIP() << "loop devices need root";
  if (!IsInMemory(memory)) GTEST_SKIP() << memory << " is on no tmpfs here";
  const LoopOverImage in_memory(memory), on_disk(disk);
  if (in_memory.node().empty() || on_disk.node().empty()) GTEST_SKIP() << "no loop device";
  EXPECT_TRUE(LiesInMemory(BlockDevice::Under(in_memory.node())));
  EXPECT_EQ(LiesInMemory(BlockDevice::Under(on_disk.node())), LiesInMemory(disk));
  in_memory.RemoveImage();
  EXPECT_TRUE(LiesInMemory(BlockDevice::Under(in_memory.node()))) << "the device has the image";
}

}  // namespace
}  // namespace testbed
