#include "tools/experiment/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engines/registry.h"
#include "tools/table.h"

namespace testbed {
namespace {

struct Way {
  const Cell* cell;
  double qps, device_reads, bytes, cpu_us, chosen_pct;
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
  return fmt::format("{} queries/s, {} device reads and {} B a query, {} us of CPU a query",
                     Count(static_cast<uint64_t>(way.qps)), Short(way.device_reads),
                     Short(way.bytes), Short(way.cpu_us));
}

}  // namespace

std::string AdviceText(const ResultSet& results) {
  std::vector<Way> ways;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    if (!results.measured(i)) continue;
    const auto value = [&](const char* metric) { return results.Mean(i, metric); };
    ways.push_back({&results.cells()[i], value("qps"), value("device_reads"),
                    value("bytes_per_query"), value("cpu_us"), value("chosen_pct")});
  }
  if (ways.empty()) return "";
  std::sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) { return a.qps > b.qps; });
  std::string text =
      fmt::format("\nAdvice: {}\n  {}\n", OptionsText(ways[0]), EvidenceText(ways[0]));
  for (size_t i = 1; i < ways.size() && i < 4; ++i) {
    text += fmt::format("then {} ({:.0f} % of it)\n  {}\n", OptionsText(ways[i]),
                        100 * ways[i].qps / ways[0].qps, EvidenceText(ways[i]));
  }
  if (ways.size() > 1 && ways[1].qps > 0.95 * ways[0].qps) {
    text +=
        "The first are within 5 %: repeat with longer --seconds before choosing between them.\n";
  }
  return text;
}

}  // namespace testbed
