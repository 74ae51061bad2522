// Tests a run of several tasks, which are processes of this host here, started by hand on a server
// that runs already: no row is inserted twice or lost, and a task that dies is named.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/servers/given_server.h"
#include "tools/run/tasks/clock_offset.h"
#include "tools/run/tasks/task_link.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

#ifdef TESTBED_HAVE_MYSQL
class TaskWordsTest : public CommandTest {
 protected:
  CommandResult Refused(const std::string& words) {
    return Run("--engine mysql --rows 1000 --connect mysql://me@127.0.0.1:1/ --task 0/2 " + words);
  }
};

TEST_F(TaskWordsTest, WhatSeveralTasksCannotDoIsOneSentence) {
  if (!HasEngine("mysql")) GTEST_SKIP() << "there is no MariaDB here";
  ExpectRefused(Run("--engine btree --rows 1000 --task 0/2"),
                "--task: several tasks work on the database of a server that runs already");
  ExpectRefused(Refused("--repeat 2"), "a run of several tasks does not take --repeat;");
  ExpectRefused(Refused("--threads 1,2"), "does not take several numbers of --threads");
  ExpectRefused(Refused("--operations 1"), "--operations that are fewer than the tasks");
  ExpectRefused(Refused("--workload insert,settle,point-read"),
                "does not take settle, or a length");
  ExpectRefused(Refused("--workload insert"), "--task: --workload only loads");
  ExpectRefused(Refused("--workload linkbench-load,linkbench"),
                "--task: several tasks cannot perform --workload linkbench-load together");
  ExpectRefused(Refused("--workload insert,mixed --mix erase=1"),
                "--task: several tasks cannot perform --workload mixed together");
  const std::string place = "127.0.0.1:" + std::to_string(FreePort());
  ExpectRefused(Refused("--task-timeout 2 --task-address " + place),
                "--task 0/2: task 1 has not come to " + place);
  EXPECT_TRUE(DirectoryIsEmpty());
}

class TasksTest : public GivenMariadbTest {
 protected:
  void SetUp() override {
    GivenMariadbTest::SetUp();
    if (IsSkipped()) return;
    StartServer("--skip-networking --init-file=" + (directory_ / "users.sql").string() +
                ServerWords());
  }
  // Returns further options of the server, each after a space.
  virtual std::string ServerWords() const { return ""; }

  // Returns the words of a task; all tasks have the same but for their numbers.
  std::string Words(int task, int count, const std::string& words) const {
    return "--engine mysql --io direct --page-size 16k --durability sync --rows 500 --threads 2 "
           "--account off --quiet --dir d --task-address 127.0.0.1:" +
           std::to_string(port_) +
           " --connect 'mysql://me@localhost/?socket=" + (directory_ / "socket").string() +
           "' --task " + std::to_string(task) + "/" + std::to_string(count) + " " + words;
  }
  // Returns whether a task other than the first has made its temporary directory, which it does
  // when all tasks have come.
  bool HaveCome() const {
    const fs::directory_iterator entries(directory_);
    return std::any_of(begin(entries), end(entries),
                       [](const auto& entry) { return entry.path().extension() == ".tmp"; });
  }
  static bool HasEnded(pid_t process) { return ExitCodeOf(process) == 0; }
  static json Phase(const json& document, const std::string& name) {
    for (const json& phase : document["runs"][0]["phases"]) {
      if (phase["name"] == name) return phase;
    }
    return nullptr;
  }

  const unsigned port_ = FreePort();
};

// Returns the number of operations in the histograms of the phase.
uint64_t InHistograms(const json& phase) {
  uint64_t count = 0;
  for (const json& op : phase["operations"]) {
    for (const json& bucket : op["latency_ns_histogram"]) count += bucket[1].get<uint64_t>();
  }
  return count;
}

TEST_F(TasksTest, RowsAreExactAndSumsAreThoseOfAllTasks) {
  const std::string words =
      "--workload insert,mixed,point-read --mix insert=1,point-read=1 --operations 901 --warmup 0 "
      "--verify all --json out.json";
  std::vector<pid_t> others;
  for (const int task : {1, 2}) {
    others.push_back(Start(Words(task, 3, words), "env MYSQL_PWD=right"));
  }
  const CommandResult run = Run(Words(0, 3, words), "MYSQL_PWD=right");
  for (const pid_t other : others) EXPECT_TRUE(HasEnded(other));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("Tasks of the run"), std::string::npos) << run.out;
  const json document = Json("out.json");
  EXPECT_EQ(document["options"]["tasks"], 3);
  for (const char* name : {"mixed", "point-read"}) {
    const json phase = Phase(document, name);
    ASSERT_TRUE(phase.is_object()) << name;
    EXPECT_EQ(phase["count"], 901) << name;
    EXPECT_EQ(InHistograms(phase), 901u);
    EXPECT_EQ(phase["threads"], 6);
    EXPECT_EQ(phase["wrong"], 0);
    EXPECT_EQ(phase["verified"], 901);
    ASSERT_EQ(phase["tasks"].size(), 3u);
    EXPECT_EQ(phase["tasks"][0]["count"], 301);
    EXPECT_EQ(phase["tasks"][1]["count"], 300);
    EXPECT_EQ(phase["tasks"][2]["count"], 300);
    for (const json& task : phase["tasks"]) {
      // All are on this host, and have one clock and one time of day.
      const auto before = task["clock_before"]["error_us"].get<double>();
      const auto after = task["clock_after"]["error_us"].get<double>();
      EXPECT_LE(std::abs(task["drift_us"].get<double>()), before + after + 0.001);
      EXPECT_LE(std::abs(task["clock_before"]["offset_us"].get<double>()), before + 100'000);
    }
  }
  const uint64_t inserted = Phase(document, "mixed")["rows_inserted"];
  EXPECT_GT(inserted, 300u);
  EXPECT_EQ(document["runs"][0]["database"]["rows"], 500 + inserted);

  // A run that does not know the rows counts those that the server has.
  json record = Json("d/testbed.json");
  EXPECT_EQ(record["population"]["rows"], 500 + inserted);
  record.erase("population");
  std::ofstream(directory_ / "d/testbed.json") << record.dump();
  const CommandResult again =
      Run("--engine mysql --io direct --page-size 16k --durability sync --rows 500 --account off "
          "--quiet --dir d --reuse --workload point-read --operations 2000 --warmup 0 --verify all "
          "--json again.json --connect 'mysql://me@localhost/?socket=" +
              (directory_ / "socket").string() + "'",
          "MYSQL_PWD=right");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(Phase(Json("again.json"), "count-rows")["rows"], 500 + inserted);
}

TEST_F(TasksTest, TasksTakeTheDatabaseThatIsThere) {
  const std::string words = "--seconds 0.5 --warmup 0.2 --workload ";
  const CommandResult load =
      Run("--engine mysql --io direct --page-size 16k --durability sync --rows 500 --account off "
          "--quiet --dir d --workload insert --connect 'mysql://me@localhost/?socket=" +
              (directory_ / "socket").string() + "'",
          "MYSQL_PWD=right");
  ASSERT_EQ(load.code, 0) << load.err;
  const std::string reads = words + "point-read --reuse --json out.json";
  const pid_t other = Start(Words(1, 2, reads), "env MYSQL_PWD=right");
  const CommandResult run = Run(Words(0, 2, reads), "MYSQL_PWD=right");
  EXPECT_TRUE(HasEnded(other));
  ASSERT_EQ(run.code, 0) << run.err;
  const json phase = Phase(Json("out.json"), "point-read");
  ASSERT_EQ(phase["tasks"].size(), 2u);
  uint64_t count = 0;
  for (const json& task : phase["tasks"]) {
    EXPECT_GT(task["count"], 0);
    count += task["count"].get<uint64_t>();
  }
  EXPECT_EQ(phase["count"], count);
  uint64_t in_series = 0;
  for (const json& second : phase["series"]) in_series += second["operations"].get<uint64_t>();
  EXPECT_EQ(in_series, count);
}

// On another host, as in another directory, --dir leads to no database.
TEST_F(TasksTest, ATaskInAnotherDirectoryTakesTheRecordOfTask0) {
  const std::string server =
      " --connect 'mysql://me@localhost/?socket=" + (directory_ / "socket").string() + "'";
  const CommandResult load =
      Run("--engine mysql --io direct --page-size 16k --durability sync --rows 700 --value-size 77 "
          "--seed 9 --account off --quiet --dir d --workload insert" +
              server,
          "MYSQL_PWD=right");
  ASSERT_EQ(load.code, 0) << load.err;
  const auto words = [&](int task, const std::string& dir) {
    return "--reuse --dir " + dir +
           " --io direct --durability sync --threads 2 --account off --quiet --workload point-read "
           "--operations 200 --warmup 0 --verify all --json out.json --task-address 127.0.0.1:" +
           std::to_string(port_) + " --task " + std::to_string(task) + "/2" + server;
  };
  const pid_t other = Start(words(1, "elsewhere"), "env MYSQL_PWD=right");
  const CommandResult run = Run(words(0, "d"), "MYSQL_PWD=right");
  EXPECT_TRUE(HasEnded(other));
  ASSERT_EQ(run.code, 0) << run.err;
  const json document = Json("out.json");
  EXPECT_EQ(document["options"]["rows"], 700);
  EXPECT_EQ(document["options"]["value_size"], 77);
  EXPECT_EQ(document["options"]["seed"], 9);
  const json phase = Phase(document, "point-read");
  EXPECT_EQ(phase["count"], 200);
  EXPECT_EQ(phase["verified"], 200);
  EXPECT_EQ(phase["wrong"], 0);
  EXPECT_FALSE(fs::exists(directory_ / "elsewhere"));
}

// 150 operations at 300 a second end after half a second, and after a sixth if each of the three
// tasks takes the rate for its own.
TEST_F(TasksTest, ARateIsThatOfAllTasksTogether) {
  const std::string words =
      "--workload insert,point-read --operations 150 --rate 300 --warmup 0 --json out.json";
  std::vector<pid_t> others;
  for (const int task : {1, 2}) {
    others.push_back(Start(Words(task, 3, words), "env MYSQL_PWD=right"));
  }
  const CommandResult run = Run(Words(0, 3, words), "MYSQL_PWD=right");
  for (const pid_t other : others) EXPECT_TRUE(HasEnded(other));
  ASSERT_EQ(run.code, 0) << run.err;
  const json phase = Phase(Json("out.json"), "point-read");
  EXPECT_EQ(phase["count"], 150);
  EXPECT_EQ(phase["target_rate"], 300);
  EXPECT_GT(phase["seconds"].get<double>(), 0.45);
}

TEST_F(TasksTest, ATaskThatIsKilledEndsTheRunWithASentenceThatNamesIt) {
  const std::string words = "--workload insert,point-read --seconds 600 --warmup 0";
  const pid_t other = Start(Words(1, 2, words), "env MYSQL_PWD=right");
  const pid_t first =
      Start(Words(0, 2, words + " --json out.json 2>first.err"), "env MYSQL_PWD=right");
  EXPECT_TRUE(Becomes([&] { return HaveCome(); }));
  LetItWork();
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_EQ(ExitCodeOf(first), 1);
  const std::string told = Read(directory_ / "first.err");
  EXPECT_NE(told.find("task 1 of 2 on host "), std::string::npos) << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
}

TEST_F(TasksTest, AStopOfOneTaskStopsAllAndKeepsWhatAllDid) {
  const std::string words =
      "--workload insert,mixed --mix insert=1 --seconds 600 --warmup 0 --json out.json";
  std::vector<pid_t> tasks;
  for (const int task : {0, 1, 2}) {
    std::string all = Words(task, 3, words);
    if (task == 0) {
      all.erase(all.find("--quiet "), std::string("--quiet ").size());
      all += " --report-interval 1 2>first.err";
    }
    tasks.push_back(Start(all, "env MYSQL_PWD=right"));
  }
  const auto has_begun = [&] {
    return Read(directory_ / "first.err").find(" mixed: ") != std::string::npos;
  };
  EXPECT_TRUE(Becomes(has_begun));
  ::kill(tasks[1], SIGINT);
  for (const pid_t task : tasks) EXPECT_EQ(ExitCodeOf(task), 130);
  const json document = Json("out.json");
  EXPECT_EQ(document["partial"], true);
  EXPECT_FALSE(document["runs"][0].contains("error")) << document["runs"][0]["error"];
  EXPECT_FALSE(document["runs"][0].contains("stopped_by_task"));
  const json phase = Phase(document, "mixed");
  ASSERT_TRUE(phase.is_object());
  EXPECT_EQ(phase["tasks"].size(), 3u);
  EXPECT_EQ(Json("d/testbed.json")["population"]["rows"],
            500 + phase["rows_inserted"].get<uint64_t>());
}

// The server notes all statements.
class LoggedTasksTest : public TasksTest {
 protected:
  std::string ServerWords() const override {
    return " --general-log=1 --general-log-file=" + Statements().string();
  }
  fs::path Statements() const { return directory_ / "statements"; }

  // Returns how many connections have asked for a checkpoint: one of each engine that settles. The
  // server notes the number of the connection, then "Query" and a tab, and the statement.
  size_t Checkpointers() const {
    std::set<std::string> connections;
    std::ifstream log(Statements());
    for (std::string line; std::getline(log, line);) {
      const size_t query = line.find(" Query\tSET GLOBAL innodb_log_checkpoint_now");
      if (query == std::string::npos) continue;
      const size_t tab = line.rfind('\t', query);
      connections.insert(line.substr(tab + 1, query - tab - 1));
    }
    return connections.size();
  }
};

TEST_F(LoggedTasksTest, OnlyTask0Settles) {
  const std::string words =
      "--workload insert,mixed --mix insert=1 --operations 100 --warmup 0 --json out.json";
  const CommandResult alone =
      Run("--engine mysql --io direct --page-size 16k --durability sync --rows 500 --threads 2 "
          "--account off --quiet --dir e --engine-option schema=alone --connect "
          "'mysql://me@localhost/?socket=" +
              (directory_ / "socket").string() + "' " + words,
          "MYSQL_PWD=right");
  ASSERT_EQ(alone.code, 0) << alone.err;
  const size_t of_one = Checkpointers();
  EXPECT_GT(of_one, 0u);
  const pid_t other = Start(Words(1, 2, words), "env MYSQL_PWD=right");
  const CommandResult run = Run(Words(0, 2, words), "MYSQL_PWD=right");
  EXPECT_TRUE(HasEnded(other));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(Checkpointers(), 2 * of_one) << "a guest asks for none";
  const json document = Json("out.json");
  size_t settled = 0;
  for (const json& phase : document["runs"][0]["phases"]) {
    if (phase["kind"] != "settle") continue;
    ++settled;
    EXPECT_FALSE(phase.contains("tasks"));
  }
  EXPECT_GE(settled, 1u) << "after the inserts";
}

// Passes the lines of task 1 on to task 0 and back, until task 1 has come to the end of the run.
// Returns whether it has.
bool PassUntilTheEnd(TaskLink* other, TaskLink* first) {
  for (;;) {
    std::vector<TaskLine> lines;
    bool open = other->Read(5, &lines);
    for (const TaskLine& line : lines) {
      if (line.line.value("at", std::string()) == "the end of the run") return true;
      first->Send(line.line);
    }
    lines.clear();
    open = first->Read(5, &lines) && open;
    for (const TaskLine& line : lines) other->Send(line.line);
    if (!open) return false;
  }
}

// Task 1 comes to this test in place of task 0, which is told that task 1 was stopped.
TEST_F(TasksTest, AStopAfterTheLastPhaseLosesNothingThatIsKnownOfTheRows) {
  const std::string words =
      "--workload insert,mixed,point-read --mix insert=1 --operations 300 --warmup 0 --json "
      "out.json";
  const unsigned here = FreePort();
  TaskListener listener("127.0.0.1", std::to_string(here));
  std::string of_other = Words(1, 2, words);
  const std::string place = ":" + std::to_string(port_);
  of_other.replace(of_other.find(place), place.size(), ":" + std::to_string(here));
  const pid_t first = Start(Words(0, 2, words), "env MYSQL_PWD=right");
  const pid_t other = Start(of_other, "env MYSQL_PWD=right");
  const std::unique_ptr<TaskLink> to_other = listener.Accept(30, MonotonicNs);
  ASSERT_NE(to_other, nullptr);
  std::unique_ptr<TaskLink> to_first;
  std::string why;
  EXPECT_TRUE(Becomes([&] {
    to_first = ConnectToTask("127.0.0.1", std::to_string(port_), MonotonicNs, &why);
    return to_first != nullptr;
  })) << why;
  ASSERT_NE(to_first, nullptr);
  EXPECT_TRUE(PassUntilTheEnd(to_other.get(), to_first.get()));
  // Task 0 comes to the meeting a moment later; before it, a stop would not interrupt it there.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  to_first->Send({{"stopped", true}});
  EXPECT_EQ(ExitCodeOf(first), 130);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  const json document = Json("out.json");
  EXPECT_EQ(document["partial"], true);
  EXPECT_FALSE(document["runs"][0].contains("error")) << document["runs"][0]["error"];
  EXPECT_EQ(Phase(document, "point-read")["count"], 300);
  EXPECT_EQ(document["runs"][0]["database"]["rows"], 800);
  EXPECT_EQ(Json("d/testbed.json")["population"]["rows"], 800);
}

TEST_F(TasksTest, WhatOneTaskRefusesIsToldToTheOthers) {
  const std::string words = "--workload insert,point-read --seconds 600 --warmup 0";
  fs::create_directory(directory_ / "d");
  std::ofstream(directory_ / "d/theirs") << "a file";
  const pid_t other = Start(Words(1, 2, words + " 2>other.err"), "env MYSQL_PWD=right");
  ExpectRefused(Run(Words(0, 2, words), "MYSQL_PWD=right"), "--dir d is not empty and not ");
  EXPECT_EQ(ExitCodeOf(other), 2);
  const std::string told = Read(directory_ / "other.err");
  EXPECT_NE(told.find("task 0 of 2 on host "), std::string::npos) << told;
  EXPECT_NE(told.find("--dir d is not empty and not "), std::string::npos) << told;
}
#endif

}  // namespace
}  // namespace testbed
