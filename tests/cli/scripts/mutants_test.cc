// Tests what tests/mutants/mutants.py says of tests that would notice every change, or none. The
// tree that it would change, its programs of tests, git and ninja are stand-ins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

using testing::HasSubstr;

class MutantsTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (::system("python3 -c 'import tomllib' >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "no python3 here, or one before 3.11";
    }
    for (const char* program : {"bin/git", "bin/ninja"}) Script(program, "exit 0\n");
    Script("tree/build/release/build.ninja", "");
    Script("tree/device/account/counts.cc", "");
    for (const char* label : {"unit", "engine", "crash"}) {
      Script("tree/build/release/tests/testbed_" + std::string(label) + "_tests", kPasses);
    }
  }
  void Script(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(directory_ / name, std::filesystem::perms::owner_all);
  }
  // Returns what the program says of the tree. It must fail.
  std::string Mutants() {
    const std::string said = directory_ / "said";
    const std::string command = "cd " + directory_.string() +
                                " && PATH=" + (directory_ / "bin").string() + ":$PATH python3 " +
                                SourceDir() +
                                "/tests/mutants/mutants.py --tree tree --results results.json >" +
                                said + " 2>&1 </dev/null";
    EXPECT_EQ(WEXITSTATUS(::system(command.c_str())), 1);
    return Read(said);
  }

  static constexpr char kPasses[] =
      "case \"$*\" in *--gtest_list_tests*) printf 'Suite.\\n  Test\\n' ;; esac\n";
};

TEST_F(MutantsTest, TestsThatPassWithoutAChangeMayNoticeOne) {
  // The stand-in of ninja knows no object file, which is the next that is asked for.
  EXPECT_THAT(Mutants(), HasSubstr("nothing is compiled from device/account/counts.cc alone"));
}

TEST_F(MutantsTest, ATestThatFailsWithoutAChangeNoticesNone) {
  Script("tree/build/release/tests/testbed_engine_tests", "echo '[  FAILED  ] A.B'\nexit 1\n");
  EXPECT_THAT(Mutants(), HasSubstr("room accounting: A.B fails in the unchanged --tree"));
}

TEST_F(MutantsTest, AFilterThatNamesNoTestIsToldSo) {
  Script("tree/build/release/tests/testbed_engine_tests",
         "case \"$*\" in *list_tests*Closure*) printf 'Suite.\\n  Test\\n' ;; esac\n");
  EXPECT_THAT(Mutants(),
              HasSubstr("room accounting: testbed_engine_tests has no test *KernelAccount*"));
}

}  // namespace
}  // namespace testbed
