// Tries the statistics of comparisons on simulated sides, whose truth is known, and prints how
// often they are right:
//
//   statistics_simulation [--simulations N]   coverage, false alarms, power
//   statistics_simulation --table [N]         the table of tools/statistics/looks.cc
//
// Each result is printed beside the bound that it must keep; the exit code is 1 when one does not
// keep it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "tools/output/table.h"
#include "tools/statistics/comparison.h"
#include "tools/statistics/looks.h"
#include "tools/statistics/simulated_sides.h"
#include "tools/statistics/student.h"

namespace testbed {
namespace {

// The standard deviations are like those seen on real machines: 2 to 10 % between slices of a tenth
// of a second, 1 to 3 % between loads.
const std::vector<SimulatedWorld> kWorlds = {
    {.name = "normal"},
    {.name = "skewed", .shape = SimulatedWorld::kSkewed},
    {.name = "bimodal", .shape = SimulatedWorld::kBimodal, .loads = 0.05},
    {.name = "drifting machine", .drift = 0.05},
    {.name = "loads differ 3 times as runs", .loads = 0.03, .runs = 0.01, .slices = 0.01},
    {.name = "noisy slices", .loads = 0.005, .slices = 0.2},
};

struct DesignName {
  SimulatedDesign design;
  const char* name;
};
constexpr DesignName kDesigns[] = {{SimulatedDesign::kInterleave, "interleave"},
                                   {SimulatedDesign::kRounds, "rounds"},
                                   {SimulatedDesign::kStored, "stored"}};

SimulatedPlan PlanOf(const SimulatedWorld& world, SimulatedDesign design, int loads) {
  return {.design = design, .loads = loads, .runs = world.runs > 0 ? 3 : 1};
}

std::string Share(double count, int of) { return fmt::format("{:.1f} %", 100 * count / of); }

bool Covers(const Answer& answer, double truth) {
  return answer.low <= truth && truth <= answer.high;
}

bool Differs(const Answer& answer) {
  return answer.outcome == Outcome::kLess || answer.outcome == Outcome::kMore;
}

class Simulation {
 public:
  explicit Simulation(int simulations) : n_(simulations) {}

  // Runs all simulations. Returns whether every result kept its bound.
  bool Run() {
    Fixed();
    Looking();
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
  // Returns four standard errors of an observed share near `share`: a deviation that chance can
  // explain.
  double Chance(double share) const { return 4 * std::sqrt(share * (1 - share) / n_); }

  void Fixed();
  void Looking();
  void Power();
  void OneLoad();

  int n_;
  bool held_ = true;
};

void Simulation::Fixed() {
  Table table(
      fmt::format("Coverage of the 95 % interval at a fixed number of loads ({} simulations; "
                  "must be 93 to 97 %)",
                  n_),
      {"world", "design", "3 loads", "5 loads", "10 loads", "20 loads", "holds"});
  for (const SimulatedWorld& world : kWorlds) {
    for (const auto& [design, name] : kDesigns) {
      if (!Comparable(world, design)) continue;
      std::vector<std::string> row = {world.name, name};
      bool holds = true;
      for (int loads : {3, 5, 10, 20}) {
        const SimulatedPlan plan = PlanOf(world, design, loads);
        SimulatedSides sides(1);
        int covered = 0;
        for (int i = 0; i < n_; ++i) {
          covered += Covers(Compare(sides.Draw(world, plan, 1.03), OptionsOf(plan)), 1.03);
        }
        const double share = static_cast<double>(covered) / n_;
        holds = holds && share > 0.93 - Chance(0.95) / 2 && share < 0.97 + Chance(0.95) / 2;
        row.push_back(Share(covered, n_));
      }
      row.push_back(Check(holds));
      table.Row(row);
    }
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

void Simulation::Looking() {
  constexpr int kMost = 23;  // the time is over between two looks
  Table table(
      fmt::format("Looked at after 3, 4, 5, 6, 8 ... 20 and {} loads (covered: the truth is in the "
                  "interval at every look, must be 93 % at least; false alarms: A against A "
                  "ends with \"faster\" or \"slower\", must be 5 % at most)",
                  kMost),
      {"world", "design", "covered", "false alarms", "ended with \"same\"", "holds"});
  for (const SimulatedWorld& world : kWorlds) {
    for (const auto& [design, name] : kDesigns) {
      if (!Comparable(world, design)) continue;
      const SimulatedPlan plan = PlanOf(world, design, kMost);
      SimulatedSides sides(2);
      int covered = 0, alarms = 0, same = 0;
      for (int i = 0; i < n_; ++i) {
        bool all = true, ended = false;
        LookOn(sides.Draw(world, plan, 1), OptionsOf(plan), kMost, [&](const Answer& answer) {
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
      const bool holds =
          covered >= (0.93 - Chance(0.95) / 2) * n_ && alarms <= (0.05 + Chance(0.05) / 2) * n_;
      table.Row(
          {world.name, name, Share(covered, n_), Share(alarms, n_), Share(same, n_), Check(holds)});
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
        CompareOptions options = OptionsOf(plan);
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

int main(int argc, char** argv) { return testbed::Main({argv + 1, argv + argc}); }
