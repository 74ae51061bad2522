// Tests a client of the OLTP workloads on sessions that fail, and on an engine that counts and
// lies.
#include "workloads/sysbench/oltp_client.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tests/unit/workloads/lying_engine.h"
#include "workloads/measure/runner.h"
#include "workloads/registry.h"
#include "workloads/writing_phases.h"

namespace testbed::sysbench {
namespace {

class FailingSession : public Session {
 public:
  void Begin() override {}
  void Commit() override {}
  void Rollback() override {}
  bool Get(TableId, std::string_view, std::string_view*) override {
    throw Error(Error::kIo, "No space left on device");
  }
  void Put(TableId, std::string_view, std::string_view) override {}
  void Erase(TableId, std::string_view) override {}
  std::unique_ptr<Cursor> NewCursor(TableId) override { return nullptr; }
};

// Otherwise the other clients of the phase would wait for the rows, and the run would never end.
TEST(OltpClientTest, AnErrorOfTheEngineLeavesNoRowLocked) {
  const Settings settings{.table_size = 100, .tables = 1};
  for (const StatementKind kind :
       {StatementKind::kNonIndexUpdate, StatementKind::kDelete, StatementKind::kDeleteInsert}) {
    OltpPhase phase(settings);
    phase.tables.all = {{0, 1}};
    phase.statements = {kind, kind};
    phase.transaction = true;
    FailingSession session;
    const std::unique_ptr<Client> client = NewOltpClient(phase, session, 0, 1);
    ASSERT_GE(client->Generate(1), 1u);
    EXPECT_THROW(client->Execute(0), Error);
    size_t locked = 0;
    std::thread other([&] {
      for (Mutex& lock : phase.locks) {
        if (lock.try_lock()) {
          lock.unlock();
        } else {
          ++locked;
        }
      }
    });
    other.join();
    EXPECT_EQ(locked, 0u);
  }
}

using Lie = LyingEngine::Lie;

class OltpAnswersTest : public testing::Test {
 protected:
  OltpAnswersTest() {
    DatasetOptions data;
    data.rows = 400;
    dataset_ = std::make_shared<const Dataset>(data);
    options_.extra = {{"rand_type", "uniform"}, {"range_size", "20"}, {"check", "off"}};
    Run("sysbench-load", 0, 0);
  }
  PhaseResult Run(const std::string& name, uint64_t operations = 60, uint32_t verify_every = 1) {
    const std::unique_ptr<Workload> workload = FindWorkload(name).make(dataset_, options_);
    engine_.expected.clear();
    PhaseOptions phase;
    phase.operations = operations;
    phase.verify_every = verify_every;
    return RunPhase(engine_, *workload, phase);
  }

  LyingEngine engine_;
  std::shared_ptr<const Dataset> dataset_;
  WorkloadOptions options_;
};

TEST_F(OltpAnswersTest, RightAnswersAreFoundRight) {
  // Deletes come last, because an id may have no row after them.
  for (const char* name :
       {"oltp-point-select", "oltp-read-only", "oltp-update-index", "oltp-update-non-index",
        "oltp-write-only", "oltp-read-write", "oltp-insert", "oltp-read-only", "oltp-delete",
        "oltp-point-select", "oltp-read-only", "oltp-read-write"}) {
    for (const uint32_t every : {1u, 7u}) {
      const PhaseResult result = Run(name, 140, every);
      EXPECT_EQ(result.wrong, 0u) << name << ": " << result.first_wrong;
      EXPECT_EQ(result.verified, 140u / every);
    }
  }
}

// An engine may leave out a write that changes nothing. A later run with the same seed updates the
// same rows.
TEST_F(OltpAnswersTest, ALaterPhaseOnTheDatabaseUpdatesToOtherValues) {
  options_.writing_phases = std::make_shared<WritingPhases>(uint64_t{0});
  const auto rows = [this] { return engine_.table(engine_.OpenTable("sbtest1")); };
  const LyingEngine::Table loaded = rows();
  Run("oltp-update-non-index");
  const LyingEngine::Table first = rows();
  Run("oltp-update-non-index");
  const LyingEngine::Table second = rows();
  int updated = 0;
  for (const auto& [id, row] : first) {
    if (row == loaded.at(id)) continue;
    ++updated;
    EXPECT_NE(second.at(id), row);
  }
  EXPECT_GT(updated, 30);
}

// An id has four bytes. Once, the ids after the last one were those of rows that are there.
TEST_F(OltpAnswersTest, AnInsertEndsWithTheLastId) {
  LyingEngine::Table& rows = engine_.table(engine_.OpenTable("sbtest1"));
  char key[kIdBytes];
  PutBigEndian(UINT32_MAX - 5, key);
  rows[std::string(key, kIdBytes)] = rows.begin()->second;
  const LyingEngine::Table before = rows;
  const PhaseResult result = Run("oltp-insert", 60, 1);
  EXPECT_EQ(result.totals.rows_inserted, 5u);
  EXPECT_EQ(result.wrong, 0u) << result.first_wrong;
  EXPECT_EQ(result.ended_because, "no id is left for another row");
  EXPECT_EQ(rows.size(), before.size() + 5);
  for (const auto& [id, row] : before) EXPECT_EQ(rows.at(id), row);
  EXPECT_EQ(Run("oltp-insert", 60, 1).totals.rows_inserted, 0u) << "every id has its row";
}

// A range of ids can have no row beyond its last id.
TEST_F(OltpAnswersTest, ARangeTellsItsLengthAndStepsNoFurther) {
  engine_.seeks = engine_.steps = 0;
  options_.extra["point_selects"] = "0";
  const PhaseResult result = Run("oltp-read-only", 50, 0);
  EXPECT_EQ(engine_.expected, std::vector<uint64_t>(4 * 50, 20));
  EXPECT_LE(engine_.steps, 4u * 50 * 19);
  EXPECT_GT(result.totals.rows_read, 4u * 50 * 17);
}

// The statements of a transaction may be ten thousand, with room for a row each.
TEST_F(OltpAnswersTest, LongTransactionsArePreparedOneAtATime) {
  const std::unique_ptr<Session> session = engine_.NewSession();
  for (const size_t selects : {size_t{10}, size_t{10000}}) {
    options_.extra["point_selects"] = std::to_string(selects);
    const std::unique_ptr<Workload> workload =
        FindWorkload("oltp-read-only").make(dataset_, options_);
    workload->OpenTables(engine_);
    EXPECT_EQ(workload->NewClient(*session, 0, 1)->Generate(64), selects == 10 ? 16u : 1u);
  }
}

// The walk over a large database takes hours.
TEST_F(OltpAnswersTest, ARequestToStopEndsTheCheckOfTheDatabase) {
  options_.extra["check"] = "on";
  const std::unique_ptr<Workload> workload =
      FindWorkload("oltp-update-index").make(dataset_, options_);
  workload->OpenTables(engine_);
  engine_.steps = 0;
  EXPECT_EQ(workload->CheckDatabase(engine_), "");
  EXPECT_EQ(workload->Details()["table_rows"], 400);
  EXPECT_GE(engine_.steps, 800u);
  const SignalGuard signals;
  ::raise(SIGINT);
  engine_.steps = 0;
  EXPECT_EQ(workload->CheckDatabase(engine_), "");
  EXPECT_FALSE(workload->Details().contains("table_rows"));
  EXPECT_EQ(engine_.steps, 0u);
}

// One client alone finds what it has just written. The lost inserts of oltp-write-only leave out
// rows, which oltp-delete would find deleted, so it comes first.
TEST_F(OltpAnswersTest, AWriteThatTheEngineLosesIsWrong) {
  engine_.lie = Lie::kLostErase;
  EXPECT_EQ(Run("oltp-delete").wrong, 60u);
  for (const char* name :
       {"oltp-update-index", "oltp-update-non-index", "oltp-write-only", "oltp-insert"}) {
    engine_.lie = Lie::kLostPut;
    EXPECT_EQ(Run(name).wrong, 60u) << name;
    engine_.lie = Lie::kNone;
  }
}

// A commit that is lost as a whole takes the row and its index entry with it.
TEST_F(OltpAnswersTest, TheCheckMissesARowThatIsLostWithItsEntry) {
  options_.extra["check"] = "on";
  const auto check = [this] {
    const std::unique_ptr<Workload> workload =
        FindWorkload("oltp-update-index").make(dataset_, options_);
    workload->OpenTables(engine_);
    return workload->CheckDatabase(engine_);
  };
  ASSERT_EQ(check(), "");
  LyingEngine::Table& rows = engine_.table(engine_.OpenTable("sbtest1"));
  char key[kIdBytes], entry[kKBytes + kIdBytes];
  PutBigEndian(7, key);
  const auto row = rows.find(std::string(key, kIdBytes));
  ASSERT_TRUE(row != rows.end());
  PutEntry(BigEndian(row->second), 7, entry);
  rows.erase(row);
  ASSERT_EQ(engine_.table(engine_.OpenTable("sbtest1_k")).erase(std::string(entry, sizeof entry)),
            1u);
  EXPECT_EQ(check(), "sbtest1: 399 of its 400 loaded ids have a row, and none was deleted");
  Run("oltp-delete", 1);
  EXPECT_EQ(check(), "") << "rows may be missing from now on";
}

TEST_F(OltpAnswersTest, EachKindOfWrongAnswerIsCounted) {
  for (const uint32_t every : {1u, 6u}) {
    for (const Lie lie : {Lie::kWrongValue, Lie::kNotFound}) {
      for (const char* name : {"oltp-point-select", "oltp-read-only"}) {
        // The engine first shows that every id has a row, and then begins to lie.
        engine_.lie = Lie::kNone;
        const std::unique_ptr<Workload> workload = FindWorkload(name).make(dataset_, options_);
        workload->OpenTables(engine_);
        engine_.lie = lie;
        const std::unique_ptr<Session> session = engine_.NewSession();
        const std::unique_ptr<Client> client = workload->NewClient(*session, 0, 1);
        ASSERT_EQ(client->Generate(10), 10u);
        for (size_t i = 0; i < 10; ++i) {
          const bool checked = (i + 1) % every == 0;
          client->set_to_verify(checked);
          client->Execute(i);
          if (!checked) continue;
          EXPECT_FALSE(client->Verify(i)) << name << ' ' << static_cast<int>(lie);
        }
      }
    }
    for (const Lie lie : {Lie::kEmptyCursor, Lie::kWrongFirst, Lie::kShortWalk, Lie::kLeftOut}) {
      engine_.lie = lie;
      EXPECT_EQ(Run("oltp-read-only", 60, every).wrong, 60 / every) << static_cast<int>(lie);
    }
    engine_.lie = Lie::kNone;
  }
}

}  // namespace
}  // namespace testbed::sysbench
