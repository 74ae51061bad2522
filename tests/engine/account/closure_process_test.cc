// Tests closure when other processes and threads do IO as well: their requests must carry their
// names, and none may be lost.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <fstream>
#include <string>
#include <thread>

#include "device/account/kernel_account.h"
#include "device/account/ledger.h"
#include "tests/engine/account/closure_test.h"

namespace testbed {
namespace {

TEST_P(ClosureTest, OtherProcessesAndUnknownFilesAreNamed) {
  Fill("data", FileKind::kData, kMiB);
  // Takes the inode numbers that files of other tests in this process may have had.
  for (int i = 0; i < 100; ++i) std::ofstream(scratch_->path() + "/" + std::to_string(i));
  const std::string path = scratch_->path() + "/data";
  const std::string other = scratch_->path() + "/other";
  const Balance cost = Cost([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      // dd is a program without testbed's ledger.
      ::execlp("dd", "dd", ("if=" + path).c_str(), ("of=" + other).c_str(), "bs=64k",
               "iflag=direct", "conv=fsync", "status=none", nullptr);
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  });
  BlockCounts dd;
  for (const LedgerCounts::Foreign& f : cost.ledger.foreign) {
    if (f.thread == "dd" && f.kind == FileKind::kOtherFile) dd += f.counts;
  }
  EXPECT_EQ(dd.read_bytes, kMiB) << "direct IO of no known call";
  EXPECT_GE(dd.write_bytes, kMiB) << "a file that was not registered";
}

// Not every system lets a program find out where the journal lies. Its requests then count as those
// of its thread.
TEST_P(ClosureTest, AJournalOfUnknownPlaceIsItsThreads) {
  std::string why;
  auto account = KernelAccount::Start(scratch_->device(), &why);
  ASSERT_NE(account, nullptr) << why;
  const Balance cost = Cost([&] {
    for (int i = 0; i < 20; ++i) {
      auto file = Open("new" + std::to_string(i), FileKind::kData, IoMode::kBuffered);
      file->Write(0, "x", 1);
      file->Sync(true);
    }
  });
  LedgerCounts counts;
  account->AddCounts(&counts);
  BlockCounts journal, metadata;
  for (const LedgerCounts::Foreign& f : counts.foreign) {
    if (f.kind == FileKind::kFsJournal) journal += f.counts;
    if (f.kind == FileKind::kFsMetadata) metadata += f.counts;
  }
  const uint64_t known = OfKind(cost, FileKind::kFsJournal).write_bytes;
  EXPECT_GT(known, 0u);
  if (GetParam() == FileSystem::kExt4) {
    EXPECT_EQ(journal.write_bytes, known);
  } else {
    EXPECT_EQ(journal.write_bytes, 0u);
    EXPECT_GE(metadata.write_bytes, known);
  }
  EXPECT_EQ(counts.KernelTotal().write_bytes, cost.ledger.KernelTotal().write_bytes);
}

TEST_P(ClosureTest, ForkedChildrenCountIntoTheSameAccount) {
  constexpr uint64_t kPages = 256;
  Fill("data", FileKind::kData, kPages * kPage);
  const OpKind op = DefineOp("closure-read", Ground::kForeground);
  const Balance cost = Cost([&] {
    for (int round = 0; round < 2; ++round) {
      const pid_t child = ::fork();
      if (child == 0) {
        const uint64_t before = Ledger::Get().Counts().ops[op.id].KernelTotal().read_bytes;
        auto file = Open("data", FileKind::kData, IoMode::kDirect);
        OnThreads([&](size_t i) { ReadEachPageOnce(file.get(), kPages, op, i); });
        {
          IoScope scope(op);  // the thread that forked counts as well
          AlignedBuffer buffer(kPage);
          file->Read(0, buffer.data(), kPage);
        }
        const uint64_t after = Ledger::Get().Counts().ops[op.id].KernelTotal().read_bytes;
        if (round == 1) ::kill(::getpid(), SIGKILL);
        ::_exit(after - before == (kPages + 1) * kPage ? 0 : 1);  // bytes: requests may merge
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT_TRUE(round == 1 ? WIFSIGNALED(status) : status == 0);
    }
  });
  EXPECT_EQ(OfOp(cost, op).read_bytes, 2 * (kPages + 1) * kPage) << "the parent sees them too";
}

TEST_P(ClosureTest, MoreThreadsThanSlotsLoseNothing) {
  constexpr size_t kMany = KernelAccount::kDefaultThreads + 40;
  Fill("data", FileKind::kData, 16 * kMiB);
  const OpKind op = DefineOp("closure-read", Ground::kForeground);
  auto file = Open("data", FileKind::kData, IoMode::kDirect);
  const Balance cost = Cost([&] {
    std::barrier all(kMany);
    OnThreads(
        [&](size_t thread) {
          AlignedBuffer buffer(4096);
          IoScope scope(op);
          all.arrive_and_wait();                               // all live at once
          file->Read(thread * 3 * 4096, buffer.data(), 4096);  // no two are neighbours: no merges
          all.arrive_and_wait();
        },
        kMany);
  });
  EXPECT_GE(OfOp(cost, op).reads, KernelAccount::kDefaultThreads - 1);
  EXPECT_EQ(OfKind(cost, FileKind::kData).reads, OfOp(cost, op).reads);
  EXPECT_GE(cost.device.reads, kMany);
  // The slots of the ended threads must be free for others.
  const Balance later =
      Cost([&] { OnThreads([&](size_t i) { ReadEachPageOnce(file.get(), 128, op, i); }); });
  EXPECT_EQ(OfOp(later, op).read_bytes, 128 * kPage);
}

TEST_P(ClosureTest, CountsInsideAPidNamespace) {
  constexpr uint64_t kPages = 256;
  Fill("data", FileKind::kData, kPages * kPage);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(77);
    const pid_t inner = ::fork();
    if (inner == 0) {
      // The first process of a new namespace, with an account of its own.
      std::string why;
      auto account = KernelAccount::Start(scratch_->device(), &why);
      if (account == nullptr) ::_exit(2);
      Ledger::Get().Configure(AccountDepth::kKernel, account.get());
      const OpKind op = DefineOp("closure-read", Ground::kForeground);
      const uint64_t before = Ledger::Get().Counts().ops[op.id].KernelTotal().read_bytes;
      auto file = Open("data", FileKind::kData, IoMode::kDirect);
      OnThreads([&](size_t i) { ReadEachPageOnce(file.get(), kPages, op, i); });
      const uint64_t bytes = Ledger::Get().Counts().ops[op.id].KernelTotal().read_bytes - before;
      ::_exit(bytes == kPages * kPage && ::getpid() == 1 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(inner, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no right to make a pid namespace";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace testbed
