// tools/lint.sh fails on a deliberately broken sample of each rule, in a small tree of its own, and
// passes on the same tree without it. lint.sh, and the other scripts that empty folders, must
// remove nothing that they have not made.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

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
    fs::create_directories(directory_ / "tools/setup");
    fs::copy(source / "tools/setup/own_folder.sh", directory_ / "tools/setup/own_folder.sh");
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
  // Returns the exit code of a shell command. Sets *text to what it printed.
  int Shell(const std::string& words, std::string* text) {
    const fs::path log = directory_.string() + ".log";
    const int status = std::system((words + " >" + log.string() + " 2>&1 </dev/null").c_str());
    if (text != nullptr) *text = Read(log);
    fs::remove(log);
    return WEXITSTATUS(status);
  }
  // Returns the exit code of one rule. Sets *text to what it printed. The pinned tools are those of
  // the real tree.
  int Lint(const std::string& rule, std::string* text = nullptr, const std::string& more = "") {
    // The small tree must not count as part of the repository around it.
    return Shell("GIT_CEILING_DIRECTORIES=" + directory_.parent_path().string() +
                     " TESTBED_LINT_TOOLS=" + tools_ + " " +
                     (directory_ / "tools/lint.sh").string() + " --strict --only " + rule + more,
                 text);
  }
  // Writes the compile commands of these files, as a configured build has them.
  void WriteCommands(const std::vector<std::string>& names) {
    const std::string command = "clang++ -std=c++20 -I" + directory_.string() + " -c ";
    std::string commands = "[";
    for (const std::string& name : names) {
      commands += std::string(commands.size() == 1 ? "" : ",") + "{\"directory\": \"" +
                  directory_.string() + "\", \"file\": \"" + name + "\", \"command\": \"" +
                  command + name + "\"}";
    }
    Write("build/release/compile_commands.json", commands + "]");
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

  std::string tools_ = SourceDir() + "/build/lint";
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

TEST_F(LintTest, AnIncludeThatGoesUpBetweenTheRoomsOfAnEngineIsFound) {
  Write("engines/btree/page/page.h", "int page;\n");
  Write("engines/btree/btree_engine.h", "int btree_engine;\n");
  Write("engines/btree/pool/pool.h", "#include \"engines/btree/page/page.h\"\n");
  Write("engines/btree/store.cc", "#include \"engines/btree/pool/pool.h\"\n");
  const std::string pool = "engines/btree/pool/pool.h", up = "engines/btree/page/up.cc";
  ExpectBroken("floors", up, "#include \"" + pool + "\"\n", "page is below engines/btree/pool");
  fs::remove(directory_ / up);
  ExpectBroken("floors", up, "#include \"engines/btree/btree_engine.h\"\n",
               "engines/btree/page is below what lies beside the rooms");
}

TEST_F(LintTest, AUnitTestInAnotherFolderThanThatOfItsHeaderIsFound) {
  Write("engines/sql/batch.h", "int batch;\n");
  const std::string test = "#include \"engines/sql/batch.h\"\n";
  Write("tests/unit/engines/sql/batch_test.cc", test);
  Write("tests/unit/engines/other_test.cc", test);
  ExpectBroken("floors", "tests/unit/engines/batch_test.cc", test,
               "batch_test.cc: belongs in tests/unit/engines/sql, which mirrors");
}

// Otherwise the includes of a new room would be those of no rule.
TEST_F(LintTest, ARoomWhosePlaceIsNotSaidIsFound) {
  Write("engines/btree/page/page.h", "int page;\n");
  ExpectBroken("floors", "engines/btree/attic/attic.cc", "#include \"engines/btree/page/page.h\"\n",
               "does not say where engines/btree/attic stands");
  fs::remove_all(directory_ / "engines/btree/attic");
  Write("device/os/os.h", "int os;\n");
  ExpectBroken("floors", "device/attic/attic.cc", "#include \"device/os/os.h\"\n",
               "does not say where device/attic stands");
}

TEST_F(LintTest, AWorkloadThatKnowsAnEngineIsFound) {
  Write("engines/null/null_engine.h", "int null_engine;\n");
  Write("engines/one/one.h", "int one;\n");
  Write("workloads/harness.cc", "#include \"engines/null/null_engine.h\"\n");
  ExpectBroken("floors", "workloads/rows/rows.cc", "#include \"engines/one/one.h\"\n",
               "workloads/ knows Engine and Session, not the engine one");
}

TEST_F(LintTest, ALongFunctionIsFound) {
  std::string function = "int F(int x) {\n";
  for (int i = 0; i < 60; ++i) function += "  ++x;\n";
  ExpectBroken("sizes", "device/long.cc", function + "  return x;\n}\n", "the function F has 63");
}

TEST_F(LintTest, ALongFunctionWithACommentBesideItsBeginIsFound) {
  std::string function = "int F(int x) {  // It counts.\n";
  for (int i = 0; i < 60; ++i) function += "  ++x;\n";
  ExpectBroken("sizes", "device/long.cc", function + "  return x;\n}\n", "the function F has 63");
}

TEST_F(LintTest, ALongFileIsFound) {
  std::string file;
  for (int i = 0; i < 601; ++i) file += "int i" + std::to_string(i) + ";\n";
  ExpectBroken("sizes", "device/long.cc", file, "601 lines with its header");
}

TEST_F(LintTest, AWideCommentIsFound) {
  Write("device/narrow.cc", "// " + std::string(97, 'a') + "\nint narrow;\n");
  ExpectBroken("sizes", "device/wide.cc", "int wide;  // " + std::string(90, 'a') + "\n",
               "device/wide.cc:1: a comment has 104 columns");
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

TEST_F(LintTest, AFunctionOfAClassInAnotherFolderThanItsHeaderIsFound) {
  const std::string begin = "namespace testbed {\n", end = "}  // namespace testbed\n";
  const std::string function = begin + "void Log::Impl::Sync() {\n  Gate::Pass();\n}\n" + end;
  Write("device/log/log.h",
        begin + "class Log {\n  struct Impl {\n    void Sync();\n  };\n};\n" + end);
  Write("device/gate.h", begin + "struct Gate {\n  static void Pass();\n};\n" + end);
  Write("device/log/log.cc", "#include \"device/log/log.h\"\n" + function);
  ExpectBroken("names", "device/sync.cc", function,
               "device/sync.cc:2: has functions of Log, whose header lies in device/log");
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

TEST_F(LintTest, APathOfTheEmbeddersFoldersThatIsNotInTheTreeIsFound) {
  for (const std::string path : {"embed/nothing.h", "examples/nothing.cc", ".github/nothing.yml"}) {
    fs::remove(directory_ / "docs/other.md");
    ExpectBroken("links", "docs/other.md", "See `" + path + "`.\n", path);
  }
}

TEST_F(LintTest, AnotherLayoutIsFound) {
  ExpectBroken("format", "device/layout.cc", "int  F ( ) { return 1 ; }\n", "clang-format");
}

TEST_F(LintTest, AShellScriptsMistakeIsFound) {
  ExpectBroken("shell", "tools/mistake.sh", "#!/usr/bin/env bash\ncd $1\nrm -rf $2\n", "SC2086");
}

TEST_F(LintTest, AScriptThatObeysTheUsersCdpathIsFound) {
  const std::string begin = "#!/usr/bin/env bash\nset -e\n";
  const std::string ends = "here=$(cd -- \"$1\" && pwd)\necho \"$here\"\n";
  Write("tools/plain.sh", begin + "unset CDPATH\n" + ends);
  ExpectBroken("shell", "tools/obeys.sh", begin + ends + "unset CDPATH\n",
               "the line 'unset CDPATH' belongs before the first cd", "tools/obeys.sh");
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
  WriteCommands({"device/sum.cc", "device/open.cc"});
  ExpectBroken("threads", "device/open.cc", begin + "int Get(Sum* sum) { return sum->value; }\n",
               "requires holding mutex");
}

// The functions of a class may lie in several files, of which the wrong one names no lock.
TEST_F(LintTest, AMemberThatAFileWithoutLocksReadsIsFound) {
  fs::create_directories(directory_ / "device/os");
  fs::copy(fs::path(SourceDir()) / "device/os/mutex.h", directory_ / "device/os/mutex.h");
  Write("device/sum.h",
        "#include \"device/os/mutex.h\"\n"
        "struct Sum {\n  int Get();\n  int Peek();\n"
        "  testbed::Mutex mutex;\n  int value GUARDED_BY(mutex) = 0;\n};\n");
  const std::string begin = "#include \"device/sum.h\"\n";
  Write("device/sum.cc", begin +
                             "int Sum::Get() {\n  testbed::LockGuard lock(mutex);\n"
                             "  return value;\n}\n");
  WriteCommands({"device/sum.cc", "device/peek.cc"});
  ExpectBroken("threads", "device/peek.cc", begin + "int Sum::Peek() { return value; }\n",
               "requires holding mutex");
}

TEST_F(LintTest, AnOverrideThatDoesNotSaySoIsFoundByClangTidy) {
  fs::copy(fs::path(SourceDir()) / ".clang-tidy", directory_ / ".clang-tidy");
  const std::string base =
      "struct Base {\n  virtual ~Base() = default;\n  virtual int Get() { return 1; }\n};\n";
  Write("device/good.cc", base + "struct Good : Base {\n  int Get() override { return 2; }\n};\n");
  WriteCommands({"device/good.cc", "device/silent.cc"});
  ExpectBroken("tidy", "device/silent.cc",
               base + "struct Silent : Base {\n  virtual int Get() { return 2; }\n};\n",
               "modernize-use-override");
}

// A header is compiled by other files, none of which need have changed.
TEST_F(LintTest, TheCodeOfAHeaderThatChangedIsLookedAt) {
  fs::copy(fs::path(SourceDir()) / ".clang-tidy", directory_ / ".clang-tidy");
  const std::string base =
      "struct Base {\n  virtual ~Base() = default;\n  virtual int Get() { return 1; }\n};\n";
  Write("device/two.h", base + "struct Two : Base {\n  int Get() override { return 2; }\n};\n");
  Write("device/user.cc", "#include \"device/two.h\"\nint Use() { return Two().Get(); }\n");
  WriteCommands({"device/user.cc"});
  std::string text;
  const int code = Lint("tidy", &text);
  if (code != 0 && text.find("is not checked") != std::string::npos) GTEST_SKIP() << text;
  EXPECT_EQ(code, 0) << text;
  const std::string git = "git -C " + directory_.string() + " -c user.name=a -c user.email=a@b ";
  ASSERT_EQ(
      Shell(git + "init --quiet && " + git + "add . && " + git + "commit --quiet -m all", nullptr),
      0);
  EXPECT_EQ(Lint("tidy", &text, " --changed HEAD"), 0) << text;
  Write("device/two.h", base + "struct Two : Base {\n  virtual int Get() { return 2; }\n};\n");
  EXPECT_EQ(Lint("tidy", &text, " --changed HEAD"), 1) << text;
  EXPECT_NE(text.find("modernize-use-override"), std::string::npos) << text;
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

TEST_F(LintTest, AFileInWhichOnlyCommentsChangedHasTheSameCode) {
  Write("device/comment.cc", "int n = 1'000;  // one\n/* a */ int m;\n");
  Write("device/text.cc", "const char* url = \"a//b\";\n");
  Write("device/raw.cc", "auto s = R\"x(\" // b)x\";\n");
  const std::string git = "git -C " + directory_.string() + " -c user.name=a -c user.email=a@b ";
  ASSERT_EQ(
      Shell(git + "init --quiet && " + git + "add . && " + git + "commit --quiet -m all", nullptr),
      0);
  Write("device/comment.cc", "// It is a number.\nint n =\n    1'000;\nint m;  // ' \" /*\n");
  Write("device/text.cc", "const char* url = \"a//c\";\n");
  Write("device/raw.cc", "auto s = R\"x(\" // c)x\";\n");
  Write("device/new.cc", "// Nothing yet.\n");
  std::string all, code;
  const std::string list =
      "python3 " + (directory_ / "tools/lint/tree.py").string() + " " + directory_.string();
  EXPECT_EQ(Shell(list + " --changed HEAD '*.cc'", &all), 0);
  EXPECT_EQ(all, "device/comment.cc\ndevice/new.cc\ndevice/raw.cc\ndevice/text.cc\n");
  EXPECT_EQ(Shell(list + " --changed HEAD --code '*.cc'", &code), 0);
  EXPECT_EQ(code, "device/new.cc\ndevice/raw.cc\ndevice/text.cc\n");
}

TEST_F(LintTest, ATreeThatGitIgnoresIsLookedAt) {
  ASSERT_EQ(std::system(("git -C " + directory_.string() + " init --quiet").c_str()), 0);
  Write(".gitignore", "*\n");
  ExpectBroken("links", "docs/other.md", "[there](nowhere.md)\n", "nowhere.md, which is not there");
}

TEST_F(LintTest, AnEmptyListOfRulesIsRefused) {
  std::string text;
  EXPECT_EQ(Lint("''", &text), 2);
  EXPECT_NE(text.find("--only takes a list of rules: floors sizes"), std::string::npos) << text;
}

TEST_F(LintTest, ARuleThatIsNotThereIsRefused) {
  std::string text;
  EXPECT_EQ(Lint("nonsense", &text), 2);
  EXPECT_NE(text.find("floors sizes names links"), std::string::npos) << text;
}

TEST_F(LintTest, AFolderForTheToolsThatHoldsSomethingElseIsLeftAlone) {
  tools_ = directory_ / "mine";
  Write("mine/packages/theirs.txt", "theirs");
  Write("mine/requirements.txt", "theirs");
  std::string text;
  EXPECT_EQ(Lint("format", &text), 1);
  EXPECT_NE(text.find("mine is there, and no script of testbed has made it"), std::string::npos)
      << text;
  EXPECT_EQ(Read(directory_ / "mine/packages/theirs.txt"), "theirs");
  EXPECT_EQ(Read(directory_ / "mine/requirements.txt"), "theirs");
}

// A Python whose pip installs a formatter that never complains.
constexpr char kPython[] =
    "#!/bin/sh\n"
    "case \"$*\" in\n"
    "*pip\\ install*)\n"
    "  while [ \"$1\" != --target ]; do shift; done\n"
    "  mkdir -p \"$2/bin\"\n"
    "  printf '#!/bin/sh\\ncat \"$1\"\\n' >\"$2/bin/clang-format\"\n"
    "  chmod +x \"$2/bin/clang-format\" ;;\n"
    "*) PATH=${PATH#*:} exec python3 \"$@\" ;;\n"
    "esac\n";

TEST_F(LintTest, OfItsOwnFolderForTheToolsItRemovesWhatItPutThere) {
  tools_ = directory_ / "tools-of-lint";
  Write("bin/python3", kPython);
  fs::permissions(directory_ / "bin/python3", fs::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ASSERT_EQ(::setenv("PATH", ((directory_ / "bin").string() + ":" + path).c_str(), 1), 0);
  std::string first, second;
  const int made = Lint("format", &first);
  Write("tools-of-lint/notes.txt", "theirs");
  Write("tools-of-lint/packages/old.py", "of the last version");
  Write("tools-of-lint/requirements.txt", "other versions");
  const int again = Lint("format", &second);
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(made, 0) << first;
  EXPECT_EQ(again, 0) << second;
  EXPECT_FALSE(fs::exists(directory_ / "tools-of-lint/packages/old.py"));
  EXPECT_TRUE(fs::exists(directory_ / "tools-of-lint/packages/bin/clang-format"));
  EXPECT_EQ(Read(directory_ / "tools-of-lint/notes.txt"), "theirs");
}

// Tests of the linter run beside each other, and each removed what another one was installing.
TEST_F(LintTest, OfSeveralAtOnceOneInstallsTheTools) {
  tools_ = directory_ / "tools-of-lint";
  std::string python = kPython;
  const std::string installing = "  mkdir -p";
  python.replace(python.find(installing), 0,
                 "  echo once >>'" + directory_.string() +
                     "/installs'\n"
                     "  sleep 0.3\n");
  Write("bin/python3", python);
  fs::permissions(directory_ / "bin/python3", fs::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ASSERT_EQ(::setenv("PATH", ((directory_ / "bin").string() + ":" + path).c_str(), 1), 0);
  std::string said;
  const int code = Shell("sh -c 'export TESTBED_LINT_TOOLS=" + tools_ + "; for i in 1 2 3; do " +
                             (directory_ / "tools/lint.sh").string() +
                             " --strict --only format & all=\"$all $!\"; done; "
                             "for one in $all; do wait $one || exit 1; done'",
                         &said);
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(code, 0) << said;
  EXPECT_EQ(Read(directory_ / "installs"), "once\n");
}

TEST_F(LintTest, PlantedBugsAreTriedInNoFolderOfSomebodyElse) {
  for (const char* folder : {"tree", "run"}) {
    SCOPED_TRACE(folder);
    const std::string file = std::string("d/") + folder + "/theirs.txt";
    Write(file, "theirs");
    // tar, ninja and cmake fail here, so that no tree is copied and nothing is built.
    for (const char* program : {"tar", "ninja", "cmake"}) {
      Write(std::string("bin/") + program, "#!/bin/sh\nexit 1\n");
      fs::permissions(directory_ / "bin" / program, fs::perms::owner_all);
    }
    std::string text;
    EXPECT_EQ(Shell("PATH=" + (directory_ / "bin").string() +
                        ":$PATH TESTBED_PLANTED_DIR=" + (directory_ / "d").string() + " " +
                        SourceDir() + "/tools/crashtest/planted_bugs.sh",
                    &text),
              1);
    EXPECT_NE(text.find(std::string("d/") + folder + " is there, and no script"), std::string::npos)
        << text;
    EXPECT_EQ(Read(directory_ / file), "theirs");
    fs::remove_all(directory_ / "d");
  }
}

TEST_F(LintTest, AReleaseIsRemovedFromABuildOfTestbedOnly) {
  Write("d/releases/rocksdb-10.4.2/theirs.txt", "theirs");
  std::string text;
  EXPECT_EQ(Shell("TESTBED_BUILD_DIR=" + (directory_ / "d").string() + " " + SourceDir() +
                      "/tools/build_engine.sh --remove rocksdb 10.4.2",
                  &text),
            2);
  EXPECT_NE(text.find("there is no built testbed in"), std::string::npos) << text;
  EXPECT_EQ(Read(directory_ / "d/releases/rocksdb-10.4.2/theirs.txt"), "theirs");
}

TEST_F(LintTest, AFolderThatATestMakesAnewIsNoOtherOfThatName) {
  Write("d/theirs.txt", "theirs");
  const std::string tests = SourceDir() + "/tests/", d = " " + (directory_ / "d").string();
  for (const std::string& script :
       {"embedding/components.sh" + d, "embedding/check.sh /nonexistent" + d,
        "python/run.sh /nonexistent/testbed" + d + " --install"}) {
    std::string text;
    EXPECT_EQ(Shell(tests + script, &text), 1) << script;
    EXPECT_NE(text.find("d is there, and no script"), std::string::npos) << text;
    EXPECT_EQ(Read(directory_ / "d/theirs.txt"), "theirs") << script;
  }
}

TEST_F(LintTest, WhatAScriptMadeIsItsOwnWhereverItLies) {
  const std::string own =
      "bash -ec '. " + SourceDir() + "/tools/setup/own_folder.sh; cd " + directory_.string() + "; ";
  Write("build/CMakeCache.txt", "CMAKE_PROJECT_NAME:STATIC=testbed\n");
  Write("build/made/old.txt", "of a version without marks");
  Write("theirs/sub/file.txt", "theirs");
  fs::create_directory_symlink("theirs", directory_ / "link");
  std::string text;
  EXPECT_EQ(
      Shell(own + "empty_own_folder new; >new/.file; >new/file; empty_own_folder new'", &text), 0)
      << text;
  EXPECT_EQ(Shell(own + "[ \"$(ls -A new)\" = .testbed-own ]'", &text), 0) << text;
  EXPECT_EQ(Shell(own + "empty_own_folder build/made'", &text), 0) << text;
  EXPECT_FALSE(fs::exists(directory_ / "build/made/old.txt"));
  EXPECT_EQ(Shell(own + "empty_own_folder theirs/sub theirs/sub'", &text), 0) << "its usual place";
  Write("theirs/sub/file.txt", "theirs");
  for (const char* other : {"theirs", "theirs theirs/sub", "link", "build/CMakeCache.txt"}) {
    EXPECT_EQ(Shell(own + "empty_own_folder " + other + "'", &text), 1) << other;
  }
  EXPECT_TRUE(fs::exists(directory_ / "theirs/sub/file.txt"));
}

}  // namespace
}  // namespace testbed
