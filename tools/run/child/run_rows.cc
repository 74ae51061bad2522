#include "tools/run/child/run_rows.h"

#include <algorithm>

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

}  // namespace testbed
