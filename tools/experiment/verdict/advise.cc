#include "tools/experiment/verdict/advise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "engines/registry.h"
#include "tools/experiment/verdict/advice_config.h"
#include "tools/experiment/verdict/resample.h"
#include "tools/output/table.h"
#include "tools/statistics/estimate.h"

namespace testbed {
namespace {

// Rounds before a way may be left out (experiment/command.cc).
constexpr size_t kLeastRounds = kAdviseRounds;

struct Way {
  size_t index;
  const Cell* cell;
  std::vector<double> rates;  // of the rounds that are compared
  Estimate rate;
  double device_reads, bytes, cpu_us;
  std::vector<double> chosen_pct;  // sorted shares that --cache-pct auto chose in the rounds
  double cache_pct;                // mean of the shares that the runs had; NaN when not known

  // Returns the share of the memory that the way's cache had, which --cache-pct auto and most
  // choose. Of shares that auto chose it is the median, which is one that a round ran with.
  double Share() const {
    return chosen_pct.empty() ? cache_pct : chosen_pct[chosen_pct.size() / 2];
  }
};

std::string OptionOf(const Way& way, const char* name) {
  const auto found = way.cell->options.find(name);
  return found == way.cell->options.end() ? std::string() : found->second;
}

// Returns the engine's name without the variant and the release that may follow it.
std::string EngineOfWay(const Way& way) {
  const std::string engine = OptionOf(way, "engine");
  return engine.substr(0, engine.find_first_of(":@"));
}

// Returns the options of a way as they are written on the command line.
std::string OptionsText(const Way& way) {
  const auto option = [&](const char* name) { return OptionOf(way, name); };
  std::string text = fmt::format("--io {} --page-size {}", option("io"), option("page-size"));
  if (!FindEngine(EngineOfWay(way)).capabilities.cache) return text;
  const double share = way.Share();
  return fmt::format("{} --cache-pct {}", text,
                     std::isfinite(share) ? fmt::format("{:.0f}", share) : option("cache-pct"));
}

std::string EvidenceText(const Way& way) {
  std::string rate = Short(way.rate.mean);
  if (way.rate.n > 1) rate += " ±" + Short(way.rate.half_width);
  std::string text =
      fmt::format("{} operations/s, {} device reads and {} B an operation, {} us of CPU", rate,
                  Short(way.device_reads), Short(way.bytes), Short(way.cpu_us));
  if (!way.chosen_pct.empty() && way.chosen_pct.back() - way.chosen_pct.front() > 10) {
    text += fmt::format("; rounds chose {:.0f} to {:.0f} % for the cache", way.chosen_pct.front(),
                        way.chosen_pct.back());
  }
  return text;
}

// Returns the number of rounds in which the cell was measured.
size_t RoundsOf(const ResultSet& results, size_t cell) {
  size_t rounds = 0;
  for (int round = 1; round <= results.rounds(); ++round) {
    rounds += results.finished(cell, round) ? 1 : 0;
  }
  return rounds;
}

// Returns a line for each measurement that is missing from the comparison.
std::string MissingText(const ResultSet& results) {
  constexpr size_t kNamed = 5;
  std::string text;
  std::vector<std::string> missing;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    const Cell& cell = results.cells()[i];
    if (!cell.runs()) continue;
    if (RoundsOf(results, i) < std::min<size_t>(kLeastRounds, results.rounds())) {
      missing.push_back(cell.name);
    }
  }
  for (size_t i = 0; i < std::min(missing.size(), kNamed); ++i) {
    text += fmt::format("not measured in each round: {}\n", missing[i]);
  }
  if (missing.size() > kNamed) text += fmt::format("and {} more\n", missing.size() - kNamed);
  return text.empty() ? text : "This advice is from an incomplete comparison:\n" + text;
}

// Returns why there is no advice, or "" when every way was measured with its settings in force. Without
// --ram, for example, a buffered way has all of the machine's page cache, and a direct one its share.
std::string RefusalText(const ResultSet& results, const std::vector<Way>& ways) {
  std::set<std::string> why;
  for (const Way& way : ways) {
    const std::string& refused = results.not_in_force(way.index);
    if (!refused.empty()) why.insert(refused);
  }
  if (why.empty()) return "";
  return fmt::format(
      "\nNo advice: the ways were not measured on equal terms, because not in force were {}. "
      "`testbed doctor` says what to change.\n",
      fmt::join(why, "; "));
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns whether each of the ways cannot be told from the best, by the logarithms of their rates.
std::vector<bool> Alike(const ResultSet& results, const std::vector<Way>& ways) {
  std::vector<std::vector<double>> rates;
  for (const Way& way : ways) rates.push_back(way.rates);
  // The others were left out after fewer rounds. Of one with a gap it is not known which they were.
  for (size_t i = 0; i < results.cells().size(); ++i) {
    const size_t rounds = RoundsOf(results, i);
    if (rounds == 0 || rounds >= ways[0].rates.size()) continue;
    const std::vector<double>& of_way = results.Values(i, "qps");
    const bool known =
        std::all_of(of_way.begin(), of_way.end(), [](double rate) { return rate > 0; });
    if (known && results.finished(i, static_cast<int>(rounds))) rates.push_back(of_way);
  }
  for (std::vector<double>& of_way : rates) {
    for (double& rate : of_way) rate = std::log(rate);
  }
  std::vector<bool> alike(ways.size());
  for (size_t i : NotToldFromBest(rates)) alike[i] = true;
  return alike;
}

// Returns the ways that were measured in the most rounds, the fastest first. Ways with fewer were
// left out as slower for sure, or the user stopped.
std::vector<Way> WaysOf(const ResultSet& results) {
  std::vector<Way> ways;
  std::vector<size_t> counts;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    if (RoundsOf(results, i) != 0) counts.push_back(RoundsOf(results, i));
  }
  std::sort(counts.rbegin(), counts.rend());
  // A round that was interrupted after its first way is no reason to drop the others.
  const size_t most = counts.empty() ? 0 : counts[std::min<size_t>(1, counts.size() - 1)];
  for (size_t i = 0; i < results.cells().size(); ++i) {
    if (RoundsOf(results, i) == 0 || RoundsOf(results, i) < most) continue;
    const auto mean = [&](const char* metric) { return results.Mean(i, metric); };
    std::vector<double> rates = results.Values(i, "qps");
    rates.resize(std::min(rates.size(), most));
    const Estimate rate = EstimateMean(rates);
    if (!std::isfinite(rate.mean)) continue;
    ways.push_back({i,
                    &results.cells()[i],
                    rates,
                    rate,
                    mean("device_reads"),
                    mean("bytes_per_query"),
                    mean("cpu_us"),
                    {},
                    mean("cache_pct")});
    std::vector<double>& chosen = ways.back().chosen_pct;
    for (double pct : results.Values(i, "chosen_pct")) {
      if (std::isfinite(pct)) chosen.push_back(pct);
    }
    std::sort(chosen.begin(), chosen.end());
  }
  std::sort(ways.begin(), ways.end(),
            [](const Way& a, const Way& b) { return a.rate.mean > b.rate.mean; });
  return ways;
}

// Returns the bytes of the way's cache and the whole budget.
AdvisedWay ForServers(const ResultSet& results, const Way& way) {
  AdvisedWay advised{EngineOfWay(way), OptionOf(way, "io")};
  const double ram = results.Figure(way.index, "options.ram");
  const double share = way.Share();
  const double page = results.Figure(way.index, "options.page_size");
  const auto bytes = [](double x) {
    return std::isfinite(x) && x > 0 ? static_cast<uint64_t>(x) : uint64_t{0};
  };
  advised.page_size = bytes(page);
  advised.ram_bytes = bytes(ram);
  advised.cache_bytes = bytes(ram * share / 100);
  return advised;
}

}  // namespace

double LookLevel(size_t rounds) {
  constexpr size_t kUsual = 3 * kAdviseRounds;
  constexpr double kEach = (1 - kSure) / (kUsual - kAdviseRounds + 2);
  if (rounds < kAdviseRounds) return 0;
  if (rounds <= kUsual) return kEach;
  // The sum of kUsual / (r (r - 1)) over all r > kUsual is 1.
  return kEach * kUsual / static_cast<double>(rounds * (rounds - 1));
}

std::vector<size_t> NotToldFromBest(const std::vector<std::vector<double>>& values) {
  size_t rounds = 0;
  for (const std::vector<double>& of_way : values) rounds = std::max(rounds, of_way.size());
  std::vector<size_t> alike;
  if (rounds == 0) return alike;
  double best = -HUGE_VAL;
  for (const std::vector<double>& of_way : values) {
    if (of_way.size() == rounds) best = std::max(best, MeanOf(of_way));
  }
  const double level = LookLevel(rounds);
  const double sure = level > 0 ? HonestlySignificantDifference(values, level) : HUGE_VAL;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].size() == rounds && !(best - MeanOf(values[i]) > sure)) alike.push_back(i);
  }
  return alike;
}

std::vector<std::string> Finalists(const ResultSet& results) {
  const std::vector<Way> ways = WaysOf(results);
  std::vector<std::string> names;
  if (ways.empty() || RoundsOf(results, ways[0].index) < 2) return names;
  const std::vector<bool> is_alike = Alike(results, ways);
  for (size_t i = 0; i < ways.size(); ++i) {
    if (is_alike[i]) names.push_back(ways[i].cell->name);
  }
  return names.size() < 2 ? std::vector<std::string>() : names;
}

std::string AdviceText(const ResultSet& results) {
  const std::vector<Way> ways = WaysOf(results);
  if (ways.empty()) return MissingText(results);
  if (const std::string why = RefusalText(results, ways); !why.empty()) return why;
  const Way& best = ways[0];
  const size_t rounds = RoundsOf(results, best.index);
  std::string text = fmt::format("\nAdvice: {}\n  {}\n", OptionsText(best), EvidenceText(best));
  const std::vector<bool> is_alike = Alike(results, ways);
  size_t alike = 0;
  for (size_t i = 1; i < ways.size(); ++i) {
    const bool slower = !is_alike[i];
    alike += !slower;
    if (i > 3) continue;
    text +=
        fmt::format("then {} ({:.0f} % of it{})\n  {}\n", OptionsText(ways[i]),
                    100 * ways[i].rate.mean / best.rate.mean,
                    slower ? "" : ", which cannot be told from the best", EvidenceText(ways[i]));
  }
  if (rounds == 1 && ways.size() > 1) {
    text += "One round cannot tell ways apart: repeat with --rounds 3 or more.\n";
  } else if (alike != 0) {
    text += fmt::format(
        "{} {} cannot be told from the best by {} rounds: repeat with more --rounds or longer "
        "--seconds before choosing between them.\n",
        alike, alike == 1 ? "way" : "ways", rounds);
  }
  const Circumstances& at = results.circumstances();
  if (at.foreign_runs != 0) {
    text += "! " + ForeignCpuText(at) + ": measure again on an idle machine\n";
  }
  return text + MissingText(results) + "\n" + ConfigurationText(ForServers(results, best));
}

}  // namespace testbed
