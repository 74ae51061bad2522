// Tests `testbed backup`: what the copy of a run's directory and of an engine's own one is, where
// it may lie, and what errors, a full disk and a kill leave.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/maintenance/maintenance_test.h"
#include "tests/cli/results/explained_columns.h"

namespace testbed {
namespace {

class BackupCommandTest : public MaintenanceTest {};

TEST_F(BackupCommandTest, TheCopyOfARunsDirectoryIsOne) {
  Load("d");
  const CommandResult backup = Run("backup d --to new/copy/");
  EXPECT_EQ(backup.code, 0) << backup.err;
  EXPECT_EQ(backup.err, "");
  EXPECT_TRUE(Contains(backup.out, "d/db: btree, copied to new/copy/db in ")) << backup.out;
  for (const char* word : {"database", "copy", "\n  btree.data ", "\n  sum "}) {
    EXPECT_TRUE(Contains(backup.out, word)) << backup.out;
  }
  EXPECT_EQ(Read(directory_ / "new/copy/testbed.json"), Read(directory_ / "d/testbed.json"));
  EXPECT_EQ(Rows("new/copy"), 3001u);
  EXPECT_EQ(Rows("d"), 3001u);
  EXPECT_EQ(Run("tree new/copy").code, 0);
  ExpectReusable("new/copy");
  // The other ways to name the database.
  std::filesystem::create_directory(directory_ / "empty");
  EXPECT_EQ(Run("backup --engine btree --dir d --to empty").code, 0);
  EXPECT_EQ(Rows("empty"), 3001u);
  EXPECT_EQ(Run("backup d/db/ --to third --io mmap").code, 0);
  EXPECT_EQ(Read(directory_ / "third/testbed.json"), Read(directory_ / "d/testbed.json"));
  ExpectReusable("third");
}

TEST_F(BackupCommandTest, TheCopyOfAnEnginesDirectoryIsOne) {
  Load("d", "--page-size 16k --compression lz4");
  TakeOut("d", "own");
  const CommandResult backup = Run("backup own --to copy");
  EXPECT_EQ(backup.code, 0) << backup.err;
  EXPECT_TRUE(Contains(backup.out, "own: btree, copied to copy in ")) << backup.out;
  EXPECT_TRUE(Has("copy/btree.data"));
  EXPECT_FALSE(Has("copy/testbed.json"));
  EXPECT_EQ(Rows("copy"), 3001u);
}

TEST_F(BackupCommandTest, TheDocumentHasSizesTimeAndIo) {
  LoadThree("d");
  const CommandResult backup = Run("backup d --to copy --json backup.json --quiet");
  EXPECT_EQ(backup.code, 0) << backup.err;
  EXPECT_TRUE(Contains(backup.out, "copied to copy/db/1 in ")) << backup.out;
  const nlohmann::json document = Json("backup.json");
  EXPECT_EQ(document["schema"], "testbed-backup/1");
  EXPECT_TRUE(document["testbed"].is_string());
  ASSERT_EQ(document["databases"].size(), 3u);
  const nlohmann::json& one = document["databases"][1];
  EXPECT_EQ(one["path"], "d/db/1");
  EXPECT_EQ(one["copy"], "copy/db/1");
  ExpectFigures(one);
  EXPECT_GT(FileBytes(one, "btree.data", "bytes_after"), 0u);
  EXPECT_EQ(Rows("copy"), Rows("d"));
}

TEST_F(BackupCommandTest, EachColumnIsExplained) {
  Load("d");
  const auto title_of = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  const std::string backup = Run("backup d --to copy").out, compact = Run("compact d").out;
  EXPECT_EQ(PrintedColumns(backup, title_of(backup)),
            ExplainedColumns("DATABASE: ENGINE, copied to COPY in SECONDS s; bytes on disk"));
  EXPECT_EQ(PrintedColumns(compact, title_of(compact)),
            ExplainedColumns("DATABASE: ENGINE, compacted in SECONDS s; bytes on disk"));
}

TEST_F(BackupCommandTest, TheDocumentIsPrintedAndLiesOutsideOfTheDatabase) {
  Load("d");
  const CommandResult printed = Run("backup d --to copy --json -");
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(nlohmann::json::parse(printed.out)["databases"][0]["copy"], "copy/db");
  ExpectRefused(Run("backup d --to c --json d/db/backup.json"), "--json d/db/backup.json cannot");
  ExpectRefused(Run("backup d --to c --json nosuch/backup.json"), "nosuch is not a directory");
  ExpectRefused(Run("backup d --to c --json ''"), "--json '' is not accepted");
  EXPECT_FALSE(Has("c"));
  EXPECT_FALSE(Has("d/db/backup.json"));
}

TEST_F(BackupCommandTest, HasAllDatabasesOfARunOrTheOneThatIsNamed) {
  LoadThree("d");
  const uint64_t rows = Rows("d");
  const CommandResult backup = Run("backup d --to copy");
  EXPECT_EQ(backup.code, 0) << backup.err;
  for (const char* path : {"copied to copy/db/0 in", "copied to copy/db/1 in", "copy/db/2 in"}) {
    EXPECT_TRUE(Contains(backup.out, path)) << backup.out;
  }
  EXPECT_EQ(Rows("copy"), rows);
  EXPECT_EQ(Read(directory_ / "copy/testbed.json"), Read(directory_ / "d/testbed.json"));
  EXPECT_EQ(Run("backup d/db/1 --to one").code, 0);
  EXPECT_TRUE(Has("one/btree.data"));
  EXPECT_FALSE(Has("one/testbed.json"));
  EXPECT_EQ(Rows("one"), Rows("d/db/1"));
  // The second of three cannot be copied, and the first one's copy goes with it.
  std::filesystem::resize_file(directory_ / "d/db/1/btree.data", 3 * 8192);
  EXPECT_EQ(Run("backup d --to below/none").code, 1);
  EXPECT_FALSE(Has("below"));
}

TEST_F(BackupCommandTest, WithoutOneOfTheDatabasesOrTheEndOfTheLoadIsRefused) {
  LoadThree("d");
  for (const std::string missing : {"d/db/0", "d/db/1", "d/db/2"}) {
    std::filesystem::rename(directory_ / missing, directory_ / "aside");
    for (const char* command : {"backup d --to c", "backup d/db --to c", "compact d"}) {
      SCOPED_TRACE(command);
      ExpectRefused(Run(command), missing + " is missing: ");
    }
    std::filesystem::rename(directory_ / "aside", directory_ / missing);
  }
  ChangeRecord("d", {{"loaded", false}});
  for (const char* command : {"backup d --to c", "backup d/db/1 --to c", "compact d/db/"}) {
    SCOPED_TRACE(command);
    ExpectRefused(Run(command), "a load or a backup of btree was begun there, and not finished");
  }
  EXPECT_FALSE(Has("c"));
  ChangeRecord("d", {{"loaded", true}});
  std::filesystem::remove_all(directory_ / "d/db/1");
  EXPECT_EQ(Run("backup d/db/2 --to c").code, 0);
  EXPECT_TRUE(Has("c/btree.data"));
}

// One of the databases lies on another disk.
TEST_F(BackupCommandTest, ALinkToTheDatabasesOfARunStandsForThem) {
  LoadThree("d");
  std::filesystem::rename(directory_ / "d/db/1", directory_ / "disk");
  std::filesystem::create_directory_symlink("../../disk", directory_ / "d/db/1");
  std::filesystem::create_directory_symlink("d/db", directory_ / "link");
  std::filesystem::create_directory_symlink("d/db/2", directory_ / "one");
  for (const std::string from : {"link", "d"}) {
    const CommandResult backup = Run("backup " + from + " --to copy-of-" + from);
    EXPECT_EQ(backup.code, 0) << backup.err;
    const std::string copy = "copy-of-" + from;
    EXPECT_EQ(Read(directory_ / copy / "testbed.json"), Read(directory_ / "d/testbed.json"));
    EXPECT_TRUE(Has(copy + "/db/1/btree.data"));
    EXPECT_EQ(Rows(copy), Rows("d"));
  }
  EXPECT_EQ(Run("backup one --to two").code, 0);
  EXPECT_TRUE(Has("two/btree.data"));
  ExpectRefused(Run("backup link --to d/copy"), "or lies in it; give one elsewhere");
  ChangeRecord("d", {{"loaded", false}});
  for (const char* command : {"backup link --to c", "backup one --to c", "compact link"}) {
    ExpectRefused(Run(command), "a load or a backup of btree was begun there, and not finished");
  }
  EXPECT_FALSE(Has("c"));
}

// The settings of the run that loaded it are in its record.
TEST_F(BackupCommandTest, TheDatabaseIsOpenedWithTheSettingsOfItsRun) {
  Load("d", "--engine-option torn_page=full_page_image");
  EXPECT_EQ(Run("backup d --to copy").code, 0);
  EXPECT_EQ(std::filesystem::file_size(directory_ / "copy/db/btree.doublewrite"), 0u);
  EXPECT_EQ(Run("backup d --to other --engine-option torn_page=doublewrite").code, 0);
  EXPECT_GT(std::filesystem::file_size(directory_ / "other/db/btree.doublewrite"), 0u);
}

TEST_F(BackupCommandTest, WhatItDoesNotTakeIsOneSentenceAndMakesNothing) {
  Load("d");
  ASSERT_EQ(Run(std::string("--engine log --workload insert --rows 100 --dir l") + kSmall).code, 0);
  std::ofstream(directory_ / "letter") << "dear";
  std::filesystem::create_directory(directory_ / "full");
  std::ofstream(directory_ / "full/notes") << "theirs";
  ExpectRefused(Run("backup d"), "testbed backup needs --to (");
  ExpectRefused(Run("backup d --to ''"), "--to '' is not accepted");
  ExpectRefused(Run("backup --to c"), "testbed backup needs DIR (");
  ExpectRefused(Run("backup d --dir d --to c"), "takes DIR or --dir, and got both");
  ExpectRefused(Run("backup nosuch --to c"), "directory nosuch does not exist");
  ExpectRefused(Run("backup full --to c"), "directory full holds no database of ");
  ExpectRefused(Run("backup l --to c"),
                "holds a database of log, which testbed backup does not know; it knows those of "
                "btree");
  ExpectRefused(Run("backup d --engine log --to c"),
                "--engine log: testbed backup does not know its databases; it knows those of "
                "btree");
  ExpectRefused(Run("backup d --engine btre --to c"), "did you mean btree");
  ExpectRefused(Run("backup d --io never --to c"), "--io never is not accepted");
  ExpectRefused(Run("backup d --engine-option nosuch=1 --to c"), "has no --engine-option nosuch");
  for (const char* to : {"d", "d/", "d/copy", "d/db/copy", "./full/../d/copy"}) {
    ExpectRefused(Run(std::string("backup d --to ") + to), "or lies in it; give one elsewhere");
    ExpectRefused(Run(std::string("backup d/db --to ") + to), "or lies in it; give one elsewhere");
  }
  ExpectRefused(Run("backup d --to letter"), "--to letter is no directory; give a new or an empty");
  ExpectRefused(Run("backup d --to full"), "--to full is not empty; give a new or an empty");
  ExpectRefused(Run("backup d --to letter/c"), "letter/");
  for (const char* used : {"d", "d/db"}) {
    const int lock = Hold(used);
    ASSERT_GE(lock, 0);
    ExpectRefused(Run("backup d --to c"), "is used by another ");
    ::close(lock);
  }
  EXPECT_FALSE(Has("c"));
  EXPECT_FALSE(Has("d/copy"));
  EXPECT_EQ(Read(directory_ / "full/notes"), "theirs");
  EXPECT_FALSE(Has("full/db"));
  EXPECT_FALSE(Has("full/testbed.json"));
  EXPECT_EQ(Rows("d"), 3001u);
}

TEST_F(BackupCommandTest, AFullDiskIsOneSentenceAndNothingStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting a small file system needs root";
  Load("d");
  const int code = OnSmallDisk(512 << 10, TestbedBinary() +
                                              " backup d --to small/new/c; code=$?; "
                                              "ls -A small >listing; exit $code");
  if (code == -1) GTEST_SKIP() << "no mount namespaces here";
  const std::string err = Read(directory_ / "err");
  EXPECT_EQ(code, 2) << err;
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  EXPECT_TRUE(Contains(err, "the device is full: free space or choose another directory")) << err;
  EXPECT_EQ(Read(directory_ / "listing"), "");
  EXPECT_EQ(Rows("d"), 3001u);
}

TEST_F(BackupCommandTest, WhenItIsKilledTheDatabaseStaysAndTheCopyIsNone) {
  Load("d", "", 20000);
  bool cut = false;
  for (int attempt = 0; attempt < 100 && !cut; ++attempt) {
    std::filesystem::remove_all(directory_ / "c");
    const pid_t process = Start("backup d --to c");
    const bool begun = BecomesWhileItRuns(process, [&] { return Has("c/db"); });
    ::kill(process, SIGKILL);
    ASSERT_EQ(::waitpid(process, nullptr, 0), process);
    cut = begun && !Has("c/db/btree.data");
  }
  ASSERT_TRUE(cut) << "no backup was killed in its course";
  EXPECT_EQ(Rows("d"), 20001u);
  ExpectReusable("d");
  EXPECT_EQ(Json("c/testbed.json")["unfinished_backup"], true);
  for (const char* command : {"check c", "tree c", "check c/db", "compact c", "backup c --to d2"}) {
    SCOPED_TRACE(command);
    ExpectRefused(Run(command), "a load or a backup of btree was begun there, and not finished");
  }
  ExpectRefused(Run(std::string("--workload point-read --reuse --dir c") + kSmall),
                "whose load was not finished");
  ExpectRefused(Run("backup d --to c"), "--to c is not empty (a backup or a load in it was not");
  EXPECT_EQ(Run("backup d --to again").code, 0);
  EXPECT_EQ(Rows("again"), 20001u);
}

}  // namespace
}  // namespace testbed
