#include "tools/trace/workload_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "device/error.h"
#include "tools/option_values.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

constexpr char kOwn[] =
    "a length in ms, s, min or h (100ms at least), or @ and a rate (0.001 at least), or both: "
    "'ycsb-a 60s @ 5000'";
constexpr double kLeastSeconds = 0.1, kMostSeconds = 1e7, kLeastRate = 0.001, kMostRate = 1e9;

// One entry of the list.
struct Entry {
  std::string name, after_colon;
  bool has_colon = false;
  double seconds = 0, rate = 0;  // 0: --seconds and --rate decide
};

std::string_view Trimmed(std::string_view text, bool behind = true) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (behind && !text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool TakesTrace(const WorkloadInfo& info) {
  const auto trace = [](const auto& option) { return option.first == "trace"; };
  return std::any_of(info.extra_options.begin(), info.extra_options.end(), trace) ||
         std::any_of(info.run_options.begin(), info.run_options.end(), trace);
}

// Parses a number that one of the units follows. Returns nothing for any other text, and for a
// value below `least` or above `most`.
template <size_t kCount>
std::optional<double> ParseWithUnit(std::string_view text,
                                    const std::pair<const char*, double> (&units)[kCount],
                                    double least, double most) {
  double x = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, x, std::chars_format::fixed);
  if (error != std::errc()) return {};
  const std::string_view unit(at, static_cast<size_t>(end - at));
  for (const auto& [name, scale] : units) {
    if (unit == name && x * scale >= least && x * scale <= most) return x * scale;
  }
  return {};
}

std::optional<double> ParseSeconds(std::string_view text) {
  static constexpr std::pair<const char*, double> kUnits[] = {
      {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};
  return ParseWithUnit(text, kUnits, kLeastSeconds, kMostSeconds);
}

std::optional<double> ParseRate(std::string_view text) {
  static constexpr std::pair<const char*, double> kUnits[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}};
  return ParseWithUnit(text, kUnits, kLeastRate, kMostRate);
}

// Parses NAME[:TIMES] [LENGTH] [@ RATE] or, for a workload that reads a trace, NAME:FILE, where
// FILE may have blanks. `text` has no blanks in front.
Entry ParseEntry(const std::string& option, std::string_view text) {
  Entry entry;
  const std::string_view whole = Trimmed(text);
  entry.name = whole.substr(0, whole.find_first_of(": @"));
  const WorkloadInfo& info = FindKnownWorkload(entry.name);
  std::string_view rest = text.substr(entry.name.size());
  entry.has_colon = rest.starts_with(':');
  if (entry.has_colon && TakesTrace(info)) {
    entry.after_colon = rest.substr(1);
    return entry;
  }
  rest = Trimmed(rest);
  if (entry.has_colon) {
    entry.after_colon = rest.substr(1, rest.find_first_of(" @") - 1);
    rest.remove_prefix(1 + entry.after_colon.size());
  }
  const size_t at = rest.find('@');
  const std::string_view length = Trimmed(rest.substr(0, at));
  const auto refuse = [&] {
    RefuseValue(option, std::string(whole), entry.name + " with " + kOwn);
  };
  if (!length.empty()) {
    const std::optional<double> seconds = ParseSeconds(length);
    if (!seconds) refuse();
    entry.seconds = *seconds;
  }
  if (at != std::string_view::npos) {
    const std::optional<double> rate = ParseRate(Trimmed(rest.substr(at + 1)));
    if (!rate) refuse();
    entry.rate = *rate;
  }
  return entry;
}

// Parses the NUMBER of NAME:NUMBER; `part` is the whole of it, for the message.
size_t ParseTimes(const std::string& option, const std::string& part, const std::string& number) {
  size_t n = 0;
  const char* end = number.data() + number.size();
  const auto [at, error] = std::from_chars(number.data(), end, n);
  if (error != std::errc() || at != end || n < 1 || n > 1000) {
    RefuseValue(option, part, "NAME:NUMBER with a number from 1 to 1000");
  }
  return n;
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
  if ((entry.seconds == 0 && entry.rate == 0) || (!info.loads && !info.only_settles)) return;
  throw Error(Error::kUsage,
              fmt::format("{} gives {} a length or a rate of its own, and it {}; leave them out",
                          option, entry.name,
                          info.loads ? "loads until all rows are there"
                                     : "ends when the engine is at rest"));
}

}  // namespace

void SetWorkloads(const std::string& option, const std::string& text, RunOptions* options) {
  options->workloads.clear();
  options->phase_seconds.clear();
  options->phase_rates.clear();
  std::string trace;
  bool settles = false;
  for (const std::string& part : Split(text, ',')) {
    const Entry entry = ParseEntry(option, Trimmed(part, false));
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
  }
  const auto none = [](const std::vector<double>& own) {
    return std::all_of(own.begin(), own.end(), [](double x) { return x == 0; });
  };
  options->at_once = settles || !none(options->phase_seconds) || !none(options->phase_rates);
  if (none(options->phase_seconds)) options->phase_seconds.clear();
  if (none(options->phase_rates)) options->phase_rates.clear();
}

std::string WorkloadText(const RunOptions& options) {
  std::string text;
  size_t measured = 0;
  for (const std::string& name : options.workloads) {
    text += (text.empty() ? "" : ",") + name;
    if (FindWorkload(name).loads) continue;
    if (const double seconds = options.OwnSeconds(measured)) text += fmt::format(" {}s", seconds);
    if (const double rate = options.OwnRate(measured)) text += fmt::format(" @ {}", rate);
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
    ++measured;
    if (seconds == 0 && rate == 0) continue;
    const auto workload = info.make(dataset, options.workload);
    if (seconds > 0 && workload->operations() != 0) {
      throw Error(
          Error::kUsage,
          fmt::format("--workload gives {} a length of its own, and it ends by itself; leave "
                      "it out",
                      name));
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
