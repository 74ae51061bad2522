// Tests that updates of values with fields write one field, and leave the others as they are.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/workloads/measure/map_engine.h"
#include "workloads/dataset.h"
#include "workloads/measure/runner.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

class MixedFieldsTest : public testing::Test {
 protected:
  MixedFieldsTest() {
    DatasetOptions options;
    options.rows = 300;
    options.value_size = 1000;
    options.fields = 10;
    dataset_ = std::make_shared<const Dataset>(options);
    RunPhase(engine_, *FindWorkload("insert").make(dataset_, {}), {});
  }
  // Runs that many operations of one kind by one client, and checks each.
  PhaseResult Work(const std::string& operation, uint64_t operations) {
    WorkloadOptions options;
    options.mix = {{operation, 1}};
    PhaseOptions phase;
    phase.operations = operations;
    phase.verify_every = 1;
    return RunPhase(engine_, *FindWorkload("mixed").make(dataset_, options), phase);
  }
  // Returns the number of fields that are not as they were loaded.
  uint64_t ChangedFields() {
    uint64_t changed = 0;
    char key[16], field[100];
    for (uint64_t row = 0; row < dataset_->rows(); ++row) {
      const std::string& value =
          engine_.table(engine_.OpenTable(kMainTable)).at(std::string(dataset_->Key(row, key)));
      EXPECT_TRUE(dataset_->Check(row, value));
      for (uint32_t f = 0; f < dataset_->fields(); ++f) {
        dataset_->Field(row, f, 0, field);
        changed += value.compare(f * sizeof field, sizeof field, field, sizeof field) != 0;
      }
    }
    return changed;
  }
  MapEngine engine_;
  std::shared_ptr<const Dataset> dataset_;
};

TEST_F(MixedFieldsTest, AnUpdateReadsTheRowAndWritesOneField) {
  EXPECT_EQ(ChangedFields(), 0u);
  for (const char* operation : {"update", "read-modify-write"}) {
    const uint64_t before = ChangedFields();
    const PhaseResult one = Work(operation, 1);
    EXPECT_EQ(one.wrong, 0u);
    EXPECT_EQ(one.totals.rows_read, 1u) << operation;
    EXPECT_EQ(one.totals.rows_written, 1u) << operation;
    EXPECT_EQ(one.totals.user_bytes_written, 16u + 1000u) << "the engine is given the whole row";
    EXPECT_LE(ChangedFields(), before + 1) << operation;
  }
  EXPECT_GE(ChangedFields(), 1u);
  const PhaseResult many = Work("update", 30000);
  EXPECT_EQ(many.wrong, 0u);
  EXPECT_EQ(many.verified, 30000u);
  EXPECT_GT(ChangedFields(), 2900u) << "ten updates a field reach nearly all of them";
}

TEST_F(MixedFieldsTest, AnUpdateOfAWrongRowIsSeen) {
  auto& table = engine_.table(engine_.OpenTable(kMainTable));
  for (auto& [key, value] : table) value.resize(900);  // rows of another size are not written
  const PhaseResult result = Work("update", 100);
  EXPECT_EQ(result.wrong, 100u);
  EXPECT_EQ(result.totals.rows_written, 0u);
}

// mixgraph and replays give rows such values.
TEST_F(MixedFieldsTest, AnUpdateLeavesARowOfAnotherSizeAsItIs) {
  auto& table = engine_.table(engine_.OpenTable(kMainTable));
  char key[16];
  for (uint64_t row = 0; row < dataset_->rows(); ++row) {
    std::string& value = table.at(std::string(dataset_->Key(row, key)));
    value.resize(900);
    dataset_->SizedValue(row, 1, value.size(), value.data());
  }
  const PhaseResult result = Work("update", 100);
  EXPECT_EQ(result.wrong, 0u) << result.first_wrong;
  EXPECT_EQ(result.totals.rows_written, 0u);
}

}  // namespace
}  // namespace testbed
