#include "tools/experiment/results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "device/error.h"
#include "tools/command/command_words.h"
#include "tools/experiment/figures.h"
#include "tools/experiment/plan/cell_engine.h"
#include "tools/experiment/verdict/added_rounds.h"
#include "tools/experiment/verdict/advice_config.h"
#include "tools/output/json_text.h"
#include "tools/output/table.h"
#include "tools/report/compare_terms.h"
#include "tools/report/foreign_cpu.h"
#include "tools/statistics/estimate.h"

namespace testbed {
namespace {

using nlohmann::json;

// Throws Error (kUsage) when the runs of a cell differ in their threads: a mean over them would be
// no figure of any of them.
void CheckSameThreads(const Cell& cell, const json& document) {
  std::set<double> threads;
  for (const json& run : ListOf(document, "runs")) threads.insert(run.value("threads", 0.0));
  if (threads.size() < 2) return;
  throw Error(Error::kUsage,
              fmt::format("the runs of cell \"{}\", round {}, have {} threads, of which one figure "
                          "would be a mean: make threads an axis, so that each number has a figure "
                          "of its own",
                          cell.name, cell.round, fmt::join(threads, " and ")));
}

// Returns the names of the figures that the metrics compute with.
std::set<std::string> FiguresOfMetrics(const Experiment& experiment) {
  std::set<std::string> names;
  for (const ExperimentMetric& metric : experiment.metrics) {
    for (const std::string& expression : {metric.expression, metric.grain}) {
      if (expression.empty()) continue;
      for (std::string& name : FiguresNamed(expression)) names.insert(std::move(name));
    }
  }
  return names;
}

// Returns whether the figure is an effective setting that advice has.
bool IsAdvisedSetting(const std::string& figure) {
  static const std::string effective = "engine.effective.";
  return figure.starts_with(effective) && IsForAdvice(figure.substr(effective.size()));
}

}  // namespace

std::string ForeignCpuText(const Circumstances& at) {
  if (at.foreign_known == 0) return "";
  return fmt::format(
      "{} used {:.0f} % or more of the processors, in user mode, in {} of {}, {:.0f} % at "
      "most",
      OtherPrograms(at.given_server), kNotableForeignCpu * 100, at.foreign_runs,
      Counted(at.foreign_known, "run"), at.foreign_most * 100);
}

ResultSet::ResultSet(Experiment experiment, const std::vector<Cell>& cells, const ResultsDir& dir)
    : experiment_(std::move(experiment)), metric_figures_(FiguresOfMetrics(experiment_)) {
  const json header = dir.Exists() ? dir.ReadHeader() : json::object();
  scale_ = header.value("scale", "");
  for (const json& only : header.value("only", json::array())) {
    asked_.push_back(only.get<Where>());
  }
  const json set = header.value("set", json::object());
  for (const auto& [name, value] : set.items()) {
    circumstances_.set += (circumstances_.set.empty() ? "" : " ") +
                          ShellLine({"--set", name + "=" + value.get<std::string>()});
  }
  std::map<std::string, size_t> index;
  for (const Cell& cell : cells) {
    rounds_ = std::max(rounds_, cell.round);
    if (index.emplace(cell.name, cells_.size()).second) cells_.push_back(cell);
  }
  looks_ = LooksOf(header, rounds_);
  runs_.assign(cells_.size(), std::vector<std::vector<Figures>>(static_cast<size_t>(rounds_)));
  not_in_force_.resize(cells_.size());
  queues_.resize(cells_.size());
  hosts_.assign(cells_.size(), std::vector<std::string>(static_cast<size_t>(rounds_)));
  for (const Cell& cell : cells) {
    try {
      Read(index[cell.name], cell, dir);
    } catch (const json::exception& e) {
      throw dir.Damaged(cell, JsonErrorText(e));
    }
  }
  load_ = nullptr;
}

void ResultSet::Read(size_t cell, const Cell& of_round, const ResultsDir& dir) {
  const json document = dir.ReadCell(of_round);
  if (document.is_null()) {
    const json failed = dir.ReadFailure(of_round);
    for (const json& run : ListOf(failed, "runs")) {
      if (NoteFailure(of_round, run)) failed_.emplace(cell, of_round.round);
    }
    return;
  }
  CheckSameThreads(of_round, document);
  // A finished cell counts as one that can run, even when this machine lacks its engine's library:
  // the tables show its result.
  cells_[cell].skipped.clear();
  cells_[cell].waits_for.clear();
  cells_[cell].lacks_library = false;
  const std::string load_key = LoadKeyOf(of_round, document);
  if (load_key != load_key_) load_ = load_key.empty() ? json() : dir.ReadLoad(load_key);
  load_key_ = load_key;
  std::optional<double> foreign_load;
  if (load_.is_object()) {
    foreign_load = MostForeignCpu(load_.at("runs").at(0));
    NoteEngine(cell, load_.at("runs").at(0));
    NoteSurroundings(cell, load_);
  }
  NoteSurroundings(cell, document);
  // Results of earlier versions, and of an experiment on one host, have no host in "cell"; the
  // document's own "host" counts then.
  hosts_[cell][static_cast<size_t>(of_round.round) - 1] =
      document.value("cell", json::object()).value("host", document.value("host", ""));
  for (const json& run : ListOf(document, "runs")) {
    if (NoteFailure(of_round, run)) continue;
    NoteForeignCpu(foreign_load, MostForeignCpu(run));
    NoteEngine(cell, run);
    Figures figures = FiguresOf(document, run, load_);
    std::erase_if(figures, [this](const auto& figure) { return !Keeps(figure.first); });
    runs_[cell][static_cast<size_t>(of_round.round) - 1].push_back(std::move(figures));
    grades_.push_back(GradeOf(run, load_));
  }
}

// Returns whether the run failed.
bool ResultSet::NoteFailure(const Cell& of_round, const json& run) {
  if (!run.contains("error")) return false;
  failures_.push_back(of_round.name + ": " + run.at("error").value("sentence", ""));
  return true;
}

// A run counts as disturbed when its load was: the figures of the load are used with each run on
// its database.
void ResultSet::NoteForeignCpu(std::optional<double> of_load, std::optional<double> of_run) {
  if (!of_load && !of_run) return;
  const double most = std::max(of_load.value_or(0), of_run.value_or(0));
  ++circumstances_.foreign_known;
  circumstances_.foreign_runs += most >= kNotableForeignCpu;
  circumstances_.foreign_most = std::max(circumstances_.foreign_most, most);
}

void ResultSet::NoteEngine(size_t cell, const json& run) {
  const json engine = run.value("engine", json::object());
  const std::string bare = engine.value("name", "");
  const std::string name = fmt::format("{} {}", bare, engine.value("version", ""));
  if (name == " ") return;
  circumstances_.engines.insert(name);
  circumstances_.versions_of[{ChosenVersion(cells_[cell].options), bare}].insert(name);
  const json effective = engine.value("effective", json::object());
  if (effective.value("assertions", "") == "on") circumstances_.with_assertions.insert(name);
}

void ResultSet::NoteSurroundings(size_t cell, const json& document) {
  for (const json& setting : document.value("not_in_force", json::array())) {
    const std::string why =
        fmt::format("--{}: {}", setting.value("option", ""), setting.value("why", ""));
    std::string& all = not_in_force_[cell];
    if (all.find(why) == std::string::npos) all += (all.empty() ? "" : "; ") + why;
  }
  const auto text = [&](const char* part, const char* field) {
    return document.value(part, json::object()).value(field, std::string());
  };
  if (!text("machine", "kernel").empty()) {
    const double memory = std::strtod(text("machine", "memory_bytes").c_str(), nullptr);
    circumstances_.machines.insert(
        fmt::format("{}, {}, {:.0f} GB, {}, Linux {}", text("machine", "cpu_model"),
                    WithNoun(text("machine", "cpus"), "processor"), memory / 1e9,
                    text("machine", "operating_system"), text("machine", "kernel")));
  }
  if (!text("device", "name").empty()) {
    circumstances_.devices.insert(
        fmt::format("{} with {}", text("device", "name"), text("machine", "file_system")));
  }
  const json queue = document.value("device", json::object()).value("queue", json::object());
  for (const auto& [name, value] : queue.items()) {
    // Runs set the readahead themselves.
    if (name == "read_ahead_kb" || !value.is_string()) continue;
    queues_[cell][name].insert(value.get<std::string>());
  }
  circumstances_.given_server |= OfGivenServer(document);
  if (document.contains("testbed")) {
    circumstances_.versions.insert(document["testbed"]);
    circumstances_.builds.insert(BuildText(document));
  }
  const std::string started = document.value("started", "");
  if (started.empty()) return;
  if (circumstances_.first.empty() || started < circumstances_.first) {
    circumstances_.first = started;
  }
  circumstances_.last = std::max(circumstances_.last, started);
}

// Marks the cells without a result that this machine cannot run, for want of the engine's library
// or of a server. A cell has the same engine and options in each round.
void MarkMissing(const ResultsDir& dir, std::vector<Cell>* cells) {
  std::set<std::string> measured;
  for (const Cell& cell : *cells) {
    if (dir.HasCell(cell)) measured.insert(cell.name);
  }
  std::map<std::string, std::string> why;  // by the cell's name
  for (Cell& cell : *cells) {
    if (!cell.runs() || measured.contains(cell.name)) continue;
    const auto [at, is_new] = why.try_emplace(cell.name);
    if (is_new) at->second = MissingHere(cell);
    cell.skipped = at->second;
    cell.lacks_library = !cell.skipped.empty();
  }
}

KeptExperiment ReadKept(const ResultsDir& dir, const PlanOptions& given, bool of_scale) {
  const json header = dir.ReadHeader();
  KeptExperiment kept{
      ParseExperiment(header.at("text"), header.value("name", "") + ".toml", false), given, {}};
  kept.experiment.file = header.value("file", "");
  PlanOptions& options = kept.options;
  options.scale = header.at("scale");
  options.set = header.at("set").get<OptionMap>();
  options.rounds = header.at("rounds").get<int>();
  options.split = header.value("split", std::vector<std::string>());
  options.auto_ram = KeptAutoRam(header);
  options.any_machine = options.may_run_none = true;
  std::set<std::pair<std::string, int>> known;
  CheckOnly(kept.experiment, given.only);
  json choices = header.at("only");
  if (!given.only.empty()) choices = {given.only};
  if (of_scale) choices.insert(choices.begin(), json::object());
  for (const json& only : choices) {
    options.only = only.get<Where>();
    try {
      for (Cell& cell : PlanCells(kept.experiment, options)) {
        if (known.emplace(cell.name, cell.round).second) kept.cells.push_back(std::move(cell));
      }
    } catch (const Error&) {
      // PlanCells throws when no cell of this choice can run. That is no error while a later choice
      // (--only) has cells that can.
      if (&only == &choices.back()) throw;
    }
  }
  if (of_scale) MarkMissing(dir, &kept.cells);
  return kept;
}

ResultSet ResultSet::Read(const std::string& path) {
  const ResultsDir dir(path);
  KeptExperiment kept = ReadKept(dir, {}, true);
  return ResultSet(std::move(kept.experiment), kept.cells, dir);
}

// What --save wrote to sweep.toml has the name and the title of the sweep, too, but it is a file,
// which its user may have changed.
bool ResultSet::IsSweep() const {
  return experiment_.file.empty() && experiment_.name == "sweep" &&
         experiment_.title.starts_with("testbed ");
}

std::string ResultSet::Command() const {
  const Experiment& e = experiment_;
  const std::string rounds = fmt::format(" --rounds {}", rounds_);
  // The title of a sweep is its command line, without the options that say how to run it.
  if (IsSweep()) return e.title + (rounds_ == 1 ? "" : rounds);
  const bool shipped = e.file.empty() && ShippedExperiments().contains(e.name);
  const std::string file = e.file.empty() ? e.name + ".toml" : e.file;
  std::string command = "testbed experiment " + (shipped ? e.name : ShellLine({file}));
  if (scale_.empty()) return command;
  command += " --scale " + scale_;
  if (!circumstances_.set.empty()) command += " " + circumstances_.set;
  PlanOptions as_planned;
  as_planned.scale = scale_;
  return command + (rounds_ == RoundsOf(e, as_planned) ? "" : rounds);
}

std::set<uint64_t> ResultSet::OptionValues(size_t cell, const std::string& option) const {
  std::set<uint64_t> values;
  for (const std::vector<Figures>& repeats : runs_[cell]) {
    for (const Figures& figures : repeats) {
      const auto found = figures.find("options." + option);
      if (found != figures.end()) values.insert(static_cast<uint64_t>(found->second));
    }
  }
  return values;
}

bool ResultSet::finished(size_t cell) const {
  return std::none_of(runs_[cell].begin(), runs_[cell].end(),
                      [](const auto& repeats) { return repeats.empty(); });
}

bool ResultSet::measured(size_t cell) const {
  return std::any_of(runs_[cell].begin(), runs_[cell].end(),
                     [](const auto& repeats) { return !repeats.empty(); });
}

bool ResultSet::asked(size_t cell) const {
  return asked_.empty() || std::any_of(asked_.begin(), asked_.end(), [&](const Where& only) {
           return Matches(cells_[cell].labels, only);
         });
}

size_t ResultSet::finished_runs() const {
  size_t n = 0;
  for (size_t cell = 0; cell < cells_.size(); ++cell) {
    for (int round = 1; round <= rounds_; ++round) n += finished(cell, round);
  }
  return n;
}

size_t ResultSet::planned_runs() const {
  const auto run =
      std::count_if(cells_.begin(), cells_.end(), [](const Cell& c) { return c.runs(); });
  return static_cast<size_t>(run) * static_cast<size_t>(rounds_);
}

const std::vector<double>& ResultSet::Values(size_t cell, const std::string& metric) const {
  const auto [at, first] = values_.try_emplace({cell, metric});
  if (!first) return at->second;
  const std::string& expression = experiment_.FindMetric(metric)->expression;
  for (const std::vector<Figures>& repeats : runs_[cell]) {
    if (repeats.empty()) continue;
    std::vector<double> values;
    for (const Figures& figures : repeats) values.push_back(EvaluateFigures(expression, figures));
    at->second.push_back(MeanOf(values));
  }
  return at->second;
}

// Only some figures are kept: a run has hundreds, and those of thousands of cells would fill the
// memory.
bool ResultSet::Keeps(const std::string& figure) const {
  return figure.starts_with("options.") || figure.starts_with("held.") ||
         figure.starts_with("loaded.") || figure.starts_with("planned.") ||
         metric_figures_.contains(figure) || IsAdvisedSetting(figure);
}

double ResultSet::Mean(size_t cell, const std::string& metric) const {
  return MeanOf(Values(cell, metric));
}

double ResultSet::Grain(size_t cell, const std::string& metric) const {
  const std::string& expression = experiment_.FindMetric(metric)->grain;
  double most = 0;
  if (expression.empty()) return most;
  for (const std::vector<Figures>& repeats : runs_[cell]) {
    for (const Figures& figures : repeats) {
      const double grain = EvaluateFigures(expression, figures);
      if (std::isnan(grain)) return grain;
      most = std::max(most, grain);
    }
  }
  return most;
}

double ResultSet::Figure(size_t cell, const std::string& name) const {
  if (!Keeps(name)) {
    throw Error(Error::kRun, fmt::format("the figure {} is not among those that are kept", name));
  }
  std::vector<double> values;
  for (const std::vector<Figures>& repeats : runs_[cell]) {
    for (const Figures& figures : repeats) {
      const auto found = figures.find(name);
      if (found != figures.end()) values.push_back(found->second);
    }
  }
  return MeanOf(values);
}

Statement::Groups MatchingGroups(const std::vector<Cell>& cells, const Where& where,
                                 const std::function<bool(size_t)>& takes) {
  Where match = where;
  const auto mean = match.extract("mean");
  std::vector<std::map<std::string, std::string>> common;  // labels that a group's cells share
  Statement::Groups groups;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!takes(i) || !Matches(cells[i].labels, match)) continue;
    std::map<std::string, std::string> labels = cells[i].labels;
    if (!mean.empty()) {
      for (const std::string& axis : mean.mapped()) labels.erase(axis);
    }
    const auto found = std::find(common.begin(), common.end(), labels);
    if (found != common.end()) {
      groups[static_cast<size_t>(found - common.begin())].push_back(i);
      continue;
    }
    common.push_back(std::move(labels));
    groups.push_back({i});
  }
  return groups;
}

Statement::Groups ResultSet::Select(const Where& where) const {
  return MatchingGroups(cells_, where, [this](size_t cell) { return measured(cell); });
}

std::map<std::string, int> ResultSet::Grades() const {
  std::map<std::string, int> grades;
  for (const std::string& grade : grades_) ++grades[grade];
  return grades;
}

}  // namespace testbed
