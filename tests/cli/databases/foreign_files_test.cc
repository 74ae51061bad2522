// Tests that testbed removes or overwrites no file that it did not make, whatever its name. Files
// that testbed made belong to the process that holds their lock, in any process namespace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/started_command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

constexpr char kLoad[] =
    "--engine btree --ram 32M --rows 1000 --workload insert --account file --quiet ";
constexpr char kRun[] =
    "--engine btree --ram 32M --rows 20000 --workload insert,point-read --seconds 60 --warmup 0 "
    "--quiet";
constexpr char kOwnProcesses[] = "unshare --pid --fork --kill-child --mount-proc";
constexpr uid_t kNobody = 65534;

class ForeignFilesTest : public StartedCommandTest {
 protected:
  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }
  std::string Contents(const std::string& name) const { return Read(directory_ / name); }
  bool Exists(const std::string& name) const { return fs::exists(directory_ / name); }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  // Makes a directory as a killed run leaves it, with a loaded database.
  void MakeLeftover(const std::string& name) {
    ASSERT_EQ(Run(kLoad + ("--dir " + name)).code, 0);
    ASSERT_EQ(::chmod((directory_ / name).c_str(), 0700), 0);
  }

  void Clean() {
    const CommandResult clean = Run("scratch clean");
    EXPECT_EQ(clean.code, 0) << clean.err;
  }
};

// A user's files in db/ stay, whatever they are called and wherever they are.
TEST_F(ForeignFilesTest, FreshLeavesFilesInTheEnginesFolderThatAreNotTheEngines) {
  ASSERT_EQ(Run(std::string(kLoad) + "--dir d").code, 0);
  Write("d/db/customers.sql", "select");
  Write("d/db/btree.data.bak", "copy");
  Write("d/db/btree.log/notes", "note");
  Write("d/db/mine/btree.data", "mine");
  fs::create_directory(directory_ / "d/db/empty");
  fs::create_symlink("customers.sql", directory_ / "d/db/btree.log/log-77");
  const CommandResult fresh = Run(std::string(kLoad) + "--dir d --fresh");
  EXPECT_EQ(fresh.code, 0) << fresh.err;
  for (const char* name : {"db/customers.sql", "db/btree.data.bak", "db/btree.log/notes",
                           "db/mine/btree.data", "db/empty/"}) {
    EXPECT_NE(fresh.err.find(name), std::string::npos) << name << ": " << fresh.err;
    EXPECT_TRUE(Exists("d/" + std::string(name))) << name;
  }
  EXPECT_EQ(Contents("d/db/customers.sql"), "select");
  EXPECT_EQ(Contents("d/db/mine/btree.data"), "mine");
  EXPECT_FALSE(fs::is_symlink(directory_ / "d/db/btree.log/log-77"));
}

// crashtest begins with a new database every now and then, in the same folder.
TEST_F(ForeignFilesTest, ACrashTestLeavesFilesThatAreNotTheEngines) {
  ASSERT_EQ(Run(std::string(kLoad) + "--dir d").code, 0);
  Write("d/db/customers.sql", "select");
  Write("d/db/btree.log/notes", "note");
  const CommandResult crashes = Run(
      "crashtest --engine btree --kills 3 --crashes-per-database 1 --longest-ms 50 --dir d --fresh "
      "--quiet");
  EXPECT_EQ(crashes.code, 0) << crashes.err;
  EXPECT_EQ(Contents("d/db/customers.sql"), "select");
  EXPECT_EQ(Contents("d/db/btree.log/notes"), "note");
}

// mmapv1 removes files of its journal whenever the database is opened or closed, and must not
// remove another file whose name begins like theirs.
TEST_F(ForeignFilesTest, AFileThatBeginsAsAJournalsIsNone) {
  const std::string run = "--engine mmapv1 --io mmap --ram 64M --rows 1000 --quiet --dir d ";
  ASSERT_EQ(Run(run + "--workload insert").code, 0);
  Write("d/db/journal.txt", "theirs");
  const CommandResult reuse = Run(run + "--workload point-read --operations 10 --reuse");
  EXPECT_EQ(reuse.code, 0) << reuse.err;
  EXPECT_EQ(Contents("d/db/journal.txt"), "theirs");
}

// A trace is a.trace.new until it is whole. A user's file of that name must stay.
TEST_F(ForeignFilesTest, AnUnfinishedTraceTakesNoOtherFilesPlace) {
  const std::string record = std::string(kLoad) + "--record a.trace";
  Write("a.trace.new", "theirs");
  ExpectRefused(Run(record), "a.trace.new is no unfinished trace; remove it");
  EXPECT_EQ(Contents("a.trace.new"), "theirs");
  fs::rename(directory_ / "a.trace.new", directory_ / "theirs.txt");
  fs::create_symlink("theirs.txt", directory_ / "a.trace.new");
  ExpectRefused(Run(record), "a.trace.new is no unfinished trace; remove it");
  EXPECT_EQ(Contents("theirs.txt"), "theirs");
  fs::remove(directory_ / "a.trace.new");
  // What a killed run left begins as a trace does.
  ASSERT_EQ(Run(record).code, 0);
  fs::rename(directory_ / "a.trace", directory_ / "a.trace.new");
  const CommandResult again = Run(record);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(Exists("a.trace"));
  EXPECT_FALSE(Exists("a.trace.new"));
}

TEST_F(ForeignFilesTest, AResultsFileIsNoRecordOfADatabase) {
  for (const char* record : {R"({"schema": "testbed-results/1"})", R"({"loaded": true})", "[]", "",
                             R"({"schema": 1})", R"({"schema": "testbed-tree/1"})"}) {
    SCOPED_TRACE(record);
    Write("d/testbed.json", record);
    Write("d/db/customers.sql", "theirs");
    ExpectRefused(Run(std::string(kLoad) + "--dir d --fresh"), "not a database of testbed");
    ExpectRefused(Run("--engine btree --ram 32M --rows 1000 --workload point-read --dir d --reuse"),
                  "holds no database");
    ExpectRefused(Run("crashtest --engine btree --kills 1 --dir d"), "not a database of testbed");
    EXPECT_EQ(Contents("d/db/customers.sql"), "theirs");
    EXPECT_EQ(Contents("d/testbed.json"), record);
  }
}

// A crash between the writing and the renaming of the record leaves a folder that holds only the
// unfinished record.
TEST_F(ForeignFilesTest, AFolderWhoseCreationACrashEndedIsTaken) {
  ASSERT_EQ(Run(std::string(kLoad) + "--dir whole").code, 0);
  const std::string record = Contents("whole/testbed.json");
  for (const std::string name : {"testbed.json.00000000000000a1.new", "testbed.json.new"}) {
    for (const std::string& left : {record, record.substr(0, 100), std::string()}) {
      for (const char* option : {"--dir d", "--dir d --fresh"}) {
        SCOPED_TRACE(name + ": " + left + option);
        Write("d/" + name, left);
        ExpectRefused(Run("--engine btree --rows 1000 --workload point-read --dir d --reuse"),
                      "holds no database");
        const CommandResult load = Run(kLoad + std::string(option));
        EXPECT_EQ(load.code, 0) << load.err;
        EXPECT_EQ(load.err, "");
        EXPECT_FALSE(Exists("d/" + name));
        fs::remove_all(directory_ / "d");
      }
    }
    for (const std::string theirs :
         {"theirs", R"({"schema": "testbed-results/1"})", "{\n  \"a\": "}) {
      Write("d/" + name, theirs);
      ExpectRefused(Run(std::string(kLoad) + "--dir d --fresh"), "leaves " + name + " in it alone");
      EXPECT_EQ(Contents("d/" + name), theirs);
    }
    fs::remove_all(directory_ / "d");
  }
}

TEST_F(ForeignFilesTest, ACopyOfTheRecordIsTheUsersWhateverItsName) {
  ASSERT_EQ(Run(std::string(kLoad) + "--dir d").code, 0);
  fs::copy_file(directory_ / "d/testbed.json", directory_ / "d/testbed.json.new");
  const std::string copy = Contents("d/testbed.json.new");
  const std::string reuse = "--engine btree --ram 32M --rows 1000 --quiet --dir d --reuse ";
  const CommandResult changed = Run(reuse + "--workload mixed --mix insert=1 --operations 10");
  EXPECT_EQ(changed.code, 0) << changed.err;
  EXPECT_NE(Contents("d/testbed.json"), copy);
  const CommandResult fresh = Run(std::string(kLoad) + "--dir d --fresh");
  EXPECT_EQ(fresh.code, 0) << fresh.err;
  EXPECT_EQ(fresh.err, "testbed: testbed.json.new in --dir d is not testbed's and stays\n");
  EXPECT_EQ(Contents("d/testbed.json.new"), copy);
}

TEST_F(ForeignFilesTest, FreshLeavesWhatItDoesNotKnowAndSaysSo) {
  ASSERT_EQ(Run(std::string(kLoad) + "--dir d").code, 0);
  Write("d/notes.txt", "theirs");
  Write("d/backup/db", "theirs");
  const CommandResult again = Run(std::string(kLoad) + "--dir d --fresh --repeat 2");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.err, "testbed: backup, notes.txt in --dir d is not testbed's and stays\n");
  EXPECT_EQ(Contents("d/notes.txt"), "theirs");
  EXPECT_EQ(Contents("d/backup/db"), "theirs");
}

TEST_F(ForeignFilesTest, AnExperimentBegunAnewLeavesWhatItDoesNotKnow) {
  Write("o/experiment.json", R"({"schema": "testbed-experiment/2"})");
  Write("o/notes.txt", "theirs");
  Write("o/cells/notes.json", R"({"schema": "theirs"})");
  Write("o/cells/a.json", R"({"schema": "testbed-results/1"})");
  Write("o/cells/notes.json.new", "theirs");
  Write("o/loads/00000000000000a1-1.json", R"({"schema": "testbed-results/1"})");
  Write("o/loads/00000000000000a1-1.json.new", R"({"schema": "testbed-results/1"})");
  Write("o/loads/00000000000000a2-1.json.00000000000000b2.new", "");
  Write("o/databases/mine/db/customers.sql", "theirs");
  const pid_t process = Start("experiment read-size --scale tiny --out o --quiet --fresh");
  EXPECT_TRUE(
      Becomes([&] { return Contents("o/experiment.json").find("\"text\"") != std::string::npos; }));
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  EXPECT_EQ(Contents("o/notes.txt"), "theirs");
  EXPECT_TRUE(Exists("o/cells/notes.json"));
  EXPECT_TRUE(Exists("o/cells/a.json")) << "the name is none of an experiment's";
  EXPECT_EQ(Contents("o/cells/notes.json.new"), "theirs");
  EXPECT_FALSE(Exists("o/loads/00000000000000a1-1.json"));
  EXPECT_TRUE(Exists("o/loads/00000000000000a1-1.json.new")) << "a copy that the user made";
  EXPECT_FALSE(Exists("o/loads/00000000000000a2-1.json.00000000000000b2.new"));
  EXPECT_EQ(Contents("o/databases/mine/db/customers.sql"), "theirs");
}

TEST_F(ForeignFilesTest, LinksAreNotFollowed) {
  ASSERT_EQ(Run(std::string(kLoad) + "--dir d").code, 0);
  Write("target.txt", "theirs");
  Write("theirs/customers.sql", "theirs");
  fs::create_symlink(directory_ / "target.txt", directory_ / "d/testbed.json.new");
  const CommandResult fresh = Run(std::string(kLoad) + "--dir d --fresh");
  EXPECT_EQ(fresh.code, 0) << fresh.err;
  EXPECT_EQ(Contents("target.txt"), "theirs");
  fs::remove_all(directory_ / "d/db");
  fs::create_directory_symlink(directory_ / "theirs", directory_ / "d/db");
  ExpectRefused(Run(std::string(kLoad) + "--dir d --fresh"), "symbolic link");
  EXPECT_EQ(Contents("theirs/customers.sql"), "theirs");
  fs::rename(directory_ / "d/testbed.json", directory_ / "record.json");
  fs::create_symlink(directory_ / "record.json", directory_ / "d/testbed.json");
  const std::string record = Contents("record.json");
  ExpectRefused(Run(std::string(kLoad) + "--dir d --fresh"), "not a database of testbed");
  EXPECT_EQ(Contents("record.json"), record);
}

TEST_F(ForeignFilesTest, ADirectoryMayBeGivenByALinkToIt) {
  fs::create_directory(directory_ / "real");
  fs::create_directory_symlink("real", directory_ / "link");
  EXPECT_EQ(Run(std::string(kLoad) + "--dir link").code, 0);
  EXPECT_EQ(Run(std::string(kLoad) + "--dir link --fresh").code, 0);
  EXPECT_TRUE(Exists("real/testbed.json"));
}

TEST_F(ForeignFilesTest, CleaningLeavesWhatOnlyHasTheNameOfALeftover) {
  // Older versions named their directories by process number; no such process exists.
  MakeLeftover("testbed-999999.tmp");
  Write("testbed-999998.tmp/customers.sql", "theirs");
  Write("testbed-00000000000000a1.tmp/customers.sql", "theirs");
  Write("testbed-00000000000000a2.tmp/testbed.json", R"({"schema": "testbed-results/1"})");
  Write("testbed-00000000000000a2.tmp/db/customers.sql", "theirs");
  MakeLeftover("mine");
  fs::create_directory_symlink(directory_ / "mine", directory_ / "testbed-00000000000000a3.tmp");
  // Other users may write to this directory, so its files need not be a run's.
  MakeLeftover("testbed-00000000000000a4.tmp");
  ASSERT_EQ(::chmod((directory_ / "testbed-00000000000000a4.tmp").c_str(), 0777), 0);
  Write("testbed-00000000000000a5.tmp", "a file");
  Clean();
  EXPECT_TRUE(Exists("testbed-999999.tmp/db/btree.data"));
  EXPECT_EQ(Contents("testbed-999998.tmp/customers.sql"), "theirs");
  EXPECT_EQ(Contents("testbed-00000000000000a1.tmp/customers.sql"), "theirs");
  EXPECT_EQ(Contents("testbed-00000000000000a2.tmp/db/customers.sql"), "theirs");
  EXPECT_TRUE(Exists("mine/db/btree.data"));
  EXPECT_TRUE(Exists("testbed-00000000000000a4.tmp/db/btree.data"));
  EXPECT_EQ(Contents("testbed-00000000000000a5.tmp"), "a file");
}

TEST_F(ForeignFilesTest, CleaningRemovesALeftoverButNotWhatOthersPutThere) {
  MakeLeftover("testbed-00000000000000b1.tmp");
  MakeLeftover("testbed-00000000000000b2.tmp");
  MakeLeftover("testbed-00000000000000b3.tmp");
  Write("testbed-00000000000000b2.tmp/notes.txt", "theirs");
  const int held = Hold("testbed-00000000000000b3.tmp");
  ASSERT_GE(held, 0);
  Clean();
  EXPECT_FALSE(Exists("testbed-00000000000000b1.tmp"));
  EXPECT_EQ(Contents("testbed-00000000000000b2.tmp/notes.txt"), "theirs");
  EXPECT_FALSE(Exists("testbed-00000000000000b2.tmp/db"));
  EXPECT_TRUE(Exists("testbed-00000000000000b3.tmp/db/btree.data")) << "its run lives";
  ::close(held);
  Clean();
  EXPECT_FALSE(Exists("testbed-00000000000000b3.tmp"));
}

// Cleaning must not remove a database that crashtest kept because it shows a lost commit.
TEST_F(ForeignFilesTest, CleaningLeavesWhatARunKept) {
  MakeLeftover("testbed-00000000000000c1.tmp");
  nlohmann::json record = Json("testbed-00000000000000c1.tmp/testbed.json");
  record["kept"] = true;
  Write("testbed-00000000000000c1.tmp/testbed.json", record.dump());
  Clean();
  EXPECT_TRUE(Exists("testbed-00000000000000c1.tmp/db/btree.data"));
}

TEST_F(ForeignFilesTest, AnotherUsersDirectoriesStay) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  MakeLeftover("testbed-00000000000000d1.tmp");
  MakeLeftover("testbed-00000000000000d2.tmp");
  ASSERT_EQ(::chown((directory_ / "testbed-00000000000000d2.tmp").c_str(), kNobody, kNobody), 0);
  Clean();
  EXPECT_FALSE(Exists("testbed-00000000000000d1.tmp"));
  EXPECT_TRUE(Exists("testbed-00000000000000d2.tmp/db/btree.data"));
}

TEST_F(ForeignFilesTest, AUserWithoutRightsTouchesNothingOfRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  MakeLeftover("testbed-00000000000000e1.tmp");
  MakeLeftover("testbed-00000000000000e2.tmp");
  ASSERT_EQ(::chmod((directory_ / "testbed-00000000000000e2.tmp").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  const std::string nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups ";
  const std::string command = "cd " + directory_.string() + " && " + nobody + TestbedBinary() + " ";
  if (::system((command + "list >/dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << "a user without rights cannot run " << TestbedBinary();
  }
  if (::system((nobody + "test -w " + directory_.string()).c_str()) != 0) {
    GTEST_SKIP() << "a user without rights cannot reach " << directory_;
  }
  EXPECT_EQ(::system((command + "scratch clean >/dev/null").c_str()), 0);
  EXPECT_EQ(::system((command + kLoad + " >/dev/null").c_str()), 0);
  EXPECT_TRUE(Exists("testbed-00000000000000e1.tmp/db/btree.data"));
  EXPECT_TRUE(Exists("testbed-00000000000000e2.tmp/db/btree.data"));
  EXPECT_EQ(Names().size(), 2u) << "nothing of the user's is left";
}

// The user may work in the current directory, but may not reach it by its name.
TEST_F(ForeignFilesTest, ADirectoryThatCannotBeReachedIsRefusedWithASentence) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  fs::create_directories(directory_ / "closed/open");
  fs::permissions(directory_ / "closed/open", fs::perms::all);
  fs::permissions(directory_ / "closed", fs::perms::owner_all);
  fs::permissions(directory_, fs::perms::all);
  const std::string begin = "cd " + directory_.string() +
                            "/closed/open && setpriv --reuid 65534 --regid 65534 --clear-groups " +
                            TestbedBinary() + " ";
  if (::system((begin + "list >/dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << "a user without rights cannot run " << TestbedBinary();
  }
  const std::string err = directory_ / "err";
  for (const std::string option : {"--dir d", "--json h.json"}) {
    const int status = ::system((begin + kLoad + " " + option + " >/dev/null 2>" + err).c_str());
    EXPECT_EQ(WEXITSTATUS(status), 2) << option;
    const std::string said = Read(err);
    EXPECT_NE(said.find("Permission denied"), std::string::npos) << said;
    EXPECT_NE(said.find(option.substr(0, option.find(' '))), std::string::npos) << said;
  }
}

// Commands said that the directory does not exist or holds no database, and to load one.
TEST_F(ForeignFilesTest, ADatabaseThatThisUserMayNotReadIsNotCalledMissing) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  fs::create_directories(directory_ / "closed/d");
  fs::create_directories(directory_ / "open/d");
  std::ofstream(directory_ / "open/d/testbed.json") << "{}";
  fs::permissions(directory_ / "closed", fs::perms::owner_all);
  fs::permissions(directory_ / "open/d/testbed.json", fs::perms::owner_all);
  fs::permissions(directory_, fs::perms::all);
  const std::string begin = "cd " + directory_.string() +
                            " && setpriv --reuid 65534 --regid 65534 --clear-groups " +
                            TestbedBinary() + " ";
  if (::system((begin + "list >/dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << "a user without rights cannot run " << TestbedBinary();
  }
  const std::string err = directory_ / "err";
  for (const std::string dir : {"closed/d", "open/d"}) {
    for (const std::string command : {"--reuse --dir ", "check ", "tree ", "backup "}) {
      const std::string to = command == "backup " ? " --to copy" : "";
      const int status = ::system((begin + command + dir + to + " >/dev/null 2>" + err).c_str());
      EXPECT_EQ(WEXITSTATUS(status), 2) << command << dir;
      EXPECT_NE(Read(err).find(dir + " cannot be read"), std::string::npos) << Read(err);
      EXPECT_NE(Read(err).find("Permission denied"), std::string::npos) << Read(err);
    }
  }
}

// Runs in two containers may have equal process numbers. Their locks must tell them apart.
TEST_F(ForeignFilesTest, RunsOfTwoProcessNamespacesShareADirectory) {
  if (::geteuid() != 0) GTEST_SKIP() << "a process namespace needs root";
  if (::system("unshare --pid --fork --mount-proc true >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no process namespaces here";
  }
  Write("theirs/customers.sql", "theirs");
  Write("testbed-2.tmp/customers.sql", "theirs");
  fs::create_directory_symlink(directory_ / "theirs", directory_ / "testbed-1.tmp");
  const pid_t one = Start(kRun, kOwnProcesses), two = Start(kRun, kOwnProcesses);
  // Counts the runs whose database is loaded.
  const auto loaded = [&] {
    size_t n = 0;
    for (const std::string& name : Names()) {
      n += Contents(name + "/testbed.json").find("\"loaded\": true") != std::string::npos;
    }
    return n;
  };
  EXPECT_TRUE(Becomes([&] { return loaded() == 2; }));
  Clean();
  EXPECT_EQ(loaded(), 2u);
  const std::string clean = "cd " + directory_.string() + " && " + kOwnProcesses + " " +
                            TestbedBinary() + " scratch clean >/dev/null";
  EXPECT_EQ(::system(clean.c_str()), 0);
  EXPECT_EQ(loaded(), 2u) << "a namespace in which their numbers are nobody's cleaned";
  // After the kill of one run, cleaning must remove only that run's directory.
  ::kill(one, SIGKILL);
  ::waitpid(one, nullptr, 0);
  EXPECT_TRUE(Becomes([&] {
    Clean();
    return loaded() == 1;
  }));
  EXPECT_EQ(::waitpid(two, nullptr, WNOHANG), 0) << "the other runs on";
  ::kill(two, SIGKILL);
  ::waitpid(two, nullptr, 0);
  EXPECT_TRUE(Becomes([&] {
    Clean();
    return Names().size() == 3;
  }));
  EXPECT_EQ(Contents("theirs/customers.sql"), "theirs");
  EXPECT_EQ(Contents("testbed-2.tmp/customers.sql"), "theirs");
}

TEST_F(ForeignFilesTest, TwoRunsThatMakeTheSameDirectoryAtOnceDoNotShareIt) {
  const std::string command =
      "--engine btree --ram 32M --rows 50000 --workload insert --quiet --dir d";
  const pid_t one = Start(command), two = Start(command);
  int first = 0, second = 0;
  ASSERT_EQ(::waitpid(one, &first, 0), one);
  ASSERT_EQ(::waitpid(two, &second, 0), two);
  EXPECT_EQ((WEXITSTATUS(first) == 0) + (WEXITSTATUS(second) == 0), 1);
  EXPECT_EQ(WEXITSTATUS(first) + WEXITSTATUS(second), 2);
  EXPECT_EQ(Run("check d").code, 0);
}

TEST_F(ForeignFilesTest, WhatAnEngineRefusesLeavesNothing) {
  ExpectRefused(Run(kLoad + std::string("--engine-option torn_page=none-such")), "torn_page");
  EXPECT_THAT(Names(), IsEmpty());
  ASSERT_EQ(Run(kLoad + std::string("--engine-option torn_page=none")).code, 0);
  EXPECT_THAT(Names(), IsEmpty());
}

}  // namespace
}  // namespace testbed
