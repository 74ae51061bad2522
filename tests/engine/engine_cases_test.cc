// Tests which cases of the conformance suite are of each run and which of the nightly run alone.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

std::string NameOf(const EngineCase& c) {
  return EngineCaseName(testing::TestParamInfo<EngineCase>(c, 0));
}

bool IsForAll(const EngineCase&) { return true; }

TEST(EngineCasesTest, EachIsOfOneRunAndEachRunHasEachEngine) {
  std::set<std::string> all, engines;
  for (const EngineCase& c : EngineCases()) {
    all.insert(NameOf(c));
    engines.insert(c.engine);
  }
  for (const CaseChoice& choice :
       {EngineTest::kChoice, AnyIoModeTest::kChoice, CaseChoice{.library_modes = true},
        CaseChoice{.variants = true}}) {
    std::set<std::string> found, of_each_run;
    for (const TestRun run : {TestRun::kEach, TestRun::kNightlyOnly}) {
      for (const EngineCase& c : CasesOf("ATest", choice, IsForAll, run)) {
        EXPECT_TRUE(found.insert(NameOf(c)).second) << NameOf(c) << " is of both";
        if (run == TestRun::kEach) of_each_run.insert(c.engine);
      }
    }
    EXPECT_EQ(found, all);
    EXPECT_EQ(of_each_run, engines);
  }
}

TEST(EngineCasesTest, OurOwnEnginesHaveEachModeWhereItMatters) {
  std::set<std::string> names;
  for (const EngineCase& c : CasesOf("ATest", EngineTest::kChoice, IsForAll, TestRun::kEach)) {
    names.insert(NameOf(c));
  }
  for (const EngineCase& c : EngineCases()) {
    if (FindEngine(c.engine).check) {
      EXPECT_TRUE(names.contains(NameOf(c))) << NameOf(c);
    }
  }
}

// One suite after the other has another mode, so that no mode is without tests of sessions.
TEST(EngineCasesTest, EachModeHasAShareOfTheSuites) {
  const auto all = [](const EngineCase& c) { return c.variant.empty() && c.compression == "none"; };
  std::set<std::string> found, wanted;
  for (const EngineCase& c : EngineCases()) {
    if (all(c)) wanted.insert(NameOf(c));
  }
  for (int suite = 0; suite < 64; ++suite) {
    for (const EngineCase& c :
         CasesOf("A" + std::to_string(suite) + "Test", CaseChoice{}, all, TestRun::kEach)) {
      found.insert(NameOf(c));
    }
  }
  EXPECT_EQ(found, wanted);
}

// A check that is of the nightly run alone would be missed only there.
TEST(EngineCasesTest, NoSuiteIsOfTheNightlyRunAlone) {
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  std::set<std::string> nightly, each;
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    const std::string name = tests.GetTestSuite(i)->name();
    const size_t slash = name.find('/');
    if (slash == std::string::npos) continue;
    (name.substr(0, slash) == "EveryWay" ? nightly : each).insert(name.substr(slash + 1));
  }
  EXPECT_FALSE(nightly.empty());
  for (const std::string& suite : nightly) EXPECT_TRUE(each.contains(suite)) << suite;
}

}  // namespace
}  // namespace testbed
