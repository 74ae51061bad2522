#include "tools/experiment/verdict/compare_cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/database/database_files.h"
#include "tools/experiment/results.h"
#include "tools/experiment/results_dir.h"
#include "tools/report/report.h"

namespace testbed {
namespace {

using nlohmann::json;
using Labels = std::map<std::string, std::string>;  // by axis

// What a comparison needs of a results document. The document with its series, histograms and
// accounts takes many times the memory, and a directory may have thousands.
struct Extract {
  json facts;  // the document; of its phases only what kPhaseFacts names
  std::vector<DocumentCell> cells;
};

constexpr const char* kPhaseFacts[] = {"name",        "kind",         "wrong", "foreign_cpu_share",
                                       "steal_share", "ended_because"};

Extract ReadExtract(const std::string& file) {
  json document = ReadResults(file);
  if (StopRequested()) throw Stopped("before it was made", "the comparison");
  Extract extract{{}, CellsOf(document)};
  for (json& run : document.at("runs")) {
    for (json& phase : run.at("phases")) {
      json facts = json::object();
      for (const char* fact : kPhaseFacts) {
        if (phase.contains(fact)) facts[fact] = std::move(phase[fact]);
      }
      if (phase.contains("memory")) {
        facts["memory"]["held_mean"] = phase["memory"].value("held_mean", json());
      }
      phase = std::move(facts);
    }
  }
  extract.facts = std::move(document);
  return extract;
}

struct FinishedCell {
  std::string name;
  Labels labels;
  std::map<int, Extract> rounds;
  std::map<int, std::string> loads;  // keys of the loads that it shares with other cells, by round
};

// The finished cells in a directory, in the order of the plan.
struct ReadDirectory {
  std::string path;
  std::vector<std::string> axes;
  std::vector<FinishedCell> cells;
  std::map<std::string, Extract> loads;  // by key
};

ReadDirectory ReadCells(const std::string& path) {
  const ResultsDir dir(path);
  const KeptExperiment kept = ReadKept(dir, {}, true);
  ReadDirectory read{path, {}, {}, {}};
  for (const Axis& axis : kept.experiment.axes) read.axes.push_back(axis.name);
  std::map<std::string, size_t> index;
  for (const Cell& cell : kept.cells) {
    if (!dir.HasCell(cell)) continue;
    if (index.emplace(cell.name, read.cells.size()).second) {
      read.cells.push_back({cell.name, cell.labels, {}, {}});
    }
    FinishedCell& finished = read.cells[index[cell.name]];
    const Extract& extract =
        finished.rounds.emplace(cell.round, ReadExtract(dir.CellFile(cell))).first->second;
    const std::string key = LoadKeyOf(cell, extract.facts);
    const std::string load = dir.LoadFile(key);
    if (key.empty() || !std::filesystem::exists(load)) continue;
    finished.loads[cell.round] = key;
    if (!read.loads.contains(key)) read.loads[key] = ReadExtract(load);
  }
  if (read.cells.empty()) {
    throw Error(Error::kUsage, path + " has no finished cell; run its experiment or sweep first");
  }
  return read;
}

ComparedSide SideOf(const ReadDirectory& directory) {
  json all = {{"runs", json::array()}};
  const auto add = [&all](const Extract& extract) {
    for (const json& run : extract.facts.at("runs")) all["runs"].push_back(run);
  };
  for (const FinishedCell& cell : directory.cells) {
    for (const auto& [round, extract] : cell.rounds) add(extract);
  }
  for (const auto& [key, extract] : directory.loads) add(extract);
  return {DisturbancesOf(all),
          fmt::format("the same command with --rounds 5, which adds rounds to {}", directory.path)};
}

struct Match {
  const FinishedCell *first, *second;
};

Labels Without(Labels labels, const std::vector<std::string>& ignored) {
  for (const std::string& axis : ignored) labels.erase(axis);
  return labels;
}

std::vector<std::string> NamesOf(const std::vector<const FinishedCell*>& cells) {
  std::vector<std::string> names;
  for (const FinishedCell* cell : cells) names.push_back(cell->name);
  return names;
}

// Matches the cells of two directories. What was taken is no longer in `first` and `second`.
class Matcher {
 public:
  Matcher(const ReadDirectory& first, const ReadDirectory& second)
      : paths_{first.path, second.path} {
    for (const FinishedCell& cell : first.cells) left_[0].push_back(&cell);
    for (const FinishedCell& cell : second.cells) left_[1].push_back(&cell);
  }

  // Matches cells whose labels are equal without those of the ignored axes.
  void Take(const std::vector<std::string>& ignored) {
    std::map<Labels, std::vector<const FinishedCell*>> groups[2];
    for (const int side : {0, 1}) {
      for (const FinishedCell* cell : left_[side]) {
        groups[side][Without(cell->labels, ignored)].push_back(cell);
      }
    }
    std::set<const FinishedCell*> taken;
    for (const FinishedCell* cell : left_[0]) {
      const Labels labels = Without(cell->labels, ignored);
      const auto other = groups[1].find(labels);
      if (other == groups[1].end()) continue;
      CheckOne(groups[0].at(labels), paths_[0], ignored);
      CheckOne(other->second, paths_[1], ignored);
      matches_.push_back({cell, other->second.front()});
      taken.insert({cell, other->second.front()});
    }
    for (const int side : {0, 1}) {
      std::erase_if(left_[side], [&](const FinishedCell* cell) { return taken.contains(cell); });
    }
  }

  const std::vector<Match>& matches() const { return matches_; }
  // Returns the names of the cells of a side that matched none.
  std::vector<std::string> Left(size_t side) const { return NamesOf(left_[side]); }

 private:
  static void CheckOne(const std::vector<const FinishedCell*>& cells, const std::string& path,
                       const std::vector<std::string>& ignored) {
    if (cells.size() == 1) return;
    throw Error(
        Error::kUsage,
        fmt::format("--ignore {} leaves {} cells of {} that differ in nothing else, so it is "
                    "not known which of them to compare: {}",
                    fmt::join(ignored, ","), cells.size(), path, SomeNames(NamesOf(cells))));
  }

  const std::string paths_[2];
  std::vector<const FinishedCell*> left_[2];
  std::vector<Match> matches_;
};

void CheckIgnored(const std::vector<std::string>& ignored, const ReadDirectory& first,
                  const ReadDirectory& second) {
  std::vector<std::string> axes = first.axes;
  std::copy_if(second.axes.begin(), second.axes.end(), std::back_inserter(axes),
               [&](const std::string& axis) {
                 return std::find(axes.begin(), axes.end(), axis) == axes.end();
               });
  for (const std::string& axis : ignored) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    throw Error(Error::kUsage,
                fmt::format("--ignore {} names no axis of {} or {}; their axes are {}", axis,
                            first.path, second.path, fmt::join(axes, ", ")));
  }
}

// Returns the matched cells' name. Where their labels of an axis differ, it has both.
std::string NameOf(const Match& match, const std::vector<std::string>& axes) {
  if (match.first->labels == match.second->labels) return match.first->name;
  std::string name;
  for (const std::string& axis : axes) {
    const auto a = match.first->labels.find(axis), b = match.second->labels.find(axis);
    if (a == match.first->labels.end()) continue;
    name += fmt::format("{}{}={}", name.empty() ? "" : " ", axis, a->second);
    if (b != match.second->labels.end() && a->second != b->second) name += " against " + b->second;
  }
  return name;
}

// Compares matched cells: collects the samples of both sides under equal names, and the terms.
class Collector {
 public:
  Collector(const ReadDirectory& first, const ReadDirectory& second)
      : first_(first), second_(second) {}

  void Add(const Match& match) {
    const std::string name = NameOf(match, first_.axes);
    std::map<int, const Extract*> rounds[2];
    for (const auto& [round, extract] : match.first->rounds) rounds[0][round] = &extract;
    for (const auto& [round, extract] : match.second->rounds) rounds[1][round] = &extract;
    std::vector<CompareTerms> terms = AddRounds(name, rounds[0], rounds[1]);
    if (!match.first->loads.empty() && !match.second->loads.empty() &&
        compared_loads_
            .emplace(match.first->loads.begin()->second, match.second->loads.begin()->second)
            .second) {
      const std::vector<CompareTerms> of_loads =
          AddRounds(name, LoadsOf(first_, *match.first), LoadsOf(second_, *match.second));
      terms.insert(terms.end(), of_loads.begin(), of_loads.end());
    }
    terms_.push_back(UnionOf(terms));
  }

  CellComparison Compare(const CompareSettings& settings) const {
    return CompareCells(cells_[0], cells_[1], UnionOf(terms_), settings);
  }

 private:
  using Rounds = std::map<int, const Extract*>;

  static Rounds LoadsOf(const ReadDirectory& directory, const FinishedCell& cell) {
    Rounds rounds;
    for (const auto& [round, key] : cell.loads) rounds[round] = &directory.loads.at(key);
    return rounds;
  }

  // Returns what was measured in the round; in the first one when this round is not finished.
  static const Extract& InRound(const Rounds& rounds, int round) {
    const auto found = rounds.find(round);
    return *(found == rounds.end() ? rounds.begin() : found)->second;
  }

  // Adds the samples of both sides. Returns the terms of each round.
  std::vector<CompareTerms> AddRounds(const std::string& name, const Rounds& first,
                                      const Rounds& second) {
    AddSamples(name, first, &cells_[0]);
    AddSamples(name, second, &cells_[1]);
    std::vector<CompareTerms> terms;
    std::set<int> numbers;
    for (const auto& [round, extract] : first) numbers.insert(round);
    for (const auto& [round, extract] : second) numbers.insert(round);
    for (const int round : numbers) {
      const bool both = first.contains(round) && second.contains(round);
      const json& a = InRound(first, round).facts;
      const json& b = InRound(second, round).facts;
      const auto of = [&name](const ReadDirectory& directory) {
        return name.empty() ? directory.path : fmt::format("{} of {}", name, directory.path);
      };
      const std::string why = WhyNotComparable(a, b, of(first_), of(second_));
      if (!why.empty()) throw Error(Error::kUsage, why);
      terms.push_back(TermsOf(a, b));
      // The seeds of different rounds differ by design, so they are no difference of the settings.
      if (!both)
        std::erase_if(terms.back().settings, [](const auto& d) { return d.name == "seed"; });
    }
    return terms;
  }

  static void AddSamples(const std::string& name, const Rounds& rounds,
                         std::vector<DocumentCell>* to) {
    std::map<std::string, size_t> index;
    for (const auto& [round, extract] : rounds) {
      for (const DocumentCell& cell : extract->cells) {
        const std::string full = name.empty() ? cell.name : name + ": " + cell.name;
        if (index.emplace(full, to->size()).second) {
          to->push_back({full, cell.operation, {}, cell.least_actual, cell.least_intended, {}});
        }
        DocumentCell& all = (*to)[index[full]];
        all.least_actual = std::min(all.least_actual, cell.least_actual);
        all.least_intended = std::min(all.least_intended, cell.least_intended);
        all.seeds[round] = cell.seeds.begin()->second;
        for (const auto& [metric, samples] : cell.samples) {
          int run = 0;
          for (Sample sample : samples) {
            sample.load = round;
            sample.run = run++;
            all.samples[metric].push_back(sample);
          }
        }
      }
    }
  }

  const ReadDirectory &first_, &second_;
  std::vector<DocumentCell> cells_[2];
  std::vector<CompareTerms> terms_;                               // by pair of cells
  std::set<std::pair<std::string, std::string>> compared_loads_;  // by the keys of the first rounds
};

}  // namespace

CellComparison CompareDirectories(const std::string& first, const std::string& second,
                                  const CellMatching& matching, const CompareSettings& settings) {
  const ReadDirectory a = ReadCells(first), b = ReadCells(second);
  CheckIgnored(matching.ignored, a, b);
  Matcher matcher(a, b);
  matcher.Take({});
  if (!matching.ignored.empty()) matcher.Take(matching.ignored);
  if (matcher.matches().empty()) {
    throw Error(Error::kUsage,
                fmt::format("{} and {} have no cell in common: the first has {}; the second {}; "
                            "with --ignore AXIS cells may differ in that axis",
                            first, second, SomeNames(matcher.Left(0)), SomeNames(matcher.Left(1))));
  }
  Collector collector(a, b);
  // The cell with the most finished rounds stands for the load that it shares with others.
  std::vector<Match> matches = matcher.matches();
  std::stable_sort(matches.begin(), matches.end(), [](const Match& x, const Match& y) {
    return x.first->loads.size() + x.second->loads.size() >
           y.first->loads.size() + y.second->loads.size();
  });
  for (const Match& match : matches) collector.Add(match);
  CellComparison comparison = collector.Compare(settings);
  comparison.first = SideOf(a);
  comparison.second = SideOf(b);
  for (auto [only, side] :
       {std::pair(&comparison.only_first, 0U), std::pair(&comparison.only_second, 1U)}) {
    const std::vector<std::string> left = matcher.Left(side);
    only->insert(only->end(), left.begin(), left.end());
  }
  return comparison;
}

}  // namespace testbed
