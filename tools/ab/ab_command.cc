#include "tools/ab/ab_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/ab/ab_options.h"
#include "tools/ab/ab_report.h"
#include "tools/ab/option_rules.h"
#include "tools/ab/session.h"
#include "tools/ab/side.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "tools/output/standard_streams.h"
#include "tools/run/run_checks.h"
#include "tools/workload_defaults.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr char kAbExamples[] =
    "\nExamples:\n"
    "  testbed ab --a engine=rocksdb --b 'engine=rocksdb engine-option=bloom_bits=0' \\\n"
    "      --workload point-read --until 2%\n"
    "  testbed ab --engine btree --a 'io=direct cache-pct=85' --b io=buffered --threads 2 --time "
    "5m\n"
    "  testbed ab --engine btree --a durability=lazy --b durability=sync --workload insert\n"
    "  testbed ab --a engine=btree --b engine=lmdb --fail-if 'rate < -3%'; echo $?\n"
    "\nExit code: 0 when the comparison ended, whatever it told; 1 when a side failed; 2 when the\n"
    "options are wrong and nothing was run; 130 when stopped by the user.\n"
    "With --fail-if: 0 when every condition is told not to hold; 3 when one holds for sure; 125 "
    "when\n"
    "that cannot be told, a side failed, or the answer could not be written.\n";

struct AbArguments {
  std::map<std::string, std::string> sides;  // text by label
  AbOptions options;
};

// Parses "90", "90s", "10m" or "1h" to seconds.
double ParseDuration(const std::string& option, const std::string& text) {
  static const std::map<char, double> kUnits = {{'s', 1}, {'m', 60}, {'h', 3600}};
  const auto unit = text.empty() ? kUnits.end() : kUnits.find(text.back());
  try {
    if (unit == kUnits.end()) return ParseReal(option, text, 1e-3, 1e7);
    return ParseReal(option, text.substr(0, text.size() - 1), 1e-3, 1e7) * unit->second;
  } catch (const Error&) {
    RefuseValue(option, text, "a time above 0, such as 90s, 10m or 1h");
  }
}

void AddOption(CLI::App& app, const std::string& option, const std::string& type,
               const std::string& help,
               const std::function<void(const std::string& option, const std::string& text)>& set) {
  app.add_option_function<std::string>(
         option, [option, set](const std::string& text) { set(option, text); }, help)
      ->type_name(type);
}

void AddSideOptions(CLI::App& app, AbArguments* arguments) {
  for (const std::string label : {"a", "b", "c", "d"}) {
    AddOption(
        app, "--" + label, "SETTINGS",
        label == "a"
            ? "Settings of the base: words OPTION=VALUE, env:NAME=VALUE, @FILE with more such words"
        : label == "b" ? "Settings of the side that is compared with the base"
                       : "Settings of a further side, if any",
        [arguments, label](auto&, auto& text) { arguments->sides[label] = text; });
  }
}

void AddComparisonOptions(CLI::App& app, AbArguments* arguments) {
  AbOptions& o = arguments->options;
  AddOption(
      app, "--way", "WAY",
      "How the sides share the machine: interleave (alternating slices), duet (both at once), "
      "rounds (whole runs in random order) [interleave for reads without --rate, else rounds]",
      [&o](auto& option, auto& text) {
        o.way = ParseName(option, text, {Way::kInterleave, Way::kDuet, Way::kRounds}, WayName);
      });
  AddOption(app, "--until", "PERCENT",
            "Largest difference at which rates are called the same; the comparison ends when every "
            "side is known to be the same or not [2%]",
            [&o](auto& option, auto& text) { o.until = ParseMargin(option, text); });
  AddOption(app, "--time", "TIME",
            "End after this time at the latest: 90s, 10m, 1h [10m; with --loads: no end]",
            [&o](auto& option, auto& text) { o.time = ParseDuration(option, text); });
  AddOption(app, "--loads", "N",
            "Most loads of each side, within --time if that is given [as many as the time allows]",
            [&o](auto& option, auto& text) {
              o.loads = static_cast<int>(ParseCount(option, text, 1, 100));
            });
  AddOption(app, "--slice", "S", "Seconds of a slice, 0.05 to 10 [0.1]",
            [&o](auto& option, auto& text) {
              o.slice_seconds = ParseReal(option, text, 0.05, 10);
              o.slice_given = true;
            });
  app.add_option_function<std::vector<std::string>>(
         "--fail-if",
         [&o](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             o.fail_if.push_back(ParseCondition("--fail-if", text));
           }
         },
         "Ask whether a metric changes so, such as 'rate < -3%' (falls by more than 3 %), or "
         "'update.p99 > 10%' of one kind of operation; may be given again")
      ->type_name("CONDITION")
      ->allow_extra_args(false);
}

// An option of a run that ab refuses, and why.
struct RefusedOption {
  CLI::Option* option;
  const char* why;
};

std::vector<RefusedOption> RefusedIn(CLI::App& ab) {
  std::vector<RefusedOption> refused;
  for (const OptionRule& rule : OptionRules()) {
    if (rule.use != OptionUse::kRefused) continue;
    for (const std::string name : rule.names) {
      // The options of a sweep were never added to ab.
      CLI::Option* option = ab.get_option_no_throw("--" + name);
      if (option != nullptr) refused.push_back({option, rule.why});
    }
  }
  return refused;
}

// Leaves the refused options out of the help. They are still parsed, so that the error can say why
// they are refused, and not only that they are unknown.
void HideRefused(CLI::App& ab) {
  for (const RefusedOption& refused : RefusedIn(ab)) {
    refused.option->group("");
    // CLI11's error for a hidden option without its value would not name the option. So the value
    // is optional here, and CheckRefused names the option.
    if (refused.option->get_expected_min() > 0) refused.option->expected(0, 1);
  }
}

// Throws Error (kUsage) when the command line has one of the refused options.
void CheckRefused(CLI::App& ab) {
  for (const RefusedOption& refused : RefusedIn(ab)) {
    if (refused.option->count() > 0) throw Error(Error::kUsage, refused.why);
  }
}

InUse UsedBySides(const std::vector<AbSide>& sides) {
  InUse all;
  for (const AbSide& side : sides) {
    for (std::string& input : UsedByRun(side.options).inputs)
      all.inputs.push_back(std::move(input));
    for (const std::string& word : SplitWords("--" + side.label, side.text)) {
      if (word.starts_with('@')) all.inputs.push_back(word.substr(1));
    }
  }
  return all;
}

// Measures the sides, prints and stores the answers, and returns the exit code.
int MeasureAndTell(const AbOptions& options, const std::vector<std::string>& words) {
  const json document = ExecuteAb(options, words);
  WriteOutputs({{"--json", options.json_file, [&] { return JsonText(document, 1) + "\n"; }}},
               [&] { return AbReportText(document); });
  for (const json& error : document["errors"]) {
    fmt::print(stderr, "testbed: {}\n", FailureText(error));
  }
  return AbExitCode(document);
}

// Does what MeasureAndTell does, for --fail-if, whose exit code 1 makes `git bisect run` call the
// commit bad. So an error that would end the program with 1, such as a full disk, ends it with the
// code at which `git bisect run` skips the commit.
int JudgeAndTell(const AbOptions& options, const std::vector<std::string>& words) {
  try {
    const int code = MeasureAndTell(options, words);
    return code == 0 && StandardOutputLost() ? kAbCannotBeTold : code;
  } catch (const std::exception& e) {
    const auto* error = dynamic_cast<const Error*>(&e);
    const bool refused =
        error != nullptr && error->kind() != Error::kRun && error->kind() != Error::kCorruption;
    if (refused || dynamic_cast<const Stopped*>(&e) != nullptr) throw;
    fmt::print(stderr, "testbed: {}\n", SentenceOf(e));
    return kAbCannotBeTold;
  }
}

int Ab(CLI::App& ab, AbArguments* arguments, const std::vector<std::string>& words) {
  AbOptions& options = arguments->options;
  options.json_file = options.common.json_file;
  if (!arguments->sides.contains("a") || !arguments->sides.contains("b")) {
    throw Error(Error::kUsage,
                "ab compares two sides or more; give --a 'OPTION=VALUE ...' and --b "
                "'OPTION=VALUE ...'");
  }
  CheckRefused(ab);
  ApplyWorkloadDefaults(words, &options.common);
  for (const auto& [label, text] : arguments->sides) {
    options.sides.push_back(ParseSide(label, text, options.common));
  }
  options.Resolve();
  CheckOutputFile("--json", options.json_file, UsedBySides(options.sides));
  return options.fail_if.empty() ? MeasureAndTell(options, words) : JudgeAndTell(options, words);
}

}  // namespace

void AddAbCommand(CLI::App& app, const std::vector<std::string>& words,
                  std::function<int()>* command) {
  auto arguments = std::make_shared<AbArguments>();
  CLI::App* ab = app.add_subcommand(
      "ab",
      "Measure two settings or more against each other, and say which is faster and how sure");
  ab->footer(kAbExamples);
  ab->option_defaults()->group("Comparison");
  AddSideOptions(*ab, arguments.get());
  AddComparisonOptions(*ab, arguments.get());
  AddEngineOptions(*ab, arguments->options.common);
  AddDataOptions(*ab, arguments->options.common);
  AddWorkloadOptions(*ab, arguments->options.common);
  AddOutputOptions(*ab, arguments->options.common);
  HideRefused(*ab);
  ab->callback([ab, arguments, words, command] {
    *command = [ab, arguments, words] { return Ab(*ab, arguments.get(), words); };
  });
}

}  // namespace testbed
