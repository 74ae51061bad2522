#include "device/account/ledger.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/account/kernel_account.h"
#include "device/account/served_thread.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/file.h"

namespace testbed {
namespace {

// Hands out slots as the real kernel account does, but from plain memory.
class FakeAccount : public KernelAccount {
 public:
  void Attach(ThreadLedger* thread, int tid) override {
    slots_.push_back(std::make_unique<KernelSlot>());
    slots_.back()->op.store(thread->op().id);
    thread->kernel = slots_.back().get();
    attached_.insert(tid);
  }
  void Detach(ThreadLedger*, int tid) override { attached_.erase(tid); }
  void RegisterFile(uint64_t dev, uint64_t inode, FileKind kind) override {
    files_[{dev, inode}] = kind;
  }
  void ForgetFile(uint64_t dev, uint64_t inode) override { files_.erase(std::pair(dev, inode)); }
  bool RegisterJournal(uint64_t, uint64_t) override { return true; }
  void AddCounts(LedgerCounts* counts) const override {
    for (const auto& slot : slots_) {
      counts->ops[0].kernel[0].reads += slot->reads.load();
    }
  }
  const std::set<int>& attached() const { return attached_; }
  const std::map<std::pair<uint64_t, uint64_t>, FileKind>& files() const { return files_; }

 private:
  std::vector<std::unique_ptr<KernelSlot>> slots_;
  std::set<int> attached_;
  std::map<std::pair<uint64_t, uint64_t>, FileKind> files_;
};

class LedgerTest : public testing::Test {
 protected:
  const OpKind outer_ = DefineOp("ledger-outer", Ground::kForeground);
  const OpKind inner_ = DefineOp("ledger-inner", Ground::kBackground);
};

LedgerCounts::Op Of(const LedgerCounts& counts, OpKind op) { return counts.ops[op.id]; }

TEST_F(LedgerTest, KindsHaveNamesAndAreDefinedOnce) {
  EXPECT_EQ(DefineOp("ledger-outer", Ground::kForeground), outer_);
  EXPECT_EQ(OpName(outer_), "ledger-outer");
  EXPECT_EQ(OpGround(outer_), Ground::kForeground);
  EXPECT_EQ(OpName(kCheckpoint), "checkpoint");
  EXPECT_EQ(OpGround(kCheckpoint), Ground::kBackground);
  EXPECT_GE(DefinedOps().size(), kFixedOps + 2);
  EXPECT_STREQ(FileKindName(FileKind::kFsMetadata), "fs-metadata");
}

TEST_F(LedgerTest, NestedScopesChargeTheInnerOneAlone) {
  ThreadLedger& thread = Ledger::ThisThread();
  const LedgerCounts before = Ledger::Get().Counts();
  {
    IoScope scope(outer_);
    thread.CountRead(FileKind::kData, 100);
    {
      IoScope nested(inner_);
      thread.CountWrite(FileKind::kLog, 30);
      thread.CountSync(FileKind::kLog);
      thread.CountRead(FileKind::kData, 1);
      thread.CountRead(FileKind::kData, 1);
    }
    thread.CountRead(FileKind::kData, 200);
  }
  thread.CountRead(FileKind::kTemp, 5);
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  const FileCounts read = Of(cost, outer_).FileTotal();
  EXPECT_EQ(read.reads, 2u);
  EXPECT_EQ(read.read_bytes, 300u);
  EXPECT_EQ(read.writes, 0u);
  const FileCounts log = Of(cost, inner_).file[static_cast<size_t>(FileKind::kLog)];
  EXPECT_EQ(log.writes, 1u);
  EXPECT_EQ(log.write_bytes, 30u);
  EXPECT_EQ(log.syncs, 1u);
  EXPECT_EQ(Of(cost, inner_).FileTotal().reads, 2u);
  EXPECT_EQ(Of(cost, outer_).operations, 1u);
  EXPECT_EQ(Of(cost, inner_).operations, 1u);
  EXPECT_EQ(Of(cost, inner_).file_reads[2], 1u);
  EXPECT_EQ(Of(cost, kUnscoped).FileTotal().read_bytes, 5u);
  EXPECT_EQ(thread.op(), kUnscoped);
}

TEST_F(LedgerTest, TasksInTurnAreChargedEachItsOwn) {
  ThreadLedger& thread = Ledger::ThisThread();
  const LedgerCounts before = Ledger::Get().Counts();
  IoTask first, second;
  first.Begin(outer_);
  second.Begin(inner_);
  for (int i = 0; i < 3; ++i) {
    {
      IoTask::Work work(&first);
      thread.CountRead(FileKind::kData, 10);
    }
    thread.CountRead(FileKind::kTemp, 1);
    IoTask::Work work(&second);
    thread.CountRead(FileKind::kData, 100);
    thread.CountRead(FileKind::kData, 100);
  }
  EXPECT_EQ(thread.op(), kUnscoped);
  second.End();
  first.End();
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  EXPECT_EQ(Of(cost, outer_).FileTotal().read_bytes, 30u);
  EXPECT_EQ(Of(cost, inner_).FileTotal().read_bytes, 600u);
  EXPECT_EQ(Of(cost, kUnscoped).FileTotal().read_bytes, 3u);
  EXPECT_EQ(Of(cost, outer_).operations, 1u);
  EXPECT_EQ(Of(cost, outer_).file_reads[3], 1u);
  EXPECT_EQ(Of(cost, inner_).file_reads[6], 1u);
}

TEST_F(LedgerTest, TheLastBucketHoldsAllThatIsMore) {
  ThreadLedger& thread = Ledger::ThisThread();
  const LedgerCounts before = Ledger::Get().Counts();
  for (size_t reads : {0, 1, 14, 15, 100}) {
    IoScope scope(outer_);
    for (size_t i = 0; i < reads; ++i) thread.CountRead(FileKind::kData, 1);
  }
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  EXPECT_EQ(Of(cost, outer_).file_reads[0], 1u);
  EXPECT_EQ(Of(cost, outer_).file_reads[1], 1u);
  EXPECT_EQ(Of(cost, outer_).file_reads[14], 1u);
  EXPECT_EQ(Of(cost, outer_).file_reads[15], 2u);
}

// An IO scheduler joins two waiting requests while it takes a third, and the account takes one
// request from the thread that makes it do so. Once, the operation then counted among those of 15
// reads and more.
TEST_F(LedgerTest, AnOperationThatJoinsRequestsOfOthersHasCausedNoRead) {
  FakeAccount account;
  Ledger::Get().Configure(AccountDepth::kKernel, &account);
  KernelSlot* const slot = Ledger::ThisThread().kernel;
  slot->reads = 5;
  const LedgerCounts before = Ledger::Get().Counts();
  {
    IoScope scope(outer_);
    --slot->reads;
  }
  IoTask task;
  task.Begin(outer_);
  {
    IoTask::Work work(&task);
    --slot->reads;
  }
  task.End();
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  EXPECT_EQ(Of(cost, outer_).kernel_reads[0], 2u);
  EXPECT_EQ(Of(cost, outer_).kernel_reads[kBlockBuckets - 1], 0u);
  Ledger::Get().Configure(AccountDepth::kFile, nullptr);
}

TEST_F(LedgerTest, ThreadsThatEndedLeaveTheirCounts) {
  constexpr int kThreads = 8, kOperations = 1000;
  const LedgerCounts before = Ledger::Get().Counts();
  std::thread reader([] {
    for (int i = 0; i < 200; ++i) Ledger::Get().Counts();  // races with the counting threads
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kOperations; ++i) {
        IoScope scope(outer_);
        Ledger::ThisThread().CountRead(FileKind::kData, 7);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  reader.join();
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  EXPECT_EQ(Of(cost, outer_).operations, static_cast<uint64_t>(kThreads * kOperations));
  EXPECT_EQ(Of(cost, outer_).FileTotal().read_bytes,
            static_cast<uint64_t>(kThreads * kOperations * 7));
}

// While a file that has lost its name is closed, another thread may make one, which gets its inode.
TEST_F(LedgerTest, AFileThatGetsTheInodeOfAClosedOneStaysKnown) {
  FakeAccount account;
  Ledger::Get().Configure(AccountDepth::kKernel, &account);
  const std::pair<uint64_t, uint64_t> number(7, 1234567);
  const auto [dev, inode] = number;
  Ledger::Get().OpenFile(dev, inode, FileKind::kLog);
  const uint64_t opening = Ledger::Get().Opening(dev, inode);
  Ledger::Get().OpenFile(dev, inode, FileKind::kData);  // the new one
  Ledger::Get().CloseFile(dev, inode, true, Ledger::Get().Opening(dev, inode));
  Ledger::Get().CloseFile(dev, inode, false, opening);
  EXPECT_TRUE(account.files().contains(number)) << "its pages are written back later";
  Ledger::Get().ForgetFile(dev, inode, opening);
  EXPECT_TRUE(account.files().contains(number));
  Ledger::Get().ForgetFile(dev, inode, Ledger::Get().Opening(dev, inode));
  EXPECT_FALSE(account.files().contains(number));
  EXPECT_EQ(Ledger::Get().Opening(dev, inode), 0u);
  Ledger::Get().Configure(AccountDepth::kFile, nullptr);
}

// Once, a removed file stayed known, and a file of another program that got its inode counted as
// the run's.
TEST_F(LedgerTest, AFileWithoutANameIsForgottenWhenItIsClosed) {
  std::string directory = std::filesystem::current_path() / "ledger_test_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  FakeAccount account;
  Ledger::Get().Configure(AccountDepth::kKernel, &account);
  const auto make = [&](const std::string& name) {
    FileOptions options;
    options.create = FileOptions::kTruncate;
    return File::Open(directory + "/" + name, options);
  };
  const auto number_of = [&](const std::string& name) {
    struct stat st = {};
    EXPECT_EQ(::stat((directory + "/" + name).c_str(), &st), 0) << name;
    return std::pair<uint64_t, uint64_t>(st.st_dev, st.st_ino);
  };
  const auto knows = [&](const std::pair<uint64_t, uint64_t>& number) {
    return account.files().contains(number);
  };
  make("closed").reset();
  const auto closed = number_of("closed");
  EXPECT_TRUE(knows(closed)) << "its pages are written back later";
  RemoveFile(directory + "/closed");
  EXPECT_FALSE(knows(closed));

  std::unique_ptr<File> one = make("opened"), other = make("opened");
  const auto opened = number_of("opened");
  RemoveFile(directory + "/opened");
  one.reset();
  EXPECT_TRUE(knows(opened)) << "the other one may write to it";
  other.reset();
  EXPECT_FALSE(knows(opened));

  make("old").reset();
  make("new").reset();
  const auto old = number_of("old"), next = number_of("new");
  RenameFile(directory + "/new", directory + "/old");
  EXPECT_FALSE(knows(old));
  EXPECT_TRUE(knows(next));

  // A library may have its file open, whatever is known of that.
  Ledger::Get().RegisterFile(next.first, next.second, FileKind::kData);
  RemoveFile(directory + "/old");
  EXPECT_TRUE(knows(next));
  Ledger::Get().Configure(AccountDepth::kFile, nullptr);
  std::filesystem::remove_all(directory);
}

TEST_F(LedgerTest, AnAccountGetsEveryThreadAndFile) {
  Ledger::ThisThread();
  Ledger::Get().RegisterFile(8, 77, FileKind::kLog);
  FakeAccount account;
  Ledger::Get().Configure(AccountDepth::kKernel, &account);
  EXPECT_EQ(Ledger::Get().depth(), AccountDepth::kKernel);
  EXPECT_EQ(account.attached().count(::gettid()), 1u) << "known before";
  EXPECT_EQ(account.files().at({8, 77}), FileKind::kLog);
  Ledger::Get().RegisterFile(9, 77, FileKind::kData);
  EXPECT_EQ(account.files().at({9, 77}), FileKind::kData);
  EXPECT_EQ(account.files().at({8, 77}), FileKind::kLog) << "another file system's";

  const LedgerCounts before = Ledger::Get().Counts();
  std::thread([&] {
    IoScope scope(outer_);
    KernelSlot* slot = Ledger::ThisThread().kernel;
    EXPECT_EQ(slot->op.load(), outer_.id);
    EXPECT_EQ(account.attached().count(::gettid()), 1u);
    slot->reads += 3;
  }).join();
  EXPECT_EQ(account.attached().size(), 1u) << "the thread's end gives its slot back";
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  EXPECT_EQ(Of(cost, outer_).kernel_reads[3], 1u);
  EXPECT_EQ(cost.KernelTotal().reads, 3u);

  Ledger::Get().Configure(AccountDepth::kFile, nullptr);
  EXPECT_TRUE(account.attached().empty());
  EXPECT_EQ(Ledger::ThisThread().kernel->reads.load(), 0u) << "a slot of its own again";
}

TEST_F(LedgerTest, AForkedChildCountsOnUnderItsOwnNumber) {
  FakeAccount account;
  Ledger::Get().Configure(AccountDepth::kKernel, &account);
  KernelSlot* parents = Ledger::ThisThread().kernel;
  const pid_t child = ::fork();
  if (child == 0) {
    // A child is attached only at its first operation, since it might call exec before.
    bool ok = account.attached().count(::gettid()) == 0;
    const LedgerCounts before = Ledger::Get().Counts();
    {
      IoScope scope(outer_);
      Ledger::ThisThread().CountRead(FileKind::kData, 11);
      ok = ok && account.attached().count(::gettid()) == 1;
      ok = ok && Ledger::ThisThread().kernel != parents;
    }
    std::thread([&] {
      IoScope scope(outer_);
      Ledger::ThisThread().CountRead(FileKind::kData, 11);
    }).join();
    const LedgerCounts cost = Ledger::Get().Counts() - before;
    ok = ok && Of(cost, outer_).FileTotal().read_bytes == 22;
    ::_exit(ok ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Ledger::ThisThread().kernel, parents);
  Ledger::Get().Configure(AccountDepth::kFile, nullptr);
}

// An opening defines a kind, and a forked child may open a database of its own.
TEST_F(LedgerTest, AForkedChildDefinesKindsWhateverAnotherThreadDidAtTheFork) {
  std::atomic<bool> stop{false};
  std::thread other([&stop] {
    while (!stop.load()) {
      DefineOp("ledger-outer", Ground::kForeground);
      std::this_thread::yield();
    }
  });
  int failed = 0;
  for (int i = 0; i < 50 && failed == 0; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);  // it would wait for a thread that it does not have
      DefineOp("ledger-outer", Ground::kForeground);
      ::_exit(0);
    }
    int status = -1;
    if (::waitpid(child, &status, 0) != child || status != 0) ++failed;
  }
  stop.store(true);
  other.join();
  EXPECT_EQ(failed, 0);
}

TEST_F(LedgerTest, TooManyKindsAreRefused) {
  // The test runs in a child process, because a kind that was defined stays defined.
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      for (size_t i = 0; i <= kMaxOps; ++i) {
        DefineOp("ledger-kind-" + std::to_string(i), Ground::kForeground);
      }
    } catch (const Error& e) {
      ::_exit(e.kind() == Error::kUsage ? 0 : 1);
    }
    ::_exit(2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// An object of a thread that is destroyed after the thread's registration.
struct LastOfItsThread {
  bool* shares = nullptr;
  ~LastOfItsThread() {
    if (shares == nullptr) return;
    const ThreadLedger* const own = &Ledger::ThisThread();
    std::thread([this, own] { *shares = &Ledger::ThisThread() == own; }).join();
  }
};

TEST_F(LedgerTest, AThreadThatEndsSharesItsPartWithNone) {
  bool shares = true;
  std::thread([&shares] {
    thread_local LastOfItsThread last;  // it is made before the registration
    last.shares = &shares;
    Ledger::ThisThread();
  }).join();
  EXPECT_FALSE(shares);
}

class ServingAccount : public FakeAccount {
 public:
  void Serve(const ThreadLedger&, int) override { ++serves; }
  int serves = 0;
};

TEST_F(LedgerTest, AServedThreadFollowsTheNextThreadThatGetsAPartOfTheLedger) {
  ServingAccount account;
  Ledger::Get().Configure(AccountDepth::kKernel, &account);
  {
    ServedThread served(4242);
    const ThreadLedger* parts[2] = {};
    for (int i = 0; i < 2; ++i) {
      std::thread([&] {
        served.Follow();
        served.Follow();
        parts[i] = &Ledger::ThisThread();
      }).join();
      EXPECT_EQ(account.serves, i + 1);
    }
    EXPECT_EQ(parts[0], parts[1]);
  }
  Ledger::Get().Configure(AccountDepth::kFile, nullptr);
}

}  // namespace
}  // namespace testbed
