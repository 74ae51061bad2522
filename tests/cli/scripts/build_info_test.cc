// Tests which commit and which hash cmake/BuildInfo.cmake writes into the program, for sources in
// repositories of their own and of others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class BuildInfoTest : public CommandTest {
 protected:
  // Runs a script in the test's directory, without the settings of git that the user has.
  void Bash(const std::string& script) {
    const std::string said = directory_ / "said";
    std::ofstream(directory_ / "script") << "set -e\n" + script;
    // A tree without a repository must not count as part of the one around the test.
    const std::string command =
        "cd " + directory_.string() + " && env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE " +
        "GIT_CEILING_DIRECTORIES=" + directory_.parent_path().string() +
        " GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A "
        "GIT_COMMITTER_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_EMAIL=a@example.org "
        "bash script >" +
        said + " 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    EXPECT_EQ(status, 0) << Read(said);
  }
  // Makes a repository with a commit.
  void MakeRepository(const std::string& name) {
    Bash("git init --quiet " + name + "\necho 1 >" + name + "/file\ngit -C " + name +
         " add file\ngit -C " + name + " commit --quiet -m one\n");
  }
  // Returns what is written into a program built of the source.
  std::string InfoOf(const std::string& source) {
    Bash("cmake -DSOURCE=" + (directory_ / source).string() +
         " -DOUTPUT=" + (directory_ / "info.cc").string() + " -DCOMPILER=C -DBUILD_TYPE=B -P " +
         (fs::path(SourceDir()) / "cmake/BuildInfo.cmake").string() + "\n");
    return Read(directory_ / "info.cc");
  }
  // Returns the commit that a program built of the source has.
  std::string CommitOf(const std::string& source) {
    const std::string text = InfoOf(source), begin = "return {\"";
    const size_t at = text.find(begin);
    EXPECT_NE(at, std::string::npos) << text;
    if (at == std::string::npos) return "";
    const size_t commit = at + begin.size();
    return text.substr(commit, text.find('"', commit) - commit);
  }
  // Returns the commit that git has for a repository.
  std::string HeadOf(const std::string& repository) {
    Bash("git -C " + repository + " rev-parse --short=12 HEAD >head\n");
    const std::string line = Read(directory_ / "head");
    return line.substr(0, line.find('\n'));
  }
};

TEST_F(BuildInfoTest, ARepositoryAndItsWorktreeHaveTheirCommits) {
  MakeRepository("own");
  const std::string head = HeadOf("own");
  EXPECT_EQ(head.size(), 12u);
  EXPECT_EQ(CommitOf("own"), head);
  Bash("git -C own worktree add --quiet ../tree\n");
  EXPECT_EQ(CommitOf("tree"), head);
  Bash("echo 2 >tree/file\n");
  EXPECT_EQ(CommitOf("tree"), head + "-dirty");
}

TEST_F(BuildInfoTest, ASubmoduleHasACommitOfItsOwn) {
  MakeRepository("own");
  MakeRepository("other");
  Bash(
      "echo 2 >other/file\ngit -C other commit --quiet -a -m two\n"
      "git -C other -c protocol.file.allow=always submodule --quiet add ../own below\n");
  EXPECT_EQ(CommitOf("other/below"), HeadOf("own"));
}

// An unpacked archive may lie in the repository of another project.
TEST_F(BuildInfoTest, TheCommitOfARepositoryAroundTheSourceIsNotItsOwn) {
  fs::create_directories(directory_ / "archive");
  EXPECT_EQ(CommitOf("archive"), "unknown");
  MakeRepository("other");
  fs::create_directories(directory_ / "other/below");
  EXPECT_EQ(CommitOf("other/below"), "unknown");
}

// A program of a release must not run beside one of other code (tools/release/release_process.h).
TEST_F(BuildInfoTest, BuildsOfOneCommitAreToldApartByTheirCode) {
  MakeRepository("own");
  fs::create_directories(directory_ / "archive");
  for (const std::string source : {"own", "archive"}) {
    Bash("echo 2 >" + source + "/file\nmkdir -p " + source + "/engines/oak\n");
    const std::string empty = InfoOf(source);
    Bash("echo 1 >" + source + "/engines/oak/oak.cc\n");
    const std::string first = InfoOf(source);
    EXPECT_NE(first, empty);
    Bash("echo 3 >" + source + "/file\nln -s me@host " + source + "/engines/oak/.#oak.h\n");
    EXPECT_EQ(InfoOf(source), first) << "an editor's lock is no code";
    Bash("echo 2 >" + source + "/engines/oak/oak.cc\n");
    EXPECT_NE(InfoOf(source), first);
  }
}

}  // namespace
}  // namespace testbed
