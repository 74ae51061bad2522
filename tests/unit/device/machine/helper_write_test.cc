#include "device/machine/helper_write.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "device/os/sys_file.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class HelperWriteTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::current_path() / "helper_write_test_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    file_ = pattern + "/file";
  }
  void TearDown() override { fs::remove_all(fs::path(file_).parent_path()); }
  std::string file_;
};

TEST_F(HelperWriteTest, WritesWhatTheKernelTakes) {
  const auto left = [] { return uint64_t{0}; };
  EXPECT_EQ(WriteInHelper(file_, "4096", milliseconds(60000), left), WriteEnd::kRefused);
  EXPECT_FALSE(fs::exists(file_));
  std::ofstream(file_) << "";
  EXPECT_EQ(WriteInHelper(file_, "4096", milliseconds(60000), left), WriteEnd::kDone);
  EXPECT_EQ(ReadLine(file_), "4096");
}

// Nobody reads the pipe, so that a writer waits for as long as it lives.
TEST_F(HelperWriteTest, AWriteThatMakesNoProgressIsGivenUp) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  const auto seconds = [&](uint64_t falls) {
    uint64_t left = 1000;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(WriteInHelper(file_, "0", milliseconds(50),
                            [&] { return left > 1000 - falls ? --left : left; }),
              WriteEnd::kStuck);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  EXPECT_LT(seconds(0), 10);
  // The function asks `left` once a millisecond at most.
  EXPECT_GE(seconds(300), 0.25);
  EXPECT_LT(seconds(1000), 10);
}

}  // namespace
}  // namespace testbed
