// Makes each release that can be built look installed while an object lives, so that a plan that
// names releases can be tested on a machine that has built none. The programs cannot run anything.
#ifndef TESTBED_TESTS_UNIT_TOOLS_RELEASE_EVERY_RELEASE_H_
#define TESTBED_TESTS_UNIT_TOOLS_RELEASE_EVERY_RELEASE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/release/release.h"

namespace testbed {

class EveryRelease {
 public:
  EveryRelease() : directory_(testing::TempDir() + "releases_" + std::to_string(::getpid())) {
    std::filesystem::remove_all(directory_);
    for (const KnownRelease& known : KnownReleases()) {
      const auto folder = directory_ / (known.engine + "-" + known.release);
      std::filesystem::create_directories(folder);
      std::filesystem::create_symlink("/bin/true", folder / "testbed");
      std::ofstream(folder / "release.json") << nlohmann::json{
          {"engine", known.engine}, {"release", known.release}, {"from", known.from}};
    }
    ::setenv("TESTBED_RELEASES", directory_.c_str(), 1);
  }
  EveryRelease(const EveryRelease&) = delete;
  EveryRelease& operator=(const EveryRelease&) = delete;
  ~EveryRelease() {
    ::unsetenv("TESTBED_RELEASES");
    std::filesystem::remove_all(directory_);
  }

 private:
  const std::filesystem::path directory_;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_TOOLS_RELEASE_EVERY_RELEASE_H_
