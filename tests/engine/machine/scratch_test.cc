#include "device/machine/scratch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/file/direct_io.h"
#include "device/file/durable.h"
#include "device/file/file.h"
#include "device/os/child_process.h"
#include "device/os/sys_file.h"
#include "engines/registry.h"
#include "tests/at_rest.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> Entries(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

std::string Text(const std::string& path) {
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// Returns whether the loop device is detached, or belongs to another image by now. A loop device
// detaches a moment after its last user is gone, and another test may take its number at once.
bool Detaches(const std::string& name, const std::string& directory) {
  for (int i = 0; i < 400; ++i) {
    const std::string image = Text("/sys/block/" + name + "/loop/backing_file");
    if (image.find(directory) == std::string::npos) return true;
    ::usleep(10000);
  }
  return false;
}

class ScratchTest : public testing::TestWithParam<FileSystem> {
 protected:
  void SetUp() override {
    std::string pattern = fs::current_path() / "scratch_test_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    std::string why;
    if (!ScratchDevice::Available(&why)) GTEST_SKIP() << why;
  }
  void TearDown() override { fs::remove_all(directory_); }
  ScratchOptions Options() const {
    ScratchOptions options;
    options.directory = directory_;
    options.file_system = GetParam();
    options.bytes = ScratchDevice::MinimumBytes(GetParam());
    return options;
  }
  std::string directory_;
};

TEST_P(ScratchTest, IsAnEmptyFileSystemOnADeviceOfItsOwn) {
  ScratchOptions options = Options();
  uint64_t last = 0, calls = 0;
  options.progress = [&](uint64_t done, uint64_t all) {
    EXPECT_GT(done, last);
    EXPECT_EQ(all, options.bytes);
    last = done;
    ++calls;
  };
  std::string loop;
  {
    auto scratch = ScratchDevice::Create(options);
    EXPECT_EQ(last, options.bytes);
    EXPECT_GT(calls, 4u);
    loop = scratch->device().name();
    struct statfs st;
    ASSERT_EQ(::statfs(scratch->path().c_str(), &st), 0);
    EXPECT_EQ(st.f_type, GetParam() == FileSystem::kExt4 ? 0xEF53 : 0x58465342);
    EXPECT_EQ(st.f_bsize, 4096);
    EXPECT_EQ(BlockDevice::Under(scratch->path()).name(), loop);
    EXPECT_EQ(Text("/sys/block/" + loop + "/loop/dio"), "1\n");
    EXPECT_EQ(Text("/sys/block/" + loop + "/loop/autoclear"), "1\n");
    // The next scratch device on this loop device must not inherit the readahead that a run has
    // set.
    EXPECT_EQ(scratch->device().readahead_kb(), ScratchDevice::kReadaheadKb);
    std::ofstream("/sys/block/" + loop + "/queue/read_ahead_kb") << 640;
    // No other process sees the mount, and the image has no name any more.
    EXPECT_THAT(Text("/proc/1/mountinfo"), testing::Not(HasSubstr(scratch->path())));
    EXPECT_EQ(Entries(directory_).size(), 1u) << "only the mount point";
    // Every direct write is one request of its size on the device: no second cache below.
    FileOptions file_options;
    file_options.mode = IoMode::kDirect;
    file_options.create = FileOptions::kMustCreate;
    auto file = File::Open(scratch->path() + "/f", file_options);
    AlignedBuffer page(8192);
    for (int i = 0; i < 100; ++i) file->Write(i * 8192, page.data(), 8192);
    file->Sync(true);
    ASSERT_TRUE(ComesToRest(scratch->device(), 5000));
    const DeviceStats before = scratch->device().Stats();
    for (int i = 0; i < 100; ++i) file->Read(i * 8192, page.data(), 8192);
    const DeviceStats cost = scratch->device().Stats() - before;
    EXPECT_EQ(cost.reads, 100u);
    EXPECT_EQ(cost.read_bytes, 100u * 8192);
  }
  EXPECT_TRUE(Detaches(loop, directory_));
  EXPECT_THAT(Entries(directory_), IsEmpty());
}

TEST_P(ScratchTest, APowerCutKeepsWhatWasSyncedAndLosesTheRest) {
  auto scratch = ScratchDevice::Create(Options());
  FileOptions options;
  options.create = FileOptions::kMayExist;
  const std::string old_text(8192, 'a'), new_text(8192, 'b');
  for (int round = 0; round < 3; ++round) {
    const std::string synced = scratch->path() + "/synced" + std::to_string(round);
    const std::string unsynced = scratch->path() + "/unsynced" + std::to_string(round);
    {
      auto a = File::Open(synced, options);
      auto b = File::Open(unsynced, options);
      a->Write(0, old_text.data(), old_text.size());
      b->Write(0, old_text.data(), old_text.size());
      a->Sync(true);
      b->Sync(true);
      a->Write(0, new_text.data(), new_text.size());
      a->Sync();
      b->Write(0, new_text.data(), new_text.size());
      scratch->Shutdown();
      EXPECT_THROW(b->Sync(), Error) << "a dead device takes nothing more";
    }
    EXPECT_TRUE(scratch->Remount());
    std::string text(8192, 'x');
    File::Open(synced, options)->Read(0, text.data(), text.size());
    EXPECT_EQ(text, new_text);
    File::Open(unsynced, options)->Read(0, text.data(), text.size());
    EXPECT_EQ(text, old_text);
  }
  auto open = File::Open(scratch->path() + "/synced0", options);
  try {
    scratch->Shutdown();
    EXPECT_TRUE(scratch->Remount());
    FAIL() << "unmounted under an open file";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("still open"));
  }
}

TEST_P(ScratchTest, KillingTheOwnerLeavesNothing) {
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string line = "error";
    std::unique_ptr<ScratchDevice> scratch;
    try {
      scratch = ScratchDevice::Create(Options());
      line = scratch->device().name() + " " + scratch->path();
      std::ofstream(scratch->path() + "/f") << "x";
    } catch (const std::exception& e) {
      line = e.what();
    }
    if (::write(pipe_fds[1], line.data(), line.size()) < 0) ::_exit(1);
    for (;;) ::pause();
  }
  char buffer[512];
  const ssize_t n = ::read(pipe_fds[0], buffer, sizeof buffer);
  ASSERT_GT(n, 0);
  const std::string line(buffer, static_cast<size_t>(n));
  ASSERT_TRUE(line.starts_with("loop")) << line;
  const std::string loop = line.substr(0, line.find(' '));
  const std::string path = line.substr(line.find(' ') + 1);
  EXPECT_TRUE(fs::exists("/sys/block/" + loop + "/loop/backing_file"));
  // The removal of leftovers must not touch a device that is in use.
  EXPECT_THAT(ScratchDevice::CleanLeftovers(directory_), IsEmpty());
  EXPECT_TRUE(fs::exists(path));

  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(pipe_fds[0]);
  ::close(pipe_fds[1]);
  EXPECT_TRUE(Detaches(loop, directory_));
  EXPECT_THAT(Text("/proc/self/mountinfo"), testing::Not(HasSubstr(path)));
  EXPECT_THAT(Entries(directory_), testing::ElementsAre(fs::path(path).filename()));
  EXPECT_THAT(ScratchDevice::CleanLeftovers(directory_),
              testing::ElementsAre(HasSubstr("mount point " + path)));
  EXPECT_THAT(Entries(directory_), IsEmpty());
}

TEST_P(ScratchTest, RefusesInOneSentence) {
  auto refusal = [](const ScratchOptions& options) -> std::string {
    try {
      ScratchDevice::Create(options);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  ScratchOptions options = Options();
  options.bytes = 1 << 20;
  EXPECT_THAT(refusal(options), HasSubstr("needs at least"));
  options.bytes = 1ull << 50;
  EXPECT_THAT(refusal(options), HasSubstr("are free: choose a smaller --scratch"));
  options = Options();
  options.directory += "/absent";
  EXPECT_THAT(refusal(options), HasSubstr("absent"));
  options = Options();
  options.mount_point = directory_ + "/absent";
  EXPECT_THAT(refusal(options), HasSubstr("absent"));
  EXPECT_THAT(Entries(directory_), IsEmpty());
}

// The test makes direct writes without a sync. A power cut of the file system alone would keep
// them.
TEST_P(ScratchTest, AFaultDiskKeepsWhatWasFlushedAndTearsTheRest) {
  std::string why;
  if (!FaultDisk::Available(&why)) GTEST_SKIP() << why;
  constexpr int kPages = 100;
  constexpr size_t kPage = 8192, kSector = 512;
  ScratchOptions options = Options();
  options.fault_disk = true;
  auto scratch = ScratchDevice::Create(options);
  FileOptions direct;
  direct.mode = IoMode::kDirect;
  direct.create = FileOptions::kMayExist;
  const std::string path = scratch->path() + "/f";
  AlignedBuffer page(kPage);
  char flushed = 'a';
  for (const int keep_pct : {0, 50, 100}) {
    SCOPED_TRACE(keep_pct);
    const char unflushed = static_cast<char>(flushed + 1);
    {
      auto file = File::Open(path, direct);
      for (const char content : {flushed, unflushed}) {
        std::memset(page.data(), content, kPage);
        for (int i = 0; i < kPages; ++i) {
          file->Write(static_cast<uint64_t>(i) * kPage, page.data(), kPage);
        }
        if (content == flushed) file->Sync(true);
        for (int i = 0; i < kPages; ++i) {
          file->Read(static_cast<uint64_t>(i) * kPage, page.data(), kPage);
          ASSERT_EQ(page.data()[kPage / 2], content) << "before the cut, what was written is read";
        }
      }
      scratch->CutPower(7, keep_pct);
      EXPECT_THROW(file->Read(0, page.data(), kPage), Error);
      EXPECT_THROW(file->Write(0, page.data(), kPage), Error);
    }
    EXPECT_TRUE(scratch->Remount());
    auto file = File::Open(path, direct);
    int kept = 0, torn = 0;
    for (int i = 0; i < kPages; ++i) {
      file->Read(static_cast<uint64_t>(i) * kPage, page.data(), kPage);
      int here = 0;
      for (size_t at = 0; at < kPage; at += kSector) {
        for (size_t byte = at; byte < at + kSector; ++byte) {
          ASSERT_EQ(page.data()[byte], page.data()[at]) << "a sector is whole";
        }
        ASSERT_TRUE(page.data()[at] == flushed || page.data()[at] == unflushed);
        here += page.data()[at] == unflushed ? 1 : 0;
      }
      kept += here;
      torn += here > 0 && here < static_cast<int>(kPage / kSector) ? 1 : 0;
    }
    const int sectors = kPages * static_cast<int>(kPage / kSector);
    EXPECT_NEAR(kept, sectors * keep_pct / 100, sectors / 20);
    EXPECT_EQ(torn, keep_pct == 50 ? kPages : 0);
    flushed = static_cast<char>(flushed + 2);
  }
}

// The rounds of disk errors of a crash test rest on it.
TEST_P(ScratchTest, AFaultDiskRefusesTheWritesToAFileThatItIsToRefuse) {
  std::string why;
  if (!FaultDisk::Available(&why)) GTEST_SKIP() << why;
  constexpr size_t kPage = 4096;
  ScratchOptions options = Options();
  options.fault_disk = true;
  auto scratch = ScratchDevice::Create(options);
  FileOptions direct;
  direct.mode = IoMode::kDirect;
  direct.create = FileOptions::kMayExist;
  const std::string path = scratch->path() + "/f";
  const auto file = File::Open(path, direct), other = File::Open(scratch->path() + "/g", direct);
  AlignedBuffer page(kPage);
  std::memset(page.data(), 'x', kPage);
  const auto writes = [&](const std::unique_ptr<File>& to) {
    try {
      to->Write(0, page.data(), kPage);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  for (const auto* each : {&file, &other}) {
    ASSERT_TRUE(writes(*each));
    (*each)->Sync(true);  // from here on it has a place on the disk
  }
  scratch->FailWrites(path, 1, 2);
  EXPECT_TRUE(writes(other));
  EXPECT_TRUE(writes(file)) << "the first one is to pass";
  EXPECT_FALSE(writes(file));
  EXPECT_TRUE(writes(other));
  EXPECT_FALSE(writes(file));
  EXPECT_TRUE(writes(file)) << "two were to fail";
  EXPECT_EQ(scratch->FailedWrites(), 2u);
  scratch->FailWrites(path, 0, 1);
  scratch->FailWrites("", 0, 0);
  EXPECT_TRUE(writes(file));
  EXPECT_EQ(scratch->FailedWrites(), 2u);
}

// With data=journal, ext4 accepts O_DIRECT, and reads and writes through the page cache.
TEST_P(ScratchTest, AFileForWhichTheFileSystemHasNoDirectIoIsNotOpenedForIt) {
  if (GetParam() != FileSystem::kExt4) GTEST_SKIP() << "data=journal is of ext4";
  const std::optional<std::string> tune = FindProgram("tune2fs");
  if (!tune) GTEST_SKIP() << "there is no tune2fs";
  auto scratch = ScratchDevice::Create(Options());
  const std::string path = scratch->path() + "/f";
  FileOptions options;
  options.mode = IoMode::kDirect;
  options.create = FileOptions::kMayExist;
  const std::string text(4096, 'a');
  File::Open(path, options)->Write(0, text.data(), text.size());
  try {
    RunProgram({*tune, "-o", "journal_data", scratch->device().node()});
  } catch (const Error& e) {
    GTEST_SKIP() << "this kernel lets nobody write to a mounted device: " << e.what();
  }
  ASSERT_TRUE(scratch->Remount());
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const DirectIo direct = DirectIoOf(fd);
  ::close(fd);
  if (!direct.told) GTEST_SKIP() << "this kernel does not tell which files have direct IO";
  EXPECT_TRUE(direct.in_page_cache) << direct.offset_align;
  try {
    File::Open(path, options);
    ADD_FAILURE() << "it was opened";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage) << e.what();
  }
  EXPECT_EQ(OpenPastPageCache(path, FileKind::kData)->options().mode, IoMode::kBuffered);
  // A library that opens its files itself takes O_DIRECT for direct IO.
  for (const EngineInfo& info : Engines()) {
    const Capabilities& can = info.capabilities;
    const bool direct = std::ranges::count(can.io_modes, IoMode::kDirect) > 0;
    if (!direct || can.file_layer || can.server || (info.missing && !info.missing().empty())) {
      continue;
    }
    EngineOptions options = DefaultEngineOptions(info);
    options.io = IoMode::kDirect;
    try {
      OpenEngine(info, scratch->path() + "/" + info.name, options);
      ADD_FAILURE() << info.name << " was opened";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage) << e.what();
      EXPECT_NE(std::string(e.what()).find("data=journal"), std::string::npos) << e.what();
    }
  }
}

// A failing disk may lose blocks without which the file system cannot be mounted.
TEST_P(ScratchTest, AFileSystemThatCannotBeMountedIsMadeAnew) {
  std::string why;
  if (!FaultDisk::Available(&why)) GTEST_SKIP() << why;
  ScratchOptions options = Options();
  options.fault_disk = true;  // Remount then drops the kernel's cache of the device
  auto scratch = ScratchDevice::Create(options);
  const std::string file = scratch->path() + "/f";
  std::ofstream(file) << "text";
  scratch->Sync();
  const std::string device = "/dev/" + scratch->device().name();
  const int fd = ::open(device.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC);
  if (fd < 0) GTEST_SKIP() << "this kernel lets nobody write to a mounted device";
  scratch->Shutdown();  // the file system writes nothing more
  constexpr size_t kBlock = 4096, kBytes = 1 << 20;
  AlignedBuffer zeros(kBytes);
  std::memset(zeros.data(), 0, kBytes);
  const ssize_t written = ::pwrite(fd, zeros.data(), kBytes - kBlock, kBlock);
  ::close(fd);
  ASSERT_EQ(written, static_cast<ssize_t>(kBytes - kBlock));
  EXPECT_FALSE(scratch->Remount());
  EXPECT_FALSE(fs::exists(file));
  std::ofstream(file) << "new";
  scratch->Sync();
  EXPECT_TRUE(scratch->Remount());
  EXPECT_EQ(Text(file), "new");
}

// The last process of a mount namespace unmounts what is in it. The process that serves the disk
// must not be that one: it would wait for itself, and all syncs of the machine would wait with it.
TEST_P(ScratchTest, TheProcessThatServesAFaultDiskHasNoMountOfItsParent) {
  ScratchOptions options = Options();
  options.fault_disk = true;
  const auto scratch = ScratchDevice::Create(options);
  const std::string self = std::to_string(::getpid());
  std::string server;
  std::ifstream("/proc/self/task/" + self + "/children") >> server;
  ASSERT_FALSE(server.empty());
  EXPECT_NE(fs::read_symlink("/proc/" + server + "/ns/mnt"), fs::read_symlink("/proc/self/ns/mnt"));
  EXPECT_THAT(Text("/proc/self/mountinfo"), HasSubstr(directory_));
  EXPECT_THAT(Text("/proc/" + server + "/mountinfo"), testing::Not(HasSubstr(directory_)));
  std::vector<std::string> open;
  for (const auto& fd : fs::directory_iterator("/proc/" + server + "/fd")) {
    const std::string path = fs::read_symlink(fd);
    if (path.starts_with(directory_)) open.push_back(path);
  }
  EXPECT_THAT(open, testing::ElementsAre(HasSubstr(".img (deleted)")));
}

INSTANTIATE_TEST_SUITE_P(FileSystems, ScratchTest,
                         testing::Values(FileSystem::kExt4, FileSystem::kXfs),
                         [](const auto& info) { return FileSystemName(info.param); });

TEST(ScratchLeftoversTest, RemovesImagesWithoutAnOwnerOnly) {
  std::string pattern = fs::current_path() / "scratch_test_XXXXXX";
  const std::string directory = mkdtemp(pattern.data());
  const std::string image = directory + "/.testbed-scratch-00000000000000a1.img";
  const std::string used = directory + "/.testbed-scratch-00000000000000a2.img";
  // The images are allocated, and not written yet.
  std::ofstream(image) << std::string(8192, '\0');
  std::ofstream(used) << std::string(8192, '\0');
  std::ofstream(directory + "/.testbed-scratch-00000000000000a4.img") << "precious";
  std::ofstream(directory + "/.testbed-scratch-1-1.img") << "precious";
  std::ofstream(directory + "/results.json") << "{}";
  fs::create_directory(directory + "/.testbed-scratch-00000000000000a3");
  std::ofstream(directory + "/.testbed-scratch-00000000000000a3/precious") << "x";
  const int fd = ::open(used.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  EXPECT_THAT(ScratchDevice::CleanLeftovers(directory), testing::ElementsAre(HasSubstr(image)));
  EXPECT_EQ(Entries(directory).size(), 5u);
  EXPECT_TRUE(fs::exists(directory + "/.testbed-scratch-00000000000000a3/precious"));
  ::close(fd);
  EXPECT_THAT(ScratchDevice::CleanLeftovers(directory), testing::ElementsAre(HasSubstr(used)));
  EXPECT_THROW(ScratchDevice::CleanLeftovers(directory + "/absent"), Error);
  fs::remove_all(directory);
}

// The mount point of a run on another host looks like one that a killed run has left.
TEST(ScratchLeftoversTest, WhereAnotherHostServesTheFilesNothingIsOne) {
  std::string directory = fs::current_path() / "scratch_test_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::optional<uint64_t> id = MountIdOf(directory);
  if (!id) GTEST_SKIP() << "this kernel does not tell the ids of mounts";
  const std::string point = directory + "/.testbed-scratch-00000000000000a1";
  fs::create_directory(point);
  fs::create_directories(directory + "/proc/self");
  std::ofstream(directory + "/proc/self/mountinfo")
      << *id << " 1 0:50 / " << directory << " rw,relatime - nfs4 server:/export rw\n";
  EXPECT_THAT(ScratchDevice::CleanLeftovers(directory, directory), IsEmpty());
  EXPECT_TRUE(fs::exists(point));
  EXPECT_EQ(ScratchDevice::CleanLeftovers(directory).size(), 1u);
  fs::remove_all(directory);
}

}  // namespace
}  // namespace testbed
