// Tests that the patches of tools/crashtest/planted_bugs.sh (tests/crash/planted/*.patch) still
// apply. A change of an engine that moves the lines of a patch must change the patch as well;
// otherwise the bug would not be tried any more.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/paths.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

std::string Contents(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Patch {
  std::string crashtest;  // its options
  std::string file;
  std::vector<std::string> hunks;  // what each must find in the file
  bool changes = false;
};

Patch Read(const fs::path& path) {
  Patch patch;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("crashtest: ")) {
      patch.crashtest = line.substr(11);
    } else if (line.starts_with("+++ b/")) {
      patch.file = line.substr(6);
    } else if (line.starts_with("@@")) {
      patch.hunks.emplace_back();
    } else if (!patch.hunks.empty()) {
      const bool added = line.starts_with("+"), removed = line.starts_with("-");
      patch.changes = patch.changes || added || removed;
      if (!added) patch.hunks.back() += line.substr(std::min<size_t>(1, line.size())) + "\n";
    }
  }
  return patch;
}

TEST(PlantedBugsTest, EachCanBePlanted) {
  const fs::path source = SourceDir();
  size_t patches = 0;
  for (const auto& entry : fs::directory_iterator(source / "tests/crash/planted")) {
    SCOPED_TRACE(entry.path().filename().string());
    ++patches;
    const Patch patch = Read(entry.path());
    EXPECT_TRUE(patch.crashtest.starts_with("--engine ")) << patch.crashtest;
    EXPECT_TRUE(patch.changes);
    ASSERT_FALSE(patch.hunks.empty());
    const std::string file = Contents(source / patch.file);
    for (const std::string& hunk : patch.hunks) {
      EXPECT_EQ(hunk.find("//"), std::string::npos)
          << "these lines have a comment, whose next wording would break the patch:\n"
          << hunk;
      const size_t at = file.find(hunk);
      EXPECT_NE(at, std::string::npos) << patch.file << " has no such lines any more:\n" << hunk;
      EXPECT_EQ(file.find(hunk, at + 1), std::string::npos) << "these lines are there twice:\n"
                                                            << hunk;
    }
  }
  EXPECT_GE(patches, 20u);
}

// Each bug must be in the table of docs/crash-testing.md: one that is not was never tried.
TEST(PlantedBugsTest, EachIsInTheTable) {
  const fs::path source = SourceDir();
  const std::string table = Contents(source / "docs/crash-testing.md");
  for (const auto& entry : fs::directory_iterator(source / "tests/crash/planted")) {
    const std::string name = entry.path().stem();
    EXPECT_NE(table.find("| `" + name + "` |"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace testbed
