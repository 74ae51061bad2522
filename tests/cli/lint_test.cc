// tools/lint.sh fails on a deliberately broken sample of each rule, in a small tree of its own, and
// passes on the same tree without it.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class LintTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    const fs::path source = SourceDir();
    fs::create_directories(directory_ / "tools");
    fs::copy(source / "tools/lint", directory_ / "tools/lint");
    fs::copy(source / "tools/lint.sh", directory_ / "tools/lint.sh");
    fs::copy(source / ".clang-format", directory_ / ".clang-format");
    Write("device/error.h", "int error;\n");
    Write("engines/engine.h", "#include \"device/error.h\"\n");
    Write("docs/page.md", "# A page\n\nIt links to [itself](page.md#a-page).\n");
    Write("tools/script.sh", "#!/usr/bin/env bash\necho \"$1\"\n");
  }
  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }
  // The exit code of one rule, what it printed in `*text`. The pinned tools are those of the tree.
  int Lint(const std::string& rule, std::string* text = nullptr, const std::string& more = "") {
    const fs::path log = directory_.string() + ".log";
    const std::string tools = SourceDir() + "/build/lint";
    // The tree around this one is git's, and has nothing to do with it.
    const std::string command = "GIT_CEILING_DIRECTORIES=" + directory_.parent_path().string() +
                                " TESTBED_LINT_TOOLS=" + tools + " " +
                                (directory_ / "tools/lint.sh").string() + " --strict --only " +
                                rule + more + " >" + log.string() + " 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    if (text != nullptr) *text = Read(log);
    fs::remove(log);
    return WEXITSTATUS(status);
  }
  void ExpectBroken(const std::string& rule, const std::string& file, const std::string& sample,
                    const std::string& says, std::string names = "") {
    if (names.empty()) names = file.substr(0, file.find('.'));
    std::string text;
    if (Lint(rule, &text) != 0 && text.find("is not checked") != std::string::npos) {
      GTEST_SKIP() << text;
    }
    EXPECT_EQ(Lint(rule, &text), 0) << text;
    Write(file, sample);
    EXPECT_EQ(Lint(rule, &text), 1) << text;
    EXPECT_NE(text.find(says), std::string::npos) << text;
    EXPECT_NE(text.find(names), std::string::npos) << text;
  }
};

TEST_F(LintTest, AnIncludeThatGoesUpIsFound) {
  ExpectBroken("floors", "device/log/log.cc", "#include \"engines/engine.h\"\n",
               "device/ does not stand on engines/");
}

TEST_F(LintTest, AnIncludeOfARoomAboveIsFound) {
  Write("device/log/log.h", "int log;\n");
  ExpectBroken("floors", "device/os/file.cc", "#include \"device/log/log.h\"\n",
               "device/os is below device/log");
}

TEST_F(LintTest, AnEngineThatKnowsAnotherIsFound) {
  Write("engines/one/one.h", "int one;\n");
  ExpectBroken("floors", "engines/two/two.cc", "#include \"engines/one/one.h\"\n",
               "may not know the engine one");
}

TEST_F(LintTest, ALongFunctionIsFound) {
  std::string function = "int F(int x) {\n";
  for (int i = 0; i < 60; ++i) function += "  ++x;\n";
  ExpectBroken("sizes", "device/long.cc", function + "  return x;\n}\n", "the function F has 63");
}

TEST_F(LintTest, ALongFileIsFound) {
  std::string file;
  for (int i = 0; i < 601; ++i) file += "int i" + std::to_string(i) + ";\n";
  ExpectBroken("sizes", "device/long.cc", file, "601 lines with its header");
}

TEST_F(LintTest, AWideFolderIsFound) {
  for (int i = 0; i < 25; ++i) Write("docs/wide/" + std::to_string(i) + ".md", "# A\n");
  ExpectBroken("sizes", "docs/wide/more.md", "# A\n", "26 files side by side", "docs/wide");
}

TEST_F(LintTest, ATypeOfANameThatIsTakenIsFound) {
  const std::string type =
      "namespace testbed {\nstruct Sum {\n  int a;\n};\n}  // namespace testbed\n";
  Write("device/sum.h", type);
  ExpectBroken("names", "engines/sum.h", type, "Sum is given twice");
}

TEST_F(LintTest, AFunctionOfTheSameNameInTheSameFolderIsFound) {
  const std::string begin = "namespace testbed {\nnamespace {\nint Sum(";
  const std::string end = ") {\n  return 1;\n}\n}  // namespace\n}  // namespace testbed\n";
  Write("device/one.cc", begin + end);
  Write("engines/one.cc", begin + end);
  ExpectBroken("names", "device/two.cc", begin + "double a" + end, "Sum is given twice");
}

TEST_F(LintTest, ALinkToNothingIsFound) {
  ExpectBroken("links", "docs/other.md", "[there](nowhere.md)\n", "nowhere.md, which is not there");
}

TEST_F(LintTest, ALinkToAHeadingThatIsNotThereIsFound) {
  ExpectBroken("links", "docs/other.md", "[there](page.md#another)\n", "a heading that is not");
}

TEST_F(LintTest, APathThatIsNotInTheTreeIsFound) {
  ExpectBroken("links", "docs/other.md", "See `device/nothing.h`.\n", "device/nothing.h");
}

TEST_F(LintTest, AnotherLayoutIsFound) {
  ExpectBroken("format", "device/layout.cc", "int  F ( ) { return 1 ; }\n", "clang-format");
}

TEST_F(LintTest, AShellScriptsMistakeIsFound) {
  ExpectBroken("shell", "tools/mistake.sh", "#!/usr/bin/env bash\ncd $1\nrm -rf $2\n", "SC2086");
}

TEST_F(LintTest, AMisspeltWordIsFound) {
  ExpectBroken("spelling", "docs/word.md",
               "It is reci"
               "eved.\n",
               "received");
}

TEST_F(LintTest, AMemberThatIsReadWithoutItsMutexIsFound) {
  fs::create_directories(directory_ / "device/os");
  fs::copy(fs::path(SourceDir()) / "device/os/mutex.h", directory_ / "device/os/mutex.h");
  const std::string begin =
      "#include \"device/os/mutex.h\"\n"
      "struct Sum {\n  testbed::Mutex mutex;\n  int value GUARDED_BY(mutex) = 0;\n};\n";
  Write("device/sum.cc", begin +
                             "int Get(Sum* sum) {\n  testbed::LockGuard lock(sum->mutex);\n"
                             "  return sum->value;\n}\n");
  const std::string command = "clang++ -std=c++20 -I" + directory_.string() + " -c ";
  std::string commands = "[";
  for (const char* name : {"device/sum.cc", "device/open.cc"}) {
    commands += std::string(commands.size() == 1 ? "" : ",") + "{\"directory\": \"" +
                directory_.string() + "\", \"file\": \"" + name + "\", \"command\": \"" + command +
                name + "\"}";
  }
  Write("build/release/compile_commands.json", commands + "]");
  ExpectBroken("threads", "device/open.cc", begin + "int Get(Sum* sum) { return sum->value; }\n",
               "requires holding mutex");
}

TEST_F(LintTest, OnlyChangedFilesAreLookedAt) {
  Write("docs/old.md", "[nowhere](nowhere.md)\n");
  const std::string git = "git -C " + directory_.string() + " -c user.name=a -c user.email=a@b ";
  ASSERT_EQ(std::system((git + "init --quiet && " + git + "add . && " + git +
                         "commit --quiet -m all >/dev/null 2>&1")
                            .c_str()),
            0);
  std::string text;
  EXPECT_EQ(Lint("links", &text), 1) << text;
  EXPECT_EQ(Lint("links", &text, " --changed HEAD"), 0) << text;
  Write("docs/page.md", "[neither](neither.md)\n");
  EXPECT_EQ(Lint("links", &text, " --changed HEAD"), 1) << text;
  EXPECT_NE(text.find("page.md"), std::string::npos) << text;
  EXPECT_EQ(text.find("old.md"), std::string::npos) << text;
  EXPECT_EQ(Lint("links", &text, " --changed nosuch"), 2) << text;
}

TEST_F(LintTest, ARuleThatIsNotThereIsRefused) {
  std::string text;
  EXPECT_EQ(Lint("nonsense", &text), 2);
  EXPECT_NE(text.find("floors sizes names links"), std::string::npos) << text;
}

}  // namespace
}  // namespace testbed
