// Tells what follows from the place of a phase among those of its run: whether the phases beside it
// let the engine rest, and whether the database may be checked after it.
#include <algorithm>
#include <string>
#include <vector>

#include "tools/run/child/child_run.h"
#include "workloads/registry.h"
#include "workloads/workload.h"

namespace testbed {

// Returns whether the engine may still work for a phase before the current one. After a load or a
// settle the meter has waited until the device was at rest.
bool ChildRun::MayStillWork() const {
  return last_kind_ && *last_kind_ != PhaseKind::kLoad && *last_kind_ != PhaseKind::kSettle;
}

// Returns whether the current phase, of the given kind, is one of several periods of a long run:
// phases of one workload, one behind the other, that writes and leaves the engine its work. All
// periods are read alike, so the last one ends at once, too.
bool ChildRun::IsPeriod(PhaseKind kind, const Workload& workload) const {
  if (kind != PhaseKind::kMeasure && kind != PhaseKind::kWarmUp) return false;
  if (!workload.writes() || workload.settles()) return false;
  const std::vector<std::string>& all = plan_.phases;
  const size_t i = loads_ + current_;  // of the current phase, which does not load
  return (i > 0 && all[i - 1] == all[i]) || (i + 1 < all.size() && all[i + 1] == all[i]);
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
