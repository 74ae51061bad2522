#include "device/account/grade.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "device/account/counts.h"
#include "device/account/thread_kinds.h"
#include "tests/paths.h"
#include "tools/inspect/doctor.h"

namespace testbed {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Returns the table of grades in docs/accounting.md, keyed by "<kernel> <own device>".
std::map<std::string, std::string> TableOfTheDocs() {
  std::ifstream in(SourceDir() + "/docs/accounting.md");
  std::map<std::string, std::string> table;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) inside = line == "## Grades";
    if (!inside || !line.starts_with("| ") || line.starts_with("| requests")) continue;
    std::istringstream cells(line.substr(1));
    std::string kernel, own, grade;
    std::string bar;
    cells >> kernel >> bar >> own >> bar >> grade;
    table[kernel + " " + own] = grade;
  }
  return table;
}

TEST(GradeTest, RunsDoctorAndDocsAgreeInEveryCombination) {
  const std::map<std::string, std::string> docs = TableOfTheDocs();
  ASSERT_THAT(docs, SizeIs(4));
  for (const bool root : {false, true}) {
    for (const bool tracepoint : {false, true}) {
      for (const bool scratch : {false, true}) {
        for (const bool run_on_scratch : {false, true}) {
          // Only root can use the tracepoint or make a scratch device.
          const bool kernel = root && tracepoint, can_scratch = root && scratch;
          const bool own = can_scratch && run_on_scratch;
          const std::string run(1, DecideGrade({kernel, own, {}, {}}).letter);
          EXPECT_EQ(docs.at(std::string(kernel ? "yes " : "no ") + (own ? "yes" : "no")), run);
          // The doctor reports the best grade that a run can get on the machine.
          const std::string best(1, DecideGrade({kernel, can_scratch, {}, {}}).letter);
          const Check check =
              CheckAccount(kernel ? "" : "no tracepoint", can_scratch ? "" : "no loop device");
          EXPECT_THAT(check.found, HasSubstr("grade " + best + ":"));
        }
      }
    }
  }
}

TEST(GradeTest, APhaseThatDoesNotCloseIsNotAAndSaysWhy) {
  const InForce all{true, true, {}, {}};
  const Closure exact;
  EXPECT_EQ(DecideGrade(all, &exact).letter, 'A');
  EXPECT_THAT(DecideGrade(all, &exact).reasons, IsEmpty());
  for (int64_t Closure::*figure :
       {&Closure::reads, &Closure::read_bytes, &Closure::writes, &Closure::write_bytes}) {
    Closure off;
    off.*figure = -17;
    const Grade grade = DecideGrade(all, &off);
    EXPECT_EQ(grade.letter, 'B');
    ASSERT_THAT(grade.reasons, SizeIs(1));
    EXPECT_THAT(grade.reasons[0], HasSubstr("-17"));
  }
  // On a shared device a phase that does not close keeps grade B, and gets a second reason.
  Closure off;
  off.writes = 3;
  EXPECT_EQ(DecideGrade({true, false, {}, {}}, &off).letter, 'B');
  EXPECT_THAT(DecideGrade({true, false, {}, {}}, &off).reasons, SizeIs(2));
  EXPECT_EQ(DecideGrade({false, true, {}, {}}, &off).letter, 'B');
  EXPECT_THAT(DecideGrade({false, true, {}, {}}, &off).reasons, SizeIs(1));
  Closure restless;
  restless.at_rest = false;
  EXPECT_EQ(DecideGrade(all, &restless).letter, 'B');
  EXPECT_THAT(DecideGrade(all, &restless).reasons[0], HasSubstr("rest"));
  // The figures of the device alone, which are exact at rest, are the phase's no more.
  const Grade uncounted = DecideGrade({false, true, {}, {}}, &restless);
  EXPECT_EQ(uncounted.letter, 'B');
  ASSERT_THAT(uncounted.reasons, SizeIs(2));
  EXPECT_THAT(uncounted.reasons[1], HasSubstr("rest"));
  EXPECT_THAT(DecideGrade({false, false, {}, {}}, &restless).reasons, SizeIs(2));
}

TEST(GradeTest, WhatIsNotCoveredIsC) {
  const Grade grade = DecideGrade({true, true, {}, {"the file system lies on 2 disks"}});
  EXPECT_EQ(grade.letter, 'C');
  EXPECT_THAT(grade.reasons, testing::ElementsAre("the file system lies on 2 disks"));
}

// md and device mapper are one device on several disks (block_device_test.cc).
TEST(GradeTest, AFileSystemOnSeveralDisksIsNamedWithItsDisks) {
  EXPECT_EQ(WhyNotCovered("sda", {"sda"}, {"sda"}, true), "");
  EXPECT_EQ(WhyNotCovered("md0", {"md0"}, {"sda", "sdb"}, true),
            "the file system lies on 2 disks (sda, sdb), and requests are counted on md0 alone");
  EXPECT_THAT(WhyNotCovered("md0", {"md0"}, {"sda", "sdb"}, false), HasSubstr("on 2 disks"));
  EXPECT_THAT(WhyNotCovered("sda", {"sda"}, {"sda"}, false),
              HasSubstr("on sda cannot be assigned"));
}

TEST(GradeTest, AFileSystemOfSeveralDevicesIsCountedOnAll) {
  const std::string why = WhyNotCovered("sda", {"sda", "sdb"}, {"sda", "sdb"}, false);
  EXPECT_THAT(why, HasSubstr("to 2 devices (sda, sdb), whose statistics are added up"));
}

TEST(GradeTest, ADeviceOfItsOwnThatWasNotReadIsNamedSo) {
  const Grade grade = DecideGrade({true, true, {}, {}, false});
  EXPECT_EQ(grade.letter, 'B');
  EXPECT_THAT(grade.reasons, testing::ElementsAre("the device's own statistics were not read"));
  EXPECT_EQ(DecideGrade({false, true, {}, {}, false}).letter, 'C');
}

TEST(GradeTest, TheDoctorPromisesNoMoreThanADirectoryWithoutADeviceGives) {
  // A file system on several disks is no hindrance where a scratch device can be made.
  EXPECT_THAT(CheckAccount("", "", "it lies on 2 disks").found, HasSubstr("grade A:"));
  const Check several = CheckAccount("", "no loop device", "it lies on 2 disks");
  EXPECT_EQ(several.found, "grade C: it lies on 2 disks; no loop device");
  EXPECT_THAT(CheckAccount(kNoBlockDevice, "no loop device").found, HasSubstr("grade C:"));
}

TEST(GradeTest, WhatIsNotChargedWeighsAsMuchAsWhatIsNotCounted) {
  EXPECT_EQ(DecideGrade({true, true, {"some reads are nobody's"}, {}}).letter, 'B');
  EXPECT_THAT(DecideGrade({true, true, {"some reads are nobody's"}, {}}).reasons,
              testing::ElementsAre("some reads are nobody's"));
  EXPECT_EQ(DecideGrade({true, false, {"some reads are nobody's"}, {}}).letter, 'C');
}

// Once, such reads counted as reads of other programs, and the grade was A.
TEST(GradeTest, ReadsThatWorkersOfIoUringIssuedAreChargedToNoOperation) {
  RegisterThreads(kRingWorkers, FileKind::kData);
  LedgerCounts counts;
  counts.foreign.push_back({kRingWorkers, FileKind::kData, {.writes = 1, .flushes = 1}});
  counts.foreign.push_back({"kworker", FileKind::kData, {.reads = 1, .read_bytes = 4096}});
  EXPECT_EQ(WhyNotCharged(counts), "");
  counts.foreign.push_back({kRingWorkers, FileKind::kData, {.reads = 1, .read_bytes = 4096}});
  EXPECT_THAT(WhyNotCharged(counts), HasSubstr("charged to no operation"));
}

TEST(GradeTest, ARunHasTheWorstOfItsPhases) {
  Grade worst{'A', {}};
  KeepWorse({'B', {"first"}}, &worst);
  KeepWorse({'A', {}}, &worst);
  KeepWorse({'B', {"first"}}, &worst);
  KeepWorse({'B', {"second"}}, &worst);
  EXPECT_EQ(worst.letter, 'B');
  EXPECT_THAT(worst.reasons, testing::ElementsAre("first", "second"));
  KeepWorse({'C', {"third"}}, &worst);
  EXPECT_EQ(worst.letter, 'C');
  EXPECT_THAT(worst.reasons, testing::ElementsAre("third"));
}

}  // namespace
}  // namespace testbed
