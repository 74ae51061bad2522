// Tests that --fresh leaves files that testbed did not make in the directories of engines whose
// files follow from tables and servers, and that it removes all that a load or a killed run left.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/cli/started_command.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// A user's files, relative to db/, by engine.
const std::map<std::string, std::vector<std::string>> kForeign = {
    {"lmdb", {"data.mdb.bak"}},
    {"mdbx", {"mdbx.dat.bak"}},
    {"sqlite", {"data.sqlite.bak"}},
    {"rocksdb", {"notes.log", "a.sst", "archive/notes"}},
    {"wiredtiger", {"my-backup.wt", "default.wt.bak", "copies/default.wt"}},
    {"innodb", {"notes.ibd", "testbed/notes.txt", "mine/default.ibd"}},
    {"postgres",
     {"cluster/notes.txt", "cluster/base.tar", "cluster/mine.conf", "cluster/base/notes",
      "cluster/base/5/notes.sql", "cluster/base/mine/1", "cluster/global/notes",
      "cluster/pg_wal/old.tar", "cluster/pg_wal/00000001", "cluster/pg_wal/archive_status/notes",
      "cluster/pg_xact/notes", "cluster/pg_stat/notes.stat", "cluster/pg_logical/mappings/notes",
      "cluster/pg_replslot/mine/state", "cluster/pg_tblspc/notes"}},
    {"mysql",
     {"cluster/notes.ibd", "cluster/tmp/notes", "cluster/tmp/1sql", "cluster/mine/default.ibd",
      "cluster/testbed/notes.txt"}},
};

class ForeignServerFilesTest : public StartedCommandTest,
                               public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (!HasEngine(GetParam())) GTEST_SKIP() << "there is no " << GetParam() << " here";
  }
  std::string Command() const {
    return "--engine " + GetParam() +
           " --ram 256M --rows 500 --workload insert --account file --quiet --dir d ";
  }
  // The servers' clusters must be empty: a load into one that has a user's file is refused.
  bool NeedsEmpty() const { return GetParam() == "postgres" || GetParam() == "mysql"; }
};
// FilesTest has the patterns of each engine's files.
INSTANTIATE_TEST_SUITE_P(Engines, ForeignServerFilesTest,
                         testing::Values("rocksdb", "innodb", "postgres", "mysql"),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(EveryWay, ForeignServerFilesTest,
                         testing::Values("lmdb", "mdbx", "sqlite", "wiredtiger"),
                         [](const auto& info) { return info.param; });

TEST_P(ForeignServerFilesTest, FreshRemovesItsOwnAndNoOthers) {
  CopyClusters();
  ASSERT_EQ(Run(Command()).code, 0);
  const CommandResult own = Run(Command() + "--fresh");
  EXPECT_EQ(own.code, 0) << own.err;
  EXPECT_EQ(own.err.find("stays"), std::string::npos) << own.err;
  const std::vector<std::string>& names = kForeign.at(GetParam());
  for (const std::string& name : names) {
    fs::create_directories((directory_ / "d/db" / name).parent_path());
    std::ofstream(directory_ / "d/db" / name) << "theirs";
  }
  const CommandResult fresh = Run(Command() + "--fresh");
  EXPECT_EQ(fresh.code, NeedsEmpty() ? 2 : 0) << fresh.err;
  EXPECT_NE(fresh.err.find("is not testbed's and stays"), std::string::npos) << fresh.err;
  for (const std::string& name : names) {
    EXPECT_EQ(Read(directory_ / "d/db" / name), "theirs") << name;
  }
  if (!NeedsEmpty()) return;
  // No other file is left, and once the user's files are gone a load succeeds.
  for (const auto& entry : fs::recursive_directory_iterator(directory_ / "d/db")) {
    const std::string path = entry.path().lexically_relative(directory_ / "d/db");
    if (entry.is_directory()) continue;
    EXPECT_NE(std::find(names.begin(), names.end(), path), names.end()) << path << " is left";
  }
  fs::remove_all(directory_ / "d/db/cluster");
  const CommandResult again = Run(Command() + "--fresh");
  EXPECT_EQ(again.code, 0) << again.err;
}

TEST_P(ForeignServerFilesTest, FreshRemovesWhatAKillLeft) {
  const std::string load = "--engine " + GetParam() +
                           " --ram 256M --rows 5000000 --workload insert --account file --quiet "
                           "--dir d ";
  const pid_t process = Start(load);
  EXPECT_TRUE(Becomes([&] { return fs::exists(directory_ / "d/db"); }));
  LetItWork();
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  EXPECT_TRUE(Becomes([&] {
    const int held = Hold("d");
    if (held >= 0) ::close(held);
    return held >= 0;
  }));
  const CommandResult fresh = Run(Command() + "--fresh");
  EXPECT_EQ(fresh.code, 0) << fresh.err;
  EXPECT_EQ(fresh.err.find("stays"), std::string::npos) << fresh.err;
}

// The record names the files of tables, so a missing one must be noticed before the engine is
// opened.
TEST_P(ForeignServerFilesTest, ReuseAsksForTheFilesThatTheRecordNames) {
  CopyClusters();
  ASSERT_EQ(Run(Command()).code, 0);
  const nlohmann::json files = Json("d/testbed.json").value("table_files", nlohmann::json::array());
  if (files.empty()) GTEST_SKIP() << GetParam() << " has no file by the name of a table";
  fs::remove(directory_ / "d/db" / files.back().get<std::string>());
  const CommandResult reuse =
      Run("--ram 256M --dir d --reuse --workload point-read --operations 10 --quiet");
  EXPECT_EQ(reuse.code, 1) << reuse.err;
  EXPECT_NE(reuse.err.find(files.back().get<std::string>() + " is missing"), std::string::npos)
      << reuse.err;
}

}  // namespace
}  // namespace testbed
