// Tests that `testbed crashtest` tells of a client that fails in a round of disk errors, when the
// disk has refused no write: the test did not cause it.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/machine/fault_disk.h"
#include "device/machine/scratch.h"
#include "engines/registry.h"
#include "tools/crashtest/crashtest.h"
#include "tools/options.h"
#include "workloads/random.h"

namespace testbed {
namespace {

// Commits nothing, and fails after a while.
class BrittleSession : public Session {
 public:
  void Begin() override {}
  void Commit() override {
    if (++commits_ > 200) throw Error(Error::kRun, "it broke");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void Rollback() override {}
  bool Get(TableId, std::string_view, std::string_view*) override { return false; }
  void Put(TableId, std::string_view, std::string_view) override {}
  void Erase(TableId, std::string_view) override {}
  std::unique_ptr<Cursor> NewCursor(TableId) override { return nullptr; }

 private:
  int commits_ = 0;
};

// It has no files, so that there is no write which the disk could refuse.
class BrittleEngine : public Engine {
 public:
  std::string name() const override { return "brittle"; }
  TableId OpenTable(const std::string&) override { return 0; }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<BrittleSession>(); }
  void Flush() override {}
  void Checkpoint() override {}
  void Settle() override {}
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override { return {}; }
  EngineCounters Counters() const override { return {}; }
  DiskSize SizeOnDisk() const override { return {}; }
};

void AddBrittleEngine() {
  EngineInfo info;
  info.name = "brittle";
  info.summary = "commits that fail after a while";
  info.version = "1";
  info.capabilities.io_modes = {IoMode::kBuffered};
  info.capabilities.durabilities = {Durability::kSync};
  info.capabilities.compressions = {"none"};
  info.capabilities.max_key_size = info.capabilities.max_value_size = SIZE_MAX;
  info.recognises = [](const std::string&) { return false; };
  info.open = [](const std::string&, const EngineOptions&) {
    return std::make_unique<BrittleEngine>();
  };
  AddEngine(info);
}

TEST(UnrefusedFailureTest, IsAFailureOfTheEngine) {
  std::string why;
  if (!ScratchDevice::Available(&why) || !FaultDisk::Available(&why)) GTEST_SKIP() << why;
  AddBrittleEngine();
  CrashtestOptions options;
  options.run = ParseRunOptions({"--engine", "brittle", "--io", "buffered", "--durability", "sync",
                                 "--scratch", "64M", "--rows", "1", "--quiet"});
  options.run.Resolve();
  options.kills = 0;
  options.disk_errors = 1;
  options.writers = 1;
  options.longest_ms = 1;
  // The first number decides where the crash comes. A clean close would end the client before it
  // fails.
  for (options.run.data.seed = 1; Random(options.run.data.seed).Below(100) >= 75;) {
    ++options.run.data.seed;
  }
  const CrashtestResult result = RunCrashtest(options);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_NE(result.failures[0].find("a client failed, and no fault was injected: it broke"),
            std::string::npos)
      << result.failures[0];
  EXPECT_EQ(result.disk_errors, 0u);
}

}  // namespace
}  // namespace testbed
