// Tests what slices count, and what the rests between them do.
#include "tools/run/run_slices.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engines/registry.h"
#include "tests/unit/workloads/lying_engine.h"
#include "workloads/measure/clock.h"

namespace testbed {
namespace {

double CpuOf(const nlohmann::json& account) {
  return account["cpu_user_seconds"].get<double>() + account["cpu_system_seconds"].get<double>();
}

// The parent is told of a slice by the process whose work is measured.
TEST(ParentSlicesTest, ToTellOfASliceIsNoWorkOfTheRest) {
  constexpr uint64_t kTellingNs = 200'000'000;
  const std::unique_ptr<Engine> engine = FindEngine("null").open(".", {});
  const Meter meter(*engine, ".", AccountDepth::kFile, nullptr, false, false);
  std::vector<nlohmann::json> told;
  RunTalk talk;
  const nlohmann::json word = {{"slice", 0.01}};
  talk.await = [&] { return word; };
  talk.report = [&](const nlohmann::json& line) {
    if (!line.contains("slice")) return;
    told.push_back(line["slice"]);
    Clock::Get().Spin(kTellingNs);
  };
  ParentSlices slices(meter, talk);
  for (int slice = 0; slice < 2; ++slice) {
    EXPECT_EQ(slices.Next(), 0.01);
    slices.Begins();
    slices.Ends();
    slices.Done(Interval{}, HistogramCounts(), 0.01);
  }
  ASSERT_EQ(told.size(), 2u);
  const nlohmann::json& account = told[1]["rest"]["account"];
  EXPECT_LT(CpuOf(account), kTellingNs / 2e9);
}

// An engine that takes processor time to tell its counters, as a server does. It has the name of an
// engine whose capabilities are known.
class SlowToCount : public LyingEngine {
 public:
  static constexpr uint64_t kNs = 50'000'000;
  std::string name() const override { return "null"; }
  EngineCounters Counters() const override {
    Clock::Get().Spin(kNs);
    return {};
  }
};

// The phase samples the device, the machine and the histograms before and after each slice, and the
// meter asks the engine for its counters. Slices are short, so that this was up to a tenth of a
// side's cpu_us where its clients wait for a device.
TEST(ParentSlicesTest, WhatThePhaseSamplesIsNoWorkOfASliceOrARest) {
  constexpr uint64_t kSamplingNs = SlowToCount::kNs;
  SlowToCount engine;
  const Meter meter(engine, ".", AccountDepth::kFile, nullptr, false, false);
  std::vector<nlohmann::json> told;
  RunTalk talk;
  const nlohmann::json word = {{"slice", 0.01}};
  talk.await = [&] { return word; };
  talk.report = [&](const nlohmann::json& line) {
    if (line.contains("slice")) told.push_back(line["slice"]);
  };
  ParentSlices slices(meter, talk);
  for (int slice = 0; slice < 2; ++slice) {
    EXPECT_EQ(slices.Next(), 0.01);
    Clock::Get().Spin(kSamplingNs);
    slices.Begins();
    slices.Ends();
    Clock::Get().Spin(kSamplingNs);
    slices.Done(Interval{}, HistogramCounts(), 0.01);
  }
  ASSERT_EQ(told.size(), 2u);
  for (const nlohmann::json& slice : told) {
    EXPECT_LT(CpuOf(slice["account"]), kSamplingNs / 2e9);
    EXPECT_LT(CpuOf(slice["rest"]["account"]), kSamplingNs / 2e9);
  }
}

}  // namespace
}  // namespace testbed
