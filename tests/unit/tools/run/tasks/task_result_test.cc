// Tests how the phases of several tasks become one: what a task tells must arrive as it was, counts
// must add up, and percentiles must be those of all operations together.
#include "tools/run/tasks/task_result.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device/error.h"
#include "tools/output/json_text.h"
#include "tools/run/run_json.h"
#include "workloads/random.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr int64_t kBegin = 1'700'000'000'000'000'000;

OpKind ReadOp() { return DefineOp("point-read", Ground::kForeground); }
OpKind InsertOp() { return DefineOp("insert", Ground::kForeground); }

void CountAccount(PhaseAccount* account) {
  account->cpu_user_seconds = 1.5;
  account->counts_wire = true;
  account->ledger.ops[ReadOp().id].operations = 3000;
  account->ledger.ops[ReadOp().id].wire = {
      .round_trips = 3000, .sent_bytes = 70, .received_bytes = 80};
  account->engine.block_reads = 400;
  account->process_read_bytes = 11;
  account->process_write_bytes = 12;
  account->major_faults = 13;
  account->context_switches = 14;
}

// A task whose reads take `least_ns` and more, two seconds long.
PhaseRecord PhaseOf(int task, uint64_t least_ns, std::vector<uint64_t>* all) {
  Random random(static_cast<uint64_t>(task) + 1);
  Histogram seconds[2], reads;
  PhaseRecord phase{.name = "mixed", .kind = PhaseKind::kMeasure, .seconds = 2};
  phase.steal_share = 0.125 * task;
  PhaseRecord::Work& work = phase.work.emplace();
  work.threads = 2;
  work.ops = {ReadOp(), InsertOp()};
  PhaseResult& result = work.result;
  result.seconds = 2;
  result.ops = {{.op = ReadOp(), .count = 0, .latency = {}, .intended = {}},
                {.op = InsertOp(), .count = 0, .latency = {}, .intended = {}}};
  for (int i = 0; i < 3000; ++i) {
    const uint64_t ns = least_ns + random.Below(least_ns);
    all->push_back(ns);
    reads.Record(ns);
    seconds[i % 2].Record(ns);
  }
  result.ops[0].count = 3000;
  result.ops[0].latency.Add(reads);
  result.ops[1].unanswered = 1;
  for (const Histogram& second : seconds) {
    HistogramCounts counts;
    counts.Add(second);
    Interval interval{};
    interval.end_seconds = static_cast<double>(result.series.size() + 1) + 0.001;
    interval.operations = 1500;
    interval.counts = {1500, 0};
    interval.max_latency_ns = {counts.max_ns(), 0};
    interval.latency_ns = counts.Buckets();
    interval.sum_ns = counts.sum_ns();
    interval.max_ns = counts.max_ns();
    interval.host_context_switches = static_cast<uint64_t>(task) + 7;
    result.series.push_back(interval);
  }
  result.totals.rows_read = 3000;
  result.totals.rows_inserted = 10;
  result.verified = 5;
  result.wrong = static_cast<uint64_t>(task);
  if (task > 0) result.first_wrong = "row " + std::to_string(task);
  result.partial = task == 2;
  result.backlog_seconds = task == 1 ? 0.25 : 0.125;
  result.extra_operations = 3;
  result.ops[0].intended.Add(reads);
  result.ops[0].undone.Add(seconds[0]);
  result.undone.Add(seconds[0]);
  result.lateness.Add(seconds[1]);
  result.thread_operations = {1000, 2000};
  result.thread_seconds = {2, 1.9};
  CountAccount(&phase.account);
  return phase;
}

// What the task tells, sent as text and read again.
PhaseRecord Sent(const PhaseRecord& phase) {
  return TaskResultFrom(ParseJson(JsonText(TaskResultJson(phase))), phase.work->ops);
}

// Three tasks, whose latencies and clocks differ. Task 1 begins 5 ms late.
class MergeTasksTest : public testing::Test {
 protected:
  MergeTasksTest() {
    clocks_.hosts = {"n0", "n1", "n2"};
    // The time of day of task 1 is set by 8 s in the phase, which moves nothing.
    clocks_.before = {{0, 0, 0}, {250'000'000, 4000, 7000}, {-9'000'000'000, 5000, 0}};
    clocks_.after = {{0, 0, 0}, {250'001'000, 4000, 8'000'007'000}, {-9'000'000'000, 5000, 0}};
    clocks_.start_ns = kBegin;
    const int64_t late[] = {0, 5'000'000, 0};
    for (int task = 0; task < 3; ++task) {
      const auto at = static_cast<size_t>(task);
      PhaseRecord phase = PhaseOf(task, 100'000ull << (3 * task), &all_);
      phase.work->result.preparing_seconds = 0.25;
      phase.work->result.began_ns = kBegin + late[at] + clocks_.before[at].ns;
      if (task == 0) {
        merged_ = phase;
      } else {
        others_.push_back(Sent(phase));
      }
    }
    std::sort(all_.begin(), all_.end());
    MergeTasks(others_, clocks_, &merged_);
  }

  std::vector<uint64_t> all_;  // the latencies of all tasks
  std::vector<PhaseRecord> others_;
  TaskClocks clocks_;
  PhaseRecord merged_;
};

TEST_F(MergeTasksTest, PercentilesAreThoseOfAllOperations) {
  const HistogramCounts& latency = merged_.work->result.ops[0].latency;
  Histogram h;
  for (const uint64_t ns : all_) h.Record(ns);
  HistogramCounts whole;
  whole.Add(h);
  EXPECT_EQ(latency.Buckets(), whole.Buckets());
  EXPECT_EQ(latency.max_ns(), all_.back());
  EXPECT_NEAR(latency.mean_ns(), whole.mean_ns(), 1e-6 * whole.mean_ns());
  for (const double p : {0.5, 0.99, 0.999}) EXPECT_EQ(latency.Percentile(p), whole.Percentile(p));
  // The mean of the tasks' 99th percentiles would be another figure.
  double mean = 0;
  for (const TaskFigures& task : merged_.tasks) {
    mean += static_cast<double>(task.latency.Percentile(0.99)) / 3;
  }
  EXPECT_LT(mean, 0.7 * static_cast<double>(latency.Percentile(0.99)));
}

TEST_F(MergeTasksTest, CountsAddUpAndTheRateIsOfTheIntervalOfAll) {
  const PhaseResult& result = merged_.work->result;
  EXPECT_EQ(result.operations(), 9000u);
  EXPECT_EQ(result.unanswered(), 3u);
  EXPECT_EQ(result.totals.rows_inserted, 30u);
  EXPECT_EQ(result.verified, 15u);
  EXPECT_EQ(merged_.work->threads, 6);
  EXPECT_EQ(result.thread_operations, (std::vector<uint64_t>{1000, 2000, 1000, 2000, 1000, 2000}));
  EXPECT_EQ(result.thread_seconds.size(), 6u);
  EXPECT_EQ(result.preparing_seconds, 0.75);
  EXPECT_NEAR(result.seconds, 2.005, 1e-9) << "from the first begin to the last end";
  EXPECT_EQ(merged_.seconds, result.seconds);
  EXPECT_EQ(result.wrong, 3u);
  EXPECT_EQ(result.first_wrong, "row 1");
  EXPECT_TRUE(result.partial);
  EXPECT_EQ(result.backlog_seconds, 0.25) << "the longest";
  EXPECT_EQ(result.extra_operations, 9u);
  EXPECT_EQ(result.ops[0].intended.count(), 9000u);
  EXPECT_EQ(result.ops[0].undone.count(), 4500u);
  EXPECT_EQ(result.undone.count(), 4500u);
  EXPECT_EQ(result.lateness.count(), 4500u);
  const json phase = PhaseJson(merged_);
  EXPECT_NEAR(phase["rate"].get<double>(), 9000 / 2.005, 1e-3);
}

TEST_F(MergeTasksTest, ASecondHasTheOperationsOfAllTasksInIt) {
  const std::vector<Interval>& series = merged_.work->result.series;
  ASSERT_EQ(series.size(), 3u);
  HistogramCounts by_hand;
  for (const PhaseRecord& other : others_) {
    const Interval& second = other.work->result.series[1];
    by_hand.AddBuckets(second.latency_ns, second.sum_ns, second.max_ns);
  }
  uint64_t operations = 0;
  for (const Interval& second : series) {
    operations += second.operations;
    EXPECT_EQ(second.counts, (std::vector<uint64_t>{second.operations, 0}));
    EXPECT_TRUE(second.latency_ns.empty());
  }
  EXPECT_EQ(operations, 9000u);
  // Task 1 has begun 5 ms late, so that 0.6 % of its first second is in the next one.
  EXPECT_NEAR(static_cast<double>(series[0].operations), 1498.5 * 2 + 1491, 3);
  EXPECT_EQ(series[0].end_seconds, 1);
  EXPECT_EQ(series[1].end_seconds, 2);
  EXPECT_NEAR(series[2].end_seconds, 2.006, 1e-9);
  EXPECT_EQ(series[1].max_ns, by_hand.max_ns()) << "task 2 is the slowest";
  EXPECT_GT(series[1].p99_ns, series[1].p50_ns);
  EXPECT_EQ(series[1].host_context_switches, 7u) << "the host is that of task 0";
}

TEST_F(MergeTasksTest, OfTheAccountWhatIsOfTheTasksIsSummedAndWhatIsOfTheServerIsNot) {
  const PhaseAccount& account = merged_.account;
  const LedgerCounts::Op& read = account.ledger.ops[ReadOp().id];
  EXPECT_EQ(read.operations, 9000u);
  EXPECT_EQ(read.wire, (WireCounts{9000, 210, 240}));
  EXPECT_DOUBLE_EQ(account.cpu_user_seconds, 4.5);
  EXPECT_EQ(account.process_read_bytes, 33u);
  EXPECT_EQ(account.process_write_bytes, 36u);
  EXPECT_EQ(account.major_faults, 39u);
  EXPECT_EQ(account.context_switches, 42u);
  EXPECT_EQ(account.engine.block_reads, 400u);
}

TEST_F(MergeTasksTest, EachTaskIsToldApart) {
  ASSERT_EQ(merged_.tasks.size(), 3u);
  const json tasks = PhaseJson(merged_)["tasks"];
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[1]["task"], 1);
  EXPECT_EQ(tasks[1]["host"], "n1");
  EXPECT_EQ(tasks[1]["count"], 3000);
  EXPECT_EQ(tasks[1]["rate"], 1500);
  EXPECT_EQ(tasks[1]["threads"], 2);
  EXPECT_EQ(tasks[1]["unanswered"], 1);
  EXPECT_EQ(tasks[1]["began_late_us"], 5000);
  EXPECT_EQ(tasks[1]["clock_before"], json({{"offset_us", 7.0}, {"error_us", 4.0}}));
  EXPECT_EQ(tasks[1]["clock_after"]["offset_us"], 8'000'007.0);
  EXPECT_EQ(tasks[1]["drift_us"], 1.0);
  EXPECT_EQ(tasks[0]["began_late_us"], 0);
  EXPECT_EQ(tasks[2]["steal_share"], 0.25) << "of its host, which may be a virtual machine";
  EXPECT_GT(tasks[2]["latency_us"]["p50"].get<double>(), 6000);
}

// Once, tasks that share a host took each other for other programs, so that the report of such a
// run began with a warning.
TEST(TaskResultTest, TasksOfOneHostAreNoOtherProgramsToEachOther) {
  std::vector<uint64_t> all;
  std::vector<PhaseRecord> phases;
  for (int task = 0; task < 3; ++task) {
    PhaseRecord& phase = phases.emplace_back(PhaseOf(task, 1000, &all));
    phase.foreign_cpu_share = 0.5;
    phase.own_cpu_share = 0.25 + 0.125 * task;
  }
  PhaseRecord merged = phases[0];
  const TaskClocks clocks{.hosts = {"n0", "n0", "n1"},
                          .before = std::vector<ClockOffset>(3),
                          .after = std::vector<ClockOffset>(3)};
  MergeTasks({Sent(phases[1]), Sent(phases[2])}, clocks, &merged);
  ASSERT_EQ(merged.tasks.size(), 3u);
  EXPECT_EQ(merged.tasks[0].foreign_cpu_share, 0.125);
  EXPECT_EQ(merged.tasks[1].foreign_cpu_share, 0.25);
  EXPECT_EQ(merged.tasks[2].foreign_cpu_share, 0.5) << "on a host of its own";
  EXPECT_EQ(merged.foreign_cpu_share, 0.125);
}

TEST(TaskResultTest, ArrivesAsItWas) {
  std::vector<uint64_t> all;
  PhaseRecord phase = PhaseOf(1, 1000, &all);
  PhaseResult& result = phase.work->result;
  Histogram waited;
  waited.Record(2'000'000);
  result.lateness.Add(waited);
  result.ops[0].intended.Add(waited);
  result.ops[0].undone.Add(waited);
  result.undone.Add(waited);
  result.backlog_seconds = 0.25;
  result.wrong = 1;
  result.first_wrong = "a wrong answer";
  result.ended_because = "no row is left";
  result.addresses = {{.name = "n1:1", .threads = 2, .count = 4}};
  phase.foreign_cpu_share = 0.125;
  phase.steal_share = 0.25;
  const json told = TaskResultJson(phase);
  EXPECT_EQ(TaskResultJson(Sent(phase)), told);
  phase.own_cpu_share = 0.375;
  EXPECT_EQ(Sent(phase).own_cpu_share, 0.375);
  EXPECT_EQ(Sent(phase).steal_share, 0.25);
  json damaged = told;
  damaged.erase("ops");
  EXPECT_THROW(TaskResultFrom(damaged, phase.work->ops), Error);
}

}  // namespace
}  // namespace testbed
