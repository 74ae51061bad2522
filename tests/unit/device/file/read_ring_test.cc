#include "device/file/read_ring.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "device/account/thread_kinds.h"
#include "device/error.h"
#include "device/file/file_faults.h"
#include "tests/refused_call.h"

namespace testbed {
namespace {

constexpr size_t kPage = 4096;
constexpr uint64_t kPages = 256;

class ReadRingTest : public testing::TestWithParam<IoMode> {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "read_ring_test_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    FileOptions options;
    options.mode = GetParam();
    options.create = FileOptions::kMustCreate;
    try {
      file_ = File::Open(directory_ + "/file", options);
    } catch (const Error& e) {
      if (e.kind() == Error::kUsage) GTEST_SKIP() << "no direct IO on this file system";
      throw;
    }
    AlignedBuffer buffer(kPage);
    for (uint64_t page = 0; page < kPages; ++page) {
      std::fill_n(buffer.data(), kPage, static_cast<char>(page));
      file_->Write(page * kPage, buffer.data(), kPage);
    }
    if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
  }
  void TearDown() override {
    file_.reset();
    std::filesystem::remove_all(directory_);
  }
  std::string directory_;
  std::unique_ptr<File> file_;
};

TEST_P(ReadRingTest, EachReadEndsOnceWithItsOwnBytesAndIsCounted) {
  constexpr uint32_t kDepth = 32;
  ReadRing ring(kDepth);
  AlignedBuffer buffer(kDepth * kPage);
  const LedgerCounts before = Ledger::Get().Counts();
  const OpKind op = DefineOp("ring-read", Ground::kForeground);
  std::vector<uint64_t> page_of(kDepth);
  uint64_t next = 0;
  std::multiset<uint64_t> seen;
  const auto start = [&](uint64_t slot) {
    page_of[slot] = next * 37 % kPages;
    ++next;
    IoScope scope(op);
    ring.Start(*file_, page_of[slot] * kPage, buffer.data() + slot * kPage, kPage, slot);
  };
  while (next < kDepth) start(next);
  EXPECT_EQ(ring.in_flight(), kDepth);
  while (ring.in_flight() > 0) {
    const ReadRing::Ended ended = ring.Take();
    ASSERT_EQ(ended.result, static_cast<int32_t>(kPage));
    const char* bytes = buffer.data() + ended.tag * kPage;
    for (size_t i = 0; i < kPage; ++i) ASSERT_EQ(bytes[i], static_cast<char>(page_of[ended.tag]));
    seen.insert(page_of[ended.tag]);
    if (next < 2 * kPages) start(ended.tag);
  }
  EXPECT_EQ(seen.size(), 2 * kPages);
  for (uint64_t page = 0; page < kPages; ++page) EXPECT_EQ(seen.count(page), 2u) << page;
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  EXPECT_EQ(cost.ops[op.id].FileTotal().reads, 2 * kPages);
  EXPECT_EQ(cost.ops[op.id].FileTotal().read_bytes, 2 * kPages * kPage);
}

TEST_P(ReadRingTest, TheEndOfTheFileIsAShortRead) {
  ReadRing ring(2);
  AlignedBuffer buffer(2 * kPage);
  ring.Start(*file_, (kPages - 1) * kPage, buffer.data(), 2 * kPage, 5);
  EXPECT_EQ(ring.Take().result, static_cast<int32_t>(kPage));
  ring.Start(*file_, kPages * kPage, buffer.data(), kPage, 6);
  const ReadRing::Ended ended = ring.Take();
  EXPECT_EQ(ended.tag, 6u);
  EXPECT_EQ(ended.result, 0);
}

TEST_P(ReadRingTest, MoreThanItHasRoomForIsAnError) {
  ReadRing ring(2);
  AlignedBuffer buffer(3 * kPage);
  for (uint64_t i = 0; i < 2; ++i) ring.Start(*file_, 0, buffer.data() + i * kPage, kPage, i);
  EXPECT_THROW(ring.Start(*file_, 0, buffer.data(), kPage, 2), Error);
  ring.Take();
  // The ring's destructor waits for the reads in flight.
  ring.Start(*file_, 0, buffer.data() + 2 * kPage, kPage, 2);
}

// A read that Start refused must not stay in the submission queue: the kernel would later write to
// its buffer, which belongs to the caller again.
TEST_P(ReadRingTest, ARefusedReadNeverRunsIntoItsBuffer) {
  ReadRing ring(4);
  AlignedBuffer refused(kPage), other(kPage);
  const LedgerCounts before = Ledger::Get().Counts();
  const OpKind op = DefineOp("ring-refused", Ground::kForeground);
  const IoScope scope(op);
  constexpr uint64_t kRounds = 20;
  for (uint64_t round = 1; round < kRounds; ++round) {
    std::fill_n(refused.data(), kPage, '!');
    FileFaults::Set(0, 1, EIO);
    EXPECT_THROW(ring.Start(*file_, round * kPage, refused.data(), kPage, 7), Error);
    FileFaults::Clear();
    EXPECT_EQ(ring.in_flight(), 0u);
    // This start submits everything that waits in the queue.
    ring.Start(*file_, (round + 100) * kPage, other.data(), kPage, round + 50);
    const ReadRing::Ended ended = ring.Take();
    EXPECT_EQ(ended.tag, round + 50);
    EXPECT_EQ(ended.result, static_cast<int32_t>(kPage));
    EXPECT_EQ(other.data()[kPage - 1], static_cast<char>(round + 100));
    EXPECT_EQ(std::string(refused.data(), kPage), std::string(kPage, '!')) << "round " << round;
  }
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  EXPECT_EQ(cost.ops[op.id].FileTotal().reads, kRounds - 1) << "a refused read is counted";
}

// A read that would have to wait for its file is issued by a worker of the kernel, which has no
// slot in the account. Without a kind its requests would be another program's.
TEST_P(ReadRingTest, TheReadsOfItsWorkersAreOfTheKindOfItsFiles) {
  ReadRing ring(1);
  AlignedBuffer buffer(kPage);
  ring.Start(*file_, 0, buffer.data(), kPage, 0);
  ring.Take();
  EXPECT_TRUE(KindOfThreads(kRingWorkers) == FileKind::kData);
}

// Linux 5.1 to 5.5 have rings that end each read with EINVAL, and refuse the question whether they
// know reads.
TEST(ReadRingAvailableTest, AKernelWhoseRingsKnowNoReadsHasNone) {
  if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
  const int code =
      ExitCodeWithout(SYS_io_uring_register, EINVAL, [] { return ReadRing::Available() ? 1 : 0; });
  if (code == kCannotRefuse) GTEST_SKIP() << kNoFilters;
  EXPECT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, ReadRingTest, testing::Values(IoMode::kDirect, IoMode::kBuffered),
                         [](const auto& mode) { return IoModeName(mode.param); });

}  // namespace
}  // namespace testbed
