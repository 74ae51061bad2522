// Tests what a comparison keeps of a slice.
#include "tools/ab/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace testbed {
namespace {

using nlohmann::json;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

// Returns a slice of 100 operations by an engine that counts the requests to its cache. All of them
// missed.
json Slice() {
  const json device = {{"reads", 40}, {"read_bytes", 4000}, {"writes", 0}, {"write_bytes", 0}};
  const json account = {
      {"causes", {{{"name", "point-read"}, {"operations", 100}, {"file", {{"reads", 20}}}}}},
      {"engine", {{"block_requests", 200}, {"block_hits", 0}, {"more", {{"splits", 0}}}}},
      {"device", device},
      {"cpu_user_seconds", 0.1},
      {"cpu_system_seconds", 0.0},
      {"context_switches", 3},
      {"major_faults", 0}};
  const json latency = {{"mean", 5}, {"p50", 5}, {"p99", 9}, {"p999", 9}};
  return {{"seconds", 0.2},
          {"count", 100},
          {"rate", 500},
          {"user_bytes_written", 1000},
          {"operations", {{{"name", "all"}, {"latency_us", latency}}}},
          {"account", account},
          {"rest", {{"seconds", 0.2}, {"account", account}}}};
}

std::vector<std::string> Names(const json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

TEST(AbSampleTest, KeepsCountersThatAre0) {
  const json sample = SampleJson({"b", 2, 7}, Slice(), 0);
  EXPECT_EQ(sample["side"], "b");
  EXPECT_EQ(sample["load"], 2);
  EXPECT_EQ(sample["block"], 7);
  EXPECT_EQ(sample["metrics"]["p99"], 9);
  EXPECT_EQ(sample["counters"]["file_reads"], 20);
  EXPECT_THAT(Names(sample["counters"]),
              IsSupersetOf({"block_hits", "engine.splits", "device_writes", "cpu_system_seconds"}));
  EXPECT_THAT(Names(sample["counters"]), Not(testing::Contains(StartsWith("kernel_"))));
  EXPECT_THAT(Names(sample["rest"]), Not(testing::Contains("block_hits")));
}

// Once, a percentile counted as that of all operations, those too whose latency was left out.
TEST(AbSampleTest, KeepsHowManyOperationsTellAPercentile) {
  json slice = Slice();
  EXPECT_FALSE(SampleJson({"a"}, slice, 1).contains("told"));
  slice["operations"][0]["latency_us"]["count"] = 98;
  EXPECT_EQ(SampleJson({"a"}, slice, 1)["told"], json({{"p50", 98}, {"p99", 98}, {"p999", 98}}));
  json run = Slice();
  json& operations = run["operations"];
  operations.push_back(operations[0]);
  operations[0].update({{"name", "scan"}, {"rate", 100}});
  operations[1].update({{"name", "update"}, {"rate", 400}});
  operations[0]["latency_us"]["count"] = 18;
  operations[0].update({{"count", 20}, {"latency_from_intended_us", {{"p99", 7}, {"count", 20}}}});
  operations[1]["latency_from_intended_us"] = {{"p99", 7}, {"count", 90}};
  const json told = SampleJson({"a"}, run, 2)["told"];
  EXPECT_EQ(told["scan.p99"], 18);
  EXPECT_FALSE(told.contains("scan.intended_p99"));
  EXPECT_FALSE(told.contains("update.p99"));
  EXPECT_EQ(told["update.intended_p99"], 90);
}

// Operations without an answer have caused a part of the counts, which are divided by all
// operations.
TEST(AbSampleTest, KeepsHowManyOperationsAreCharged) {
  json run = Slice();
  EXPECT_FALSE(SampleJson({"a"}, run, 1).contains("charged"));
  run["unanswered"] = {{{"name", "insert"}, {"count", 300}}};
  const json sample = SampleJson({"a"}, run, 1);
  EXPECT_EQ(sample["count"], 100);
  EXPECT_EQ(sample["charged"], 400);
  EXPECT_EQ(sample["metrics"]["engine_asks"], 0.5);
}

TEST(AbSampleTest, ADeviceThatSidesShareIsLeftOut) {
  json sample = SampleJson({"a"}, Slice(), 0);
  EXPECT_EQ(sample["metrics"]["device_reads"], 0.4);
  EXPECT_TRUE(sample["metrics"].contains("write_amplification"));
  EXPECT_TRUE(LeaveOutSharedDevice(Slice()["account"], &sample));
  EXPECT_FALSE(sample["metrics"].contains("write_amplification"));
  for (const char* part : {"metrics", "counters", "rest"}) {
    EXPECT_THAT(Names(sample[part]), Not(testing::Contains(StartsWith("device_")))) << part;
  }
  EXPECT_EQ(sample["metrics"]["engine_asks"], 2);
  EXPECT_FALSE(LeaveOutSharedDevice(Slice()["account"], &sample));
}

// With a kernel account, requests of other programs, such as the other side, are counted apart. So
// the metrics of the device stay.
TEST(AbSampleTest, AKernelAccountKeepsTheMetricsOfTheDevice) {
  json slice = Slice();
  slice["account"]["other_threads"] = json::array();
  json sample = SampleJson({"a"}, slice, 0);
  EXPECT_FALSE(LeaveOutSharedDevice(slice["account"], &sample));
  EXPECT_EQ(sample["metrics"]["device_reads"], 0.4);
  EXPECT_THAT(Names(sample["counters"]), Not(testing::Contains(StartsWith("device_"))));
}

// Pages that kernel threads write back in a side's rest are the side's work, and were missing.
// Other programs' requests are not its work, and the file system's journal is of all sides.
TEST(AbSampleTest, WhatKernelThreadsWriteBackIsTheSides) {
  json slice = Slice();
  const auto thread = [](const char* name, const char* kind, int writes) {
    return json{{"thread", name},
                {"kind", kind},
                {"kernel", {{"reads", 0}, {"writes", writes}, {"write_bytes", 4096 * writes}}}};
  };
  json account = slice["account"];
  account["causes"][0]["kernel"] = {{"reads", 20}, {"writes", 2}, {"write_bytes", 8192}};
  account["other_threads"] =
      json::array({thread("kworker", "data", 30), thread("kworker", "log", 4),
                   thread("kworker", "other-file", 500), thread("jbd2", "fs-journal", 60),
                   thread("kworker", "fs-metadata", 7)});
  slice["account"] = account;
  slice["rest"]["account"] = account;
  const json sample = SampleJson({"a"}, slice, 0);
  for (const char* part : {"counters", "rest"}) {
    EXPECT_EQ(sample[part]["kernel_reads"], 20) << part;
    EXPECT_EQ(sample[part]["kernel_writes"], 36) << part;
    EXPECT_EQ(sample[part]["kernel_write_bytes"], 4096 * 36) << part;
  }
  // Without a cause that made requests, as at rest, they are all that there is.
  slice["rest"]["account"]["causes"] = json::array();
  EXPECT_EQ(SampleJson({"a"}, slice, 0)["rest"]["kernel_writes"], 34);
  // Threads whose names another side's have, too, may have worked for that side meanwhile.
  json& rest = slice["rest"]["account"];
  rest["other_threads"].push_back(thread("page_cleaner", "data", 800));
  EXPECT_EQ(SampleJson({"a"}, slice, 0)["rest"]["kernel_writes"], 834);
  LeaveOutThreads({"page_cleaner", "io_write_thread"}, &rest);
  EXPECT_EQ(SampleJson({"a"}, slice, 0)["rest"]["kernel_writes"], 34);
}

// Threads that an engine's library starts are told by their names alone.
TEST(AbSampleTest, RequestsThatMayBeAnotherSidesAreLeftOut) {
  json slice = Slice();
  const json cleaner = {
      {"thread", "page_cleaner"}, {"kind", "data"}, {"kernel", {{"reads", 0}, {"writes", 30}}}};
  slice["account"]["other_threads"] = json::array({cleaner});
  slice["rest"]["account"] = slice["account"];
  slice["account"]["causes"][0]["kernel"] = {{"reads", 20}, {"writes", 0}};
  json sample = SampleJson({"a"}, slice, 0);
  EXPECT_EQ(sample["metrics"]["kernel_writes"], 0.3);
  EXPECT_TRUE(sample["counters"].contains("kernel_reads"));
  LeaveOutRequests(&sample);
  EXPECT_FALSE(sample["metrics"].contains("write_amplification"));
  for (const char* part : {"metrics", "counters", "rest"}) {
    EXPECT_THAT(Names(sample[part]), Not(testing::Contains(StartsWith("device_")))) << part;
    EXPECT_THAT(Names(sample[part]), Not(testing::Contains(StartsWith("kernel_")))) << part;
  }
  EXPECT_EQ(sample["metrics"]["engine_asks"], 2);
}

}  // namespace
}  // namespace testbed
