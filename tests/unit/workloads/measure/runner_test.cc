#include "workloads/measure/runner.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "tests/few_threads.h"
#include "workloads/population.h"
#include "workloads/registry.h"
#include "workloads/row_chooser.h"
#include "workloads/rows/insert.h"

namespace testbed {
namespace {

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
  void Flush() override {}
  void Checkpoint() override {}
  void Settle() override {}
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override { return {}; }
  EngineCounters Counters() const override { return {}; }
  DiskSize SizeOnDisk() const override { return {}; }

  std::map<std::string, std::string>& table(TableId id) { return tables_[id]; }
  long pause_ns = 0;          // duration of each Get
  bool wrong_values = false;  // Get answers with a flipped byte
  bool fails = false;         // Get throws
  uint32_t depth = 0;         // depth of the last read queue

 private:
  struct MapSession : Session {
    explicit MapSession(MapEngine& engine) : engine(engine) {}
    void Begin() override {}
    void Commit() override {}
    void Rollback() override {}
    bool Get(TableId table, std::string_view key, std::string_view* value) override {
      if (engine.fails) throw Error(Error::kRun, "the map fails");
      if (engine.pause_ns > 0) {
        timespec pause{0, engine.pause_ns};
        nanosleep(&pause, nullptr);
      }
      std::lock_guard lock(engine.mutex_);
      auto at = engine.tables_[table].find(std::string(key));
      if (at == engine.tables_[table].end()) return false;
      copy = at->second;
      if (engine.wrong_values && !copy.empty()) copy.back() = static_cast<char>(copy.back() ^ 1);
      *value = copy;
      return true;
    }
    void Put(TableId table, std::string_view key, std::string_view value) override {
      std::lock_guard lock(engine.mutex_);
      engine.tables_[table][std::string(key)] = value;
    }
    void Erase(TableId table, std::string_view key) override {
      std::lock_guard lock(engine.mutex_);
      engine.tables_[table].erase(std::string(key));
    }
    std::unique_ptr<Cursor> NewCursor(TableId) override { return nullptr; }
    std::unique_ptr<ReadQueue> NewReadQueue(uint32_t depth) override {
      engine.depth = depth;
      return std::make_unique<MapQueue>(*this, depth);
    }
    MapEngine& engine;
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

TEST_F(RunnerTest, InsertLoadsEveryRowAndIndexEntryOnce) {
  for (int threads : {1, 3}) {
    for (uint32_t rows : {1, 7, 100000}) {
      MapEngine fresh;
      const PhaseResult result = Load(threads, rows);
      EXPECT_EQ(result.totals.rows_written, 5000u);
      EXPECT_EQ(result.totals.rows_inserted, 5000u);
      EXPECT_EQ(result.operations(), (5000 + rows - 1) / rows);
      EXPECT_EQ(result.totals.user_bytes_written, 5000u * (16 + 50 + 2 * 24));
      EXPECT_EQ(result.wrong, 0u);
      for (TableId t = 0; t < 3; ++t) EXPECT_EQ(engine_.table(t).size(), 5000u);
    }
  }
}

TEST_F(RunnerTest, CountsExactlyTheOperationsAskedFor) {
  Load(1, 100);
  PhaseOptions phase;
  phase.threads = 3;
  phase.operations = 10001;
  const LedgerCounts before = Ledger::Get().Counts();
  const PhaseResult result = Read(phase);
  const OpKind op = DefineOp("point-read", Ground::kForeground);
  EXPECT_EQ(result.operations(), 10001u);
  EXPECT_EQ(result.ops[0].latency.count(), 10001u);
  EXPECT_EQ((Ledger::Get().Counts() - before).ops[op.id].operations, 10001u);
  EXPECT_EQ(result.totals.rows_read, 10001u);
  EXPECT_EQ(result.wrong, 0u);
}

TEST_F(RunnerTest, ReadsInFlightAreCountedLikeOthers) {
  Load(1, 100);
  PhaseOptions phase;
  phase.threads = 3;
  phase.queue_depth = 7;
  phase.operations = 10001;
  phase.verify_every = 1;
  const LedgerCounts before = Ledger::Get().Counts();
  const PhaseResult result = Read(phase);
  const OpKind op = DefineOp("point-read", Ground::kForeground);
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  const LedgerCounts::Op& counts = cost.ops[op.id];
  EXPECT_EQ(engine_.depth, 7u);
  EXPECT_EQ(result.operations(), 10001u);
  EXPECT_EQ(result.ops[0].latency.count(), 10001u);
  EXPECT_EQ(result.totals.rows_read, 10001u);
  EXPECT_EQ(result.verified, 10001u);
  EXPECT_EQ(result.wrong, 0u);
  EXPECT_EQ(counts.operations, 10001u);
  EXPECT_EQ(counts.file_reads[1], 10001u);
}

TEST_F(RunnerTest, HitRatioIsTheShareOfKeysThatExist) {
  Load(1, 100);
  WorkloadOptions options;
  options.hit_ratio = 0.7;
  PhaseOptions phase;
  phase.operations = 20000;
  phase.verify_every = 1;
  const PhaseResult result = Read(phase, options);
  EXPECT_NEAR(static_cast<double>(result.totals.not_found) / 20000, 0.3, 0.02);
  EXPECT_EQ(result.verified, 20000u);
  EXPECT_EQ(result.wrong, 0u);
}

// Grants slices of 20 ms, and collects what they counted.
class SomeSlices : public SliceControl {
 public:
  explicit SomeSlices(int n) : left_(n) {}
  std::optional<double> Next() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a rest
    return left_-- > 0 ? std::optional<double>(0.02) : std::nullopt;
  }
  void Done(const Interval& slice, double seconds) override {
    operations += slice.operations;
    this->seconds += seconds;
    ++slices;
  }
  uint64_t operations = 0;
  double seconds = 0;
  int slices = 0;

 private:
  int left_;
};

TEST_F(RunnerTest, SlicesAddUpToThePhaseAndRestsCountForNothing) {
  Load(1, 100);
  for (const int depth : {1, 5}) {
    SomeSlices slices(5);
    PhaseOptions phase;
    phase.threads = 2;
    phase.queue_depth = depth;
    phase.slices = &slices;
    phase.verify_every = 1;
    const PhaseResult result = Read(phase);
    EXPECT_EQ(slices.slices, 5);
    EXPECT_EQ(result.series.size(), 5u);
    EXPECT_GT(result.operations(), 0u);
    EXPECT_EQ(result.operations(), slices.operations);
    EXPECT_EQ(result.operations(), result.ops[0].latency.count());
    EXPECT_EQ(result.verified, result.operations());
    EXPECT_EQ(result.wrong, 0u);
    EXPECT_NEAR(result.seconds, slices.seconds, 1e-9);
    EXPECT_GE(slices.seconds, 5 * 0.01);
    EXPECT_FALSE(result.partial);
  }
}

TEST_F(RunnerTest, APhaseInSlicesEndsWhenItsOperationsAreDone) {
  Load(1, 100);
  SomeSlices slices(1000000);
  PhaseOptions phase;
  phase.threads = 2;
  phase.operations = 100;
  phase.slices = &slices;
  EXPECT_EQ(Read(phase).operations(), 100u);
}

TEST_F(RunnerTest, AWrongValueIsFoundAndToldOf) {
  Load(1, 100);
  engine_.wrong_values = true;
  PhaseOptions phase;
  phase.operations = 6400;
  const PhaseResult result = Read(phase);
  EXPECT_EQ(result.verified, 100u);
  EXPECT_EQ(result.wrong, 100u);
  EXPECT_NE(result.first_wrong.find("map"), std::string::npos);
}

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

TEST_F(RunnerTest, LatencyCoversTheOperationAndNotTheCheck) {
  SlowWorkload workload(300);
  PhaseOptions phase;
  phase.operations = 4;
  phase.verify_every = 1;
  const PhaseResult result = RunPhase(engine_, workload, phase);
  EXPECT_EQ(result.verified, 4u);
  EXPECT_EQ(result.wrong, 0u);
  EXPECT_EQ(result.ops[0].latency.count(), 4u);
  EXPECT_GE(result.ops[0].latency.Percentile(0.01), 19000000u);
  EXPECT_LT(result.ops[0].latency.max_ns(), 300000000u);
  // The operations that are due while a check runs do not wait for the engine.
  phase.rate = 10;
  const PhaseResult rated = RunPhase(engine_, workload, phase);
  EXPECT_EQ(rated.ops[0].intended.count(), 4u);
  EXPECT_LT(rated.ops[0].intended.max_ns(), 200000000u);
  EXPECT_LT(rated.backlog_seconds, 0.2);
}

TEST_F(RunnerTest, AClientIsToldOfEachCheckBeforeItsOperation) {
  SlowWorkload workload(0);
  PhaseOptions phase;
  phase.operations = 7;
  phase.verify_every = 3;
  for (const double rate : {0.0, 1000.0}) {
    phase.rate = rate;
    const PhaseResult result = RunPhase(engine_, workload, phase);
    EXPECT_EQ(result.verified, 2u);
    EXPECT_EQ(result.wrong, 0u);
  }
}

TEST_F(RunnerTest, AnOpenLoopKeepsItsRateAndCountsWaitingFromTheIntendedStart) {
  Load(1, 100);
  PhaseOptions phase;
  phase.threads = 2;
  phase.rate = 2000;
  phase.operations = 1000;
  const PhaseResult easy = Read(phase);
  EXPECT_GE(easy.seconds, 0.45);
  EXPECT_EQ(easy.ops[0].intended.count(), 1000u);
  // The rate is far above what the engine can serve, so the backlog grows.
  engine_.pause_ns = 1000000;
  phase.rate = 20000;
  const PhaseResult late = Read(phase);
  EXPECT_GT(late.backlog_seconds, 0.2);
  EXPECT_GT(late.ops[0].intended.Percentile(0.5), 5 * late.ops[0].latency.Percentile(0.5));
}

TEST_F(RunnerTest, WhatWasDueAndHadNotBegunIsCountedWhenThePhaseEnds) {
  Load(1, 100);
  engine_.pause_ns = 1000000;
  PhaseOptions phase;
  phase.threads = 2;
  phase.seconds = 0.3;
  for (const Arrivals arrivals : {Arrivals::kEven, Arrivals::kExponential}) {
    phase.arrivals = arrivals;
    phase.rate = 10000;
    const PhaseResult late = Read(phase);
    // Each operation that was due was performed or is left. The number of random arrivals may
    // deviate by four of its standard deviations.
    const uint64_t due = arrivals == Arrivals::kEven ? 3000 : 2780;
    EXPECT_GE(late.operations() + late.undone.count(), due);
    EXPECT_LE(late.operations(), 600u);
    EXPECT_GE(late.undone.max_ns(), 150000000u) << "the oldest has waited for long";
    EXPECT_GE(late.backlog_seconds, 0.15);
    // The latency from the intended start must include every operation that was due, with the time
    // that it had waited.
    EXPECT_EQ(late.due_operations(), late.operations() + late.undone.count());
    const HistogramCounts all = late.ops[0].FromIntended();
    EXPECT_EQ(all.count(), late.due_operations());
    EXPECT_EQ(late.ops[0].intended.count(), late.operations());
    EXPECT_LT(all.Percentile(0.5), 300000000u);
    EXPECT_GE(all.Percentile(0.999), late.undone.Percentile(0.99));
  }
  // No operation may be left when the phase ends by its number of operations.
  phase.seconds = 0;
  phase.operations = 100;
  EXPECT_EQ(Read(phase).undone.count(), 0u);
}

TEST_F(RunnerTest, NoMoreIsLeftThanWasAskedFor) {
  Load(1, 100);
  engine_.pause_ns = 10'000'000;
  PhaseOptions phase;
  phase.threads = 2;
  phase.rate = 10000;
  phase.operations = 100;
  phase.seconds = 0.2;
  const PhaseResult late = Read(phase);
  EXPECT_LT(late.operations(), 100u);
  EXPECT_EQ(late.due_operations(), 100u);
  EXPECT_EQ(late.ops[0].FromIntended().count(), 100u);
}

// The curve of the rate makes the bookkeeping of what was due take longer than the phase. None of
// that time is the phase's, at whose end the first operation that is left has waited since it was
// due.
TEST_F(RunnerTest, ThePhaseEndsBeforeItsThreadsCountWhatWasDue) {
  SlowWorkload workload(0);
  const RateCurve curve = RateCurve::Wave(2e8, 6e8, 0.01);
  PhaseOptions phase;
  phase.curve = &curve;
  phase.rate = curve.Mean();
  phase.verify_every = 0;
  phase.seconds = 0.1;
  const PhaseResult late = RunPhase(engine_, workload, phase);
  const double due = static_cast<double>(late.operations()) / phase.rate;
  EXPECT_NEAR(late.seconds - due, static_cast<double>(late.undone.max_ns()) / 1e9, 0.1);
  EXPECT_NEAR(static_cast<double>(late.due_operations()), phase.rate * late.seconds,
              0.1 * phase.rate * late.seconds);
}

// Clients that the workload gives a rate take nothing of the rate of the phase.
class RatedWorkload : public SlowWorkload {
 public:
  RatedWorkload() : SlowWorkload(0) {}
  double ThreadRate(int thread, int) const override { return thread == 0 ? 5 : 0; }
};

TEST_F(RunnerTest, ClientsWithoutARateOfTheirOwnShareThatOfThePhase) {
  RatedWorkload workload;
  PhaseOptions phase;
  phase.threads = 2;
  phase.rate = 20;
  phase.seconds = 1;
  const PhaseResult result = RunPhase(engine_, workload, phase);
  ASSERT_EQ(result.thread_operations.size(), 2u);
  // The client that is left has all 20 operations a second, of which the machine may lose some.
  EXPECT_GT(result.thread_operations[1] + result.undone.count(), 14u);
  EXPECT_EQ(result.extra_operations, result.thread_operations[0]);
}

// A client that does much when it is given back, as one that reads the profile of its phase.
class TidyClient : public SlowClient {
 public:
  using SlowClient::SlowClient;
  ~TidyClient() override { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); }
};
class TidyWorkload : public SlowWorkload {
 public:
  TidyWorkload() : SlowWorkload(0) {}
  std::unique_ptr<Client> NewClient(Session&, int, int) override {
    return std::make_unique<TidyClient>(0);
  }
};

TEST_F(RunnerTest, TheSeriesEndsWithThePhase) {
  TidyWorkload workload;
  PhaseOptions phase;
  phase.operations = 5;
  const PhaseResult result = RunPhase(engine_, workload, phase);
  EXPECT_LT(result.series.back().end_seconds, result.seconds + 1);
}

TEST_F(RunnerTest, WhatHadNotBegunIsTakenToBeMixedAsWhatWasPerformed) {
  Load(1, 100);
  engine_.pause_ns = 1000000;
  WorkloadOptions options;
  options.mix = {{"point-read", 50}, {"update", 50}};
  auto mixed = FindWorkload("mixed").make(dataset_, options);
  PhaseOptions phase;
  phase.seconds = 0.2;
  phase.rate = 10000;
  const PhaseResult result = RunPhase(engine_, *mixed, phase);
  ASSERT_GT(result.undone.count(), 100u);
  uint64_t undone = 0;
  for (const PhaseResult::Op& op : result.ops) {
    undone += op.undone.count();
    const double share = static_cast<double>(op.count) / static_cast<double>(result.operations());
    EXPECT_NEAR(static_cast<double>(op.undone.count()),
                share * static_cast<double>(result.undone.count()), 1);
  }
  EXPECT_NEAR(static_cast<double>(undone), static_cast<double>(result.undone.count()), 2);
}

TEST_F(RunnerTest, AFailureOfOneThreadEndsThePhaseAndReachesTheCaller) {
  Load(1, 100);
  engine_.fails = true;
  PhaseOptions phase;
  phase.threads = 4;
  phase.seconds = 60;
  EXPECT_THROW(Read(phase), Error);
}

TEST_F(RunnerTest, AThreadThatIsNotMadeEndsThePhaseAndReachesTheCaller) {
  Load(1, 100);
  for (const int depth : {1, 5}) {
    const std::string said = WithFewThreads(4, [&] {
      PhaseOptions phase;
      phase.threads = 16;
      phase.queue_depth = depth;
      Read(phase);
    });
    EXPECT_TRUE(said.starts_with("the system does not make a thread for client ")) << said;
    EXPECT_NE(said.find(" of 16: "), std::string::npos) << said;
  }
}

TEST_F(RunnerTest, TheSameSeedGivesTheSameOperations) {
  Load(1, 100);
  WorkloadOptions options;
  options.distribution = Distribution::kZipfian;
  auto rows = [&](uint64_t seed) {
    options.seed = seed;
    RowChooser chooser(*dataset_, options, seed);
    std::vector<uint64_t> drawn(1000);
    for (uint64_t& row : drawn) row = chooser.Next();
    return drawn;
  };
  EXPECT_EQ(rows(1), rows(1));
  EXPECT_NE(rows(1), rows(2));
}

TEST_F(RunnerTest, MixedKeepsItsProportionsAndItsRowsRight) {
  Load(1, 100);
  WorkloadOptions options;
  options.mix = {{"point-read", 60}, {"update", 20}, {"insert", 10}, {"erase", 10}};
  auto mixed = FindWorkload("mixed").make(dataset_, options);
  PhaseOptions phase;
  phase.threads = 3;
  phase.operations = 30000;
  phase.verify_every = 1;
  const PhaseResult result = RunPhase(engine_, *mixed, phase);
  EXPECT_EQ(result.wrong, 0u) << result.first_wrong;
  EXPECT_NEAR(static_cast<double>(result.ops[0].count) / 30000, 0.6, 0.02);
  EXPECT_NEAR(static_cast<double>(result.ops[1].count) / 30000, 0.2, 0.02);
  EXPECT_EQ(engine_.table(0).size(), engine_.table(1).size());
  EXPECT_EQ(engine_.table(1).size(), engine_.table(2).size());
}

// An engine may leave out a write that changes nothing, as InnoDB does. A later run with the same
// seed updates the same rows, so it must give them other values.
TEST_F(RunnerTest, ALaterPhaseOnTheDatabaseUpdatesToOtherValues) {
  Load(1, 100);
  nlohmann::json record = Population(dataset_).ToJson();
  const auto update = [&] {
    WorkloadOptions options;
    options.mix = {{"update", 1}};
    options.population = std::make_shared<Population>(dataset_);
    options.population->FromJson(record);
    auto mixed = FindWorkload("mixed").make(dataset_, options);
    PhaseOptions phase;
    phase.operations = 2000;
    RunPhase(engine_, *mixed, phase);
    record = options.population->ToJson();
    return engine_.table(0);
  };
  const std::map<std::string, std::string> loaded = engine_.table(0), first = update();
  const std::map<std::string, std::string> second = update();
  int updated = 0, again = 0;
  for (const auto& [key, value] : first) {
    if (value == loaded.at(key)) continue;
    ++updated;
    again += second.at(key) != value;
  }
  EXPECT_GT(updated, 1000);
  EXPECT_EQ(again, updated);
}

// Phases have different seeds. If each had other popular rows, a warm-up would fill the caches with
// rows that the next phase does not access.
TEST(RowChooserTest, PopularRowsAreThoseOfTheDataSetWhateverThePhasesSeed) {
  DatasetOptions rows;
  rows.rows = 1000;
  const auto popular = [&](uint64_t data_seed, uint64_t phase_seed) {
    rows.seed = data_seed;
    const Dataset data(rows);
    WorkloadOptions options;
    options.distribution = Distribution::kZipfian;
    options.zipf_theta = 1.3;
    options.seed = phase_seed;
    RowChooser chooser(data, options, phase_seed);
    std::vector<int> drawn(1000);
    for (int i = 0; i < 20000; ++i) ++drawn[chooser.Next()];
    return std::max_element(drawn.begin(), drawn.end()) - drawn.begin();
  };
  EXPECT_EQ(popular(42, 42), popular(42, Mix64(42)));
  EXPECT_NE(popular(42, 42), popular(43, 42));
}

TEST(RowChooserTest, HotRowsAreTheFirstOnes) {
  DatasetOptions rows;
  rows.rows = 1000;
  Dataset data(rows);
  WorkloadOptions options;
  options.distribution = Distribution::kHot;
  options.hot_fraction = 0.1;
  options.hot_probability = 0.9;
  RowChooser chooser(data, options, 1);
  int hot = 0;
  for (int i = 0; i < 10000; ++i) hot += chooser.Next() < 100;
  EXPECT_NEAR(hot, 9100, 150);
}

}  // namespace
}  // namespace testbed
