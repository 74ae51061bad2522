// Tests the logs of a server that an engine starts: when its redo log is synced, where its binary
// log lies, and what it says when it finds no space for it.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "device/error.h"
#include "tests/engine/servers/server_test.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class ServerLogTest : public ServerTest {};

TESTBED_FOR_EVERY_ENGINE(ServerLogTest);

// Lazy durability syncs once an interval, at most half as often again, as on every engine
// (lazy_age_test.cc): more syncs would slow this engine down beside the others.
TEST_P(ServerLogTest, ALazyLogIsSyncedOnceAnInterval) {
  using std::chrono::milliseconds;
  constexpr milliseconds kInterval(250);
  options_.durability = Durability::kLazy;
  options_.lazy_interval_ms = static_cast<uint32_t>(kInterval.count());
  Open();
  const auto syncs = [&] {
    const EngineCounters counters = engine_->Counters();
    for (const auto& [name, value] : counters.more) {
      if (name == "wal_syncs") return static_cast<double>(value);
    }
    return -1.0;
  };
  if (syncs() < 0) GTEST_SKIP() << info().name << " does not count the syncs of its log";
  const auto write_for = [&](milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    for (uint64_t row = 0; std::chrono::steady_clock::now() < end; ++row) {
      Put(RowKey(row), RowValue(row, 50));
      std::this_thread::sleep_for(milliseconds(2));
    }
  };
  write_for(2 * kInterval);
  // Other programs use the device, too, and slow syncs are fewer. So the test makes several
  // attempts.
  double each = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    const double before = syncs();
    write_for(16 * kInterval);
    std::this_thread::sleep_for(milliseconds(1200));  // the server's statistics are a second late
    each = (syncs() - before) / 16;
    if (each >= 0.5 && each <= 1.7) return;
  }
  ADD_FAILURE() << each << " syncs an interval";
}

TEST_P(ServerLogTest, ABinaryLogIsWrittenWhereItIsAskedFor) {
  if (info().name != "mysql") GTEST_SKIP() << "it is a log of MariaDB";
  options_.extra["binlog"] = "on";
  Open();
  std::string effective;
  for (const auto& [name, value] : engine_->EffectiveSettings())
    effective += name + "=" + value + "\n";
  EXPECT_NE(effective.find("\nlog_bin=ON\n"), std::string::npos) << effective;
  EXPECT_NE(effective.find("\nsync_binlog=1\n"), std::string::npos) << effective;
  Load(100, 1000);
  uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(dir_ + "/cluster")) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("binlog.")) continue;
    EXPECT_TRUE(IsEngineFile(info(), "cluster/" + name, false)) << name;
    bytes += entry.file_size();
  }
  EXPECT_GT(bytes, 100u * 1000u);
  ::kill(ServerPid(), SIGKILL);
  Close();
  // A recovery may need the binary log.
  options_.extra.erase("binlog");
  const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
  EXPECT_NE(sentence.find("--engine-option binlog=on"), std::string::npos) << sentence;
  options_.extra["binlog"] = "on";
  Open();
  EXPECT_EQ(Get(RowKey(99)), RowValue(99, 1000));
}

// A server that finds no space for its binary log waits without end, and answers nobody. The test
// writes the message that it writes then.
TEST_P(ServerLogTest, AServerThatWaitsForSpaceIsAnErrorOfAFullDisk) {
  if (info().name != "mysql") GTEST_SKIP() << "PostgreSQL does not wait for space";
  options_.extra["binlog"] = "on";
  Open();
  Put("k", "v");
  std::ofstream(dir_ + "/server.log", std::ios::app)
      << "2026-01-01 10:00:00 4 [Warning] mariadbd: Disk is full writing './binlog.000001' "
         "(Errcode: 28 \"No space left on device\"). Waiting for someone to free space...\n";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const std::string sentence = ErrorOf(Error::kIo, [&] {
    while (std::chrono::steady_clock::now() < deadline) Put("k", "v");
  });
  EXPECT_NE(sentence.find("No space left on device"), std::string::npos) << sentence;
  Close();
  Open();
  EXPECT_EQ(Get("k"), "v") << "the message of the earlier server ends no later one";
}

}  // namespace
}  // namespace testbed
