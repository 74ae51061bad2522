#include "tools/run/tasks/task_series.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "device/machine/memory_budget.h"
#include "workloads/measure/background_work.h"
#include "workloads/measure/histogram.h"

namespace testbed {
namespace {

// Moments that differ by less are one moment.
constexpr double kOneMoment = 1e-9;

// The part of an interval of a task that lies in one second.
struct SecondPart {
  const Interval* interval;
  bool of_first;  // the interval is of task 0
  bool has_most;  // no other second has more of the interval
  std::vector<uint64_t> counts;
};
using SecondParts = std::vector<SecondPart>;

// Returns how many seconds there are up to a moment, the last one in part.
size_t SecondsUpTo(double moment) {
  return static_cast<size_t>(std::max(1.0, std::ceil(moment - kOneMoment)));
}

// Gives each second in which the interval lies its part.
void Deal(const Interval& interval, double from, double to, bool of_first,
          std::vector<SecondParts>* seconds) {
  const size_t last = std::min(SecondsUpTo(to), seconds->size()) - 1;
  const size_t first = std::min(static_cast<size_t>(from), last);
  size_t longest = first;
  double length = -1;
  std::vector<uint64_t> dealt(interval.counts.size());
  for (size_t second = first; second <= last; ++second) {
    const double begin = std::max(from, static_cast<double>(second));
    const double end = second == last ? to : static_cast<double>(second + 1);
    SecondPart part{&interval, of_first, false, {}};
    for (size_t k = 0; k < interval.counts.size(); ++k) {
      // Rounding the sum up to the end of each second, and not each part, keeps the total exact.
      uint64_t up_to = interval.counts[k];
      if (second != last) {
        const double share = (end - from) / (to - from);
        up_to = static_cast<uint64_t>(std::llround(static_cast<double>(up_to) * share));
      }
      part.counts.push_back(up_to - dealt[k]);
      dealt[k] = up_to;
    }
    (*seconds)[second].push_back(std::move(part));
    if (end - begin <= length) continue;
    length = end - begin;
    longest = second;
  }
  (*seconds)[longest].back().has_most = true;
}

// Adds what an interval has of the machine and of the process.
void AddHostOf(const Interval& interval, Interval* row) {
  row->device_reads += interval.device_reads;
  row->device_read_bytes += interval.device_read_bytes;
  row->device_writes += interval.device_writes;
  row->device_write_bytes += interval.device_write_bytes;
  row->host_context_switches += interval.host_context_switches;
  row->host_user_seconds += interval.host_user_seconds;
  row->host_system_seconds += interval.host_system_seconds;
  row->resident_bytes = interval.resident_bytes;
  for (const BackgroundWork& work : interval.background) {
    const auto known =
        std::find_if(row->background.begin(), row->background.end(),
                     [&work](const BackgroundWork& other) { return other.op.id == work.op.id; });
    if (known == row->background.end()) {
      row->background.push_back(work);
      continue;
    }
    known->read_bytes += work.read_bytes;
    known->write_bytes += work.write_bytes;
  }
  if (!interval.memory) return;
  MemoryUsage usage = *interval.memory;
  if (row->memory) {
    usage.failcnt += row->memory->failcnt;
    usage.refaults += row->memory->refaults;
  }
  row->memory = usage;
}

// Returns the second that ends at `end`.
Interval RowOfSecond(const SecondParts& parts, double end, size_t kinds) {
  Interval row{};
  row.end_seconds = end;
  row.counts.resize(kinds);
  row.max_latency_ns.resize(kinds);
  HistogramCounts latency;
  for (const SecondPart& part : parts) {
    const Interval& interval = *part.interval;
    for (size_t k = 0; k < kinds && k < part.counts.size(); ++k) {
      row.counts[k] += part.counts[k];
      row.operations += part.counts[k];
    }
    if (!part.has_most) continue;
    for (size_t k = 0; k < kinds && k < interval.max_latency_ns.size(); ++k) {
      row.max_latency_ns[k] = std::max(row.max_latency_ns[k], interval.max_latency_ns[k]);
    }
    latency.AddBuckets(interval.latency_ns, interval.sum_ns, interval.max_ns);
    if (part.of_first) AddHostOf(interval, &row);
  }
  row.mean_ns = latency.mean_ns();
  row.p50_ns = latency.Percentile(0.5);
  row.p99_ns = latency.Percentile(0.99);
  row.p999_ns = latency.Percentile(0.999);
  row.max_ns = latency.max_ns();
  return row;
}

}  // namespace

std::vector<Interval> MergeSeries(const std::vector<TaskSeries>& tasks, size_t kinds) {
  double end = 0;
  bool any = false;
  for (const TaskSeries& task : tasks) {
    if (task.series->empty()) continue;
    any = true;
    end = std::max(end, task.from + task.series->back().end_seconds);
  }
  if (!any) return {};
  std::vector<SecondParts> seconds(SecondsUpTo(end));
  for (const TaskSeries& task : tasks) {
    double from = task.from;
    for (const Interval& interval : *task.series) {
      const double to = std::max(from, task.from + interval.end_seconds);
      Deal(interval, from, to, &task == &tasks.front(), &seconds);
      from = to;
    }
  }
  std::vector<Interval> rows;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const double row_end = i + 1 == seconds.size() ? end : static_cast<double>(i + 1);
    rows.push_back(RowOfSecond(seconds[i], row_end, kinds));
  }
  return rows;
}

}  // namespace testbed
