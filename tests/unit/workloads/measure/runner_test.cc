#include "workloads/measure/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "tests/few_threads.h"
#include "tests/unit/workloads/measure/map_engine.h"
#include "workloads/measure/clock.h"
#include "workloads/population.h"
#include "workloads/registry.h"
#include "workloads/row_chooser.h"
#include "workloads/writing_phases.h"

namespace testbed {
namespace {

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

TEST_F(RunnerTest, InsertTellsTheBytesOfItsIndexEntriesBesideThoseOfTheRows) {
  const std::unique_ptr<Workload> insert = FindWorkload("insert").make(dataset_, {});
  EXPECT_EQ(insert->AddedBytes(), 5000u * (16 + 50 + 2 * 24));
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

// An engine spreads the clients' sessions over the addresses of its server by their numbers. The
// sessions of a load have no number, and all go to the first address.
TEST_F(RunnerTest, ClientsHaveSessionsByTheirNumberUnlessTheyLoad) {
  const std::unique_ptr<Workload> insert = FindWorkload("insert").make(dataset_, {});
  PhaseOptions load;
  load.threads = 3;
  load.loads = true;
  RunPhase(engine_, *insert, load);
  EXPECT_TRUE(engine_.clients.empty());
  PhaseOptions phase;
  phase.threads = 3;
  phase.operations = 100;
  Read(phase);
  std::sort(engine_.clients.begin(), engine_.clients.end());
  EXPECT_EQ(engine_.clients, (std::vector<int>{0, 1, 2}));
  engine_.clients.clear();
  phase.task = 1;
  Read(phase);
  std::sort(engine_.clients.begin(), engine_.clients.end());
  EXPECT_EQ(engine_.clients, (std::vector<int>{3, 4, 5})) << "task 0 has those before them";
}

TEST_F(RunnerTest, OperationsWithoutAnAnswerAreCountedApart) {
  Load(1, 100);
  engine_.addresses = {{"n1", ""}, {"n2", ""}};
  engine_.lost_reads = 5;
  PhaseOptions phase;
  phase.threads = 3;
  phase.operations = 3000;
  const PhaseResult result = Read(phase);
  EXPECT_EQ(result.unanswered(), 5u);
  EXPECT_GT(result.ops[0].longest_unanswered_ns, 0u);
  EXPECT_EQ(result.operations(), 2995u);
  EXPECT_EQ(result.ops[0].latency.count(), 2995u);
  EXPECT_FALSE(result.totals.rows_unknown) << "reads change no row";
}

TEST_F(RunnerTest, ReadersBesideAWriterOutliveALostAddressAsWell) {
  Load(1, 100);
  engine_.addresses = {{"n1", ""}, {"n2", ""}};
  engine_.lost_reads = 3;
  PhaseOptions phase;
  phase.threads = 2;
  phase.operations = 300;
  phase.verify_every = 0;
  auto workload = FindWorkload("readwhilewriting").make(dataset_, {});
  EXPECT_EQ(RunPhase(engine_, *workload, phase).unanswered(), 3u);
}

TEST_F(RunnerTest, OperationsAreToldByTheAddressOfTheirClient) {
  Load(1, 100);
  PhaseOptions phase;
  phase.threads = 3;
  phase.operations = 3000;
  EXPECT_TRUE(Read(phase).addresses.empty());
  engine_.addresses = {{"n1", ""}, {"n2", ""}};
  engine_.lost_reads = 7;
  const PhaseResult result = Read(phase);
  ASSERT_EQ(result.addresses.size(), 2u);
  const PhaseResult::Address &first = result.addresses[0], &second = result.addresses[1];
  EXPECT_EQ(first.name + second.name, "n1n2");
  EXPECT_EQ(first.threads, 2);
  EXPECT_EQ(second.threads, 1);
  EXPECT_EQ(first.count + first.unanswered, 2000u);
  EXPECT_EQ(second.count + second.unanswered, 1000u);
  EXPECT_EQ(first.unanswered + second.unanswered, 7u);
  EXPECT_EQ(second.latency.count(), second.count);
  phase.task = 1;
  EXPECT_EQ(Read(phase).addresses[0].threads, 1) << "task 0 has the first three clients";
}

TEST_F(RunnerTest, ACheckWithoutAnAnswerFindsNothingWrong) {
  Load(1, 100);
  engine_.addresses = {{"n1", ""}, {"n2", ""}};
  engine_.lost_reads = 5;
  WorkloadOptions options;
  options.mix = {{"insert", 1}};
  PhaseOptions phase;
  phase.operations = 100;
  phase.verify_every = 1;
  const PhaseResult result =
      RunPhase(engine_, *FindWorkload("mixed").make(dataset_, options), phase);
  EXPECT_EQ(result.operations(), 100u);
  EXPECT_EQ(result.wrong, 0u);
  EXPECT_EQ(result.unanswered(), 0u);
  EXPECT_EQ(engine_.lost_reads, 0);
}

// After a lost server it is unknown whether the inserted row exists.
TEST_F(RunnerTest, AnInsertWithoutAnAnswerMakesItUnknownWhichRowsThereAre) {
  Load(1, 100);
  engine_.addresses = {{"n1", ""}, {"n2", ""}};
  engine_.lost_writes = 1;
  WorkloadOptions options;
  options.mix = {{"insert", 1}};
  options.population = std::make_shared<Population>(dataset_);
  PhaseOptions phase;
  phase.operations = 50;
  phase.verify_every = 1;
  const PhaseResult result =
      RunPhase(engine_, *FindWorkload("mixed").make(dataset_, options), phase);
  EXPECT_EQ(result.unanswered(), 1u);
  EXPECT_EQ(result.operations(), 49u);
  EXPECT_EQ(result.wrong, 0u);
  EXPECT_TRUE(result.totals.rows_unknown);
  EXPECT_FALSE(options.population->known());
}

class LosingClient : public SlowClient {
 public:
  LosingClient() : SlowClient(0) {}
  void Execute(size_t) override { throw LostAnswer(Error(Error::kIo, "n2 is lost")); }
};
class LosingWorkload : public SlowWorkload {
 public:
  LosingWorkload() : SlowWorkload(0) {}
  std::unique_ptr<Client> NewClient(Session&, int, int) override {
    return std::make_unique<LosingClient>();
  }
};

TEST_F(RunnerTest, AWorkloadThatDoesNotBearALostAnswerEndsWithASentence) {
  engine_.addresses = {{"n1", ""}, {"n2", ""}};
  LosingWorkload workload;
  PhaseOptions phase;
  phase.operations = 10;
  try {
    RunPhase(engine_, workload, phase);
    ADD_FAILURE() << "the phase went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kIo);
    EXPECT_EQ(std::string(error.what()), "n2 is lost; slow does not go on without the answer");
  }
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
  EXPECT_GT(result.preparing_seconds, 0);
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

// A SliceControl that grants slices of 20 ms and collects their counts.
class SomeSlices : public SliceControl {
 public:
  explicit SomeSlices(int n) : left_(n) {}
  std::optional<double> Next() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a rest
    return left_-- > 0 ? std::optional<double>(0.02) : std::nullopt;
  }
  void Done(const Interval& slice, const HistogramCounts& latency, double seconds) override {
    EXPECT_EQ(latency.count(), slice.operations);
    EXPECT_EQ(latency.Percentile(0.99), slice.p99_ns);
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

// A SliceControl that fails to read the figures of a slice, as when an engine's server was killed.
class UnreadableSlices : public SliceControl {
 public:
  explicit UnreadableSlices(bool after_rest) : after_rest_(after_rest) {}
  std::optional<double> Next() override {
    if (after_rest_) throw Error(Error::kRun, "unreadable after a rest");
    return 0.02;
  }
  void Done(const Interval&, const HistogramCounts&, double) override {
    throw Error(Error::kRun, "unreadable after a slice");
  }

 private:
  const bool after_rest_;
};

TEST_F(RunnerTest, AnErrorBetweenSlicesEndsTheClientsAndReachesTheCaller) {
  Load(1, 100);
  for (const bool after_rest : {false, true}) {
    UnreadableSlices slices(after_rest);
    PhaseOptions phase;
    phase.threads = 2;
    phase.slices = &slices;
    try {
      Read(phase);
      ADD_FAILURE() << "no error was thrown";
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()),
                after_rest ? "unreadable after a rest" : "unreadable after a slice");
    }
  }
  // The error of a client says more than the error that the figures cannot be read.
  engine_.fails = true;
  UnreadableSlices slices(false);
  PhaseOptions phase;
  phase.slices = &slices;
  try {
    Read(phase);
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find("unreadable"), std::string::npos) << e.what();
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

// The client that runs out of rows first waits for those that the other one holds. The latter is
// checked for several slices, as a check takes 3 ms.
TEST_F(RunnerTest, AClientThatWaitsForAnotherRestsWithIt) {
  DatasetOptions data;
  data.rows = 40;
  dataset_ = std::make_shared<const Dataset>(data);
  Load(1, 1);
  engine_.pause_ns = 3'000'000;
  WorkloadOptions options;
  options.mix = {{"erase", 1}};
  const std::unique_ptr<Workload> mixed = FindWorkload("mixed").make(dataset_, options);
  SomeSlices slices(1000000);
  PhaseOptions phase;
  phase.threads = 2;
  phase.verify_every = 1;
  phase.slices = &slices;
  const PhaseResult result = RunPhase(engine_, *mixed, phase);
  EXPECT_EQ(result.totals.rows_erased, 40u);
  EXPECT_EQ(result.ended_because, "no row is left to erase");
  EXPECT_GT(slices.slices, 1);
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

// One client has ten operations, the others go on for ever.
class UnevenWorkload : public SlowWorkload {
 public:
  UnevenWorkload() : SlowWorkload(0) {}
  uint64_t operations() const override { return 1000; }
  bool uneven() const override { return true; }
  std::unique_ptr<Client> NewClient(Session&, int thread, int) override {
    return std::make_unique<ShortClient>(thread == 0 ? 10 : 1000);
  }

 private:
  struct ShortClient : Client {
    explicit ShortClient(size_t left) : left(left) {}
    size_t Generate(size_t max) override {
      const size_t n = std::min({max, left, size_t{7}});
      left -= n;
      return n;
    }
    void Execute(size_t) override {}
    bool Verify(size_t) override { return true; }
    size_t left;
  };
};

TEST_F(RunnerTest, OfUnevenClientsAllTogetherPerformTheOperationsAskedFor) {
  UnevenWorkload workload;
  PhaseOptions phase;
  phase.threads = 3;
  for (const uint64_t operations : {300, 1009, 2010}) {
    phase.operations = operations;
    EXPECT_EQ(RunPhase(engine_, workload, phase).operations(), operations);
  }
  phase.operations = 5000;
  EXPECT_EQ(RunPhase(engine_, workload, phase).operations(), 2010u) << "they have no more";
}

// A client whose destructor takes long, as of one that reads the profile of its phase.
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

// Several processes begin together when all of them are ready.
TEST_F(RunnerTest, ClientsBeginWhenTheCallerLetsThem) {
  Load(1, 100);
  PhaseOptions phase;
  phase.threads = 2;
  phase.operations = 100;
  int64_t let = 0;
  phase.before_start = [&let] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    let = static_cast<int64_t>(Clock::Monotonic());
  };
  const LedgerCounts before = Ledger::Get().Counts();
  const PhaseResult result = Read(phase);
  EXPECT_GE(result.began_ns, let);
  EXPECT_LT(result.began_ns, static_cast<int64_t>(Clock::Monotonic()));
  EXPECT_EQ(result.operations(), 100u);
  EXPECT_TRUE(result.series.front().latency_ns.empty()) << "nobody has asked for them";
  EXPECT_EQ((Ledger::Get().Counts() - before).ops[result.ops[0].op.id].operations, 100u);
}

TEST_F(RunnerTest, WhoeverCannotBeginEndsThePhase) {
  Load(1, 100);
  PhaseOptions phase;
  phase.threads = 3;
  phase.seconds = 60;
  phase.before_start = [] { throw Error(Error::kRun, "another process is lost"); };
  EXPECT_THROW(Read(phase), Error);
}

TEST_F(RunnerTest, IntervalsKeepTheirHistogramsWhereTheyAreAskedFor) {
  Load(1, 100);
  PhaseOptions phase;
  phase.threads = 2;
  phase.operations = 1000;
  phase.interval_buckets = true;
  const PhaseResult result = Read(phase);
  HistogramCounts merged;
  for (const Interval& interval : result.series) {
    merged.AddBuckets(interval.latency_ns, interval.sum_ns, interval.max_ns);
  }
  EXPECT_EQ(merged.count(), 1000u);
  EXPECT_EQ(merged.Buckets(), result.ops[0].latency.Buckets());
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
  uint64_t last = 0;
  const auto update = [&] {
    WorkloadOptions options;
    options.mix = {{"update", 1}};
    options.writing_phases = std::make_shared<WritingPhases>(last);
    auto mixed = FindWorkload("mixed").make(dataset_, options);
    PhaseOptions phase;
    phase.operations = 2000;
    RunPhase(engine_, *mixed, phase);
    last = options.writing_phases->last();
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
