#include "tools/run/tasks/task_series.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "device/account/counts.h"
#include "device/machine/memory_budget.h"
#include "workloads/measure/background_work.h"
#include "workloads/measure/histogram.h"

namespace testbed {
namespace {

// Moments that differ by less are one moment.
constexpr double kOneMoment = 1e-9;

// The part of an interval of a task that lies in one second. It begins and ends at shares of the
// interval's time, 0 to 1.
struct SecondPart {
  const Interval* interval;
  bool of_first;  // the interval is of task 0
  bool has_most;  // no other second has more of the interval
  double begin, end;

  // Returns the part of a count of the interval. What is up to the end of each part is rounded, and
  // not each part, so that the parts of a count add up to it.
  uint64_t Count(uint64_t all) const { return UpTo(end, all) - UpTo(begin, all); }
  double Amount(double all) const { return all * (end - begin); }

 private:
  // A number of requests may be below 0, as int64_t (BlockCounts).
  static uint64_t UpTo(double share, uint64_t all) {
    if (share >= 1) return all;
    const auto number = static_cast<double>(static_cast<int64_t>(all));
    return static_cast<uint64_t>(std::llround(number * share));
  }
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
  double length = -1, begin = 0;
  for (size_t second = first; second <= last; ++second) {
    const double end = second == last ? 1 : (static_cast<double>(second + 1) - from) / (to - from);
    (*seconds)[second].push_back({&interval, of_first, false, begin, end});
    if (end - begin > length) {
      length = end - begin;
      longest = second;
    }
    begin = end;
  }
  (*seconds)[longest].back().has_most = true;
}

// Adds the background work that the part of an interval has.
void AddBackgroundOf(const SecondPart& part, std::vector<BackgroundWork>* all) {
  for (const BackgroundWork& work : part.interval->background) {
    const uint64_t read = part.Count(work.read_bytes), written = part.Count(work.write_bytes);
    if (read == 0 && written == 0) continue;
    auto known = std::find_if(all->begin(), all->end(), [&work](const BackgroundWork& other) {
      return other.op.id == work.op.id;
    });
    if (known == all->end()) known = all->insert(known, BackgroundWork{work.op, 0, 0});
    known->read_bytes += read;
    known->write_bytes += written;
  }
}

// Adds the requests of other programs that the part of an interval has.
void AddOthersOf(const SecondPart& part, BlockCounts* all) {
  for (const auto figure :
       {&BlockCounts::reads, &BlockCounts::read_bytes, &BlockCounts::writes,
        &BlockCounts::write_bytes, &BlockCounts::flushes, &BlockCounts::readahead}) {
    all->*figure += part.Count(part.interval->other_programs.*figure);
  }
}

// Adds what the part of an interval has of the machine and of the process. What memory holds is
// known at the end of an interval alone.
void AddHostOf(const SecondPart& part, Interval* row) {
  const Interval& interval = *part.interval;
  row->device_reads += part.Count(interval.device_reads);
  row->device_read_bytes += part.Count(interval.device_read_bytes);
  row->device_writes += part.Count(interval.device_writes);
  row->device_write_bytes += part.Count(interval.device_write_bytes);
  row->host_context_switches += part.Count(interval.host_context_switches);
  row->host_user_seconds += part.Amount(interval.host_user_seconds);
  row->host_system_seconds += part.Amount(interval.host_system_seconds);
  AddBackgroundOf(part, &row->background);
  AddOthersOf(part, &row->other_programs);
  if (!part.has_most) return;
  row->resident_bytes = interval.resident_bytes;
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
    for (size_t k = 0; k < kinds && k < interval.counts.size(); ++k) {
      const uint64_t count = part.Count(interval.counts[k]);
      row.counts[k] += count;
      row.operations += count;
    }
    if (part.of_first) AddHostOf(part, &row);
    if (!part.has_most) continue;
    for (size_t k = 0; k < kinds && k < interval.max_latency_ns.size(); ++k) {
      row.max_latency_ns[k] = std::max(row.max_latency_ns[k], interval.max_latency_ns[k]);
    }
    latency.AddBuckets(interval.latency_ns, interval.sum_ns, interval.max_ns);
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
