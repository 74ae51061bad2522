#include "tools/command/usage_text.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <regex>
#include <utility>

#include "device/lower_case.h"

namespace testbed {
namespace {

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// The innermost command that the line named, and its words.
std::pair<const CLI::App*, std::string> NamedCommand(const CLI::App& app) {
  const CLI::App* command = &app;
  std::string path = "testbed";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  return {command, path};
}

// Returns the sentence for an option that takes one value and has got several; "" when there is
// none. A flag, which takes no value, may be repeated.
std::string GivenAgainText(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const int most = option->get_expected_max(), given = static_cast<int>(option->count());
    if (option->get_positional() || most == 0 || given <= most) continue;
    return fmt::format("{} is given {} times; give it once", option->get_name(), given);
  }
  return "";
}

// Returns the parser's words about a value that is no number, or one out of its range, as the
// sentence that the options of a run have for it; other words as they are. CLI11 2.3 has
// "1 to 1000", 2.4 "[1 - 1000]".
std::string NumberText(const std::string& what) {
  static const std::regex* const kRange =
      new std::regex(R"((--[a-z-]+): Value (.*) not in range \[?(\S+) (?:to|-) ([^\s\]]+)\]?)");
  std::smatch m;
  if (!std::regex_match(what, m, *kRange)) return what;
  const bool whole = (m[3].str() + m[4].str()).find('.') == std::string::npos;
  return fmt::format("{} {} is not accepted; it takes a {} from {} to {}", m[1].str(), m[2].str(),
                     whole ? "whole number" : "number", m[3].str(), m[4].str());
}

std::string Guess(const std::string& name) {
  return name.empty() ? ";" : fmt::format("; did you mean {}?", name);
}

// Returns whether the line named a command that needs a subcommand, and none of its subcommands.
bool LacksCommand(const CLI::App& command) {
  return command.get_require_subcommand_min() > 0 && command.get_subcommands().empty();
}

// Returns the sentence for a word that stands where one of a command's own commands must.
std::string UnknownCommandText(const CLI::App& command, const std::string& path,
                               const std::string& word) {
  const std::vector<std::string> names = CommandNames(command);
  return fmt::format("{} is not a command of {}{} there are {}", word, path,
                     Guess(NearestName(word, names)), CLI::detail::join(names, ", "));
}

}  // namespace

std::string UnknownWordText(const CLI::App& app, const std::vector<std::string>& words) {
  const auto [command, path] = NamedCommand(app);
  const std::vector<std::string> unknown = app.remaining(true);
  const auto first = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(unknown.begin(), unknown.end(), word) != unknown.end();
  });
  const std::string word = first == words.end() ? "a word" : first->substr(0, first->find('='));
  if (word.starts_with("-")) {
    return fmt::format("{} is not an option of {}{} `{} --help` shows all", word, path,
                       Guess(NearestName(word, OptionNames(*command))), path);
  }
  if (LacksCommand(*command)) return UnknownCommandText(*command, path, word);
  if (command != &app) {
    return fmt::format("{} does not take {}; see `{} --help`", path, word, path);
  }
  const std::vector<std::string> commands = CommandNames(app);
  const std::string guess = NearestName(word, commands);
  return fmt::format("{} is not a command{} there are {}, and options alone are a run", word,
                     Guess(guess), CLI::detail::join(commands, ", "));
}

std::string ParseErrorText(const CLI::App& app, const std::string& what) {
  const auto [command, path] = NamedCommand(app);
  if (LacksCommand(*command)) {
    const std::vector<std::string> unknown = app.remaining(true);
    const auto word = std::find_if(unknown.begin(), unknown.end(),
                                   [](const std::string& one) { return !one.starts_with("-"); });
    if (word != unknown.end()) return UnknownCommandText(*command, path, *word);
    return fmt::format("{} needs a command: {}", path,
                       CLI::detail::join(CommandNames(*command), ", "));
  }
  if (const std::string again = GivenAgainText(*command); !again.empty()) return again;
  for (const CLI::Option* option : command->get_options()) {
    const auto given = static_cast<int>(option->count());
    if (!option->get_required() || given >= option->get_expected_min()) continue;
    std::string name = option->get_name(), meaning = option->get_description();
    const auto upper = [](unsigned char c) { return static_cast<char>(std::toupper(c)); };
    if (option->get_positional()) std::transform(name.begin(), name.end(), name.begin(), upper);
    if (!meaning.empty()) meaning.front() = LowerCase(meaning.front());
    return fmt::format("{} needs {} ({}); see `{} --help`", path, name, meaning, path);
  }
  return fmt::format("{}; see `{} --help`", NumberText(what), path);
}

}  // namespace testbed
