// Fixture of tests of a script that fetches something (tools/setup/fetch_NAME.sh), in a small tree
// of its own with a stand-in for the program that downloads.
#ifndef TESTBED_TESTS_CLI_SCRIPTS_FETCH_SCRIPT_H_
#define TESTBED_TESTS_CLI_SCRIPTS_FETCH_SCRIPT_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {

class FetchScriptTest : public CommandTest {
 protected:
  // The script is `name`, such as "fetch_places.sh". `tree` is a shell script that makes what the
  // tests fetch, and the stand-in in bin/; the scripts are in setup/ then.
  FetchScriptTest(std::string name, std::string tree)
      : name_(std::move(name)), tree_(std::move(tree)) {}

  void SetUp() override {
    CommandTest::SetUp();
    const std::filesystem::path setup = std::filesystem::path(SourceDir()) / "tools/setup";
    std::filesystem::create_directories(directory_ / "setup");
    for (const std::string& file : {name_, std::string("library.sh")}) {
      std::filesystem::copy(setup / file, directory_ / "setup" / file);
    }
    ASSERT_EQ(Shell(tree_), 0) << said_;
  }
  // Returns the exit code of a script, and sets said_ to what it printed.
  int Shell(const std::string& script) {
    const std::string said = directory_ / "said", file = directory_ / "script";
    std::ofstream(file) << script << "\n";
    const std::string command =
        "cd " + directory_.string() + " && bash script >" + said + " 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    said_ = Read(said);
    return WEXITSTATUS(status);
  }
  int Fetch(const std::string& words, const std::string& environment = "") {
    return Shell("PATH=" + (directory_ / "bin").string() +
                 ":$PATH TESTBED_CACHE_DIR=" + (directory_ / "cache").string() + " " + environment +
                 " setup/" + name_ + " " + words);
  }

  std::string said_;

 private:
  const std::string name_, tree_;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_CLI_SCRIPTS_FETCH_SCRIPT_H_
