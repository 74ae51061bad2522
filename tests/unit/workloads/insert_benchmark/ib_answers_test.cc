// Tests that the checks of the insert benchmark's queries find wrong answers.
#include <gtest/gtest.h>

#include <memory>

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
    const auto dataset = std::make_shared<const Dataset>(data);
    for (const char* step : {"ib.i0", "ib.x"}) {
      const std::unique_ptr<Workload> load = FindWorkload(step).make(dataset, {});
      RunPhase(engine_, *load, {.verify_every = 0});
    }
    step_ = FindWorkload("ib.qr100").make(dataset, {});
    step_->OpenClientTables(engine_, 1);
    session_ = engine_.NewSession();
    querier_ = step_->NewClient(*session_, 1, 2);
  }
  // Returns how many of 160 queries are found wrong while the engine lies.
  int Wrong(Lie lie) {
    constexpr size_t kQueries = 16;
    int wrong = 0;
    for (int batch = 0; batch < 10; ++batch) {
      EXPECT_EQ(querier_->Generate(kQueries), kQueries);
      engine_.lie = lie;
      for (size_t i = 0; i < kQueries; ++i) {
        querier_->Execute(i);
        wrong += !querier_->Verify(i);
      }
      engine_.lie = Lie::kNone;
    }
    return wrong;
  }

  LyingEngine engine_;
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

}  // namespace
}  // namespace testbed
