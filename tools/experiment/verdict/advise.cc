#include "tools/experiment/verdict/advise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>
#include <utility>

#include "engines/registry.h"
#include "tools/experiment/verdict/advice_config.h"
#include "tools/experiment/verdict/resample.h"
#include "tools/option_values.h"
#include "tools/output/table.h"
#include "tools/statistics/estimate.h"
#include "tools/trace/workload_list.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

// Rounds before a way may be left out (experiment/command.cc).
constexpr size_t kLeastRounds = kAdviseRounds;

struct Way {
  size_t index;
  const Cell* cell;
  std::vector<double> rates;  // rates in the rounds that are compared
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

// Returns whether the way's server kept its tables in MyRocks, by each option that names servers.
bool IsOfMyRocks(const Way& way) {
  const std::string engine = OptionOf(way, "engine");
  if (EngineOfWay(way) != "mysql") return false;
  return engine == kMyRocks || OptionOf(way, "server") == "rocksdb" ||
         OptionOf(way, "engine-option.server") == "rocksdb";
}

// Returns the readahead that the way was measured with; "" when its reads are direct, which have
// none.
std::string ReadaheadOf(const Way& way) {
  return OptionOf(way, "io") == "direct" ? "" : OptionOf(way, "readahead");
}

// Returns whether the engine has a cache of its own. One that this build lacks counts as such: the
// results may be of another machine.
bool HasCache(const std::string& engine) {
  const std::vector<EngineInfo>& engines = Engines();
  const auto found = std::find_if(engines.begin(), engines.end(),
                                  [&](const EngineInfo& info) { return info.name == engine; });
  return found == engines.end() || found->capabilities.cache;
}

// Returns the options of a way as they are written on the command line.
std::string OptionsText(const Way& way) {
  const auto option = [&](const char* name) { return OptionOf(way, name); };
  std::string text = fmt::format("--io {} --page-size {}", option("io"), option("page-size"));
  const std::string readahead = ReadaheadOf(way);
  if (!readahead.empty()) text += " --readahead " + readahead;
  if (!HasCache(EngineOfWay(way))) return text;
  const double share = way.Share();
  return fmt::format("{} --cache-pct {}", text,
                     std::isfinite(share) ? fmt::format("{:.0f}", share) : option("cache-pct"));
}

std::string EvidenceText(const Way& way) {
  std::string rate = Short(way.rate.mean);
  if (way.rate.n > 1) rate += " ±" + Short(way.rate.half_width);
  std::string text = fmt::format("{} operations/s, {} and {} B an operation, {} us of CPU", rate,
                                 WithNoun(Short(way.device_reads), "device read"), Short(way.bytes),
                                 Short(way.cpu_us));
  if (!way.chosen_pct.empty() && way.chosen_pct.back() - way.chosen_pct.front() > 10) {
    text += fmt::format("; rounds chose {:.0f} to {:.0f} % for the cache", way.chosen_pct.front(),
                        way.chosen_pct.back());
  }
  return text;
}

// Returns the number of rounds, from the first one on, in which the cell was measured without a
// gap.
size_t RoundsOf(const ResultSet& results, size_t cell) {
  int round = 0;
  while (round < results.rounds() && results.finished(cell, round + 1)) ++round;
  return static_cast<size_t>(round);
}

// Returns why there is no advice, or "" when every way was measured with its settings in force. If
// --ram is not, for example, a buffered way has all of the machine's page cache, and a direct one
// its share.
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

// Returns the metric's values in the first `rounds` rounds, in which the cell was measured.
std::vector<double> FirstValues(const ResultSet& results, size_t cell, const char* metric,
                                size_t rounds) {
  std::vector<double> values = results.Values(cell, metric);
  values.resize(std::min(values.size(), rounds));
  return values;
}

// Returns whether each of the ways, which were measured in `rounds` rounds, cannot be told from the
// best, by the logarithms of their rates.
std::vector<bool> Alike(const ResultSet& results, const std::vector<Way>& ways, size_t rounds) {
  std::vector<std::vector<double>> rates;
  for (const Way& way : ways) rates.push_back(way.rates);
  // Ways with fewer rounds were left out of the later ones, and still count for the variance.
  for (size_t i = 0; i < results.cells().size(); ++i) {
    const size_t of_way = RoundsOf(results, i);
    if (of_way == 0 || of_way >= rounds) continue;
    std::vector<double> values = FirstValues(results, i, "qps", of_way);
    const bool known =
        std::all_of(values.begin(), values.end(), [](double rate) { return rate > 0; });
    if (known) rates.push_back(std::move(values));
  }
  for (std::vector<double>& of_way : rates) {
    for (double& rate : of_way) rate = std::log(rate);
  }
  std::vector<bool> alike(ways.size());
  for (size_t i : NotToldFromBest(rates)) alike[i] = true;
  return alike;
}

// Returns the sentence on the ways that cannot be told from the best one, which is the first; ""
// when there is none.
std::string TieText(const std::vector<bool>& is_alike, size_t rounds) {
  if (is_alike.size() < 2) return "";
  if (rounds == 1) return "One round cannot tell ways apart: repeat with --rounds 3 or more.";
  const auto alike = std::count(is_alike.begin() + 1, is_alike.end(), true);
  if (alike == 0) return "";
  return fmt::format(
      "{} cannot be told from the best by {}: repeat with more --rounds or longer --seconds before "
      "choosing between them.",
      Counted(static_cast<uint64_t>(alike), "way"), Counted(rounds, "round"));
}

// Returns the ways that were measured in each of the first `rounds` rounds, by these rounds alone,
// the fastest first.
std::vector<Way> WaysOf(const ResultSet& results, size_t rounds) {
  std::vector<Way> ways;
  for (size_t i = 0; rounds != 0 && i < results.cells().size(); ++i) {
    if (RoundsOf(results, i) < rounds) continue;
    const auto values = [&](const char* metric) { return FirstValues(results, i, metric, rounds); };
    const auto mean = [&](const char* metric) { return MeanOf(values(metric)); };
    std::vector<double> rates = values("qps");
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
    for (double pct : values("chosen_pct")) {
      if (std::isfinite(pct)) chosen.push_back(pct);
    }
    std::sort(chosen.begin(), chosen.end());
  }
  std::sort(ways.begin(), ways.end(),
            [](const Way& a, const Way& b) { return a.rate.mean > b.rate.mean; });
  return ways;
}

// Returns whether the way was measured in the first `rounds` rounds.
bool Has(const ResultSet& results, const std::string& way, size_t rounds) {
  for (size_t i = 0; i < results.cells().size(); ++i) {
    if (results.cells()[i].name == way) return RoundsOf(results, i) >= rounds;
  }
  return false;
}

// Returns the last of the rounds of all ways that was not interrupted, at most kLeastRounds. A way
// that failed in it is no reason to do without the round; MissingText names the way.
size_t LastRoundOfAll(const ResultSet& results) {
  const auto begun = [&](size_t round) {
    for (size_t i = 0; i < results.cells().size(); ++i) {
      if (results.finished(i, static_cast<int>(round))) return true;
    }
    return false;
  };
  const size_t planned = static_cast<size_t>(results.rounds());
  size_t last = std::min(kLeastRounds, planned);
  while (last != 0 && !begun(last)) --last;
  // All cells of a round run before a later round begins, so a begun later round shows that this
  // one is whole.
  if (last < 2 || (last < planned && begun(last + 1))) return last;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    const bool came_so_far = RoundsOf(results, i) == last - 1;
    if (came_so_far && !results.failed(i, static_cast<int>(last))) return last - 1;
  }
  return last;
}

// Returns the last round that is whole: each way, or each finalist of the round before, was
// measured in it. A round of finals that was interrupted, or in which a finalist failed, does not
// count: it would leave out the ways that come last in it.
size_t LastWholeRound(const ResultSet& results) {
  size_t whole = LastRoundOfAll(results);
  while (whole >= kLeastRounds && whole < static_cast<size_t>(results.rounds())) {
    const auto goes_on = [&](const std::string& way) { return Has(results, way, whole + 1); };
    std::vector<std::string> names = Finalists(results, static_cast<int>(whole));
    if (names.empty()) {  // the fastest is decided, and the user asked for more rounds
      for (const Way& way : WaysOf(results, whole)) names.push_back(way.cell->name);
    }
    if (names.empty() || !std::all_of(names.begin(), names.end(), goes_on)) break;
    ++whole;
  }
  return whole;
}

// Returns a line for each measurement that is missing from the comparison of the first `whole`
// rounds.
std::string MissingText(const ResultSet& results, size_t whole) {
  constexpr size_t kNamed = 5;
  std::vector<std::string> missing;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    const Cell& cell = results.cells()[i];
    if (!cell.runs() || !results.asked(i)) continue;
    if (RoundsOf(results, i) < std::min<size_t>(kLeastRounds, results.rounds())) {
      missing.push_back("not measured in each round: " + cell.name);
    }
  }
  if (whole >= kLeastRounds && whole < static_cast<size_t>(results.rounds())) {
    for (const std::string& way : Finalists(results, static_cast<int>(whole))) {
      if (Has(results, way, whole + 1)) continue;
      missing.push_back(fmt::format("not measured in round {} yet: {}", whole + 1, way));
    }
  }
  if (missing.empty()) return "";
  std::string text = "This advice is from an incomplete comparison:\n";
  for (size_t i = 0; i < std::min(missing.size(), kNamed); ++i) text += missing[i] + "\n";
  if (missing.size() > kNamed) text += fmt::format("and {} more\n", missing.size() - kNamed);
  return text;
}

// Returns whether operations that write were measured. A workload that this build lacks counts as
// one that reads.
bool MeasuredWrites(const Way& way) {
  for (const std::string& part : Split(OptionOf(way, "workload"), ',')) {
    const std::string name = WorkloadNameOf(part);
    for (const WorkloadInfo& workload : Workloads()) {
      const bool measured = !workload.loads && !workload.only_settles;
      if (workload.name == name && measured && !workload.reads_only) return true;
    }
  }
  return false;
}

// Returns the filter that RocksDB's tables had, in RocksDB's own syntax; "" when the user's options
// in that syntax may have set another. Options with a name of testbed's override those.
std::string RocksdbFilterOf(const Way& way) {
  const auto extra = [&](const char* name) {
    return OptionOf(way, fmt::format("engine-option.{}", name).c_str());
  };
  const std::string bits = extra("bloom_bits"), kind = extra("filter");
  if (bits.empty() && kind.empty() &&
      !(extra("options").empty() && extra("options_file").empty())) {
    return "";
  }
  if (kind == "none" || (!bits.empty() && std::strtod(bits.c_str(), nullptr) == 0)) {
    return "nullptr";
  }
  const std::string of_a_key = bits.empty() ? "10" : bits;
  return kind == "ribbon" ? "ribbonfilter:" + of_a_key : "bloomfilter:" + of_a_key + ":false";
}

// Adds how the way wrote, whose operations write.
void TakeWriting(const ResultSet& results, const Way& way, AdvisedWay* advised) {
  const std::string durability = OptionOf(way, "durability");
  advised->durability = durability.empty() ? "lazy" : durability;
  const auto in_force = [&](const char* name) {
    return results.Figure(way.index, std::string("engine.effective.") + name);
  };
  for (const char* name : kInnodbWriting) {
    const double value = in_force(name);
    if (value >= 0) advised->innodb_writing.emplace_back(name, static_cast<uint64_t>(value));
  }
  const double log = in_force(kCheckpointLog);
  if (log >= 0) advised->checkpoint_log_bytes = static_cast<uint64_t>(log);
}

// Returns the settings of the way that a server has, too: the bytes of its cache, the whole budget,
// page size, readahead, compression and durability, of a way that wrote its log, and of rocksdb its
// memtables and filter.
AdvisedWay ForServers(const ResultSet& results, const Way& way) {
  AdvisedWay advised{IsOfMyRocks(way) ? kMyRocks : EngineOfWay(way), OptionOf(way, "io")};
  const double ram = results.Figure(way.index, "options.ram");
  const double share = way.Share();
  const double page = results.Figure(way.index, "options.page_size");
  const auto bytes = [](double x) {
    return std::isfinite(x) && x > 0 ? static_cast<uint64_t>(x) : uint64_t{0};
  };
  advised.page_size = bytes(page);
  advised.ram_bytes = bytes(ram);
  advised.cache_bytes = bytes(ram * share / 100);
  const std::string readahead = ReadaheadOf(way);
  if (!readahead.empty()) {
    advised.readahead_bytes = ParseSize("--readahead", readahead, 0, UINT64_MAX);
  }
  const std::string compression = OptionOf(way, "compression");
  if (!compression.empty()) advised.compression = compression;
  if (MeasuredWrites(way)) TakeWriting(results, way, &advised);
  if (advised.engine != "rocksdb") return advised;
  advised.rocksdb_filter = RocksdbFilterOf(way);
  for (const char* name : kRocksdbSizes) {
    const std::string figure = std::string("engine.effective.") + name;
    const uint64_t value = bytes(results.Figure(way.index, figure));
    if (value != 0) advised.rocksdb_sizes.emplace_back(name, value);
  }
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
  size_t best = 0;
  double most = -HUGE_VAL;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].size() != rounds || !(MeanOf(values[i]) > most)) continue;
    best = i;
    most = MeanOf(values[i]);
  }
  const double level = LookLevel(rounds);
  std::vector<double> sure(values.size(), HUGE_VAL);
  if (level > 0) sure = HonestlySignificantDifferences(values, best, level);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].size() == rounds && !(most - MeanOf(values[i]) > sure[i])) alike.push_back(i);
  }
  return alike;
}

std::vector<std::string> Finalists(const ResultSet& results, int rounds) {
  const auto n = static_cast<size_t>(rounds);
  const std::vector<Way> ways = WaysOf(results, n);
  std::vector<std::string> names;
  if (ways.empty() || n < 2) return names;
  const std::vector<bool> is_alike = Alike(results, ways, n);
  for (size_t i = 0; i < ways.size(); ++i) {
    if (is_alike[i]) names.push_back(ways[i].cell->name);
  }
  return names.size() < 2 ? std::vector<std::string>() : names;
}

bool Advises(const ResultSet& results) {
  const Experiment& e = results.experiment();
  static constexpr const char* kMetrics[] = {"qps",    "device_reads", "bytes_per_query",
                                             "cpu_us", "cache_pct",    "chosen_pct"};
  return e.name == "advise" &&
         std::all_of(std::begin(kMetrics), std::end(kMetrics),
                     [&](const char* metric) { return e.FindMetric(metric) != nullptr; });
}

std::vector<std::string> AdviceDoubts(const ResultSet& results) {
  const size_t rounds = LastWholeRound(results);
  const std::vector<Way> ways = WaysOf(results, rounds);
  std::vector<std::string> doubts;
  if (ways.empty() || !RefusalText(results, ways).empty()) return doubts;
  std::string tie = TieText(Alike(results, ways, rounds), rounds);
  if (!tie.empty()) doubts.push_back(std::move(tie));
  const std::vector<std::string> missing = Split(MissingText(results, rounds), '\n');
  // The first line ends with a colon, and the last line is empty.
  for (size_t i = 1; i + 1 < missing.size(); ++i) doubts.push_back(missing[0] + " " + missing[i]);
  return doubts;
}

std::string AdviceText(const ResultSet& results) {
  const size_t rounds = LastWholeRound(results);
  const std::vector<Way> ways = WaysOf(results, rounds);
  if (ways.empty()) return MissingText(results, rounds);
  if (const std::string why = RefusalText(results, ways); !why.empty()) return why;
  const Way& best = ways[0];
  std::string text = fmt::format("\nAdvice: {}\n  {}\n", OptionsText(best), EvidenceText(best));
  const std::vector<bool> is_alike = Alike(results, ways, rounds);
  constexpr size_t kNext = 3;
  for (size_t i = 1; i < std::min(ways.size(), 1 + kNext); ++i) {
    text += fmt::format("then {} ({:.0f} % of the best rate{})\n  {}\n", OptionsText(ways[i]),
                        100 * ways[i].rate.mean / best.rate.mean,
                        is_alike[i] ? ", which cannot be told from it" : "", EvidenceText(ways[i]));
  }
  if (const std::string tie = TieText(is_alike, rounds); !tie.empty()) text += tie + "\n";
  const Circumstances& at = results.circumstances();
  if (at.foreign_runs != 0) {
    text += "! " + ForeignCpuText(at) +
            (at.given_server ? "\n" : ": measure again on an idle machine\n");
  }
  return text + MissingText(results, rounds) + "\n" + ConfigurationText(ForServers(results, best));
}

}  // namespace testbed
