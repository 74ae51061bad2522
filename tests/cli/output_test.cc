// Tests what the program writes when the reader of its output goes away, a disk is full, or its
// output is no terminal.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>

#include "tests/cli/started_command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

constexpr char kSmall[] =
    "--engine btree --ram 64M --rows 2000 --seconds 0.3 --warmup 0 --threads 2 --account file "
    "--quiet ";

class OutputTest : public StartedCommandTest {
 protected:
  // Runs testbed with standard output as a pipe whose reader has gone before the first write.
  int RunIntoClosedPipe(const std::string& arguments) {
    const std::string script =
        fmt::format("cd {} && {{ sleep 0.2; {} {} 2>err; echo $? >code; }} | true; cat code",
                    directory_.string(), TestbedBinary(), arguments);
    FILE* pipe = popen(("bash -c '" + script + "'").c_str(), "r");
    int code = -1;
    EXPECT_EQ(fscanf(pipe, "%d", &code), 1);
    pclose(pipe);
    return code;
  }
};

TEST_F(OutputTest, AReaderThatGoesAwayCostsNothing) {
  EXPECT_EQ(RunIntoClosedPipe(std::string(kSmall) + "--json h.json --csv h.csv"), 0);
  EXPECT_EQ(Read(directory_ / "err"), "");
  EXPECT_EQ(Json("h.json")["runs"].size(), 2u);
  EXPECT_GT(Read(directory_ / "h.csv").size(), 100u);
  for (const char* command :
       {"list", "report h.json", "report --csv h.json", "compare h.json h.json", "experiment list",
        "experiment show read-size", "experiment plan read-size --scale tiny", "man", "--help",
        "completion bash", "doctor"}) {
    EXPECT_EQ(RunIntoClosedPipe(command), 0) << command;
    EXPECT_EQ(Read(directory_ / "err"), "") << command;
  }
}

// Another program that shares the pipe may have made it one whose writes do not wait. What did not
// fit into it was lost, and so was all that came after.
TEST_F(OutputTest, APipeWhoseWritesDoNotWaitGetsEverything) {
  const std::string whole = Run("explain --markdown").out;
  ASSERT_GT(whole.size(), 20000u);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_GT(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  const std::string binary = TestbedBinary();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execl(binary.c_str(), "testbed", "explain", "--markdown", nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  // The pipe is read when the program waits for room in it, or has given up.
  EXPECT_TRUE(Becomes([&] {
    int unread = 0;
    const char state = State(std::to_string(child));
    return state == 'Z' || (state == 'S' && ::ioctl(ends[0], FIONREAD, &unread) == 0 && unread > 0);
  }));
  std::string text;
  char bytes[4096];
  for (ssize_t n; (n = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<size_t>(n));
  }
  ::close(ends[0]);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text.size(), whole.size());
}

// An interrupt also ends the reader of the pipe, as Ctrl-C ends tee.
TEST_F(OutputTest, AnInterruptedRunWithoutAReaderKeepsItsResults) {
  // On a busy machine the interrupt may come before the first read. It then comes later.
  for (int ms = 1500; ms <= 24000; ms *= 2) {
    std::filesystem::remove(directory_ / "h.json");
    const pid_t run = Start(
        "--engine btree --ram 64M --rows 2000 --seconds 60 --warmup 0 --account file --json h.json "
        "| true",
        "");
    ASSERT_TRUE(Becomes([this] { return !Processes().empty(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    for (const pid_t process : Processes()) kill(process, SIGINT);
    int status = 0;
    waitpid(run, &status, 0);
    ASSERT_TRUE(Becomes([this] { return Processes().empty(); }));
    if (!std::filesystem::exists(directory_ / "h.json")) continue;
    const nlohmann::json document = Json("h.json");
    EXPECT_TRUE(document["partial"].get<bool>());
    for (const nlohmann::json& of_run : document["runs"]) {
      for (const nlohmann::json& phase : of_run["phases"]) {
        if (phase["kind"] == "measure" && phase.value("count", 0) > 0) return;
      }
    }
  }
  FAIL() << "no interrupt left a result with reads";
}

// The second load cannot begin: while the first run goes on, its directory of files is exchanged
// for a link to it, which testbed did not make and removes for no new load.
TEST_F(OutputTest, AnErrorBetweenTwoRunsKeepsTheRunsBeforeIt) {
  const std::filesystem::path d = directory_ / "d";
  int code = 0;
  // On a busy machine the second load may begin before the exchange. The run is then longer.
  for (double seconds = 0.5; code == 0 && seconds < 30; seconds *= 2) {
    std::filesystem::remove_all(d);
    const pid_t run = Start(
        fmt::format("--engine btree --ram 64M --rows 1000 --warmup 0 --threads 2 --account file "
                    "--quiet --repeat 2 --seconds {} --dir d --json h.json --csv h.csv >h.txt",
                    seconds));
    EXPECT_TRUE(Becomes(
        [&] { return Read(d / "testbed.json").find("\"loaded\": true") != std::string::npos; }));
    std::filesystem::create_directory_symlink("files", d / "files");
    EXPECT_EQ(
        renameat2(AT_FDCWD, (d / "db").c_str(), AT_FDCWD, (d / "files").c_str(), RENAME_EXCHANGE),
        0);
    int status = 0;
    waitpid(run, &status, 0);
    code = WEXITSTATUS(status);
  }
  EXPECT_EQ(code, 2);
  const nlohmann::json document = Json("h.json");
  EXPECT_EQ(document["partial"], true);
  ASSERT_EQ(document["runs"].size(), 3u) << "the first load, its reads, and the second load";
  EXPECT_GT(document["runs"][1]["phases"][0]["count"], 0);
  const nlohmann::json& failed = document["runs"][2];
  EXPECT_NE(failed["error"]["sentence"].get<std::string>().find("d/db is a symbolic link"),
            std::string::npos)
      << failed;
  EXPECT_EQ(failed["load"], 1);
  EXPECT_EQ(failed["phases"].size(), 0u);
  EXPECT_NE(Read(directory_ / "h.csv").find("point-read"), std::string::npos);
  EXPECT_NE(Read(directory_ / "h.txt").find("point-read, 2 thr"), std::string::npos);
  EXPECT_EQ(Run("report h.json").out, Read(directory_ / "h.txt"));
}

TEST_F(OutputTest, ADashIsStandardOutputAndAloneThere) {
  const CommandResult result = Run(std::string(kSmall) + "--json - --csv h.csv");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["schema"], "testbed-results/1");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "-"));
  std::ofstream(directory_ / "h.json") << result.out;
  const std::string piped =
      fmt::format("cd {} && {} report - <h.json >piped", directory_.string(), TestbedBinary());
  EXPECT_EQ(std::system(piped.c_str()), 0);
  EXPECT_EQ(Read(directory_ / "piped"), Run("report h.json").out);
  EXPECT_EQ(Run(std::string(kSmall) + "--csv -").out.substr(0, 4),
            Read(directory_ / "h.csv").substr(0, 4));
}

TEST_F(OutputTest, FilesThatCannotBeAreToldBeforeTheRun) {
  std::filesystem::create_directory(directory_ / "d");
  const std::string run = "--engine btree --ram 64M --rows 1000 --seconds 1 --quiet ";
  ExpectRefused(Run(run + "--json /proc/h.json"), "--json /proc/h.json cannot be written");
  ExpectRefused(Run(run + "--json d"), "it is a directory");
  ExpectRefused(Run(run + "--json no/h.json"), "is not a directory");
  ExpectRefused(Run(run + "--json ''"), "--json '' is not accepted");
  ExpectRefused(Run(run + "--csv ''"), "--csv '' is not accepted");
  ExpectRefused(Run(run + "--json h --csv ./h"), "--json and --csv both name ./h");
  ExpectRefused(Run(run + "--json - --csv -"), "--json and --csv both name -");
  std::filesystem::remove(directory_ / "d");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(OutputTest, AFullDiskIsToldBeforeTheRunAndKeepsTheOldFile) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may mount a small file system";
  std::filesystem::create_directory(directory_ / "small");
  const std::string script = fmt::format(
      "unshare -m bash -c 'cd {} && mount -t tmpfs -o size=64k none small && echo old >small/h && "
      "{} --engine btree --ram 64M --rows 1000 --seconds 1 --json small/h 2>err; echo $? >code; "
      "cat small/* >kept'",
      directory_.string(), TestbedBinary());
  if (std::system(script.c_str()) != 0) GTEST_SKIP() << "this machine mounts nothing for a test";
  EXPECT_EQ(Read(directory_ / "code"), "2\n");
  EXPECT_NE(Read(directory_ / "err").find("No space left"), std::string::npos);
  EXPECT_EQ(Read(directory_ / "kept"), "old\n");
}

TEST_F(OutputTest, AnOldFileIsReplacedAsAWholeAndALinkIsFollowed) {
  using std::filesystem::perms;
  const perms mode = perms::owner_read | perms::owner_write | perms::group_read;
  std::ofstream(directory_ / "old") << "old";
  std::filesystem::permissions(directory_ / "old", mode);
  std::filesystem::create_symlink("old", directory_ / "link");
  ASSERT_EQ(Run(std::string(kSmall) + "--json link").code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "link"));
  EXPECT_EQ(Json("old")["schema"], "testbed-results/1");
  EXPECT_EQ(std::filesystem::status(directory_ / "old").permissions(), mode);
}

TEST_F(OutputTest, ALinkToNothingIsFollowed) {
  std::filesystem::create_directory(directory_ / "d");
  std::filesystem::create_symlink("d/first", directory_ / "link");
  std::filesystem::create_symlink("link", directory_ / "chain");
  ASSERT_EQ(Run(std::string(kSmall) + "--json chain").code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "link"));
  EXPECT_EQ(Json("d/first")["schema"], "testbed-results/1");
  std::filesystem::create_symlink("round", directory_ / "round");
  ExpectRefused(Run(std::string(kSmall) + "--json round"), "--json round cannot be written");
}

TEST_F(OutputTest, RootLeavesAFileToItsOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  constexpr uid_t kSomebody = 65534;
  std::ofstream(directory_ / "old") << "old";
  ASSERT_EQ(chown((directory_ / "old").c_str(), kSomebody, kSomebody), 0);
  ASSERT_EQ(Run(std::string(kSmall) + "--json old").code, 0);
  struct stat about {};
  ASSERT_EQ(stat((directory_ / "old").c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, kSomebody);
  EXPECT_EQ(about.st_gid, kSomebody);
  EXPECT_EQ(Json("old")["schema"], "testbed-results/1");
}

// In a directory such as /tmp, anybody can make a link under a name that is easy to guess before
// testbed writes there.
TEST_F(OutputTest, ALinkOfSomebodyElseWhereEverybodyWritesIsNotFollowed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  constexpr uid_t kSomebody = 65534;
  const std::filesystem::path open = directory_ / "open", link = open / "h.json";
  std::filesystem::create_directory(open);
  ASSERT_EQ(chmod(open.c_str(), 01777), 0);
  std::ofstream(directory_ / "target") << "precious";
  std::filesystem::create_symlink("../target", link);
  ASSERT_EQ(lchown(link.c_str(), kSomebody, kSomebody), 0);
  ExpectRefused(Run(std::string(kSmall) + "--json open/h.json"), "a symbolic link of another user");
  EXPECT_EQ(Read(directory_ / "target"), "precious");
  ASSERT_EQ(lchown(link.c_str(), geteuid(), getegid()), 0);
  EXPECT_EQ(Run(std::string(kSmall) + "--json open/h.json").code, 0);
}

// A directory on the path of an output must not be such a link either.
TEST_F(OutputTest, ADirectoryThatALinkOfSomebodyElseNamesIsNotWrittenTo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  ASSERT_EQ(Run(std::string(kSmall) + "--json run.json").code, 0);
  std::filesystem::create_directory(directory_ / "open");
  std::filesystem::create_directory(directory_ / "victim");
  ASSERT_EQ(chmod((directory_ / "open").c_str(), 01777), 0);
  std::filesystem::create_directory_symlink("../victim", directory_ / "open/d");
  ASSERT_EQ(lchown((directory_ / "open/d").c_str(), 65534, 65534), 0);
  for (const char* command :
       {"history add run.json --commit abc --store open/d", "report run.json --svg open/d",
        "--engine null --page-size 4k,8k --rows 100 --out open/d",
        "--engine btree --ram 64M --rows 100 --dir open/d", "report run.json --html open/d/x"}) {
    ExpectRefused(Run(command), "a symbolic link of another user");
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "victim"));
}

TEST_F(OutputTest, WhatACommandUsesIsNoOutput) {
  ASSERT_EQ(Run(std::string(kSmall) + "--dir d --json run.json --record a.trace").code, 0);
  const std::string data = Read(directory_ / "d/db/btree.data"),
                    run = Read(directory_ / "run.json");
  const std::string trace = Read(directory_ / "a.trace");
  for (const char* command : {"check d --json d/db/btree.data", "tree d/db --json d/testbed.json",
                              "--dir d --reuse --workload point-read --json d/db/new",
                              "--dir d --reuse --workload point-read --csv d/testbed.json",
                              "--dir d --reuse --workload point-read --json d/db/btree.data"}) {
    ExpectRefused(Run(command), "which this command uses");
  }
  for (const char* command :
       {"report run.json --html ./run.json", "report . --html run.json", "report . --html new.json",
        "trace scale a.trace --share 0.5 -o a.trace", "trace info a.trace --json a.trace"}) {
    ExpectRefused(Run(command), "this command reads it");
  }
  EXPECT_EQ(Read(directory_ / "d/db/btree.data"), data);
  EXPECT_EQ(Read(directory_ / "run.json"), run);
  EXPECT_EQ(Read(directory_ / "a.trace"), trace);
  EXPECT_EQ(Run("report . --html page.html").code, 0);
  EXPECT_EQ(Run("check d --json d/found.json").code, 0)
      << "beside the record lie files of the user";
}

TEST_F(OutputTest, AnOutputThatIsFullIsAnErrorAndKeepsTheFiles) {
  const CommandResult result = Run(std::string(kSmall) + "--json h.json >/dev/full");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "testbed: standard output cannot be written: No space left on device\n");
  EXPECT_EQ(Json("h.json")["runs"].size(), 2u);
  EXPECT_EQ(Run("list >/dev/full").code, 1);
  const CommandResult file = Run(std::string(kSmall) + "--json /dev/full --csv h.csv");
  EXPECT_EQ(file.code, 1);
  EXPECT_NE(file.err.find("--json /dev/full cannot be written"), std::string::npos) << file.err;
  EXPECT_NE(file.out.find("Operations"), std::string::npos) << "the tables are printed anyway";
  EXPECT_GT(Read(directory_ / "h.csv").size(), 100u);
}

// A full disk may fail the run and its results alike.
TEST_F(OutputTest, AnOutputThatIsFullDoesNotHideTheErrorOfTheRun) {
  const std::string run = std::string(kSmall) + "--dir d ";
  ASSERT_EQ(Run(run + "--workload insert").code, 0);
  std::filesystem::remove_all(directory_ / "d/db");
  const CommandResult result = Run(run + "--reuse --workload point-read --json /dev/full");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("testbed: --json /dev/full cannot be written"), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("holds no database of btree"), std::string::npos) << result.err;
}

TEST_F(OutputTest, AnOutputThatIsClosedIsAnErrorAndKeepsTheFiles) {
  const CommandResult result = Run(std::string(kSmall) + "--dir d --json h.json >&-");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "testbed: standard output cannot be written: it is closed\n");
  EXPECT_EQ(Json("h.json")["runs"].size(), 2u);
  EXPECT_EQ(Run("check d").code, 0) << "nothing was printed into the database";
  EXPECT_EQ(Run("list >&-").code, 1);
}

// The node has a number that no driver can have, so that there is nothing behind it.
TEST_F(OutputTest, ABlockDeviceIsRefusedBeforeTheRun) {
  if (mknod((directory_ / "node").c_str(), S_IFBLK | 0600, makedev(4000, 1)) != 0) {
    GTEST_SKIP() << "only root may make device nodes";
  }
  const std::string run = kSmall;
  for (const std::string& command :
       {run + "--json node", run + "--csv node", run + "--csv-series node", run + "--record node",
        run + "--page-size 4k,8k --save node", std::string("report run.json --html node"),
        std::string("results columns --json node")}) {
    ExpectRefused(Run(command), "node cannot be written: it is a block device");
  }
  EXPECT_TRUE(std::filesystem::is_block_file(directory_ / "node"));
}

// The pipe is the first output, and its reader comes only once all other outputs are written.
TEST_F(OutputTest, APipeWithoutAReaderCostsNothingElse) {
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  const pid_t run = Start(std::string(kSmall) + "--json pipe --csv h.csv >report");
  EXPECT_TRUE(Becomes([this] {
    return Read(directory_ / "report").find("Operations") != std::string::npos &&
           std::filesystem::exists(directory_ / "h.csv");
  }));
  const std::string reader =
      fmt::format("cd {} && timeout 30 cat pipe >h.json", directory_.string());
  ASSERT_EQ(std::system(reader.c_str()), 0);
  EXPECT_EQ(Json("h.json")["schema"], "testbed-results/1");
  int status = 0;
  ASSERT_EQ(waitpid(run, &status, 0), run);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(OutputTest, PipesAreWrittenInTheOrderInWhichTheyAreRead) {
  for (const char* name : {"a", "b"}) ASSERT_EQ(mkfifo((directory_ / name).c_str(), 0600), 0);
  const pid_t run = Start(std::string(kSmall) + "--json a --csv b");
  const std::string reader = fmt::format(
      "cd {} && timeout 60 cat b >h.csv && timeout 60 cat a >h.json", directory_.string());
  EXPECT_EQ(std::system(reader.c_str()), 0);
  int status = 0;
  ASSERT_EQ(waitpid(run, &status, 0), run);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(Json("h.json")["schema"], "testbed-results/1");
  EXPECT_EQ(Read(directory_ / "h.csv"), Run("report --csv h.json").out);
}

TEST_F(OutputTest, TheFileThatStandardOutputIsAppendedToKeepsWhatIsInIt) {
  std::ofstream(directory_ / "all.csv") << "before\n";
  const CommandResult result =
      Run(std::string(kSmall) + "--csv /dev/stdout --json h.json >>all.csv");
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string text = Read(directory_ / "all.csv"), rows = Run("report --csv h.json").out;
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(text.find("before\n"), 0u) << text;
  EXPECT_NE(text.find("Operations"), std::string::npos) << "the report is there";
  EXPECT_TRUE(text.ends_with(rows)) << "and the rows follow";
}

TEST_F(OutputTest, AFileThatAStandardStreamGoesToIsNoOutput) {
  ExpectRefused(Run(std::string(kSmall) + "--json out.json >out.json"),
                "--json out.json cannot be written: standard output goes to that file");
  const std::string script = fmt::format("cd {} && {} {} --json ./log 2>>log; echo $? >code",
                                         directory_.string(), TestbedBinary(), kSmall);
  ASSERT_EQ(std::system(script.c_str()), 0);
  EXPECT_EQ(Read(directory_ / "code"), "2\n");
  EXPECT_NE(Read(directory_ / "log").find("standard error goes to that file"), std::string::npos);
}

TEST_F(OutputTest, LinesOfProgressComeWithoutATerminal) {
  const std::string run =
      "--engine btree --ram 64M --rows 2000 --warmup 0 --threads 2 --account file ";
  const CommandResult result = Run(run + "--seconds 2.5 --report-interval 1");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_GE(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
  EXPECT_NE(result.err.find("btree, 2 threads point-read: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(" operations/s, "), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find('\r'), std::string::npos);
  EXPECT_EQ(Run(run + "--seconds 1.3 --report-interval 1 --quiet").err, "");
  EXPECT_EQ(Run(run + "--seconds 1.3").err, "") << "a minute has not passed";
}

}  // namespace
}  // namespace testbed
