// Tests that `testbed crashtest` tells the user's stop from a failure of the engine: a child that
// is forked after the stop inherits it, and an engine that waits for its server then ends.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "engines/registry.h"
#include "tools/crashtest/crashtest.h"
#include "tools/options.h"
#include "workloads/random.h"

namespace testbed {
namespace {

// The moment at which a child asks the whole test to stop, as Ctrl-C would.
enum class StopAt : uint8_t { kNever, kOpening, kCommit };
StopAt stop_at = StopAt::kNever;

class StoppingSession : public Session {
 public:
  void Begin() override {}
  void Commit() override {
    if (stop_at == StopAt::kCommit && !std::exchange(asked_, true)) ::kill(::getppid(), SIGTERM);
    if (stop_at == StopAt::kNever) throw Error(Error::kRun, "it broke");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  void Rollback() override {}
  bool Get(TableId, std::string_view, std::string_view*) override { return false; }
  void Put(TableId, std::string_view, std::string_view) override {}
  void Erase(TableId, std::string_view) override {}
  std::unique_ptr<Cursor> NewCursor(TableId) override { return nullptr; }

 private:
  bool asked_ = false;
};

class StoppingEngine : public Engine {
 public:
  std::string name() const override { return "stopping"; }
  TableId OpenTable(const std::string&) override { return 0; }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<StoppingSession>(); }
  void Flush() override {}
  void Checkpoint() override {}
  void Settle() override {}
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override { return {}; }
  EngineCounters Counters() const override { return {}; }
  DiskSize SizeOnDisk() const override { return {}; }
};

void AddStoppingEngine() {
  EngineInfo info;
  info.name = "stopping";
  info.summary = "waits for a server, which ends with the user's stop";
  info.version = "1";
  info.capabilities.io_modes = {IoMode::kBuffered};
  info.capabilities.durabilities = {Durability::kSync};
  info.capabilities.compressions = {"none"};
  info.capabilities.max_key_size = info.capabilities.max_value_size = SIZE_MAX;
  info.recognises = [](const std::string&) { return false; };
  info.open = [](const std::string&, const EngineOptions&) {
    if (stop_at == StopAt::kOpening) ::kill(::getppid(), SIGTERM);
    if (stop_at == StopAt::kOpening || StopRequested()) throw Stopped("while its server started");
    return std::make_unique<StoppingEngine>();
  };
  AddEngine(info);
}

// Makes two kills of the engine, of which the user's stop leaves none. The first comes while the
// clients write.
CrashtestResult StoppedAt(StopAt at) {
  static const bool added = (AddStoppingEngine(), true);
  EXPECT_TRUE(added);
  stop_at = at;
  const SignalGuard signals;
  std::string dir = std::filesystem::current_path() / "stopped_round_test_XXXXXX";
  EXPECT_NE(::mkdtemp(dir.data()), nullptr);
  CrashtestOptions options;
  options.run = ParseRunOptions({"--engine", "stopping", "--io", "buffered", "--durability", "sync",
                                 "--rows", "1", "--dir", dir, "--quiet"});
  options.run.Resolve();
  options.kills = 2;
  options.writers = 1;
  options.longest_ms = 1;
  options.commits_wait_ms = 2000;
  // The first number decides where the crash comes.
  for (options.run.data.seed = 1; Random(options.run.data.seed).Below(100) >= 50;) {
    ++options.run.data.seed;
  }
  CrashtestResult result = RunCrashtest(options);
  std::filesystem::remove_all(dir);
  return result;
}

TEST(StoppedRoundTest, IsNoFailureAndCountsForNothing) {
  for (const StopAt at : {StopAt::kOpening, StopAt::kCommit}) {
    const CrashtestResult result = StoppedAt(at);
    EXPECT_TRUE(result.stopped);
    EXPECT_TRUE(result.failures.empty()) << result.failures[0];
    EXPECT_EQ(result.kills, 0u);
  }
}

TEST(StoppedRoundTest, AFailureWithoutAStopIsOne) {
  const CrashtestResult result = StoppedAt(StopAt::kNever);
  EXPECT_FALSE(result.stopped);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_NE(result.failures[0].find("it broke"), std::string::npos) << result.failures[0];
}

}  // namespace
}  // namespace testbed
