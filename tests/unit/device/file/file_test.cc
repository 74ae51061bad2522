#include "device/file/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <random>
#include <string>

#include "device/error.h"

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

}  // namespace
}  // namespace testbed
