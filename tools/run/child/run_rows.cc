#include "tools/run/child/run_rows.h"

#include <algorithm>

#include "device/account/operations.h"
#include "device/error.h"
#include "tools/run/child/child_run.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

// Returns the loader of the plan's database. All workloads of a run need the same loader, except
// those that run on any database. Returns an empty string when the plan has only the latter.
std::string LoaderOfPlan(const RunPlan& plan) {
  for (const std::string& phase : plan.phases) {
    if (const std::string& loader = FindWorkload(phase).loader; !loader.empty()) return loader;
  }
  return "";
}

// Returns whether the plan has no operations: it only lets the engine come to rest.
bool OnlySettles(const RunPlan& plan) {
  return std::all_of(plan.phases.begin(), plan.phases.end(),
                     [](const std::string& phase) { return FindWorkload(phase).only_settles; });
}

}  // namespace

// A replay does not tell who loaded its database, but the database's record does, also when it no
// longer tells the rows. Nobody needs the rows of a plan without operations, so they are not
// counted for it.
bool HasPopulation(const RunPlan& plan) {
  const std::string loader = LoaderOfRun(plan);
  if (loader.empty() || OnlySettles(plan)) return !plan.population.is_null();
  return loader == "insert";
}

std::string LoaderOfRun(const RunPlan& plan) {
  const std::string loader = LoaderOfPlan(plan);
  return loader.empty() ? plan.loader : loader;
}

std::optional<uint64_t> RowsAtEnd(const RunPlan& plan, const Population* population,
                                  const Dataset& dataset) {
  if (population != nullptr) {
    return population->known() ? std::optional(population->there().count()) : std::nullopt;
  }
  return LoaderOfPlan(plan) == "document-load" ? std::optional(dataset.rows()) : std::nullopt;
}

// Counts the rows of a database whose last run was killed or failed, and so did not record them, or
// in which a replay has written, or a write of this run got no answer. The engine is opened again
// afterwards, and the pages are dropped, because pages that the count cached would speed up the
// phases that are measured next. A server of several addresses keeps what it has cached, and one of
// them may be lost. `needed`: the next phase needs to know the rows.
void ChildRun::CountRows(bool needed) {
  static const OpKind op = DefineOp("count-rows", Ground::kBackground);
  const char* const why = "it is not known which rows there are, so they are counted";
  Step("count-rows", PhaseKind::kCount, op, why, [this, needed](PhaseRecord* step) {
    const bool own_keys = workload_.population->Count(*engine_, stop_);
    if (!own_keys && needed) {
      throw Error(Error::kRun,
                  "the database holds a key that belongs to no row of it; load it anew with "
                  "--fresh");
    }
    step->counted.emplace();
    if (workload_.population->known()) {
      step->counted->rows = workload_.population->there().count();
    }
    step->counted->stopped = own_keys && !workload_.population->known();
  });
  if (engine_->ServerAddresses().empty()) ReopenCold();
}

}  // namespace testbed
