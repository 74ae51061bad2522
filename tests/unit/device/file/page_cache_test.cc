#include "device/file/page_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "device/error.h"
#include "device/file/durable.h"

namespace testbed {
namespace {

constexpr size_t kMiB = 1 << 20;

class PageCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "page_cache_test_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    if (IsInMemory(directory_)) {
      GTEST_SKIP() << "the files of " << directory_ << " live in memory and cannot be evicted";
    }
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Make(const std::string& name, size_t size, bool sync) {
    const std::string path = directory_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
    const std::vector<char> bytes(size, 'x');
    EXPECT_EQ(write(fd, bytes.data(), size), static_cast<ssize_t>(size));
    EXPECT_EQ(sync ? fsync(fd) : 0, 0);
    close(fd);
    return path;
  }
  std::string directory_;
};

// A write-back that failed is told once. Whatever the device says, it must not pass for a call that
// the system lacks.
TEST(RangeSyncTest, AnErrorOfADeviceIsNoAbsentCall) {
  for (const int code : {ENOSYS, EOPNOTSUPP, ENOTSUP, ESPIPE, EPERM}) {
    EXPECT_TRUE(LacksRangeSync(code)) << code;
  }
  for (const int code : {EIO, ENOSPC, EDQUOT, ENODATA, ETIMEDOUT, EREMOTEIO, ENOLINK, EILSEQ,
                         ENOMEM, EAGAIN, EROFS, ENXIO, EBADF, 0}) {
    EXPECT_FALSE(LacksRangeSync(code)) << code;
  }
}

TEST_F(PageCacheTest, DroppedPagesAreGoneAndReadOnesAreBack) {
  const std::string path = Make("f", 4 * kMiB, true);
  EXPECT_EQ(Residency(path).cached, 4 * kMiB);
  const DropResult dropped = DropPages(path);
  EXPECT_EQ(dropped.before.cached, 4 * kMiB);
  EXPECT_EQ(dropped.after.cached, 0u);
  EXPECT_EQ(dropped.dropped(), 4 * kMiB);
  EXPECT_EQ(Residency(path).cached, 0u);

  const int fd = open(path.c_str(), O_RDONLY);
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  std::vector<char> page(8192);
  ASSERT_EQ(pread(fd, page.data(), page.size(), kMiB), 8192);
  close(fd);
  EXPECT_EQ(Residency(path).cached, 8192u);
}

TEST_F(PageCacheTest, DirtyPagesAreSeenAndWrittenBackBeforeTheDrop) {
  const std::string path = Make("f", kMiB, false);
  const PageCacheUse use = Residency(path);
  if (!use.exact) GTEST_SKIP() << "this kernel has no cachestat(2), which tells dirty pages";
  EXPECT_EQ(use.cached, kMiB);
  EXPECT_EQ(use.dirty + use.writeback, kMiB);
  const DropResult dropped = DropPages(path);
  EXPECT_EQ(dropped.after.cached, 0u);
  EXPECT_EQ(dropped.after.dirty, 0u);
  std::vector<char> bytes(kMiB);
  const int fd = open(path.c_str(), O_RDONLY);
  ASSERT_EQ(read(fd, bytes.data(), kMiB), static_cast<ssize_t>(kMiB));
  close(fd);
  EXPECT_EQ(bytes, std::vector<char>(kMiB, 'x'));
}

TEST_F(PageCacheTest, MincoreAgreesWithCachestat) {
  const std::string path = Make("f", 2 * kMiB + 100, true);
  DropPages(path);
  const int fd = open(path.c_str(), O_RDONLY);
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  std::vector<char> bytes(kMiB);
  ASSERT_EQ(pread(fd, bytes.data(), bytes.size(), 64 * 1024), static_cast<ssize_t>(kMiB));
  const PageCacheUse best = Residency(fd, path);
  const PageCacheUse slow = Residency(fd, path, ResidencySource::kMincore);
  EXPECT_EQ(best.cached, slow.cached);
  EXPECT_EQ(slow.cached, kMiB);
  EXPECT_FALSE(slow.exact);
  EXPECT_EQ(slow.size, 2 * kMiB + 100);
  close(fd);
}

TEST_F(PageCacheTest, TreesAreSummedAndLinksPassedOver) {
  Make("a", kMiB, true);
  Make("sub/b", 2 * kMiB, true);
  Make("sub/deeper/empty", 0, true);
  std::filesystem::create_symlink(directory_ + "/a", directory_ + "/sub/link");
  std::filesystem::create_directory_symlink(directory_, directory_ + "/sub/loop");
  const PageCacheUse use = Residency(directory_);
  EXPECT_EQ(use.files, 3u);
  EXPECT_EQ(use.size, 3 * kMiB);
  EXPECT_EQ(use.cached, 3 * kMiB);
  EXPECT_EQ(DropPages(directory_).dropped(), 3 * kMiB);
  EXPECT_EQ(Residency(directory_).cached, 0u);
  EXPECT_EQ(Residency(directory_ + "/sub/link").size, kMiB) << "a path that is itself a link";
}

// An engine may remove directories meanwhile.
TEST_F(PageCacheTest, ADirectoryThatVanishesEndsNoWalk) {
  namespace fs = std::filesystem;
  constexpr uint64_t kStaying = 20;
  for (uint64_t i = 0; i < kStaying; ++i) Make("stays" + std::to_string(i) + "/file", 1, false);
  std::atomic<bool> stop{false};
  std::thread remover([&] {
    std::error_code ignored;
    for (uint64_t i = 0; !stop.load(); ++i) {
      const std::string goes = directory_ + "/goes" + std::to_string(i % kStaying);
      fs::create_directory(goes, ignored);
      fs::remove(goes, ignored);
    }
  });
  uint64_t least = kStaying;
  for (int walk = 0; walk < 300; ++walk) least = std::min(least, Residency(directory_).files);
  stop = true;
  remover.join();
  EXPECT_EQ(least, kStaying);
}

TEST_F(PageCacheTest, AMissingPathIsAnError) {
  EXPECT_THROW(Residency(directory_ + "/none"), Error);
  EXPECT_THROW(DropPages(directory_ + "/none"), Error);
}

TEST_F(PageCacheTest, AnEmptyDirectoryHoldsNothing) {
  EXPECT_EQ(Residency(directory_).files, 0u);
  EXPECT_EQ(DropPages(directory_).dropped(), 0u);
}

// Mounts an overlay in a child process, which alone sees it, and calls `look` there with the path
// of a dirty file of 1 MiB and that of the same file in the layer below. Returns what `look`
// returns, and 77 where there is no overlay.
int OnOverlay(const std::string& directory,
              int (*look)(const std::string& path, const std::string& below)) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const char* name : {"lower", "upper", "work", "merged"}) {
      std::filesystem::create_directory(directory + "/" + name);
    }
    const std::string options = "lowerdir=" + directory + "/lower,upperdir=" + directory +
                                "/upper,workdir=" + directory + "/work";
    const std::string merged = directory + "/merged";
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("overlay", merged.c_str(), "overlay", 0, options.c_str()) != 0) {
      ::_exit(77);
    }
    const int fd = ::open((merged + "/f").c_str(), O_RDWR | O_CREAT, 0600);
    const std::vector<char> bytes(kMiB, 'x');
    if (::write(fd, bytes.data(), kMiB) != static_cast<ssize_t>(kMiB)) ::_exit(78);
    ::_exit(look(merged + "/f", directory + "/upper/f"));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(PageCacheTest, PagesOfAnOverlayAreSeen) {
  const int seen = OnOverlay(directory_, [](const std::string& path, const std::string&) {
    return Residency(path).cached == kMiB ? 0 : 1;
  });
  if (seen == 77) GTEST_SKIP() << "no overlay can be mounted";
  EXPECT_EQ(seen, 0);
}

TEST_F(PageCacheTest, PagesOfAnOverlayAreWrittenBack) {
  const int left = OnOverlay(directory_, [](const std::string& path, const std::string& below) {
    if (!Residency(below).exact) return 77;
    const std::unique_ptr<File> file = File::Open(path, {.create = FileOptions::kMayExist});
    WriteBack(*file, 0, kMiB);
    return Residency(below).dirty == 0 ? 0 : 1;
  });
  if (left == 77) GTEST_SKIP() << "no overlay can be mounted, or there is no cachestat(2)";
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace testbed
