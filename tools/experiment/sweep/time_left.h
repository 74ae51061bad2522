// How long the rest of a plan takes, by how long its finished cells have taken.
//
//   TimeLeft time;
//   time.Add("engine=btree");
//   time.Add("engine=rocksdb");
//   time.Ended("engine=btree", 12.5);
//   time.Seconds();  // of the rest
#ifndef TESTBED_TOOLS_EXPERIMENT_SWEEP_TIME_LEFT_H_
#define TESTBED_TOOLS_EXPERIMENT_SWEEP_TIME_LEFT_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace testbed {

// Not thread-safe. Each call takes the time of a look-up, however many cells there are.
class TimeLeft {
 public:
  // Adds a cell that is to run. A cell has the same name in each round.
  void Add(const std::string& name);
  // Notes that a cell that was added has ended, with or without a result, after this time.
  void Ended(const std::string& name, double seconds);
  // Returns the seconds that the cells take which have not ended: a cell takes as long as it did in
  // the round before, and one that has not run yet as long as the mean of those that have. Returns
  // nullopt while none has ended.
  std::optional<double> Seconds() const;

 private:
  struct Rounds {
    size_t left = 0;
    std::optional<double> seconds;  // how long the last took
  };

  std::map<std::string, Rounds> cells_;  // by name
  size_t unknown_left_ = 0;              // cells to come of which no round has ended
  double known_left_ = 0;                // seconds that the other cells to come take
  double first_seconds_ = 0;             // seconds of the first round of each cell
  size_t first_ended_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_SWEEP_TIME_LEFT_H_
