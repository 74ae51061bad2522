// Tests that a replay makes the same calls of the engine as the recorded workload: it announces the
// lengths of walks to its cursors, and looks up the keys of a call together. Its checks must find
// wrong rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/account/ledger.h"
#include "device/error.h"
#include "tests/unit/workloads/lying_engine.h"
#include "tests/unit/workloads/trace/memory_in_use.h"
#include "workloads/measure/runner.h"
#include "workloads/population.h"
#include "workloads/registry.h"
#include "workloads/trace/trace_client.h"
#include "workloads/trace/trace_file.h"
#include "workloads/trace/trace_recorder.h"
#include "workloads/trace/trace_writer.h"
#include "workloads/trace/walk_lengths.h"
#include "workloads/writing_phases.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReplayTest : public testing::Test {
 protected:
  // Asked has the calls that a phase made of the engine.
  struct Asked {
    uint64_t seeks, steps, gets, takes;
    std::vector<uint64_t> expected;
  };

  ReplayTest() {
    DatasetOptions data;
    data.rows = 500;
    data.value_size = 50;
    dataset_ = std::make_shared<const Dataset>(data);
    RunPhase(engine_, *FindWorkload("insert").make(dataset_, {}), {.verify_every = 0});
  }
  ~ReplayTest() override { std::filesystem::remove(path_); }

  Asked Record(const std::string& name, const WorkloadOptions& options) {
    const std::unique_ptr<Workload> workload = FindWorkload(name).make(dataset_, options);
    TraceRecorder recorder(NewPath(), engine_, name, workload->ops());
    Asked asked = Run(recorder.engine(), workload.get(), &recorder);
    recorder.Finish();
    return asked;
  }
  Asked Replay() {
    WorkloadOptions options;
    options.extra = {{"trace", path_}};
    return Run(engine_, FindWorkload("replay").make(dataset_, options).get(), nullptr);
  }

  // Writes a trace of operations that put a value of `bytes` bytes each, and get it if told to. The
  // key of a single one is empty.
  void WritePuts(uint64_t puts, uint64_t bytes, bool gets = false) {
    TraceWriter writer(NewPath());
    TraceClient client(writer, 0);
    for (uint64_t i = 0; i < puts; ++i) {
      const std::string key = puts == 1 ? "" : "key" + std::to_string(i);
      client.Begin(0, i);
      client.Put(0, key, bytes);
      if (gets) client.Get(0, key, true, bytes);
      client.End();
    }
    client.Finish();
    TraceFacts facts;
    facts.kinds = {"update"};
    facts.tables = {{0, table_, {}, {}}};
    facts.clients = 1;
    facts.operations = puts;
    facts.calls = client.calls();
    writer.Finish(facts);
  }
  // Writes a trace of gets that did not find their row, each `gap_ns` after the one before.
  void WriteAbsentGets(uint64_t gets, uint64_t gap_ns, const std::string& kind = "point-read") {
    TraceWriter writer(NewPath());
    TraceClient client(writer, 0);
    const std::string key(40, 'k');
    for (uint64_t i = 0; i < gets; ++i) {
      client.Begin(0, i * gap_ns);
      client.Get(0, key, false, 0);
      client.End();
      client.Rest();
    }
    client.Finish();
    TraceFacts facts;
    facts.kinds = {kind};
    facts.tables = {{0, kMainTable, {}, {}}};
    facts.clients = 1;
    facts.operations = gets;
    facts.calls = client.calls();
    writer.Finish(facts);
  }
  // Prepares operations of the trace, which must be `operations`, and passes the client on.
  template <typename Use>
  void Prepare(const std::string& name, const std::string& speed, size_t operations, Use use) {
    WorkloadOptions options;
    options.extra = {{"trace", path_}, {"speed", speed}};
    const std::unique_ptr<Workload> workload = FindWorkload(name).make(dataset_, options);
    workload->OpenTables(engine_);
    const std::unique_ptr<Session> session = engine_.NewSession();
    const std::unique_ptr<Client> client = workload->NewClient(*session, 0, 1);
    ASSERT_EQ(client->Generate(64), operations);
    use(*client);
  }
  // Changes a byte of the last block of the trace.
  void DamageLastBlock() {
    const TraceFile file(path_);
    ASSERT_GT(file.blocks().size(), 1u);
    const auto at = static_cast<std::streamoff>(file.blocks().back().offset + kBlockHeadBytes);
    std::fstream bytes(path_, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(at);
    const int byte = bytes.get();
    bytes.seekp(at);
    bytes.put(static_cast<char>(byte ^ 1));
  }
  // Prepares the first operations of both threads of a replay in the order of the keys, in a phase
  // that is over or goes on. Returns their number.
  size_t PrepareByKey(bool is_over) {
    WorkloadOptions options;
    options.extra = {{"trace", path_}, {"order", "key"}};
    const std::unique_ptr<Workload> workload = FindWorkload("replay").make(dataset_, options);
    workload->OpenTables(engine_);
    const std::unique_ptr<Session> session = engine_.NewSession();
    size_t prepared = 0;
    for (const int thread : {0, 1}) {
      const std::unique_ptr<Client> client = workload->NewClient(*session, thread, 2);
      client->set_is_over([is_over] { return is_over; });
      prepared += client->Generate(64);
    }
    return prepared;
  }
  // Replays the trace and returns the details of the phase.
  nlohmann::json ReplayDetails() {
    WorkloadOptions options;
    options.extra = {{"trace", path_}};
    const std::unique_ptr<Workload> workload = FindWorkload("replay").make(dataset_, options);
    RunPhase(engine_, *workload, {.verify_every = 0});
    return workload->Details();
  }
  // Writes a trace of two clients by turns. Each opens a cursor in one operation, and steps with it
  // in a later one: the first client 5 times, the second 3 times.
  void WriteWalks() {
    TraceWriter writer(NewPath());
    TraceFacts facts;
    facts.kinds = {"scan"};
    facts.tables = {{0, kMainTable, {}, {}}};
    facts.clients = 2;
    for (uint32_t number = 0; number < facts.clients; ++number) {
      TraceClient client(writer, number);
      char key[64];
      client.Begin(0, number);
      const uint32_t cursor = client.OpenCursor(0);
      client.Seek(TraceCallKind::kSeek, cursor, dataset_->Key(400 * number, key));
      client.End();
      client.Begin(0, 2 + number);
      for (uint32_t step = 0; step < 5 - 2 * number; ++step) client.Step(cursor, true);
      client.CloseCursor(cursor);
      client.End();
      client.Finish();
      facts.operations += client.operations();
      for (size_t k = 0; k < kTraceCalls; ++k) facts.calls[k] += client.calls()[k];
    }
    writer.Finish(facts);
  }
  // Performs the trace and returns how many operations were prepared at once, batch by batch.
  std::vector<size_t> Batches(const std::string& name) {
    WorkloadOptions options;
    options.extra = {{"trace", path_}};
    const std::unique_ptr<Workload> workload = FindWorkload(name).make(dataset_, options);
    workload->OpenTables(engine_);
    const std::unique_ptr<Session> session = engine_.NewSession();
    const std::unique_ptr<Client> client = workload->NewClient(*session, 0, 1);
    std::vector<size_t> batches;
    while (const size_t n = client->Generate(64)) {
      for (size_t i = 0; i < n; ++i) client->Execute(i);
      batches.push_back(n);
    }
    return batches;
  }
  // Replays the trace on rows of a data set, and checks every operation.
  PhaseResult ReplayChecked() {
    WorkloadOptions options;
    options.extra = {{"trace", path_}};
    options.population = std::make_shared<Population>(dataset_);
    PhaseOptions phase;
    phase.verify_every = 1;
    return RunPhase(engine_, *FindWorkload("replay").make(dataset_, options), phase);
  }
  // Loads an engine from the trace, and replays the trace on it, with each operation checked.
  PhaseResult ReplayOnItsLoad(LyingEngine* engine, LyingEngine::Lie lie) {
    WorkloadOptions options;
    options.extra = {{"trace", path_}};
    options.loader = "replay-load";
    PhaseOptions phase;
    phase.verify_every = 1;
    RunPhase(*engine, *FindWorkload("replay-load").make(dataset_, options), phase);
    engine->lie = lie;
    return RunPhase(*engine, *FindWorkload("replay").make(dataset_, options), phase);
  }
  // Replays the trace of WritePuts as a run on a database of replay-load, and returns the rows.
  LyingEngine::Table ReplayedRows(const std::shared_ptr<WritingPhases>& phases) {
    WorkloadOptions options;
    options.extra = {{"trace", path_}};
    options.loader = "replay-load";
    options.writing_phases = phases;
    RunPhase(engine_, *FindWorkload("replay").make(dataset_, options), {.verify_every = 0});
    return engine_.table(engine_.OpenTable(table_));
  }
  // Gives each row a value of another size than those of the data set.
  void ResizeRows() {
    char key[64];
    std::string value(40, ' ');
    LyingEngine::Table& table = engine_.table(engine_.OpenTable(kMainTable));
    for (uint64_t row = 0; row < dataset_->rows(); ++row) {
      dataset_->SizedValue(row, 0, value.size(), value.data());
      table[std::string(dataset_->Key(row, key))] = value;
    }
  }

  LyingEngine engine_;
  std::string table_ = kMainTable;  // table of the trace that WritePuts writes

 private:
  Asked Run(Engine& engine, Workload* workload, TraceRecorder* recorder) {
    engine_.seeks = engine_.steps = engine_.gets = engine_.takes = 0;
    engine_.expected.clear();
    PhaseOptions phase;
    phase.operations = 200;
    phase.verify_every = 0;
    phase.recorder = recorder;
    RunPhase(engine, *workload, phase);
    return {engine_.seeks, engine_.steps, engine_.gets, engine_.takes, engine_.expected};
  }

  // A process takes one trace by a path, so each has a path of its own.
  const std::string& NewPath() {
    static int traces = 0;
    std::filesystem::remove(path_);
    path_ = testing::TempDir() + "replay_test_" + std::to_string(::getpid()) + "_" +
            std::to_string(++traces);
    return path_;
  }

  std::string path_;
  std::shared_ptr<const Dataset> dataset_;
};

TEST_F(ReplayTest, AScanTellsTheEngineItsRows) {
  WorkloadOptions options;
  options.mix = {{"scan", 1}};
  options.scan_rows = 7;
  const Asked recorded = Record("mixed", options), replayed = Replay();
  EXPECT_EQ(replayed.seeks, recorded.seeks);
  EXPECT_EQ(replayed.steps, recorded.steps);
  ASSERT_EQ(replayed.expected.size(), recorded.expected.size());
  size_t cut_off = 0;
  for (size_t i = 0; i < recorded.expected.size(); ++i) {
    // A scan that met the end of the table had announced more rows than it walked over.
    EXPECT_LE(replayed.expected[i], recorded.expected[i]);
    cut_off += replayed.expected[i] != recorded.expected[i];
  }
  EXPECT_LT(cut_off, 20u);
}

// Once, nothing told that a replay on fewer rows than the recording had read less.
TEST_F(ReplayTest, StepsThatFindNoFurtherRowAreCounted) {
  WriteWalks();  // of 5 and 3 steps
  using enum LyingEngine::Lie;
  for (const auto& [lie, left_out] :
       {std::pair(kNone, 0), std::pair(kShortWalk, 3 + 1), std::pair(kEmptyCursor, 5 + 3)}) {
    engine_.lie = lie;
    const nlohmann::json details = ReplayDetails();
    EXPECT_EQ(details["cursor_steps"], 8);
    EXPECT_EQ(details["cursor_steps_left_out"], left_out);
  }
}

// Once, the reads of the trace were unscoped, like those of an engine's thread that has no name.
TEST_F(ReplayTest, ReadingTheTraceIsChargedToAKindOfItsOwn) {
  WriteAbsentGets(100, 0);
  const LedgerCounts before = Ledger::Get().Counts();
  EXPECT_EQ(Replay().gets, 100u);
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  const OpKind op = DefineOp("read-trace", Ground::kBackground);
  EXPECT_EQ(OpGround(op), Ground::kBackground);
  EXPECT_GT(cost.ops[op.id].FileTotal().read_bytes, 0u);
  EXPECT_EQ(cost.ops[kUnscoped.id].FileTotal().reads, 0u);
}

// Once, the operations of such a kind and the engine's own flushes were one kind, which was
// background work.
TEST_F(ReplayTest, AKindWithTheNameOfWorkInTheBackgroundIsRefused) {
  WriteAbsentGets(1, 0, "flush");
  std::string refusal;
  try {
    Replay();
  } catch (const Error& error) {
    refusal = error.what();
  }
  EXPECT_THAT(refusal, HasSubstr("has operations of the kind flush, which is the name of work"));
}

// Both clients give their cursors the same number.
TEST_F(ReplayTest, ClientsThatShareAThreadHaveCursorsOfTheirOwn) {
  WriteWalks();
  const Asked replayed = Replay();
  EXPECT_EQ(replayed.seeks, 2u);
  EXPECT_EQ(replayed.steps, 5u + 3);
}

// Threads would step with cursors that others have.
TEST_F(ReplayTest, OperationsThatNeedEachOtherAreNotDividedByTheirKeys) {
  WriteWalks();
  std::string refusal;
  try {
    PrepareByKey(false);
  } catch (const Error& error) {
    refusal = error.what();
  }
  EXPECT_THAT(refusal, HasSubstr("a cursor that goes on from one operation to the next"));
}

TEST_F(ReplayTest, TheKeysOfACallAreAskedForTogether) {
  WorkloadOptions options;
  options.hit_ratio = 0.7;
  const Asked recorded = Record("multi-get", options), replayed = Replay();
  EXPECT_EQ(recorded.takes, 200u);
  EXPECT_EQ(replayed.takes, 200u);
  EXPECT_EQ(replayed.gets, recorded.gets);
}

TEST_F(ReplayTest, AWrongRowIsFoundWhicheverCallGaveIt) {
  using Lie = LyingEngine::Lie;
  WorkloadOptions scans;
  scans.mix = {{"scan", 1}};
  scans.scan_rows = 7;
  WorkloadOptions changes;  // each gets a row, and puts it
  changes.mix = {{"read-modify-write", 1}};
  const std::vector<std::pair<std::string, WorkloadOptions>> recorded = {
      {"mixed", scans},
      {"multi-get", WorkloadOptions()},
      {"point-read", WorkloadOptions()},
      {"mixed", changes}};
  for (const bool resized : {false, true}) {
    if (resized) ResizeRows();
    for (const auto& [name, options] : recorded) {
      Record(name, options);
      const PhaseResult right = ReplayChecked();
      EXPECT_EQ(right.verified, 200u) << name;
      EXPECT_EQ(right.wrong, 0u) << name << ": " << right.first_wrong;
      engine_.lie = Lie::kWrongValue;
      EXPECT_EQ(ReplayChecked().wrong, 200u) << name;
      engine_.lie = Lie::kNone;
    }
  }
}

TEST_F(ReplayTest, AWrongRowIsFoundOnALoadOfReplayLoad) {
  using Lie = LyingEngine::Lie;
  const auto expect = [this](uint64_t operations) {
    LyingEngine right, wrong;
    const PhaseResult of_right = ReplayOnItsLoad(&right, Lie::kNone);
    EXPECT_EQ(of_right.verified, operations);
    EXPECT_EQ(of_right.wrong, 0u) << of_right.first_wrong;
    EXPECT_EQ(ReplayOnItsLoad(&wrong, Lie::kWrongValue).wrong, operations);
  };
  Record("point-read", WorkloadOptions());
  expect(200);
  Record("multi-get", WorkloadOptions());
  expect(200);
  // No row of the data set has these keys, and the other table is not the data set's.
  for (const char* table : {kMainTable, "another"}) {
    table_ = table;
    WritePuts(100, 30, true);
    expect(100);
    WritePuts(1, 30, true);
    expect(1);
  }
}

// An engine may leave out a write that changes nothing, as InnoDB does.
TEST_F(ReplayTest, ALaterReplayOnADatabaseOfAnyLoaderPutsOtherValues) {
  WritePuts(100, 30);
  const auto phases = std::make_shared<WritingPhases>(uint64_t{0});
  const LyingEngine::Table first = ReplayedRows(phases), second = ReplayedRows(phases);
  const auto of_next_run = std::make_shared<WritingPhases>(phases->last());
  const LyingEngine::Table third = ReplayedRows(of_next_run);
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key" + std::to_string(i);
    EXPECT_NE(second.at(key), first.at(key)) << key;
    EXPECT_NE(third.at(key), first.at(key)) << key;
    EXPECT_NE(third.at(key), second.at(key)) << key;
  }
}

TEST_F(ReplayTest, LargeValuesArePreparedAFewAtATime) {
  WritePuts(10, 300'000);
  EXPECT_THAT(Batches("replay-load"), ElementsAre(4, 4, 2));
  EXPECT_THAT(Batches("replay"), ElementsAre(4, 4, 2));
  EXPECT_EQ(engine_.table(engine_.OpenTable(kMainTable)).at("key9").size(), 300'000u);
}

// A clock's ticks overflow beyond some hundred years, and the operation would begin at once.
TEST_F(ReplayTest, NoOperationIsDueLaterThanAClockCanTell) {
  constexpr uint64_t kThirtyYears = 1'000'000'000'000'000'000;
  WriteAbsentGets(2, kThirtyYears);
  Prepare("replay", "0.001", 2, [](const Client& client) {
    EXPECT_EQ(client.DueNs(0), 0u);
    EXPECT_EQ(client.DueNs(1), uint64_t{1} << 53);
  });
  WriteAbsentGets(2, 1000);
  Prepare("replay", "0.5", 2, [](const Client& client) { EXPECT_EQ(client.DueNs(1), 2000u); });
}

// Once, a thread without operations read the rest of the trace after the others had ended, and the
// phase lasted as long.
TEST_F(ReplayTest, AThreadThatFindsNoKeyOfItsOwnReadsNoFurtherThanThePhaseLasts) {
  WriteAbsentGets(20000, 1);  // of one key
  DamageLastBlock();
  EXPECT_THROW(PrepareByKey(false), Error);
  EXPECT_EQ(PrepareByKey(true), 64u);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The load reads the whole trace, 94 MB of operations, to find a row. Once, it held all of them in
// memory.
TEST_F(ReplayTest, ALoadDoesNotHoldWhatHasNoRows) {
  WriteAbsentGets(2'000'000, 1);
  const uint64_t before = MemoryInUse();
  Prepare("replay-load", "max", 0,
          [&](const Client&) { EXPECT_LT(MemoryInUse(), before + (40u << 20)); });
}
#endif

class WalkLengthsTest : public testing::Test {
 protected:
  void Add(TraceCallKind kind, uint32_t cursor, uint64_t steps = 0) {
    operation_.calls.push_back({.kind = kind, .cursor = cursor, .number = steps});
  }
  std::vector<uint64_t> Find() {
    std::vector<uint64_t> rows = {77};  // left by the operation before
    lengths_.Find(operation_, &rows);
    operation_.calls.clear();
    return rows;
  }

  TraceOperation operation_;
  WalkLengths lengths_;
};

TEST_F(WalkLengthsTest, AWalkHasTheRowOfItsSeekAndThoseOfItsSteps) {
  using enum TraceCallKind;
  Add(kOpenCursor, 0);
  Add(kSeek, 0);
  Add(kValue, 0);
  Add(kNextValues, 0, 5);
  Add(kNext, 0, 1);
  Add(kCloseCursor, 0);
  EXPECT_THAT(Find(), ElementsAre(7));
  Add(kOpenCursor, 0);
  Add(kLast, 0);
  Add(kPrev, 0, 2);
  Add(kPrevValues, 0, 3);
  Add(kFirst, 0);
  Add(kSeekForPrev, 0);
  Add(kOpenCursor, 0);  // the slot is free when a cursor ended outside of an operation
  EXPECT_THAT(Find(), ElementsAre(6, 1, 1));
  Add(kGet, 0);
  EXPECT_THAT(Find(), ElementsAre());
}

TEST_F(WalkLengthsTest, CursorsWalkAtTheSameTime) {
  using enum TraceCallKind;
  Add(kSeek, 1);
  Add(kSeek, 0);
  Add(kNext, 1, 10);
  Add(kNext, 0, 20);
  Add(kNext, 1, 1);
  Add(kCloseCursor, 0);
  Add(kCloseCursor, 1);
  EXPECT_THAT(Find(), ElementsAre(12, 21));
}

TEST_F(WalkLengthsTest, AWalkEndsWhereItsCursorTurnsAround) {
  using enum TraceCallKind;
  Add(kSeek, 0);
  Add(kNext, 0, 3);
  Add(kPrev, 0, 5);
  Add(kNext, 0, 9);
  Add(kSeek, 0);
  Add(kPrev, 0, 5);
  EXPECT_THAT(Find(), ElementsAre(4, 1));
}

TEST_F(WalkLengthsTest, TheLengthOfAWalkThatGoesOnLaterIsNotKnown) {
  using enum TraceCallKind;
  Add(kSeek, 0);
  Add(kNext, 0, 3);
  EXPECT_THAT(Find(), ElementsAre(0));
  Add(kNext, 0, 3);
  Add(kSeek, 0);
  Add(kNext, 0, 2);
  Add(kCloseCursor, 0);
  EXPECT_THAT(Find(), ElementsAre(3));
}

}  // namespace
}  // namespace testbed
