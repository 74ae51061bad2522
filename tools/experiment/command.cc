#include "tools/experiment/command.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/command/command_words.h"
#include "tools/experiment/cluster/blocks.h"
#include "tools/experiment/cluster/cluster_options.h"
#include "tools/experiment/cluster/coordinator.h"
#include "tools/experiment/cluster/part.h"
#include "tools/experiment/experiment.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/report.h"
#include "tools/experiment/results.h"
#include "tools/experiment/results_dir.h"
#include "tools/experiment/results_files.h"
#include "tools/experiment/run.h"
#include "tools/experiment/sweep/examples.h"
#include "tools/experiment/sweep/explain.h"
#include "tools/experiment/sweep/forecast.h"
#include "tools/experiment/tables.h"
#include "tools/experiment/verdict/advise.h"
#include "tools/experiment/verdict/advise_check.h"
#include "tools/experiment/verdict/verdict.h"
#include "tools/option_check.h"
#include "tools/option_values.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "tools/run/run_checks.h"
#include "tools/server_options.h"
#include "tools/unused_options.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::vector<std::string> words;
  std::vector<std::string> set, only;
  std::string out, json_file, csv_file;
  PlanOptions plan;
  uint64_t shuffle = 0;
  int most_rounds = 0;  // for advise: the most rounds of finals (RunFinals); 0: no finals
  bool fresh = false;
  ExperimentRunOptions run;
  ClusterOptions cluster;
  bool has_scale = false, has_rounds = false;  // --scale and --rounds were given
};

std::pair<std::string, std::string> NameAndValue(const std::string& option,
                                                 const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(Error::kUsage,
                fmt::format("{} {} is not accepted; it takes name=value", option, text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void SettleArguments(Arguments* a) {
  for (const std::string& text : a->set) {
    auto [name, value] = NameAndValue("--set", text);
    // Accepts --set engine-option.NAME=VALUE and --set engine-option=NAME=VALUE.
    const bool inner = name == "engine-option" || name == "workload-option";
    const size_t equals = value.find('=');
    if (inner && equals != std::string::npos) {
      name += "." + value.substr(0, equals);
      value = value.substr(equals + 1);
    }
    CheckCellOption("--set", name, value);
    AddSetting(name.substr(name.find('.') + 1), value, &a->plan.set[name]);
  }
  for (const std::string& text : a->only) {
    const auto [axis, labels] = NameAndValue("--only", text);
    for (std::string& label : Split(labels, ',')) a->plan.only[axis].push_back(std::move(label));
  }
  CheckRivals(OptionWords(a->plan.set));
  if (a->shuffle != 0) a->plan.shuffle = a->shuffle;
}

int Print(const std::string& text) {
  fmt::print("{}", text);
  return 0;
}

// Sets the directory of results. If it exists, the experiment goes on with the bytes that
// ram = "auto" stood for on the machine on which it was begun.
void SettleOut(const Experiment& e, Arguments* a) {
  if (a->out.empty()) a->out = fmt::format("testbed-{}-{}", e.name, a->plan.scale);
  const ResultsDir dir(a->out);
  if (!a->fresh && dir.Exists()) a->plan.auto_ram = KeptAutoRam(dir.ReadHeader());
}

bool UsesScratch(const std::vector<Cell>& cells) {
  const auto uses = [](const Cell& cell) { return cell.options.contains("scratch"); };
  return std::any_of(cells.begin(), cells.end(), uses);
}

// Throws Error (kUsage) where the databases would lie on a disk without room for them. Those that
// an earlier call has left have their room already.
void CheckRoomOf(const Forecast& forecast, const std::vector<Cell>& cells, const Arguments& a) {
  if (UsesScratch(cells) || forecast.cells == 0) return;
  const bool apart = !a.run.databases.empty();
  const std::string& place = apart ? a.run.databases : a.out;
  uint64_t held = BytesOfDatabases(place + "/databases");
  // Processes that share --databases have their folders in it. Those of other experiments stay.
  if (apart) held += BytesOfParts(place, a.out);
  CheckRoom(forecast, place, apart ? "--databases" : "--out", held);
}

// Returns the forecast of the cells that are still to run. Throws when they have no room here.
Forecast WhatIsToCome(const std::vector<Cell>& cells, const Arguments& a) {
  const ResultsDir dir(a.out);
  const Forecast forecast = ForecastOf(
      cells, [&](const Cell& cell) { return !a.fresh && dir.HasCell(cell); },
      a.fresh ? "" : dir.RehearsalsDir());
  // With --on, --databases names a directory on the other hosts, and these check it themselves.
  const bool elsewhere = !a.cluster.on.empty() && !a.run.databases.empty();
  if (!elsewhere) CheckRoomOf(forecast, cells, a);
  return forecast;
}

// Measures the ways that cannot be told from the fastest in further rounds, until one way is found
// to be the fastest, or `most` rounds are done: that is a tie. A round in which a way failed is the
// last, and the next call begins with that round. Returns whether all cells could be run.
bool RunFinals(const Experiment& e, const Arguments& a, int most, ResultsDir* dir) {
  for (int round = RoundsOf(e, a.plan) + 1; round <= most && !StopRequested(); ++round) {
    const std::vector<std::string> names = Finalists(ResultSet::Read(a.out), round - 1);
    if (names.empty()) break;
    PlanOptions plan = a.plan;
    plan.rounds = round;
    std::vector<Cell> cells = PlanCells(e, plan);
    std::erase_if(cells, [&](const Cell& cell) {
      return cell.round != round || dir->HasCell(cell) ||
             std::find(names.begin(), names.end(), cell.name) == names.end();
    });
    if (cells.empty()) continue;  // an earlier call has measured them
    if (!a.run.quiet) {
      fmt::print(stderr, "{}", RoundOfFinalsText(names.size(), cells, most, dir->RehearsalsDir()));
    }
    dir->Create(e, plan);
    if (!RunExperiment(e, cells, *dir, a.run)) return false;
  }
  return true;
}

// Returns the file that the experiment itself writes in --out, and all files that it and its cells
// read.
InUse UsedByCells(const std::vector<Cell>& cells, const Arguments& a) {
  InUse all = {.inputs = {a.out + "/experiment.json"}};
  if (!a.words.empty()) all.inputs.push_back(a.words.back());
  for (const char* folder : kResultsFolders) all.databases.push_back(a.out + "/" + folder);
  if (a.json_file.empty() && a.csv_file.empty()) return all;
  for (const Cell& cell : cells) {
    if (!cell.runs()) continue;
    for (std::string& input : UsedByRun(CellRunOptions(cell.options)).inputs) {
      if (!input.empty()) all.inputs.push_back(std::move(input));
    }
  }
  return all;
}

// Returns the words that a task on another host gets besides its block: those options of the user
// that are not kept in the results directory, and those that leave out the other cells there.
std::vector<std::string> OptionsOfTasks(const Arguments& a, const std::vector<Cell>& cells,
                                        const ResultsDir& dir) {
  std::vector<std::string> words = {"--quiet", "--host-checks", a.cluster.host_checks};
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  for (const std::string& only : a.only.empty() ? OnlyOf(cells, dir) : a.only) add("--only", only);
  if (a.shuffle != 0) add("--shuffle", std::to_string(a.shuffle));
  if (!a.cluster.databases.empty()) add("--databases", a.cluster.databases);
  if (a.run.keep_databases) words.push_back("--keep-databases");
  return words;
}

// Runs the cells, on other hosts where the user asks for it. Returns whether all are finished.
bool RunCellsOfAll(const Experiment& e, const std::vector<Cell>& cells, const Arguments& a,
                   const ResultsDir& dir, Launcher* hosts) {
  if (hosts == nullptr) return RunExperiment(e, cells, dir, a.run);
  return RunOnHosts(cells, dir, hosts, {a.run.progress(), OptionsOfTasks(a, cells, dir)});
}

// Throws Error (kUsage) when any part of the experiment names a server by a URL with a password.
// Its text is stored as a whole, with the parts that run in other scales alone, and a cell whose
// engine refuses the URL is only left out.
void RefusePasswords(const Experiment& e, const PlanOptions& plan) {
  const auto in_each = [](const std::map<std::string, OptionMap>& by_engine) {
    for (const auto& [engine, options] : by_engine) RefusePasswordIn(options);
  };
  for (const OptionMap* map : {&e.options, &e.load_options, &plan.set}) RefusePasswordIn(*map);
  in_each(e.engine_options);
  in_each(e.engine_load_options);
  for (const auto& [name, scale] : e.scales) {
    RefusePasswordIn(scale.options);
    in_each(scale.engine_options);
  }
  for (const Axis& axis : e.axes) {
    for (const AxisValue& value : axis.values) RefusePasswordIn(value.options);
  }
}

int RunIt(const Experiment& e, const std::vector<Cell>& cells, Arguments* a) {
  RefusePasswords(e, a->plan);
  CheckGivenServers(a->cluster, cells);
  std::unique_ptr<Launcher> hosts;
  if (!a->cluster.on.empty()) {
    a->out = fs::absolute(a->out).lexically_normal();
    // The path is made absolute, because a relative one could mean another place on each host.
    std::string& databases = a->cluster.databases;
    if (!databases.empty()) databases = fs::absolute(databases).lexically_normal();
    a->run.databases = databases;
    hosts = LauncherOf(a->cluster, a->out);
  }
  CheckOutputFiles({{"--json", a->json_file}, {"--csv", a->csv_file}}, UsedByCells(cells, *a));
  const Forecast forecast = WhatIsToCome(cells, *a);
  ResultsDir dir(a->out);
  const bool there = dir.Exists(), fresh = a->fresh && there;
  if (fresh) dir.Remove();
  if (hosts != nullptr) {
    dir.CreateShared(e, a->plan, fresh);
  } else {
    dir.Create(e, a->plan, fresh);
  }
  // Earlier results are needed at the end. If they cannot be read, this throws before cells run.
  if (there && !fresh && forecast.cells != 0) (void)ResultSet::Read(a->out);
  // Whatever is refused is refused before this line, so that a refusal is one sentence.
  const std::string note = MemoryNote(a->cluster, e, a->plan, cells);
  if (!a->run.quiet) fmt::print(stderr, "{}{}", ForecastText(forecast, e.name), note);
  if (e.name == "advise" && forecast.cells != 0) {
    fmt::print(stderr, "{}{}", a->run.quiet ? "" : FinalsText(cells, a->most_rounds),
               WillRefuseText(cells, a->out, UsesScratch(cells)));
  }
  bool complete = RunCellsOfAll(e, cells, *a, dir, hosts.get());
  if (a->most_rounds != 0) complete = RunFinals(e, *a, a->most_rounds, &dir) && complete;
  // All cells are read, not only those that --only chose now: a claim is judged by the cells that
  // it names.
  const ResultSet results = ResultSet::Read(a->out);
  WriteOutputs({{"--json", a->json_file, [&] { return JsonText(FindingsJson(results), 1) + "\n"; }},
                {"--csv", a->csv_file, [&] { return CellsCsv(results); }}},
               ExperimentText(results));
  if (StopRequested()) {
    fmt::print(stderr, "testbed: interrupted; the same command goes on from here\n");
    return 130;
  }
  if (!complete) fmt::print(stderr, "testbed: not every cell could be run; see above\n");
  return complete ? 0 : 1;
}

// Runs the cells or blocks that the user names, while other processes may run others. `kept` says
// that the results directory existed, and that the experiment was read from it.
int RunSome(const Experiment& e, const std::vector<Cell>& cells, bool kept, const Arguments& a) {
  RefusePasswords(e, a.plan);
  const bool blocks = !a.cluster.blocks.empty();
  const std::vector<Cell> chosen =
      CellsOfKeys(cells, blocks ? a.cluster.blocks : a.cluster.cells, blocks);
  ResultsDir dir(a.out);
  CheckRoomOf(ForecastOf(chosen, [&dir](const Cell& cell) { return dir.HasCell(cell); }), chosen,
              a);
  if (kept) {
    dir.Share();
  } else {
    dir.CreateShared(e, a.plan);
  }
  const int code = RunCells(
      e, chosen, dir,
      {.run = a.run, .checks = ParseHostChecks(a.cluster.host_checks), .whole_blocks = blocks});
  if (code == 130) fmt::print(stderr, "testbed: interrupted; the same command goes on from here\n");
  return code;
}

// Lists or runs cells. They are those of a results directory if WHAT is one, else of an experiment.
int Cells(const std::string& word, Arguments* a) {
  const std::string& what = a->words.back();
  Experiment e;
  std::vector<Cell> cells;
  const bool kept = ResultsDir(what).Exists();
  a->plan.any_machine = true;
  if (kept) {
    if (a->has_scale || a->has_rounds || !a->set.empty() || !a->plan.split.empty() ||
        !a->out.empty()) {
      throw Error(Error::kUsage,
                  fmt::format("{} is a directory of results, which has its own --out, --scale, "
                              "--rounds, --set and --split; leave them out",
                              what));
    }
    KeptExperiment found = ReadKept(ResultsDir(what), a->plan, false);
    e = std::move(found.experiment);
    cells = std::move(found.cells);
    a->out = what;
  } else {
    e = LoadExperiment(what);
    SettleOut(e, a);
    cells = PlanCells(e, a->plan);
  }
  if (word == "run") return RunSome(e, cells, kept, *a);
  fmt::print("{}", CellsText(cells, ResultsDir(a->out)));
  return 0;
}

// Refuses options that change nothing of what is asked for: only the whole experiment writes its
// verdicts and begins anew. `word` is list, show, plan, cells or run.
void RefuseOfWhole(const Arguments& a, const std::string& word) {
  for (const auto& [given, option] :
       {std::pair(!a.json_file.empty(), "--json"), std::pair(!a.csv_file.empty(), "--csv"),
        std::pair(a.fresh, "--fresh"),
        std::pair(a.run.keep_databases && word != "run", "--keep-databases")}) {
    if (!given) continue;
    throw Error(Error::kUsage, fmt::format("{} is an option of testbed experiment NAME; leave it "
                                           "out of testbed experiment {}",
                                           option, word));
  }
}

int ExperimentMain(Arguments a) {
  SettleArguments(&a);
  const std::string& first = a.words[0];
  CheckClusterOptions(a.cluster, first);
  const bool lists = first == "list", of_cells = first == "cells" || first == "run";
  const bool explains = first == "show" || first == "plan";
  if (a.words.size() != (explains || of_cells ? 2 : 1)) {
    throw Error(
        Error::kUsage,
        "testbed experiment takes list, show NAME, plan NAME, cells NAME, run NAME or NAME; "
        "NAME is one of `testbed experiment list` or a file that ends in .toml");
  }
  if (lists || explains || of_cells) RefuseOfWhole(a, first);
  if (lists) return Print(ExperimentsText());
  if (of_cells) return Cells(first, &a);
  const Experiment e = LoadExperiment(a.words.back());
  if (first == "show") return Print(ShowText(e));
  if (first != "plan") SettleOut(e, &a);
  a.plan.any_machine = !a.cluster.on.empty();
  const std::vector<Cell> cells = PlanCells(e, a.plan);
  // Cells that --only adds to the scale's may make a part ambiguous; the tables are still useful.
  if (a.plan.only.empty()) CheckSelections(e, a.plan.scale, cells);
  if (e.name == "advise") CheckAdvised(cells);
  return first == "plan" ? Print(PlanText(cells)) : RunIt(e, cells, &a);
}

std::string DirectoryOfSweep(const std::string& text) {
  return fmt::format("testbed-sweep-{:08x}",
                     static_cast<uint32_t>(XXH3_64bits(text.data(), text.size())));
}

}  // namespace

int RunSweep(const Sweep& sweep) {
  const RunOptions& o = sweep.output;
  const Experiment& e = sweep.experiment;
  RefusePasswords(e, {});
  if (!o.save_file.empty()) {
    const std::vector<OutputFile> files = {
        {"--save", o.save_file, [&sweep] { return sweep.saved; }}};
    CheckOutputFiles(files, UsedByRun(o));
    const std::string run = o.save_file.ends_with(".toml")
                                ? ShellLine({"testbed", "experiment", o.save_file})
                                : "name it NAME.toml, then testbed experiment NAME.toml";
    WriteThenSay(files, fmt::format("written: {}\nrun it: {}\n", o.save_file, run));
    if (!o.forecast) return 0;
  }
  Arguments a;
  a.out = o.out_dir;
  a.csv_file = o.csv_file;
  a.fresh = o.fresh;
  a.run.quiet = o.quiet;
  a.run.line_seconds = o.live.report_interval;
  if (o.rounds != 0) a.plan.rounds = o.rounds;
  if (a.out.empty()) {
    a.out = DirectoryOfSweep(e.text);
    // An earlier version derived the directory's name from a text that included the rounds.
    const std::string before = DirectoryOfSweep(sweep.saved);
    if (!ResultsDir(a.out).Exists() && ResultsDir(before).Exists()) a.out = before;
  }
  const std::vector<Cell> cells = PlanCells(e, a.plan);
  return o.forecast ? Print(PlanText(cells)) : RunIt(e, cells, &a);
}

namespace {

void AddExperimentCommand(CLI::App& app, std::function<int()>* command) {
  auto a = std::make_shared<Arguments>();
  CLI::App* experiment = app.add_subcommand(
      "experiment", "Run a published experiment, or one of your own, and check its findings");
  CLI::Option* what = experiment->add_option(
      "what", a->words,
      "list, show NAME, plan NAME, cells NAME, run NAME, or NAME: the name of an "
      "experiment or a .toml file");
  what->required()->type_name("WORDS");
  // The help is printed before a->words is set. The words of the line are the option's by then.
  experiment->footer("")->footer([what] {
    return ExperimentExamples(what->results().empty() ? "" : what->results().front());
  });
  experiment->add_option("--scale", a->plan.scale, "tiny, small, full, or a factor of full [small]")
      ->type_name("SCALE");
  AddDirectoryOption(*experiment, "--out", &a->out,
                     "Directory of the results [testbed-NAME-SCALE]");
  experiment->add_flag("--fresh", a->fresh, "Remove earlier results in --out and begin anew");
  experiment->add_option("--only", a->only, "Run only these values of an axis; may be given again")
      ->type_name("AXIS=LIST")
      ->allow_extra_args(false);
  experiment->add_option("--set", a->set, "Set an option in every cell; may be given again")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  experiment
      ->add_option_function<std::string>(
          "--shuffle",
          [a](const std::string& seed) {
            a->shuffle = ParseCount("--shuffle", seed, 1, UINT64_MAX);
          },
          "Seed of another random order of the cells; the first round has a random order then, too")
      ->type_name("SEED");
  experiment
      ->add_option("--rounds", a->plan.rounds,
                   "Number of rounds of all cells, each on fresh databases and with another seed "
                   "[as the scale says; 1 at tiny, 3 at others]")
      ->check(CLI::Range(1, kMaxRounds))
      ->type_name("N");
  experiment
      ->add_option("--split", a->plan.split,
                   "Axes whose values are not compared with each other, so that each may run on "
                   "another host [none]")
      ->delimiter(',')
      ->type_name("AXES")
      ->allow_extra_args(false);
  AddClusterOptions(*experiment, &a->cluster);
  experiment->add_flag("--keep-databases", a->run.keep_databases,
                       "Keep the databases after the runs");
  AddFileOption(*experiment, "--json", &a->json_file,
                "Write the verdicts to a file; - is standard output");
  AddFileOption(*experiment, "--csv", &a->csv_file,
                "Write a row for each cell and round to a file; - is standard output");
  AddProgressOptions(*experiment, a->run.quiet, a->run.line_seconds);
  experiment->callback([a, experiment, command] {
    a->has_scale = experiment->count("--scale") != 0;
    a->has_rounds = experiment->count("--rounds") != 0;
    a->run.databases = a->cluster.databases;
    *command = [a] { return ExperimentMain(*a); };
  });
}

constexpr char kAdviseExamples[] =
    "\nExamples:\n"
    "  sudo testbed advise --engine rocksdb --ram 1G\n"
    "  sudo testbed advise --engine innodb --mix point-read=80,update=20 --read-iops 3000\n"
    "      for a mix, on a volume of 3000 reads a second\n"
    "  sudo testbed advise --engine innodb --ram 1G --only page-size=16k\n"
    "      for a data directory whose pages are as large as that\n"
    "  sudo testbed advise --engine wiredtiger --ram 512M --set compression=zstd --set "
    "value-size=1000 "
    "\\\n      --set distribution=zipfian --set db-ratio=8\n";

// Adds the options of a run that `testbed advise` has as options; the others are given by --set.
void AddAsked(CLI::App* advise, const std::shared_ptr<std::map<std::string, std::string>>& asked) {
  const auto ask = [&](const char* name, const char* type, const char* help) {
    advise
        ->add_option_function<std::string>(
            std::string("--") + name,
            [asked, name = std::string(name)](const std::string& value) { (*asked)[name] = value; },
            help)
        ->type_name(type)
        ->required(name == std::string("engine"));
  };
  ask("engine", "NAME", "Storage engine");
  ask("ram", "SIZE", "Memory budget, page cache included [256M]");
  ask("seconds", "S", "Length of each measurement [5]");
  ask("workload", "LIST", "A load and what to serve after it [insert,point-read]");
  ask("mix", "LIST", "A mix to serve, such as point-read=80,update=20; implies workload mixed");
  ask("threads", "N", "Clients [8]");
  ask("read-iops", "N", "Most reads a second that the volume serves (root) [no limit]");
  ask("db-ratio", "RATIO", "Size of the database, as a multiple of --ram [4]");
}

void TakeAsked(const std::map<std::string, std::string>& asked, Arguments* advice) {
  CheckAsked(asked, advice->set);
  const bool names_workload =
      asked.contains("workload") ||
      std::any_of(advice->set.begin(), advice->set.end(),
                  [](const std::string& text) { return text.starts_with("workload="); });
  for (const auto& [name, value] : asked) advice->set.push_back(name + "=" + value);
  if (asked.contains("mix") && !names_workload) advice->set.push_back("workload=insert,mixed");
  if (advice->most_rounds == 0) advice->most_rounds = 3 * kAdviseRounds;
}

void AddAdviseCommand(CLI::App& app, std::function<int()>* command) {
  auto advice = std::make_shared<Arguments>();
  auto asked = std::make_shared<std::map<std::string, std::string>>();
  CLI::App* advise = app.add_subcommand(
      "advise", "Measure which page size, IO mode and cache share serve a workload best");
  advise->footer(kAdviseExamples);
  AddAsked(advise, asked);
  advise
      ->add_option("--most-rounds", advice->most_rounds,
                   "Most rounds of the settings that cannot be told from the best one [9]")
      ->check(CLI::Range(1, kMaxRounds))
      ->type_name("N");
  advise
      ->add_option("--set", advice->set,
                   "Any other option of a run, to describe the workload; may be given again")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  advise
      ->add_option("--only", advice->only,
                   "Measure only these values of page-size or reading, such as page-size=16k for a "
                   "database that has that size; may be given again")
      ->type_name("AXIS=LIST")
      ->allow_extra_args(false);
  advise
      ->add_option(
          "--rounds", advice->plan.rounds,
          "Number of rounds of all settings, each on fresh databases and with another seed [3]")
      ->check(CLI::Range(1, kMaxRounds))
      ->type_name("N");
  AddDirectoryOption(*advise, "--out", &advice->out,
                     "Directory of the results [testbed-advise-ENGINE]");
  advise->add_flag("--fresh", advice->fresh, "Remove earlier results in --out and begin anew");
  AddProgressOptions(*advise, advice->run.quiet, advice->run.line_seconds);
  advise->callback([advice, asked, command] {
    *command = [advice, asked] {
      TakeAsked(*asked, advice.get());
      if (advice->out.empty()) advice->out = "testbed-advise-" + asked->at("engine");
      advice->words = {"advise"};
      return ExperimentMain(*advice);
    };
  });
}

void AddFindingsCommand(CLI::App& app, std::function<int()>* command) {
  auto dirs = std::make_shared<std::vector<std::string>>();
  CLI::App* findings =
      app.add_subcommand("findings", "Print the tables and verdicts of experiments that were run");
  findings->footer(
      "\nExamples:\n"
      "  testbed findings testbed-read-size-small\n"
      "  testbed findings results/* --markdown >findings.md\n");
  findings->add_option("results", *dirs, "Directories of results")->required()->type_name("DIR");
  auto markdown = std::make_shared<bool>(false);
  findings->add_flag("--markdown", *markdown,
                     "Print only the findings, as sections of a Markdown document");
  findings->callback([dirs, markdown, command] {
    *command = [dirs, markdown] {
      std::string text;
      for (const std::string& dir : *dirs) {
        const ResultSet results = ResultSet::Read(dir);
        if (*markdown && !text.empty()) text += "\n";
        text += *markdown ? FindingsMarkdown(results) : ExperimentText(results);
      }
      fmt::print("{}", text);
      return 0;
    };
  });
}

}  // namespace

void AddExperimentCommands(CLI::App& app, std::function<int()>* command) {
  AddExperimentCommand(app, command);
  AddAdviseCommand(app, command);
  AddFindingsCommand(app, command);
}

}  // namespace testbed
