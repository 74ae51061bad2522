// A fixture for the tests of closure: a scratch device with a kernel account, and the measurement
// of the IO that some work costs.
#ifndef TESTBED_TESTS_ENGINE_ACCOUNT_CLOSURE_TEST_H_
#define TESTBED_TESTS_ENGINE_ACCOUNT_CLOSURE_TEST_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/account/block_device.h"
#include "device/account/journal.h"
#include "device/account/kernel_account.h"
#include "device/account/ledger.h"
#include "device/file/file.h"
#include "device/machine/scratch.h"
#include "tests/at_rest.h"
#include "tests/engine/engine_test.h"

namespace testbed {

inline constexpr size_t kThreads = 8;
inline constexpr size_t kPage = 8192;

class ClosureTest : public testing::TestWithParam<FileSystem> {
 protected:
  void SetUp() override {
    std::string why;
    if (!ScratchDevice::Available(&why)) GTEST_SKIP() << why;
    std::string pattern = std::filesystem::current_path() / "closure_test_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    ScratchOptions options;
    options.directory = directory_;
    options.file_system = GetParam();
    options.bytes = std::max(ScratchDevice::MinimumBytes(GetParam()), 160 * kMiB);
    scratch_ = ScratchDevice::Create(options);
    account_ = KernelAccount::Start(scratch_->device(), &why);
    if (account_ == nullptr) GTEST_SKIP() << why;
    const std::vector<SectorRange> journal = JournalUnder(scratch_->path());
    ASSERT_FALSE(journal.empty());
    for (const SectorRange& range : journal) {
      ASSERT_TRUE(account_->RegisterJournal(range.first, range.sectors));
    }
    Ledger::Get().Configure(AccountDepth::kDevice, account_.get());
  }

  void TearDown() override {
    Ledger::Get().Configure(AccountDepth::kFile, nullptr);
    if (account_ != nullptr) {
      for (const KernelAccount::Program& program : account_->Programs()) {
        EXPECT_EQ(program.missed, 0u) << program.tracepoint;
      }
    }
    account_.reset();
    scratch_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  struct Balance {
    LedgerCounts ledger;
    DeviceStats device;
  };

  // Returns the counts of both levels at one moment, when the device is at rest and nothing was
  // submitted while they were read.
  Balance Look() const {
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(ComesToRest(scratch_->device(), 10000));
      Balance balance{Ledger::Get().Counts(), scratch_->device().Stats()};
      if (Ledger::Get().Counts().KernelTotal() == balance.ledger.KernelTotal() &&
          scratch_->device().Stats().in_flight == 0) {
        return balance;
      }
    }
    ADD_FAILURE() << "the device never came to rest";
    return {};
  }

  // Runs `work` and returns its cost, which must close exactly.
  Balance Cost(const std::function<void()>& work) {
    const Balance before = Look();
    work();
    Balance cost = Look();
    cost.ledger -= before.ledger;
    cost.device = cost.device - before.device;
    const BlockCounts kernel = cost.ledger.KernelTotal();
    EXPECT_EQ(kernel.reads, cost.device.reads);
    EXPECT_EQ(kernel.read_bytes, cost.device.read_bytes);
    EXPECT_EQ(kernel.writes, cost.device.writes);
    EXPECT_EQ(kernel.write_bytes, cost.device.write_bytes);
    return cost;
  }

  static BlockCounts OfOp(const Balance& cost, OpKind op) {
    return cost.ledger.ops[op.id].KernelTotal();
  }
  // Returns the requests to files of this kind by all threads, including the kernel's own.
  static BlockCounts OfKind(const Balance& cost, FileKind kind) {
    BlockCounts total;
    for (const LedgerCounts::Op& op : cost.ledger.ops)
      total += op.kernel[static_cast<size_t>(kind)];
    for (const LedgerCounts::Foreign& f : cost.ledger.foreign) {
      if (f.kind == kind) total += f.counts;
    }
    return total;
  }
  static void PrintForeign(const Balance& cost) {
    for (const LedgerCounts::Foreign& f : cost.ledger.foreign) {
      std::printf("  %s, %s: %lu reads of %lu bytes, %lu writes of %lu bytes, %lu flushes\n",
                  f.thread.c_str(), FileKindName(f.kind), f.counts.reads, f.counts.read_bytes,
                  f.counts.writes, f.counts.write_bytes, f.counts.flushes);
    }
  }

  std::unique_ptr<File> Open(const std::string& name, FileKind kind, IoMode mode,
                             Advice advice = Advice::kNormal) const {
    FileOptions options;
    options.kind = kind;
    options.mode = mode;
    options.advice = advice;
    options.create = FileOptions::kMayExist;
    return File::Open(scratch_->path() + "/" + name, options);
  }

  // Makes a file whose blocks are all written, and none of them in the page cache.
  void Fill(const std::string& name, FileKind kind, uint64_t bytes) const {
    auto file = Open(name, kind, IoMode::kDirect);
    AlignedBuffer buffer(kMiB);
    std::fill_n(buffer.data(), buffer.size(), 'x');
    for (uint64_t at = 0; at < bytes; at += kMiB) file->Write(at, buffer.data(), kMiB);
    file->Sync(true);
    ::syncfs(file->fd());
  }

  bool SetScheduler(const std::string& scheduler) const {
    const std::string path = scratch_->device().sysfs() + "/queue/scheduler";
    std::ofstream(path) << scheduler;
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    if (line.find("[" + scheduler + "]") != std::string::npos) return true;
    std::printf("  no scheduler %s on this kernel\n", scheduler.c_str());
    return false;
  }

  static void OnThreads(const std::function<void(size_t)>& work, size_t threads = kThreads) {
    std::vector<std::thread> running;
    for (size_t i = 0; i < threads; ++i) running.emplace_back(work, i);
    for (std::thread& thread : running) thread.join();
  }

  std::string directory_;
  std::unique_ptr<ScratchDevice> scratch_;
  std::unique_ptr<KernelAccount> account_;
};

// Reads the calling thread's share of the pages, so that all threads together read each page of the
// file once, in random order.
inline void ReadEachPageOnce(File* file, uint64_t pages, OpKind op, size_t thread) {
  std::vector<uint64_t> order(pages);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(99));
  AlignedBuffer buffer(kPage);
  for (size_t i = thread; i < order.size(); i += kThreads) {
    IoScope scope(op);
    if (file->options().mode == IoMode::kMmap) {
      const std::string_view page = file->View(order[i] * kPage, kPage);
      for (size_t at = 0; at < kPage; at += 4096) {
        ASSERT_EQ(*static_cast<const volatile char*>(page.data() + at), 'x');
      }
    } else {
      file->Read(order[i] * kPage, buffer.data(), kPage);
    }
  }
}

}  // namespace testbed

#endif  // TESTBED_TESTS_ENGINE_ACCOUNT_CLOSURE_TEST_H_
