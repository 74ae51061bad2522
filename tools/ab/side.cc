#include "tools/ab/side.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <utility>

#include "device/error.h"
#include "tools/output/json_text.h"

namespace testbed {
namespace {

using nlohmann::json;

// Options that concern the comparison as a whole.
constexpr std::array kCommonOnly = {
    "workload", "dir",         "fresh",     "reuse",    "scratch",    "seed",
    "repeat",   "repeat-runs", "seconds",   "warmup",   "operations", "rate",
    "json",     "csv",         "quiet",     "account",  "verify",     "strict",
    "db-ratio", "readahead",   "read-iops", "find-rate"};

// What must be equal on all sides: what the operations are, and the rows that they work on. By its
// name in RunOptions::ToJson.
constexpr std::array kSameWork = {"rows",
                                  "key_size",
                                  "value_size",
                                  "compressibility",
                                  "key_order",
                                  "keys",
                                  "seed",
                                  "workload",
                                  "rows_per_transaction",
                                  "distribution",
                                  "zipf_theta",
                                  "hot_fraction",
                                  "hot_probability",
                                  "hit_ratio",
                                  "scan_rows",
                                  "mix",
                                  "workload_options",
                                  "rate",
                                  "arrivals",
                                  "consume",
                                  "verify_every"};

std::string Dashed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// Adds the words of the file to *words.
void AddFile(const std::string& option, const std::string& path, std::vector<std::string>* words) {
  std::ifstream in(path);
  if (!in) {
    throw Error(Error::kUsage, fmt::format("{} @{}: the file cannot be read", option, path));
  }
  for (std::string line; std::getline(in, line);) {
    for (std::string& word : SplitWords(option, line.substr(0, line.find('#')))) {
      words->push_back(std::move(word));
    }
  }
}

using Settings = std::vector<std::pair<std::string, std::string>>;  // options and their values

// Adds OPTION=VALUE. A later value of an option replaces an earlier one, unless the option may be
// given again.
void AddOption(const std::string& option, const std::string& word, Settings* settings) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (equals == std::string::npos || name.empty()) {
    throw Error(Error::kUsage,
                fmt::format("{}: {} is not accepted; a side takes OPTION=VALUE, env:NAME=VALUE and "
                            "@FILE, such as engine=rocksdb cache-pct=20",
                            option, word));
  }
  if (std::find(kCommonOnly.begin(), kCommonOnly.end(), name) != kCommonOnly.end()) {
    throw Error(Error::kUsage,
                fmt::format("{}: {} is the same for all sides; give --{} outside of the sides",
                            option, name, name));
  }
  if (name != "engine-option" && name != "workload-option") {
    std::erase_if(*settings, [&](const auto& setting) { return setting.first == name; });
  }
  settings->emplace_back(name, word.substr(equals + 1));
}

// Returns the words of the command line that the settings stand for.
std::vector<std::string> CommandLine(const Settings& settings) {
  std::vector<std::string> words;
  for (const auto& [name, value] : settings) {
    if (value == "false") continue;
    words.push_back("--" + name);
    if (value != "true") words.push_back(value);
  }
  return words;
}

void AddVariable(const std::string& option, const std::string& word, AbSide* side) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(Error::kUsage,
                fmt::format("{}: env:{} is not accepted; give env:NAME=VALUE", option, word));
  }
  side->environment[word.substr(0, equals)] = word.substr(equals + 1);
}

}  // namespace

std::vector<std::string> SplitWords(const std::string& option, const std::string& text) {
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
  Settings settings;
  for (std::string& word : SplitWords(option, text)) {
    if (word.starts_with('@')) {
      AddFile(option, word.substr(1), &words);
    } else {
      words.push_back(std::move(word));
    }
  }
  AbSide side;
  side.label = label;
  side.text = text;
  for (const std::string& word : words) {
    if (word.starts_with("env:")) {
      AddVariable(option, word.substr(4), &side);
    } else {
      AddOption(option, word, &settings);
    }
  }
  try {
    side.options = ParseRunOptions(CommandLine(settings), common);
  } catch (const Error& e) {
    throw Error(e.kind(), fmt::format("{}: {}", option, e.what()));
  }
  if (side.options.threads.size() != 1) {
    throw Error(Error::kUsage,
                fmt::format("{}: a side has one number of threads; give --threads N", option));
  }
  return side;
}

void CheckComparable(const std::vector<AbSide>& sides) {
  const json first = sides.front().options.ToJson();
  for (const AbSide& side : sides) {
    const json other = side.options.ToJson();
    for (const char* name : kSameWork) {
      if (first.at(name) == other.at(name)) continue;
      throw Error(
          Error::kUsage,
          fmt::format("the sides cannot be compared: {} is {} on side {} and {} on side {}; "
                      "give --{} outside of the sides",
                      Dashed(name), JsonText(first.at(name)), sides.front().label,
                      JsonText(other.at(name)), side.label, Dashed(name)));
    }
  }
}

}  // namespace testbed
