// Tests that a disk that loses power, and a scratch device over one, are made of the files that
// they were given open, and not of what another user has put under their names since; and what a
// power cut leaves that tears no write.
#include "device/machine/fault_disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "device/error.h"
#include "device/machine/scratch.h"
#include "tests/refused_call.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// All files are in a directory of the test, which does what another user who can write there could
// do.
class FaultDiskTest : public testing::Test {
 protected:
  static constexpr uint64_t kBytes = 1 << 20;

  void SetUp() override {
    std::string why;
    if (!FaultDisk::Available(&why) || !ScratchDevice::Available(&why)) GTEST_SKIP() << why;
    std::string pattern = fs::current_path() / "fault_disk_test_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    try {
      EnterPrivateMountNamespace();
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();  // an earlier test of this process left a thread
    }
    image_ = ::open((dir_ + "/image").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ASSERT_GE(image_, 0);
    ASSERT_EQ(::ftruncate(image_, kBytes), 0);
    fs::create_directory(dir_ + "/mount");
    mount_ = ::open((dir_ + "/mount").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(mount_, 0);
    fs::create_directory(dir_ + "/theirs");
    std::ofstream(dir_ + "/theirs/disk") << kPrecious;
  }
  void TearDown() override {
    for (const int fd : {image_, mount_}) {
      if (fd >= 0) ::close(fd);
    }
    if (!dir_.empty()) fs::remove_all(dir_);
  }
  static std::string TextOf(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Writes a sector to the disk, and flushes it to the image.
  static void WriteSector(FaultDisk* disk) {
    const int fd = disk->Open(O_RDWR);
    const std::string sector(512, 'x');
    EXPECT_EQ(::pwrite(fd, sector.data(), sector.size(), 0), 512);
    EXPECT_EQ(::fsync(fd), 0);
    ::close(fd);
  }

  const std::string kPrecious = "theirs";
  std::string dir_;
  int image_ = -1, mount_ = -1;
};

TEST_F(FaultDiskTest, ItsImageIsTheOpenFileWhateverHasTheName) {
  fs::rename(dir_ + "/image", dir_ + "/moved");
  fs::create_symlink("theirs/disk", dir_ + "/image");
  {
    const auto disk = FaultDisk::Start(image_, kBytes, dir_ + "/mount", mount_);
    WriteSector(disk.get());
  }
  EXPECT_EQ(TextOf(dir_ + "/theirs/disk"), kPrecious);
  EXPECT_EQ(TextOf(dir_ + "/moved").substr(0, 513), std::string(512, 'x') + '\0');
}

TEST_F(FaultDiskTest, ACutThatTearsNothingKeepsOrLosesEachWriteAsAWhole) {
  constexpr size_t kWrite = 4096;
  {
    const auto disk = FaultDisk::Start(image_, kBytes, dir_ + "/mount", mount_);
    const int fd = disk->Open(O_RDWR);
    const std::string bytes(kWrite, 'x');
    for (uint64_t at = 0; at < kBytes; at += kWrite) {
      EXPECT_EQ(::pwrite(fd, bytes.data(), kWrite, static_cast<off_t>(at)),
                static_cast<ssize_t>(kWrite));
    }
    disk->Cut(7, 50, false);
    ::close(fd);
  }
  const std::string image = TextOf(dir_ + "/image");
  ASSERT_EQ(image.size(), kBytes);
  int kept = 0;
  for (uint64_t at = 0; at < kBytes; at += kWrite) {
    kept += image[at] == 'x' ? 1 : 0;
    EXPECT_EQ(image.substr(at, kWrite), std::string(kWrite, image[at])) << at;
  }
  EXPECT_NEAR(kept, static_cast<int>(kBytes / kWrite) / 2, 50);
}

// The process that serves the disk would keep its parent's files open, and the parent could not
// unmount what they lie on. Linux before 5.9 has no close_range(2), and filters of containers
// refuse it.
TEST_F(FaultDiskTest, ItsProcessKeepsNoFileOfItsParentWhereTheKernelClosesNoRange) {
  const int code = ExitCodeWithout(SYS_close_range, ENOSYS, [&] {
    int low[2], high[2];
    if (::pipe2(low, O_NONBLOCK) != 0 || ::pipe2(high, O_NONBLOCK) != 0) return 1;
    constexpr int kBehindAll = 500;  // above the descriptors that the process needs
    if (::dup2(high[1], kBehindAll) != kBehindAll) return 2;
    const auto disk = FaultDisk::Start(image_, kBytes, dir_ + "/mount", mount_);
    for (const int fd : {low[1], high[1], kBehindAll}) ::close(fd);
    char none;
    // A pipe that nobody can write to any more has ended.
    return ::read(low[0], &none, 1) == 0 && ::read(high[0], &none, 1) == 0 ? 0 : 3;
  });
  if (code == kCannotRefuse) GTEST_SKIP() << kNoFilters;
  EXPECT_EQ(code, 0);
}

TEST_F(FaultDiskTest, WhatHasTheNameOfItsMountPointIsNotOpenedInItsPlace) {
  {
    const auto disk = FaultDisk::Start(image_, kBytes, dir_ + "/mount", mount_);
    WriteSector(disk.get());
  }
  fs::rename(dir_ + "/mount", dir_ + "/moved");
  fs::create_directory_symlink("theirs", dir_ + "/mount");
  auto disk = FaultDisk::Start(image_, kBytes, dir_ + "/mount", mount_);
  EXPECT_EQ(fs::file_size(dir_ + "/moved/disk"), kBytes) << "mounted on the open directory";
  try {
    disk->Open(O_RDWR);
    FAIL() << "opened another file";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("is not the disk"), std::string::npos) << e.what();
  }
  fs::remove(dir_ + "/mount");
  fs::create_directory(dir_ + "/mount");
  fs::create_symlink("../moved/disk", dir_ + "/mount/disk");
  EXPECT_THROW(disk->Open(O_RDWR), Error) << "it is a link";
  EXPECT_EQ(TextOf(dir_ + "/theirs/disk"), kPrecious);
  disk.reset();  // unmounts the disk by its name
  EXPECT_EQ(::umount2((dir_ + "/moved").c_str(), MNT_DETACH), 0);
}

TEST_F(FaultDiskTest, ItsImageIsARegularFile) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  EXPECT_THROW(FaultDisk::Start(ends[1], kBytes, dir_ + "/mount", mount_), Error);
  for (const int end : ends) ::close(end);
}

// The image of a scratch device is written for seconds before the disk opens it.
TEST_F(FaultDiskTest, AnImageThatIsRenamedWhileItIsWrittenStaysTheImage) {
  ScratchOptions options;
  options.directory = dir_ + "/mount";
  options.bytes = ScratchDevice::MinimumBytes(options.file_system);
  options.fault_disk = true;
  bool renamed = false;
  options.progress = [&](uint64_t, uint64_t) {
    if (renamed) return;
    renamed = true;
    const fs::path image = fs::directory_iterator(options.directory)->path();
    fs::rename(image, dir_ + "/moved");
    fs::create_symlink(dir_ + "/theirs/disk", image);
  };
  {
    const auto scratch = ScratchDevice::Create(options);
    std::ofstream(scratch->path() + "/f") << "x";
    scratch->Sync();
  }
  EXPECT_TRUE(renamed);
  EXPECT_EQ(TextOf(dir_ + "/theirs/disk"), kPrecious);
}

// A file system may have no locks, as one of another host may. Once, a hundred images were tried,
// and left there.
TEST_F(FaultDiskTest, AnImageThatTheSystemDoesNotLockIsNotLeftBehind) {
  ScratchOptions options;
  options.directory = dir_ + "/mount";
  options.bytes = ScratchDevice::MinimumBytes(options.file_system);
  const int code = ExitCodeWithout(SYS_flock, ENOLCK, [&] {
    try {
      ScratchDevice::Create(options);
      return 1;
    } catch (const Error& e) {
      return e.code() == ENOLCK ? 0 : 2;
    }
  });
  if (code == kCannotRefuse) GTEST_SKIP() << kNoFilters;
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(fs::is_empty(options.directory));
}

TEST_F(FaultDiskTest, NoScratchDeviceIsMadeWhereAnotherUserCouldReplaceIt) {
  fs::create_directories(dir_ + "/open/theirs");
  ASSERT_EQ(::chmod((dir_ + "/open").c_str(), 01777), 0);
  ASSERT_EQ(::chown((dir_ + "/open/theirs").c_str(), 65534, 65534), 0);
  ScratchOptions options;
  options.directory = dir_ + "/open/theirs";
  options.bytes = ScratchDevice::MinimumBytes(options.file_system);
  try {
    ScratchDevice::Create(options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_NE(std::string(e.what()).find("belongs to another user"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(fs::is_empty(options.directory));
}

}  // namespace
}  // namespace testbed
