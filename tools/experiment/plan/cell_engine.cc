#include "tools/experiment/plan/cell_engine.h"

namespace testbed {

std::string EngineOf(std::initializer_list<const OptionMap*> maps) {
  for (const OptionMap* map : maps) {
    const auto found = map->find("engine");
    if (found != map->end()) return found->second.substr(0, found->second.find_first_of(":@"));
  }
  return "";
}

std::set<std::string> KnownEngines(const Experiment& e) {
  std::set<std::string> known = {EngineOf({&e.options})};
  for (const EngineInfo& info : Engines()) known.insert(info.name);
  for (const Axis& axis : e.axes) {
    for (const AxisValue& value : axis.values) known.insert(EngineOf({&value.options}));
  }
  for (const auto& [name, scale] : e.scales) known.insert(EngineOf({&scale.options}));
  known.erase("");  // options that name no engine
  return known;
}

std::string ChosenVersion(const OptionMap& options) {
  std::string chosen;
  for (const char* name : {"engine", "server", "connect", "engine-option.server",
                           "engine-option.program", "engine-option.programs"}) {
    const auto found = options.find(name);
    chosen += (found == options.end() ? "" : found->second) + "\n";
  }
  return chosen;
}

void CheckOptionsOf(const EngineInfo& engine, const RunOptions& run, const PlanOptions& plan) {
  if (!run.release.empty()) return;
  if (plan.any_machine) return CheckOptionsOfAnyMachine(engine, run.engine);
  CheckEngineOptions(engine, run.engine);
}

std::string MissingHere(const Cell& cell) {
  const EngineInfo& info = FindEngine(EngineOf({&cell.options}));
  if (info.missing != nullptr) {
    if (std::string missing = info.missing(); !missing.empty()) return missing;
  }
  if (info.check_programs == nullptr) return "";
  for (OptionMap options : {cell.options, cell.load_options}) {
    if (options.empty()) continue;  // the cell shares no load
    options.erase("scratch");
    const RunOptions run = CellRunOptions(options);
    if (!run.release.empty()) continue;
    if (std::string missing = MissingProgram(info, run.engine); !missing.empty()) return missing;
  }
  return "";
}

}  // namespace testbed
