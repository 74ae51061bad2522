#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "device/error.h"
#include "workloads/documents/allocation_meter.h"
#include "workloads/documents/clock_cost.h"
#include "workloads/documents/format.h"
#include "workloads/measure/clock.h"

namespace testbed {
namespace {

using Case = std::tuple<std::string, uint32_t, bool, DocumentAccess>;

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  const auto& [format, n, y_first, access] = info.param;
  return format + std::to_string(n) + (y_first ? "first" : "last") +
         (access == DocumentAccess::kWhole ? "whole" : "needed");
}

class DocumentFormatTest : public testing::TestWithParam<Case> {
 protected:
  const std::string& format() const { return std::get<0>(GetParam()); }
  DocumentShape shape() const { return {std::get<1>(GetParam()), std::get<2>(GetParam())}; }
  std::unique_ptr<DocumentCodec> Codec() const {
    return MakeDocumentCodec(format(), shape(), std::get<3>(GetParam()));
  }
};

TEST_P(DocumentFormatTest, EveryAttributeComesBack) {
  auto codec = Codec();
  for (const int64_t id : {int64_t{0}, int64_t{23}, int64_t{70000}, int64_t{1} << 40}) {
    std::string document;
    codec->Encode(id, &document);
    Attributes expected = ExpectedAttributes(shape(), id);
    EXPECT_EQ(expected.size(), shape().attributes + 2);
    if (format() == "flexbuffers") std::sort(expected.begin(), expected.end());
    EXPECT_EQ(codec->Decode(document), expected);
    std::string again;
    Codec()->Encode(id, &again);
    EXPECT_EQ(again, document);
  }
}

TEST_P(DocumentFormatTest, FindsYAndProjectsItWithTheId) {
  auto codec = Codec();
  std::string document;
  for (const int64_t id : {int64_t{0}, int64_t{1}, int64_t{999}, int64_t{123456789012}}) {
    codec->Encode(id, &document);
    ASSERT_TRUE(codec->Match(document, id, id)) << id;
    const std::string answer(codec->Project());
    EXPECT_EQ(codec->DecodeAnswer(answer), (Attributes{{"_id", id}, {"y", id}}));
    EXPECT_LT(answer.size(), 80u);
  }
}

TEST_P(DocumentFormatTest, AnotherYOrAnotherIdDoesNotMatch) {
  auto codec = Codec();
  std::string document;
  codec->Encode(5, &document);
  EXPECT_FALSE(codec->Match(document, 5, 6));
  EXPECT_FALSE(codec->Match(document, 5, -6));
  EXPECT_FALSE(codec->Match(document, 6, 5));
  EXPECT_FALSE(codec->Match(document, 6, 6));
  EXPECT_TRUE(codec->Match(document, 5, 5));
}

// An engine may return a document in its own memory, at any alignment.
TEST_P(DocumentFormatTest, ADocumentMayBeginAtAnyAddress) {
  auto codec = Codec();
  std::string document;
  codec->Encode(77, &document);
  for (size_t shift = 0; shift < 8; ++shift) {
    const std::string moved = std::string(shift, 'x') + document;
    EXPECT_TRUE(codec->Match(std::string_view(moved).substr(shift), 77, 77));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, DocumentFormatTest,
                         testing::Combine(testing::ValuesIn(DocumentFormats()),
                                          testing::Values(1u, 10u, 1000u), testing::Bool(),
                                          testing::Values(DocumentAccess::kWhole,
                                                          DocumentAccess::kNeeded)),
                         CaseName);

TEST(DocumentFormatsTest, AnUnknownOneIsRefused) {
  try {
    MakeDocumentCodec("xml", {}, DocumentAccess::kWhole);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_THAT(e.what(), testing::HasSubstr("flexbuffers"));
  }
}

// Only a codec that turns the document into a tree may allocate memory for its attributes.
TEST(DocumentFormatsTest, QueriesAllocateOnlyWhereATreeIsMade) {
  AllocationMeter& meter = AllocationMeter::ThisThread();
  for (const std::string& format : DocumentFormats()) {
    for (const DocumentAccess access : {DocumentAccess::kWhole, DocumentAccess::kNeeded}) {
      auto codec = MakeDocumentCodec(format, {100, false}, access);
      std::string document;
      codec->Encode(1, &document);
      codec->Match(document, 1, 1);
      codec->Project();
      const uint64_t before = meter.allocations;
      for (int i = 0; i < 10; ++i) {
        codec->Match(document, 1, 1);
        codec->Project();
      }
      if (format == "cbor" && access == DocumentAccess::kWhole) {
        EXPECT_GE(meter.allocations - before, 10u * 102);
      } else {
        EXPECT_EQ(meter.allocations - before, 0u) << format;
      }
    }
  }
}

TEST(AllocationMeterTest, CountsAndTimesWhenAskedTo) {
  AllocationMeter& meter = AllocationMeter::ThisThread();
  const AllocationMeter before = meter;
  { std::vector<char, MeteredAllocator<char>> v(1000); }
  EXPECT_EQ(meter.allocations - before.allocations, 1u);
  EXPECT_EQ(meter.bytes - before.bytes, 1000u);
  EXPECT_EQ(meter.ticks, before.ticks);
  AllocationMeter timed;
  timed.timed = true;
  for (int i = 0; i < 100; ++i) {
    timed.Metered(1, [] {
      const uint64_t until = Clock::Monotonic() + 20000;
      while (Clock::Monotonic() < until) {
      }
    });
  }
  EXPECT_GT(timed.NetNs(), 100u * 19000);
  EXPECT_GT(timed.empty_ticks, 0u);
  AllocationMeter empty;
  EXPECT_EQ(empty.NetNs(), 0u);
}

// A part that is no longer than to read the clock has no time of its own, and never a negative one.
TEST(ClockCostTest, ATimeIsNetOfTheEmptyIntervalsInIt) {
  EXPECT_EQ(NetOfClock(90, 13), 77u);
  EXPECT_EQ(NetOfClock(13, 13), 0u);
  EXPECT_EQ(NetOfClock(10, 13), 0u);
  const Clock& clock = Clock::Get();
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 1000; ++i) least = std::min(least, EmptyInterval(clock, clock.Now()));
  EXPECT_LT(clock.ToNs(least), 1000u) << "nothing is between the readings";
}

}  // namespace
}  // namespace testbed
