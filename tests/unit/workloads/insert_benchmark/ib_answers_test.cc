// Tests that the checks of the insert benchmark's queries find wrong answers.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/workloads/lying_engine.h"
#include "workloads/measure/runner.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

using Lie = LyingEngine::Lie;

class IbAnswersTest : public testing::Test {
 protected:
  IbAnswersTest() {
    DatasetOptions data;
    data.rows = 2000;
    dataset_ = std::make_shared<const Dataset>(data);
    options_.extra = {{"data_min", "20"}, {"data_max", "20"}};  // no value may be longer
    for (const char* step : {"ib.i0", "ib.x"}) {
      const std::unique_ptr<Workload> load = FindWorkload(step).make(dataset_, options_);
      RunPhase(engine_, *load, {.verify_every = 0});
    }
    Query("ib.qr100");
  }
  // Makes the querier of the step.
  void Query(const std::string& step) {
    querier_.reset();
    step_ = FindWorkload(step).make(dataset_, options_);
    step_->OpenClientTables(engine_, 1);
    session_ = engine_.NewSession();
    querier_ = step_->NewClient(*session_, 1, 2);
  }
  LyingEngine::Table& TableOf(const std::string& name) {
    return engine_.table(engine_.OpenTable(name));
  }
  // Returns how many of 160 queries are found wrong while the engine lies.
  int Wrong(Lie lie) {
    constexpr size_t kQueries = 16;
    int wrong = 0;
    for (int batch = 0; batch < 10; ++batch) {
      EXPECT_EQ(querier_->Generate(kQueries), kQueries);
      engine_.lie = lie;
      querier_->set_to_verify(true);
      for (size_t i = 0; i < kQueries; ++i) {
        querier_->Execute(i);
        wrong += !querier_->Verify(i);
      }
      engine_.lie = Lie::kNone;
    }
    return wrong;
  }

  LyingEngine engine_;
  std::shared_ptr<const Dataset> dataset_;
  WorkloadOptions options_;
  std::unique_ptr<Workload> step_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Client> querier_;
};

// A query from near the end of an index on may find few entries, or none.
TEST_F(IbAnswersTest, ARangeThatEndsBeforeItsIndexIsWrong) {
  EXPECT_EQ(Wrong(Lie::kNone), 0);
  EXPECT_GT(Wrong(Lie::kEmptyCursor), 130);
  EXPECT_GT(Wrong(Lie::kShortWalk), 130);
  EXPECT_EQ(Wrong(Lie::kNone), 0);
}

// Once, a cursor that stayed where it was gave a right answer.
TEST_F(IbAnswersTest, AnEntryThatComesTwiceIsWrong) {
  EXPECT_GT(Wrong(Lie::kStuckCursor), 130);
  EXPECT_EQ(Wrong(Lie::kNone), 0);
}

// Once, each query copied its rows, in its latency and whatever --consume said, for a check of
// one in 64.
TEST_F(IbAnswersTest, OnlyAQueryThatIsCheckedKeepsItsRows) {
  for (const char* step : {"ib.qr100", "ib.qp100"}) {
    Query(step);
    ASSERT_EQ(querier_->Generate(2), 2u);
    querier_->set_to_verify(true);
    querier_->Execute(0);
    EXPECT_TRUE(querier_->Verify(0)) << step;
    EXPECT_TRUE(querier_->Kept()) << step << " is in the latencies, though it took longer";
    querier_->set_to_verify(false);
    querier_->Execute(1);
    EXPECT_TRUE(querier_->Verify(0)) << step << " copied the rows of its second query";
  }
}

// Once, bytes behind the greatest length were cut off before they were compared.
TEST_F(IbAnswersTest, BytesBehindARowOrAnEntryAreWrong) {
  LyingEngine::Table longer;
  for (const auto& [key, value] : TableOf("pi1_pdc")) longer[key + '!'] = value;
  TableOf("pi1_pdc") = longer;
  EXPECT_GT(Wrong(Lie::kNone), 30) << "a third of the queries ask the index";
  Query("ib.qp100");
  EXPECT_EQ(Wrong(Lie::kNone), 0);
  for (auto& [key, value] : TableOf("pi1")) value += '!';
  EXPECT_EQ(Wrong(Lie::kNone), 160);
}

}  // namespace
}  // namespace testbed
