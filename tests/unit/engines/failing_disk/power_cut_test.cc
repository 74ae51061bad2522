// Tests what failing_disk.h makes of a power cut: of renames of a directory, and of a file from one
// directory to another, of several changes of names, and of a block that was written twice; and
// that ReplaceFile, which writes the records of databases and experiments, survives one.
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "device/error.h"
#include "device/file/file.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

class PowerCutTest : public testing::Test {
 protected:
  using Files = std::map<std::string, std::string>;  // contents by path

  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "power_cut_XXXXXX";
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

TEST_F(PowerCutTest, ADirectoryThatIsRenamedKeepsItsFiles) {
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

TEST_F(PowerCutTest, AFileThatIsRenamedToAnotherDirectoryIsInOneOfThem) {
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

// The file system may have committed its journal after each change of names.
TEST_F(PowerCutTest, TheFirstOfTwoChangesOfNamesMayBeThereAlone) {
  const auto move = [&](const char* from, const char* to) {
    ASSERT_EQ(::rename(Disk(from).c_str(), Disk(to).c_str()), 0);
  };
  std::set<std::string> unsynced, synced;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    for (const bool syncs : {false, true}) {
      const Files found = AfterCut(seed, [&] {
        move("/sub/file", "/sub/first");
        if (syncs) SyncDirectory(Disk("/sub"));
        move("/sub/first", "/sub/second");
      });
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found.begin()->second, "its bytes");
      (syncs ? synced : unsynced).insert(found.begin()->first);
    }
  }
  EXPECT_EQ(unsynced, (std::set<std::string>{"/sub/file", "/sub/first", "/sub/second"}));
  EXPECT_EQ(synced, (std::set<std::string>{"/sub/first", "/sub/second"}));
}

// A file that was made later cannot be there without the one that was made before it, in whichever
// directories they are.
TEST_F(PowerCutTest, NoChangeOfNamesIsThereWithoutThoseBeforeIt) {
  const auto make = [&](const std::string& path) {
    File::Open(path, {.create = FileOptions::kMustCreate})->Sync();
  };
  std::set<int> made;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Files found = AfterCut(seed, [&] {
      make(Disk("/sub/first"));
      make(Disk("/second"));
      make(Disk("/sub/third"));
    });
    const bool first = found.contains("/sub/first"), second = found.contains("/second");
    const bool third = found.contains("/sub/third");
    EXPECT_TRUE((first || !second) && (second || !third)) << seed;
    made.insert(int{first} + int{second} + int{third});
  }
  EXPECT_EQ(made, (std::set<int>{0, 1, 2, 3}));
}

TEST_F(PowerCutTest, ACreationCanFailAndThePowerCanBeCutAtIt) {
  const auto make = [&](const char* name) {
    try {
      File::Open(Disk(name), {.create = FileOptions::kMayExist});
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  AfterCut(1, [&] { EXPECT_TRUE(make("/new")); });
  std::filesystem::remove(Disk("/new"));
  FailingDisk disk(Disk());
  disk.Fail({DiskCall::kCreate, 1, ENOSPC});
  EXPECT_TRUE(make("/sub/file")) << "which is there";
  EXPECT_TRUE(make("/first"));
  EXPECT_FALSE(make("/second"));
  EXPECT_EQ(disk.failed(), 1u);
  EXPECT_FALSE(std::filesystem::exists(Disk("/second")));
  disk.CutAfter(0, 1);
  EXPECT_FALSE(make("/third"));
  EXPECT_TRUE(disk.is_cut());
  EXPECT_FALSE(std::filesystem::exists(Disk("/third")));
}

TEST_F(PowerCutTest, AFileThatWasReplacedIsTheNewOne) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto replace = [&] { ReplaceFile(Disk("/sub/file"), "other bytes"); };
    EXPECT_EQ(AfterCut(seed, replace), (Files{{"/sub/file", "other bytes"}})) << seed;
  }
}

// The kernel writes dirty blocks back whenever it likes.
TEST_F(PowerCutTest, ABlockThatIsWrittenTwiceMayHaveWhatWasWrittenFirst) {
  constexpr size_t kBlock = 4096;
  std::set<char> unsynced, synced;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const bool syncs : {false, true}) {
      const Files files = AfterCut(seed, [&] {
        const auto file = File::Open(Disk("/sub/file"), FileOptions{});
        for (const char version : {'a', 'b', 'c'}) {
          const std::string block(kBlock, version);
          file->Write(0, block.data(), block.size());
          if (version == 'a' || syncs) file->Sync();
        }
      });
      ASSERT_EQ(files.count("/sub/file"), 1u);
      const std::string& bytes = files.at("/sub/file");
      (syncs ? synced : unsynced).insert(bytes.begin(), bytes.end());
    }
  }
  EXPECT_EQ(unsynced, (std::set<char>{'a', 'b', 'c'}));
  EXPECT_EQ(synced, (std::set<char>{'c'}));
}

}  // namespace
}  // namespace testbed
