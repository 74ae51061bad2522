// Tests the list of --workload: names, numbers of times, files of traces, and the lengths and rates
// of phases.
#include "tools/trace/workload_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/error.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunOptions Listed(const std::string& text) {
  RunOptions options;
  SetWorkloads("--workload", text, &options);
  return options;
}

std::string WhyNot(const std::string& text) {
  try {
    (void)Listed(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    return e.what();
  }
  return "";
}

TEST(WorkloadListTest, PhasesHaveLengthsAndRatesOfTheirOwn) {
  const RunOptions o = Listed("ycsb-load, ycsb-a 60s, ycsb-c 2min@5k , ycsb-b:2 @ 0.5, settle");
  EXPECT_THAT(o.workloads,
              ElementsAre("ycsb-load", "ycsb-a", "ycsb-c", "ycsb-b", "ycsb-b", "settle"));
  EXPECT_THAT(o.phase_seconds, ElementsAre(60, 120, 0, 0, 0)) << "of those that do not load";
  EXPECT_THAT(o.phase_rates, ElementsAre(0, 5000, 0.5, 0.5, 0));
  EXPECT_TRUE(o.at_once);
  EXPECT_EQ(o.OwnSeconds(1), 120);
  EXPECT_EQ(o.OwnRate(9), 0);
}

TEST(WorkloadListTest, RatesOfPhasesMayChange) {
  const RunOptions o =
      Listed("insert, ycsb-a 60s @ 1k..8k, ycsb-c @ 1k^8k 1s/10s, ycsb-b:2 @ 0~8k/30s, ycsb-a");
  EXPECT_THAT(o.phase_curves,
              ElementsAre("1000..8000", "1000^8000 1s/10s", "0~8000/30s", "0~8000/30s", ""));
  EXPECT_THAT(o.phase_rates, ElementsAre(4500, 1700, 4000, 4000, 0)) << "their means";
  EXPECT_TRUE(o.at_once);
  EXPECT_EQ(o.OwnCurve(0), "1000..8000");
  EXPECT_EQ(o.OwnCurve(9), "");
  EXPECT_THAT(Listed("insert,ycsb-a @ 5").phase_curves, IsEmpty());
}

TEST(WorkloadListTest, PhasesMayHaveOtherPopularRows) {
  const RunOptions o = Listed("insert, ycsb-c 60s ~1, ycsb-c 1s ~2, ycsb-c:2 ~3 @ 1k~2k/1min");
  EXPECT_THAT(o.phase_popular, ElementsAre(1, 2, 3, 3));
  EXPECT_EQ(o.OwnPopular(1), 2u);
  EXPECT_EQ(o.OwnPopular(9), 1u);
  EXPECT_TRUE(Listed("insert,ycsb-c,ycsb-c ~2").at_once);
  EXPECT_FALSE(Listed("insert,ycsb-c ~1,ycsb-c").at_once);
  EXPECT_THAT(Listed("insert,ycsb-c ~1").phase_popular, IsEmpty());
}

TEST(WorkloadListTest, WithoutAnyTheListIsAsItWas) {
  const RunOptions o = Listed("insert,point-read:3,replay:my run.trace");
  EXPECT_THAT(o.workloads,
              ElementsAre("insert", "point-read", "point-read", "point-read", "replay"));
  EXPECT_EQ(o.workload.extra.at("trace"), "my run.trace");
  EXPECT_THAT(o.phase_seconds, IsEmpty());
  EXPECT_THAT(o.phase_rates, IsEmpty());
  EXPECT_FALSE(o.at_once);
  EXPECT_TRUE(Listed("insert,ycsb-a,settle").at_once);
  EXPECT_EQ(Listed("replay:a @ 3").workload.extra.at("trace"), "a @ 3");
}

TEST(WorkloadListTest, AListMayStandOnSeveralLines) {
  const RunOptions o = Listed(
      "insert,\n\tycsb-a\t60s\n~2\t@\t5000 \r\n,\n  ycsb-b:2\n,point-read\n, replay:my "
      "run.trace\n");
  EXPECT_THAT(o.workloads,
              ElementsAre("insert", "ycsb-a", "ycsb-b", "ycsb-b", "point-read", "replay"));
  EXPECT_THAT(o.phase_seconds, ElementsAre(60, 0, 0, 0, 0));
  EXPECT_THAT(o.phase_rates, ElementsAre(5000, 0, 0, 0, 0));
  EXPECT_THAT(o.phase_popular, ElementsAre(2, 1, 1, 1, 1));
  EXPECT_EQ(o.workload.extra.at("trace"), "my run.trace");
  EXPECT_NE(WhyNot("insert,\n,point-read"), "") << "an entry of blanks alone";
  for (const char* entry : {"ycsb-a", " ycsb-a 60s", "\n\tycsb-a\t@ 5", "ycsb-a:2", "ycsb-a@5\n"}) {
    EXPECT_EQ(WorkloadNameOf(entry), "ycsb-a") << entry;
  }
  EXPECT_EQ(WorkloadNameOf(" \n"), "");
}

TEST(WorkloadListTest, ItsTextIsReadAsTheSame) {
  for (const char* text :
       {"insert,ycsb-a 60s,ycsb-c 0.25s @ 5000,settle", "insert,point-read", "ycsb-a @ 0.5",
        "ycsb-a 60s ~2 @ 1000..8000", "ycsb-a ~1000,ycsb-a @ 0^8000000 0.001s/2.5s",
        "insert,ycsb-a @ 0.001~0/30s"}) {
    EXPECT_EQ(WorkloadText(Listed(text)), text);
    EXPECT_EQ(Listed(text).phase_curves, Listed(WorkloadText(Listed(text))).phase_curves);
  }
  EXPECT_EQ(WorkloadText(Listed("ycsb-a @ 1k^0.5M 10ms/1min")), "ycsb-a @ 1000^500000 0.01s/60s");
  EXPECT_EQ(WorkloadText(Listed("ycsb-a:2 100ms")), "ycsb-a 0.1s,ycsb-a 0.1s");
}

TEST(WorkloadListTest, WhatIsNoEntryIsRefusedInOneSentence) {
  for (const char* text : {"ycsb-a 60",
                           "ycsb-a s",
                           "ycsb-a 0s",
                           "ycsb-a -3s",
                           "ycsb-a 60s 5s",
                           "ycsb-a 60s @",
                           "ycsb-a @ 0",
                           "ycsb-a @ -1",
                           "ycsb-a @ 5k5",
                           "ycsb-a @ 1e300",
                           "ycsb-a 60 s",
                           "ycsb-a nans",
                           "ycsb-a 60s @ 5 @ 6",
                           "ycsb-a @ 1k..",
                           "ycsb-a @ ..1k",
                           "ycsb-a @ 0..0",
                           "ycsb-a @ 1k..8k/3s",
                           "ycsb-a @ 1k .. 8k",
                           "ycsb-a @ -1..8",
                           "ycsb-a @ 1k..2k..3k",
                           "ycsb-a @ 1k^8k",
                           "ycsb-a @ 1k^8k 1s",
                           "ycsb-a @ 1k^8k 10s/1s",
                           "ycsb-a @ 1k^8k 1s/1s",
                           "ycsb-a @ 1k^8k 0s/1s",
                           "ycsb-a @ 1k^8k/1s",
                           "ycsb-a @ 0^0 1s/2s",
                           "ycsb-a @ 1k~8k",
                           "ycsb-a @ 1k~8k/0s",
                           "ycsb-a @ 1k~8k/30",
                           "ycsb-a @ 0~0/3s",
                           "ycsb-a @ 1k~8k 1s/3s",
                           "ycsb-a ~",
                           "ycsb-a ~0",
                           "ycsb-a ~1001",
                           "ycsb-a ~1.5",
                           "ycsb-a ~ 60s",
                           "ycsb-a ~2 60s",
                           "ycsb-a @ 5 ~2",
                           "ycsb-a ~2 ~3"}) {
    EXPECT_THAT(WhyNot(text), HasSubstr("'ycsb-a 60s @ 5000'")) << text;
  }
  EXPECT_THAT(WhyNot("ycsb-a:0 60s"), HasSubstr("NAME:NUMBER"));
  EXPECT_THAT(WhyNot("ycsb-a,"), HasSubstr("is not known"));
  EXPECT_THAT(WhyNot("insert 60s"), HasSubstr("gives insert a length or a rate of its own, and it "
                                              "loads"));
  EXPECT_THAT(WhyNot("insert ~2"), HasSubstr("gives insert popular rows of its own, and it loads"));
  EXPECT_THAT(WhyNot("insert @ 1..5"), HasSubstr("gives insert a length or a rate of its own"));
  EXPECT_THAT(WhyNot("settle 5s"), HasSubstr("ends when the engine is at rest"));
  EXPECT_THAT(WhyNot("replay:a,replay:b"), HasSubstr("two traces"));
}

}  // namespace
}  // namespace testbed
