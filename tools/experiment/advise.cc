#include "tools/experiment/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engines/registry.h"
#include "tools/experiment/resample.h"
#include "tools/statistics.h"
#include "tools/table.h"

namespace testbed {
namespace {

struct Way {
  size_t index;
  const Cell* cell;
  Estimate rate;
  double device_reads, bytes, cpu_us, chosen_pct;
};

// The options of a way, as they would be given.
std::string OptionsText(const Way& way) {
  const auto option = [&](const char* name) {
    const auto found = way.cell->options.find(name);
    return found == way.cell->options.end() ? std::string() : found->second;
  };
  const std::string text = fmt::format("--io {} --page-size {}", option("io"), option("page-size"));
  if (!FindEngine(option("engine")).capabilities.cache) return text;
  const std::string share =
      std::isnan(way.chosen_pct) ? option("cache-pct") : fmt::format("{:.0f}", way.chosen_pct);
  return fmt::format("{} --cache-pct {}", text, share);
}

std::string EvidenceText(const Way& way) {
  std::string rate = Short(way.rate.mean);
  if (way.rate.n > 1) rate += " ±" + Short(way.rate.half_width);
  return fmt::format("{} operations/s, {} device reads and {} B an operation, {} us of CPU", rate,
                     Short(way.device_reads), Short(way.bytes), Short(way.cpu_us));
}

// Whether the first is faster for sure.
bool Faster(const ResultSet& results, const Way& first, const Way& second) {
  const std::vector<Measured> rates = {{first.index, results.Values(first.index, "qps")},
                                       {second.index, results.Values(second.index, "qps")}};
  if (rates[0].rounds.size() < 2 || rates[0].rounds.size() != rates[1].rounds.size()) return false;
  return CertaintyOf(rates, [](const std::vector<double>& rate) {
           return rate[0] > rate[1] ? 1.0 : 0.0;
         }).holds();
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
    ways.push_back({i, &results.cells()[i], rate, mean("device_reads"), mean("bytes_per_query"),
                    mean("cpu_us"), mean("chosen_pct")});
  }
  if (ways.empty()) return "";
  std::sort(ways.begin(), ways.end(),
            [](const Way& a, const Way& b) { return a.rate.mean > b.rate.mean; });
  const Way& best = ways[0];
  std::string text = fmt::format("\nAdvice: {}\n  {}\n", OptionsText(best), EvidenceText(best));
  size_t alike = 0;
  for (size_t i = 1; i < ways.size(); ++i) {
    const bool slower = Faster(results, best, ways[i]);
    alike += !slower;
    if (i > 3) continue;
    text += fmt::format("then {} ({:.0f} % of it{})\n  {}\n", OptionsText(ways[i]),
                        100 * ways[i].rate.mean / best.rate.mean,
                        slower ? "" : ", which cannot be told from the best",
                        EvidenceText(ways[i]));
  }
  if (results.rounds() == 1 && ways.size() > 1) {
    text += "One round cannot tell ways apart: repeat with --rounds 3 or more.\n";
  } else if (alike != 0) {
    text += fmt::format(
        "{} {} cannot be told from the best by {} rounds: repeat with more --rounds or longer "
        "--seconds before choosing between them.\n",
        alike, alike == 1 ? "way" : "ways", results.rounds());
  }
  return text;
}

}  // namespace testbed
