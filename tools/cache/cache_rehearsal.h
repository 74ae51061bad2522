// Finds the largest cache with which a run stays within its memory: --cache-pct most.
//
// The memory that an engine takes beside its cache (the allocator's gaps, threads, a server
// process, changes under way) differs between engines and workloads, so it is measured. The run is
// rehearsed in a child process whose budget is a quarter larger than the run's, on a database that
// is removed afterwards or, with --reuse, on the run's own, which is then unchanged or a copy. The
// share of the next rehearsal follows from the memory, without page cache, that the last ones held.
// The chosen share is at most one that was rehearsed and stayed within the memory.
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
  double filled_bytes = 0;  // most bytes that the engine's cache held at the end of a phase
  double own_mean = 0;      // memory held without page cache: largest mean of a phase; no warm-up
  double own_most = 0;      // memory held without page cache: the largest sample
  double to_come = 0;       // bytes by which the cache, not full yet at the end, would have grown
  double cache_bytes = 0;   // size of the cache: of the share, or less (CacheInForce); 0: not known
};

// The shares of its memory that a run may hold, on the mean of a phase and at any moment. The rest
// is for pages that the kernel charges to each CPU in advance, and for the page cache of files that
// are not read by direct IO.
constexpr double kMeanShare = 0.95, kMostShareEver = 0.985;

// Returns the smallest memory, in bytes, of which the rehearsal would have held no more than both
// shares.
double NeededBytes(const Rehearsal& rehearsal);

// Returns the share of ram_bytes, in percent, at which the next rehearsal would need goal_bytes. It
// follows a straight line through the last two rehearsals whose shares differ, and is between 1 and
// 95 %.
double NextShare(const std::vector<Rehearsal>& rehearsals, double ram_bytes, double goal_bytes);

// Rehearses until a share needs all but a few percent of ram_bytes, or less than half of the cache
// is filled (filled_bytes 0: not known), but at most four times. Returns the rehearsals in order.
// *chosen becomes the largest share that stayed within the memory, in percent. It is lowered when
// a rehearsal with a share of about that size exceeded the memory, since an allocator's gaps differ
// from run to run (fractal: by 30 of 256 MB). Throws Error (kUsage) when no share stayed within the
// memory. Rethrows the Error of the first rehearsal, and that of the fourth when no share before
// stayed within the memory. Rethrows Stopped, whichever rehearsal throws it.
std::vector<Rehearsal> FindMostShare(double start_pct, double ram_bytes,
                                     const std::function<Rehearsal(double cache_pct)>& rehearse,
                                     double* chosen);

// Returns the options of a rehearsal of a run with `options`. It has the largest number of threads
// only, one repetition, no trace, no search for a rate, and timed phases of a fifth of their
// length, but of 5 seconds at least (or their whole length) and of a minute at most. Unless
// --operations ends the phases, it has each workload that does not load at most twice.
RunOptions RehearsalOptions(const RunOptions& options);

// Returns whether the rehearsal has all phases of the run at their full length. Then a cache that
// is not full at the end of the rehearsal does not grow further in the run either.
bool IsWhole(const RunOptions& options);

// Returns the identity of a run's rehearsals: the settings that the memory of the run depends on,
// with the run's own lengths of phases, and whether a rehearsal is the whole run. Runs with equal
// identities may share their rehearsals.
nlohmann::json RehearsalIdentity(const RunOptions& options);

// Returns whether a rehearsal may end early because further phases would show nothing new. That is
// so when it has taken 40 seconds, the last two phases ran the workload that all further phases
// run, they held the same memory within a percent, and 70 % of the engine's cache of `cache_bytes`
// was filled before the last one. `phases` are the finished phases, `planned` the workloads of all
// phases.
bool ShowedEnough(const nlohmann::json& phases, const std::vector<std::string>& planned,
                  double cache_bytes);

// Returns the memory that the phases of a rehearsal held; `run` is its document. Throws Error when
// the run failed, or when its memory was not watched.
Rehearsal RehearsalOf(double cache_pct, double cache_bytes, const nlohmann::json& run);

// Returns the share of the memory, in percent, that the engine's cache has when it is given
// `cache_pct`. It is less where the engine rounds the size of its cache down (CacheInForce).
double ShareInForce(const RunOptions& options, double cache_pct);

// Lowers the chosen share by 3 %, after the kernel killed a run with it for want of memory, and
// records the old share in "ended_pct". A cache whose size is rounded down gets the next smaller
// size.
void LowerShare(const RunOptions& options, nlohmann::json* rehearsals);

// Returns "cache_rehearsal" of a results document (docs/results.md).
nlohmann::json RehearsalsJson(const std::vector<Rehearsal>& rehearsals, double chosen_pct);

// Returns the rehearsals that a run with the same identity kept below options.rehearsals_dir; null
// when there are none, they are damaged, or rehearsals are not kept. Throws Error when their file
// is no regular file or cannot be read.
nlohmann::json KeptRehearsals(const RunOptions& options);

// Returns whether the document is one that KeepRehearsals wrote, under this name.
bool IsKeptRehearsals(const std::string& name, const nlohmann::json& document);

// Keeps the rehearsals for later runs; does nothing when options.rehearsals_dir is empty.
void KeepRehearsals(const RunOptions& options, const nlohmann::json& rehearsals);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CACHE_CACHE_REHEARSAL_H_
