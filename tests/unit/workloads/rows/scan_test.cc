// Tests the scans of the workloads on rows: they must announce to the cursor as many rows as they
// read, and their checks must find each kind of wrong answer.
#include "workloads/rows/scan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/workloads/lying_engine.h"
#include "workloads/measure/runner.h"
#include "workloads/registry.h"
#include "workloads/trace/trace_recorder.h"

namespace testbed {
namespace {

using Lie = LyingEngine::Lie;

class ScanTest : public testing::Test {
 protected:
  ScanTest() {
    DatasetOptions data;
    data.rows = 500;
    data.value_size = 50;
    dataset_ = std::make_shared<const Dataset>(data);
    Run("insert", {});
  }
  PhaseResult Run(const std::string& name, const WorkloadOptions& options, uint64_t operations = 0,
                  uint32_t verify_every = 0) {
    workload_ = FindWorkload(name).make(dataset_, options);
    engine_.seeks = engine_.steps = 0;
    engine_.expected.clear();
    PhaseOptions phase;
    phase.operations = operations;
    phase.verify_every = verify_every;
    return RunPhase(engine_, *workload_, phase);
  }
  static WorkloadOptions Mix(std::map<std::string, double> mix, uint32_t scan_rows) {
    WorkloadOptions options;
    options.mix = std::move(mix);
    options.scan_rows = scan_rows;
    return options;
  }
  static WorkloadOptions Mixgraph() {
    WorkloadOptions options;
    options.extra = {{"mix_get_ratio", "0"},
                     {"mix_seek_ratio", "1"},
                     {"iter_k", "0.1"},
                     {"mix_max_scan_len", "20"}};
    return options;
  }

  LyingEngine engine_;
  std::shared_ptr<const Dataset> dataset_;
  std::unique_ptr<Workload> workload_;
};

// A step beyond the last row may read a block that no row of the scan needs.
TEST_F(ScanTest, AScanStepsOnceForEachRowAfterTheFirst) {
  for (const uint32_t rows : {1u, 2u, 7u}) {
    const PhaseResult result = Run("mixed", Mix({{"scan", 1}}, rows), 100);
    EXPECT_EQ(engine_.seeks, 100u);
    EXPECT_LE(engine_.steps, 100u * (rows - 1));
    // A scan that reaches the end of the table has stepped once to a row that does not exist.
    EXPECT_GE(engine_.steps + 100, result.totals.rows_read);
    EXPECT_EQ(engine_.expected, std::vector<uint64_t>(100, rows));
  }
  Run("seekrandom", Mix({{"scan", 1}}, 1), 100);
  EXPECT_EQ(engine_.seeks, 100u);
  EXPECT_EQ(engine_.steps, 0u);
}

TEST_F(ScanTest, AScanOfMixgraphTellsItsRowsAndStepsToThem) {
  const PhaseResult result = Run("mixgraph", Mixgraph(), 200);
  uint64_t expected = 0;
  for (const uint64_t rows : engine_.expected) expected += rows;
  EXPECT_EQ(engine_.expected.size(), 200u);
  EXPECT_LE(engine_.steps, expected - 200);
  EXPECT_LE(result.totals.rows_read, expected);
  EXPECT_GT(result.totals.rows_read, 200u);
}

TEST_F(ScanTest, ARightScanIsFoundRight) {
  for (const char* other : {"update", "insert", "erase", "point-read"}) {
    const PhaseResult result = Run("mixed", Mix({{"scan", 3}, {other, 1}}, 9), 400, 1);
    EXPECT_EQ(result.verified, 400u);
    EXPECT_EQ(result.wrong, 0u) << other << ": " << result.first_wrong;
    // The table is loaded anew, so that the next mix begins with the same rows.
    engine_.table(engine_.OpenTable(kMainTable)).clear();
    Run("insert", {});
  }
  const PhaseResult result = Run("mixgraph", Mixgraph(), 400, 1);
  EXPECT_EQ(result.wrong, 0u) << result.first_wrong;
}

TEST_F(ScanTest, EachKindOfWrongScanIsCounted) {
  for (const Lie lie : {Lie::kWrongValue, Lie::kEmptyCursor, Lie::kWrongFirst}) {
    engine_.lie = lie;
    for (const uint32_t every : {1u, 8u}) {
      const PhaseResult mixed = Run("mixed", Mix({{"scan", 1}}, 10), 80, every);
      EXPECT_EQ(mixed.wrong, 80 / every) << static_cast<int>(lie);
      EXPECT_GT(Run("mixgraph", Mixgraph(), 80, every).wrong, 80 / every / 2)
          << static_cast<int>(lie);
    }
    // The first row of a scan must exist, whatever rows the erases of the mix remove.
    EXPECT_GT(Run("mixed", Mix({{"scan", 9}, {"erase", 1}}, 10), 40, 1).wrong, 20u);
  }
}

// A read-modify-write leaves a right row even if it has read a wrong one. So the check looks at
// what it read.
TEST_F(ScanTest, AWrongValueThatAReadModifyWriteReadsIsFound) {
  EXPECT_EQ(Run("mixed", Mix({{"read-modify-write", 1}}, 1), 100, 1).wrong, 0u);
  engine_.lie = Lie::kWrongOld;
  // The engine lies about a row until its session has written it, and each phase has a new session.
  EXPECT_GT(Run("mixed", Mix({{"read-modify-write", 1}}, 1), 100, 1).wrong, 50u);
}

// The check of a short scan must find out from the rows themselves whether the scan reached the end
// of the table.
TEST_F(ScanTest, AScanThatEndsTooSoonIsWrong) {
  engine_.lie = Lie::kShortWalk;
  EXPECT_GT(Run("mixed", Mix({{"scan", 1}}, 10), 80, 1).wrong, 70u);
  EXPECT_GT(Run("mixed", Mix({{"scan", 19}, {"insert", 1}}, 10), 80, 1).wrong, 60u);
  engine_.table(engine_.OpenTable(kMainTable)).clear();
  Run("insert", {});
  EXPECT_EQ(Run("mixed", Mix({{"scan", 1}}, 2), 80, 1).wrong, 0u) << "two rows are all it asks for";
}

// The copies of the rows are part of the time of an operation that is checked.
TEST_F(ScanTest, AnOperationWhoseRowsAreKeptForItsCheckIsInNoLatency) {
  const auto timed = [](const PhaseResult& result) {
    uint64_t count = 0;
    for (const PhaseResult::Op& op : result.ops) count += op.latency.count();
    return count;
  };
  EXPECT_EQ(timed(Run("mixed", Mix({{"scan", 1}}, 10), 128, 8)), 112u);
  EXPECT_LT(timed(Run("mixgraph", Mixgraph(), 128, 8)), 128u) << "some of its scans have no rows";
  EXPECT_EQ(timed(Run("multi-get", {}, 128, 8)), 112u);
  EXPECT_EQ(timed(Run("mixed", Mix({{"update", 1}}, 1), 128, 8)), 128u) << "it keeps none";
  EXPECT_EQ(timed(Run("mixed", Mix({{"scan", 1}}, 10), 128, 1)), 128u) << "there are no others";
}

// The client is told beforehand which operations are checked, so that the check need not repeat the
// scan.
TEST_F(ScanTest, NoScanIsRepeatedForItsCheck) {
  for (const uint32_t every : {1u, 8u, 64u}) {
    Run("mixed", Mix({{"scan", 1}}, 2), 128, every);
    // The check's own read at the end of the table announces no rows.
    EXPECT_EQ(engine_.expected.size(), 128u) << every;
    engine_.takes = 0;
    EXPECT_EQ(Run("multi-get", {}, 128, every).verified, 128u / every);
    EXPECT_EQ(engine_.takes, 128u) << every;
  }
}

TEST_F(ScanTest, WhatIsNotCheckedIsNotKept) {
  KeptRows kept;
  EXPECT_FALSE(kept.keeps());
  kept.Begin(true);
  EXPECT_TRUE(kept.keeps());
  kept.Add("key", "");
  kept.Add("", "value");
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept.key(0), "key");
  EXPECT_EQ(kept.value(0), "");
  EXPECT_EQ(kept.value(1), "value");
  kept.Begin(false);
  EXPECT_FALSE(kept.keeps());
  kept.Begin(true);
  EXPECT_EQ(kept.size(), 0u);
}

// Copies of the rows of long scans would take more memory than a run has.
TEST(KeptRowsTest, OfManyRowsTheFirstAreKept) {
  KeptRows kept;
  const std::string value(1000, 'v');
  for (const size_t rows : {size_t{5000}, size_t{3}}) {
    kept.Begin(true);
    for (size_t i = 0; i < rows; ++i) kept.AddFew(std::to_string(10000 + i), value);
    EXPECT_EQ(kept.size() + kept.left_out(), rows);
    EXPECT_LE(kept.size(), 1050u);
    EXPECT_EQ(kept.key(2), "10002");
    EXPECT_EQ(kept.last_key(), std::to_string(10000 + rows - 1));
  }
  EXPECT_EQ(kept.left_out(), 0u);
}

TEST_F(ScanTest, ALongScanIsCheckedByTheRowsThatItBeganWith) {
  DatasetOptions data;
  data.rows = 4000;
  data.value_size = 1000;
  dataset_ = std::make_shared<const Dataset>(data);
  engine_.table(engine_.OpenTable(kMainTable)).clear();
  Run("insert", {});
  const PhaseResult right = Run("mixed", Mix({{"scan", 1}}, 3000), 20, 1);
  EXPECT_EQ(right.verified, 20u);
  EXPECT_EQ(right.wrong, 0u) << right.first_wrong;
  for (const Lie lie : {Lie::kWrongValue, Lie::kWrongFirst, Lie::kLeftOut}) {
    engine_.lie = lie;
    EXPECT_EQ(Run("mixed", Mix({{"scan", 1}}, 3000), 20, 1).wrong, 20u) << static_cast<int>(lie);
  }
}

TEST_F(ScanTest, MultiGetChecksEachRowOfItsCall) {
  WorkloadOptions options;
  options.hit_ratio = 0.7;
  EXPECT_EQ(Run("multi-get", options, 60, 1).wrong, 0u);
  for (const Lie lie : {Lie::kWrongValue, Lie::kNotFound}) {
    engine_.lie = lie;
    EXPECT_EQ(Run("multi-get", options, 60, 1).wrong, 60u);
    EXPECT_EQ(Run("multi-get", options, 60, 6).wrong, 10u);
  }
}

// A recorded session must make the same calls of the engine as one that is not recorded.
TEST_F(ScanTest, ARecorderPassesOnWhatAClientTells) {
  const std::string path = testing::TempDir() + "scan_test.trace";
  const OpKind op = DefineOp("scan", Ground::kForeground);
  TraceRecorder recorder(path, engine_, "mixed", {op});
  const TableId table = recorder.engine().OpenTable(kMainTable);
  recorder.MakeClients(1);
  {
    const std::unique_ptr<Session> session = recorder.Wrap(engine_.NewSession(), 0);
    for (const bool recorded : {false, true}) {
      engine_.expected.clear();
      if (recorded) recorder.client(0).Begin(0, 5);
      session->NewCursor(table)->Expect(7);
      EXPECT_EQ(engine_.expected, std::vector<uint64_t>{7});
      size_t taken = 0;
      char room[64];
      const std::string key(dataset_->Key(3, room));
      const std::vector<std::string_view> keys = {key, "absent"};
      session->TakeEach(table, keys, [&](size_t i, const FoundRow& row) {
        EXPECT_EQ(row.found, i == 0);
        if (row.found) {
          EXPECT_TRUE(dataset_->Check(3, row.value));
        }
        ++taken;
      });
      EXPECT_EQ(taken, 2u);
      if (recorded) recorder.client(0).End();
    }
  }
  recorder.Finish();
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace testbed
