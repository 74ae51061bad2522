// Finds the largest cache with which an engine stays within the memory: --cache-pct most.
//
// The memory that an engine takes beside its cache (gaps of its allocator, threads, a server,
// changes in progress) differs between engines and workloads, so it is measured. The run is
// rehearsed on a database that is thrown away, in a child whose budget is a quarter larger than the
// run's. What each rehearsal held, without the page cache, determines the share of the next. The
// chosen share has itself been rehearsed and stayed within the memory.
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
  double filled_bytes = 0;  // largest size of the engine's cache at the end of a phase
  double own_mean = 0;      // largest mean of any phase, without page cache
  double own_most = 0;      // largest size at any moment, without page cache
  double to_come = 0;       // bytes that a cache still filling at the end would have added
};

// A run should hold at most kMeanShare of the memory on average and at most kMostShareEver at any
// moment. The rest is for pages that each CPU reserves in advance, and for the page cache of files
// that are not read directly. NeededBytes returns the smallest memory that satisfies both for a
// rehearsal.
constexpr double kMeanShare = 0.95, kMostShareEver = 0.985;
double NeededBytes(const Rehearsal& rehearsal);

// Returns the share of ram_bytes, from 1 to 95 %, at which the next rehearsal should need
// goal_bytes: by a straight line through the last two rehearsals whose shares differ.
double NextShare(const std::vector<Rehearsal>& rehearsals, double ram_bytes, double goal_bytes);

// Rehearses, at most four times, until a share needs all but a few percent of the memory. Returns
// the rehearsals in order. *chosen is the largest share that stayed within the memory, reduced
// where another rehearsal suggests that the share would not always fit: an allocator's gaps differ
// from run to run (fractal: by 30 of 256 MB). Throws Error (kUsage) when no share stayed within the
// memory, and what `rehearse` throws when no other share can be tried.
std::vector<Rehearsal> FindMostShare(double start_pct, double ram_bytes,
                                     const std::function<Rehearsal(double cache_pct)>& rehearse,
                                     double* chosen);

// Returns the options of a rehearsal. They differ from the run's in having only the largest number
// of threads, phases limited by time that are a fifth as long (a second to a minute), and each such
// phase at most twice.
RunOptions RehearsalOptions(const RunOptions& options);

// Returns everything that a run's memory depends on: runs with equal identities can share
// rehearsals.
nlohmann::json RehearsalIdentity(const RunOptions& options);

// Returns whether a rehearsal has run long enough: it took some time, its last two phases have the
// workload of all remaining phases and held the same memory within a percent, and the engine's
// cache of `cache_bytes` bytes was full. `planned` are the workloads of all its phases.
bool ShowedEnough(const nlohmann::json& phases, const std::vector<std::string>& planned,
                  double cache_bytes);

// Returns what the phases of a rehearsal held. Throws Error when the run failed, and Error (kUsage)
// when no memory was measured.
Rehearsal RehearsalOf(double cache_pct, double cache_bytes, const nlohmann::json& run);

// Lowers the chosen share by 7 %, after a run with it was ended for lack of memory, and records the
// old share in "ended_pct".
void LowerShare(nlohmann::json* rehearsals);

// Returns "cache_rehearsal" as in docs/results.md.
nlohmann::json RehearsalsJson(const std::vector<Rehearsal>& rehearsals, double chosen_pct);

// Load and store rehearsals, by identity, in options.rehearsals_dir. KeptRehearsals returns null
// when none are stored; both do nothing when rehearsals_dir is empty.
nlohmann::json KeptRehearsals(const RunOptions& options);
void KeepRehearsals(const RunOptions& options, const nlohmann::json& rehearsals);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CACHE_CACHE_REHEARSAL_H_
