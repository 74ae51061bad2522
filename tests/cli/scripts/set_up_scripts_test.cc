// Tests what tools/run.sh, tools/nightly.sh and tools/build_engine.sh do about releases of engines
// and experiments, and tools/test.sh about tests that fail, in a small tree of their own. The
// compilers, ctest, the program and what they would build are stand-ins, scripts that write down
// how they were called.
#include <fnmatch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// An experiment "none" has no cell that can run here, and "broken" is not accepted at all.
constexpr char kProgram[] = R"sh(
case "$*" in
  "experiment list") printf 'broken  -\nmine  -\nnone  -\n' ;;
  "experiment plan none "*) echo "testbed: experiment none cannot run: nothing is built" >&2; exit 2 ;;
  "experiment plan broken "* | "experiment broken "*) echo "testbed: broken.toml:1: no" >&2; exit 2 ;;
  "experiment plan "*) ;;
  *) echo "testbed $*" >>"$CALLS" ;;
esac
)sh";

// The conformance suite of WiredTiger 11.1.0 fails, and RocksDB 6.20.3 cannot be built.
constexpr char kBuildEngine[] = R"sh(
echo "build $*" >>"$CALLS"
[[ $* != "rocksdb 6.20.3" ]] || exit 2
here=$(dirname -- "$0")/../build/release/releases/$1-$2
mkdir -p "$here"
suite=$here/testbed_release_$1-$2_tests
printf '#!/bin/bash\necho "suite $*" >>"$CALLS"\necho "[  PASSED  ] 3 tests."\n' >"$suite"
[[ $2 != 11.1.0 ]] || echo 'echo "[  FAILED  ] 1 test"; exit 1' >>"$suite"
chmod +x "$suite"
cp "$(dirname -- "$0")/../build/release/testbed" "$here/testbed"
)sh";

class SetUpScriptsTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    ::unsetenv("TESTBED_WERROR");  // continuous integration sets it
    const fs::path tools = fs::path(SourceDir()) / "tools";
    fs::create_directories(directory_ / "tools/setup");
    for (const char* file : {"run.sh", "test.sh", "nightly.sh", "setup/setup.sh",
                             "setup/engine_releases", "setup/own_folder.sh"}) {
      fs::copy(tools / file, directory_ / "tools" / file);
    }
    for (const char* name : {"broken", "mine", "none"}) {
      Write(std::string("tools/experiments/") + name + ".toml", "");
    }
    Script("tools/build_engine.sh", kBuildEngine);
    Script("bin/ninja", "");
    Script("bin/cmake", "");
    Script("build/release/testbed", kProgram);
    Write("build/release/build.ninja", "");
    Write("build/release/CMakeCache.txt",
          "CMAKE_PROJECT_NAME:STATIC=testbed\nWIREDTIGER_ROOT:PATH=/none\n");
  }
  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }
  void Script(const std::string& name, const std::string& text) {
    Write(name, "#!/bin/bash\n" + text);
    fs::permissions(directory_ / name, fs::perms::owner_all);
  }
  // Returns the exit code of a script of the tree. Sets calls_ to what the stand-ins wrote down,
  // and said_ to what the script printed.
  int Tool(const std::string& words, const std::string& environment = "") {
    const std::string calls = directory_ / "calls", said = directory_ / "said";
    fs::remove(calls);
    const std::string command = "cd " + directory_.string() + " && CALLS=" + calls +
                                " PATH=" + (directory_ / "bin").string() +
                                ":/usr/bin:/bin TESTBED_SKIP_PACKAGES=1 WIREDTIGER_ROOT=/none " +
                                environment + " tools/" + words + " >" + said + " 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    calls_ = Read(calls);
    said_ = Read(said);
    return WEXITSTATUS(status);
  }
  // Copies the script that builds RocksDB, and makes the folder that a killed call of it leaves,
  // with the source unpacked. Returns the folder.
  fs::path LeaveBuildOfRocksdb(const std::string& environment) {
    for (const char* file : {"setup/library.sh", "setup/build_rocksdb.sh"}) {
      fs::copy(fs::path(SourceDir()) / "tools" / file, directory_ / "tools" / file);
    }
    Script("bin/c++", "echo 'c++ 1'\n");
    EXPECT_EQ(Tool("setup/build_rocksdb.sh --where 9.9.3", environment), 0) << said_;
    const fs::path prefix = said_.substr(0, said_.find('\n'));
    const fs::path work = prefix.parent_path() / ("." + prefix.filename().string() + ".build");
    fs::create_directories(work);
    std::ofstream(work / "unpacked") << "";
    return work;
  }
  std::string calls_, said_;
};

TEST_F(SetUpScriptsTest, ReleasesThatARunNamesAreBuiltOnce) {
  const std::string run = "testbed --engine wiredtiger@11.0.0 --ram 64M\n";
  EXPECT_EQ(Tool("run.sh --engine wiredtiger@11.0.0 --ram 64M"), 0) << said_;
  EXPECT_EQ(calls_, "build wiredtiger 11.0.0\n" + run);
  EXPECT_EQ(Tool("run.sh --engine wiredtiger@11.0.0 --ram 64M"), 0) << said_;
  EXPECT_EQ(calls_, run);
  EXPECT_EQ(Tool("run.sh --engine=wiredtiger@latest,btree,rocksdb@9.9.3 --out o"), 0) << said_;
  EXPECT_THAT(calls_, HasSubstr("build wiredtiger 11.3.1\nbuild rocksdb 9.9.3\ntestbed"));
  EXPECT_EQ(Tool("run.sh ab --a 'engine=rocksdb@8.10.0 threads=2' --b=engine=rocksdb@10.4.2"), 0)
      << said_;
  EXPECT_THAT(calls_, HasSubstr("build rocksdb 8.10.0\nbuild rocksdb 10.4.2\ntestbed ab"));
}

// Where CDPATH is in the environment, cd prints the folder that it goes to.
TEST_F(SetUpScriptsTest, TheUsersCdpathLeadsNowhereElse) {
  EXPECT_EQ(Tool("run.sh --version", "CDPATH=" + directory_.string()), 0) << said_;
  EXPECT_EQ(calls_, "testbed --version\n");
}

// The program of a release that another build has linked would be refused.
TEST_F(SetUpScriptsTest, TheProgramOfAReleaseIsBroughtUpToDate) {
  const std::string run = "run.sh --engine wiredtiger@11.0.0";
  Script("build/release/releases/wiredtiger-11.0.0/testbed", "");
  Script("bin/ninja", "echo \"ninja $*\" >>\"$CALLS\"\n[[ $* != *' query '* || -e described ]]\n");
  Write("described", "");
  EXPECT_EQ(Tool(run), 0) << said_;
  EXPECT_THAT(calls_, HasSubstr(" testbed_release_wiredtiger-11.0.0\n"
                                "testbed --engine wiredtiger@11.0.0\n"));
  EXPECT_THAT(calls_, Not(HasSubstr("build wiredtiger")));
  fs::remove(directory_ / "described");
  EXPECT_EQ(Tool(run), 0) << said_;
  EXPECT_THAT(calls_, HasSubstr("build wiredtiger 11.0.0\ntestbed --engine")) << "only left over";
}

// Two ninjas in one folder would spoil each other's files.
TEST_F(SetUpScriptsTest, AReleaseIsLinkedWhileNobodyElseBuilds) {
  fs::copy(fs::path(SourceDir()) / "tools/build_engine.sh", directory_ / "tools/build_engine.sh",
           fs::copy_options::overwrite_existing);
  const std::string prefix = directory_ / "opt/rocksdb";
  Write("opt/rocksdb/lib/librocksdb.a", "");
  Write("opt/rocksdb/include/rocksdb/db.h", "");
  Script("tools/setup/build_rocksdb.sh", "echo " + prefix + "\n");
  Script("bin/ninja", "(flock --nonblock build/.lock echo free || echo taken) >>\"$CALLS\"\n");
  EXPECT_EQ(Tool("build_engine.sh rocksdb " + prefix), 0) << said_;
  EXPECT_EQ(calls_, "taken\n");
  EXPECT_EQ(Tool("run.sh --engine rocksdb@9.9.3", "timeout 60"), 0) << said_;
  EXPECT_EQ(calls_, "taken\ntaken\ntestbed --engine rocksdb@9.9.3\n");
  // One has the folder's lock and waits to build a library, while the other builds one and then
  // wants the folder's lock.
  Script("tools/setup/build_rocksdb.sh", "sleep 0.4\necho " + prefix + "\n");
  Script("tools/both.sh",
         "tools/build_engine.sh rocksdb 10.4.2 &\nsleep 0.1\n"
         "tools/run.sh --engine rocksdb@9.9.3 && wait\n");
  EXPECT_EQ(Tool("both.sh", "timeout 60"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("ready: testbed --engine rocksdb@10.4.2"));
}

TEST_F(SetUpScriptsTest, WhatIsNoReleaseIsLeftToTheProgram) {
  for (const char* words : {"--engine btree@1.0", "--engine rocksdb@0.1", "--engine rocksdb@/none",
                            "--engine rocksdb", "--label rocksdb@10.4.2", "--engine"}) {
    EXPECT_EQ(Tool(std::string("run.sh ") + words), 0) << said_;
    EXPECT_EQ(calls_, std::string("testbed ") + words + "\n");
  }
  EXPECT_EQ(Tool("run.sh --engine rocksdb@9.9.3", "TESTBED_RELEASES=/none"), 0) << said_;
  EXPECT_EQ(calls_, "testbed --engine rocksdb@9.9.3\n") << "it looks in another directory";
  EXPECT_EQ(Tool("run.sh --engine rocksdb@6.20.3"), 1) << said_;
  EXPECT_EQ(calls_, "build rocksdb 6.20.3\n") << "nothing runs when the build has failed";
}

TEST_F(SetUpScriptsTest, AnEngineWhoseLibraryWasBuiltSinceJoinsTheBuild) {
  const std::string prefix = directory_ / "mdbx";
  Script("tools/setup/build_mdbx.sh", "[[ $1 != --where ]] || echo " + prefix + "\n");
  Script("bin/cmake", "echo \"cmake $*\" >>\"$CALLS\"\n");
  EXPECT_EQ(Tool("run.sh --version"), 0) << said_;
  EXPECT_THAT(calls_, Not(HasSubstr("cmake "))) << "the library is not there";
  Write("mdbx/lib/libmdbx.a", "");
  EXPECT_EQ(Tool("run.sh --version"), 0) << said_;
  EXPECT_THAT(calls_, HasSubstr("cmake --preset release"));
  Write("build/release/build.ninja", "build testbed: link " + prefix + "/lib/libmdbx.a\n");
  EXPECT_EQ(Tool("run.sh --version"), 0) << said_;
  EXPECT_THAT(calls_, Not(HasSubstr("cmake "))) << "the build has the engine";
}

TEST_F(SetUpScriptsTest, AFolderThatBearsWarningsIsConfiguredAnewWhenTheyAreErrors) {
  Script("bin/cmake", "echo \"cmake $*\" >>\"$CALLS\"\n");
  EXPECT_EQ(Tool("run.sh --version"), 0) << said_;
  EXPECT_THAT(calls_, Not(HasSubstr("cmake ")));
  EXPECT_EQ(Tool("run.sh --version", "TESTBED_WERROR=1"), 0) << said_;
  EXPECT_THAT(calls_, HasSubstr(" -DTESTBED_WERROR=ON"));
  std::ofstream(directory_ / "build/release/CMakeCache.txt", std::ios::app)
      << "TESTBED_WERROR:BOOL=ON\n";
  EXPECT_EQ(Tool("run.sh --version", "TESTBED_WERROR=1"), 0) << said_;
  EXPECT_THAT(calls_, Not(HasSubstr("cmake ")));
}

// ctest fails when no test has the name, and would then run the failures of an earlier call again.
TEST_F(SetUpScriptsTest, TestsThatAreNotThereAreNoSuccess) {
  Script("bin/ctest",
         "echo \"ctest $*\" >>\"$CALLS\"\n[[ $* == *\" -N \"* || $* == *Earlier* ]]\n");
  const std::string failures = "build/release/Testing/Temporary/LastTestsFailed.log";
  Write(failures, "7:Earlier.Failure\n");
  fs::last_write_time(directory_ / failures,
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(Tool("test.sh -R NoSuchTest"), 1) << said_;
  EXPECT_THAT(calls_, HasSubstr("-R NoSuchTest\n"));
  EXPECT_THAT(calls_, Not(HasSubstr("Earlier")));
}

// The numbers that ctest gives to tests depend on those that it leaves out: names are given.
TEST_F(SetUpScriptsTest, WhatFailedBesideOtherTestsIsRunOnceMoreAlone) {
  const std::string failures = "build/release/Testing/Temporary/LastTestsFailed.log";
  Write(failures, "");
  for (const bool passes : {true, false}) {
    SCOPED_TRACE(passes);
    Script("bin/ctest",
           "echo \"ctest $*\" >>\"$CALLS\"\ncase $* in\n*\" -N \"*) ;;\n"
           "*'-R ^('*) " +
               std::string(passes ? "true" : "false") + " ;;\n*) printf '7:A.B/c\\n12:D.E\\n' >" +
               failures + "; false ;;\nesac\n");
    EXPECT_EQ(Tool("test.sh -L unit"), passes ? 0 : 1) << said_;
    EXPECT_THAT(calls_, HasSubstr(" -R ^(A\\.B/c|D\\.E)$ --parallel 1\n"));
    EXPECT_EQ(said_.find("these passed alone") != std::string::npos, passes) << said_;
  }
}

// A full disk fails hundreds of tests. A regular expression of all their names finds none in ctest.
TEST_F(SetUpScriptsTest, HundredsOfFailuresAreNotRunOnceMore) {
  const std::string failures = "build/release/Testing/Temporary/LastTestsFailed.log";
  Write(failures, "");
  Script("bin/ctest",
         "echo \"ctest $*\" >>\"$CALLS\"\n[[ $* != *\" -N \"* ]] || exit 0\n"
         "printf '%d:A.B\\n' {1..201} >" +
             failures + "\nfalse\n");
  EXPECT_EQ(Tool("test.sh -L unit"), 1) << said_;
  EXPECT_THAT(said_, HasSubstr("201 tests failed, more than are run once more alone"));
  EXPECT_THAT(calls_, Not(HasSubstr("-R ")));
}

TEST_F(SetUpScriptsTest, TestsOfTheNightlyRunAreLeftOutAndCounted) {
  Script("bin/ctest",
         "echo \"ctest $*\" >>\"$CALLS\"\n[[ $* != *\" -N \"* ]] || printf '  Test  #%d: %s\\n' "
         "1 Engines/A.B/c 20 EveryWay/A.B/d 300 EveryWay/A.B/e\n");
  const std::string words = "test.sh -E Slow -R A";
  EXPECT_EQ(Tool(words, "env -u TESTBED_EVERY_IO_MODE"), 0) << said_;
  EXPECT_THAT(calls_, HasSubstr(" -E ^EveryWay/|Slow -R A\n"));
  EXPECT_THAT(said_, HasSubstr("left out: 2 tests of the nightly run (TESTBED_EVERY_IO_MODE=1 "));
  EXPECT_EQ(Tool("test.sh", "env -u TESTBED_EVERY_IO_MODE"), 0) << said_;
  EXPECT_THAT(calls_, HasSubstr(" -E ^EveryWay/\n"));
  EXPECT_EQ(Tool(words, "TESTBED_EVERY_IO_MODE=1"), 0) << said_;
  EXPECT_THAT(calls_, HasSubstr(" -E Slow -R A\n"));
  EXPECT_THAT(said_, Not(HasSubstr("left out")));
}

TEST_F(SetUpScriptsTest, WordsThatTheTestsWouldNotHeedAreRefused) {
  for (const std::string option : {"--all", "--asan"}) {
    EXPECT_EQ(Tool("test.sh " + option + " -L unit"), 2);
    EXPECT_THAT(said_, HasSubstr(option + " takes no further words, not '-L'"));
    EXPECT_EQ(calls_, "");
  }
}

TEST_F(SetUpScriptsTest, ANightlyRunLeavesNoTestOut) {
  Script("tools/test.sh", "echo \"test $* ${TESTBED_EVERY_IO_MODE:-}\" >>\"$CALLS\"\n");
  EXPECT_EQ(Tool("nightly.sh --only tests,crashes --out o"), 0) << said_;
  EXPECT_THAT(calls_, HasSubstr("test --all 1\n"));
  EXPECT_THAT(calls_, HasSubstr("test -L crash 1\n"));
}

TEST_F(SetUpScriptsTest, ANightlyRunLeavesOutWhatCannotBePlanned) {
  EXPECT_EQ(
      Tool("nightly.sh --only experiments --out o", "TESTBED_NIGHTLY_EXPERIMENTS='mine none'"), 0)
      << said_;
  EXPECT_EQ(calls_, "testbed experiment mine --scale small --quiet\n");
  EXPECT_THAT(Read(directory_ / "o/summary.txt"),
              HasSubstr("ok; left out: none, nothing is built\n"));
  EXPECT_EQ(Tool("nightly.sh --only experiments --out o"), 1)
      << "an error is no reason to leave out";
  EXPECT_EQ(calls_, "testbed experiment mine --scale small --quiet\n");
}

// A loop over no names would end well.
TEST_F(SetUpScriptsTest, APartOfTheNightlyRunThatFindsNothingToDoFails) {
  Script("build/release/testbed", "exit 1\n");
  Write("CMakePresets.json", "{}");
  for (const std::string part : {"experiments", "without-engines"}) {
    EXPECT_EQ(Tool("nightly.sh --only " + part + " --out o"), 1) << part;
    EXPECT_THAT(said_, HasSubstr("FAILED with exit code 1")) << part;
  }
}

// When the test of the part's own program fails, the part fails, whatever this machine lacks for a
// cluster.
TEST_F(SetUpScriptsTest, APartOfTheNightlyRunThatHasFailedIsNotSkipped) {
  Script("bench/cluster_faults.py", "[[ $1 == --fetch ]] || exit 77\n");
  Write("tests/python/cluster_faults_test.py", "raise SystemExit(1)\n");
  EXPECT_EQ(Tool("nightly.sh --only galera --out o"), 1) << said_;
  Write("tests/python/cluster_faults_test.py", "");
  EXPECT_EQ(Tool("nightly.sh --only galera --out o"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("cannot run: a program of a cluster is missing"));
}

TEST_F(SetUpScriptsTest, ANightlyRunHasARowForEachRelease) {
  const std::string part = "nightly.sh --only releases --out o";
  EXPECT_EQ(Tool(part, "TESTBED_NIGHTLY_RELEASES='wiredtiger@11.0.0,wiredtiger@11.2.0'"), 0)
      << said_;
  EXPECT_EQ(Read(directory_ / "o/releases.md"),
            "| release | build | conformance suite | 100 kills |\n|---|---|---|---|\n"
            "| wiredtiger@11.0.0 | ok | 3 passed | ok |\n"
            "| wiredtiger@11.2.0 | ok | 3 passed | ok |\n");
  EXPECT_THAT(calls_, HasSubstr("suite --gtest_brief=1 --gtest_filter=*wiredtiger*\n"
                                "testbed crashtest --engine wiredtiger@11.0.0 --kills 100"));
  EXPECT_THAT(calls_, HasSubstr("testbed ab --a engine=wiredtiger@11.0.0 --b "
                                "engine=wiredtiger@11.2.0"));
  EXPECT_EQ(Tool(part, "TESTBED_NIGHTLY_RELEASES='rocksdb@6.20.3 wiredtiger@11.1.0'"), 1) << said_;
  EXPECT_THAT(Read(directory_ / "o/releases.md"),
              HasSubstr("| rocksdb@6.20.3 | FAILED | - | - |\n"
                        "| wiredtiger@11.1.0 | ok | FAILED, 3 passed | ok |\n"));
  EXPECT_THAT(calls_, Not(HasSubstr("testbed ab")));
  EXPECT_THAT(Read(directory_ / "o/releases.log"), HasSubstr("none are compared"));
}

TEST_F(SetUpScriptsTest, ANightlyRunTestsAllReleasesAndAnInstallationOfOnesOwn) {
  (void)Tool("nightly.sh --only releases --out o");
  const std::string rows = Read(directory_ / "o/releases.md");
  for (const char* name :
       {"| rocksdb@11.8.1 | ok |", "| wiredtiger@11.3.1 | ok |", "| wiredtiger@/none |"}) {
    EXPECT_THAT(rows, HasSubstr(name));
  }
}

// A bare Debian has no module venv of Python until the packages are installed.
TEST_F(SetUpScriptsTest, MutantsInstallThePackagesBeforeTheyAskForAPythonOfTheirOwn) {
  Script("bin/git", "");
  Script("bin/python3", "[[ ! -e build/.lock ]] || echo \"python3 $*\" >>\"$CALLS\"\nfalse\n");
  EXPECT_EQ(Tool("nightly.sh --only mutants --out o"), 0) << said_;
  EXPECT_THAT(calls_, HasSubstr("python3 -m venv ")) << "the build folder was not set up before";
  EXPECT_THAT(Read(directory_ / "o/summary.txt"), HasSubstr("(Debian: python3-venv)"));
  Script("packages.sh", "source tools/setup/setup.sh\necho \"${packages_of_mutants[*]}\"\n");
  EXPECT_EQ(Tool("../packages.sh"), 0);
  EXPECT_EQ(said_, "python3-venv\n");
}

TEST_F(SetUpScriptsTest, ANightlyRunFindsAnEngineThatWasLeftOut) {
  Write("CMakePresets.json",
        "{\"name\": \"without-rocksdb\", \"inherits\": \"release\"}\n"
        "{\"name\": \"without-documents\", \"inherits\": \"release\"}\n"
        "{\"name\": \"own-engines\", \"inherits\": \"release\"}\n");
  const auto lists = [&](const std::string& preset, const std::string& names) {
    Script("build/" + preset + "/testbed",
           "[[ $1 != list ]] || printf '  %s  what it is\\n' " + names + "\n");
  };
  const std::string part = "nightly.sh --only without-engines --out o";
  for (const char* preset : {"without-rocksdb", "without-documents", "own-engines"}) {
    lists(preset, "btree");
  }
  EXPECT_EQ(Tool(part), 0) << Read(directory_ / "o/without-engines.log");
  lists("without-documents", "btree rocksdb document-load");
  lists("own-engines", "btree rocksdb");
  EXPECT_EQ(Tool(part), 1) << said_;
  const std::string log = Read(directory_ / "o/without-engines.log");
  EXPECT_THAT(log, HasSubstr("without-documents has document-load, which it was built without"));
  EXPECT_THAT(log, HasSubstr("own-engines has rocksdb, which it was built without"));
  EXPECT_THAT(log, Not(HasSubstr("without-documents has rocksdb")));
}

TEST_F(SetUpScriptsTest, ANightlyRunHasMyRocksWhereItsPluginIs) {
  Script("build/release/testbed", std::string("[[ $1 != list ]] || echo '  mysql  what it is'\n") +
                                      "[[ $1 == list ]] || echo \"testbed $*\" >>\"$CALLS\"\n");
  Script("tools/test.sh", "echo \"test $* ${TESTBED_EVERY_IO_MODE:-}\" >>\"$CALLS\"\n");
  Script("bin/mariadbd", "");
  const std::string part = "nightly.sh --only myrocks --out o";
  EXPECT_EQ(Tool(part), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("cannot run: there is no MyRocks"));
  EXPECT_THAT(calls_, Not(HasSubstr("test -R")));
  Write("lib/mysql/plugin/ha_rocksdb.so", "");
  EXPECT_EQ(Tool(part), 0) << said_ << Read(directory_ / "o/myrocks.log");
  EXPECT_THAT(calls_, HasSubstr("testbed --engine mysql:rocksdb "));
  EXPECT_THAT(calls_, HasSubstr("test -R mysql_buffered_rocksdb 1\n"));
  EXPECT_THAT(calls_, HasSubstr("testbed crashtest --engine mysql:rocksdb --kills 50 "));
}

// The stand-in for dpkg-query says that no package is installed.
TEST_F(SetUpScriptsTest, PartsOfTheNightlyRunInstallWhatTheyTake) {
  Script("bin/dpkg-query", "exit 1\n");
  Script("bin/sudo", "[[ $1 == -n ]] || exec \"$@\"\n");
  Script("bin/apt-get", "echo \"apt-get $*\" >>\"$CALLS\"\n");
  (void)Tool("nightly.sh --only originals --out o", "TESTBED_SKIP_PACKAGES=");
  for (const char* package : {" sysbench ", " mariadb-server-core ", " default-jre-headless ",
                              " maven ", " rocksdb-tools ", " zstd"}) {
    EXPECT_THAT(calls_, HasSubstr(package));
  }
  EXPECT_THAT(calls_, Not(HasSubstr(" cargo")));
  (void)Tool("nightly.sh --only galera --out o", "TESTBED_SKIP_PACKAGES=");
  for (const char* package : {" mariadb-server-core ", " libmariadb3 ", " iproute2"}) {
    EXPECT_THAT(calls_, HasSubstr(package));
  }
  (void)Tool("nightly.sh --only releases --out o",
             "TESTBED_SKIP_PACKAGES= TESTBED_NIGHTLY_RELEASES=wiredtiger@11.0.0");
  if (!fs::exists("/usr/bin/cargo")) {
    EXPECT_THAT(calls_, HasSubstr(" cargo"));
  }
  EXPECT_THAT(calls_, HasSubstr(" libgtest-dev "));
  EXPECT_THAT(calls_, HasSubstr(" pkg-config "));
  EXPECT_THAT(calls_, Not(HasSubstr(" sysbench")));
  // Each of these is a job of its own in .github/workflows/nightly.yml, on a machine without cmake.
  for (const std::string part : {"extension", "planted-bugs"}) {
    (void)Tool("nightly.sh --only " + part + " --out o", "TESTBED_SKIP_PACKAGES=");
    EXPECT_THAT(calls_, HasSubstr(" cmake ")) << part;
  }
}

// Under sudo HOME may be root's. An earlier version then built WiredTiger, and all of testbed, once
// more.
TEST_F(SetUpScriptsTest, UnderSudoTheLibrariesAreThoseOfTheUser) {
  if (geteuid() != 0) GTEST_SKIP() << "this needs root";
  for (const char* file : {"setup/library.sh", "setup/build_wiredtiger.sh"}) {
    fs::copy(fs::path(SourceDir()) / "tools" / file, directory_ / "tools" / file);
  }
  const std::string home = directory_ / "home";
  Script("bin/getent", "[[ $2 == me ]] && echo \"me:x:1000:1000::" + home + ":/bin/sh\"\n");
  const std::string where = "setup/build_wiredtiger.sh --where";
  const std::string none = "TESTBED_CACHE_DIR= XDG_CACHE_HOME= HOME=/none ";
  EXPECT_EQ(Tool(where, none + "SUDO_USER=me"), 0) << said_;
  EXPECT_THAT(said_, testing::StartsWith("/none/.cache/testbed/wiredtiger-"));
  fs::create_directories(directory_ / "home/.cache/testbed");
  EXPECT_EQ(Tool(where, none + "SUDO_USER=me"), 0) << said_;
  EXPECT_THAT(said_, testing::StartsWith(home + "/.cache/testbed/wiredtiger-"));
  EXPECT_EQ(Tool(where, none + "SUDO_USER=nobody-here"), 0) << said_;
  EXPECT_THAT(said_, testing::StartsWith("/none/.cache/testbed/wiredtiger-"));
  EXPECT_EQ(Tool(where, none + "TESTBED_CACHE_DIR=/mine SUDO_USER=me"), 0) << said_;
  EXPECT_THAT(said_, testing::StartsWith("/mine/wiredtiger-"));
}

// The flags of the compiler are one text, in which the path with a space was two words.
TEST_F(SetUpScriptsTest, RocksdbIsBuiltInAFolderWithASpace) {
  const std::string cache = directory_ / "my cache";
  const std::string environment = "CC= CXX= TESTBED_CACHE_DIR='" + cache + "'";
  const std::string work = LeaveBuildOfRocksdb(environment);
  EXPECT_THAT(work, testing::StartsWith(cache + "/.rocksdb-9.9.3-"));
  Script("bin/cmake", "printf '%s\\n' \"$@\" >>\"$CALLS\"\nexit 1\n");
  EXPECT_EQ(Tool("setup/build_rocksdb.sh 9.9.3", environment), 1);
  EXPECT_THAT(calls_,
              HasSubstr("\"-ffile-prefix-map=" + work + "/source/rocksdb=rocksdb-9.9.3\"\n"));
}

// The user could not have gone on with it, nor removed it.
TEST_F(SetUpScriptsTest, ABuildInAUsersFolderThatRootDidNotEndIsTheUsers) {
  const struct passwd* const user = ::getpwnam("nobody");
  if (geteuid() != 0 || user == nullptr) GTEST_SKIP() << "this needs root, and a user nobody";
  const std::string home = directory_ / "home";
  fs::create_directories(directory_ / "home/.cache/testbed");
  Script("bin/getent", "[[ $2 == nobody ]] && echo \"nobody:x:1:1::" + home + ":/bin/sh\"\n");
  const std::string environment =
      "CC= CXX= TESTBED_CACHE_DIR= XDG_CACHE_HOME= HOME=/none SUDO_USER=nobody";
  const fs::path work = LeaveBuildOfRocksdb(environment);
  EXPECT_THAT(work.string(), testing::StartsWith(home + "/.cache/testbed/.rocksdb-9.9.3-"));
  Script("bin/cmake", "exit 1\n");
  EXPECT_EQ(Tool("setup/build_rocksdb.sh 9.9.3", environment), 1);
  for (const fs::path& path : {work, work / "unpacked"}) {
    struct stat about = {};
    ASSERT_EQ(::stat(path.c_str(), &about), 0) << path;
    EXPECT_EQ(about.st_uid, user->pw_uid) << path;
  }
}

// Once, a build by root in a user's folder was killed, and left files that the user cannot remove.
// Each later build of the user ended there, without a sentence.
TEST_F(SetUpScriptsTest, WhatAKilledBuildOfRootsLeftIsPassedOver) {
  for (const char* file : {"setup/library.sh", "setup/build_mdbx.sh"}) {
    fs::copy(fs::path(SourceDir()) / "tools" / file, directory_ / "tools" / file);
  }
  Script("bin/cc", "echo 'cc 1'\n");
  Script("bin/rm", "[[ $* != *of-root* ]] || exit 1\nexec /bin/rm \"$@\"\n");
  Write("cache/.mdbx.tmp.of-root/source", "");
  EXPECT_EQ(Tool("setup/build_mdbx.sh", "CC= TESTBED_MDBX_CRATE=/none TESTBED_CACHE_DIR=" +
                                            (directory_ / "cache").string()),
            1);
  EXPECT_THAT(said_, HasSubstr("cannot read TESTBED_MDBX_CRATE=/none"));
}

TEST_F(SetUpScriptsTest, LmdbIsBuiltFromItsCrate) {
  for (const char* file : {"setup/library.sh", "setup/build_lmdb.sh"}) {
    fs::copy(fs::path(SourceDir()) / "tools" / file, directory_ / "tools" / file);
  }
  for (const char* name : {"mdb.c", "midl.c", "lmdb.h", "LICENSE", "COPYRIGHT"}) {
    Write(std::string("crate/lmdb-1/lmdb/libraries/liblmdb/") + name, name);
  }
  Script("bin/cc",
         "[[ $1 != --version ]] || { echo 'cc 1'; exit; }\n"
         "echo \"cc $*\" >>\"$CALLS\"\n: >\"${@: -1}\"\n");
  Script("bin/ar", "echo \"ar $*\" >>\"$CALLS\"\n: >\"$2\"\n");
  Script(
      "tools/pack.sh",
      "tar -czf lmdb.crate -C crate lmdb-1\n"
      "echo lmdb 0.9.70 2015-12 crate lmdb-sys 1 $(sha256sum <lmdb.crate | cut -c1-64) >table\n");
  ASSERT_EQ(Tool("pack.sh"), 0) << said_;
  const std::string build = "setup/build_lmdb.sh 0.9.70";
  const std::string environment =
      "CC= TESTBED_LMDB_CRATE=lmdb.crate TESTBED_ENGINE_RELEASES=table "
      "TESTBED_CACHE_DIR=" +
      (directory_ / "cache").string();
  ASSERT_EQ(Tool(build, environment), 0) << said_;
  EXPECT_THAT(calls_, HasSubstr("liblmdb/mdb.c -o "));
  EXPECT_THAT(calls_, HasSubstr("liblmdb/midl.c -o "));
  said_.pop_back();  // the newline
  const fs::path prefix = said_.substr(said_.rfind('\n') + 1);
  for (const char* file : {"lib/liblmdb.a", "include/lmdb.h", "share/licenses/lmdb/LICENSE",
                           "share/licenses/lmdb/COPYRIGHT"}) {
    EXPECT_TRUE(fs::exists(prefix / file)) << prefix / file;
  }
  EXPECT_THAT(Read(prefix / "share/testbed/recipe"), HasSubstr("cc 1, -O2 "));
  EXPECT_EQ(Tool(build, environment), 0) << said_;
  EXPECT_EQ(calls_, "") << "it is there";
  EXPECT_EQ(said_, prefix.string() + "\n");
  EXPECT_EQ(Tool("setup/build_lmdb.sh 0.9", environment), 1);
  EXPECT_THAT(said_, HasSubstr("takes a release of LMDB: 0.9.70."));
  Write("table", "lmdb 0.9.70 2015-12 crate lmdb-sys 1 " + std::string(64, '0') + "\n");
  EXPECT_EQ(Tool(build, environment), 1);
  EXPECT_THAT(said_, HasSubstr("has a wrong SHA-256"));
}

TEST_F(SetUpScriptsTest, AnInstallationOfOnesOwnIsLinked) {
  fs::copy(fs::path(SourceDir()) / "tools/build_engine.sh", directory_ / "tools/build_engine.sh",
           fs::copy_options::overwrite_existing);
  const std::string prefix = directory_ / "opt/rocksdb";
  EXPECT_EQ(Tool("build_engine.sh rocksdb " + prefix), 2);
  EXPECT_THAT(said_, HasSubstr("there is no lib/librocksdb.a in " + prefix));
  Write("opt/rocksdb/lib/librocksdb.a", "");
  EXPECT_EQ(Tool("build_engine.sh rocksdb " + prefix), 2);
  EXPECT_THAT(said_, HasSubstr("there are no headers of rocksdb in " + prefix + "/include"));
  Write("opt/rocksdb/include/rocksdb/db.h", "");
  EXPECT_EQ(Tool("build_engine.sh rocksdb " + prefix + "/"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("ready: testbed --engine rocksdb@" + prefix + " (built elsewhere)"));
  std::string description;
  for (const auto& entry : fs::directory_iterator(directory_ / "build/release/releases")) {
    if (entry.path().extension() == ".cmake") description = Read(entry.path());
  }
  EXPECT_THAT(description, HasSubstr("testbed_release(rocksdb \"" + prefix + "\" FOLDER rocksdb-"));
  EXPECT_THAT(description, HasSubstr(" PREFIX \"" + prefix + "\""));
}

// Returns whether one of the patterns, with ':' between them, is that of the suite.
bool AnyMatches(const std::string& patterns, const std::string& suite) {
  std::istringstream list(patterns);
  for (std::string pattern; std::getline(list, pattern, ':');) {
    if (::fnmatch(pattern.c_str(), suite.c_str(), 0) == 0) return true;
  }
  return false;
}

// A test that takes the distance between the places of its faults is run at each place nightly.
TEST(FaultSweepTest, HasEachTestThatSweeps) {
  std::ifstream script(SourceDir() + "/tools/crashtest/fault_sweep.sh");
  const std::string begin = "faults='";
  std::string line;
  while (std::getline(script, line) && !line.starts_with(begin)) continue;
  const std::string patterns = line.substr(begin.size(), line.rfind('\'') - begin.size());
  int tests = 0;
  for (const auto& entry : fs::recursive_directory_iterator(SourceDir() + "/tests/unit")) {
    if (entry.path().extension() != ".cc") continue;
    std::ifstream source(entry.path());
    const std::string text{std::istreambuf_iterator<char>(source), {}};
    if (text.find("getenv(\"TESTBED_FAULT_STRIDE\")") == std::string::npos) continue;
    for (size_t at = text.find("\nTEST_"); at != std::string::npos;
         at = text.find("\nTEST_", at + 1)) {
      const size_t name = text.find('(', at) + 1;
      const std::string suite = text.substr(name, text.find(',', name) - name);
      EXPECT_TRUE(AnyMatches(patterns, suite)) << suite << " of " << entry.path();
      ++tests;
    }
  }
  EXPECT_GE(tests, 10);
}

}  // namespace
}  // namespace testbed
