// Tests the readahead of a real block device, a small loop device made for the test. Needs root.
#include "device/machine/readahead.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "device/error.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

std::string Output(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  char block[256];
  while (pipe != nullptr && fgets(block, sizeof(block), pipe) != nullptr) text += block;
  if (pipe == nullptr || pclose(pipe) != 0) return "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class ReadaheadEngineTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || access("/dev/loop-control", R_OK | W_OK) != 0) {
      GTEST_SKIP() << "a loop device needs root and /dev/loop-control";
    }
    std::string pattern = fs::current_path() / "readahead_engine_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    places_.state_directories = {directory_ + "/state"};
    std::ofstream(directory_ + "/image").close();
    fs::resize_file(directory_ + "/image", 4 << 20);
    Attach();
    if (node_.empty()) GTEST_SKIP() << "losetup could not attach a loop device";
  }
  void TearDown() override {
    if (!node_.empty()) Detach();
    if (!directory_.empty()) fs::remove_all(directory_);
  }
  void Attach() {
    node_ = Output("losetup --show -f " + directory_ + "/image");
    device_ = fs::path(node_).filename();
  }
  void Detach() {
    Output("losetup -d " + node_);
    node_.clear();
  }
  uint64_t Kb() const {
    return ReadNumber("/sys/block/" + device_ + "/queue/read_ahead_kb").value_or(9999);
  }
  void KilledRun(uint64_t kb) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      const ReadaheadGuard guard(device_, kb, places_);
      if (write(ready[1], "x", 1) != 1) _exit(1);
      pause();
    }
    char any;
    ASSERT_EQ(read(ready[0], &any, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ready[0]), close(ready[1]);
  }

  std::string directory_, node_, device_;
  ReadaheadPlaces places_;
};

TEST_F(ReadaheadEngineTest, HoldsForTheRunAndIsPutBack) {
  const uint64_t before = Kb();
  {
    const auto guard = ReadaheadGuard::Under(node_, 16, places_);
    EXPECT_EQ(guard->device(), device_);
    EXPECT_EQ(Kb(), 16u);
  }
  EXPECT_EQ(Kb(), before);
}

TEST_F(ReadaheadEngineTest, AKilledRunsSettingIsPutBackByTheNext) {
  const uint64_t before = Kb();
  KilledRun(16);
  EXPECT_EQ(Kb(), 16u);
  const auto sentences = ReadaheadGuard::RestoreStale(places_);
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_EQ(Kb(), before);
  EXPECT_TRUE(ReadaheadGuard::RestoreStale(places_).empty());
}

TEST_F(ReadaheadEngineTest, ADeviceThatIsGoneIsNoProblem) {
  KilledRun(16);
  Detach();
  EXPECT_EQ(ReadaheadGuard::RestoreStale(places_).size(), 1u);
  EXPECT_TRUE(fs::is_empty(directory_ + "/state"));
}

TEST_F(ReadaheadEngineTest, ADetachedDevicesNameIsAnothersWhenItIsUsedAgain) {
  KilledRun(16);
  Detach();
  Attach();
  const auto other = ReadaheadGuard::Under(node_, 64, places_);
  EXPECT_EQ(Kb(), 64u);
  ReadaheadGuard::RestoreStale(places_);
  EXPECT_EQ(Kb(), 64u) << "the killed run's note is of another device";
}

}  // namespace
}  // namespace testbed
