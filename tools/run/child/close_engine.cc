// The methods of ChildRun that make the engine's commits durable, before the engine is closed and
// opened anew, and before the database counts as loaded.
#include <algorithm>
#include <chrono>
#include <thread>

#include "device/file/page_cache.h"
#include "device/os/signal_guard.h"
#include "tools/run/child/child_run.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

// Waits for the time, or until `stop` returns true. Returns whether the time has passed.
bool WaitUnlessStopped(std::chrono::milliseconds time, bool (*stop)()) {
  using Steady = std::chrono::steady_clock;
  constexpr Steady::duration kLook = std::chrono::milliseconds(50);
  const Steady::time_point end = Steady::now() + time;
  while (!stop()) {
    const Steady::duration left = end - Steady::now();
    if (left <= Steady::duration::zero()) return true;
    std::this_thread::sleep_for(std::min(left, kLook));
  }
  return false;
}

}  // namespace

// Makes the last commits durable, and returns whether they are. The destructor of the engine does
// that as well, but cannot report a failure. A stop may end the checkpoint of a server early, which
// leaves it to the destructor.
bool ChildRun::MakeDurable() {
  if (options_.engine.durability == Durability::kSync || IsGuest()) return true;
  try {
    engine_->Checkpoint();
  } catch (const Stopped&) {
    if (!stop_()) throw;
    return false;
  }
  return true;
}

// Closes the engine within the run, which goes on with what the engine finds when it is opened
// again. Commits that an unreported failure had lost would be missing there.
void ChildRun::CloseEngine() {
  MakeDurable();
  engine_.reset();
}

// Opens the engine again, with none of its pages in the page cache but those that it needs to open.
// The kernel's readahead around these may read a whole small database, so the pages are dropped
// again after the opening.
void ChildRun::ReopenCold() {
  CloseEngine();
  DropPages(plan_.engine_dir);
  OpenEngine();
  DropPages(plan_.engine_dir);
}

// Drops the database's pages before a phase. The kernel passes over pages that are mapped, so an
// engine that maps its files is closed for it.
void ChildRun::DropCaches() {
  const bool stay = DropPages(plan_.engine_dir).after.cached > 0;
  if (stay && options_.engine.io == IoMode::kMmap) ReopenCold();
}

// Reports the database as loaded once a kill in the next phase can no longer lose the last commits
// of the load. After a settle, or `at_end` of the run, that is now. Otherwise commits of lazy
// durability get their interval first, and a load without durability is not reported yet. A stop
// ends the interval, and the commits are made durable at once.
void ChildRun::ReportLoaded(bool at_end) {
  if (loaded_ || !FindWorkload(plan_.phases.front()).loads) return;
  const bool at_rest = last_kind_ == PhaseKind::kSettle;
  if (!at_rest && !at_end) {
    if (options_.engine.durability == Durability::kNone) return;
    const std::chrono::milliseconds interval(options_.engine.lazy_interval_ms);
    const bool lazy = options_.engine.durability == Durability::kLazy;
    if (lazy && !WaitUnlessStopped(interval, stop_) && !MakeDurable()) return;
  }
  loaded_ = true;
  talk_.report({{"loaded", true}});
}

}  // namespace testbed
