// How long the rest of a plan takes, by how long its finished cells have taken and by what was
// forecast of each.
//
//   TimeLeft time;
//   time.Add("engine=btree", 10);
//   time.Add("engine=rocksdb", 20);
//   time.Ended("engine=btree", 12.5);
//   time.Seconds();  // of the rest: 25
#ifndef TESTBED_TOOLS_EXPERIMENT_SWEEP_TIME_LEFT_H_
#define TESTBED_TOOLS_EXPERIMENT_SWEEP_TIME_LEFT_H_

#include <deque>
#include <map>
#include <optional>
#include <string>

namespace testbed {

// Not thread-safe. Each call takes the time of a look-up, however many cells there are.
class TimeLeft {
 public:
  // Adds a cell that is to run, with the seconds that are forecast of it, above 0. A cell has the
  // same name in each round, and its rounds are added in the order in which they run.
  void Add(const std::string& name, double forecast);
  // Notes that a cell has ended after this time, with a result or, when it has not `finished`,
  // without one. A cell that was not added is ignored.
  void Ended(const std::string& name, double seconds, bool finished = true);
  // Takes away the next round of a cell, which another process has finished, or runs. A cell that
  // was not added is ignored.
  void Drop(const std::string& name);
  // Returns the seconds that the cells take which have not ended. A cell takes as many times what
  // was forecast of it as it did in the round before: the first may have loaded or rehearsed for
  // others. One that has not run yet takes as many times that as those together that have finished:
  // a cell that fails, most often at once, says nothing of the others. It is taken to fail again,
  // unless it has finished before. Returns nullopt while none has finished.
  std::optional<double> Seconds() const;

 private:
  struct Rounds {
    std::deque<double> left;     // forecasts of those to come
    double sum = 0;              // of `left`
    std::optional<double> pace;  // how many times its forecast the last took
    bool finished = false;       // one of them has
  };

  std::map<std::string, Rounds> cells_;  // by name
  double unknown_left_ = 0;              // forecast of cells to come of which no round has ended
  double known_left_ = 0;                // seconds that the other cells to come take
  // The seconds that the first finished rounds of cells took, and those that were forecast of them.
  double first_seconds_ = 0, first_forecast_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_SWEEP_TIME_LEFT_H_
