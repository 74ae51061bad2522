// Tests the scripts of docs/comparing.md by which `git bisect run` finds the commit that made an
// engine, or testbed itself, slower.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

using testing::HasSubstr;

class BisectTest : public CommandTest {
 protected:
  // Runs a script in the test's directory, with testbed in the path, and without the settings of
  // git that the user has. Returns its exit code; its output is in `said_`.
  int Bash(const std::string& script) {
    const std::string said = directory_.string() + ".said";
    std::ofstream(directory_.string() + ".bash") << script;
    const std::string path = std::filesystem::path(TestbedBinary()).parent_path();
    const std::string command =
        "cd " + directory_.string() + " && env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE " +
        "GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A "
        "GIT_COMMITTER_NAME=A " +
        "GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_EMAIL=a@example.org PATH=" + path +
        ":$PATH bash -e " + directory_.string() + ".bash >" + said + " 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    said_ = Read(said);
    for (const char* file : {".said", ".bash"}) {
      std::filesystem::remove(directory_.string() + file);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  void Write(const std::string& file, const std::string& text) const {
    std::ofstream(directory_ / file) << text;
  }

  std::string said_;
};

// Returns the script of the document that calls this command: the block of code that begins with
// the name of the shell.
std::string ScriptOfDocument(const std::string& document, const std::string& command) {
  std::istringstream lines(document + "\n");
  std::string script;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("    ")) {
      script += line.substr(4) + "\n";
      continue;
    }
    const bool called = script.find(command) != std::string::npos;
    if (called && script.starts_with("#!/bin/bash\n")) return script;
    script.clear();
  }
  return "";
}

void Replace(const std::string& old, const std::string& with, std::string* text) {
  const size_t at = text->find(old);
  ASSERT_NE(at, std::string::npos) << old << " is not in:\n" << *text;
  text->replace(at, old.size(), with);
}

// The candidate is faster than the good side up to commit 4, and slower from commit 5 on, both by
// far more than a busy machine can blur. Commit 6 does not build.
TEST_F(BisectTest, FindsTheCommitThatMadeItSlower) {
  if (Bash("command -v git") != 0) GTEST_SKIP() << "git is not installed";
  std::string script = ScriptOfDocument(Read(SourceDir() + "/docs/comparing.md"), "testbed ab ");
  ASSERT_NO_FATAL_FAILURE(Replace("./build.sh", "[[ ! -e broken ]]", &script));
  ASSERT_NO_FATAL_FAILURE(
      Replace("--time 5m",
              "--workload point-read --rows 1000 --threads 1 --account off --quiet --warmup 0 "
              "--slice 0.05 --time 9s --loads 6",
              &script));
  Write("bisect.sh", script);
  Write("good.words", "engine=null added-delay=3000\n");
  ASSERT_EQ(Bash(R"(chmod +x bisect.sh
git init -q
for n in 1 2 3 4 5 6 7 8; do
  echo "engine=null  # commit $n" >candidate.words
  [[ $n -lt 5 ]] || echo "added-delay=50000" >>candidate.words
  rm -f broken
  [[ $n -ne 6 ]] || touch broken
  git add -A candidate.words $([[ $n -lt 6 || $n -gt 7 ]] || echo broken)
  git commit -q -m "commit $n"
done)"),
            0)
      << said_;
  EXPECT_EQ(Bash("git bisect start HEAD HEAD~7\ngit bisect run ./bisect.sh"), 0) << said_;
  ASSERT_EQ(Bash("git bisect log"), 0);
  EXPECT_THAT(said_, testing::ContainsRegex("# first bad commit: \\[[0-9a-f]+\\] commit 5\n"));
  EXPECT_THAT(said_, testing::ContainsRegex("# skip: \\[[0-9a-f]+\\] commit 6\n"));
  EXPECT_THAT(said_, HasSubstr("# good: "));

  // Settings that testbed refuses say nothing about the commit.
  Write("candidate.words", "engine=null no-such-option=1\n");
  EXPECT_EQ(Bash("./bisect.sh"), 125) << said_;
  EXPECT_THAT(said_, HasSubstr("no-such-option is no option of a run"));
}

// The repository is one of a program whose tools/run.sh makes the real one with the options of its
// commit. The good one is far slower than commits 1 to 4 and far faster than those from commit 5
// on, and its runs take longer than other programs keep a processor at a time. The runs of commit 6
// fail.
TEST_F(BisectTest, FindsTheCommitThatMadeTestbedSlower) {
  if (Bash("command -v git") != 0) GTEST_SKIP() << "git is not installed";
  const std::string run =
      "--engine null --rows 1000 --threads 1 --operations 8000 --warmup 0 --account off --repeat 5";
  std::string script =
      ScriptOfDocument(Read(SourceDir() + "/docs/comparing.md"), "testbed compare ");
  ASSERT_NO_FATAL_FAILURE(Replace("--engine btree --repeat 5", run, &script));
  std::filesystem::create_directory(directory_ / "good");
  std::filesystem::create_symlink(TestbedBinary(), directory_ / "good/testbed");
  std::filesystem::create_directories(directory_ / "repository/tools");
  Write("repository/bisect.sh", script);
  Write("repository/tools/run.sh", R"sh(#!/bin/bash
mkdir -p build/release
printf '#!/bin/bash\nexec testbed "$@" %s\n' "$(cat options)" >build/release/testbed
chmod +x build/release/testbed
)sh");
  const std::string begin = "cd repository\n";
  ASSERT_EQ(Bash("good/testbed " + run + " --added-delay 3000 --json good/old.json --quiet"), 0)
      << said_;
  ASSERT_EQ(Bash(begin + R"(chmod +x bisect.sh tools/run.sh
git init -q
for n in 1 2 3 4 5 6 7 8; do
  echo "--label commit$n" >options
  [[ $n -lt 5 ]] || echo "--label commit$n --added-delay 40000" >options
  [[ $n -ne 6 ]] || echo "--no-such-option" >options
  git add options tools
  git commit -q -m "commit $n"
done)"),
            0)
      << said_;
  EXPECT_EQ(Bash(begin + "git bisect start HEAD HEAD~7\ngit bisect run ./bisect.sh"), 0) << said_;
  ASSERT_EQ(Bash(begin + "git bisect log"), 0);
  EXPECT_THAT(said_, testing::ContainsRegex("# first bad commit: \\[[0-9a-f]+\\] commit 5\n"));
  EXPECT_THAT(said_, testing::ContainsRegex("# skip: \\[[0-9a-f]+\\] commit 6\n"));
  EXPECT_THAT(said_, HasSubstr("# good: "));

  // Results that cannot be compared say nothing about the commit.
  Write("good/old.json", "{}");
  EXPECT_EQ(Bash(begin + "git bisect reset\n./bisect.sh"), 125) << said_;
  EXPECT_THAT(said_, HasSubstr("old.json"));
}

}  // namespace
}  // namespace testbed
