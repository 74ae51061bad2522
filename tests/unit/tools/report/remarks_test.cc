// Tests the lines under the tables that say what a figure is made of.
#include "tools/report/remarks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/tools/results/small_document.h"
#include "tools/report/compare.h"
#include "tools/report/figures.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Returns the lines on a run through a mapping, whose load and whose 100 point reads each caused
// these reads of the device. The database has 1 MiB.
std::string LinesOf(double reads, double read_bytes, const std::string& advice = "normal") {
  json document = SmallDocument();
  document["options"].update({{"io", "mmap"}, {"mmap_advice", advice}});
  document["options"].update({{"key_size", 16}, {"value_size", 400}});
  for (json& phase : document["runs"][0]["phases"]) {
    phase["account"]["device"] = {{"reads", reads}, {"read_bytes", read_bytes}};
    phase["database_bytes"] = 1 << 20;
    if (phase["kind"] == "measure") phase["operations"].erase(1);
  }
  return ReadaheadLines(document);
}

TEST(ReadaheadLinesTest, TellPointReadsThatReadFarMoreThanAPage) {
  const std::string lines = LinesOf(100, 100 * 90e3);
  EXPECT_THAT(lines, HasSubstr("mixed, 8 thr: the device read 87.9k for an operation, as"));
  EXPECT_THAT(lines, HasSubstr("--mmap-advice random"));
  EXPECT_EQ(LinesOf(100, 100 * 8192), "");
  EXPECT_EQ(LinesOf(100, 100 * 90e3, "random"), "");
}

// A load by random keys took minutes where its data would have been written in seconds.
TEST(ReadaheadLinesTest, TellALoadThatReadMoreThanItsDatabase) {
  EXPECT_THAT(LinesOf(100, 100 * 90e3), HasSubstr("insert, 8 thr: the device read 8.6M, 94.5k at "
                                                  "once, as the kernel reads ahead"));
  EXPECT_THAT(LinesOf(10, 10 * 90e3), Not(HasSubstr("insert")))
      << "as a load in the order of the keys may";
  EXPECT_THAT(LinesOf(1000, 1000 * 9000), Not(HasSubstr("insert"))) << "pages of 8 KiB";
}

TEST(ChecksLineTest, TellsOfPhasesThatCheckMoreThanASample) {
  json document = SmallDocument();
  json& phase = document["runs"][0]["phases"][2];
  EXPECT_EQ(ChecksLine(document), "");
  phase["verified"] = 2;
  EXPECT_EQ(ChecksLine(document), "") << "of 100 operations";
  phase["verified"] = 100;
  const std::string line =
      "the work of checks (--verify) is in ops/s and cpu us/op: mixed, 8 thr with 100 checks\n";
  EXPECT_EQ(ChecksLine(document), line);
  phase["account"]["engine"] = {{"block_requests", 700}};
  EXPECT_THAT(ChecksLine(document), HasSubstr("in engine asks, as the engine does not count"));
  phase["account"]["engine"] = {{"block_reads", 700}};
  EXPECT_THAT(ChecksLine(document), HasSubstr("in engine misses, as the engine does not count"));
  phase["account"]["engine"] = {{"block_requests", 0}, {"block_hits", 0}, {"block_reads", 700}};
  EXPECT_EQ(ChecksLine(document), line) << "nothing was asked of the cache";
  phase["account"]["engine"] = {{"block_requests", 700}};
  phase["account"]["checks"] = {{"count", 100}};
  EXPECT_EQ(ChecksLine(document), line) << "they are left out";
}

// A comparison said nothing of a phase that had run out of rows after a tenth of its time.
TEST(EndedEarlyLineTest, TellsOfPhasesThatEndedBeforeTheyWereToldTo) {
  json document = SmallDocument();
  json& phases = document["runs"][0]["phases"];
  EXPECT_EQ(EndedEarlyLine(document), "");
  phases[2]["ended_because"] = "no row is left to erase";
  const std::string line =
      "! 1 phase ended early, so figures are of less work than was asked for: in mixed, no row is "
      "left to erase\n";
  EXPECT_EQ(EndedEarlyLine(document), line);
  EXPECT_THAT(DisturbancesOf(document), testing::Contains(line)) << "of a comparison";
  phases.push_back(phases[2]);
  EXPECT_THAT(EndedEarlyLine(document), HasSubstr("! 2 phases ended early"));
  phases.erase(3);
  phases[2]["kind"] = "tune";
  EXPECT_EQ(EndedEarlyLine(document), "") << "the trial of a cache";
}

TEST(LogPartsLineTest, TellsOfPartsThatTheEngineDoesNotCount) {
  json document = SmallDocument();
  json& account = document["runs"][0]["phases"][0]["account"];
  EXPECT_EQ(LogPartsLine(document), "");
  account["log"] = {{"bytes", 700}};
  EXPECT_EQ(LogPartsLine(document), "") << "the records are not counted either";
  account["engine"] = {{"log_payload_bytes", 600}};
  EXPECT_THAT(LogPartsLine(document), HasSubstr("btree does not count framing, padding"));
  account["engine"]["more"] = {{"log_padding_bytes", 0}};
  EXPECT_EQ(LogPartsLine(document), "");
}

// The class of what is not records was called padding alone, and all was called records where they
// were not counted.
TEST(WriteClassesTest, ALogIsSplitOnlyWhereItsRecordsAreCounted) {
  json document = SmallDocument();
  json& phase = document["runs"][0]["phases"][0];
  phase["account"]["causes"][0]["kernel_by_kind"]["log"] = {{"write_bytes", 1000}};
  const auto names = [&phase] {
    std::string text;
    for (const WriteClass& c : WriteClasses(phase)) text += c.name + "; ";
    return text;
  };
  EXPECT_EQ(names(), "log; ");
  phase["account"]["engine"] = {{"log_payload_bytes", 600}};
  EXPECT_EQ(names(), "log records; log framing, padding and rewrites; ");
}

}  // namespace
}  // namespace testbed
