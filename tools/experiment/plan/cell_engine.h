// What a cell of an experiment needs of its engine: which engine it is, whether the engine takes
// the cell's options, and whether this machine has what the engine needs.
//
// The functions keep no state and are thread-safe.
#ifndef TESTBED_TOOLS_EXPERIMENT_PLAN_CELL_ENGINE_H_
#define TESTBED_TOOLS_EXPERIMENT_PLAN_CELL_ENGINE_H_

#include <initializer_list>
#include <set>
#include <string>

#include "engines/registry.h"
#include "tools/experiment/plan/plan.h"

namespace testbed {

// Returns the name of the engine, without variant and release, that the first of the maps names; ""
// when none does.
std::string EngineOf(std::initializer_list<const OptionMap*> maps);

// Returns the names of the engines that are in this build, or that cells of the experiment can
// have.
std::set<std::string> KnownEngines(const Experiment& experiment);

// Returns the options that choose the version of a cell's engine, with their values: cells that
// differ in them are meant to be of several versions.
std::string ChosenVersion(const OptionMap& options);

// Throws Error (kUsage) when the engine cannot run with the options: on this machine, or on any
// when another may run the cell. The program of another release checks its options itself, when the
// cell runs.
void CheckOptionsOf(const EngineInfo& engine, const RunOptions& run, const PlanOptions& plan);

// Returns why this machine cannot run the cell, although its engine is in this build: a library, or
// the server that the cell's options name, is missing. Returns "" when it can.
std::string MissingHere(const Cell& cell);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_PLAN_CELL_ENGINE_H_
