// Tests what the checks of the workloads on rows find: wrong answers to point reads, rows that a
// scan left out, writes that the engine lost, and index entries that do not belong to the rows.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/workloads/lying_engine.h"
#include "workloads/measure/runner.h"
#include "workloads/population.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

class RowChecksTest : public testing::Test {
 protected:
  using Lie = LyingEngine::Lie;

  RowChecksTest() { Use({}); }
  void TearDown() override { std::filesystem::remove(keys_); }

  // Begins with an empty database for 500 rows of such data, or those of its file of keys.
  void Use(DatasetOptions data) {
    data.rows = 500;
    if (data.fields == 1) data.value_size = 50;
    dataset_ = std::make_shared<const Dataset>(data);
    engine_.lie = Lie::kNone;
    engine_.puts = 0;
    engine_.table(engine_.OpenTable(kMainTable)).clear();
    for (uint32_t k = 0; k < 2; ++k) engine_.table(engine_.OpenTable(IndexTable(k))).clear();
  }
  // Returns the number of wrong answers.
  uint64_t Wrong(const std::string& name, const WorkloadOptions& options, uint64_t operations,
                 uint32_t verify_every = 1) {
    PhaseOptions phase;
    phase.operations = operations;
    phase.verify_every = verify_every;
    return RunPhase(engine_, *FindWorkload(name).make(dataset_, options), phase).wrong;
  }
  void Load() { EXPECT_EQ(Wrong("insert", {}, 0), 0u); }
  static WorkloadOptions Mix(std::map<std::string, double> mix) {
    WorkloadOptions options;
    options.mix = std::move(mix);
    options.scan_rows = 10;
    return options;
  }

  const std::string keys_ =
      testing::TempDir() + "testbed_row_checks_test_keys_" + std::to_string(::getpid());
  LyingEngine engine_;
  std::shared_ptr<const Dataset> dataset_;
};

TEST_F(RowChecksTest, EachKindOfWrongPointReadIsCounted) {
  Load();
  const WorkloadOptions options = Mix({{"point-read", 1}});
  for (const char* name : {"point-read", "mixed", "multi-get", "mixgraph"}) {
    for (const uint32_t every : {1u, 8u}) {
      engine_.lie = Lie::kNone;
      EXPECT_EQ(Wrong(name, options, 40, every), 0u) << name;
      for (const Lie lie : {Lie::kWrongValue, Lie::kNotFound}) {
        engine_.lie = lie;
        EXPECT_EQ(Wrong(name, options, 40, every), 40 / every)
            << name << ' ' << static_cast<int>(lie);
      }
    }
  }
}

TEST_F(RowChecksTest, ARowThatIsFoundWhereThereIsNoneIsWrong) {
  Load();
  WorkloadOptions options = Mix({{"point-read", 1}});
  options.hit_ratio = 0;
  for (const char* name : {"point-read", "mixed", "multi-get"}) {
    engine_.lie = Lie::kNone;
    EXPECT_EQ(Wrong(name, options, 40), 0u) << name;
    engine_.lie = Lie::kFoundAbsent;
    EXPECT_EQ(Wrong(name, options, 40), 40u) << name;
  }
}

TEST_F(RowChecksTest, AScanThatLeavesRowsOutIsWrong) {
  {
    std::ofstream lines(keys_);
    for (int i = 0; i < 500; ++i) lines << "key" << 7 * i % 500 << '\n';
  }
  for (const KeyOrder order : {KeyOrder::kSequential, KeyOrder::kPermuted, KeyOrder::kFile}) {
    DatasetOptions data;
    data.order = order;
    if (order == KeyOrder::kFile) data.keys_file = keys_;
    Use(data);
    Load();
    EXPECT_EQ(Wrong("mixed", Mix({{"scan", 1}}), 80), 0u) << KeyOrderName(order);
    EXPECT_EQ(Wrong("mixed", Mix({{"scan", 1}, {"update", 1}}), 80), 0u) << KeyOrderName(order);
    engine_.lie = Lie::kLeftOut;
    EXPECT_GT(Wrong("mixed", Mix({{"scan", 1}}), 80), 70u) << KeyOrderName(order);
  }
}

// Rows behind those of the data set are no error in a phase that inserts none.
TEST_F(RowChecksTest, AScanOfATableWithInsertedRowsIsRight) {
  Load();
  WorkloadOptions options = Mix({{"insert", 1}});
  options.population = std::make_shared<Population>(dataset_);
  EXPECT_EQ(Wrong("mixed", options, 50), 0u);
  options.mix = {{"scan", 1}};
  EXPECT_EQ(Wrong("mixed", options, 500), 0u);
}

TEST_F(RowChecksTest, AnUpdateThatTheEngineLosesIsWrong) {
  DatasetOptions of_fields;
  of_fields.value_size = 1000;
  of_fields.fields = 10;
  for (const DatasetOptions& data : {DatasetOptions(), of_fields}) {
    for (const char* action : {"update", "read-modify-write"}) {
      Use(data);
      Load();
      engine_.lie = Lie::kLostPut;
      EXPECT_EQ(Wrong("mixed", Mix({{action, 1}}), 100), 100u) << action;
      engine_.lie = Lie::kNone;
      EXPECT_EQ(Wrong("mixed", Mix({{action, 1}}), 100), 0u) << action;
    }
  }
}

TEST_F(RowChecksTest, AnInsertOrAnEraseThatTheEngineLosesIsWrong) {
  for (const auto& [action, lie] :
       {std::pair("insert", Lie::kLostPut), std::pair("erase", Lie::kLostErase)}) {
    Use({});
    Load();
    engine_.lie = lie;
    EXPECT_EQ(Wrong("mixed", Mix({{action, 1}}), 40), 40u) << action;
  }
}

TEST_F(RowChecksTest, AnUpdateOfMixgraphThatTheEngineLosesIsWrong) {
  Load();
  WorkloadOptions options;
  options.extra = {{"mix_get_ratio", "0"}, {"mix_put_ratio", "1"}};
  engine_.lie = Lie::kLostPut;
  EXPECT_EQ(Wrong("mixgraph", options, 100), 100u);
  engine_.lie = Lie::kNone;
  EXPECT_EQ(Wrong("mixgraph", options, 100), 0u);
}

TEST_F(RowChecksTest, AllRowsOfATransactionAreCheckedWhereAllOperationsAre) {
  WorkloadOptions options;
  options.rows_per_transaction = 10;
  engine_.lie = Lie::kLostSecond;
  EXPECT_EQ(Wrong("insert", options, 0), 50u);
  Use({});
  engine_.lie = Lie::kLostSecond;
  EXPECT_EQ(Wrong("insert", options, 0, 5), 0u) << "a sample looks at the first row of each";
}

TEST_F(RowChecksTest, IndexEntriesAreCheckedWithTheirRows) {
  DatasetOptions data;
  data.indexes = 2;
  for (const uint32_t every : {1u, 10u}) {
    Use(data);
    engine_.lie = Lie::kLostEntry;
    EXPECT_EQ(Wrong("insert", {}, 0, every), 500 / every) << "loaded rows";
    for (const char* action : {"insert", "erase"}) {
      Use(data);
      Load();
      EXPECT_EQ(Wrong("mixed", Mix({{action, 1}}), 40, every), 0u) << action;
      Use(data);
      Load();
      engine_.lie = Lie::kLostEntry;
      EXPECT_EQ(Wrong("mixed", Mix({{action, 1}}), 40, every), 40 / every) << action;
    }
  }
}

}  // namespace
}  // namespace testbed
