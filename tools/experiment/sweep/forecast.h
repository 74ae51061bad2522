// What a plan will take before it starts: cells, loads, time and disk.
//
//   const auto finished = [&](const Cell& c) { return dir.HasCell(c); };
//   const Forecast forecast = ForecastOf(cells, finished, dir.RehearsalsDir());
//   fmt::print(stderr, "{}", ForecastText(forecast, "read-size"));
//   CheckRoom(forecast, "results", "--out");
#ifndef TESTBED_TOOLS_EXPERIMENT_SWEEP_FORECAST_H_
#define TESTBED_TOOLS_EXPERIMENT_SWEEP_FORECAST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/experiment/plan/plan.h"

namespace testbed {

struct Forecast {
  size_t cells = 0;            // cells that are to run, in all rounds
  size_t done = 0;             // cells that an earlier call finished
  size_t loads = 0;            // databases that will be loaded
  double measure_seconds = 0;  // sum of the warm-ups and measurements
  // A phase has a set number of operations and no set rate. The forecast takes it to have the rate
  // that ForecastText names.
  bool assumes_rate = false;
  bool open_ended = false;  // a phase has no set length, so the plan takes longer than forecast
  uint64_t load_bytes = 0;  // keys and values of all loads
  double load_seconds = 0;  // time of all loads
  // About how many rehearsals find the share of --cache-pct most before the runs of the cells and
  // of shared loads, and the seconds that these take with their own loads. Runs with equal needs of
  // memory share them.
  size_t rehearsals = 0;
  double rehearse_seconds = 0;
  double edge_seconds = 0;    // time in which runs begin and end, and loads are copied
  size_t faulting_loads = 0;  // loads of unknown speed, as page faults may read ahead
  uint64_t disk_bytes = 0;    // space that the largest database may take; there is one at a time
  // Space that a database, with the load that it is a copy of, takes for sure: the largest of those
  // of which it is known (TakesItsBytes).
  uint64_t least_bytes = 0;
};

// Adds up the cells for which `finished` is false. Rehearsals that cells have kept in
// `rehearsals_dir` are left out; an empty name stands for none.
Forecast ForecastOf(const std::vector<Cell>& cells,
                    const std::function<bool(const Cell&)>& finished,
                    const std::string& rehearsals_dir = "");

// Returns what each of the cells, which are in the order in which they run, adds to the forecast of
// all: a load or rehearsals that cells share count with the first of them, and the rehearsals of a
// load with the load.
std::vector<Forecast> ForecastOfEach(const std::vector<Cell>& cells,
                                     const std::function<bool(const Cell&)>& finished,
                                     const std::string& rehearsals_dir = "");

// Returns the seconds that the plan takes, at the speeds that ForecastText names; at least these
// when it is open-ended.
double ForecastSeconds(const Forecast& forecast);

// Returns how long the plan takes: "about 13 minutes", or "more than 13 minutes" when it may take
// longer than is known.
std::string AboutText(const Forecast& forecast);

// Returns a line such as "read-size: 12 cells to run; about 13 minutes: 7 minutes of measuring, 4
// minutes in about 8 rehearsals, 2 minutes to load 4G in 4 loads at 30 MB/s, and 14 s to begin and
// end runs; up to 3G of disk".
std::string ForecastText(const Forecast& forecast, const std::string& name);

// Throws Error (kUsage) when the file system of `dir`, or of its nearest parent that exists, has
// less room than Forecast::least_bytes. `option` names the directory; `held` are the bytes of
// databases there that the plan replaces or uses. For plans without a scratch device.
void CheckRoom(const Forecast& forecast, const std::string& dir, const std::string& option,
               uint64_t held = 0);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_SWEEP_FORECAST_H_
