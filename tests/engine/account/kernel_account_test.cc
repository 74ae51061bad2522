#include "device/account/kernel_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "device/account/block_device.h"

namespace testbed {
namespace {

using testing::HasSubstr;

class KernelAccountTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string directory = std::filesystem::current_path();
    device_ = BlockDevice::Find(directory);
    if (!device_) GTEST_SKIP() << directory << " lies on no block device";
  }
  std::optional<BlockDevice> device_;
};

TEST_F(KernelAccountTest, SaysWhyAnUnprivilegedUserHasNone) {
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(2);
    std::string why;
    const bool started = KernelAccount::Start(*device_, &why) != nullptr;
    KernelAccount::Start(*device_, nullptr);  // nobody wants to know
    if (::write(pipe_fds[1], why.data(), why.size()) < 0) ::_exit(3);
    ::_exit(started ? 1 : 0);
  }
  ::close(pipe_fds[1]);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  char why[1000];
  const ssize_t n = ::read(pipe_fds[0], why, sizeof why);
  ASSERT_GT(n, 0);
  EXPECT_THAT(std::string(why, static_cast<size_t>(n)), HasSubstr("needs root"));
  ::close(pipe_fds[0]);
}

TEST_F(KernelAccountTest, JournalRangesJoinAndEndSomewhere) {
  std::string why;
  auto account = KernelAccount::Start(*device_, &why);
  if (account == nullptr) GTEST_SKIP() << why;
  // Neighbours are one range, however many there are.
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(account->RegisterJournal(5000 + 8 * i, 8));
  uint64_t accepted = 0;
  while (accepted < 1000 && account->RegisterJournal(1000000 + 100 * accepted, 8)) ++accepted;
  EXPECT_EQ(accepted, 31u);
}

TEST_F(KernelAccountTest, SlotsAreTakenGivenBackAndRunOut) {
  std::string why;
  auto account = KernelAccount::Start(*device_, &why);
  if (account == nullptr) GTEST_SKIP() << why;
  std::vector<std::unique_ptr<ThreadLedger>> threads;
  std::vector<KernelSlot*> own;
  constexpr int kFirstTid = 1 << 22;  // beyond any thread of this machine
  for (size_t i = 0; i <= KernelAccount::kDefaultThreads; ++i) {
    threads.push_back(std::make_unique<ThreadLedger>());
    own.push_back(threads.back()->kernel);
    account->Attach(threads.back().get(), kFirstTid + static_cast<int>(i));
    EXPECT_EQ(threads.back()->kernel == own.back(), i == KernelAccount::kDefaultThreads) << i;
    if (i > 0) {
      EXPECT_NE(threads[i]->kernel, threads[i - 1]->kernel);
    }
  }
  EXPECT_EQ(account->Refused(), 1u);
  account->Detach(threads.back().get(), kFirstTid + KernelAccount::kDefaultThreads);  // has none
  KernelSlot* slot = threads[7]->kernel;
  slot->counts[3][2].reads = 41;
  account->Detach(threads[7].get(), kFirstTid + 7);
  account->Attach(threads.back().get(), kFirstTid + KernelAccount::kDefaultThreads);
  EXPECT_EQ(threads.back()->kernel, slot);
  LedgerCounts counts;
  account->AddCounts(&counts);
  EXPECT_EQ(counts.ops[3].kernel[2].reads, 41u) << "counts outlive the thread";
}

TEST_F(KernelAccountTest, SaysWhenAFileFindsNoRoom) {
  std::string why;
  auto account = KernelAccount::Start(*device_, &why);
  if (account == nullptr) GTEST_SKIP() << why;
  uint64_t inode = 1;
  while (inode < KernelAccount::kMostFiles) account->RegisterFile(8, inode++, FileKind::kData);
  EXPECT_FALSE(account->LacksFiles());
  while (inode < 2 * KernelAccount::kMostFiles) account->RegisterFile(8, inode++, FileKind::kData);
  EXPECT_TRUE(account->LacksFiles());
}

TEST_F(KernelAccountTest, HasAsManySlotsAsItIsAskedFor) {
  constexpr int kFirstTid = 1 << 22;
  for (const size_t slots : {size_t{3}, KernelAccount::kDefaultThreads + 100}) {
    std::string why;
    auto account = KernelAccount::Start(*device_, &why, slots);
    if (account == nullptr) GTEST_SKIP() << why;
    std::vector<std::unique_ptr<ThreadLedger>> threads;
    for (size_t i = 0; i < slots + 2; ++i) {
      threads.push_back(std::make_unique<ThreadLedger>());
      account->Attach(threads.back().get(), kFirstTid + static_cast<int>(i));
      EXPECT_EQ(account->Refused(), i < slots ? 0 : i + 1 - slots);
    }
    threads[slots - 1]->kernel->counts[3][2].reads = 41;
    LedgerCounts counts;
    account->AddCounts(&counts);
    EXPECT_EQ(counts.ops[3].kernel[2].reads, 41u);
  }
}

// A slot has room for three threads of a server. The requests of a further one would be charged to
// no operation, and nothing would tell of it.
TEST_F(KernelAccountTest, CountsTheServedThreadsThatFindNoRoom) {
  std::string why;
  auto account = KernelAccount::Start(*device_, &why, 1);
  if (account == nullptr) GTEST_SKIP() << why;
  constexpr int kFirstTid = 1 << 22;
  ThreadLedger client;
  account->Attach(&client, kFirstTid);
  for (int i = 1; i <= 3; ++i) account->Serve(client, kFirstTid + i);
  EXPECT_EQ(account->Refused(), 0u);
  account->Serve(client, kFirstTid + 4);
  EXPECT_EQ(account->Refused(), 1u);
  account->Unserve(kFirstTid + 3);
  account->Serve(client, kFirstTid + 5);
  EXPECT_EQ(account->Refused(), 1u) << "one has made room";
}

TEST_F(KernelAccountTest, SlotsOfKilledChildrenComeBack) {
  std::string why;
  auto account = KernelAccount::Start(*device_, &why);
  if (account == nullptr) GTEST_SKIP() << why;
  constexpr int kFirstTid = 1 << 22;
  std::vector<std::unique_ptr<ThreadLedger>> threads;
  for (size_t i = 0; i < KernelAccount::kDefaultThreads; ++i) {
    threads.push_back(std::make_unique<ThreadLedger>());
  }
  const pid_t child = ::fork();
  if (child == 0) {
    for (size_t i = 0; i < threads.size(); ++i) {
      account->Attach(threads[i].get(), kFirstTid + static_cast<int>(i));
    }
    ::_exit(0);  // gives nothing back
  }
  ::waitpid(child, nullptr, 0);
  const KernelSlot* const own = threads[0]->kernel;
  account->Attach(threads[0].get(), kFirstTid);
  EXPECT_NE(threads[0]->kernel, own);
}

TEST_F(KernelAccountTest, TellsWhatItsProgramsDid) {
  std::string why;
  auto account = KernelAccount::Start(*device_, &why);
  if (account == nullptr) GTEST_SKIP() << why;
  const auto programs = account->Programs();
  ASSERT_FALSE(programs.empty());
  for (const auto& program : programs) {
    EXPECT_THAT(program.tracepoint, testing::StartsWith("block_"));
    EXPECT_EQ(program.missed, 0u);
  }
}

}  // namespace
}  // namespace testbed
