#include "tools/rate/rate_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "device/account/operations.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

constexpr double kLowest = 1.0 / 64;  // lowest rate, as a share of the closed loop's
constexpr double kNear = 1.05;

bool Limits(const RateLimit& limit, OpKind op) {
  return limit.operation.empty() || limit.operation == OpName(op);
}

double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

std::string RateText(double rate) {
  return rate >= 100 ? Count(static_cast<uint64_t>(std::llround(rate))) : Short(rate);
}

std::string AtShare(const RateStep& step, const RateLimit& limit) {
  if (step.latency.count() == 0) return "no such operation";
  return Short(Microseconds(step.latency.Percentile(limit.share))) + " us";
}

// Returns the same of a step that missed the limit. Operations that were left undone are in no
// percentile, so a step may miss by them though its percentile is below the limit.
std::string AtMissedShare(const RateStep& step, const RateLimit& limit) {
  const bool undone = !step.KeptUp() || step.undone != 0;
  return AtShare(step, limit) + (undone ? ", and operations were left undone" : "");
}

// Returns a figure of a step; null when no operation tells it.
nlohmann::json Told(bool known, double figure) {
  return known ? nlohmann::json(figure) : nlohmann::json();
}

nlohmann::json StepJson(const RateStep& step, const RateLimit& limit) {
  const HistogramCounts& latency = step.latency;
  const auto us = [&latency](uint64_t ns) { return Told(latency.count() > 0, Microseconds(ns)); };
  nlohmann::json j = {{"rate", step.rate()},
                      {"seconds", step.seconds},
                      {"count", step.count()},
                      {"p50_us", us(latency.Percentile(0.5))},
                      {"p99_us", us(latency.Percentile(0.99))},
                      {"limited_us", us(latency.Percentile(limit.share))},
                      {"max_us", us(latency.max_ns())},
                      {"slower_share", Told(step.count() + step.undone > 0, step.slower_share())},
                      {"undone", step.undone},
                      {"meets", step.Meets(limit)}};
  if (step.untold != 0) j["latency_count"] = latency.count();
  if (step.target > 0) {
    j["target_rate"] = step.target;
    j["backlog_seconds"] = step.backlog_seconds;
    j["kept_up"] = step.KeptUp();
  }
  return j;
}

// Returns how many of the times are not below the limit, by the values that percentiles give them
// (HistogramCounts::Percentile): a time stands for the middle of its bucket, but not for more than
// the longest time.
uint64_t NotFaster(const HistogramCounts& times, const RateLimit& limit) {
  uint64_t n = 0;
  for (const auto& [lower, count] : times.Buckets()) {
    const uint64_t middle = Histogram::Middle(Histogram::BucketOf(lower));
    if (std::min(middle, times.max_ns()) >= limit.limit_ns) n += count;
  }
  return n;
}

// Returns the time until a thread of the part had ended its operations, the mean of all threads.
double MeanThreadSeconds(const PhaseResult& part) {
  const std::vector<double>& all = part.thread_seconds;
  if (all.empty()) return part.seconds;
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

// Returns the step with that target, which must exist.
const RateStep& StepOf(const FoundRate& found, double target) {
  return *std::find_if(found.steps.begin(), found.steps.end(),
                       [target](const RateStep& step) { return step.target == target; });
}

// Returns the lowest rate above `rate` that missed the limit; null when none was tried.
const RateStep* NextMiss(const FoundRate& found, double rate) {
  const RateStep* next = nullptr;
  for (const RateStep& step : found.steps) {
    if (step.target <= rate || step.Meets(found.limit)) continue;
    if (next == nullptr || step.target < next->target) next = &step;
  }
  return next;
}

std::string FoundText(const FoundRate& found) {
  const RateStep& best = StepOf(found, found.rate);
  std::string text = fmt::format("holds up to {} ops/s ({} of {})", RateText(found.rate),
                                 AtShare(best, found.limit), Counted(best.count(), "operation"));
  if (const RateStep* miss = NextMiss(found, found.rate)) {
    text += fmt::format("; at {} ops/s it was {}", RateText(miss->target),
                        AtMissedShare(*miss, found.limit));
  }
  if (found.again.empty()) return text;
  const RateStep& again = found.again[0];
  text += "; measured once more at that rate: ";
  if (again.Meets(found.limit)) return text + AtShare(again, found.limit);
  return text + AtMissedShare(again, found.limit) +
         ", which misses it: that rate is not sure (a longer --seconds makes it surer)";
}

// The bounds of a search: the highest rate that met the limit (0: none did) and the lowest that
// missed it (or, when `missed` is false, the closed loop's rate, which is not tried yet).
struct Bounds {
  double low = 0, high = 0;
  bool missed = false;

  // Returns the rate to try next; nothing when the search is at its end.
  std::optional<double> Next(double top) const {
    if (low == 0) {
      const double next = high / 2;
      return next < top * kLowest * 0.99 ? std::nullopt : std::optional(next);
    }
    if (high / low > kNear) return std::sqrt(low * high);
    return missed || low == top ? std::nullopt : std::optional(top);
  }
};

}  // namespace

void RateStep::Add(const PhaseResult& part, const RateLimit& limit) {
  seconds += part.seconds;
  thread_seconds += MeanThreadSeconds(part);
  all_operations += part.operations() - part.extra_operations;
  for (const PhaseResult::Op& op : part.ops) {
    if (!Limits(limit, op.op)) continue;
    // A thread without a rate has no intended starts, even beside clients that have one.
    const HistogramCounts& told = target > 0 && op.intended.count() > 0 ? op.intended : op.latency;
    latency.Add(told);
    untold += static_cast<uint64_t>(
        std::llround(static_cast<double>(told.count()) * (1 / op.told() - 1)));
    undone += NotFaster(op.undone, limit);
  }
  slower = NotFaster(latency, limit);
  backlog_seconds = std::max(backlog_seconds, part.backlog_seconds);
  if (ended_because.empty()) ended_because = part.ended_because;
}

double RateStep::EachStandsFor() const {
  if (latency.count() == 0) return 1;
  return static_cast<double>(count()) / static_cast<double>(latency.count());
}

double RateStep::slower_share() const {
  const uint64_t all = count() + undone;
  if (all == 0) return 0;
  return (static_cast<double>(slower) * EachStandsFor() + static_cast<double>(undone)) /
         static_cast<double>(all);
}

bool RateStep::KeptUp() const {
  if (target <= 0) return true;
  constexpr double kDone = 0.98;
  // A thread whose last operation is long ends late. Nothing was due of the others meanwhile.
  const double due = target * thread_seconds;
  // The number of random arrivals has its root as standard deviation; three of these are allowed.
  const double chance = arrivals == Arrivals::kExponential ? 3 * std::sqrt(due) : 0;
  return static_cast<double>(all_operations) + chance + 1 >= kDone * due;
}

bool RateStep::Meets(const RateLimit& limit) const {
  if (count() == 0 || !KeptUp() || latency.Percentile(limit.share) >= limit.limit_ns) return false;
  return undone == 0 || slower_share() <= 1 - limit.share;
}

bool RateStep::MissesForSure(const RateLimit& limit, uint64_t needed) const {
  return static_cast<double>(slower) + static_cast<double>(undone) / EachStandsFor() >
         (1 - limit.share) * static_cast<double>(needed);
}

std::string FoundRate::Sentence() const {
  const std::string head =
      fmt::format("{}, {}: {} ", workload, Counted(clients, "thread"), limit.Text());
  switch (outcome) {
    case Outcome::kFound:
      return head + FoundText(*this);
    case Outcome::kLowestMisses:
      return head + fmt::format(
                        "is missed even at the lowest rate that was tried, {} ops/s, 1/{:.0f} of "
                        "the closed loop's: there it was {}, so the rate is not the cause",
                        RateText(rate), steps[0].rate() / rate,
                        AtMissedShare(StepOf(*this, rate), limit));
    case Outcome::kHighestMeets:
      return head + fmt::format(
                        "is met even at {} ops/s ({}), the most that this many clients reach in a "
                        "closed loop: more --threads may reach more",
                        RateText(rate), AtShare(StepOf(*this, rate), limit));
    default:
      break;
  }
  const std::string why = steps.empty() ? "" : steps.back().ended_because;
  return head + "was not decided: " + (why.empty() ? "the run was stopped" : why);
}

nlohmann::json FoundRate::ToJson() const {
  static constexpr const char* kNames[] = {"found", "lowest misses", "highest meets", "ended"};
  nlohmann::json j = {{"name", workload},
                      {"limit", limit.Text()},
                      {"limit_us", Microseconds(limit.limit_ns)},
                      {"limited_operation", limit.operation},
                      {"limited_share", limit.share},
                      {"operations_needed", limit.OperationsNeeded()},
                      {"outcome", kNames[static_cast<size_t>(outcome)]},
                      {"sentence", Sentence()},
                      {"steps", nlohmann::json::array()}};
  const bool met = outcome == Outcome::kFound || outcome == Outcome::kHighestMeets;
  j["found_rate"] = met ? nlohmann::json(rate) : nlohmann::json();
  j["measured_rate"] = rate > 0 ? nlohmann::json(rate) : nlohmann::json();
  for (const RateStep& step : steps) j["steps"].push_back(StepJson(step, limit));
  if (!again.empty()) j["again"] = StepJson(again[0], limit);
  return j;
}

void SearchRate(const MeasureRate& measure, const std::function<bool()>& stop, FoundRate* found) {
  using enum FoundRate::Outcome;
  bool ended = false;
  // A step that was stopped before it began is not recorded.
  const auto step = [&](double rate) {
    RateStep tried = measure(rate);
    ended = stop() || tried.seconds <= 0 || !tried.ended_because.empty();
    if (tried.seconds > 0 || !tried.ended_because.empty()) found->steps.push_back(tried);
    return tried;
  };
  const double top = step(0).rate();
  Bounds bounds{.high = top};
  while (!ended) {
    const std::optional<double> next = bounds.Next(top);
    if (!next) break;
    const bool meets = step(*next).Meets(found->limit);
    if (ended) break;
    (meets ? bounds.low : bounds.high) = *next;
    if (!meets) bounds.missed = true;
  }
  found->outcome = ended               ? kEnded
                   : bounds.low == 0   ? kLowestMisses
                   : bounds.low == top ? kHighestMeets
                                       : kFound;
  found->rate = found->outcome == kEnded ? 0 : bounds.low == 0 ? bounds.high : bounds.low;
}

}  // namespace testbed
