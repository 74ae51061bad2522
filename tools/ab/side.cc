#include "tools/ab/side.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>
#include <sstream>
#include <utility>

#include "device/error.h"
#include "device/file/input_file.h"
#include "engines/elsewhere.h"
#include "engines/registry.h"
#include "tools/ab/option_rules.h"
#include "tools/command/usage_text.h"
#include "tools/option_check.h"
#include "tools/output/json_text.h"
#include "tools/rate/rate_options.h"
#include "tools/run/run_checks.h"
#include "workloads/dataset.h"

namespace testbed {
namespace {

using nlohmann::json;

// Returns the name that the value of an option has in RunOptions::ToJson.
std::string JsonNameOf(std::string option) {
  // --speed is kept as an option of the workload that it paces.
  if (option == "workload-option" || option == "speed") return "workload_options";
  std::replace(option.begin(), option.end(), '-', '_');
  return option;
}

// Returns the options that define the work: the operations and the rows that they work on.
std::vector<std::string> WorkOptions() {
  std::vector<std::string> options;
  for (const OptionRule& rule : OptionRules()) {
    if (rule.use != OptionUse::kWork) continue;
    options.insert(options.end(), rule.names.begin(), rule.names.end());
  }
  return options;
}

// Returns the side's options. The size of values with several fields is written as the user gives
// it ("10x100"): an update writes one field, so values of equal size without fields are different
// work.
json WorkOf(const AbSide& side) {
  json options = side.options.ToJson();
  if (side.options.data.fields > 1) options["value_size"] = ValueSizesText(side.options.data);
  return options;
}

// Throws Error (kUsage) when a side may not have the option for itself. `option` is --LABEL.
void CheckSideOption(const std::string& option, const std::string& name) {
  const OptionRule* rule = FindOptionRule(name);
  if (rule == nullptr) {
    const std::string guess = NearestName(name, RunOptionNames());
    throw Error(Error::kUsage,
                fmt::format("{}: {} is no option of a run{}; `testbed --help` shows all", option,
                            name, guess.empty() ? "" : "; did you mean " + guess + "?"));
  }
  if (rule->use == OptionUse::kRefused) {
    throw Error(Error::kUsage, fmt::format("{}: {}", option, rule->why));
  }
  if (rule->use == OptionUse::kCommon) {
    throw Error(Error::kUsage,
                fmt::format("{}: {} is the same for all sides, {}; give --{} outside of the sides",
                            option, name, rule->why, name));
  }
}

// Adds the words of the file to *words.
void AddFile(const std::string& option, const std::string& path, std::vector<std::string>* words) {
  constexpr uint64_t kMostBytes = 1 << 20;
  const std::string named = fmt::format("{} @{}", option, path);
  std::istringstream lines(InputFile({.path = path,
                                      .name = named + ": the file",
                                      .advice = "give a file of a side's options",
                                      .pipes = true})
                               .ReadAll(kMostBytes));
  for (std::string line; std::getline(lines, line);) {
    for (std::string& word : SplitWords(named, line, true)) {
      if (word.starts_with('@')) {
        throw Error(Error::kUsage,
                    fmt::format("{}: a file of a side's options may not name another file; give {} "
                                "in {} itself",
                                named, word, option));
      }
      words->push_back(std::move(word));
    }
  }
}

using Settings = std::vector<std::pair<std::string, std::string>>;  // options and their values

// Adds OPTION=VALUE. A later value of an option replaces an earlier one, unless the option may be
// given again.
void AddSideOption(const std::string& option, const std::string& word, Settings* settings) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (equals == std::string::npos || name.empty()) {
    throw Error(Error::kUsage,
                fmt::format("{}: {} is not accepted; a side takes OPTION=VALUE, env:NAME=VALUE and "
                            "@FILE, such as engine=rocksdb cache-pct=20",
                            option, word));
  }
  CheckSideOption(option, name);
  if (name != "engine-option" && name != "workload-option") {
    std::erase_if(*settings, [&](const auto& setting) { return setting.first == name; });
  }
  settings->emplace_back(name, word.substr(equals + 1));
}

// Throws Error (kUsage) when the side gives an order to the keys of --keys, its own or those of all
// sides. The later of the two options would replace the other silently.
void CheckOrderOfKeys(const std::string& option, const Settings& settings,
                      const DatasetOptions& data) {
  const bool ordered = std::any_of(settings.begin(), settings.end(), [](const auto& setting) {
    return setting.first == "key-order";
  });
  if (!ordered || data.keys_file.empty()) return;
  throw Error(Error::kUsage,
              fmt::format("{}: --keys inserts keys in an order of their own, and --key-order asks "
                          "for one; leave one of them out",
                          option));
}

// Returns the words of the command line that the settings stand for. A flag is written with its
// value, so that a side can turn off a flag that is set for all sides.
std::vector<std::string> CommandLine(const Settings& settings) {
  std::vector<std::string> words;
  for (const auto& [name, value] : settings) {
    if (IsRunFlag(name)) {
      CheckOptionValue(name, value);
      words.push_back(fmt::format("--{}={}", name, value));
    } else {
      words.push_back("--" + name);
      words.push_back(value);
    }
  }
  return words;
}

void AddVariable(const std::string& option, const std::string& word, AbSide* side) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(Error::kUsage,
                fmt::format("{}: env:{} is not accepted; give env:NAME=VALUE", option, word));
  }
  const std::string name = word.substr(0, equals);
  if (name == "MYSQL_PWD" || name == "PGPASSWORD") {
    throw Error(Error::kUsage,
                fmt::format("{}: env:{} is not accepted, as the words of a side are printed and "
                            "stored; set it in the environment of testbed itself",
                            option, name));
  }
  side->environment[name] = word.substr(equals + 1);
}

}  // namespace

std::vector<std::string> SplitWords(const std::string& option, const std::string& text,
                                    bool comments) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool in_word = false;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (std::exchange(in_word, false)) words.push_back(std::exchange(word, {}));
    } else if (comments && !in_word && c == '#') {
      break;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) {
    throw Error(Error::kUsage, fmt::format("{}: a quote ({}) is not closed", option, quote));
  }
  if (in_word) words.push_back(word);
  return words;
}

AbSide ParseSide(const std::string& label, const std::string& text, const RunOptions& common) {
  const std::string option = "--" + label;
  std::vector<std::string> words;
  bool names_file = false;
  Settings settings;
  for (std::string& word : SplitWords(option, text)) {
    if (word.starts_with('@')) {
      names_file = true;
      AddFile(option, word.substr(1), &words);
    } else {
      words.push_back(std::move(word));
    }
  }
  AbSide side;
  side.label = label;
  side.text = text;
  if (names_file) side.words = words;
  for (const std::string& word : words) {
    if (word.starts_with("env:")) {
      AddVariable(option, word.substr(4), &side);
    } else {
      AddSideOption(option, word, &settings);
    }
  }
  try {
    side.options = ParseRunOptions(CommandLine(settings), common);
    CheckArrivals(side.options);
  } catch (const Error& e) {
    throw Error(e.kind(), fmt::format("{}: {}", option, e.what()));
  }
  CheckOrderOfKeys(option, settings, side.options.data);
  if (side.options.threads.size() != 1) {
    throw Error(Error::kUsage,
                fmt::format("{}: a side has one number of threads; give --threads N", option));
  }
  return side;
}

void CheckComparable(const std::vector<AbSide>& sides) {
  const json first = WorkOf(sides.front());
  for (const AbSide& side : sides) {
    const json other = WorkOf(side);
    for (const std::string& option : WorkOptions()) {
      const std::string name = JsonNameOf(option);
      if (first.at(name) == other.at(name)) continue;
      throw Error(Error::kUsage,
                  fmt::format("the sides cannot be compared: {} is {} on side {} and {} on side "
                              "{}; give --{} outside of the sides",
                              option, JsonText(first.at(name)), sides.front().label,
                              JsonText(other.at(name)), side.label, option));
    }
  }
}

std::set<std::string> SharedThreads(const std::vector<AbSide>& sides) {
  std::map<std::string, int> sides_with;  // number of sides whose engines have the name
  std::set<std::string> shared;
  for (const AbSide& side : sides) {
    // A run registers no threads of a server that runs already.
    const bool elsewhere = WorksElsewhere(side.options.engine_name, side.options.engine);
    for (const std::string& name : FindEngine(side.options.engine_name).capabilities.thread_names) {
      ++sides_with[name];
      if (!elsewhere) shared.insert(name);
    }
  }
  std::erase_if(shared, [&sides_with](const std::string& name) { return sides_with[name] < 2; });
  return shared;
}

void CheckSpaceOfSides(const std::vector<AbSide>& sides, const std::string& where) {
  uint64_t need = 0;
  std::shared_ptr<const Dataset> dataset;
  for (const AbSide& side : sides) {
    // A data set of many keys takes long to make, so one is reused while the indexes are equal; the
    // rows of all sides are (CheckComparable).
    const DatasetOptions& data = side.options.data;
    if (dataset == nullptr || dataset->options().indexes != data.indexes) {
      dataset = std::make_shared<const Dataset>(data);
    }
    need += LeastSpace(side.options, dataset);
  }
  CheckSpace(need, where, sides.size());
}

}  // namespace testbed
