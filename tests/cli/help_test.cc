// Tests that help, completion and documents name only options and commands that exist, and all of
// them.
#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.h"
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

class HelpTest : public CommandTest {
 protected:
  // Returns the names of the subcommands of a command, as its --help lists them.
  std::vector<std::string> Commands(const std::string& of = "") {
    std::vector<std::string> names;
    std::istringstream help(Run(of + " --help").out);
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

  std::set<std::string> AllOptions() {
    std::set<std::string> all = OptionsIn(Run("--help").out);
    for (const std::string& command : Commands()) {
      all.merge(OptionsIn(Run(command + " --help").out));
      for (const std::string& inner : Commands(command)) {
        all.merge(OptionsIn(Run(command + " " + inner + " --help").out));
      }
    }
    return all;
  }
};

TEST_F(HelpTest, EverySubcommandHasExamplesOfItsOwn) {
  const std::vector<std::string> commands = Commands();
  EXPECT_GT(commands.size(), 10u);
  const std::string general = Run("--help").out,
                    inherited = general.substr(general.find("Examples:"));
  for (const std::string& command : commands) {
    const std::string help = Run(command + " --help").out;
    const size_t examples = help.find("Examples:");
    ASSERT_NE(examples, std::string::npos) << command;
    EXPECT_NE(help.find("testbed " + command, examples), std::string::npos) << command;
    EXPECT_NE(help.substr(examples), inherited) << command;
  }
}

// Each option that an example or a document names must exist.
TEST_F(HelpTest, WhatExamplesAndDocumentsNameExists) {
  const std::set<std::string> known = AllOptions();
  EXPECT_GT(known.size(), 60u);
  // The documents also name these options of other programs.
  std::set<std::string> others = {"--build",     "--preset",    "--install",   "--target",
                                  "--changed",   "--skip",      "--all",       "--only",
                                  "--fix",       "--prefix",    "--cflags",    "--libs",
                                  "--component", "--testbed",   "--workloads", "--ycsb-jars",
                                  "--array",     "--exclusive", "--nodes",     "--requeue"};
  std::vector<std::filesystem::path> pages = {SourceDir() + "/README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(SourceDir() + "/docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  size_t named = 0;
  for (const auto& page : pages) {
    for (const std::string& option : OptionsIn(Read(page))) {
      ++named;
      EXPECT_TRUE(known.contains(option) || others.contains(option))
          << page << " names " << option << ", which no command has";
    }
  }
  EXPECT_GT(named, 50u);
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
  const std::string bash =
      "bash -c 'source " + (directory_ / "bash").string() +
      "; complete_words() { COMP_WORDS=(testbed \"$@\"); COMP_CWORD=$#; _testbed; "
      "echo \"${COMPREPLY[@]}\"; }; complete_words --engine bt; complete_words --io direct,b; "
      "complete_words experi; complete_words experiment show read-s; complete_words report --mark; "
      "complete_words results exp; complete_words history --st'";
  FILE* pipe = popen(bash.c_str(), "r");
  std::string out(4096, 0);
  out.resize(fread(out.data(), 1, out.size(), pipe));
  pclose(pipe);
  EXPECT_EQ(out, "btree\ndirect,buffered\nexperiment\nread-size\n--markdown\nexport\n--store\n");
}

TEST_F(HelpTest, NamesThatAreNearlyRightAreGuessed) {
  ExpectRefused(Run("--engine rokcsdb"), "did you mean rocksdb?");
  ExpectRefused(Run("--engine btree --workload point-raed"), "did you mean point-read?");
  ExpectRefused(Run("--engine btree --io bufferd"), "did you mean buffered?");
  ExpectRefused(Run("--engine btree --distribution zipfain"), "did you mean zipfian?");
  ExpectRefused(Run("--engine btree --page-szie 8k"), "did you mean --page-size?");
  ExpectRefused(Run("advise --engine btre"), "did you mean btree?");
  ExpectRefused(Run("explain 'kernel B/raed'"), "did you mean 'kernel B/read'?");
}

}  // namespace
}  // namespace testbed
