// Tests how LinkBench's requesters read links and lists, and that their checks find wrong answers.
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>

#include "device/os/signal_guard.h"
#include "tests/unit/workloads/lying_engine.h"
#include "workloads/linkbench/access.h"
#include "workloads/measure/runner.h"
#include "workloads/registry.h"

namespace testbed::linkbench {
namespace {

using Lie = LyingEngine::Lie;

class LinkbenchAnswersTest : public testing::Test {
 protected:
  LinkbenchAnswersTest() {
    DatasetOptions data;
    data.rows = 300;
    const auto dataset = std::make_shared<const Dataset>(data);
    WorkloadOptions options;
    options.extra = {{"check", "off"}};
    const std::unique_ptr<Workload> load = FindWorkload("linkbench-load").make(dataset, options);
    RunPhase(engine_, *load, {.verify_every = 0});
    workload_ = FindWorkload("linkbench").make(dataset, options);
    workload_->OpenTables(engine_);
    session_ = engine_.NewSession();
    client_ = workload_->NewClient(*session_, 0, 1);
  }
  // Performs and checks operations until `count` of kind `op` are done. The engine lies in
  // operations of kind `op` alone. Returns how many of these were found wrong; with Lie::kNone, how
  // many of all operations were.
  int Wrong(Op op, Lie lie, int count) {
    int wrong = 0;
    for (int done = 0; done < count;) {
      const size_t n = client_->Generate(32);
      for (size_t i = 0; i < n; ++i) {
        const bool asked = client_->OpOf(i) == op;
        engine_.lie = asked ? lie : Lie::kNone;
        client_->set_to_verify(true);
        client_->Execute(i);
        wrong += !client_->Verify(i) && (asked || lie == Lie::kNone);
        done += asked;
      }
    }
    engine_.lie = Lie::kNone;
    return wrong;
  }

  LyingEngine engine_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Client> client_;
};

TEST_F(LinkbenchAnswersTest, RightAnswersAreFoundRight) {
  for (const Op op : {kGetLink, kGetLinkList, kCountLink}) EXPECT_EQ(Wrong(op, Lie::kNone, 100), 0);
}

TEST_F(LinkbenchAnswersTest, ARequestToStopEndsTheCheckOfTheDatabase) {
  DatasetOptions data;
  data.rows = 300;
  const std::unique_ptr<Workload> workload =
      FindWorkload("linkbench").make(std::make_shared<const Dataset>(data), {});
  workload->OpenTables(engine_);
  engine_.steps = 0;
  EXPECT_EQ(workload->CheckDatabase(engine_), "");
  EXPECT_TRUE(workload->Details().contains("check"));
  EXPECT_GT(engine_.steps, 600u);
  const SignalGuard signals;
  ::raise(SIGINT);
  engine_.steps = 0;
  EXPECT_EQ(workload->CheckDatabase(engine_), "");
  EXPECT_FALSE(workload->Details().contains("check"));
  EXPECT_EQ(engine_.steps, 0u);
}

TEST_F(LinkbenchAnswersTest, ACheckAfterOtherPhasesIsNoPhaseOfItsOwn) {
  DatasetOptions data;
  data.rows = 300;
  const auto dataset = std::make_shared<const Dataset>(data);
  const std::unique_ptr<Workload> next = FindWorkload("linkbench").make(dataset, {});
  workload_->OpenForCheck(engine_, 1);
  next->OpenTables(engine_);
  EXPECT_EQ(next->Details()["phase"], 2) << "after that of the fixture";
  next->OpenForCheck(engine_, 1);
  EXPECT_EQ(next->CheckDatabase(engine_), "");
}

// In linkbench-load,linkbench-index,linkbench-check the check of the index comes last.
TEST(LinkbenchIndexCheckTest, TheIndexIsCheckedWhenItIsThere) {
  DatasetOptions data;
  data.rows = 300;
  const auto dataset = std::make_shared<const Dataset>(data);
  WorkloadOptions options;
  options.extra = {{"covering_index", "after"}};
  LyingEngine engine;
  const std::unique_ptr<Workload> load = FindWorkload("linkbench-load").make(dataset, options),
                                  index = FindWorkload("linkbench-index").make(dataset, options);
  RunPhase(engine, *load, {.verify_every = 0});
  RunPhase(engine, *index, {.verify_every = 0});
  EXPECT_NO_THROW(index->OpenForCheck(engine, 1));
  EXPECT_EQ(index->CheckDatabase(engine), "");
  // A later phase that has no check, such as the replay of a trace, may have written rows.
  RunPhase(engine, *FindWorkload("linkbench").make(dataset, options), {.operations = 300});
  index->OpenForCheck(engine, 1);
  EXPECT_EQ(index->CheckDatabase(engine), "");
}

TEST_F(LinkbenchAnswersTest, WrongListsAreCounted) {
  for (const Lie lie : {Lie::kWrongValue, Lie::kEmptyCursor}) {
    EXPECT_GT(Wrong(kGetLinkList, lie, 100), 40) << static_cast<int>(lie);
  }
  for (const Lie lie : {Lie::kWrongFirst, Lie::kShortWalk, Lie::kLeftOut}) {
    EXPECT_GT(Wrong(kGetLinkList, lie, 100), 5) << static_cast<int>(lie);
  }
}

TEST_F(LinkbenchAnswersTest, WrongLinksAndMissingOnesAreCounted) {
  EXPECT_GT(Wrong(kGetLink, Lie::kWrongValue, 100), 40);
  EXPECT_GT(Wrong(kGetLink, Lie::kNotFound, 100), 40);
  EXPECT_GT(Wrong(kCountLink, Lie::kNotFound, 100), 40);
}

TEST_F(LinkbenchAnswersTest, WrongNodesAreCounted) {
  EXPECT_EQ(Wrong(kGetNode, Lie::kNone, 100), 0);
  EXPECT_GT(Wrong(kGetNode, Lie::kWrongValue, 100), 60);
}

// One requester alone finds what it has just written.
TEST_F(LinkbenchAnswersTest, WritesThatTheEngineLosesAreCounted) {
  for (const Op op : {kDeleteLink, kUpdateNode}) EXPECT_EQ(Wrong(op, Lie::kNone, 20), 0);
  for (const Op op : {kDeleteLink, kUpdateNode}) {
    EXPECT_GT(Wrong(op, Lie::kLostPut, 20), 10) << kOpNames[op];
  }
}

TEST_F(LinkbenchAnswersTest, NodesAndLinksThatTheEngineLosesAreCounted) {
  constexpr Op kPuts[] = {kAddNode, kAddLink, kUpdateLink};
  for (const Op op : kPuts) EXPECT_EQ(Wrong(op, Lie::kNone, 20), 0) << kOpNames[op];
  EXPECT_GT(Wrong(kDeleteNode, Lie::kLostErase, 5), 2);
  for (const Op op : kPuts) EXPECT_GT(Wrong(op, Lie::kLostPut, 20), 10) << kOpNames[op];
}

TEST_F(LinkbenchAnswersTest, TheLinksOfAGetlinkAreAskedForByOneCall) {
  engine_.takes = 0;
  uint64_t asked = 0;
  for (int batch = 0; batch < 20; ++batch) {
    const size_t n = client_->Generate(32);
    for (size_t i = 0; i < n; ++i) {
      asked += client_->OpOf(i) == kGetLink;
      client_->Execute(i);
    }
  }
  EXPECT_GT(asked, 20u);
  EXPECT_EQ(engine_.takes, asked);
}

}  // namespace
}  // namespace testbed::linkbench
