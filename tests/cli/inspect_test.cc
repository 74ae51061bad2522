// Tests `testbed check` and `testbed tree` on databases that runs made: in which directories they
// find them, what they print about a sound and a damaged one, and the one sentence for every other
// input.
#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/cli/command.h"
#include "tests/cli/results/explained_columns.h"

namespace testbed {
namespace {

using nlohmann::json;

class InspectCommandTest : public CommandTest {
 protected:
  static constexpr char kSmall[] = " --ram 64M --rows 3000 --threads 2 --account file --quiet ";
  void Load(const std::string& dir, const std::string& more = "") {
    const CommandResult result =
        Run("--engine btree --workload insert --dir " + dir + kSmall + more);
    ASSERT_EQ(result.code, 0) << result.err;
  }
  // Loads three databases of one run.
  void LoadThree(const std::string& dir) {
    const CommandResult result =
        Run("--engine btree --workload concurrent-inserts --databases 3 --threads 3 --dir " + dir +
            " --ram 64M --rows 3000 --account file --quiet");
    ASSERT_EQ(result.code, 0) << result.err;
  }
  // Damages one page behind the ones that the torn-page protection has a copy of.
  void Damage(const std::string& dir) const {
    std::filesystem::resize_file(directory_ / dir / "btree.doublewrite", 0);
    std::fstream file(directory_ / dir / "btree.data",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(8192 * 4 + 5000);
    const int c = file.get();
    file.seekp(8192 * 4 + 5000);
    file.put(static_cast<char>(c ^ 0x10));
  }
  std::map<std::string, std::string> AllFiles() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      if (entry.is_regular_file()) files[entry.path()] = Read(entry.path());
    }
    return files;
  }
  static bool Contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(InspectCommandTest, ARunsDirectoryAndTheEnginesOwnAreTaken) {
  Load("d");
  const auto before = AllFiles();
  for (const char* dir : {"d", "d/", "d/db", "./d/db/"}) {
    SCOPED_TRACE(dir);
    const CommandResult check = Run(std::string("check ") + dir);
    EXPECT_EQ(check.code, 0) << check.err;
    EXPECT_EQ(check.err, "");
    EXPECT_TRUE(Contains(check.out, "d/db: btree, pages of 8k\nclosed cleanly")) << check.out;
    EXPECT_TRUE(Contains(check.out, "3,001 rows")) << check.out;
    EXPECT_TRUE(Contains(check.out, "\nsound: nothing is wrong\n")) << check.out;
    const CommandResult tree = Run(std::string("tree ") + dir);
    EXPECT_EQ(tree.code, 0) << tree.err;
    EXPECT_EQ(tree.err, "");
    EXPECT_TRUE(Contains(tree.out, "size on disk")) << tree.out;
    // The row of the catalogue is no row of the user's.
    EXPECT_TRUE(Contains(tree.out, "pages of 8k, 3,000 rows in 1 table\n")) << tree.out;
  }
  EXPECT_EQ(AllFiles(), before);
}

TEST_F(InspectCommandTest, SeveralDatabasesOfOneRunAreLookedAtOneByOne) {
  LoadThree("d");
  const CommandResult check = Run("check d --json check.json");
  EXPECT_EQ(check.code, 0) << check.err;
  for (const char* path : {"d/db/0: btree", "d/db/1: btree", "d/db/2: btree"}) {
    EXPECT_TRUE(Contains(check.out, path)) << check.out;
  }
  EXPECT_EQ(Json("check.json")["databases"].size(), 3u);
  // Removes the time that the check took from the text.
  const auto timeless = [](const std::string& text) {
    return std::regex_replace(text, std::regex("; [0-9.]+ s\n"), "\n");
  };
  EXPECT_EQ(timeless(Run("check d/db").out), timeless(check.out));
  EXPECT_EQ(Run("tree d/db/2").code, 0);
  Damage("d/db/0");
  EXPECT_EQ(Run("check d").code, 1);
  EXPECT_EQ(Run("check d/db/2").code, 0);
  std::filesystem::remove(directory_ / "d/db/1/btree.data");
  ExpectRefused(Run("check d"), "directory d/db/1 holds no database of ");
}

TEST_F(InspectCommandTest, AMissingDatabaseOfSeveralIsOneSentence) {
  LoadThree("d");
  const std::filesystem::path aside = directory_ / "aside";
  for (const std::string missing : {"d/db/0", "d/db/1", "d/db/2"}) {
    std::filesystem::rename(directory_ / missing, aside);
    for (const std::string command : {"check ", "tree "}) {
      for (const char* dir : {"d", "d/", "d/db", "./d/db/"}) {
        SCOPED_TRACE(command + dir);
        const CommandResult result = Run(command + dir);
        ExpectRefused(result, missing + " is missing: ");
        ExpectRefused(result, "d/testbed.json says that 3 databases of btree were loaded there");
        EXPECT_EQ(result.out, "");
      }
    }
    std::filesystem::rename(aside, directory_ / missing);
  }
  EXPECT_EQ(Run("check d").code, 0);
  std::filesystem::remove_all(directory_ / "d/db/1");
  EXPECT_EQ(Run("check d/db/0").code, 0);
  EXPECT_EQ(Run("tree d/db/2").code, 0);
}

// A load that was killed is checked as far as it came. A backup that was killed has no database,
// even when the kill came after the last file.
TEST_F(InspectCommandTest, AnUnfinishedLoadIsCheckedAndAnUnfinishedBackupIsNot) {
  LoadThree("d");
  ChangeRecord("d", {{"loaded", false}});
  EXPECT_EQ(Run("check d").code, 0);
  EXPECT_EQ(Run("tree d").code, 0);
  std::filesystem::rename(directory_ / "d/db/2", directory_ / "aside");
  const std::string begun =
      "d/testbed.json says that a load or a backup of 3 databases of btree was begun there, and "
      "not finished";
  for (const std::string command : {"check d", "tree d/db"}) ExpectRefused(Run(command), begun);
  std::filesystem::rename(directory_ / "aside", directory_ / "d/db/2");
  ChangeRecord("d", {{"unfinished_backup", true}});
  for (const std::string command : {"check d", "check d/db/0", "tree d", "tree d/db"}) {
    ExpectRefused(Run(command), "was begun there, and not finished");
  }
  ChangeRecord("d", {{"loaded", true}, {"unfinished_backup", false}});
  EXPECT_EQ(Run("check d").code, 0);
}

// The record and the lock of the run lie above the directory to which the link leads.
TEST_F(InspectCommandTest, ALinkToTheDatabasesOfARunLeadsToItsRecord) {
  LoadThree("d");
  std::filesystem::create_directory_symlink("d/db", directory_ / "all");
  std::filesystem::create_directory_symlink("d/db/1", directory_ / "one");
  EXPECT_EQ(Run("check all").code, 0);
  EXPECT_EQ(Run("tree one").code, 0);
  const int lock = Hold("d");
  ASSERT_GE(lock, 0);
  for (const std::string command : {"check all", "check one", "tree all", "tree one"}) {
    ExpectRefused(Run(command), "is used by another testbed now");
  }
  close(lock);
  std::filesystem::rename(directory_ / "d/db/2", directory_ / "aside");
  ExpectRefused(Run("check all"), "directory all/2 is missing: ");
  std::filesystem::rename(directory_ / "aside", directory_ / "d/db/2");
  ChangeRecord("d", {{"loaded", false}, {"unfinished_backup", true}});
  for (const std::string command : {"check all", "check one", "tree all", "tree one"}) {
    ExpectRefused(Run(command), "was begun there, and not finished");
  }
}

TEST_F(InspectCommandTest, DamageIsNamedLineByLineAndCountsAsFailure) {
  Load("d");
  Damage("d/db");
  const CommandResult check = Run("check d --json check.json");
  EXPECT_EQ(check.code, 1);
  EXPECT_EQ(check.err, "");
  EXPECT_TRUE(Contains(check.out,
                       "\npage 4 of file d/db/btree.data, byte 32768, table default: its checksum "
                       "does not match: expected 0x"))
      << check.out;
  EXPECT_TRUE(Contains(check.out, "\nDAMAGED: 1 fault\n")) << check.out;
  const json document = Json("check.json");
  EXPECT_EQ(document["schema"], "testbed-check/1");
  const json& database = document["databases"][0];
  EXPECT_EQ(database["sound"], false);
  EXPECT_EQ(database["fault_count"], 1);
  const json& fault = database["faults"][0];
  EXPECT_EQ(fault["page"], 4);
  EXPECT_EQ(fault["byte"], 32768);
  EXPECT_EQ(fault["file"], "d/db/btree.data");
  EXPECT_EQ(fault["table"], "default");
  uint64_t bytes = 0;
  for (const json& count : database["pages"]) bytes += count["bytes"].get<uint64_t>();
  EXPECT_EQ(bytes, std::filesystem::file_size(directory_ / "d/db/btree.data"));
  const CommandResult tree = Run("tree d");
  EXPECT_EQ(tree.code, 1);
  EXPECT_TRUE(Contains(tree.err, "`testbed check d` says what is wrong")) << tree.err;
}

// A script that watches a database must not take a full disk for damage.
TEST_F(InspectCommandTest, OnlyDamageHasExitCodeOne) {
  Load("d");
  EXPECT_EQ(Run("check d >/dev/full").code, 2);
  const CommandResult full = Run("check d --json /dev/full");
  EXPECT_EQ(full.code, 2);
  EXPECT_TRUE(Contains(full.err, "--json /dev/full cannot be written")) << full.err;
  EXPECT_TRUE(Contains(full.out, "\nsound: nothing is wrong\n")) << full.out;
  Damage("d/db");
  EXPECT_EQ(Run("check d >/dev/full").code, 1);
}

TEST_F(InspectCommandTest, ManyFaultsAreCutShortUnlessAllAreAskedFor) {
  Load("d");
  std::fstream file(directory_ / "d/db/btree.data",
                    std::ios::in | std::ios::out | std::ios::binary);
  const uint64_t pages = std::filesystem::file_size(directory_ / "d/db/btree.data") / 8192;
  for (uint64_t page = 3; page < pages; ++page) {
    file.seekp(static_cast<std::streamoff>(page * 8192 + 24));
    file.put('\x63');
  }
  file.close();
  std::filesystem::resize_file(directory_ / "d/db/btree.doublewrite", 0);
  const auto lines = [](const std::string& text) {
    size_t n = 0;
    for (size_t at = text.find("its checksum does not match: expected"); at != std::string::npos;
         at = text.find("its checksum does not match: expected", at + 1)) {
      ++n;
    }
    return n;
  };
  const CommandResult some = Run("check d"), all = Run("check d --all");
  EXPECT_EQ(some.code, 1);
  EXPECT_EQ(lines(some.out), 20u) << some.out;
  EXPECT_TRUE(Contains(some.out, " more; --all shows them\n"));
  EXPECT_GT(lines(all.out), 50u);
  EXPECT_FALSE(Contains(all.out, "--all shows them"));
}

TEST_F(InspectCommandTest, TreeShowsOneTableAndItsPages) {
  Load("d");
  const CommandResult tree = Run("tree d --table default --pages --levels 2 --json tree.json");
  EXPECT_EQ(tree.code, 0) << tree.err;
  EXPECT_FALSE(Contains(tree.out, "(catalogue)"));
  EXPECT_TRUE(Contains(tree.out, "Pages of default\n  page 2, level 1, ")) << tree.out;
  EXPECT_TRUE(Contains(tree.out, "\n  |- page ")) << tree.out;
  const json document = Json("tree.json");
  EXPECT_EQ(document["schema"], "testbed-tree/1");
  const json& database = document["databases"][0];
  uint64_t disk = 0, on_disk = 0, parts = 0;
  for (const json& part : database["disk"]) disk += part["bytes"].get<uint64_t>();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ / "d/db")) {
    if (entry.is_regular_file()) on_disk += entry.file_size();
  }
  EXPECT_EQ(disk, on_disk);
  EXPECT_EQ(database["size_on_disk"], on_disk);
  const json& table = database["tables"][0];
  EXPECT_EQ(table["name"], "default");
  EXPECT_EQ(table["rows"], 3000);
  EXPECT_EQ(table["key_bytes"], 3000 * 16);
  EXPECT_EQ(table["value_bytes"], 3000 * 400);
  for (const json& part : table["parts"]) parts += part["bytes"].get<uint64_t>();
  EXPECT_EQ(parts, table["pages"].get<uint64_t>() * 8192);
  EXPECT_EQ(table["shape"]["page"], 2);
  ExpectRefused(Run("tree d --table nosuch"), "it has default");
  ExpectRefused(Run("tree d --pages --levels 99"), "--levels");
  ExpectRefused(Run("tree d --levels 2"),
                "--levels 2 is the number of levels that --pages draws; give --pages");
}

// The parts of a row are of the engine, and each engine's are explained.
TEST_F(InspectCommandTest, EachColumnOfTheTreeIsExplained) {
  const std::string by_part = "Bytes per row, by what they are";
  std::set<std::string> parts;
  for (const EngineInfo& engine : Engines()) {
    if (engine.tree == nullptr) continue;
    SCOPED_TRACE(engine.name);
    const std::string dir = engine.name;
    ASSERT_EQ(Run(EngineWords(engine.name) + " --workload insert --dir " + dir + kSmall).code, 0);
    const std::string tree = Run("tree " + dir).out;
    for (const std::string title :
         {"Tables", "Levels, the root first", "Where the space of the files goes"}) {
      EXPECT_EQ(PrintedColumns(tree, title), ExplainedColumns(title)) << tree;
    }
    parts.merge(PrintedColumns(tree, by_part));
    ASSERT_EQ(Run("tree " + dir + " --json tree.json").code, 0);
    const json document = Json("tree.json");
    for (const json& part : document["databases"][0]["disk"]) {
      EXPECT_NO_THROW((void)ExplainText(part["name"].get<std::string>())) << part;
    }
  }
  EXPECT_EQ(parts, ExplainedColumns(by_part));
}

TEST_F(InspectCommandTest, EachColumnOfACheckIsExplained) {
  Load("d");
  EXPECT_EQ(PrintedColumns(Run("check d").out, "Checked"), ExplainedColumns("Checked"));
}

TEST_F(InspectCommandTest, WhatIsNoDatabaseIsOneSentence) {
  std::filesystem::create_directory(directory_ / "empty");
  std::ofstream(directory_ / "letter") << "dear";
  for (const std::string command : {"check", "tree"}) {
    ExpectRefused(Run(command), "testbed " + command + " needs DIR (");
    ExpectRefused(Run(command + " nosuch"), "directory nosuch does not exist");
    ExpectRefused(Run(command + " \"$(printf 'no\\033[2Jsuch')\""),
                  "directory no\\x1b[2Jsuch does not exist");
    ExpectRefused(Run(command + " letter"), "letter is not a directory");
    ExpectRefused(Run(command + " empty"), "directory empty holds no database of ");
    ExpectRefused(Run(command + " empty letter"), "does not take letter");
    ExpectRefused(Run(command + " empty --deep"), "--deep is not an option of testbed " + command);
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "empty"));
}

TEST_F(InspectCommandTest, ADatabaseOfAnotherEngineInUseOrUnfinishedIsOneSentence) {
  ASSERT_EQ(Run(std::string("--engine log --workload insert --dir l") + kSmall).code, 0);
  Load("d");
  for (const std::string command : {"check", "tree"}) {
    ExpectRefused(Run(command + " l"), "holds a database of log, which testbed " + command +
                                           " does not know; it knows "
                                           "those of btree");
    const int outer = Hold("d");
    ASSERT_GE(outer, 0);
    ExpectRefused(Run(command + " d"),
                  "directory " + (directory_ / "d").string() + " is used by another testbed now");
    ExpectRefused(Run(command + " d/db"), "is used by another testbed now");
    close(outer);
    const int lock = open((directory_ / "d/db").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
    ExpectRefused(Run(command + " d"), "is used by another process now");
    close(lock);
    ExpectRefused(Run(command + " d --json nosuch/x.json"), "--json");
    EXPECT_EQ(Run(command + " d").code, 0);
  }
  std::filesystem::remove(directory_ / "d/db/btree.data");
  ExpectRefused(Run("check d"), "d/testbed.json says that btree was loaded there");
}

TEST_F(InspectCommandTest, HelpHasExamples) {
  for (const std::string command : {"check", "tree"}) {
    const CommandResult help = Run(command + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_TRUE(Contains(help.out, "Examples:")) << help.out;
    EXPECT_TRUE(Contains(help.out, "--json")) << help.out;
  }
}

}  // namespace
}  // namespace testbed
