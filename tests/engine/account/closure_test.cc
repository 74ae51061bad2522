// Tests closure: the counts of the kernel account by thread, operation and kind of file must add up
// to the device's own statistics exactly, whatever is done to the device.
#include "tests/engine/account/closure_test.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/aio_abi.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/account/grade.h"
#include "device/account/kernel_account.h"
#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/file.h"
#include "device/file/read_ring.h"

namespace testbed {
namespace {

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
  // The block layer may merge two neighbours that are in flight at the same time. It seldom does,
  // and counts it.
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

// Workers of the kernel issue the reads that find their file locked by a change of its length.
TEST_P(ClosureTest, ReadsInFlightThatWaitForTheirFileAreOfTheRunsFiles) {
  if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
  constexpr uint64_t kPages = 1024, kDepth = 32;
  Fill("data", FileKind::kData, kPages * kPage);
  const OpKind op = DefineOp("closure-ring-waits", Ground::kForeground);
  auto file = Open("data", FileKind::kData, IoMode::kDirect);
  std::atomic<bool> done{false};
  const auto read_pages = [&] {
    ReadRing ring(kDepth);
    AlignedBuffer buffer(kDepth * kPage);
    for (uint64_t i = 0; i < kPages; ++i) {
      const uint64_t slot = i < kDepth ? i : ring.Take().tag;
      IoScope scope(op);
      ring.Start(*file, i * 1237 % kPages * kPage, buffer.data() + slot * kPage, kPage, slot);
    }
    while (ring.in_flight() > 0) ring.Take();
    done = true;
  };
  const auto change_length = [&] {
    for (uint64_t more = kPage; !done; more = kPage - more) file->Truncate(kPages * kPage + more);
    file->Truncate(kPages * kPage);
  };
  const Balance cost =
      Cost([&] { OnThreads([&](size_t i) { i == 0 ? read_pages() : change_length(); }, 2); });
  PrintForeign(cost);
  EXPECT_EQ(OfKind(cost, FileKind::kData).read_bytes, kPages * kPage);
  const BlockCounts& data = cost.ledger.ops[op.id].kernel[static_cast<size_t>(FileKind::kData)];
  EXPECT_EQ(WhyNotCharged(cost.ledger).empty(), data.read_bytes == kPages * kPage);
}

// Threads of the run's server or library may be among those that have no place of their own.
TEST_P(ClosureTest, SaysWhenTheNameOfAThreadFindsNoRoom) {
  Fill("data", FileKind::kData, kMiB);
  const std::string path = scratch_->path() + "/data";
  // Reads a block under each of these names. The thread calls no function of the ledger, so that it
  // has no slot.
  const auto read_as = [&path](size_t first, size_t end) {
    std::thread([&] {
      const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
      AlignedBuffer buffer(4096);
      for (size_t i = first; i < end; ++i) {
        ::prctl(PR_SET_NAME, ("name " + std::to_string(i)).c_str());
        EXPECT_EQ(::pread(fd, buffer.data(), 4096, 0), 4096);
      }
      ::close(fd);
    }).join();
  };
  constexpr size_t kFew = 100;
  Cost([&] { read_as(0, kFew); });
  EXPECT_FALSE(account_->LacksNames());
  const Balance cost = Cost([&] { read_as(kFew, kFew + KernelAccount::kMostNames); });
  EXPECT_TRUE(account_->LacksNames());
  EXPECT_GE(cost.ledger.KernelTotal().reads, KernelAccount::kMostNames) << "none is lost";
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
            // Every other page is written first, so that later ones find neighbours that wait.
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

// Writes the blocks directly, each by a write of its own, in one system call and in the given
// order.
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
  // Each commit of a log must cost a data write and a flush. On a file that grows, the flush may be
  // part of the journal's commit instead.
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
  // A write to a mapping first reads the page by a fault. The write-back writes whole blocks of 4
  // KiB, one for each page.
  const BlockCounts data = synced.ledger.ops[op.id].kernel[static_cast<size_t>(FileKind::kData)];
  EXPECT_GT(data.reads, 0u);
  EXPECT_GE(data.write_bytes, kPages * 4096);

  // With syncfs the kernel's own threads write. The kind of the file must be known from the inode.
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

std::string NameOfFileSystem(const testing::TestParamInfo<FileSystem>& info) {
  return FileSystemName(info.param);
}
// The cells of experiment log-writes close on xfs in each run.
INSTANTIATE_TEST_SUITE_P(FileSystems, ClosureTest, testing::Values(FileSystem::kExt4),
                         NameOfFileSystem);
INSTANTIATE_TEST_SUITE_P(EveryWay, ClosureTest, testing::Values(FileSystem::kXfs),
                         NameOfFileSystem);

}  // namespace
}  // namespace testbed
