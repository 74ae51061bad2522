#include "tools/trace/workload_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "device/error.h"
#include "tools/option_values.h"
#include "tools/rate/rate_text.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

constexpr char kOwn[] =
    "a length in ms, s, min or h (100ms at least), or @ and a rate (0.001 at least), or both: "
    "'ycsb-a 60s @ 5000'; a rate that changes is 1k..8k, '1k^8k 1s/10s' or "
    "1k~8k/30s; 'ycsb-a 60s ~2 @ 5000' has other popular rows than ~1";
constexpr double kLeastSeconds = 0.1;
// The characters that may stand between and around the parts of an entry. Newlines are among them,
// because a script may break a list over lines.
constexpr std::string_view kBlanks = " \t\n\r";

// One entry of the list.
struct Entry {
  std::string name, after_colon;
  bool has_colon = false;
  double seconds = 0, rate = 0;  // 0: --seconds and --rate decide
  std::string curve;             // how a rate changes, whose mean is `rate`
  uint32_t popular_rows = 0;     // 0: the rows of all entries without ~N
};

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  text.remove_suffix(text.size() - (text.find_last_not_of(kBlanks) + 1));
  return text;
}

bool TakesTrace(const WorkloadInfo& info) {
  const auto trace = [](const auto& option) { return option.first == "trace"; };
  return std::any_of(info.extra_options.begin(), info.extra_options.end(), trace) ||
         std::any_of(info.run_options.begin(), info.run_options.end(), trace);
}

// Parses a number from 1 to 1000. Returns nothing for any other text.
std::optional<uint32_t> ParseNumber(std::string_view text) {
  uint32_t n = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc() || at != end || n < 1 || n > 1000) return {};
  return n;
}

// Parses what follows the @ of an entry. Returns false for what is no rate.
bool ParseOwnRate(std::string_view text, Entry* entry) {
  if (const std::optional<double> rate = ParseRate(text)) {
    entry->rate = *rate;
    return true;
  }
  // The mean and the text of a ramp do not depend on its length.
  const std::optional<RateCurve> curve = ParseRateCurve(text, 1);
  if (!curve) return false;
  entry->rate = curve->Mean();
  entry->curve = RateCurveText(*curve);
  return true;
}

// Parses NAME[:TIMES] [LENGTH] [~N] [@ RATE] or, for a workload that reads a trace, NAME:FILE,
// where FILE may have blanks within.
Entry ParseEntry(const std::string& option, std::string_view text) {
  Entry entry;
  const std::string_view whole = Trimmed(text);
  entry.name = WorkloadNameOf(whole);
  const WorkloadInfo& info = FindKnownWorkload(entry.name);
  std::string_view rest = whole.substr(entry.name.size());
  entry.has_colon = rest.starts_with(':');
  if (entry.has_colon && TakesTrace(info)) {
    entry.after_colon = rest.substr(1);
    return entry;
  }
  rest = Trimmed(rest);
  if (entry.has_colon) {
    entry.after_colon = rest.substr(1, rest.find_first_of("@" + std::string(kBlanks)) - 1);
    rest.remove_prefix(1 + entry.after_colon.size());
  }
  const size_t at = rest.find('@'), tilde = rest.substr(0, at).find('~');
  const std::string_view length = Trimmed(rest.substr(0, std::min(at, tilde)));
  const auto refuse = [&] {
    RefuseValue(option, std::string(whole), entry.name + " with " + kOwn);
  };
  if (!length.empty()) {
    const std::optional<double> seconds = ParseSeconds(length, kLeastSeconds);
    if (!seconds) refuse();
    entry.seconds = *seconds;
  }
  if (tilde != std::string_view::npos) {
    const std::optional<uint32_t> number =
        ParseNumber(Trimmed(rest.substr(0, at).substr(tilde + 1)));
    if (!number) refuse();
    entry.popular_rows = *number;
  }
  if (at != std::string_view::npos && !ParseOwnRate(Trimmed(rest.substr(at + 1)), &entry)) refuse();
  return entry;
}

// Parses the NUMBER of NAME:NUMBER; `part` is the whole of it, for the message.
size_t ParseTimes(const std::string& option, const std::string& part, const std::string& number) {
  const std::optional<uint32_t> times = ParseNumber(number);
  if (!times) RefuseValue(option, part, "NAME:NUMBER with a number from 1 to 1000");
  return *times;
}

void SetTrace(const std::string& option, const Entry& entry, std::string* trace,
              RunOptions* options) {
  const std::string& file = entry.after_colon;
  if (file.empty()) {
    RefuseValue(option, entry.name + ":", entry.name + ":FILE with the file of a trace");
  }
  if (!trace->empty() && file != *trace) {
    throw Error(Error::kUsage,
                fmt::format("{} names two traces, {} and {}; replay them in runs of their own, "
                            "the second with --reuse",
                            option, *trace, file));
  }
  *trace = options->workload.extra["trace"] = file;
}

void CheckOwn(const std::string& option, const Entry& entry, const WorkloadInfo& info) {
  const bool has = entry.seconds > 0 || entry.rate > 0;
  if ((!has && entry.popular_rows == 0) || (!info.loads && !info.only_settles)) return;
  throw Error(Error::kUsage,
              fmt::format("{} gives {} {} of its own, and it {}; leave them out", option,
                          entry.name, has ? "a length or a rate" : "popular rows",
                          info.loads ? "loads until all rows are there"
                                     : "ends when the engine is at rest"));
}

// Empties the list when all of its values are `none`. Returns whether they were.
template <typename T>
bool ClearIfAll(const T& none, std::vector<T>* list) {
  const bool all = std::count(list->begin(), list->end(), none) == std::ssize(*list);
  if (all) list->clear();
  return all;
}

// Throws Error (kUsage) when the curve of a rate asks for nothing in a phase of this length, or has
// no length.
void CheckCurve(const std::string& name, const std::string& text, double seconds) {
  const bool ramp = text.find("..") != std::string::npos;
  if (ramp && seconds == 0) {
    throw Error(
        Error::kUsage,
        fmt::format("--workload gives {} a rate that rises or falls over the phase's length, "
                    "{}, and --operations ends the phase; give it a length, such as '{} 60s "
                    "@ {}'",
                    name, text, name, text));
  }
  if (seconds == 0 || ParseRateCurve(text, seconds)->Until(seconds) >= 1) return;
  throw Error(Error::kUsage, fmt::format("--workload gives {} the rate {}, which is less than one "
                                         "operation in its {} seconds; give more of either",
                                         name, text, seconds));
}

}  // namespace

std::string WorkloadNameOf(std::string_view entry) {
  const std::string_view text = Trimmed(entry);
  return std::string(text.substr(0, text.find_first_of(":@" + std::string(kBlanks))));
}

void SetWorkloads(const std::string& option, const std::string& text, RunOptions* options) {
  options->workloads.clear();
  options->phase_seconds.clear();
  options->phase_rates.clear();
  options->phase_curves.clear();
  options->phase_popular.clear();
  std::vector<uint32_t>& popular = options->phase_popular;
  std::string trace;
  bool settles = false;
  for (const std::string& part : Split(text, ',')) {
    const Entry entry = ParseEntry(option, part);
    const WorkloadInfo& info = FindKnownWorkload(entry.name);
    CheckOwn(option, entry, info);
    size_t times = 1;
    if (entry.has_colon && TakesTrace(info)) {
      SetTrace(option, entry, &trace, options);
    } else if (entry.has_colon) {
      times = ParseTimes(option, part, entry.after_colon);
    }
    options->workloads.insert(options->workloads.end(), times, entry.name);
    settles = settles || info.only_settles;
    if (info.loads) continue;
    options->phase_seconds.insert(options->phase_seconds.end(), times, entry.seconds);
    options->phase_rates.insert(options->phase_rates.end(), times, entry.rate);
    options->phase_curves.insert(options->phase_curves.end(), times, entry.curve);
    popular.insert(popular.end(), times, std::max(1u, entry.popular_rows));
  }
  options->at_once = settles;
  options->at_once |= !ClearIfAll(0.0, &options->phase_seconds);
  options->at_once |= !ClearIfAll(0.0, &options->phase_rates);
  options->at_once |= !ClearIfAll(1u, &popular);
  ClearIfAll(std::string(), &options->phase_curves);
}

std::string WorkloadText(const RunOptions& options) {
  std::string text;
  size_t measured = 0;
  for (const std::string& name : options.workloads) {
    text += (text.empty() ? "" : ",") + name;
    if (FindWorkload(name).loads) continue;
    if (const double seconds = options.OwnSeconds(measured)) text += fmt::format(" {}s", seconds);
    const uint32_t popular = options.OwnPopular(measured);
    if (popular != 1) text += fmt::format(" ~{}", popular);
    const std::string curve = options.OwnCurve(measured);
    const double rate = options.OwnRate(measured);
    if (rate > 0) text += curve.empty() ? fmt::format(" @ {}", rate) : " @ " + curve;
    ++measured;
  }
  return text;
}

void CheckOwnPhases(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset) {
  size_t measured = 0;
  for (const std::string& name : options.workloads) {
    const WorkloadInfo& info = FindWorkload(name);
    if (info.loads) continue;
    const double seconds = options.OwnSeconds(measured), own = options.OwnRate(measured);
    const double rate = own > 0 ? own : options.rate;
    const std::string curve = options.OwnCurve(measured);
    const uint32_t popular = options.OwnPopular(measured++);
    if (seconds == 0 && rate == 0 && popular == 1) continue;
    const auto workload = info.make(dataset, options.workload);
    if ((seconds > 0 || !curve.empty()) && workload->operations() != 0) {
      throw Error(Error::kUsage,
                  fmt::format("--workload gives {} {}, and it ends by itself; leave "
                              "it out",
                              name, seconds > 0 ? "a length of its own" : "a rate that changes"));
    }
    if (popular != 1 && !workload->has_popular_rows()) {
      throw Error(
          Error::kUsage,
          fmt::format("--workload gives {} popular rows of its own, ~{}, and it has none; "
                      "leave that out, or give --distribution zipfian, scrambled or hot and "
                      "a workload that draws its rows by it",
                      name, popular));
    }
    if (!curve.empty()) {
      CheckCurve(name, curve, seconds > 0 ? seconds : options.seconds.value_or(0));
    }
    if (rate > 0 && workload->timed()) {
      throw Error(
          Error::kUsage,
          fmt::format("{} gives {} a rate, and it sets the starts of its operations itself; "
                      "leave one of them out",
                      own > 0 ? "--workload" : "--rate", name));
    }
  }
}

}  // namespace testbed
