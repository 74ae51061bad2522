// Tests what failing_disk.h makes of renames at a power cut: those of a directory, and those of a
// file from one directory to another.
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "device/file/file.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed {
namespace {

class FailingNamesTest : public testing::Test {
 protected:
  using Files = std::map<std::string, std::string>;  // contents by path

  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "failing_names_XXXXXX";
    base_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(base_); }
  std::string Disk(const std::string& below = "") const { return base_ + "/disk" + below; }

  // Returns the files that the disk has when the power is cut after `change`. Before that it has
  // one file.
  Files AfterCut(uint64_t seed, const std::function<void()>& change) const {
    const std::string cut = base_ + "/cut";
    std::filesystem::remove_all(Disk());
    std::filesystem::create_directories(Disk("/sub"));
    std::ofstream(Disk("/sub/file")) << "its bytes";
    {
      FailingDisk disk(Disk());
      change();
      disk.Cut(seed);
      disk.CopyTo(cut);
    }
    Files files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cut)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path());
      files[entry.path().string().substr(cut.size())] =
          std::string(std::istreambuf_iterator<char>(in), {});
    }
    return files;
  }

  std::string base_;
};

TEST_F(FailingNamesTest, ADirectoryThatIsRenamedKeepsItsFiles) {
  const Files before = {{"/sub/file", "its bytes"}}, after = {{"/other/file", "its bytes"}};
  int renamed = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto move = [&] { ASSERT_EQ(::rename(Disk("/sub").c_str(), Disk("/other").c_str()), 0); };
    const Files found = AfterCut(seed, move);
    renamed += found == after;
    EXPECT_TRUE(found == after || found == before) << found.size() << " files";
    const auto synced = [&] {
      move();
      SyncDirectory(Disk());
    };
    EXPECT_EQ(AfterCut(seed, synced), after);
  }
  EXPECT_GT(renamed, 2);
  EXPECT_LT(renamed, 18);
}

TEST_F(FailingNamesTest, AFileThatIsRenamedToAnotherDirectoryIsInOneOfThem) {
  const Files before = {{"/sub/file", "its bytes"}}, after = {{"/file", "its bytes"}};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto move = [&] {
      ASSERT_EQ(::rename(Disk("/sub/file").c_str(), Disk("/file").c_str()), 0);
    };
    const Files found = AfterCut(seed, move);
    EXPECT_TRUE(found == after || found == before) << found.size() << " files";
    for (const char* directory : {"", "/sub"}) {
      const auto synced = [&] {
        move();
        SyncDirectory(Disk(directory));
      };
      EXPECT_EQ(AfterCut(seed, synced), after);
    }
  }
}

}  // namespace
}  // namespace testbed
