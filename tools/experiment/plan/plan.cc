#include "tools/experiment/plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/sysinfo.h>
#include <xxhash.h>

#include <algorithm>

#include "device/error.h"
#include "device/nearest_name.h"
#include "engines/log_settings.h"
#include "engines/registry.h"
#include "tools/database/database_dir.h"
#include "tools/experiment/plan/cell_engine.h"
#include "tools/experiment/plan/rounds.h"
#include "tools/experiment/plan/scale.h"
#include "tools/option_check.h"
#include "tools/output/json_text.h"
#include "tools/trace/trace_options.h"
#include "tools/unused_options.h"
#include "tools/workload_defaults.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

void Overlay(const OptionMap& over, OptionMap* options) {
  for (const auto& [name, value] : over) (*options)[name] = value;
}

// Adds a cell for every combination of the axes' values from axis `depth` on, of those that `keep`
// has; the last axis varies fastest.
void Combine(const Experiment& e, const Where& keep, size_t depth, Cell* cell,
             std::vector<Cell>* cells) {
  if (depth == e.axes.size()) {
    cells->push_back(*cell);
    return;
  }
  const Axis& axis = e.axes[depth];
  const std::vector<std::string>& labels = keep.at(axis.name);
  for (const AxisValue& value : axis.values) {
    if (std::find(labels.begin(), labels.end(), value.label) == labels.end()) continue;
    Cell next = *cell;
    next.labels[axis.name] = value.label;
    next.name += (next.name.empty() ? "" : " ") + axis.name + "=" + value.label;
    Overlay(value.options, &next.options);
    Combine(e, keep, depth + 1, &next, cells);
  }
}

// Returns a hash of everything that the database of a run depends on.
std::string LoadKey(const RunOptions& run, const std::string& scratch,
                    const std::vector<std::string>& load) {
  std::string all = JsonText(DatabaseIdentity(run, load));
  // The variants of an engine read each other's databases, except servers of different versions.
  const EngineInfo& info = FindEngine(run.engine_name);
  const std::vector<std::string>& access = info.access_options;
  for (const auto& [name, value] : run.engine.extra) {
    if (std::find(access.begin(), access.end(), name) != access.end()) continue;
    if (info.capabilities.server || name != info.variants) all += " " + name + "=" + value;
  }
  all += " " + scratch;
  return fmt::format("{:016x}", XXH3_64bits(all.data(), all.size()));
}

// Returns the options that load a shared database: the cell's, overridden by the experiment's load
// options. The number of rows is the cell's, whatever memory the load gets.
OptionMap LoadOptions(const Experiment& e, const PlanOptions& plan, const std::string& engine,
                      const OptionMap& cell, uint64_t rows) {
  OptionMap options = cell;
  Overlay(e.load_options, &options);
  const auto own = e.engine_load_options.find(engine);
  if (own != e.engine_load_options.end()) Overlay(own->second, &options);
  options.erase("db-ratio");
  options["rows"] = std::to_string(rows);
  const auto ram = options.find("ram");
  if (ram != options.end()) ram->second = std::to_string(RamOf(ram->second, plan));
  return options;
}

// Plans the load of a shared database: its room on a scratch device. Sets `skipped` when the engine
// cannot load with the cell's load options.
void PlanLoad(const EngineInfo& engine, const PlanOptions& plan, Cell* cell) {
  OptionMap options = cell->load_options;
  options.erase("scratch");
  try {
    const RunOptions load = CellRunOptions(options);
    CheckOptionsOf(engine, load, plan);
    // A load may have more memory than the run, and its engine then keeps far more log.
    cell->scratch_bytes = std::max(
        cell->scratch_bytes,
        ScratchBytesFor(cell->data_bytes, cell->databases, CheckpointLogBytes(load.engine)));
  } catch (const Error& error) {
    cell->skipped = fmt::format("its database cannot be loaded: {}", error.what());
  }
}

// Throws Error (kUsage) about --set `name`, in whose place the axis sets `what`.
[[noreturn]] void RefuseSet(const Experiment& e, const Axis& axis, const std::string& name,
                            const std::string& what) {
  throw Error(Error::kUsage,
              fmt::format("--set {}: the axis {} of experiment {} sets {}; choose among its "
                          "values with --only {}=LABEL, or change a copy of the experiment "
                          "(`testbed experiment show {}`)",
                          name, axis.name, e.name, what, axis.name, e.name));
}

// Throws Error (kUsage) when --set changes an option that an axis sets: the label of a cell would
// then be wrong in every table.
void CheckSet(const Experiment& e, const OptionMap& set) {
  for (const Axis& axis : e.axes) {
    for (const AxisValue& value : axis.values) {
      for (const auto& [name, unused] : value.options) {
        if (set.contains(name)) RefuseSet(e, axis, name, "it");
      }
    }
  }
}

// Throws Error (kUsage) when --set overrides an option that all values of an axis have, by one that
// decides the same: cells with different labels would be one and the same.
void CheckRivalsOfAxes(const Experiment& e, const OptionMap& set) {
  for (const Axis& axis : e.axes) {
    for (const auto& [option, unused] : axis.values.front().options) {
      const auto has_option = [&option = option](const AxisValue& value) {
        return value.options.contains(option);
      };
      if (!std::all_of(axis.values.begin(), axis.values.end(), has_option)) continue;
      for (const auto& [name, value] : set) {
        const std::string what = DecidedInstead(name, option);
        if (what.empty()) continue;
        RefuseSet(e, axis, name, fmt::format("{}, and both decide {}", option, what));
      }
    }
  }
}

constexpr char kOneFigure[] = "make it an axis, so that each number has a figure of its own";

// Throws Error (kUsage) when a cell would run with one number of threads after the other.
void CheckThreads(const OptionMap& options, const char* instead) {
  const auto threads = options.find("threads");
  if (threads == options.end() || threads->second.find(',') == std::string::npos) return;
  throw Error(Error::kUsage, fmt::format("threads {} is a list: {}", threads->second, instead));
}

// Adds the options that the cell's workloads stand for and the cell does not have.
void AddWorkloadDefaults(OptionMap* options) {
  const auto workload = options->find("workload");
  if (workload == options->end()) return;
  std::vector<std::string> words = {"--workload", workload->second};
  const auto mix = options->find("mix");
  if (mix != options->end()) words.insert(words.end(), {"--mix", mix->second});
  RunOptions run = ParseRunOptions(words);
  const auto given = [&](const std::string& name) { return options->contains(name); };
  const bool has_threads = given("threads");
  options->merge(WorkloadDefaults(run.workloads, given, run.workload.mix));
  if (has_threads || !run.workload.extra.contains("trace")) return;
  // A replay sets its threads itself: one for each client of the trace.
  run.threads.clear();
  ApplyTraceThreads({}, &run);
  if (!run.threads.empty()) (*options)["threads"] = std::to_string(run.threads.front());
}

// Throws Error (kUsage) when the cell does not begin with a load. Its database is a new one, in
// which the other workloads would find nothing.
void CheckBeginsWithLoad(const CellPhases& phases) {
  if (!phases.load.empty()) return;
  const std::string& first = phases.rest.at(0);
  const std::string loader = LoaderText(FindWorkload(first));
  throw Error(Error::kUsage,
              fmt::format("--workload {0} needs a loaded database; begin with {1}, as in {1},{0}",
                          first, loader));
}

// Returns the options of a cell whose axes have the options `of_axes`.
OptionMap OptionsOfCell(const Experiment& e, const PlanOptions& options,
                        const ExperimentScale& scale, const std::string& engine,
                        const OptionMap& of_axes) {
  OptionMap all = e.options;
  Overlay(scale.options, &all);
  const auto own = e.engine_options.find(engine);
  if (own != e.engine_options.end()) Overlay(own->second, &all);
  const auto here = scale.engine_options.find(engine);
  if (here != scale.engine_options.end()) Overlay(here->second, &all);
  Overlay(of_axes, &all);
  Overlay(options.set, &all);
  const auto ram = all.find("ram");
  if (ram != all.end() && ram->second == "auto") ram->second = std::to_string(AutoRam(options));
  return all;
}

void SettleCell(const Experiment& e, const PlanOptions& options, const ExperimentScale& scale,
                Cell* cell) {
  const std::string engine = EngineOf({&options.set, &cell->options, &scale.options, &e.options});
  cell->options = OptionsOfCell(e, options, scale, engine, cell->options);
  for (const Skip& skip : e.skips) {
    if (IsOneOf(e, options.scale, skip.scales) && Matches(cell->labels, skip.where))
      cell->skipped = skip.why;
  }
  if (!cell->skipped.empty()) return;
  const auto& engines = Engines();
  const auto info = std::find_if(engines.begin(), engines.end(),
                                 [&](const EngineInfo& i) { return i.name == engine; });
  if (info == engines.end()) {
    cell->waits_for = engine;
    return;
  }
  CheckThreads(cell->options, kOneFigure);
  if (info->missing != nullptr && !options.any_machine) cell->skipped = info->missing();
  if (!cell->skipped.empty()) return;
  try {
    AddWorkloadDefaults(&cell->options);
    OptionMap run_options = cell->options;
    const std::string scratch = run_options["scratch"];
    run_options.erase("scratch");
    const RunOptions run = CellRunOptions(run_options);
    CheckOptionsOf(*info, run, options);
    cell->data_bytes =
        DataBytes(run.workloads, std::make_shared<const Dataset>(run.data), run.workload);
    cell->databases = run.databases;
    cell->scratch_bytes =
        ScratchBytesFor(cell->data_bytes, run.databases, CheckpointLogBytes(run.engine));
    cell->seed = run.data.seed;
    const CellPhases phases = PhasesOf(run.workloads);
    CheckBeginsWithLoad(phases);
    if (phases.rest.empty()) return;
    const bool reads = std::all_of(phases.rest.begin(), phases.rest.end(),
                                   [](const auto& w) { return FindWorkload(w).reads_only; });
    // A server's database is not copied: its files belong to the server's user, and some of them
    // hold paths of others.
    cell->copies_load = !reads && e.copy_loads && !info->capabilities.server;
    if (!reads && !cell->copies_load) return;
    cell->load_key = LoadKey(run, scratch, phases.load);
    cell->load_options = LoadOptions(e, options, engine, cell->options, run.data.rows);
    const uint64_t of_run = cell->scratch_bytes;
    PlanLoad(*info, options, cell);
    if (cell->copies_load) cell->scratch_bytes += of_run;
  } catch (const Error& error) {
    cell->skipped = error.what();
  }
}

// Returns the labels whose cells are planned, by axis: those that the user names, else those that
// the scale names, else all that run unasked.
Where LabelsToKeep(const Experiment& e, const ExperimentScale& scale, const Where& only) {
  Where keep = scale.labels;
  for (const auto& [axis, labels] : only) keep[axis] = labels;
  for (const Axis& axis : e.axes) {
    if (keep.contains(axis.name)) continue;
    for (const AxisValue& value : axis.values) {
      if (!value.asked) keep[axis.name].push_back(value.label);
    }
  }
  return keep;
}

// Returns the cells that have the labels `keep`, in the order of the axes' values.
std::vector<Cell> CombinedCells(const Experiment& e, const Where& keep) {
  std::vector<Cell> cells;
  Cell first;
  Combine(e, keep, 0, &first, &cells);
  std::erase_if(cells, [&keep](const Cell& cell) { return !Matches(cell.labels, keep); });
  return cells;
}

// Returns the options with which the cells of the scale load the databases that they share, by the
// key of the load: those of the first cell, whichever cells --only chooses. Of a cell that cannot
// be settled there are none, since it may be one that --only leaves out.
std::map<std::string, OptionMap> LoadsOfScale(const Experiment& e, const PlanOptions& options,
                                              const ExperimentScale& scale) {
  std::map<std::string, OptionMap> loads;
  if (options.only.empty()) return loads;  // the cells of the plan are those of the scale
  for (Cell& cell : CombinedCells(e, LabelsToKeep(e, scale, {}))) {
    try {
      SettleCell(e, options, scale, &cell);
    } catch (const Error&) {
      continue;
    }
    if (cell.runs() && !cell.load_key.empty()) loads.emplace(cell.load_key, cell.load_options);
  }
  return loads;
}

// Makes cells that share a database load it with the options of the first of them, which `loads`
// has where that is a cell of the scale. Otherwise a round in another order, or a call with --only,
// would load it with other options, which show in its figures, and in the levels of an LSM tree.
void ShareLoads(std::map<std::string, OptionMap> loads, std::vector<Cell>* cells) {
  for (Cell& cell : *cells) {
    if (!cell.runs() || cell.load_key.empty()) continue;
    cell.load_options = loads.try_emplace(cell.load_key, cell.load_options).first->second;
  }
}

// Returns why none of the cells runs: what keeps the first of them that the experiment itself does
// not skip.
std::string WhyNone(const Experiment& e, const std::vector<Cell>& cells) {
  const auto is_kept = [&e](const Cell& cell) {
    return std::none_of(e.skips.begin(), e.skips.end(),
                        [&cell](const Skip& skip) { return skip.why == cell.skipped; });
  };
  const auto found = std::find_if(cells.begin(), cells.end(), is_kept);
  const Cell& cell = found == cells.end() ? cells[0] : *found;
  return cell.skipped.empty() ? "engine " + cell.waits_for + " is not in this build" : cell.skipped;
}

}  // namespace

bool Matches(const std::map<std::string, std::string>& labels, const Where& where) {
  return std::all_of(where.begin(), where.end(), [&](const auto& condition) {
    const auto found = labels.find(condition.first);
    return found != labels.end() && std::find(condition.second.begin(), condition.second.end(),
                                              found->second) != condition.second.end();
  });
}

std::map<std::string, std::string> OptionsOfWorkloads(
    const std::map<std::string, std::string>& options, const std::vector<std::string>& workloads) {
  std::map<std::string, std::string> theirs;
  for (const std::string& workload : workloads) {
    const WorkloadInfo& info = FindWorkload(workload);
    for (const auto* names : {&info.extra_options, &info.run_options}) {
      for (const auto& [name, meaning] : *names) {
        const auto given = options.find(name);
        if (given != options.end()) theirs.insert(*given);
      }
    }
  }
  return theirs;
}

std::string DatabaseText(const Cell& cell) {
  if (cell.load_key.empty()) return "its own";
  return (cell.copies_load ? "a copy of " : "shared ") + cell.load_key.substr(0, 6);
}

CellPhases PhasesOf(const std::vector<std::string>& workloads) {
  CellPhases phases;
  for (const std::string& workload : workloads) {
    const bool loads = phases.rest.empty() && FindWorkload(workload).loads;
    (loads ? phases.load : phases.rest).push_back(workload);
  }
  return phases;
}

void LeaveOutLoad(RunOptions* run) {
  run->workloads = PhasesOf(run->workloads).rest;
  run->workload.extra = OptionsOfWorkloads(run->workload.extra, run->workloads);
}

void KeepLoadAlone(RunOptions* run) {
  run->workloads = PhasesOf(run->workloads).load;
  run->workload.extra = OptionsOfWorkloads(run->workload.extra, run->workloads);
  run->threads.resize(1);
  run->repeat_runs = 1;
}

std::vector<std::string> OptionWords(const OptionMap& options) {
  std::vector<std::string> words;
  for (const auto& [name, value] : options) {
    const size_t dot = name.find('.');
    if (dot != std::string::npos) {
      words.push_back("--" + name.substr(0, dot));
      words.push_back(name.substr(dot + 1) + "=" + value);
    } else if (IsRunFlag(name)) {
      if (value == "true") words.push_back("--" + name);
    } else {
      words.push_back("--" + name);
      words.push_back(value);
    }
  }
  return words;
}

RunOptions CellRunOptions(const OptionMap& options) {
  RunOptions run = ParseRunOptions(OptionWords(options));
  run.Resolve();
  return run;
}

bool IsOneOf(const Experiment& e, const std::string& scale,
             const std::vector<std::string>& scales) {
  const std::string& name = scale.empty() || e.scales.contains(scale) ? scale : "full";
  return scales.empty() || std::find(scales.begin(), scales.end(), name) != scales.end();
}

// The other half of the memory is left to the operating system.
uint64_t AutoRam(const PlanOptions& options) {
  if (options.auto_ram) return *options.auto_ram;
  struct sysinfo info {};
  ::sysinfo(&info);
  return static_cast<uint64_t>(info.totalram) * info.mem_unit / 2;
}

int RoundsOf(const Experiment& e, const PlanOptions& options) {
  return options.rounds.value_or(
      FindScale(e, options).rounds.value_or(options.scale == "tiny" ? 1 : 3));
}

void CheckAxis(const Experiment& e, const std::string& option, const std::string& axis) {
  if (e.FindAxis(axis) != nullptr) return;
  std::vector<std::string> names;
  for (const Axis& known : e.axes) names.push_back(known.name);
  throw Error(
      Error::kUsage,
      fmt::format("{} {}: experiment {} has no such axis; it has {}{}", option, axis, e.name,
                  names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
                  DidYouMean(axis, names)));
}

void CheckOnly(const Experiment& e, const Where& only) {
  for (const auto& [axis, labels] : only) {
    CheckAxis(e, "--only", axis);
    const Axis& known = *e.FindAxis(axis);
    for (const std::string& label : labels) {
      if (HasLabel(known, label)) continue;
      std::vector<std::string> there;
      for (const AxisValue& value : known.values) there.push_back(value.label);
      throw Error(Error::kUsage,
                  fmt::format("--only {}={}: the axis {} of experiment {} has {}{}", axis, label,
                              axis, e.name, fmt::join(there, ", "), DidYouMean(label, there)));
    }
  }
}

std::vector<Cell> PlanCells(const Experiment& e, const PlanOptions& options) {
  const ExperimentScale scale = FindScale(e, options);
  CheckSet(e, options.set);
  constexpr char kOneLoad[] = "the load of a database has one number of threads";
  CheckThreads(e.load_options, kOneLoad);
  for (const auto& [engine, of_load] : e.engine_load_options) CheckThreads(of_load, kOneLoad);
  if (!options.may_run_none) {
    CheckOnly(e, options.only);
    CheckRivalsOfAxes(e, options.set);
  }
  for (const std::string& axis : options.split) CheckAxis(e, "--split", axis);
  const Where keep = LabelsToKeep(e, scale, options.only);
  std::vector<Cell> cells = CombinedCells(e, keep);
  for (Cell& cell : cells) SettleCell(e, options, scale, &cell);
  ShareLoads(LoadsOfScale(e, options, scale), &cells);
  const bool runs = std::any_of(cells.begin(), cells.end(), [](const Cell& c) { return c.runs(); });
  if (cells.empty() || (!runs && !options.may_run_none)) {
    throw Error(Error::kUsage,
                cells.empty()
                    ? fmt::format("experiment {} has no cell with these settings", e.name)
                    : fmt::format("experiment {} cannot run: {}", e.name, WhyNone(e, cells)));
  }
  return InRounds(e, options, cells);
}

}  // namespace testbed
