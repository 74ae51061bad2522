// Finds the largest cache with which an engine stays within the memory: --cache-pct most.
//
// What an engine takes beside its cache (its allocator's gaps, its threads, a server, changes under
// way) differs from engine to engine and with the workload, so it is measured: the run is rehearsed
// on a database that is thrown away, in a child with a budget of its own that is a quarter larger
// than the run's. From what each rehearsal held, page cache apart, follows the share of the next;
// the one that is chosen was rehearsed itself and stayed within the memory.
#ifndef TESTBED_TOOLS_CACHE_CACHE_REHEARSAL_H_
#define TESTBED_TOOLS_CACHE_CACHE_REHEARSAL_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/options.h"

namespace testbed {

struct Rehearsal {
  double cache_pct = 0;
  double filled_bytes = 0;  // the most that the engine's cache held at the end of a phase
  double own_mean = 0;      // the phase that held most on the mean, page cache apart
  double own_most = 0;      // the most that any phase held at a moment
  double to_come = 0;  // bytes that the cache would still have taken: it was filling to the end
};

// The memory that would be just enough: on the mean a run is to hold this share of it, and at no
// moment more than that one. What is left is for pages that each CPU takes in advance, and for the
// page cache of files that are not read directly.
constexpr double kMeanShare = 0.95, kMostShareEver = 0.985;
double NeededBytes(const Rehearsal& rehearsal);

// The share of ram_bytes at which the next rehearsal would need goal_bytes, by a straight line
// through the last two that differ. Between 1 and 95 %.
double NextShare(const std::vector<Rehearsal>& rehearsals, double ram_bytes, double goal_bytes);

// Rehearses until a share needs the memory but for a few percent, four times at most. Returns them
// in order; *chosen is the largest share that stayed within the memory, and less where another
// rehearsal says that it need not: an allocator's gaps differ from run to run (fractal: by 30 of
// 256 MB). Throws Error (kUsage) when none stayed within it.
std::vector<Rehearsal> FindMostShare(double start_pct, double ram_bytes,
                                     const std::function<Rehearsal(double cache_pct)>& rehearse,
                                     double* chosen);

// The options of a rehearsal: the same, with one number of threads, phases that go by time a fifth
// as long (a second to a minute), and each of those twice at most.
RunOptions RehearsalOptions(const RunOptions& options);

// What the memory of a run depends on: runs for which it is the same may share a rehearsal.
nlohmann::json RehearsalIdentity(const RunOptions& options);

// Whether a rehearsal that has taken some time has shown what it can: the last two phases are of the
// workload that all further phases have too, held the same memory within a percent, and the
// engine's cache of so many bytes was full. `planned`: all phases that it would have.
bool ShowedEnough(const nlohmann::json& phases, const std::vector<std::string>& planned,
                  double cache_bytes);

// What the phases of a rehearsal held. Throws Error when the run failed or nothing was watched.
Rehearsal RehearsalOf(double cache_pct, double cache_bytes, const nlohmann::json& run);

// Takes 7 % off the chosen share, with which a run was ended for want of memory after all, and notes
// that it was ("ended_pct").
void LowerShare(nlohmann::json* rehearsals);

// For docs/results.md, "cache_rehearsal".
nlohmann::json RehearsalsJson(const std::vector<Rehearsal>& rehearsals, double chosen_pct);

// Rehearsals of earlier runs of the same identity below options.rehearsals_dir; null: none.
nlohmann::json KeptRehearsals(const RunOptions& options);
void KeepRehearsals(const RunOptions& options, const nlohmann::json& rehearsals);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CACHE_CACHE_REHEARSAL_H_
