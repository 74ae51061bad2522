#include "tools/option_check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <set>

#include "device/error.h"
#include "tools/command/usage_text.h"
#include "tools/options.h"

namespace testbed {
namespace {

// Returns the names of a run's options, with whether each is a flag.
const std::map<std::string, bool>& Flags() {
  static const std::map<std::string, bool> flags = [] {
    CLI::App app;
    RunOptions options;
    AddEngineOptions(app, options);
    AddDataOptions(app, options);
    AddWorkloadOptions(app, options);
    AddOutputOptions(app, options);
    AddSweepOptions(app, options);
    std::map<std::string, bool> all;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        if (name != "help") all[name] = option->get_expected_min() == 0;
      }
    }
    return all;
  }();
  return flags;
}

}  // namespace

const std::vector<std::string>& RunOptionNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, flag] : Flags()) all.push_back(name);
    return all;
  }();
  return names;
}

bool IsRunOption(const std::string& name) { return Flags().contains(name); }

bool IsRunFlag(const std::string& name) {
  const auto found = Flags().find(name);
  return found != Flags().end() && found->second;
}

bool BelongsToOneRun(const std::string& name) {
  static const std::set<std::string> names = {"dir",  "reuse",        "json",        "csv-series",
                                              "live", "metrics",      "record",      "repeat",
                                              "task", "task-address", "task-timeout"};
  return names.contains(name);
}

bool BelongsToOutput(const std::string& name) {
  static const std::set<std::string> names = {"out", "save",  "rounds", "forecast",       "fresh",
                                              "csv", "quiet", "wide",   "report-interval"};
  return names.contains(name);
}

std::string WhyNoCellHas(const std::string& name) {
  if (!BelongsToOneRun(name) && !BelongsToOutput(name)) return "";
  if (name == "repeat") {
    return "a cell has one load in each round; give --rounds N for several loads, or --repeat-runs "
           "N for several runs on each";
  }
  return "a sweep or an experiment makes its databases itself, and keeps a document for each cell "
         "in --out; leave it out";
}

void CheckCellOption(const std::string& option, const std::string& name, const std::string& value) {
  if (const std::string why = WhyNoCellHas(name); !why.empty()) {
    throw Error(Error::kUsage, fmt::format("{} {}: no cell of an experiment has this option: {}",
                                           option, name, why));
  }
  if (name == "scratch" && value == "none") return;  // the cell runs without a device of its own
  CheckOptionValue(name, value);
}

void CheckOptionValue(const std::string& name, const std::string& value) {
  const size_t dot = name.find('.');
  const std::string option = name.substr(0, dot);
  if (!IsRunOption(option)) {
    const std::string guess = NearestName(option, RunOptionNames());
    throw Error(Error::kUsage,
                fmt::format("--{} is no option of a run{}; `testbed --help` shows all", option,
                            guess.empty() ? "" : "; did you mean --" + guess + "?"));
  }
  if (option == "engine" || option == "workload") return;
  if (dot != std::string::npos) {
    if (option == "engine-option" || option == "workload-option") return;
    throw Error(Error::kUsage, fmt::format("--{} takes a single value, not settings", option));
  }
  if (IsRunFlag(option)) {
    if (value == "true" || value == "false") return;
    throw Error(Error::kUsage,
                fmt::format("--{} {} is not accepted; it takes true or false", option, value));
  }
  (void)ParseRunOptions({"--" + option, value});
}

}  // namespace testbed
