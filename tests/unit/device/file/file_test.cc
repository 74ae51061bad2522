#include "device/file/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <random>
#include <string>
#include <thread>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/durable.h"
#include "device/file/file_faults.h"
#include "device/file/page_cache.h"
#include "tests/unit/engines/failing_new.h"

namespace testbed {
namespace {

class FileTest : public testing::TestWithParam<IoMode> {
 protected:
  void SetUp() override {
    // /tmp is not used, because it may be a tmpfs, which has no direct IO.
    std::string pattern = std::filesystem::current_path() / "file_test_XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::unique_ptr<File> Open(FileOptions::Create create) {
    FileOptions options;
    options.mode = GetParam();
    options.create = create;
    try {
      return File::Open(directory_ + "/f", options);
    } catch (const Error& e) {
      if (e.kind() != Error::kUsage) throw;
      return nullptr;
    }
  }
  std::string directory_;
};

// The system tells one caller only that a sync has failed, and that caller may find no memory for
// the error.
TEST_P(FileTest, NoSyncSucceedsAfterOneThatFailedWithoutMemory) {
  auto file = Open(FileOptions::kMustCreate);
  if (!file) GTEST_SKIP() << "no direct IO on the file system of " << directory_;
  const std::string data(4096, 'x');
  file->Write(0, data.data(), data.size());
  bool no_memory = false;
  FileFaults::Set(0, 1, EIO);
  FailingNew::Set(0);
  try {
    file->Sync();
  } catch (const std::bad_alloc&) {
    no_memory = true;
  }
  FailingNew::Clear();
  FileFaults::Clear();
  EXPECT_TRUE(no_memory);
  try {
    file->Sync();
    ADD_FAILURE() << "a later sync has succeeded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ENOMEM);
  }
}

TEST_P(FileTest, BehavesAsAByteArrayAtAnyAlignment) {
  auto file = Open(FileOptions::kMustCreate);
  if (!file) GTEST_SKIP() << "no direct IO on the file system of " << directory_;
  std::mt19937_64 random(301);
  std::string model;
  for (int i = 0; i < 400; ++i) {
    const uint64_t offset = random() % 100000;
    const size_t n = 1 + random() % (i % 7 == 0 ? 20000 : 700);
    if (random() % 2) {
      std::string data(n, '\0');
      for (char& c : data) c = static_cast<char>(random());
      file->Write(offset, data.data(), n);
      if (model.size() < offset + n) model.resize(offset + n);
      model.replace(offset, n, data);
      ASSERT_EQ(file->Size(), model.size());
    } else {
      std::string got(n, 'x');
      const size_t r = file->ReadSome(offset, got.data(), n);
      ASSERT_EQ(r, offset >= model.size() ? 0 : std::min(n, model.size() - offset));
      ASSERT_EQ(got.substr(0, r), r == 0 ? "" : model.substr(offset, r));
    }
  }
}

TEST_P(FileTest, IsOpenedInTheModeThatWasAskedFor) {
  auto file = Open(FileOptions::kMustCreate);
  if (!file) GTEST_SKIP() << "no direct IO on the file system of " << directory_;
  EXPECT_EQ((fcntl(file->fd(), F_GETFL) & O_DIRECT) != 0, GetParam() == IoMode::kDirect);
}

// What the program prints would be written into the file.
TEST_P(FileTest, HasNoDescriptorOfAStandardStreamThatIsClosed) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
    int code = 0;
    try {
      const auto file = Open(FileOptions::kMustCreate);
      if (file != nullptr && file->fd() <= STDERR_FILENO) code = 1;
    } catch (const std::exception&) {
      code = 2;
    }
    ::_exit(code);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_P(FileTest, CountsEachAlignedCallOnce) {
  auto file = Open(FileOptions::kMustCreate);
  if (!file) GTEST_SKIP() << "no direct IO on the file system of " << directory_;
  AlignedBuffer buffer(8192);
  memset(buffer.data(), 7, buffer.size());
  const LedgerCounts before = Ledger::Get().Counts();
  const OpKind op = DefineOp("file-test", Ground::kForeground);
  {
    IoScope scope(op);
    file->Write(0, buffer.data(), 8192);
    file->Write(8192, buffer.data(), 8192);
    file->Sync();
    file->Read(8192, buffer.data(), 8192);
  }
  const LedgerCounts delta = Ledger::Get().Counts() - before;
  const FileCounts total = delta.ops[op.id].FileTotal();
  EXPECT_EQ(total.writes, 2u);
  EXPECT_EQ(total.write_bytes, 16384u);
  EXPECT_EQ(total.reads, 1u);
  EXPECT_EQ(total.read_bytes, 8192u);
  EXPECT_EQ(total.syncs, 1u);
  EXPECT_EQ(delta.ops[op.id].operations, 1u);
  EXPECT_EQ(delta.ops[op.id].file_reads[1], 1u);
}

TEST_P(FileTest, ReadPastTheEndIsCorruption) {
  auto file = Open(FileOptions::kMustCreate);
  if (!file) GTEST_SKIP() << "no direct IO on the file system of " << directory_;
  file->Write(0, "abc", 3);
  char c[8];
  try {
    file->Read(0, c, 8);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kCorruption);
  }
  if (GetParam() != IoMode::kMmap) return;
  const LedgerCounts before = Ledger::Get().Counts();
  EXPECT_THROW(file->View(0, 8), Error);
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  EXPECT_EQ(cost.ops[kUnscoped.id].FileTotal().reads, 0u) << "nothing was read";
}

TEST_P(FileTest, AbsentFileIsAnIoErrorThatNamesIt) {
  try {
    Open(FileOptions::kMustExist);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kIo);
    EXPECT_NE(std::string(e.what()).find(directory_), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, FileTest,
                         testing::Values(IoMode::kDirect, IoMode::kBuffered, IoMode::kMmap),
                         [](const auto& info) { return std::string(IoModeName(info.param)); });

// Once, a thread that asked for the length while the file was truncated kept the old length. Bytes
// behind the end were then given out, and to touch them is a fatal signal.
TEST(MappedFileTest, BytesThatATruncationHasCutOffAreNotGivenOut) {
  std::string directory = std::filesystem::current_path() / "mapped_file_test_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  FileOptions options;
  options.mode = IoMode::kMmap;
  options.create = FileOptions::kMustCreate;
  auto file = File::Open(directory + "/f", options);
  file->Truncate(4096);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) file->View(0, 1);
  });
  int given_out = 0;
  for (int i = 0; i < 500; ++i) {
    file->Truncate(8192);
    EXPECT_EQ(file->View(4096, 1).size(), 1u);
    file->Truncate(4096);
    try {
      file->View(4096, 1);
      ++given_out;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kCorruption);
    }
  }
  done = true;
  reader.join();
  EXPECT_EQ(given_out, 0);
  file.reset();
  std::filesystem::remove_all(directory);
}

class DurableTest : public testing::Test {
 protected:
  DurableTest() {
    std::string pattern = std::filesystem::current_path() / "durable_test_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    std::ofstream(directory_ + "/f") << std::string(3 << 20, 'x');
  }
  ~DurableTest() override { std::filesystem::remove_all(directory_); }
  bool InMemory() const { return IsInMemory(directory_); }
  std::string directory_;
};

TEST_F(DurableTest, NoPageOfAFileStaysInThePageCache) {
  if (InMemory()) GTEST_SKIP() << "this file system holds its files in memory alone";
  const std::string path = directory_ + "/f";
  EXPECT_GT(Residency(path).cached, 0u);
  MakeDurable(path, FileKind::kData);
  EXPECT_EQ(Residency(path).cached, 0u);
}

// The kernel may cache the file in a large folio, of which it cannot drop a part.
TEST_F(DurableTest, WhatIsReadPastThePageCacheComesFromTheDevice) {
  const std::string path = directory_ + "/f";
  MakeDurable(path, FileKind::kData);
  const auto file = OpenPastPageCache(path, FileKind::kData);
  AlignedBuffer buffer(8192);
  file->Read(0, buffer.data(), 8192);
  EXPECT_EQ(std::string(buffer.data(), 8192), std::string(8192, 'x'));
  if (!InMemory()) {
    EXPECT_EQ(Residency(path).cached, 0u);
  }
}

TEST_F(DurableTest, AFileThatAnotherHoldsInThePageCacheIsRefused) {
  if (InMemory()) GTEST_SKIP() << "this file system holds its files in memory alone";
  const std::string path = directory_ + "/f";
  const int fd = open(path.c_str(), O_RDONLY);
  char* const map = static_cast<char*>(mmap(nullptr, 1 << 20, PROT_READ, MAP_SHARED, fd, 0));
  ASSERT_NE(map, MAP_FAILED);
  EXPECT_EQ(*static_cast<volatile char*>(map), 'x');
  try {
    MakeDurable(path, FileKind::kData);
    FAIL() << "a page stays, and nobody says so";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kRun);
    EXPECT_NE(std::string(e.what()).find(path), std::string::npos) << e.what();
  }
  munmap(map, 1 << 20);
  close(fd);
  EXPECT_NO_THROW(MakeDurable(path, FileKind::kData));
}

TEST_F(DurableTest, TheNamesOfExistingDirectoriesAreMadeDurable) {
  std::filesystem::create_directories(directory_ + "/a/b");
  FileFaults::Set(UINT64_MAX, UINT64_MAX, EIO);  // none fails
  EXPECT_NO_THROW(MakeNameDurable(directory_ + "/a/b"));
  EXPECT_GE(FileFaults::Clear(), 3u) << "each directory above it is synced";
  for (const uint64_t sync : {0u, 1u, 2u}) {
    FileFaults::Set(sync, sync + 1, EIO);
    EXPECT_THROW(MakeNameDurable(directory_ + "/a/b"), Error) << sync;
    FileFaults::Clear();
  }
  EXPECT_THROW(MakeNameDurable(directory_ + "/nosuch"), Error);
}

TEST_F(DurableTest, AFileWithoutFailedWriteBacksHasNoErrorToTell) {
  FileOptions options;
  options.create = FileOptions::kMustExist;
  const auto file = File::Open(directory_ + "/f", options);
  file->Write(0, "y", 1);
  EXPECT_NO_THROW(file->CheckWriteBack());
}

// After a failed sync the kernel marks the pages as clean, so that the next sync would succeed.
TEST_P(FileTest, NoSyncSucceedsAfterAFailedOne) {
  auto file = Open(FileOptions::kMustCreate);
  if (!file) GTEST_SKIP() << "no direct IO on the file system of " << directory_;
  file->Write(0, "abc", 3);
  FileFaults::Set(0, 1, EIO);
  EXPECT_THROW(file->Sync(), Error);
  EXPECT_EQ(FileFaults::Clear(), 1u);
  EXPECT_THROW(file->Sync(), Error);
  EXPECT_THROW(file->Sync(true), Error);
  // A new descriptor reports only later failures.
  EXPECT_NO_THROW(Open(FileOptions::kMustExist)->Sync());
}

TEST_P(FileTest, NoSyncSucceedsOfAFileThatWasRemoved) {
  auto file = Open(FileOptions::kMustCreate);
  if (!file) GTEST_SKIP() << "no direct IO on the file system of " << directory_;
  const std::string page(4096, 'x');
  file->Write(0, page.data(), page.size());
  file->Sync();
  std::filesystem::create_hard_link(directory_ + "/f", directory_ + "/g");
  std::filesystem::remove(directory_ + "/f");
  EXPECT_NO_THROW(file->Sync()) << "it has another name";
  std::filesystem::remove(directory_ + "/g");
  try {
    file->Sync();
    ADD_FAILURE() << "synced";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kIo);
    EXPECT_NE(std::string(e.what()).find("was removed while it was in use"), std::string::npos);
  }
  EXPECT_THROW(file->Sync(), Error);
}

TEST_P(FileTest, AWriteWithDsyncIsASync) {
  FileOptions options;
  options.mode = GetParam();
  options.create = FileOptions::kMustCreate;
  options.dsync = true;
  std::unique_ptr<File> file;
  try {
    file = File::Open(directory_ + "/f", options);
  } catch (const Error& e) {
    GTEST_SKIP() << "no direct IO on the file system of " << directory_ << ": " << e.what();
  }
  AlignedBuffer block(4096);
  FileFaults::Set(0, 1, EIO);
  EXPECT_THROW(file->Write(0, block.data(), block.size()), Error);
  EXPECT_EQ(FileFaults::Clear(), 1u);
  EXPECT_THROW(file->Write(4096, block.data(), block.size()), Error);
  EXPECT_THROW(file->Sync(), Error);
}

TEST_P(FileTest, APipeOrADeviceInPlaceOfTheFileIsRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo((directory_ + "/pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", directory_ + "/device");
  for (const char* name : {"/pipe", "/device"}) {
    for (const bool read_only : {false, true}) {
      for (const auto create :
           {FileOptions::kMustExist, FileOptions::kMayExist, FileOptions::kTruncate}) {
        SCOPED_TRACE(name);
        FileOptions options;
        options.mode = GetParam();
        options.read_only = read_only;
        options.create = create;
        try {
          File::Open(directory_ + name, options);
          FAIL();
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), Error::kIo);
          EXPECT_NE(std::string(error.what()).find("a regular file should be"), std::string::npos)
              << error.what();
        }
      }
    }
  }
}

TEST_P(FileTest, CallsOfAnOpenFileWait) {
  const auto file = Open(FileOptions::kMustCreate);
  if (!file) GTEST_SKIP() << "no direct IO on the file system of " << directory_;
  EXPECT_EQ(::fcntl(file->fd(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ((::fcntl(file->fd(), F_GETFL) & O_DIRECT) != 0, GetParam() == IoMode::kDirect);
  EXPECT_EQ(::fcntl(file->fd(), F_GETFD), FD_CLOEXEC);
}

}  // namespace
}  // namespace testbed
