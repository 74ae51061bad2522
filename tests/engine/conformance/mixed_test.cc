// Tests workload mixed on every engine: the rows in the tables must be those that the clients say
// they inserted and did not erase, whatever phases came before.
#include <set>

#include "tests/engine/engine_test.h"
#include "tests/every_way.h"
#include "workloads/measure/runner.h"
#include "workloads/population.h"
#include "workloads/registry.h"
#include "workloads/workload.h"

namespace testbed {
namespace {

class MixedTest : public AnyIoModeTest {
 protected:
  void SetUp() override {
    AnyIoModeTest::SetUp();
    if (IsSkipped()) return;
    options_.durability = Durability::kNone;
    DatasetOptions rows;
    rows.rows = Rows();
    rows.value_size = 100;
    rows.indexes = 2;
    dataset_ = std::make_shared<const Dataset>(rows);
    workload_.population = population_ = std::make_shared<Population>(dataset_);
  }

  // Returns the rows of the load. The phases' shares of them are the same for each engine. Where
  // each row takes a statement, the daily run has half of them.
  uint64_t Rows() const { return RowsInOne() == 1 || EveryWay() ? 2000 : 1000; }

  PhaseResult Run(const std::string& name, int threads, uint64_t operations) {
    auto workload = FindWorkload(name).make(dataset_, workload_);
    ++workload_.seed;
    PhaseOptions phase;
    phase.threads = threads;
    phase.operations = operations;
    phase.verify_every = 1;
    const PhaseResult result = RunPhase(*engine_, *workload, phase);
    EXPECT_EQ(result.wrong, 0u) << result.first_wrong;
    return result;
  }

  std::multiset<std::string> Keys(const std::string& table) {
    const std::unique_ptr<Session> session = engine_->NewSession();
    const std::unique_ptr<Cursor> cursor = session->NewCursor(engine_->OpenTable(table));
    std::multiset<std::string> keys;
    for (bool on = cursor->First(); on; on = cursor->Next()) keys.emplace(cursor->key());
    return keys;
  }

  // Expects that the tables hold the rows of the population and their index entries, and nothing
  // else.
  void ExpectExactly(int64_t rows) {
    EXPECT_EQ(static_cast<int64_t>(population_->there().count()), rows);
    std::multiset<std::string> expected[3];
    std::string buffer(64, '\0');
    for (const RangeSet::Range& range : population_->there().Ranges()) {
      for (uint64_t place = range.begin; place < range.end; ++place) {
        const uint64_t row = population_->RowOf(place);
        expected[0].emplace(dataset_->Key(row, buffer.data()));
        expected[1].emplace(dataset_->IndexKey(0, row, buffer.data()));
        expected[2].emplace(dataset_->IndexKey(1, row, buffer.data()));
      }
    }
    EXPECT_TRUE(Keys(kMainTable) == expected[0]);
    EXPECT_TRUE(Keys(IndexTable(0)) == expected[1]);
    EXPECT_TRUE(Keys(IndexTable(1)) == expected[2]);
    Population counted(dataset_);
    counted.Count(*engine_);
    EXPECT_EQ(counted.there().Ranges(), population_->there().Ranges());
    if (rows == 0) return;
    counted.Count(*engine_, [] { return true; });
    EXPECT_FALSE(counted.known());
  }

  static int64_t Grown(const PhaseResult& result) {
    return static_cast<int64_t>(result.totals.rows_inserted) -
           static_cast<int64_t>(result.totals.rows_erased);
  }

  std::shared_ptr<const Dataset> dataset_;
  std::shared_ptr<Population> population_;
  WorkloadOptions workload_;
};

TEST_P(MixedTest, CountsItsRowsExactly) {
  Open();
  Run("insert", 2, 0);
  const uint64_t operations = Rows() * 3 / 5;
  int64_t rows = static_cast<int64_t>(Rows());
  // The phases are of all kinds, and have different numbers of clients.
  for (const auto& [mix, threads] : std::vector<std::pair<std::map<std::string, double>, int>>{
           {{{"point-read", 20}, {"update", 20}, {"insert", 30}, {"erase", 20}, {"scan", 10}}, 3},
           {{{"insert", 1}}, 2},
           {{{"erase", 90}, {"update", 10}}, 4},
           {{{"point-read", 50}, {"update", 50}}, 2},
           {{{"read-modify-write", 60}, {"insert", 20}, {"erase", 20}}, 3},
           {{{"insert", 50}, {"erase", 50}}, 1}}) {
    workload_.mix = mix;
    const PhaseResult result = Run("mixed", threads, operations);
    EXPECT_EQ(result.ended_because, "");
    EXPECT_EQ(result.operations(), operations);
    EXPECT_EQ(result.totals.not_found, 0u);
    for (const PhaseResult::Op& op : result.ops) {
      const std::string name = OpName(op.op);
      if (name != "insert" && name != "erase") continue;
      EXPECT_EQ(op.count,
                name == "insert" ? result.totals.rows_inserted : result.totals.rows_erased);
    }
    rows += Grown(result);
    ExpectExactly(rows);
  }
  const PhaseResult reads = Run("point-read", 2, 500);
  EXPECT_EQ(reads.totals.rows_read, 500u);

  workload_.mix = {{"erase", 1}};
  const PhaseResult last = Run("mixed", 3, 100000);
  EXPECT_EQ(last.ended_because, "no row is left to erase");
  EXPECT_EQ(static_cast<int64_t>(last.totals.rows_erased), rows);
  ExpectExactly(0);
  EXPECT_EQ(Run("point-read", 2, 500).ended_because, "no row is left to read");
}

TESTBED_FOR_EVERY_ENGINE(MixedTest);

}  // namespace
}  // namespace testbed
