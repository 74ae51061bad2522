#include "device/machine/read_limit.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "device/error.h"
#include "device/file/file.h"

namespace testbed {
namespace {

// A lower bound of the time does not depend on the speed of the machine.
TEST(ReadLimitTest, ReadsOfTheProcessesInItAreNoFaster) {
  constexpr int kReads = 400, kPerSecond = 400;
  constexpr size_t kPage = 4096;
  if (::geteuid() != 0) GTEST_SKIP() << "a cgroup needs root";
  std::string pattern = std::filesystem::current_path() / "read_limit_test_XXXXXX";
  const std::string dir = mkdtemp(pattern.data());
  const auto device = BlockDevice::Find(dir);
  if (!device) GTEST_SKIP() << "no block device under " << dir;
  std::string why;
  auto limit = ReadLimit::Create(*device, kPerSecond, nullptr, &why);
  if (limit == nullptr) GTEST_SKIP() << why;
  const std::string group = limit->path();
  EXPECT_TRUE(std::filesystem::exists(group));
  FileOptions options;
  options.mode = IoMode::kDirect;
  options.create = FileOptions::kMustCreate;
  auto file = File::Open(dir + "/f", options);
  AlignedBuffer page(kPage);
  for (int i = 0; i < kReads; ++i) {
    file->Write(static_cast<uint64_t>(i) * kPage, page.data(), kPage);
  }
  file->Sync(true);
  const auto seconds = [&](bool enter) {
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        if (enter) limit->Enter();
        for (int i = 0; i < kReads; ++i) {
          file->Read(static_cast<uint64_t>(i) * kPage, page.data(), kPage);
        }
      } catch (const Error&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  // The kernel lets the reads of a few tenths of a second pass at once.
  EXPECT_GT(seconds(true), 0.6 * kReads / kPerSecond);
  limit.reset();
  EXPECT_FALSE(std::filesystem::exists(group));
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace testbed
