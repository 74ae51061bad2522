// Tries the statistics of comparisons on simulated sides, whose truth is known, and prints how
// often they are right:
//
//   statistics_simulation [--simulations N]   coverage, false alarms, several sides, power
//   statistics_simulation --table [N]         the table of tools/statistics/looks.cc
//
// Each result is printed beside the bound that it must keep; the exit code is 1 when one does not
// keep it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/ab/ab_report.h"
#include "tools/ab/answers.h"
#include "tools/output/table.h"
#include "tools/statistics/comparison.h"
#include "tools/statistics/looks.h"
#include "tools/statistics/simulated_sides.h"
#include "tools/statistics/student.h"

namespace testbed {
namespace {

using nlohmann::json;

// The standard deviations are like those seen on real machines: 2 to 10 % between slices of a tenth
// of a second, 1 to 3 % between loads.
const std::vector<SimulatedWorld> kWorlds = {
    {.name = "normal"},
    {.name = "skewed", .shape = SimulatedWorld::kSkewed},
    {.name = "bimodal", .shape = SimulatedWorld::kBimodal, .loads = 0.05},
    {.name = "drifting machine", .drift = 0.05},
    {.name = "loads differ 3 times as runs", .loads = 0.03, .runs = 0.01, .slices = 0.01},
    {.name = "noisy slices", .loads = 0.005, .slices = 0.2},
    {.name = "noisy slices, later loads longer", .loads = 0.005, .slices = 0.2, .longer = 3},
};

// Percentiles, which are the middle of a bucket of a histogram. The loads of a side spread over one
// bucket, a few, or many.
constexpr double kBucket = 1.0 / 64;
const std::vector<SimulatedWorld> kCoarseWorlds = {
    {.name = "percentiles in a tenth of a bucket",
     .loads = 0.1 * kBucket,
     .slices = 0,
     .step = kBucket},
    {.name = "percentiles in half a bucket", .loads = 0.5 * kBucket, .slices = 0, .step = kBucket},
    {.name = "percentiles in two buckets", .loads = 2 * kBucket, .slices = 0, .step = kBucket},
    {.name = "skewed percentiles",
     .shape = SimulatedWorld::kSkewed,
     .loads = 0.5 * kBucket,
     .slices = 0,
     .step = kBucket},
};

struct DesignName {
  SimulatedDesign design;
  const char* name;
};
constexpr DesignName kDesigns[] = {{SimulatedDesign::kInterleave, "interleave"},
                                   {SimulatedDesign::kRounds, "rounds"},
                                   {SimulatedDesign::kStored, "stored"}};

SimulatedPlan PlanOf(const SimulatedWorld& world, SimulatedDesign design, int loads) {
  return {.design = design,
          .loads = loads,
          .runs = world.runs > 0 ? 3 : 1,
          .slices = world.slices > 0 ? 10 : 1};
}

std::string Share(double count, int of) { return fmt::format("{:.1f} %", 100 * count / of); }

bool Covers(const Answer& answer, double truth) {
  return answer.low <= truth && truth <= answer.high;
}

bool Differs(const Answer& answer) {
  return answer.outcome == Outcome::kLess || answer.outcome == Outcome::kMore;
}

std::string LabelOf(int side) { return std::string(1, static_cast<char>('a' + side)); }

// Returns the document of a comparison by `testbed ab` that goes on, as far as its answers are made
// of it. The samples are rates.
json SessionOf(const std::vector<Sample>& samples, int sides,
               const std::vector<std::string>& fail_if) {
  json document = {{"until", 0.02},    {"fail_if", fail_if},     {"errors", json::array()},
                   {"partial", false}, {"sides", json::array()}, {"samples", json::array()},
                   {"loads", 0}};
  for (int side = 0; side < sides; ++side) {
    json of_side = json::object();
    of_side["label"] = LabelOf(side);
    document["sides"].push_back(std::move(of_side));
  }
  for (const Sample& sample : samples) {
    json metrics = json::object();
    metrics["rate"] = sample.value;
    document["samples"].push_back({{"side", LabelOf(sample.side)},
                                   {"load", sample.load},
                                   {"block", sample.block},
                                   {"seconds", 1.0},
                                   {"count", 100},
                                   {"metrics", std::move(metrics)},
                                   {"counters", json::object()}});
  }
  return document;
}

// Lets the comparison end as `testbed ab` does: as soon as its question is answered, and after
// `loads` loads at the latest.
void EndSession(int loads, json* document) {
  for (int n = kLeastLoads; n <= loads; ++n) {
    (*document)["loads"] = n;
    if (IsAnswered(*document)) break;
  }
  (*document)["seconds"] = 1.0;
}

class Simulation {
 public:
  explicit Simulation(int simulations) : n_(simulations) {}

  // Runs all simulations. Returns whether every result kept its bound.
  bool Run() {
    Fixed("the 95 % interval", kWorlds, 0.97);
    Fixed("the 95 % interval of coarse values", kCoarseWorlds, 1);
    Unequal();
    Looking();
    Sides();
    Power();
    OneLoad();
    fmt::print("{}\n", held_ ? "all held" : "NOT ALL HELD");
    return held_;
  }

 private:
  // Returns whether results can be compared at all: stored results of a machine that drifts cannot,
  // whatever the statistics.
  static bool Comparable(const SimulatedWorld& world, SimulatedDesign design) {
    return design != SimulatedDesign::kStored || world.drift == 0;
  }
  std::string Check(bool holds) {
    held_ = held_ && holds;
    return holds ? "yes" : "NO";
  }
  // Returns four standard errors of an observed share near `share`, of n simulations: a deviation
  // that chance can explain.
  static double Chance(double share, int n) { return 4 * std::sqrt(share * (1 - share) / n); }
  double Chance(double share) const { return Chance(share, n_); }

  // Tries the interval, which must cover the truth in a share of 93 % to `most`.
  void Fixed(const std::string& interval, const std::vector<SimulatedWorld>& worlds, double most);
  void Unequal();
  void Sides();
  void Looking();
  // Returns how many comparisons of sides that differ by just the margin tell at some look that
  // they are the same within it.
  int WronglySame(const SimulatedWorld& world, const SimulatedPlan& plan) const;
  void Power();
  void OneLoad();

  int n_;
  bool held_ = true;
};

void Simulation::Fixed(const std::string& interval, const std::vector<SimulatedWorld>& worlds,
                       double most) {
  Table table(
      fmt::format("Coverage of {} at a fixed number of loads ({} simulations; must be 93 to {:.0f} "
                  "%)",
                  interval, n_, 100 * most),
      {"world", "design", "3 loads", "5 loads", "10 loads", "20 loads", "holds"});
  for (const SimulatedWorld& world : worlds) {
    for (const auto& [design, name] : kDesigns) {
      if (!Comparable(world, design)) continue;
      std::vector<std::string> row = {world.name, name};
      bool holds = true;
      for (int loads : {3, 5, 10, 20}) {
        const SimulatedPlan plan = PlanOf(world, design, loads);
        SimulatedSides sides(1);
        int covered = 0;
        for (int i = 0; i < n_; ++i) {
          covered += Covers(Compare(sides.Draw(world, plan, 1.03), OptionsOf(world, plan)), 1.03);
        }
        const double share = static_cast<double>(covered) / n_;
        holds = holds && share > 0.93 - Chance(0.95) / 2 && share < most + Chance(0.95) / 2;
        row.push_back(Share(covered, n_));
      }
      row.push_back(Check(holds));
      table.Row(row);
    }
  }
  fmt::print("{}", table.Text());
}

// Compares stored results with unequal numbers of loads.
void Simulation::Unequal() {
  using Numbers = std::pair<int, int>;  // numbers of the first side and of the second
  Table table(fmt::format("Coverage of the 95 % interval of stored results with unequal numbers of "
                          "loads ({} simulations; must be 93 % at least)",
                          n_),
              {"world", "3 to 10", "3 to 30", "30 to 3", "5 to 20", "10 to 30", "holds"});
  for (const SimulatedWorld& world : kWorlds) {
    if (!Comparable(world, SimulatedDesign::kStored)) continue;
    std::vector<std::string> row = {world.name};
    bool holds = true;
    for (const auto& [first, second] :
         {Numbers(3, 10), Numbers(3, 30), Numbers(30, 3), Numbers(5, 20), Numbers(10, 30)}) {
      const SimulatedPlan plan = PlanOf(world, SimulatedDesign::kStored, std::max(first, second));
      SimulatedSides sides(6);
      int covered = 0;
      for (int i = 0; i < n_; ++i) {
        std::vector<Sample> samples = sides.Draw(world, plan, 1.03);
        std::erase_if(samples, [first = first, second = second](const Sample& sample) {
          return sample.load >= (sample.side == kA ? first : second);
        });
        covered += Covers(Compare(samples, OptionsOf(world, plan)), 1.03);
      }
      holds = holds && covered > (0.93 - Chance(0.95) / 2) * n_;
      row.push_back(Share(covered, n_));
    }
    row.push_back(Check(holds));
    table.Row(row);
  }
  fmt::print("{}", table.Text());
}

// Looks at the numbers of loads below `most` and, the last time, at all `most` loads, which the
// samples are of; calls `look` with each answer until it returns false.
template <typename Function>
void LookOn(const std::vector<Sample>& samples, CompareOptions options, int most, Function look) {
  options.sequential = true;
  for (int n : kLooks) {
    if (n >= most) break;
    std::vector<Sample> seen;
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(seen),
                 [n](const Sample& s) { return s.load < n; });
    if (!look(Compare(seen, options))) return;
  }
  options.ended = true;
  look(Compare(samples, options));
}

int Simulation::WronglySame(const SimulatedWorld& world, const SimulatedPlan& plan) const {
  const CompareOptions options = OptionsOf(world, plan);
  SimulatedSides sides(8);
  int same = 0;
  for (int i = 0; i < n_; ++i) {
    bool told = false;
    LookOn(sides.Draw(world, plan, 1 + options.margin), options, plan.loads,
           [&](const Answer& answer) {
             told = told || answer.p_same <= answer.alpha;
             return true;
           });
    same += told;
  }
  return same;
}

void Simulation::Looking() {
  constexpr int kMost = 23;  // the time is over between two looks
  Table table(
      fmt::format("Looked at after 3, 4, 5, 6, 8 ... 20 and {} loads (covered: the truth is in the "
                  "interval at every look, must be 93 % at least; false alarms: A against A "
                  "ends with \"faster\" or \"slower\", must be 5 % at most; false \"same\": sides "
                  "that differ by the margin are the same at some look, must be 5 % at most)",
                  kMost),
      {"world", "design", "covered", "false alarms", "ended with \"same\"", "false \"same\"",
       "holds"});
  std::vector<SimulatedWorld> worlds = kWorlds;
  worlds.insert(worlds.end(), kCoarseWorlds.begin(), kCoarseWorlds.end());
  for (const SimulatedWorld& world : worlds) {
    for (const auto& [design, name] : kDesigns) {
      if (!Comparable(world, design)) continue;
      const SimulatedPlan plan = PlanOf(world, design, kMost);
      SimulatedSides sides(2);
      int covered = 0, alarms = 0, same = 0;
      for (int i = 0; i < n_; ++i) {
        bool all = true, ended = false;
        const CompareOptions options = OptionsOf(world, plan);
        LookOn(sides.Draw(world, plan, 1), options, kMost, [&](const Answer& answer) {
          all = all && Covers(answer, 1);
          if (!ended && answer.told()) {
            ended = true;
            alarms += Differs(answer);
            same += answer.outcome == Outcome::kSame;
          }
          return true;
        });
        covered += all;
      }
      const int wrongly_same = WronglySame(world, plan);
      const bool holds = covered >= (0.93 - Chance(0.95) / 2) * n_ &&
                         std::max(alarms, wrongly_same) <= (0.05 + Chance(0.05) / 2) * n_;
      table.Row({world.name, name, Share(covered, n_), Share(alarms, n_), Share(same, n_),
                 Share(wrongly_same, n_), Check(holds)});
    }
  }
  fmt::print("{}", table.Text());
}

// Asks what a comparison of several sides answers, by the code that answers it, with its looks.
void Simulation::Sides() {
  constexpr int kMost = 11;  // the time is over between two looks
  const int n = std::max(1, n_ / 4);
  Table table(
      fmt::format("Comparisons by `testbed ab`, of {} loads at most ({} simulations; each share "
                  "must be 5 % at most): of equal sides one is called different; each side is "
                  "slower by 3 %, and 'rate < -3%' is told to hold (exit code 3), or to hold of "
                  "none (exit code 0)",
                  kMost, n),
      {"world", "sides", "different", "exit code 3", "exit code 0", "holds"});
  for (const SimulatedWorld& world : kWorlds) {
    for (const int sides : {2, 3, 4}) {
      SimulatedPlan plan = PlanOf(world, SimulatedDesign::kInterleave, kMost);
      plan.sides = sides;
      plan.slices = 1;
      SimulatedSides drawn(5);
      int different = 0, holds = 0, none = 0;
      for (int i = 0; i < n; ++i) {
        json equal = SessionOf(drawn.Draw(world, plan, 1), sides, {});
        EndSession(kMost, &equal);
        const std::vector<AbAnswer> answers = AskedAnswers(equal);
        different += std::any_of(answers.begin(), answers.end(),
                                 [](const AbAnswer& answer) { return Differs(answer.answer); });
        json slower = SessionOf(drawn.Draw(world, plan, 0.97), sides, {"rate < -3 %"});
        EndSession(kMost, &slower);
        const int code = AbExitCode(slower);
        holds += code == 3;
        none += code == 0;
      }
      const double most = (0.05 + Chance(0.05, n) / 2) * n;
      table.Row({world.name, std::to_string(sides), Share(different, n), Share(holds, n),
                 Share(none, n), Check(std::max({different, holds, none}) <= most)});
    }
  }
  fmt::print("{}", table.Text());
}

void Simulation::Power() {
  constexpr int kMost = 48;
  Table table(
      fmt::format("Power: differences found within {} loads of each side, and the mean number "
                  "of loads when the comparison ended",
                  kMost),
      {"world", "design", "1 %", "loads", "2 %", "loads", "5 %", "loads", "wrong side"});
  const int n = std::max(1, n_ / 10);
  for (const SimulatedWorld& world : kWorlds) {
    for (const auto& [design, name] : kDesigns) {
      if (design == SimulatedDesign::kStored) continue;
      std::vector<std::string> row = {world.name, name};
      int wrong = 0;
      for (double change : {0.01, 0.02, 0.05}) {
        const SimulatedPlan plan = PlanOf(world, design, kMost);
        SimulatedSides sides(3);
        CompareOptions options = OptionsOf(world, plan);
        options.margin = change / 4;
        int found = 0;
        double loads = 0;
        for (int i = 0; i < n; ++i) {
          LookOn(sides.Draw(world, plan, 1 + change), options, kMost, [&](const Answer& answer) {
            found += answer.outcome == Outcome::kMore;
            wrong += answer.outcome == Outcome::kLess;
            const bool last = answer.told() || NextLook(answer.loads_a) > kMost;
            if (last) loads += answer.loads_a;
            return !last;
          });
        }
        row.push_back(Share(found, n));
        row.push_back(fmt::format("{:.1f}", loads / n));
      }
      row.push_back(Share(wrong, 3 * n));
      table.Row(row);
    }
  }
  fmt::print("{}", table.Text());
}

// Shows how comparisons of several runs on one load go wrong: their intervals do not cover the
// difference between loads.
void Simulation::OneLoad() {
  const SimulatedWorld world = {.name = "", .loads = 0.03, .runs = 0.01, .slices = 0};
  Table table(
      "For comparison: runs of one load each, called different when their 95 % intervals do "
      "not overlap; loads differ 3 times as runs",
      {"runs", "false alarms"});
  for (int runs : {3, 5, 10}) {
    const SimulatedPlan plan = {
        .design = SimulatedDesign::kStored, .loads = 1, .runs = runs, .slices = 1};
    SimulatedSides sides(4);
    int alarms = 0;
    for (int i = 0; i < n_; ++i) {
      double mean[2] = {}, squares[2] = {};
      const std::vector<Sample> samples = sides.Draw(world, plan, 1);
      for (const Sample& s : samples) mean[s.side] += s.value / runs;
      for (const Sample& s : samples) squares[s.side] += std::pow(s.value - mean[s.side], 2);
      double half = 0;
      for (double of_side : squares) {
        half += StudentQuantile(0.025, runs - 1) * std::sqrt(of_side / (runs - 1) / runs);
      }
      alarms += std::abs(mean[kB] - mean[kA]) > half;
    }
    table.Row({std::to_string(runs), Share(alarms, n_)});
  }
  fmt::print("{}", table.Text());
}

void PrintLooks(int paths) {
  const std::vector<double> least = LeastTails(kLooks, paths, 7);
  for (int quarter = -20; quarter < -1; ++quarter) {  // exponents from -5 to -0.5
    const double tail = std::pow(10, 0.25 * quarter);
    const auto below = std::upper_bound(least.begin(), least.end(), tail) - least.begin();
    fmt::print("{{{:.6g}, {:.6g}}},\n", tail, static_cast<double>(below) / paths);
  }
}

int Main(const std::vector<std::string>& words) {
  const std::string what = words.empty() ? "--simulations" : words[0];
  const int given = words.size() > 1 ? std::atoi(words[1].c_str()) : 0;
  if (words.size() > 2 || given < 0 || (what != "--simulations" && what != "--table") ||
      (words.size() == 2 && given == 0)) {
    fmt::print(stderr, "usage: statistics_simulation [--simulations N | --table [N]]\n");
    return 2;
  }
  if (what == "--table") {
    PrintLooks(given > 0 ? given : 4000000);
    return 0;
  }
  return Simulation(given > 0 ? given : 4000).Run() ? 0 : 1;
}

}  // namespace
}  // namespace testbed

int main(int argc, char** argv) {
  try {
    return testbed::Main({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "statistics_simulation: %s\n", e.what());
    return 2;  // 1 says that a bound is missed
  }
}
