#include "tools/experiment/verdict/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engines/registry.h"
#include "tools/experiment/verdict/resample.h"
#include "tools/output/statistics.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

struct Way {
  size_t index;
  const Cell* cell;
  Estimate rate;
  double device_reads, bytes, cpu_us;
  std::vector<double> chosen_pct;  // sorted shares that --cache-pct auto chose in the rounds
};

// Returns the median, which is a share that a round ran with; a mean need not be.
double Middle(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

// Returns the options of a way as they are written on the command line.
std::string OptionsText(const Way& way) {
  const auto option = [&](const char* name) {
    const auto found = way.cell->options.find(name);
    return found == way.cell->options.end() ? std::string() : found->second;
  };
  const std::string text = fmt::format("--io {} --page-size {}", option("io"), option("page-size"));
  if (!FindEngine(option("engine")).capabilities.cache) return text;
  const std::string share =
      way.chosen_pct.empty() ? option("cache-pct") : fmt::format("{:.0f}", Middle(way.chosen_pct));
  return fmt::format("{} --cache-pct {}", text, share);
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

// Returns a line for each measurement that is missing from the comparison.
std::string MissingText(const ResultSet& results) {
  std::string text;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    const Cell& cell = results.cells()[i];
    if (!cell.runs()) continue;
    if (!results.finished(i)) text += fmt::format("not measured in each round: {}\n", cell.name);
    if (!results.not_in_force(i).empty()) {
      text += fmt::format("not in force with {}: {}\n", cell.name, results.not_in_force(i));
    }
  }
  return text.empty() ? text : "This advice is from an incomplete comparison:\n" + text;
}

// Returns the least distance between the mean logarithms of two rates at which the ways differ for
// sure; infinity when that cannot be told.
double SureDistance(const ResultSet& results, const std::vector<Way>& ways) {
  std::vector<std::vector<double>> rates;
  for (const Way& way : ways) {
    rates.push_back(results.Values(way.index, "qps"));
    for (double& rate : rates.back()) rate = std::log(rate);
  }
  return HonestlySignificantDifference(rates);
}

}  // namespace

std::string AdviceText(const ResultSet& results) {
  std::vector<Way> ways;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    if (!results.finished(i)) continue;
    const auto mean = [&](const char* metric) { return results.Mean(i, metric); };
    const Estimate rate = EstimateMean(results.rounds() == 1 ? results.RepeatValues(i, "qps")
                                                             : results.Values(i, "qps"));
    if (!std::isfinite(rate.mean)) continue;
    ways.push_back({i,
                    &results.cells()[i],
                    rate,
                    mean("device_reads"),
                    mean("bytes_per_query"),
                    mean("cpu_us"),
                    {}});
    std::vector<double>& chosen = ways.back().chosen_pct;
    for (double pct : results.Values(i, "chosen_pct")) {
      if (std::isfinite(pct)) chosen.push_back(pct);
    }
    std::sort(chosen.begin(), chosen.end());
  }
  if (ways.empty()) return MissingText(results);
  std::sort(ways.begin(), ways.end(),
            [](const Way& a, const Way& b) { return a.rate.mean > b.rate.mean; });
  const Way& best = ways[0];
  std::string text = fmt::format("\nAdvice: {}\n  {}\n", OptionsText(best), EvidenceText(best));
  const double sure = SureDistance(results, ways);
  size_t alike = 0;
  for (size_t i = 1; i < ways.size(); ++i) {
    const auto mean_log = [&](const Way& way) {
      const std::vector<double>& rates = results.Values(way.index, "qps");
      double sum = 0;
      for (double rate : rates) sum += std::log(rate);
      return sum / static_cast<double>(rates.size());
    };
    const bool slower = mean_log(best) - mean_log(ways[i]) > sure;
    alike += !slower;
    if (i > 3) continue;
    text +=
        fmt::format("then {} ({:.0f} % of it{})\n  {}\n", OptionsText(ways[i]),
                    100 * ways[i].rate.mean / best.rate.mean,
                    slower ? "" : ", which cannot be told from the best", EvidenceText(ways[i]));
  }
  if (results.rounds() == 1 && ways.size() > 1) {
    text += "One round cannot tell ways apart: repeat with --rounds 3 or more.\n";
  } else if (alike != 0) {
    text += fmt::format(
        "{} {} cannot be told from the best by {} rounds: repeat with more --rounds or longer "
        "--seconds before choosing between them.\n",
        alike, alike == 1 ? "way" : "ways", results.rounds());
  }
  return text + MissingText(results);
}

}  // namespace testbed
