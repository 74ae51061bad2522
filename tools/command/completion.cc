#include "tools/command/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "device/error.h"
#include "engines/registry.h"
#include "tools/command/command_words.h"
#include "tools/experiment/experiment.h"
#include "tools/option_values.h"
#include "tools/release/release.h"
#include "tools/statistics/metrics.h"
#include "workloads/registry.h"
#include "workloads/workload.h"

namespace testbed {
namespace {

// A word that a shell can offer, and what it is.
struct Word {
  std::string text, meaning;
};

// The completions of the value of an option, or of the argument of a command.
struct Values {
  std::vector<Word> words;
  bool files = false, directories = false;
  bool releases = false;  // those that are installed, too, for which the shell asks (AskReleases)
  bool none() const { return words.empty() && !files && !directories; }
};

struct Choice {
  std::string name, meaning;  // "--engine"
  bool takes_value = false;
  Values values;
};

// A command with its completions. The first one has no name: it is the run.
struct CommandWords {
  std::string name, meaning;
  std::vector<Choice> options;
  Values arguments;
};

std::vector<Word> Plain(const std::string& words) {
  std::vector<Word> all;
  for (const std::string& word : Split(words, ' ')) all.push_back({word, ""});
  return all;
}

std::vector<Word> EngineWords() {
  std::vector<Word> words;
  for (const EngineInfo& info : Engines()) words.push_back({info.name, info.summary});
  return words;
}

// Returns the names of the releases that are installed, one a line. The shells expand words that
// they offer, so a path with other characters is left out.
std::string ReleaseLines() {
  static constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@/._+-";
  std::string lines;
  for (const EngineRelease& installed : InstalledReleases()) {
    const std::string name = installed.engine + "@" + installed.release;
    if (name.find_first_not_of(kPlain) == std::string::npos) lines += name + "\n";
  }
  return lines;
}

// Returns the command by which a script asks `program` for the lines above. Releases come and go
// while the script stays, so it cannot have their names.
std::string AskReleases(const std::string& program) {
  return program + " completion releases 2>/dev/null";
}

std::vector<Word> ServerWords() {
  std::vector<Word> words = Plain("mariadb postgres");
  for (const EngineInfo& info : Engines()) {
    if (info.servers == nullptr) continue;
    for (const ServerChoice& server : info.servers()) words.push_back({server.name, server.what});
  }
  return words;
}

std::vector<Word> WorkloadWords() {
  std::vector<Word> words;
  for (const WorkloadInfo& info : Workloads()) words.push_back({info.name, info.summary});
  return words;
}

std::vector<Word> CompressionWords() {
  std::set<std::string> names;
  for (const EngineInfo& info : Engines()) {
    for (const std::string& name : info.capabilities.compressions) names.insert(name);
  }
  std::vector<Word> words;
  for (const std::string& name : names) words.push_back({name, ""});
  return words;
}

std::vector<Word> MetricWords() {
  std::vector<Word> words;
  words.push_back({"all", "all metrics"});
  for (const Metric& metric : Metrics()) words.push_back({metric.name, metric.meaning});
  return words;
}

Values ValuesOf(const std::string& option, const std::string& type) {
  if (option == "engine") return {.words = EngineWords(), .releases = true};
  if (option == "server") return {ServerWords()};
  if (option == "workload") return {WorkloadWords()};
  if (option == "compression") return {CompressionWords()};
  if (option == "io") return {Plain("direct buffered mmap")};
  if (option == "durability") return {Plain("sync lazy none")};
  if (option == "distribution") return {Plain("uniform zipfian scrambled latest hot")};
  if (option == "account") return {Plain("off file kernel device")};
  if (option == "key-order") return {Plain("sequential random permuted")};
  if (option == "verify") return {Plain("none sample all")};
  if (option == "consume") return {Plain("touch copy none")};
  if (option == "arrivals") return {Plain("even exponential")};
  if (option == "file-advice") return {Plain("normal random sequential")};
  if (option == "mmap-advice") return {Plain("normal random sequential willneed")};
  if (option == "scale") return {Plain("tiny small full")};
  if (option == "cache-pct") return {Plain("most auto")};
  if (option == "speed") return {Plain("max 1 2")};
  if (option == "format") return {Plain("twitter rocksdb csv")};
  if (option == "time-unit") return {Plain("s ms us ns")};
  if (option == "scratch") return {Plain("auto auto,ext4 auto,xfs")};
  if (option == "keys") return {Plain("words places packages paths"), true};
  if (option == "way") return {Plain("interleave duet rounds")};
  if (option == "metric") return {MetricWords()};
  if (option == "host-checks") return {Plain("load throttle kind none")};
  return {.files = type == "FILE", .directories = type == "DIR"};
}

Values ArgumentsOf(const std::string& command) {
  if (command == "report" || command == "compare" || command == "history" || command == "results" ||
      command == "trace") {
    return {.files = true};
  }
  if (command == "findings" || command == "check" || command == "tree" || command == "backup" ||
      command == "compact") {
    return {.directories = true};
  }
  if (command == "completion") return {Plain("bash zsh fish")};
  if (command != "experiment") return {};
  Values values{Plain("list show plan cells run"), true};
  for (const auto& [name, text] : ShippedExperiments()) values.words.push_back({name, ""});
  return values;
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), text.find("; ")));
}

// Returns the options that the help shows. An option without a group is hidden from it.
std::vector<const CLI::Option*> ShownOptions(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

// Adds the options of `app` that are not among `choices` yet.
void AddChoices(const CLI::App& app, std::vector<Choice>* choices) {
  for (const CLI::Option* option : ShownOptions(app)) {
    for (const std::string& long_name : option->get_lnames()) {
      const std::string name = "--" + long_name;
      const bool known = std::any_of(choices->begin(), choices->end(),
                                     [&](const Choice& choice) { return choice.name == name; });
      if (known) continue;
      const bool takes = option->get_expected_min() > 0;
      choices->push_back({name, FirstLine(option->get_description()), takes,
                          takes ? ValuesOf(long_name, option->get_type_name()) : Values{}});
    }
  }
}

// Returns the words of a command, those of the commands within it included.
CommandWords WordsOf(const CLI::App& app, const std::string& name) {
  CommandWords words{name, FirstLine(app.get_description()), {}, ArgumentsOf(name)};
  AddChoices(app, &words.options);
  if (name.empty()) return words;  // the caller lists the program's commands themselves
  for (const CLI::App* inner : app.get_subcommands(nullptr)) {
    if (inner->get_name().empty()) continue;
    words.arguments.words.push_back({inner->get_name(), FirstLine(inner->get_description())});
    AddChoices(*inner, &words.options);
  }
  return words;
}

std::vector<CommandWords> AllCommands(const CLI::App& app) {
  std::vector<CommandWords> all = {WordsOf(app, "")};
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    all.push_back(WordsOf(*sub, sub->get_name()));
  }
  return all;
}

std::string Joined(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) text += (text.empty() ? "" : " ") + word.text;
  return text;
}

// Returns what bash does for the value of an option.
std::string BashValues(const Values& v) {
  std::string text;
  if (v.none()) text += " return";
  if (!v.words.empty()) text += " words=" + SingleQuoted(Joined(v.words));
  if (v.releases) text += "' '$(" + AskReleases("\"${COMP_WORDS[0]}\"") + ")";
  if (v.files || v.directories) text += v.files ? " kind=-f" : " kind=-d";
  return text;
}

// Returns the cases of the options that take a value, for the command and the option before it. An
// option of the same name may take something else in another command, which has a case of its own.
std::string BashCases(const std::vector<CommandWords>& commands) {
  std::string own, text;
  std::map<std::string, std::string> known;  // by option: what bash does for its first command
  for (const CommandWords& command : commands) {
    for (const Choice& option : command.options) {
      if (!option.takes_value) continue;
      const std::string values = BashValues(option.values);
      const auto [first, is_new] = known.emplace(option.name, values);
      if (is_new) {
        text += fmt::format("    *' {}'){} ;;\n", option.name, values);
      } else if (first->second != values) {
        own += fmt::format("    '{} {}'){} ;;\n", command.name, option.name, values);
      }
    }
  }
  return own + text;
}

std::string Bash(const CLI::App& app) {
  const std::vector<CommandWords> commands = AllCommands(app);
  std::string names, cases;
  for (const CommandWords& command : commands) {
    std::string options;
    for (const Choice& option : command.options) options += " " + option.name;
    if (command.name.empty()) {
      names = options;
      continue;
    }
    names += " " + command.name;
    const Values& v = command.arguments;
    cases += fmt::format("      {}) words={}{} ;;\n", command.name,
                         SingleQuoted(Joined(v.words) + options),
                         v.files         ? " kind=-f"
                         : v.directories ? " kind=-d"
                                         : "");
  }
  // A list such as 4k,8k is completed at its last part, unless values have commas themselves, as
  // auto,ext4. bash ends words at = and @, and replaces only what follows them: --io=direct is
  // three words, and so is mariadb@10.2, of which `part` has the first two. The shell would split
  // the names of files at their spaces, so each line of compgen is taken as it is.
  return fmt::format(
      "# bash completion of testbed; made by `testbed completion bash`\n"
      "_testbed() {{\n"
      "  local at=$COMP_CWORD current=${{COMP_WORDS[COMP_CWORD]}} previous part=''\n"
      "  local words='' kind='' list='' last\n"
      "  COMPREPLY=()\n"
      "  if ((at > 2)) && [ \"$current\" = @ ]; then\n"
      "    part=${{COMP_WORDS[at-1]}}@ current='' at=$((at-1))\n"
      "  elif ((at > 3)) && [ \"${{COMP_WORDS[at-1]}}\" = @ ]; then\n"
      "    part=${{COMP_WORDS[at-2]}}@ at=$((at-2))\n"
      "  elif [ \"$current\" = = ]; then\n"
      "    current='' at=$((at+1))\n"
      "  fi\n"
      "  current=$part$current previous=${{COMP_WORDS[at-1]}}\n"
      "  ! ((at > 2)) || [ \"$previous\" != = ] || previous=${{COMP_WORDS[at-2]}}\n"
      "  case \"${{COMP_WORDS[1]}} $previous\" in\n{}"
      "    *) case ${{COMP_WORDS[1]}} in\n{}"
      "      *) words={} ;;\n"
      "    esac ;;\n"
      "  esac\n"
      "  case $words in *,*) last=$current ;; *) last=${{current##*,}} ;; esac\n"
      "  list=${{current%\"$last\"}}\n"
      "  [ -z \"$words\" ] || COMPREPLY=($(compgen -P \"$list\" -W \"$words\" -- \"$last\"))\n"
      "  [ -z \"$kind\" ] || mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < "
      "<(compgen $kind -- \"$current\")\n"
      "  COMPREPLY=(\"${{COMPREPLY[@]#\"$part\"}}\")\n"
      "}}\n"
      "complete -o filenames -F _testbed testbed\n",
      BashCases(commands), cases, SingleQuoted(names));
}

// Escapes a description for the specifications of zsh's _arguments.
std::string ZshText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Returns what zsh does for the value of an option. _values completes lists such as 4k,8k, and
// cannot offer values that have commas themselves.
std::string ZshValues(const Values& v, const std::string& name) {
  const bool both = v.files && !v.words.empty();
  const std::string words = Joined(v.words);
  const bool lists = words.find(',') == std::string::npos;
  if (v.releases) {
    return ":" + name + ":{_values -s , " + name + " " + words + " $(" + AskReleases("testbed") +
           ")}";
  }
  const std::string what = both            ? "{compadd -- " + words + "; _files}"
                           : v.files       ? "_files"
                           : v.directories ? "_files -/"
                           : v.none()      ? " "
                           : lists         ? "_values -s , " + name + " " + words
                                           : "(" + words + ")";
  return ":" + name + ":" + what;
}

std::string ZshArguments(const CommandWords& command) {
  std::string text = "_arguments";
  for (const Choice& option : command.options) {
    // With a = behind its name an option takes its value from the same word, too: --io=direct.
    const std::string meaning = "[" + ZshText(option.meaning) + "]";
    const std::string spec =
        option.takes_value
            ? option.name + "=" + meaning + ZshValues(option.values, option.name.substr(2))
            : option.name + meaning;
    text += " \\\n        " + SingleQuoted(spec);
  }
  const Values& v = command.arguments;
  if (!v.none()) {
    const std::string files = v.files ? "_files" : v.directories ? "_files -/" : "";
    const std::string words = Joined(v.words);
    // zsh gets a block that calls both functions when an argument may be a word or a file.
    const std::string action = words.empty()   ? files
                               : files.empty() ? "(" + words + ")"
                                               : "{compadd -- " + words + "; " + files + "}";
    text += " \\\n        " + SingleQuoted("*:argument:" + action);
  }
  return text;
}

std::string Zsh(const CLI::App& app) {
  const std::vector<CommandWords> commands = AllCommands(app);
  std::string described, cases;
  for (const CommandWords& command : commands) {
    if (command.name.empty()) continue;
    std::string meaning = command.meaning;
    std::replace(meaning.begin(), meaning.end(), ':', ';');
    described += "    " + SingleQuoted(command.name + ":" + meaning) + "\n";
    cases += fmt::format("    {}) shift words; ((CURRENT--)); {} ;;\n", command.name,
                         ZshArguments(command));
  }
  return fmt::format(
      "#compdef testbed\n"
      "# zsh completion of testbed; made by `testbed completion zsh`\n"
      "_testbed() {{\n"
      "  local -a commands\n"
      "  commands=(\n{}  )\n"
      "  if ((CURRENT == 2)) && [[ ${{words[2]}} != -* ]]; then\n"
      "    _describe command commands\n"
      "  fi\n"
      "  case ${{words[2]}} in\n{}"
      "    *) {} ;;\n"
      "  esac\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = \"_testbed\" ]; then\n"
      "  _testbed \"$@\"\n"
      "elif (($+functions[compdef])); then\n"
      "  compdef _testbed testbed\n"
      "fi\n",
      described, cases, ZshArguments(commands.front()));
}

std::string FishLine(const std::string& condition, const Choice& option) {
  std::string line = fmt::format("complete -c testbed -n {} -l {} -d {}", SingleQuoted(condition),
                                 option.name.substr(2), SingleQuoted(option.meaning));
  if (option.takes_value) {
    const Values& v = option.values;
    const std::string ask = v.releases ? " (" + AskReleases("testbed") + ")" : "";
    const std::string words = v.words.empty() ? "" : " -a " + SingleQuoted(Joined(v.words) + ask);
    line += v.files         ? " -r -F" + words
            : v.directories ? " -x -a '(__fish_complete_directories)'"
                            : " -x" + words;
  }
  return line + "\n";
}

std::string Fish(const CLI::App& app) {
  const std::vector<CommandWords> commands = AllCommands(app);
  std::string names, text =
                         "# fish completion of testbed; made by `testbed completion fish`\n"
                         "complete -c testbed -f\n";
  for (const CommandWords& command : commands) {
    if (command.name.empty()) continue;
    names += " " + command.name;
    text += fmt::format("complete -c testbed -n __fish_is_first_token -a {} -d {}\n", command.name,
                        SingleQuoted(command.meaning));
    const std::string in = "__fish_seen_subcommand_from " + command.name;
    const Values& v = command.arguments;
    if (!v.words.empty()) {
      text += fmt::format("complete -c testbed -n {} -a {}\n", SingleQuoted(in),
                          SingleQuoted(Joined(v.words)));
    }
    if (v.files) text += fmt::format("complete -c testbed -n {} -F\n", SingleQuoted(in));
    if (v.directories) {
      text += fmt::format("complete -c testbed -n {} -a '(__fish_complete_directories)'\n",
                          SingleQuoted(in));
    }
  }
  for (const CommandWords& command : commands) {
    const std::string condition = command.name.empty()
                                      ? "not __fish_seen_subcommand_from" + names
                                      : "__fish_seen_subcommand_from " + command.name;
    for (const Choice& option : command.options) text += FishLine(condition, option);
  }
  return text;
}

// Escapes `text` for roff, which takes a leading dot or quote for a request and a bare dash for a
// hyphen.
std::string Roff(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    out += c == '-' ? "\\-" : c == '\\' ? "\\e" : std::string(1, c);
    line_start = c == '\n';
  }
  return out;
}

std::string RoffOptions(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : ShownOptions(app)) {
    std::string name =
        option->get_lnames().empty() ? option->get_name() : "--" + option->get_lnames()[0];
    text += fmt::format(".TP\n.B {} \\fI{}\\fR\n{}\n", Roff(name), Roff(option->get_type_name()),
                        Roff(option->get_description()));
  }
  return text;
}

// Returns the section of a command, which is called by the words of `path`.
std::string RoffCommand(const CLI::App& command, const std::string& path) {
  return fmt::format(".SS {}\n{}\n{}", Roff(path), Roff(command.get_description()),
                     RoffOptions(command));
}

}  // namespace

std::string Completion(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") return Bash(app);
  if (shell == "zsh") return Zsh(app);
  if (shell == "fish") return Fish(app);
  if (shell == "releases") return ReleaseLines();
  RefuseName("testbed completion", shell, {"bash", "zsh", "fish"});
}

std::string ManPage(const CLI::App& app) {
  std::string text = fmt::format(
      ".TH TESTBED 1\n.SH NAME\ntestbed \\- measure storage engines, block by block\n"
      ".SH SYNOPSIS\n.B testbed\n\\-\\-engine NAME [options]\n.br\n.B testbed\nCOMMAND [options]\n"
      ".SH DESCRIPTION\n{}\n.SH OPTIONS\n{}.SH COMMANDS\n",
      Roff(app.get_description()), RoffOptions(app));
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    text += RoffCommand(*sub, sub->get_name());
    for (const CLI::App* inner : sub->get_subcommands(nullptr)) {
      text += RoffCommand(*inner, sub->get_name() + " " + inner->get_name());
    }
  }
  text +=
      ".SH EXIT STATUS\n0 when all went well; 1 when a run failed; 2 when an option is wrong or "
      "the surroundings do not allow the command; 130 when it was interrupted. Commands that "
      "answer a question (ab, compare, history check, check) also have exit codes for their "
      "answers; the help of each names them.\n.SH EXAMPLES\n.nf\n" +
      Roff(app.get_footer()) + "\n.fi\n";
  return text;
}

}  // namespace testbed
