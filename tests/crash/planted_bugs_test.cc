// Tests that the patches of tools/crashtest/planted_bugs.sh (tests/crash/planted/*.patch) are all
// there and still apply. A change of an engine that moves the lines of a patch must change the
// patch as well; otherwise the bug would not be tried any more.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
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
    // The script gives the unchanged program fewer rounds in their place.
    EXPECT_NE(patch.crashtest.find(" 200 "), std::string::npos) << patch.crashtest;
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
  EXPECT_GE(patches, 24u);
}

// The bugs are those in the table of docs/crash-testing.md: one that is not there was never tried,
// and one that is there alone is not tried any more.
TEST(PlantedBugsTest, TheyAreThoseInTheTable) {
  const fs::path source = SourceDir();
  std::set<std::string> patches, told;
  for (const auto& entry : fs::directory_iterator(source / "tests/crash/planted")) {
    patches.insert(entry.path().stem());
  }
  std::ifstream in(source / "docs/crash-testing.md");
  bool in_section = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) in_section = line == "## Planted bugs";
    if (in_section && line.starts_with("| `")) told.insert(line.substr(3, line.find('`', 3) - 3));
  }
  EXPECT_EQ(told, patches);
}

}  // namespace
}  // namespace testbed
