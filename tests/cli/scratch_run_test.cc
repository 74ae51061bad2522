// Tests whole runs on a scratch device, which no other program uses. The account of every phase
// must close, and the device must read what the engine counts, or what follows from it by a rule of
// the kernel. A device is written once before its first use, so devices are no larger than their
// runs need.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "device/machine/scratch.h"
#include "engines/registry.h"
#include "tests/cli/command.h"

namespace testbed {
namespace {

class ScratchRunTest : public CommandTest {
 protected:
  // Runs testbed with these options and keeps its results document. Skips where a device or its
  // account cannot be had. Expects that every phase of every run closes exactly.
  void RunOnScratch(const std::string& options) {
    std::string why;
    if (!ScratchDevice::Available(&why)) GTEST_SKIP() << why;
    const CommandResult result = Run(options + " --quiet --json run.json");
    if (result.code == 2 && result.err.find("loop") != std::string::npos) {
      GTEST_SKIP() << "no loop devices here: " << result.err;
    }
    ASSERT_EQ(result.code, 0) << result.err;
    document_ = Json("run.json");
    for (const nlohmann::json& run : document_["runs"]) {
      if (run["accounting"]["kernel_account"] != true) {
        GTEST_SKIP() << "no kernel account here: " << run["accounting"]["missing"];
      }
      for (const nlohmann::json& phase : run["phases"]) {
        const nlohmann::json& closure = phase["account"]["closure"];
        for (const char* figure : {"reads", "read_bytes", "writes", "write_bytes"}) {
          EXPECT_EQ(closure[figure], 0) << phase["name"] << " " << figure << "\n" << result.out;
        }
        EXPECT_EQ(phase["grade"], "A") << phase["name"] << phase["grade_reasons"];
      }
      EXPECT_EQ(run["accounting"]["grade"], "A") << run["accounting"]["grade_reasons"];
    }
  }

  // Returns the account of a phase of the last run, counted from its last phase, which is 0.
  const nlohmann::json& Account(size_t before_last = 0) const {
    const nlohmann::json& phases = document_["runs"].back()["phases"];
    return phases[phases.size() - 1 - before_last]["account"];
  }

  struct Reads {
    uint64_t reads = 0, bytes = 0;
  };
  // Returns the reads at the device, without those with which the file system itself looked for the
  // blocks. When the block layer has merged the reads of two clients into one request, they count
  // as two.
  Reads DeviceReads(const nlohmann::json& account) const {
    const nlohmann::json& device = account["device"];
    Reads reads{device["reads"].get<uint64_t>() + device["read_merges"].get<uint64_t>(),
                device["read_bytes"]};
    for (const nlohmann::json& cause : account["causes"]) {
      const nlohmann::json own = cause["kernel_by_kind"].value("fs-metadata", nlohmann::json());
      if (own.is_null()) continue;
      reads.reads -= own["reads"].get<uint64_t>();
      reads.bytes -= own["read_bytes"].get<uint64_t>();
    }
    return reads;
  }

  nlohmann::json document_;
};

bool CannotGoOn() { return testing::Test::IsSkipped() || testing::Test::HasFailure(); }

// Once, the device was made and written first, and the advice was another --dir, which --scratch
// refuses.
TEST_F(ScratchRunTest, ADeviceWithoutRoomForTheDatabaseIsRefusedBeforeItIsMade) {
  ExpectRefused(Run("--engine btree --ram 64M --rows 1000000 --scratch 100M"),
                "--scratch 100M has room for 100M, and the database needs 396.7M at least; give a "
                "larger device, --scratch auto, or fewer --rows");
  EXPECT_TRUE(DirectoryIsEmpty());
}

// A page of two blocks whose readahead is off takes a request for each, and the thread is in other
// reads when the kernel sends the second one.
TEST_F(ScratchRunTest, BufferedReadsInFlightAreChargedToReads) {
  RunOnScratch(
      "--engine btree --io buffered --page-size 8k --readahead 0 --queue-depth 4 --rows 30000 "
      "--ram 32M --cache-pct 10 --scratch 64M --threads 1 --operations 3000 --drop-caches "
      "--warmup 0 --workload insert,point-read");
  if (IsSkipped()) return;
  uint64_t reads = 0;
  for (const nlohmann::json& cause : Account()["causes"]) {
    if (cause["name"] == "unscoped") {
      EXPECT_EQ(cause["kernel"].value("reads", 0), 0);
    }
    if (cause["name"] == "point-read") reads = cause["kernel"]["reads"];
  }
  EXPECT_GE(reads, 2000u) << "most pages are not in the cache, and each takes a request or two";
}

TEST_F(ScratchRunTest, ClosesExactly) {
  RunOnScratch(
      "--engine rocksdb --scratch auto --io direct --rows 100000 --operations 20000 --threads 4 "
      "--ram 64M");
}

// Phases of a list with `settle` follow each other without waiting, but a settle itself ends at
// rest, so the phases before and after it have exact accounts.
TEST_F(ScratchRunTest, PhasesAroundAListedSettleAreOfGradeA) {
  RunOnScratch(
      "--engine rocksdb --scratch auto --rows 50000 --operations 2000 --threads 2 --ram 64M "
      "--workload insert,settle,point-read");
}

// RocksDB's buffers for a load are large, and none is needed at rest. Memory of theirs that the
// allocator kept would be missing from both caches.
TEST_F(ScratchRunTest, WhatAnEngineFreedGoesBackToTheSystem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps what is freed";
#endif
  RunOnScratch(
      "--engine rocksdb --scratch 600M --io direct --ram 128M --cache-pct 20 --rows 300000 "
      "--rows-per-transaction 100 --threads 2 --workload insert");
  if (CannotGoOn()) return;
  const nlohmann::json& rest = document_["runs"].back()["phases"].back();
  ASSERT_EQ(rest["kind"], "settle");
  EXPECT_LT(rest["memory"]["process_other"], 12e6);  // 2 MB; 46 where blocks are kept
}

// The reads of compressed pages that btree counts must be those that the device counts. Their
// number must agree from the beginning. Their bytes must agree once btree has read each page once,
// and no longer asks for the hole behind it. Each of 2,800 leaves is looked up 21 times a phase;
// the last one alone, which may have a single row, may be read first in the second phase.
TEST_F(ScratchRunTest, CompressedPagesReadWhatTheDeviceReads) {
  RunOnScratch(
      "--engine btree --compression lz4 --page-size 16k --compressibility 0.7 --scratch 600M --io "
      "direct --rows 40000 --rows-per-transaction 100 --operations 60000 --threads 2 "
      "--workload insert,point-read:2 "
      "--engine-option compressed_cache_pct=30 --ram 64M --cache-pct 10");
  if (CannotGoOn()) return;
  const nlohmann::json &first = Account(1), &second = Account();
  for (const nlohmann::json* account : {&first, &second}) {
    EXPECT_EQ(DeviceReads(*account).reads, (*account)["engine"]["block_reads"]);
  }
  EXPECT_GE(first["engine"]["block_read_bytes"], DeviceReads(first).bytes);
  const Reads reads = DeviceReads(second);
  const uint64_t asked = second["engine"]["block_read_bytes"];
  EXPECT_TRUE(asked == reads.bytes || asked == reads.bytes + 12288)
      << asked << " bytes asked for, " << reads.bytes << " read";
  EXPECT_GT(reads.reads, 1000u);
  EXPECT_LT(reads.bytes, reads.reads * 12288);
}

// With direct IO and without read-ahead, a read of InnoDB is one page. The counts of InnoDB, of the
// kernel account and of the device must agree to the byte.
TEST_F(ScratchRunTest, InnodbReadsWholePages) {
  if (!HasEngine("innodb")) GTEST_SKIP() << "no innodb here";
  std::vector<int> pages = {8, 16};
  if (EveryWay()) pages.push_back(4);
  for (const int page : pages) {
    RunOnScratch(fmt::format(
        "--engine {} --page-size {}k --scratch 600M --io direct --rows 60000 --operations 10000 "
        "--threads {} --workload insert,point-read --ram 256M --cache-pct 4",
        page == 8 ? "innodb:sql" : "innodb:handler", page, page == 16 ? 1 : 2));
    if (CannotGoOn()) return;
    // The kernel account knows InnoDB's log, although its file calls are not counted.
    const nlohmann::json& load = document_["runs"][0]["phases"][0]["account"];
    ASSERT_TRUE(load.contains("log")) << load;
    EXPECT_GE(load["log"]["device_bytes"], load["engine"]["log_payload_bytes"]);
    EXPECT_FALSE(load["log"].contains("syncs"));
    // Rows were inserted one by one, so nobody knows which of the inserts' writes were of the log.
    for (const nlohmann::json& cause : load["causes"]) {
      if (cause["name"] != "insert") continue;
      const nlohmann::json data = cause["kernel_by_kind"].value("data", nlohmann::json());
      EXPECT_TRUE(data.is_null() || data["writes"] == 0) << data;
    }
    const Reads reads = DeviceReads(Account());
    EXPECT_GT(reads.reads, 5000u);
    EXPECT_EQ(reads.bytes, reads.reads * page * 1024);
    EXPECT_EQ(Account()["engine"]["block_reads"], reads.reads);
    EXPECT_EQ(Account()["engine"]["block_read_bytes"], reads.bytes);
    // Several threads lose counts of each other.
    if (page == 16) {
      EXPECT_EQ(Account()["engine"]["more"]["data_read"], reads.bytes);
    }
  }
}

// A server's thread works for one connection, so what it reads is charged to the read that waits
// for it, and must be what the server itself counts.
TEST_F(ScratchRunTest, ReadsOfAServerAreThoseThatItCounts) {
  if (!HasEngine("mysql")) GTEST_SKIP() << "no mysql here";
  RunOnScratch(
      "--engine mysql --server mariadb --scratch 600M --io direct --rows 60000 --operations 10000 "
      "--warmup 0 --rows-per-transaction 100 --threads 2 --ram 256M --cache-pct 4");
  if (CannotGoOn()) return;
  const nlohmann::json& account = Account();
  const double counted = account["engine"]["block_reads"];
  EXPECT_GT(counted, 2000);
  bool found = false;
  for (const nlohmann::json& cause : account["causes"]) {
    if (cause["name"] != "point-read") continue;
    found = true;
    // The file system's own reads, for the places of blocks, are of another kind.
    const nlohmann::json& data = cause["kernel_by_kind"]["data"];
    // InnoDB reads up to 64 KiB of a file that it opens, page by page, and does not count that.
    constexpr double kOfOpenedFiles = 256 << 10, kPage = 16 << 10;
    EXPECT_NEAR(data["reads"].get<double>(), counted, counted / 1000 + kOfOpenedFiles / kPage);
    const double bytes = account["engine"]["block_read_bytes"];
    EXPECT_NEAR(data["read_bytes"].get<double>(), bytes, bytes / 1000 + kOfOpenedFiles);
  }
  EXPECT_TRUE(found) << account["causes"];
}

// A page fault of a mapping reads one page when the kernel is told that reads are random, and
// otherwise read_ahead_kb around it. An 8 KB bucket of which both halves are touched takes two
// reads of 4 KB, and never one of 8.
TEST_F(ScratchRunTest, FaultsOfMmapv1ReadAPageOrWhatReadaheadSays) {
  const std::string common =
      "--engine mmapv1 --io mmap --scratch 700M --rows 300000 --value-size 100 --operations 10000 "
      "--threads 2 --workload insert,point-read --ram 64M --rows-per-transaction 100 ";
  RunOnScratch(common + "--mmap-advice random");
  if (CannotGoOn()) return;
  const Reads alone = DeviceReads(Account());
  EXPECT_GT(alone.reads, 5000u);
  EXPECT_EQ(alone.bytes, alone.reads * 4096);
  RunOnScratch(common + "--readahead 64k");
  if (CannotGoOn()) return;
  const Reads around = DeviceReads(Account());
  EXPECT_LE(around.bytes, around.reads * (64 << 10));
  // Pages that are cached already split a window.
  EXPECT_GT(around.bytes, around.reads * (16 << 10));
}

// Another process sets the readahead of the scratch device while the run lasts.
TEST_F(ScratchRunTest, AReadaheadThatSomebodyChangedIsTold) {
  std::atomic<bool> ended{false}, changed{false};
  std::thread somebody([&] {
    while (!ended && !changed) {
      for (const auto& device : std::filesystem::directory_iterator("/sys/block")) {
        const std::string knob = device.path() / "queue/read_ahead_kb";
        if (!device.path().filename().string().starts_with("loop") || Read(knob) != "68\n")
          continue;
        // The run reads its own value back first.
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        std::ofstream(knob) << "72";
        changed = true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  RunOnScratch(
      "--engine btree --ram 64M --rows 2000 --scratch 300M --readahead 68k --warmup 0 --seconds 1 "
      "--workload insert,point-read");
  ended = true;
  somebody.join();
  if (CannotGoOn()) return;
  ASSERT_TRUE(changed);
  ASSERT_EQ(document_["not_in_force"].size(), 1u);
  EXPECT_EQ(document_["not_in_force"][0]["option"], "readahead");
  EXPECT_NE(document_["not_in_force"][0]["why"].get<std::string>().find("changed to 72 KiB"),
            std::string::npos);
}

// Without readahead, the kernel reads a missing range page by page. The compressed parts of a
// fractal node lie side by side, so n bytes of them lie in n / 4096 + 0.875 pages on average. The
// header of a node begins on a page, so n bytes of it lie in n / 4096 + 0.5 pages. The test makes
// few operations from empty caches, so that hardly a page is found in the page cache.
TEST_F(ScratchRunTest, FractalReadsPageByPageWithoutReadahead) {
  std::vector<int> pages = {64};
  if (EveryWay()) pages.push_back(8);
  for (const int page : pages) {
    RunOnScratch(fmt::format(
        "--engine fractal --io buffered --readahead 0 --page-size {}k --compression lz4 "
        "--compressibility 0.65 --scratch 600M --rows 400000 --operations 300 --threads 2 "
        "--workload insert,point-read --drop-caches --ram 96M --cache-pct 20 "
        "--rows-per-transaction 100",
        page));
    if (CannotGoOn()) return;
    const nlohmann::json& engine = Account()["engine"];
    const Reads reads = DeviceReads(Account());
    EXPECT_EQ(reads.bytes, reads.reads * 4096);
    const double asked = engine["block_reads"];
    ASSERT_GT(asked, 300);
    const double law = engine["block_read_bytes"].get<double>() / 4096 +
                       0.875 * engine["more"]["partition_reads"].get<double>() +
                       0.5 * engine["more"]["header_reads"].get<double>();
    // Among 300 reads of one or two pages each, chance can explain a deviation of 8 %.
    EXPECT_LE(static_cast<double>(reads.reads), (page == 8 ? 1.08 : 1.02) * law) << page << "k";
    EXPECT_GE(static_cast<double>(reads.reads), 0.8 * law) << page << "k";
    RecordProperty(fmt::format("share_of_law_{}k", page),
                   fmt::format("{:.3f}", static_cast<double>(reads.reads) / law));
  }
}

// The ledger must know the kinds of each engine's files and the purposes of its threads: next to
// none of the IO of a load, a settle or a read may go to files of unknown kind.
class KnownFilesTest : public ScratchRunTest, public testing::WithParamInterface<const char*> {
 protected:
  // Returns the bytes of requests to files of unknown kind.
  static double BytesOfOtherFiles(const nlohmann::json& account) {
    double other = 0;
    const auto add = [&other](const nlohmann::json& counts) {
      other += counts["read_bytes"].get<double>() + counts["write_bytes"].get<double>();
    };
    for (const nlohmann::json& cause : account["causes"]) {
      if (cause["kernel_by_kind"].contains("other-file"))
        add(cause["kernel_by_kind"]["other-file"]);
    }
    for (const auto& thread : account.value("other_threads", nlohmann::json::array())) {
      if (thread["kind"] == "other-file") add(thread["kernel"]);
    }
    return other;
  }
};

TEST_P(KnownFilesTest, AreNearlyAllOfThem) {
  if (!HasEngine(GetParam())) GTEST_SKIP() << "this build has no " << GetParam();
  const EngineInfo& info = FindEngine(GetParam());
  // A server takes memory for itself.
  const char* const sizes =
      info.capabilities.server ? "--scratch 800M --ram 192M" : "--scratch 400M --ram 96M";
  std::set<IoMode> modes = {info.capabilities.io_modes.front()};
  // A library has the same files in each mode.
  if (info.check || EveryWay()) modes.insert(info.capabilities.io_modes.back());
  for (const IoMode io : modes) {
    SCOPED_TRACE(IoModeName(io));
    RunOnScratch(fmt::format(
        "{} --io {} {} --cache-pct 25 --rows 30000 --value-size 400 "
        "--rows-per-transaction 100 --operations 2000 --warmup 0 --threads 2 --drop-caches "
        "--workload insert,point-read",
        EngineWords(GetParam()), IoModeName(io), sizes));
    if (CannotGoOn()) return;
    int phases = 0;
    for (const nlohmann::json& run : document_["runs"]) {
      for (const nlohmann::json& phase : run["phases"]) {
        const nlohmann::json& device = phase["account"]["device"];
        const double all = device["read_bytes"].get<double>() + device["write_bytes"].get<double>();
        if (phase["name"] != "settle") {
          EXPECT_GT(all, 1 << 20) << phase["name"];
        }
        EXPECT_LE(BytesOfOtherFiles(phase["account"]), 0.01 * all) << phase["name"];
        // No other program uses the device, so no request may count as one of another program.
        for (const char* figure : {"reads", "read_bytes", "writes", "write_bytes"}) {
          EXPECT_EQ(phase["account"]["own"][figure], device[figure])
              << phase["name"] << " " << figure;
        }
        ++phases;
      }
    }
    EXPECT_EQ(phases, 3);  // the load, its settle, the reads
  }
}

// IoTest has the kinds of each engine's files at their calls. Here each run has one engine of each
// way by which the kernel account learns of a file and of a thread: our own calls, those of a
// library through our file layer, a mapping, and a library's calls that are its own.
INSTANTIATE_TEST_SUITE_P(Engines, KnownFilesTest,
                         testing::Values("btree", "fractal", "rocksdb", "lmdb", "innodb"),
                         [](const auto& info) { return EngineTestName(info.param); });
INSTANTIATE_TEST_SUITE_P(EveryWay, KnownFilesTest,
                         testing::Values("wiredtiger", "mmapv1", "sqlite", "mdbx", "pebble",
                                         "bf-tree", "mysql", "postgres"),
                         [](const auto& info) { return EngineTestName(info.param); });

}  // namespace
}  // namespace testbed
