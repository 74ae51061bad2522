// Tests that help, completion and documents name only options and commands that exist, and all of
// them.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/results/explained_columns.h"
#include "tests/paths.h"

namespace testbed {
namespace {

std::set<std::string> OptionsIn(const std::string& text) {
  std::set<std::string> options;
  const std::regex option("(^|[^-\\w])(--[a-z][a-z0-9-]*)");
  for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at) {
    options.insert((*at)[2]);
  }
  return options;
}

// Returns the options that a help defines, each at the begin of a line.
std::set<std::string> DefinedIn(const std::string& help) {
  std::set<std::string> options;
  const std::regex option("\n  (-[a-z],)?(--[a-z][a-z0-9-]*)");
  for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at) {
    options.insert((*at)[2]);
  }
  return options;
}

// Returns the calls of testbed in examples, without the name and without what is in quotes. A call
// is in a line that two spaces begin; what explains it has more.
std::vector<std::string> CallsIn(const std::string& examples) {
  std::vector<std::string> calls;
  std::istringstream lines(std::regex_replace(examples, std::regex("\\\\\n"), " "));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ") || line.starts_with("   ")) continue;
    std::string call;
    char quote = 0;
    for (const char c : line + ";") {
      if (quote != 0 || c == '\'' || c == '"') {
        quote = quote == 0 ? c : c == quote ? '\0' : quote;
      } else if (std::string(";|&<>").find(c) == std::string::npos) {
        call += c;
      } else {
        if (const size_t at = call.find("testbed "); at != std::string::npos) {
          calls.push_back(call.substr(at + 8));
        }
        call.clear();
      }
    }
  }
  return calls;
}

// Returns the part of the text from `begin` to the next `end`; "" when it has no such part.
std::string Between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin);
  if (from == std::string::npos) return "";
  return text.substr(from, text.find(end, from) - from);
}

// Returns the options that a completion script offers for a command; "" is the run.
std::set<std::string> OfferedBy(const std::string& shell, const std::string& script,
                                const std::string& command) {
  const std::string name = command.empty() ? "*" : command;
  if (shell == "bash") return OptionsIn(Between(script, "\n      " + name + ") words=", " ;;\n"));
  std::string part = script, form;
  if (shell == "zsh") {
    const std::string does = command.empty() ? "_arguments" : "shift words";
    part = Between(script, "\n    " + name + ") " + does, " ;;\n");
    form = "'--([a-z0-9-]+)=?\\[";
  } else {
    const std::string within = "__fish_seen_subcommand_from " + command + "'";
    form = "-n '" + (command.empty() ? "not [^']*'" : within) + " -l ([a-z0-9-]+) -d";
  }
  std::set<std::string> options;
  const std::regex option(form);
  for (std::sregex_iterator at(part.begin(), part.end(), option), end; at != end; ++at) {
    options.insert("--" + (*at)[1].str());
  }
  return options;
}

class HelpTest : public CommandTest {
 protected:
  // Returns what a command prints for --help.
  const std::string& HelpText(const std::string& command) {
    const auto [at, asked] = helps_.try_emplace(command);
    if (asked) at->second = Run(command + " --help").out;
    return at->second;
  }

  // Returns the names of the subcommands of a command, as its --help lists them.
  std::vector<std::string> Commands(const std::string& of) {
    std::vector<std::string> names;
    std::istringstream help(HelpText(of));
    bool listed = false;
    for (std::string line; std::getline(help, line);) {
      if (line.starts_with("Subcommands:") || line.starts_with("SUBCOMMANDS:")) {
        listed = true;
      } else if (listed && line.starts_with("  ") && line.size() > 2 && line[2] != ' ') {
        names.push_back(line.substr(2, line.find(' ', 2) - 2));
      } else if (listed && line.empty()) {
        break;
      }
    }
    return names;
  }

  // Returns the names of all commands, subcommands as "results add", with `of` before them. The
  // words of `experiment` are named in its help only as what it takes.
  std::vector<std::string> AllCommands(const std::string& of = "") {
    std::vector<std::string> all, names = Commands(of);
    if (of == "experiment") names = {"list", "show", "plan", "cells", "run"};
    for (const std::string& name : names) {
      all.push_back(of.empty() ? name : of + " " + name);
      for (std::string& inner : AllCommands(all.back())) all.push_back(std::move(inner));
    }
    return all;
  }

  // The help of a command, in its two parts.
  struct Help {
    std::string options, examples;
  };
  Help HelpOf(const std::string& command) {
    const std::string& help = HelpText(command);
    const size_t at = help.find("\nExamples:\n");
    if (at == std::string::npos) return {help, ""};
    return {help.substr(0, at), help.substr(at + std::string("\nExamples:\n").size())};
  }

 private:
  std::map<std::string, std::string> helps_;
};

TEST_F(HelpTest, EverySubcommandHasExamplesOfItsOwn) {
  const std::vector<std::string> commands = AllCommands();
  EXPECT_GT(commands.size(), 35u);
  std::map<std::string, std::string> owner = {{HelpOf("").examples, "testbed"}};
  for (const std::string& command : commands) {
    const std::string examples = HelpOf(command).examples;
    ASSERT_NE(examples, "") << command << " has no examples";
    const auto [other, own] = owner.emplace(examples, command);
    EXPECT_TRUE(own) << command << " has the examples of " << other->second;
    EXPECT_NE(examples.find("testbed " + command), std::string::npos) << command << examples;
    // All examples of a subcommand are about it.
    if (command.find(' ') == std::string::npos) continue;
    std::istringstream lines(examples);
    for (std::string line; std::getline(lines, line);) {
      const size_t at = line.find("testbed ");
      if (!line.starts_with("  ") || line.starts_with("   ") || at == std::string::npos) continue;
      EXPECT_NE(line.find("testbed " + command), std::string::npos) << line;
    }
  }
}

// Each option that an example or a document names must exist.
TEST_F(HelpTest, WhatExamplesAndDocumentsNameExists) {
  std::set<std::string> known = OptionsIn(HelpOf("").options);
  std::vector<std::pair<std::string, std::string>> texts = {{"testbed", HelpOf("").examples}};
  for (const std::string& command : AllCommands()) {
    const Help help = HelpOf(command);
    known.merge(OptionsIn(help.options));
    texts.emplace_back("testbed " + command, help.examples);
  }
  EXPECT_GT(known.size(), 60u);
  // The documents also name options of the programs in bench/, and these ones of other programs.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SourceDir() + "/bench")) {
    if (entry.path().extension() == ".py") known.merge(OptionsIn(Read(entry.path())));
  }
  std::set<std::string> others = {
      "--build",     "--preset",  "--install",     "--target",          "--changed", "--skip",
      "--all",       "--only",    "--fix",         "--prefix",          "--cflags",  "--libs",
      "--component", "--testbed", "--workloads",   "--ycsb-jars",       "--array",   "--exclusive",
      "--nodes",     "--requeue", "--config-file", "--update-postgres", "--plain"};
  texts.emplace_back("README.md", Read(SourceDir() + "/README.md"));
  for (const auto& entry : std::filesystem::directory_iterator(SourceDir() + "/docs")) {
    if (entry.path().extension() == ".md") texts.emplace_back(entry.path(), Read(entry.path()));
  }
  size_t named = 0;
  for (const auto& [where, text] : texts) {
    for (const std::string& option : OptionsIn(text)) {
      ++named;
      EXPECT_TRUE(known.contains(option) || others.contains(option))
          << where << " names " << option << ", which no command has";
    }
  }
  EXPECT_GT(named, 100u);
}

// Once, the manual page had neither the names nor the options of commands within other commands.
TEST_F(HelpTest, TheManualPageHasEachCommand) {
  const std::string page = Run("man").out;
  for (const std::string& command : AllCommands()) {
    if (command.starts_with("experiment ")) continue;  // words of one command
    EXPECT_NE(page.find(".SS " + command + "\n"), std::string::npos) << command;
  }
  EXPECT_NE(page.find(".B \\-\\-benchmark "), std::string::npos) << "of results export";
}

TEST_F(HelpTest, CompletionScriptsAreReadByTheirShells) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = Run(std::string("completion ") + shell).out;
    EXPECT_NE(script.find("testbed"), std::string::npos);
    std::ofstream(directory_ / shell) << script;
    const std::string file = (directory_ / shell).string();
    if (std::system((std::string("command -v ") + shell + " >/dev/null 2>&1").c_str()) != 0)
      continue;
    EXPECT_EQ(std::system((std::string(shell) + " -n " + file).c_str()), 0) << shell;
  }
  ExpectRefused(Run("completion bsh"), "did you mean bash?");
  const std::string zsh = Run("completion zsh").out;
  EXPECT_NE(zsh.find("'--io=["), std::string::npos) << "--io=direct is completed, too";
  EXPECT_NE(zsh.find(":io:_values -s , io direct buffered mmap'"), std::string::npos);
  EXPECT_NE(zsh.find(":scratch:(auto auto,ext4 auto,xfs)'"), std::string::npos);
  const std::string bash =
      "bash -c 'cd " + directory_.string() + "; source " + (directory_ / "bash").string() +
      "; complete_words() { COMP_WORDS=(testbed \"$@\"); COMP_CWORD=$#; _testbed; "
      "echo \"${COMPREPLY[@]}\"; }; complete_words --engine bt; complete_words --io direct,b; "
      "complete_words experi; complete_words experiment show read-s; "
      "complete_words experiment cel; complete_words report --mark; "
      "complete_words results exp; complete_words history --st; complete_words --keys pl; "
      "complete_words ab --way d; complete_words compare --metric rate,engine_m; "
      "touch placenames; complete_words --keys pl; "
      "mkdir dbs; complete_words experiment --databases db; complete_words --databases db; "
      "touch \"two words.json\"; complete_words report two; echo ${#COMPREPLY[@]}; "
      // bash itself gives --io=direct as three words, and a name with an @, too.
      "complete_words --engine = bt; complete_words --io =; complete_words --scratch auto,e; "
      "complete_words --server no-server @ 1; echo ${#COMPREPLY[@]}'";
  FILE* pipe = popen(bash.c_str(), "r");
  std::string out(4096, 0);
  out.resize(fread(out.data(), 1, out.size(), pipe));
  pclose(pipe);
  EXPECT_EQ(out,
            "btree\ndirect,buffered\nexperiment\nread-size\ncells\n--markdown\nexport\n--store\n"
            "places\nduet\nrate,engine_misses\nplaces placenames\ndbs\n\ntwo words.json\n1\n"
            "btree\ndirect buffered mmap\nauto,ext4\n\n0\n")
      << "a run has a number of databases, an experiment their directory";
}

// bash ends a word at an @, and replaces only what follows it.
TEST_F(HelpTest, BashCompletesTheReleaseOfAServer) {
  const std::string script = Run("completion bash").out;
  std::smatch release;
  const std::regex word("' --server'\\) words='[^']*mariadb@([0-9.]+)");
  if (!std::regex_search(script, release, word)) {
    GTEST_SKIP() << "this build has no engine whose server has a release";
  }
  const std::string file = (directory_ / "bash").string();
  std::ofstream(file) << script;
  const std::string bash = "bash -c 'source " + file + "; COMP_WORDS=(testbed --server mariadb @ " +
                           release[1].str() +
                           "); COMP_CWORD=4; _testbed; echo \"${COMPREPLY[@]}\"'";
  FILE* pipe = popen(bash.c_str(), "r");
  std::string out(4096, 0);
  out.resize(fread(out.data(), 1, out.size(), pipe));
  pclose(pipe);
  EXPECT_EQ(out, release[1].str() + "\n");
}

// An option that another command has is no help.
TEST_F(HelpTest, ExamplesGiveEachCommandOptionsOfItsOwn) {
  const std::vector<std::string> commands = AllCommands();
  std::set<std::string> names(commands.begin(), commands.end()), examples = {HelpOf("").examples};
  for (const std::string& command : commands) examples.insert(HelpOf(command).examples);
  size_t given = 0;
  for (const std::string& text : examples) {
    for (const std::string& call : CallsIn(text)) {
      std::istringstream words(call);
      std::string command, within;
      words >> command >> within;
      within = command + " " + within;
      const std::string called = names.contains(within)    ? within
                                 : names.contains(command) ? command
                                                           : "";
      const std::set<std::string> own = DefinedIn(HelpOf(called).options);
      for (const std::string& option : OptionsIn(call)) {
        ++given;
        EXPECT_TRUE(own.contains(option)) << "testbed " << call << " gives " << option;
      }
    }
  }
  EXPECT_GT(given, 60u);
}

// The scripts are made from the definitions of the options, as the help is.
TEST_F(HelpTest, CompletionOffersEachOptionOfEachCommand) {
  std::map<std::string, std::set<std::string>> defined;  // by command, with those within it
  defined[""] = DefinedIn(HelpOf("").options);
  for (const std::string& command : AllCommands()) {
    defined[command.substr(0, command.find(' '))].merge(DefinedIn(HelpOf(command).options));
  }
  EXPECT_GT(defined[""].size(), 50u);
  EXPECT_TRUE(defined["results"].contains("--benchmark"));
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = Run("completion " + shell).out;
    for (const auto& [command, options] : defined) {
      const std::set<std::string> offered = OfferedBy(shell, script, command);
      for (const std::string& option : options) {
        EXPECT_TRUE(offered.contains(option)) << shell << ": testbed " << command << " " << option;
      }
    }
  }
}

TEST_F(HelpTest, NamesThatAreNearlyRightAreGuessed) {
  ExpectRefused(Run("--engine rokcsdb"), "did you mean rocksdb?");
  ExpectRefused(Run("--engine btree --workload point-raed"), "did you mean point-read?");
  ExpectRefused(Run("--engine btree --io bufferd"), "did you mean buffered?");
  ExpectRefused(Run("--engine btree --distribution zipfain"), "did you mean zipfian?");
  ExpectRefused(Run("--engine btree --page-szie 8k"), "did you mean --page-size?");
  ExpectRefused(Run("--engine btree --keys word"), "did you mean words?");
  ExpectRefused(Run("advise --engine btre"), "did you mean btree?");
  ExpectRefused(Run("--engine btree --engine-option chekpoint_log=5M"),
                "did you mean checkpoint_log?");
  ExpectRefused(Run("--engine btree --workload insert,mixed --mix point-raed=5"),
                "did you mean point-read?");
  ExpectRefused(Run("experiment read-size --only engin=btree"),
                "has no such axis; it has engine, ");
  ExpectRefused(Run("experiment read-size --only engin=btree"), "did you mean engine?");
  ExpectRefused(Run("experiment read-size --only engine=btre"), "did you mean btree?");
  ExpectRefused(Run("compare a.json b.json --metric rat"), "did you mean rate?");
  ExpectRefused(Run("ab --a engine=btree --b engine=null --fail-if 'rat < -3%'"),
                "did you mean rate?");
  ExpectRefused(Run("report x.json --htlm x.html"), "did you mean --html?");
  ExpectRefused(Run("results ad run.json"),
                "ad is not a command of testbed results; did you mean add? there are add, list,");
  ExpectRefused(Run("history sshow"), "did you mean show?");
  // No name is nearly right where nothing was given; the first one was guessed.
  EXPECT_EQ(Run("--engine btree --io ''").err.find("did you mean"), std::string::npos);
  ExpectRefused(Run("explain 'kernel B/raed'"), "did you mean 'kernel B/read'?");
  ExpectRefused(Run("explain cloture"), "did you mean 'closure'?");
  // Once, --markdown printed the whole page, whatever the word was.
  ExpectRefused(Run("explain closure --markdown"), "leave out --markdown, or 'closure'");
}

// The tests of other commands look at theirs.
TEST_F(HelpTest, EachColumnOfAListIsExplained) {
  const std::string list = Run("list").out;
  for (const std::string title : {"Engines", "Other releases of engines, for --engine NAME@RELEASE",
                                  "Workloads", "Sets of real keys, for --keys NAME", "IO modes"}) {
    EXPECT_EQ(PrintedColumns(list, title), ExplainedColumns(title)) << title;
  }
  // A build without engines that choose a server has no table of them.
  const std::string servers = "Other servers, for --server NAME@VERSION";
  if (list.find("\n" + servers + "\n") != std::string::npos) {
    EXPECT_EQ(PrintedColumns(list, servers), ExplainedColumns(servers));
  }
  EXPECT_EQ(PrintedColumns(list, "--engine-option of btree"),
            ExplainedColumns("--engine-option of ENGINE"));
  EXPECT_EQ(PrintedColumns(list, "--workload-option of mixgraph"),
            ExplainedColumns("--workload-option of WORKLOAD"));
  EXPECT_EQ(PrintedColumns(Run("experiment list").out, "Experiments"),
            ExplainedColumns("Experiments"));
  const std::string show = Run("experiment show read-size").out;
  for (const std::string title : {"Axes, the last varying fastest", "Scales", "Metrics"}) {
    EXPECT_EQ(PrintedColumns(show, title), ExplainedColumns(title)) << show;
  }
  const std::string plan = Run("experiment plan read-size --scale tiny").out;
  for (const std::string title :
       {"Options of every cell", "Cells, in the order in which they run"}) {
    EXPECT_EQ(PrintedColumns(plan, title), ExplainedColumns(title)) << plan;
  }
}

}  // namespace
}  // namespace testbed
