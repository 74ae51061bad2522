// Closure: what the kernel account counts per thread, operation and kind of file adds up to the
// device's own statistics, with a difference of zero, whatever is done to the device.
#include <bpf/bpf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/aio_abi.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/block_device.h"
#include "device/error.h"
#include "device/file.h"
#include "device/journal.h"
#include "device/kernel_account.h"
#include "device/ledger.h"
#include "device/read_ring.h"
#include "device/scratch.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr size_t kThreads = 8;
constexpr size_t kPage = 8192;
constexpr uint64_t kMiB = 1 << 20;

class ClosureTest : public testing::TestWithParam<FileSystem> {
 protected:
  void SetUp() override {
    std::string why;
    if (!ScratchDevice::Available(&why)) GTEST_SKIP() << why;
    std::string pattern = fs::current_path() / "closure_test_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    ScratchOptions options;
    options.directory = directory_;
    options.file_system = GetParam();
    options.bytes = 400 * kMiB;
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
    if (!directory_.empty()) fs::remove_all(directory_);
  }

  struct Balance {
    LedgerCounts ledger;
    DeviceStats device;
  };

  // Both levels at one moment: the device at rest, and nothing submitted while it was read.
  Balance Look() const {
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(scratch_->device().Quiesce(10000));
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
  // Over all threads, the kernel's own included.
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

  // A file of written blocks, none of them in the page cache.
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

// Each page of the file once, in random order, spread over the threads.
void ReadEachPageOnce(File* file, uint64_t pages, OpKind op, size_t thread) {
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

TEST_P(ClosureTest, AKnownNumberOfDirectReads) {
  constexpr uint64_t kPages = 4096;
  Fill("data", FileKind::kData, kPages * kPage);
  const OpKind op = DefineOp("closure-read", Ground::kForeground);
  auto file = Open("data", FileKind::kData, IoMode::kDirect);
  const Balance cost =
      Cost([&] { OnThreads([&](size_t i) { ReadEachPageOnce(file.get(), kPages, op, i); }); });
  PrintForeign(cost);
  const LedgerCounts::Op& counts = cost.ledger.ops[op.id];
  const BlockCounts& data = counts.kernel[static_cast<size_t>(FileKind::kData)];
  // The block layer may merge two neighbours that are in flight at once; rarely, and it says so.
  EXPECT_EQ(data.reads + cost.device.read_merges, kPages);
  EXPECT_EQ(data.read_bytes, kPages * kPage);
  EXPECT_EQ(data.writes, 0u);
  EXPECT_EQ(counts.KernelTotal(), data) << "nothing but data";
  EXPECT_EQ(counts.FileTotal().reads, kPages);
  EXPECT_EQ(counts.FileTotal().read_bytes, kPages * kPage);
  EXPECT_EQ(counts.operations, kPages);
  EXPECT_GE(counts.kernel_reads[1] + cost.device.read_merges, kPages)
      << "each operation cost one request";
  EXPECT_EQ(counts.file_reads[1], kPages);
}

TEST_P(ClosureTest, ReadsInFlightAreTheirOperations) {
  if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
  constexpr uint64_t kPages = 2048, kDepth = 32;
  Fill("data", FileKind::kData, kPages * kPage);
  for (const IoMode mode : {IoMode::kDirect, IoMode::kBuffered}) {
    const OpKind op =
        DefineOp(std::string("closure-ring-") + IoModeName(mode), Ground::kForeground);
    auto file = Open("data", FileKind::kData, mode, Advice::kRandom);
    file->Forget(0, kPages * kPage);
    const Balance cost = Cost([&] {
      ReadRing ring(kDepth);
      AlignedBuffer buffer(kDepth * kPage);
      for (uint64_t i = 0; i < kPages; ++i) {
        const uint64_t slot = i < kDepth ? i : ring.Take().tag;
        IoScope scope(op);
        ring.Start(*file, i * 1237 % kPages * kPage, buffer.data() + slot * kPage, kPage, slot);
      }
    });
    PrintForeign(cost);
    const BlockCounts data = OfOp(cost, op);
    EXPECT_EQ(data.read_bytes, kPages * kPage) << IoModeName(mode);
    EXPECT_EQ(data.read_bytes, cost.device.read_bytes);
    EXPECT_EQ(cost.ledger.ops[op.id].FileTotal().read_bytes, kPages * kPage);
    EXPECT_EQ(OfKind(cost, FileKind::kData), data) << "nobody else";
  }
}

TEST_P(ClosureTest, BufferedAndMappedReads) {
  constexpr uint64_t kPages = 4096;
  const OpKind op = DefineOp("closure-read", Ground::kForeground);
  Fill("data", FileKind::kData, kPages * kPage);
  struct Way {
    IoMode mode;
    Advice advice;
  };
  for (Way way : {Way{IoMode::kBuffered, Advice::kRandom}, Way{IoMode::kBuffered, Advice::kNormal},
                  Way{IoMode::kMmap, Advice::kRandom}, Way{IoMode::kMmap, Advice::kNormal},
                  Way{IoMode::kMmap, Advice::kWillNeed}}) {
    SCOPED_TRACE(std::string(IoModeName(way.mode)) + " " + AdviceName(way.advice));
    auto file = Open("data", FileKind::kData, way.mode, way.advice);
    file->Forget(0, 0);
    const Balance cost =
        Cost([&] { OnThreads([&](size_t i) { ReadEachPageOnce(file.get(), kPages, op, i); }); });
    const LedgerCounts::Op& counts = cost.ledger.ops[op.id];
    const BlockCounts& data = counts.kernel[static_cast<size_t>(FileKind::kData)];
    EXPECT_EQ(counts.KernelTotal(), data) << "every page was of the file";
    EXPECT_GE(data.read_bytes, kPages * kPage);
    EXPECT_EQ(OfKind(cost, FileKind::kData), data) << "all by the threads that read";
    if (way.advice == Advice::kRandom) {
      EXPECT_EQ(data.read_bytes, kPages * kPage);
    } else if (way.mode == IoMode::kMmap && way.advice == Advice::kNormal) {
      EXPECT_GT(data.readahead, 0u);
    }
    std::printf(
        "  %s %s: %lu reads of %lu bytes, %lu of them readahead; share of the device %.4f\n",
        IoModeName(way.mode), AdviceName(way.advice), data.reads, data.read_bytes, data.readahead,
        static_cast<double>(data.reads) / static_cast<double>(cost.device.reads));
  }
}

// Sequential buffered IO of big pieces: bios are split at the queue's limit, and neighbours merge.
TEST_P(ClosureTest, SplitsAndMerges) {
  for (const std::string scheduler : {"none", "mq-deadline"}) {
    SCOPED_TRACE(scheduler);
    if (!SetScheduler(scheduler)) continue;
    std::ofstream(scratch_->device().sysfs() + "/queue/max_sectors_kb") << 64;
    const OpKind op = DefineOp("closure-stream", Ground::kForeground);
    constexpr uint64_t kBytes = 24 * kMiB;
    const Balance wrote = Cost([&] {
      OnThreads(
          [&](size_t thread) {
            IoScope scope(op);
            auto file = Open("stream" + std::to_string(thread), FileKind::kTemp, IoMode::kBuffered);
            const std::string piece(kPage, 'x');
            // Every other page first: later ones find neighbours that wait.
            for (uint64_t first : {0, 1}) {
              for (uint64_t at = first * kPage; at < kBytes; at += 2 * kPage) {
                file->Write(at, piece.data(), piece.size());
              }
            }
            file->Sync(true);
          },
          2);
    });
    EXPECT_EQ(OfKind(wrote, FileKind::kTemp).write_bytes, 2 * kBytes);
    EXPECT_GT(wrote.device.writes, 2 * kBytes / (64 * 1024) - 1) << "split at 64 KiB";
    const Balance read = Cost([&] {
      OnThreads(
          [&](size_t thread) {
            IoScope scope(op);
            auto file = Open("stream" + std::to_string(thread), FileKind::kTemp, IoMode::kBuffered);
            file->Forget(0, 0);
            std::string piece(4 * kMiB, 0);
            for (uint64_t at = 0; at < kBytes; at += piece.size()) {
              file->Read(at, piece.data(), piece.size());
            }
          },
          2);
    });
    EXPECT_EQ(OfOp(read, op).read_bytes, read.device.read_bytes);
    std::printf("  %s: %lu write merges, %lu read merges\n", scheduler.c_str(),
                wrote.device.write_merges, read.device.read_merges);
  }
}

// Direct writes of one block each, handed to the kernel in one call and one order.
void WriteBlocksAtOnce(int fd, char* block, const std::vector<uint64_t>& order) {
  aio_context_t context = 0;
  ASSERT_EQ(::syscall(SYS_io_setup, order.size(), &context), 0);
  std::vector<iocb> requests(order.size());
  std::vector<iocb*> pointers;
  for (size_t i = 0; i < order.size(); ++i) {
    requests[i].aio_fildes = static_cast<uint32_t>(fd);
    requests[i].aio_lio_opcode = IOCB_CMD_PWRITE;
    requests[i].aio_buf = reinterpret_cast<uint64_t>(block);
    requests[i].aio_nbytes = 4096;
    requests[i].aio_offset = static_cast<int64_t>(order[i] * 4096);
    pointers.push_back(&requests[i]);
  }
  const long n = static_cast<long>(order.size());
  ASSERT_EQ(::syscall(SYS_io_submit, context, n, pointers.data()), n);
  std::vector<io_event> events(order.size());
  ASSERT_EQ(::syscall(SYS_io_getevents, context, n, n, events.data(), nullptr), n);
  for (const io_event& event : events) ASSERT_EQ(event.res, 4096);
  ::syscall(SYS_io_destroy, context);
}

TEST_P(ClosureTest, MergesOfEachSort) {
  const int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);  // has the kernel count program runs
  ASSERT_GE(stats, 0);
  auto runs = [&](const std::string& tracepoint) -> uint64_t {
    for (const KernelAccount::Program& program : account_->Programs()) {
      if (program.tracepoint == tracepoint) return program.runs;
    }
    return 0;
  };
  constexpr uint64_t kBlocks = 32;
  std::vector<uint64_t> up(kBlocks), apart;
  std::iota(up.begin(), up.end(), 0);
  const std::vector<uint64_t> down(up.rbegin(), up.rend());
  for (uint64_t first : {0, 1}) {
    for (uint64_t i = first; i < kBlocks; i += 2) apart.push_back(i);
  }
  struct Case {
    const char *scheduler, *tracepoint;
    const std::vector<uint64_t>& order;
  };
  Fill("data", FileKind::kData, kMiB);
  auto file = Open("data", FileKind::kData, IoMode::kDirect);
  AlignedBuffer block(4096);
  const OpKind op = DefineOp("closure-write", Ground::kForeground);
  for (const Case& c :
       {Case{"none", "block_bio_backmerge", up}, Case{"none", "block_bio_frontmerge", down},
        Case{"mq-deadline", "block_rq_merge", apart}}) {
    SCOPED_TRACE(c.tracepoint);
    if (!SetScheduler(c.scheduler)) continue;
    const uint64_t before = runs(c.tracepoint);
    const Balance cost = Cost([&] {
      IoScope scope(op);
      for (int i = 0; i < 20; ++i) WriteBlocksAtOnce(file->fd(), block.data(), c.order);
    });
    EXPECT_EQ(OfOp(cost, op).write_bytes, 20 * kBlocks * 4096);
    EXPECT_LT(OfOp(cost, op).writes, 20 * kBlocks);
    EXPECT_GT(cost.device.write_merges, 0u);
    EXPECT_GT(runs(c.tracepoint), before);
    std::printf("  %s: %lu of %lu writes left, %lu merges\n", c.tracepoint, cost.device.writes,
                20 * kBlocks, cost.device.write_merges);
  }
  ::close(stats);
}

TEST_P(ClosureTest, WritesByClass) {
  const OpKind op = DefineOp("closure-write", Ground::kForeground);
  constexpr uint64_t kPages = 512;
  constexpr int kCommits = 200;
  Fill("data", FileKind::kData, kPages * kPage);
  Fill("pages", FileKind::kData, kPages * kPage);
  const Balance cost = Cost([&] {
    OnThreads([&](size_t thread) {
      auto log = Open("log" + std::to_string(thread), FileKind::kLog, IoMode::kDirect);
      auto data = Open("data", FileKind::kData, IoMode::kDirect);
      auto pages = Open("pages", FileKind::kData, IoMode::kBuffered);
      auto twice = Open("doublewrite", FileKind::kDoublewrite, IoMode::kBuffered);
      AlignedBuffer page(kPage);
      std::fill_n(page.data(), kPage, 'y');
      std::mt19937_64 random(thread);
      for (int i = 0; i < kCommits; ++i) {
        IoScope scope(op);
        log->Write(static_cast<uint64_t>(i) * 4096, page.data(), 4096);
        log->Sync();
        data->Write(random() % kPages * kPage, page.data(), kPage);
        pages->Write(random() % kPages * kPage, page.data(), kPage);
        if (i % 16 == 0) {
          twice->Write(thread * kMiB, page.data(), kPage);
          twice->Sync();
          pages->Sync(true);
        }
      }
    });
  });
  PrintForeign(cost);
  for (const LedgerCounts::Foreign& f : cost.ledger.foreign) {
    if (f.thread == "jbd2") {
      EXPECT_NE(f.kind, FileKind::kFsMetadata) << "inside the journal";
    }
  }
  const LedgerCounts::Op& mine = cost.ledger.ops[op.id];
  auto kind = [&](FileKind k) { return mine.kernel[static_cast<size_t>(k)]; };
  // Logs: a data write and a flush for each commit; on a file that grows the flush may be part of
  // the journal's commit instead.
  EXPECT_EQ(kind(FileKind::kLog).write_bytes, kThreads * kCommits * 4096u);
  const uint64_t log_writes = kind(FileKind::kLog).writes - kind(FileKind::kLog).flushes;
  EXPECT_LE(log_writes, kThreads * kCommits);
  EXPECT_GE(log_writes + cost.device.write_merges, kThreads * kCommits);
  EXPECT_GE(kind(FileKind::kData).write_bytes, kThreads * kCommits * kPage);
  EXPECT_GT(kind(FileKind::kDoublewrite).write_bytes, 0u);
  EXPECT_EQ(kind(FileKind::kTemp), BlockCounts{});
  EXPECT_EQ(kind(FileKind::kMeta), BlockCounts{});
  EXPECT_EQ(OfKind(cost, FileKind::kOtherFile).write_bytes, 0u) << "every byte has its file";
  EXPECT_GT(OfKind(cost, FileKind::kFsJournal).write_bytes, 0u) << "growing files are journaled";
  const BlockCounts total = cost.ledger.KernelTotal();
  std::printf(
      "  charged to the foreground: %.4f of write requests, %.4f of bytes\n",
      static_cast<double>(OfOp(cost, op).writes) / static_cast<double>(total.writes),
      static_cast<double>(OfOp(cost, op).write_bytes) / static_cast<double>(total.write_bytes));
  for (size_t k = 0; k < kFileKinds; ++k) {
    const BlockCounts c = OfKind(cost, static_cast<FileKind>(k));
    std::printf("  %-12s %6lu writes %9lu bytes %6lu flushes\n",
                FileKindName(static_cast<FileKind>(k)), c.writes, c.write_bytes, c.flushes);
  }
}

TEST_P(ClosureTest, MappedWritesAreTheFilesWhoeverWritesThemBack) {
  const OpKind op = DefineOp("closure-write", Ground::kForeground);
  constexpr uint64_t kPages = 2048;
  Fill("data", FileKind::kData, kPages * kPage);
  auto file = Open("data", FileKind::kData, IoMode::kBuffered);
  file->Forget(0, 0);
  char* map = static_cast<char*>(
      ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd(), 0));
  ASSERT_NE(map, MAP_FAILED);
  const Balance synced = Cost([&] {
    OnThreads([&](size_t thread) {
      for (uint64_t page = thread; page < kPages; page += kThreads) {
        IoScope scope(op);
        map[page * kPage] = 'y';
      }
    });
    IoScope scope(op);
    ::msync(map, kPages * kPage, MS_SYNC);
  });
  // Faults read what they write to; writing back rounds to blocks of 4 KiB, one a page.
  const BlockCounts data = synced.ledger.ops[op.id].kernel[static_cast<size_t>(FileKind::kData)];
  EXPECT_GT(data.reads, 0u);
  EXPECT_GE(data.write_bytes, kPages * 4096);

  // syncfs has the kernel's own threads write; the class is known from the inode.
  const Balance background = Cost([&] {
    for (uint64_t page = 0; page < kPages; ++page) map[page * kPage] = 'z';
    ::syncfs(file->fd());
  });
  PrintForeign(background);
  EXPECT_GE(OfKind(background, FileKind::kData).write_bytes, kPages * 4096);
  uint64_t by_workers = 0;
  for (const LedgerCounts::Foreign& f : background.ledger.foreign) {
    if (f.thread == "kworker" && f.kind == FileKind::kData) by_workers += f.counts.write_bytes;
  }
  EXPECT_GE(by_workers, kPages * 4096);
  ::munmap(map, kPages * kPage);
}

TEST_P(ClosureTest, OtherProcessesAndUnknownFilesAreNamed) {
  Fill("data", FileKind::kData, kMiB);
  // Takes the inode numbers that files of other tests in this process may have had.
  for (int i = 0; i < 100; ++i) std::ofstream(scratch_->path() + "/" + std::to_string(i));
  const std::string path = scratch_->path() + "/data";
  const std::string other = scratch_->path() + "/other";
  const Balance cost = Cost([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      // A program that knows nothing of us.
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

// Not every system lets us read where the journal lies.
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
  constexpr size_t kMany = KernelAccount::kMaxThreads + 40;
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
  EXPECT_GE(OfOp(cost, op).reads, KernelAccount::kMaxThreads - 1);
  EXPECT_EQ(OfKind(cost, FileKind::kData).reads, OfOp(cost, op).reads);
  EXPECT_GE(cost.device.reads, kMany);
  // The slots are free again for others.
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

INSTANTIATE_TEST_SUITE_P(FileSystems, ClosureTest,
                         testing::Values(FileSystem::kExt4, FileSystem::kXfs),
                         [](const auto& info) { return FileSystemName(info.param); });

}  // namespace
}  // namespace testbed
