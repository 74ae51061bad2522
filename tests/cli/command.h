// A fixture that runs the real program as a user would, in an empty directory of its own.
#ifndef TESTBED_TESTS_CLI_COMMAND_H_
#define TESTBED_TESTS_CLI_COMMAND_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/every_way.h"
#include "tests/paths.h"

namespace testbed {

struct CommandResult {
  int code = -1;
  std::string out, err;
};

class CommandTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "cli_test_XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override {
    ::unsetenv(kTemplates);
    std::filesystem::remove_all(directory_);
  }

  // Lets each server of PostgreSQL that the test starts begin with a copy of a cluster that is made
  // once (engines/postgres/server.h). It is for tests to which the making makes no difference.
  static void CopyClusters() {
    const std::string templates = std::filesystem::current_path() / "cli_test_templates";
    ::setenv(kTemplates, templates.c_str(), 1);
  }

  CommandResult Run(const std::string& arguments, const std::string& environment = "") {
    const std::string err = directory_.parent_path() / (directory_.filename().string() + ".err");
    const std::string command = "cd " + directory_.string() + " && " + environment + " " +
                                TestbedBinary() + " " + arguments + " 2>" + err + " </dev/null";
    CommandResult result;
    FILE* pipe = popen(command.c_str(), "r");
    char buffer[4096];
    while (size_t n = fread(buffer, 1, sizeof buffer, pipe)) result.out.append(buffer, n);
    const int status = pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    result.err = Read(err);
    std::filesystem::remove(err);
    return result;
  }

  static std::string Read(const std::filesystem::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  nlohmann::json Json(const std::string& name) {
    return nlohmann::json::parse(Read(directory_ / name));
  }

  // Replaces members of the record of a run's directory, or adds them.
  void ChangeRecord(const std::string& dir, const nlohmann::json& members) {
    nlohmann::json record = Json(dir + "/testbed.json");
    record.update(members);
    std::ofstream(directory_ / dir / "testbed.json") << record.dump(2) << "\n";
  }

  // Locks a directory as a testbed that uses it would. Returns a descriptor, whose close releases
  // the lock; -1 when another process holds it.
  int Hold(const std::string& name) const {
    const int fd = open((directory_ / name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 ? fd : -1;
  }

  bool DirectoryIsEmpty() const { return std::filesystem::is_empty(directory_); }

  std::filesystem::path directory_;

 private:
  static constexpr char kTemplates[] = "TESTBED_SERVER_TEMPLATES";
};

// Expects the exit code of a refusal, and one line on standard error that contains `text`.
inline void ExpectRefused(const CommandResult& result, const std::string& text) {
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
}

// Returns the options that name an engine: "--engine bf-tree --durability none". An engine without
// the usual durability is run with one that it has.
inline std::string EngineWords(const std::string& engine) {
  const std::vector<Durability> has = FindEngine(engine).capabilities.durabilities;
  const bool usual = std::find(has.begin(), has.end(), Durability::kLazy) != has.end();
  return "--engine " + engine +
         (usual ? "" : std::string(" --durability ") + DurabilityName(has.front()));
}

// Returns the engine's name for googletest, which takes letters, digits and _: "bf_tree".
inline std::string EngineTestName(std::string engine) {
  std::replace(engine.begin(), engine.end(), '-', '_');
  return engine;
}

// Returns whether this build has the engine, and the machine has everything that it needs.
inline bool HasEngine(const std::string& name) {
  for (const EngineInfo& info : Engines()) {
    if (info.name != name) continue;
    if (info.capabilities.server) {
      try {
        CheckEngineOptions(info, DefaultEngineOptions(info));
      } catch (const Error&) {
        return false;  // the server that it starts is not installed
      }
    }
    return info.missing == nullptr || info.missing().empty();
  }
  return false;
}

}  // namespace testbed

#endif  // TESTBED_TESTS_CLI_COMMAND_H_
