#include "tools/live/second_reporter.h"

#include <utility>

#include "tools/report/figures.h"

namespace testbed {
namespace {

double Us(uint64_t ns) { return static_cast<double>(ns) / 1000; }

// Returns a percentile of a second's latency in microseconds; 0 where too few operations tell it.
double ToldUs(uint64_t ns, uint64_t operations, double share) {
  return TellsPercentile(static_cast<double>(operations), share) ? Us(ns) : 0;
}

// Returns whether anything was counted. A bio that joins a waiting request has bytes and makes no
// request, and numbers of requests may cancel each other out.
bool Moves(const FileCounts& file, const BlockCounts& kernel) {
  return file.reads + file.writes + file.syncs > 0 || kernel != BlockCounts{};
}

}  // namespace

SecondReporter::SecondReporter(std::string phase, std::vector<OpKind> ops, Levels levels,
                               const LedgerCounts& border, Offer offer)
    : phase_(std::move(phase)), ops_(std::move(ops)), levels_(levels), offer_(std::move(offer)) {
  if (levels_.any) last_ = TotalsOf(border);
}

std::vector<SecondReporter::Totals> SecondReporter::TotalsOf(const LedgerCounts& counts) {
  std::vector<Totals> totals(kMaxOps + 1);
  for (size_t i = 0; i < kMaxOps; ++i) {
    totals[i] = {counts.ops[i].FileTotal(), counts.ops[i].KernelTotal()};
  }
  for (const LedgerCounts::Foreign& foreign : counts.foreign) {
    totals[kMaxOps].kernel += foreign.counts;
  }
  return totals;
}

void SecondReporter::AddCauses(SecondReport* second) {
  if (!levels_.any) return;
  std::vector<Totals> now = TotalsOf(Ledger::Get().Counts());
  const std::vector<OpKind> defined = DefinedOps();
  for (size_t i = 0; i < now.size(); ++i) {
    FileCounts file = now[i].file;
    BlockCounts kernel = now[i].kernel;
    file -= last_[i].file;
    kernel -= last_[i].kernel;
    if (!Moves(file, kernel)) continue;
    if (i == kMaxOps) {
      second->causes.push_back({"other threads", "other", file, kernel});
    } else if (i < defined.size()) {
      const bool asked = OpGround(defined[i]) == Ground::kForeground;
      second->causes.push_back(
          {OpName(defined[i]), asked ? "foreground" : "background", file, kernel});
    }
  }
  last_ = std::move(now);
}

void SecondReporter::Second(const PhaseOptions::Progress& progress) {
  Send(*progress.interval, progress.fraction, false);
}

void SecondReporter::Rest(const PhaseResult& result) {
  if (!result.series.empty()) Send(result.series.back(), 1, true);
}

void SecondReporter::Send(const Interval& interval, double fraction, bool ended) {
  SecondReport second{.phase = phase_};
  second.seconds = interval.end_seconds;
  second.length = interval.end_seconds - std::exchange(last_seconds_, interval.end_seconds);
  second.fraction = fraction;
  second.ended = ended;
  second.operations = interval.operations;
  second.p50_us = ToldUs(interval.p50_ns, interval.operations, 0.5);
  second.p99_us = ToldUs(interval.p99_ns, interval.operations, 0.99);
  second.p999_us = ToldUs(interval.p999_ns, interval.operations, 0.999);
  second.max_us = Us(interval.max_ns);
  for (size_t k = 0; k < ops_.size(); ++k) {
    second.by_operation.push_back(
        {OpName(ops_[k]), interval.counts[k], Us(interval.max_latency_ns[k])});
  }
  second.counts_files = levels_.any && levels_.files;
  second.counts_in_kernel = levels_.any && levels_.kernel;
  AddCauses(&second);
  if (levels_.device) {
    second.device = {interval.device_reads, interval.device_read_bytes, interval.device_writes,
                     interval.device_write_bytes};
  }
  if (interval.memory) {
    const MemoryUsage& usage = *interval.memory;
    second.memory = {usage.limit,   usage.anon + usage.shmem,
                     usage.file,    usage.kernel,
                     usage.failcnt, usage.refaults};
  }
  second.resident_bytes = interval.resident_bytes;
  if (not_sent_) {
    not_sent_->Append(second);
    second = *std::exchange(not_sent_, std::nullopt);
  }
  if (!offer_({{"second", SecondJson(second)}})) not_sent_ = std::move(second);
}

}  // namespace testbed
