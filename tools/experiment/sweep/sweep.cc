#include "tools/experiment/sweep/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>

#include "device/error.h"
#include "tools/command/command_words.h"
#include "tools/option_check.h"
#include "tools/option_values.h"
#include "tools/release/release.h"
#include "tools/trace/workload_list.h"
#include "tools/unused_options.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

// Options whose single values may have commas.
const std::set<std::string> kNotSwept = {
    "workload",        "mix", "scratch", "keys",       "label",   "threads", "engine-option",
    "workload-option", "dir", "json",    "csv-series", "connect", "record"};
const std::set<std::string> kOnlyInForce = {"out", "save", "rounds", "forecast"};

struct Given {
  std::string name, value;  // "page-size", "4k,8k"; of a flag the value is "true"
};

bool IsList(const Given& given) {
  return !BelongsToOutput(given.name) && !kNotSwept.contains(given.name) &&
         given.value.find(',') != std::string::npos;
}

// Throws Error (kUsage) for an option that does not exist when another of the words is a list,
// since the parser of a single run would refuse that list first.
void RefuseUnknownBesideList(const std::vector<std::string>& words, const std::string& unknown) {
  if (unknown == "help" || unknown == "version") return;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (!words[i].starts_with("--")) continue;
    const Given given{words[i].substr(2), words[i + 1]};
    if (IsRunOption(given.name) && IsList(given)) CheckOptionValue(unknown, "");
  }
}

// Returns the options of the words. Returns nothing when a word is no option, so that the parser of
// the command line refuses it, with a better sentence.
std::optional<std::vector<Given>> OptionsOf(const std::vector<std::string>& words) {
  std::vector<Given> all;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) return std::nullopt;
    const size_t equals = words[i].find('=');
    Given given{words[i].substr(2, equals == std::string::npos ? equals : equals - 2), "true"};
    if (!IsRunOption(given.name)) {
      RefuseUnknownBesideList(words, given.name);
      return std::nullopt;
    }
    if (equals != std::string::npos) {
      given.value = words[i].substr(equals + 1);
    } else if (!IsRunFlag(given.name)) {
      if (++i == words.size()) return std::nullopt;
      given.value = words[i];
    }
    all.push_back(std::move(given));
  }
  return all;
}

Axis AxisOf(const Given& given) {
  Axis axis{given.name, {}};
  std::set<std::string> seen;
  for (const std::string& value : Split(given.value, ',')) {
    CheckOptionValue(given.name, value);
    if (given.name == "engine") (void)FindKnownEngine(value.substr(0, value.find_first_of(":@")));
    if (!seen.insert(value).second) {
      throw Error(Error::kUsage,
                  fmt::format("--{} {}: {} is in the list twice", given.name, given.value, value));
    }
    axis.values.push_back({value, {{given.name, value}}});
  }
  return axis;
}

std::string Toml(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    out += control ? fmt::format("\\u{:04X}", static_cast<int>(c)) : std::string(1, c);
  }
  return out + "\"";
}

// How the measured operations of a sweep begin: each after the one before, at a given rate, or at
// rates that --find-rate tries.
enum class Pace : uint8_t { kClosedLoop, kRate, kSearch };

// The workload whose figures a sweep shows.
struct SweptWorkload {
  std::string name = "insert";  // figure name of the last workload that is measured, or that loads
  bool loads = true;            // all workloads load or settle; nothing else is measured
  bool own_rate = false;        // --workload gives a rate to this workload
};

SweptWorkload MeasuredBy(const std::string& workloads) {
  SweptWorkload last;
  for (const std::string& part : Split(workloads, ',')) {
    const std::string name = WorkloadNameOf(part);
    const WorkloadInfo& workload = FindKnownWorkload(name);
    // As in figures.h, a check of the database is measured only when nothing else is.
    const bool beside = workload.loads || workload.only_checks;
    if (workload.only_settles || (beside && !last.loads)) continue;
    last.name = name;
    last.loads = workload.loads;
    // The name of a trace may have an @ as well.
    last.own_rate = name != "replay" && part.find('@') != std::string::npos;
  }
  std::replace_if(
      last.name.begin(), last.name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return last;
}

// Returns whether replays keep the times of their traces, at whatever multiple of the pace. --speed
// is the workload's setting of that name; of several paces none may be "max".
bool ReplaysInTime(const OptionMap& options, const std::vector<Axis>& axes) {
  std::set<std::string> paces;
  for (const char* name : {"speed", "workload-option.speed"}) {
    if (const auto found = options.find(name); found != options.end()) paces.insert(found->second);
  }
  for (const Axis& axis : axes) {
    if (axis.name != "speed") continue;
    for (const AxisValue& value : axis.values) paces.insert(value.label);
  }
  return !paces.empty() && !paces.contains("max");
}

// Returns the pace of the measured operations, which follows from the axes and from the options
// that all cells have.
Pace PaceOf(const SweptWorkload& last, const OptionMap& options, const std::vector<Axis>& axes) {
  const auto given = [&](const char* name) {
    return options.contains(name) || std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
             return axis.name == name;
           });
  };
  if (last.loads) return Pace::kClosedLoop;
  if (given("find-rate")) return Pace::kSearch;
  const bool open = given("rate") || last.own_rate || ReplaysInTime(options, axes);
  return open ? Pace::kRate : Pace::kClosedLoop;
}

std::string MetricsText(const SweptWorkload& measured, Pace pace) {
  const std::string prefix = measured.loads ? measured.name : "measured";
  std::string text = "\n[metrics]\n";
  const auto add = [&](const char* name, const std::string& value, const char* unit,
                       const char* about) {
    text += fmt::format("{} = {{ value = \"{}\", unit = \"{}\", about = \"{}\" }}\n", name, value,
                        unit, about);
  };
  if (pace == Pace::kSearch) {
    add("found", "find_rate." + measured.name + ".found_rate", "/s",
        "the highest rate that met the limit");
  }
  add("ops", prefix + ".rate", "/s", "of the last phase");
  add("held", "held.bytes / 1048576", "MiB", "memory held on the mean of the phase");
  if (!measured.loads) {
    // In an open loop the latency counts from the intended start.
    const bool closed = pace == Pace::kClosedLoop;
    add("p99_us",
        fmt::format("measured.operation.{}.p99",
                    closed ? "latency_us" : "latency_from_intended_us"),
        "us",
        closed ? "of the operation done most often"
               : "of the operation done most often, from the intended start");
    add("device_reads", "measured.account.own.reads / measured.count", "",
        "an operation, other programs' left out");
  }
  add("written", prefix + ".write_bytes_with_settle / " + prefix + ".count", "B",
      "an operation, with what was left to the settle behind the phase");
  add("cpu_us",
      fmt::format("({0}.account.cpu_user_seconds + {0}.account.cpu_system_seconds) * 1000000 / "
                  "{0}.count",
                  prefix),
      "us", "an operation");
  add("data", "(database.bytes - database.log_bytes) / 1048576", "MiB",
      "on disk, the write-ahead log apart");
  return text;
}

std::string Quoted(const std::vector<Axis>& axes, size_t n) {
  std::vector<std::string> names;
  for (size_t i = 0; i < n; ++i) names.push_back(Toml(axes[i].name));
  return fmt::format("[{}]", fmt::join(names, ", "));
}

// Returns the grid of the figure that the pace does not fix (the rate, or the latency), and the
// table of all figures.
std::string TablesText(const std::vector<Axis>& axes, bool loads, Pace pace) {
  struct Grid {
    const char *title, *metric, *best;
  };
  static constexpr Grid kGrids[] = {
      {"Operations a second", "ops", "max"},
      {"99th percentile of the latency from the intended start", "p99_us", "min"},
      {"Highest rate that meets the limit of --find-rate", "found", "max"}};
  const Grid& grid = kGrids[static_cast<size_t>(pace)];
  const size_t n = axes.size();
  std::string text =
      fmt::format("\n[[table]]\ntitle = \"{}\"\nrows = {}\nmetrics = [\"{}\"]\nbest = \"{}\"\n",
                  grid.title, Quoted(axes, n > 1 ? n - 1 : n), grid.metric, grid.best);
  if (n > 1) text += fmt::format("columns = {}\n", Toml(axes.back().name));
  return text + fmt::format("\n[[table]]\ntitle = \"All figures\"\nrows = {}\nmetrics = [{}{}]\n",
                            Quoted(axes, n), pace == Pace::kSearch ? "\"found\", " : "",
                            loads ? "\"ops\", \"held\", \"written\", \"cpu_us\", \"data\""
                                  : "\"ops\", \"held\", \"p99_us\", \"device_reads\", "
                                    "\"written\", \"cpu_us\", \"data\"");
}

// Returns the experiment as a file.
std::string TextOf(const std::string& name, const std::string& title, const OptionMap& options,
                   const std::vector<Axis>& axes, int rounds) {
  std::string text = fmt::format("name = {}\ntitle = {}\n\n[options]\n", Toml(name), Toml(title));
  for (const auto& [option, value] : options) {
    const size_t dot = option.find('.');  // engine-option.NAME is a key of its own table
    text += dot == std::string::npos ? fmt::format("{} = {}\n", option, Toml(value))
                                     : fmt::format("{}.{} = {}\n", option.substr(0, dot),
                                                   Toml(option.substr(dot + 1)), Toml(value));
  }
  text += fmt::format("\n[scale.small]\nrounds = {}\n", rounds);
  for (const Axis& axis : axes) {
    std::vector<std::string> labels;
    for (const AxisValue& value : axis.values) labels.push_back(Toml(value.label));
    text += fmt::format("\n[[axis]]\nname = {}\nvalues = [{}]\n", Toml(axis.name),
                        fmt::join(labels, ", "));
  }
  const auto workload = options.find("workload");
  const SweptWorkload measured =
      MeasuredBy(workload == options.end() ? "insert,point-read" : workload->second);
  const Pace pace = PaceOf(measured, options, axes);
  return text + MetricsText(measured, pace) + TablesText(axes, measured.loads, pace);
}

// Returns the name of the experiment that --save writes: that of the file, so that the experiments
// of two files have results directories of their own. "advise" is the experiment of that command.
std::string SavedName(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string stem = path.stem().string();
  return path.extension() == ".toml" && stem != "advise" ? stem : "sweep";
}

// Throws Error (kUsage) when one of the options was given before and takes a single value.
void RefuseTwice(const std::vector<Given>& given) {
  std::set<std::string> seen;
  for (const Given& g : given) {
    const bool repeatable =
        g.name == "engine-option" || g.name == "workload-option" || IsRunFlag(g.name);
    if (repeatable || seen.insert(g.name).second) continue;
    throw Error(Error::kUsage, fmt::format("--{} is given twice; give it once", g.name));
  }
}

void AddOption(const Given& given, OptionMap* options) {
  if (given.name != "engine-option" && given.name != "workload-option") {
    CheckOptionValue(given.name, given.value);
    (*options)[given.name] = given.value;
    return;
  }
  std::map<std::string, std::string> settings;
  ParseSettings("--" + given.name, {given.value}, &settings);
  for (const auto& [name, value] : settings) {
    AddSetting(name, value, &(*options)[given.name + "." + name]);
  }
}

// Throws Error (kUsage) for a release of an engine that a run could not name either. Its cells
// would be left out, and the report at the end alone would say so.
void CheckReleases(const std::vector<Axis>& axes) {
  for (const Axis& axis : axes) {
    if (axis.name != "engine") continue;
    for (const AxisValue& value : axis.values) {
      const NamedEngine named = SplitRelease(value.label);
      if (named.engine == value.label) continue;  // names no release
      CheckLinkedLibrary(FindRelease(named.engine, named.release));
    }
  }
}

}  // namespace

std::optional<Sweep> SweepOf(const std::vector<std::string>& words) {
  const std::optional<std::vector<Given>> given = OptionsOf(words);
  if (!given) return std::nullopt;
  const bool swept = std::any_of(given->begin(), given->end(), [](const Given& g) {
    return IsList(g) || (kOnlyInForce.contains(g.name) && g.value != "false");
  });
  if (!swept) return std::nullopt;
  RefuseTwice(*given);
  CheckRivals(words);
  std::vector<Axis> axes;
  OptionMap options;
  std::vector<std::string> output;
  for (const Given& g : *given) {
    if (BelongsToOneRun(g.name)) {
      throw Error(Error::kUsage,
                  fmt::format("--{} belongs to a single run: {}", g.name, WhyNoCellHas(g.name)));
    }
    if (BelongsToOutput(g.name)) {
      // A flag is passed on with its value, because --fresh=false must not remove anything.
      output.push_back("--" + g.name + (IsRunFlag(g.name) ? "=" + g.value : ""));
      if (!IsRunFlag(g.name)) output.push_back(g.value);
    } else if (IsList(g) || (g.name == "threads" && g.value.find(',') != std::string::npos)) {
      axes.push_back(AxisOf(g));
    } else {
      AddOption(g, &options);
    }
  }
  const bool of_engines =
      std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.name == "engine"; });
  if (!of_engines && !options.contains("engine")) {
    RunOptions().Resolve();  // throws the Error that a run without --engine throws
  }
  if (axes.empty()) {  // a table needs an axis
    axes.push_back({"engine", {{options["engine"], {{"engine", options["engine"]}}}}});
    options.erase("engine");
  }
  Sweep sweep;
  sweep.output = ParseRunOptions(output);
  if (sweep.output.forecast && sweep.output.save_file == "-") {
    throw Error(Error::kUsage,
                "--save - and --forecast both print to standard output; give --save a file");
  }
  // Another machine may run the experiment that is saved.
  if (sweep.output.save_file.empty()) CheckReleases(axes);
  std::vector<std::string> asked;  // options that say what is measured, not where results are kept
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(2, words[i].find('=') - 2);
    const bool skip = BelongsToOutput(name);
    const bool alone = IsRunFlag(name) || words[i].find('=') != std::string::npos;
    if (!skip) asked.push_back(words[i]);
    if (!alone && ++i < words.size() && !skip) asked.push_back(words[i]);
  }
  const std::string title = "testbed " + ShellLine(asked);
  sweep.experiment = ParseExperiment(TextOf("sweep", title, options, axes, 1), "the sweep");
  sweep.saved = TextOf(SavedName(sweep.output.save_file), title, options, axes,
                       std::max(1, sweep.output.rounds));
  return sweep;
}

}  // namespace testbed
