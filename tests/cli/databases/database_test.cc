// Tests what the command does with databases that are there, damaged, in use, or for which there is
// no room.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

class DatabaseTest : public CommandTest {
 protected:
  static constexpr char kSmall[] =
      " --ram 64M --rows 2000 --seconds 0.2 --warmup 0 --threads 2 --quiet ";
  void Load(const std::string& dir) {
    const CommandResult result = Run("--engine btree --workload insert --dir " + dir + kSmall);
    ASSERT_EQ(result.code, 0) << result.err;
  }
};

TEST_F(DatabaseTest, IsNeitherOverwrittenNorReusedUnasked) {
  Load("d");
  ExpectRefused(Run(std::string("--engine btree --dir d") + kSmall), "--reuse");
  const CommandResult reuse = Run(
      std::string("--engine btree --reuse --workload point-read --verify all --dir d") + kSmall);
  EXPECT_EQ(reuse.code, 0) << reuse.err;
}

TEST_F(DatabaseTest, IsLeftAloneWhileAnotherRunUsesIt) {
  Load("d");
  const int held = Hold("d");
  ASSERT_GE(held, 0);
  for (const char* how : {" --fresh", " --reuse --workload point-read"}) {
    ExpectRefused(Run(std::string("--engine btree --dir d") + kSmall + how), "another testbed");
  }
  close(held);
  const CommandResult after =
      Run(std::string("--engine btree --reuse --workload point-read --dir d") + kSmall);
  EXPECT_EQ(after.code, 0) << after.err;
}

TEST_F(DatabaseTest, IsNotLostToAnEngineOptionThatIsRefused) {
  Load("d");
  const std::string refused = std::string("--engine rocksdb --engine-option bloom_bits=many") +
                              kSmall + " --workload insert";
  ExpectRefused(Run(refused + " --fresh --dir d"), "bloom_bits=many");
  EXPECT_TRUE(std::filesystem::exists(directory_ / "d/db/btree.data"));
  ExpectRefused(Run(refused + " --dir new"), "bloom_bits=many");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "new"));
}

TEST_F(DatabaseTest, OfAnotherEnginePageSizeOrContentIsRefused) {
  Load("d");
  const std::string reuse = std::string("--reuse --workload point-read --dir d") + kSmall;
  ExpectRefused(Run("--engine rocksdb " + reuse), "engine");
  ExpectRefused(Run("--engine btree --page-size 4k " + reuse), "page-size");
  ExpectRefused(Run("--engine btree --value-size 99 " + reuse), "value-size");
  ExpectRefused(Run("--engine btree --seed 9 " + reuse), "seed");
}

TEST_F(DatabaseTest, ACorruptedPageIsOneSentenceAndAFailedRun) {
  Load("d");
  uint64_t flipped = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ / "d/db")) {
    if (!entry.is_regular_file() || entry.path().filename().string().starts_with("log")) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (uint64_t at = 8192 * 4 + 5000; at < entry.file_size(); at += 8192, ++flipped) {
      file.seekg(static_cast<std::streamoff>(at));
      const int c = file.get();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(c ^ 0x10));
    }
  }
  ASSERT_GT(flipped, 10u);
  const CommandResult result =
      Run(std::string("--engine btree --reuse --workload point-read --dir d") + kSmall);
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_NE(result.err.find("checksum"), std::string::npos) << result.err;
}

TEST_F(DatabaseTest, AFullDiskIsOneSentence) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a small file system needs root";
  std::filesystem::create_directory(directory_ / "small");
  struct Case {
    std::string size, arguments, told = "full";
  };
  std::vector<Case> cases = {{"24M", "--engine btree --ram 64M --rows 50000"}};
  if (HasEngine("mysql")) {
    cases.push_back({"100M", "--engine mysql --engine-option log_file_size=8M --rows 200000"});
  }
  if (HasEngine("postgres")) {  // small segments: rows fill the disk, rather than the log
    cases.push_back({"100M",
                     "--engine postgres --engine-option wal_segment_size=1M "
                     "--engine-option checkpoint_log_bytes=32M --rows 200000",
                     "No space left"});
  }
  CopyClusters();
  for (const Case& c : cases) {
    SCOPED_TRACE(c.arguments);
    // The command runs in a mount namespace of its own, so that nothing stays mounted.
    const std::string command =
        "unshare --mount --propagation private sh -c 'cd " + directory_.string() +
        " && mount -t tmpfs -o size=" + c.size + " none small && exec " + TestbedBinary() +
        " --dir small/d --workload insert --rows-per-transaction 100 --quiet " + c.arguments +
        "' >" + (directory_ / "out").string() + " 2>" + (directory_ / "err").string();
    const int status = std::system(command.c_str());
    const std::string err = Read(directory_ / "err");
    if (WEXITSTATUS(status) == 1 && err.find("unshare") != std::string::npos) {
      GTEST_SKIP() << "no mount namespaces here";
    }
    EXPECT_EQ(WEXITSTATUS(status), 1) << err;
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
    EXPECT_NE(err.find(c.told), std::string::npos) << err;
    EXPECT_EQ(Read(directory_ / "out"), "") << "there is nothing to report";
  }
}

TEST_F(DatabaseTest, AReadOnlyDirectoryIsOneSentence) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a read-only file system needs root";
  std::filesystem::create_directory(directory_ / "ro");
  const std::string command =
      "unshare --mount --propagation private sh -c 'cd " + directory_.string() +
      " && mount -t tmpfs -o ro none ro && exec " + TestbedBinary() +
      " --engine btree --dir ro/d --ram 64M --rows 100 --workload insert --quiet' 2>" +
      (directory_ / "err").string();
  const int status = std::system(command.c_str());
  const std::string err = Read(directory_ / "err");
  EXPECT_EQ(WEXITSTATUS(status), 2) << err;
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  EXPECT_NE(err.find("ro/d"), std::string::npos) << err;
}

}  // namespace
}  // namespace testbed
