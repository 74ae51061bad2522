#include "tools/command_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/error.h"
#include "tools/output/json_text.h"

namespace testbed {
namespace {

using nlohmann::json;

std::string ShellWord(const std::string& word) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=.,:/+%@^";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  return SingleQuoted(word);
}

// Returns a list of words at `name` of the document; an empty one when it is something else.
std::vector<std::string> WordsAt(const json& document, const char* name) {
  std::vector<std::string> words;
  const json none = json::array();
  for (const json& word : document.value(name, none)) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return words;
}

}  // namespace

std::string SingleQuoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string ShellLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + ShellWord(word);
  return line;
}

bool Gives(const std::vector<std::string>& words, const std::string& option) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word == option || word.starts_with(option + "=");
  });
}

std::string RepeatCommand(const json& document) {
  const std::vector<std::string> load = WordsAt(document, "load_command");
  const std::vector<std::string> run = WordsAt(document, "command");
  if (run.empty() || !run.front().starts_with("-")) {
    throw Error(Error::kUsage,
                "these results do not tell the command that made them: an earlier version wrote "
                "them");
  }
  std::string text;
  if (!load.empty()) text += "testbed " + ShellLine(load) + "\n";
  return text + "testbed " + ShellLine(run) + "\n";
}

std::vector<std::string> WordsOfRecord(const json& record, const std::vector<std::string>& words) {
  std::vector<std::string> more;
  const auto add = [&](const std::string& option, const json& value) {
    if (Gives(words, option)) return;
    if (!value.is_string() && !value.is_number()) return;
    more.push_back(option);
    more.push_back(value.is_string() ? value.get<std::string>() : JsonText(value));
  };
  const auto at = [&record](const char* name) { return record.value(name, json()); };
  add("--engine", at("engine"));
  add("--page-size", at("page_size"));
  add("--compression", at("compression"));
  add("--databases", at("databases"));
  add("--compressibility", at("compressibility"));
  add("--indexes", at("indexes"));
  add("--seed", at("seed"));
  add("--value-size", at("value_size"));
  add("--key-size", at("key_size"));
  if (const json keys = at("keys"); keys.is_object()) {
    // The order and the number of the rows follow from the file.
    if (!Gives(words, "--key-order")) add("--keys", keys.value("name", json()));
  } else if (!Gives(words, "--keys")) {
    add("--key-order", at("key_order"));
    if (!Gives(words, "--db-ratio")) add("--rows", at("rows"));
  }
  if (const json settings = at("workload_option"); settings.is_object()) {
    for (const auto& [name, value] : settings.items()) {
      const bool given = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return word.starts_with(name + "=") || word.starts_with("--workload-option=" + name + "=");
      });
      if (given || !value.is_string()) continue;
      more.push_back("--workload-option");
      more.push_back(name + "=" + value.get<std::string>());
    }
  }
  return more;
}

}  // namespace testbed
