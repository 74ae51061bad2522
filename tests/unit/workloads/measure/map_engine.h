// What the tests of the runner share: an engine in memory that can be slow, wrong or fail, a
// fixture with a data set on it, and a workload whose operations take their time.
#ifndef TESTBED_TESTS_UNIT_WORKLOADS_MEASURE_MAP_ENGINE_H_
#define TESTBED_TESTS_UNIT_WORKLOADS_MEASURE_MAP_ENGINE_H_

#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "workloads/measure/runner.h"
#include "workloads/registry.h"

namespace testbed {

// An engine of maps in memory under a mutex, which is simple enough to be obviously right.
class MapEngine : public Engine {
 public:
  std::string name() const override { return "map"; }
  TableId OpenTable(const std::string& table) override {
    std::lock_guard lock(mutex_);
    auto [at, is_new] = ids_.try_emplace(table, static_cast<TableId>(ids_.size()));
    return at->second;
  }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<MapSession>(*this); }
  std::unique_ptr<Session> NewClientSession(int client) override {
    {
      std::lock_guard lock(mutex_);
      clients.push_back(client);
    }
    return NewSession();
  }
  void Flush() override {}
  void Checkpoint() override {}
  void Settle() override {}
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override { return {}; }
  EngineCounters Counters() const override { return {}; }
  DiskSize SizeOnDisk() const override { return {}; }
  std::vector<ServerAddress> ServerAddresses() const override { return addresses; }

  std::map<std::string, std::string>& table(TableId id) { return tables_[id]; }
  long pause_ns = 0;           // duration of each Get
  bool wrong_values = false;   // Get answers with a flipped byte
  bool fails = false;          // Get throws
  bool counts_blocks = false;  // each Get asks for three blocks and misses one
  int lost_reads = 0;          // number of next Gets that throw LostAnswer
  int lost_writes = 0;         // number of next Puts that throw LostAnswer
  std::vector<ServerAddress> addresses;
  uint32_t depth = 0;        // depth of the last read queue
  std::vector<int> clients;  // numbers of the clients that have called NewClientSession

 private:
  struct MapSession : Session {
    explicit MapSession(MapEngine& engine) : engine(engine) {}
    void Begin() override {}
    void Commit() override {}
    void Rollback() override {}
    bool Get(TableId table, std::string_view key, std::string_view* value) override {
      if (engine.fails) throw Error(Error::kRun, "the map fails");
      ++gets;
      if (engine.pause_ns > 0) {
        timespec pause{0, engine.pause_ns};
        nanosleep(&pause, nullptr);
      }
      std::lock_guard lock(engine.mutex_);
      Lose(&engine.lost_reads);
      auto at = engine.tables_[table].find(std::string(key));
      if (at == engine.tables_[table].end()) return false;
      copy = at->second;
      if (engine.wrong_values && !copy.empty()) copy.back() = static_cast<char>(copy.back() ^ 1);
      *value = copy;
      return true;
    }
    void Put(TableId table, std::string_view key, std::string_view value) override {
      std::lock_guard lock(engine.mutex_);
      Lose(&engine.lost_writes);
      engine.tables_[table][std::string(key)] = value;
    }
    static void Lose(int* left) {
      if (*left == 0) return;
      --*left;
      throw LostAnswer(Error(Error::kIo, "a node of the map is lost"));
    }
    void Erase(TableId table, std::string_view key) override {
      std::lock_guard lock(engine.mutex_);
      engine.tables_[table].erase(std::string(key));
    }
    std::unique_ptr<Cursor> NewCursor(TableId) override { return nullptr; }
    bool BlockCounts(uint64_t* requests, uint64_t* misses) override {
      if (!engine.counts_blocks) return false;
      *requests = 3 * gets;
      *misses = gets;
      return true;
    }
    std::unique_ptr<ReadQueue> NewReadQueue(uint32_t depth) override {
      engine.depth = depth;
      return std::make_unique<MapQueue>(*this, depth);
    }
    MapEngine& engine;
    uint64_t gets = 0;
    std::string copy;
  };
  // A read queue that finishes the newest read first, since callers must not rely on an order.
  struct MapQueue : ReadQueue {
    MapQueue(MapSession& session, uint32_t depth) : session(session), values(depth) {}
    void Start(uint32_t slot, TableId table, std::string_view key, IoTask* task) override {
      const IoTask::Work work(task);
      Ledger::ThisThread().CountRead(FileKind::kData, 1);
      std::string_view value;
      found[slot] = session.Get(table, key, &value);
      values[slot] = value;
      started.push_back(slot);
    }
    uint32_t Finish(bool* is_found, std::string_view* value) override {
      const uint32_t slot = started.back();
      started.pop_back();
      *is_found = found[slot];
      *value = values[slot];
      return slot;
    }
    MapSession& session;
    std::vector<std::string> values;
    std::map<uint32_t, bool> found;
    std::vector<uint32_t> started;
  };
  std::mutex mutex_;
  std::map<std::string, TableId> ids_;
  std::map<TableId, std::map<std::string, std::string>> tables_;
};

class RunnerTest : public testing::Test {
 protected:
  RunnerTest() {
    DatasetOptions options;
    options.rows = 5000;
    options.value_size = 50;
    options.indexes = 2;
    dataset_ = std::make_shared<const Dataset>(options);
  }
  PhaseResult Load(int threads, uint32_t rows_per_transaction) {
    WorkloadOptions options;
    options.rows_per_transaction = rows_per_transaction;
    auto insert = FindWorkload("insert").make(dataset_, options);
    PhaseOptions phase;
    phase.threads = threads;
    return RunPhase(engine_, *insert, phase);
  }
  PhaseResult Read(const PhaseOptions& phase, const WorkloadOptions& options = {}) {
    auto read = FindWorkload("point-read").make(dataset_, options);
    return RunPhase(engine_, *read, phase);
  }
  MapEngine engine_;
  std::shared_ptr<const Dataset> dataset_;
};

// A client whose operation takes 20 ms, and whose verification takes `verify_ms`. A verification
// that was not announced to the client fails.
class SlowClient : public Client {
 public:
  explicit SlowClient(int verify_ms) : verify_ms_(verify_ms) {}
  size_t Generate(size_t) override { return 1; }
  void Execute(size_t) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    told_ += to_verify_;
  }
  bool Verify(size_t) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(verify_ms_));
    return to_verify_ && told_ == ++checks_;
  }

 private:
  const int verify_ms_;
  uint64_t told_ = 0, checks_ = 0;
};
class SlowWorkload : public Workload {
 public:
  explicit SlowWorkload(int verify_ms) : verify_ms_(verify_ms) {}
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  bool writes() const override { return false; }
  void OpenTables(Engine&) override {}
  std::unique_ptr<Client> NewClient(Session&, int, int) override {
    return std::make_unique<SlowClient>(verify_ms_);
  }

 private:
  const int verify_ms_;
  const std::string name_ = "slow";
  const std::vector<OpKind> ops_ = {DefineOp("slow", Ground::kForeground)};
};

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_WORKLOADS_MEASURE_MAP_ENGINE_H_
