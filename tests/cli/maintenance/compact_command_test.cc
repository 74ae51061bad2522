// Tests `testbed compact`: what it makes of a run's database and of an engine's own directory, and
// what errors, a full disk and a kill leave.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/cli/maintenance/maintenance_test.h"

namespace testbed {
namespace {

class CompactCommandTest : public MaintenanceTest {};

TEST_F(CompactCommandTest, TheDataFileIsAsLongAsTheRowsNeed) {
  Load("d");
  const uint64_t before = DataBytes("d/db");
  const std::string record = Read(directory_ / "d/testbed.json");
  const CommandResult compact = Run("compact d");
  EXPECT_EQ(compact.code, 0) << compact.err;
  EXPECT_EQ(compact.err, "");
  for (const char* word :
       {"d/db: btree, compacted in ", "before", "after", "\n  btree.data ", "\n  sum "}) {
    EXPECT_TRUE(Contains(compact.out, word)) << compact.out;
  }
  EXPECT_LT(DataBytes("d/db"), before * 9 / 10);
  EXPECT_FALSE(Has("d/db/btree.compact"));
  EXPECT_FALSE(Has("d/db/btree.compacted"));
  EXPECT_EQ(Read(directory_ / "d/testbed.json"), record);
  EXPECT_EQ(Rows("d"), 3001u);
  EXPECT_EQ(Run("tree d").code, 0);
  ExpectReusable("d");
  EXPECT_EQ(Run("compact --engine btree --dir d/db --io mmap").code, 0);
  EXPECT_EQ(Rows("d"), 3001u);
}

TEST_F(CompactCommandTest, TheDocumentHasSizesTimeAndIo) {
  Load("d");
  const uint64_t before = DataBytes("d/db");
  const CommandResult compact = Run("compact d --json d/compact.json --quiet");
  EXPECT_EQ(compact.code, 0) << compact.err;
  EXPECT_TRUE(Contains(compact.out, "d/db: btree, compacted in ")) << compact.out;
  const nlohmann::json document = Json("d/compact.json");
  EXPECT_EQ(document["schema"], "testbed-compact/1");
  ASSERT_EQ(document["databases"].size(), 1u);
  const nlohmann::json& database = document["databases"][0];
  EXPECT_EQ(database["path"], "d/db");
  EXPECT_FALSE(database.contains("copy"));
  ExpectFigures(database);
  EXPECT_LT(FileBytes(database, "btree.data", "bytes_after"), before * 9 / 10);
  EXPECT_GT(FileBytes(database, "btree.data", "bytes_before"), 0u);
  ExpectRefused(Run("compact d --json d/db/compact.json"), "--json d/db/compact.json cannot");
  EXPECT_EQ(Rows("d"), 3001u);
}

TEST_F(CompactCommandTest, SeveralDatabasesOfOneRunAreCompactedOneByOne) {
  LoadThree("d");
  const uint64_t rows = Rows("d");
  const CommandResult compact = Run("compact d");
  EXPECT_EQ(compact.code, 0) << compact.err;
  for (const char* path : {"d/db/0: btree", "d/db/1: btree", "d/db/2: btree"}) {
    EXPECT_TRUE(Contains(compact.out, path)) << compact.out;
  }
  EXPECT_EQ(Rows("d"), rows);
}

// A program that opens its database with a codec could not open one without compressed pages.
TEST_F(CompactCommandTest, CompressedPagesStayCompressed) {
  Load("d", "--page-size 16k --compression lz4");
  TakeOut("d", "own");
  EXPECT_EQ(Run("compact d").code, 0);
  ExpectReusable("d");
  ExpectRefused(Run("compact d --compression zstd"),
                "was loaded with --compression lz4, which its record keeps for --reuse");
  const std::string refusal = "give the --compression that its program has: none, lz4, zstd";
  ExpectRefused(Run("compact own"), refusal);
  EXPECT_EQ(Run("compact own --compression zstd").code, 0);
  ExpectRefused(Run("compact own"), refusal);
  EXPECT_EQ(Run("compact own --compression none").code, 0);
  EXPECT_EQ(Run("compact own").code, 0);
  EXPECT_EQ(Rows("own"), 3001u);
}

TEST_F(CompactCommandTest, WhatItDoesNotTakeIsOneSentence) {
  Load("d");
  ASSERT_EQ(Run(std::string("--engine log --workload insert --rows 100 --dir l") + kSmall).code, 0);
  std::filesystem::create_directory(directory_ / "empty");
  ExpectRefused(Run("compact"), "testbed compact needs DIR (");
  ExpectRefused(Run("compact nosuch"), "directory nosuch does not exist");
  ExpectRefused(Run("compact empty"), "directory empty holds no database of ");
  ExpectRefused(Run("compact l"),
                "holds a database of log, which testbed compact does not know; it knows those of "
                "btree");
  ExpectRefused(Run("compact d --engine log"),
                "--engine log: testbed compact does not know its databases");
  ExpectRefused(Run("compact d --to c"), "--to is not an option of testbed compact");
  ExpectRefused(Run("compact d --engine-option nosuch=1"), "has no --engine-option nosuch");
  for (const char* used : {"d", "d/db"}) {
    const int lock = Hold(used);
    ASSERT_GE(lock, 0);
    ExpectRefused(Run("compact d"), "is used by another ");
    ::close(lock);
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "empty"));
  EXPECT_EQ(Rows("d"), 3001u);
}

TEST_F(CompactCommandTest, AFullDiskIsOneSentenceAndTheDatabaseStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting a small file system needs root";
  Load("d");
  const std::string program = TestbedBinary();
  const int code =
      OnSmallDisk(BytesBelow("d") + (4 << 20),
                  "cp -r --sparse=never d small/d && " + program + " compact small/d; code=$?; " +
                      program + " check small/d >/dev/null && ls small/d/db >listing; exit $code");
  if (code == -1) GTEST_SKIP() << "no mount namespaces here";
  const std::string err = Read(directory_ / "err");
  EXPECT_EQ(code, 2) << err;
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  EXPECT_TRUE(Contains(err, "the device is full")) << err;
  const std::string listing = Read(directory_ / "listing");
  EXPECT_TRUE(Contains(listing, "btree.data\n")) << "it was not sound";
  EXPECT_FALSE(Contains(listing, "btree.compact")) << listing;
}

TEST_F(CompactCommandTest, WhenItIsKilledTheDatabaseIsTheOldOrTheNewOne) {
  Load("d", "", 20000);
  int cut = 0;
  for (int attempt = 0; attempt < 20 && cut < 3; ++attempt) {
    const pid_t process = Start("compact d");
    const auto in_its_course = [&] {
      return Has("d/db/btree.compact") || Has("d/db/btree.compacted");
    };
    if (BecomesWhileItRuns(process, in_its_course)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * (attempt % 4)));
    }
    ::kill(process, SIGKILL);
    ASSERT_EQ(::waitpid(process, nullptr, 0), process);
    if (!in_its_course()) continue;  // it had ended
    ++cut;
    // An opening ends the exchange of files; until then a check refuses the directory.
    if (Has("d/db/btree.compacted")) {
      ExpectRefused(Run("check d"), "was interrupted when it exchanged the files");
      EXPECT_EQ(Run("backup d --to copy" + std::to_string(attempt)).code, 0);
    } else {
      EXPECT_TRUE(Contains(Run("check d").out, "d/db/btree.compact: left by a crash"));
    }
    EXPECT_EQ(Rows("d"), 20001u);
    if (HasFailure()) return;
  }
  EXPECT_GT(cut, 0) << "no compaction was killed in its course";
  EXPECT_EQ(Run("compact d").code, 0);
  EXPECT_EQ(Rows("d"), 20001u);
  ExpectReusable("d");
}

}  // namespace
}  // namespace testbed
