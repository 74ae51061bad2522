#include "tools/live/live_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tools/live/seconds.h"
#include "tools/live/sparkline.h"
#include "tools/output/table.h"
#include "tools/report/figures.h"

namespace testbed {
namespace {

using Kind = LiveLine::Kind;

std::string Bytes(uint64_t n) { return Size(static_cast<double>(n)); }

std::string Rounded(double rate) { return std::isnan(rate) ? "-" : Whole(std::round(rate)); }

// Returns a number of requests, which may be below 0 (BlockCounts).
std::string Requests(uint64_t n) {
  return static_cast<int64_t>(n) < 0 ? "-" + Count(0 - n) : Count(n);
}

std::string Latency(double us) { return us > 0 ? LatencyText(us) : "-"; }

// Returns the text with ASCII characters of about the same weight in place of blocks.
std::string Ascii(std::string text) {
  static constexpr std::pair<const char*, char> kWeights[] = {{"▁", '_'}, {"▂", '.'}, {"▃", '-'},
                                                              {"▄", '='}, {"▅", '+'}, {"▆", '*'},
                                                              {"▇", '%'}, {"█", '#'}};
  for (const auto& [block, weight] : kWeights) {
    for (size_t at; (at = text.find(block)) != std::string::npos;) {
      text.replace(at, std::string_view(block).size(), 1, weight);
    }
  }
  return text;
}

std::string Bar(double share, size_t width) {
  const auto full =
      static_cast<size_t>(std::round(std::clamp(share, 0.0, 1.0) * static_cast<double>(width)));
  return "[" + std::string(full, '#') + std::string(width - full, '-') + "]";
}

std::string ProgressText(const LiveState& state, double now) {
  if (!state.last()) return fmt::format("for {:.0f} s", state.Passed(now));
  const SecondReport& last = *state.last();
  if (last.ended) return fmt::format("{:.1f} s, ended", last.seconds);
  if (last.fraction <= 0) return fmt::format("{:.0f} s", last.seconds);
  return fmt::format("{} {:.0f} %, {:.0f} s, {:.0f} s left", Bar(last.fraction, 20),
                     last.fraction * 100, last.seconds,
                     last.seconds * (1 - last.fraction) / last.fraction);
}

// Returns the rate of the report; "-" for the last part of a phase when it is too short for a rate.
std::string RateOf(const SecondReport& last) { return last.rest() ? "-" : Rounded(last.rate()); }

std::string RateText(const SecondReport& last) {
  const bool any = last.operations > 0;
  const auto us = [any](double value) { return any ? Latency(value) : "-"; };
  return fmt::format("{} ops/s   p50 {}   p99 {}   p99.9 {}   slowest {}", RateOf(last),
                     us(last.p50_us), us(last.p99_us), us(last.p999_us), us(last.max_us));
}

// Adds the curves of the last seconds, the newest one on the right.
void AddCurves(const LiveState& state, size_t columns, std::vector<LiveLine>* lines) {
  constexpr size_t kName = 8, kRange = 24;
  const size_t width = columns > kName + kRange + 8 ? columns - kName - kRange : 8;
  const size_t n = std::min(width, state.seconds().size());
  const std::vector<PhaseSecond> shown(state.seconds().end() - static_cast<ptrdiff_t>(n),
                                       state.seconds().end());
  const double median = MedianRate({state.seconds().begin(), state.seconds().end()});
  std::vector<double> rate, p99;
  std::string stalled;
  double most_rate = 0, least_p99 = NAN, most_p99 = NAN;
  for (const PhaseSecond& second : shown) {
    rate.push_back(second.rate);
    p99.push_back(second.p99_us > 0 ? second.p99_us : NAN);
    most_rate = std::fmax(most_rate, rate.back());
    least_p99 = std::fmin(least_p99, p99.back());
    most_p99 = std::fmax(most_p99, p99.back());
    stalled += IsStalled(second, median) ? '!' : ' ';
  }
  lines->push_back(
      {fmt::format("ops/s   {}  0 to {}", Sparkline(rate, 0, most_rate), Rounded(most_rate))});
  if (!std::isnan(least_p99)) {
    lines->push_back(
        {fmt::format("p99     {}  {} to {}", Sparkline(p99, least_p99, most_p99, SparkScale::kLog),
                     Latency(least_p99), Latency(most_p99))});
  }
  if (stalled.find('!') != std::string::npos) {
    lines->push_back({"stalled " + stalled, Kind::kAlarm});
  } else {
    lines->push_back({""});
  }
}

// Adds the IO of each cause in the last second, at the levels that are known, and that of the
// device.
void AddLedger(const SecondReport& last, std::vector<LiveLine>* lines) {
  const char* level = last.counts_in_kernel ? "kernel" : "file";
  if (!last.counts_in_kernel && !last.counts_files && !last.device) return;
  lines->push_back({fmt::format("{:<28}{:>10}{:>10}{:>10}{:>10}", fmt::format("ledger ({})", level),
                                "reads", "read", "writes", "written"),
                    Kind::kTitle});
  const auto add = [lines](const std::string& name, uint64_t reads, uint64_t read_bytes,
                           uint64_t writes, uint64_t write_bytes) {
    lines->push_back({fmt::format("{:<28}{:>10}{:>10}{:>10}{:>10}", name, Requests(reads),
                                  Bytes(read_bytes), Requests(writes), Bytes(write_bytes))});
  };
  std::vector<const SecondReport::Cause*> causes;
  for (const SecondReport::Cause& cause : last.causes) causes.push_back(&cause);
  const auto weight = [&last](const SecondReport::Cause* c) {
    return last.counts_in_kernel ? c->kernel.read_bytes + c->kernel.write_bytes
                                 : c->file.read_bytes + c->file.write_bytes;
  };
  std::stable_sort(causes.begin(), causes.end(),
                   [&](const auto* a, const auto* b) { return weight(a) > weight(b); });
  for (const SecondReport::Cause* cause : causes) {
    if (weight(cause) == 0) continue;
    const std::string name =
        "  " + OneLine(cause->name) + (cause->ground == "background" ? " (background)" : "");
    if (last.counts_in_kernel) {
      const BlockCounts& k = cause->kernel;
      add(name, k.reads, k.read_bytes, k.writes, k.write_bytes);
    } else {
      const FileCounts& f = cause->file;
      add(name, f.reads, f.read_bytes, f.writes, f.write_bytes);
    }
  }
  if (last.device) {
    const BlockCounts& d = *last.device;
    add("  the whole device", d.reads, d.read_bytes, d.writes, d.write_bytes);
  }
}

void AddMemory(const SecondReport& last, std::vector<LiveLine>* lines) {
  if (!last.memory) {
    const uint64_t bytes = last.resident_bytes;  // 0: not known
    lines->push_back({"memory  process " + (bytes > 0 ? Bytes(bytes) : "-")});
    return;
  }
  const SecondReport::Memory& m = *last.memory;
  const double used = static_cast<double>(m.process + m.page_cache + m.kernel);
  lines->push_back(
      {fmt::format("memory  {} of {}: process {}, page cache {}, kernel {}",
                   Bar(m.limit > 0 ? used / static_cast<double>(m.limit) : 0, 16), Bytes(m.limit),
                   Bytes(m.process), Bytes(m.page_cache), Bytes(m.kernel))});
  lines->push_back({fmt::format("        {}, {} read again soon after",
                                Counted(m.limit_hits, "reclaim"), Counted(m.refaults, "page"))});
}

}  // namespace

std::vector<LiveLine> LiveLines(const LiveState& state, double now, const LiveLook& look) {
  std::vector<LiveLine> lines;
  lines.push_back({fmt::format("{}   {}   {}", OneLine(state.label()), OneLine(state.phase()),
                               ProgressText(state, now)),
                   Kind::kTitle});
  if (state.StandsStill(now)) {
    lines.push_back(
        {fmt::format("the run stands still: no report for {:.0f} s", state.Silence(now)),
         Kind::kAlarm});
  } else if (state.last()) {
    lines.push_back({RateText(*state.last()), state.stalled() ? Kind::kAlarm : Kind::kPlain});
  } else {
    lines.push_back({"no second of it has passed yet, or it has no operations"});
  }
  if (state.last()) {
    AddCurves(state, look.columns, &lines);
    AddMemory(*state.last(), &lines);
    lines.push_back({""});
    AddLedger(*state.last(), &lines);
  }
  if (lines.size() > look.rows) lines.resize(look.rows);
  for (LiveLine& line : lines) {
    if (look.ascii) line.text = Ascii(std::move(line.text));
    line.text = FirstCharacters(line.text, look.columns);
  }
  return lines;
}

std::string LiveSummary(const LiveState& state, double now) {
  const std::string begin = fmt::format("{} {}", OneLine(state.label()), OneLine(state.phase()));
  if (state.StandsStill(now)) {
    return fmt::format("{}: after {:.1f} s stands still, no report for {:.0f} s", begin,
                       state.last()->seconds, state.Silence(now));
  }
  if (!state.last()) return fmt::format("{}: begins", begin);
  const SecondReport& last = *state.last();
  std::string text = fmt::format("{}: {:.1f} s, {} ops/s, p99 {}, slowest {}", begin, last.seconds,
                                 RateOf(last), last.operations > 0 ? Latency(last.p99_us) : "-",
                                 last.operations > 0 ? Latency(last.max_us) : "-");
  if (last.device) {
    text += fmt::format(", device read {} written {}", Bytes(last.device->read_bytes),
                        Bytes(last.device->write_bytes));
  }
  if (last.memory) {
    text += fmt::format(", memory {} of {}",
                        Bytes(last.memory->process + last.memory->page_cache + last.memory->kernel),
                        Bytes(last.memory->limit));
  }
  return text + (state.stalled() ? ", stalled" : "");
}

}  // namespace testbed
