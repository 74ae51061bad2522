// Tells what follows from the place of a phase among those of its run: whether the engine may still
// work for the phase before it, and whether the database may be checked after it.
#include <algorithm>

#include "tools/run/child/child_run.h"
#include "workloads/registry.h"

namespace testbed {

// Returns whether the engine may still work for a phase before the current one. After a load or a
// settle the meter has waited until the device was at rest.
bool ChildRun::MayStillWork() const {
  return last_kind_ && *last_kind_ != PhaseKind::kLoad && *last_kind_ != PhaseKind::kSettle;
}

// Returns whether no phase of the run comes after the current one.
bool ChildRun::IsLast() const {
  const auto others = std::count_if(plan_.phases.begin(), plan_.phases.end(),
                                    [](const auto& name) { return !FindWorkload(name).loads; });
  return current_ + 1 == static_cast<size_t>(others);
}

// Returns whether the database is checked after the current phase, which is of the given kind. A
// check reads the whole database, which changes what the caches hold. So it runs after the last
// load and at the end of the run, and neither between loads nor between measured phases.
bool ChildRun::IsChecked(PhaseKind kind) const {
  if (kind != PhaseKind::kLoad) return kind == PhaseKind::kMeasure && IsLast();
  const auto loads = std::count_if(plan_.phases.begin(), plan_.phases.end(),
                                   [](const auto& name) { return FindWorkload(name).loads; });
  return loads_ == static_cast<size_t>(loads);
}

}  // namespace testbed
