// Tests --task and what belongs to it: which place a process has among the tasks of its run.
#include "tools/run/tasks/task_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "device/error.h"
#include "tools/options.h"

namespace testbed {
namespace {

using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

TaskOptions Resolved(TaskOptions options, const Variables& variables = {}) {
  ResolveTask(
      [&](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      &options);
  return options;
}

TaskOptions Task(const std::string& task, const std::string& address = "") {
  TaskOptions options;
  options.task = task;
  options.address = address;
  return options;
}

std::string RefusalOf(const TaskOptions& options, const Variables& variables = {}) {
  try {
    Resolved(options, variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kUsage);
    return error.what();
  }
  return "it was not refused";
}

const Variables& Step() {
  static const Variables variables = {{"SLURM_JOB_ID", "4711"},
                                      {"SLURM_STEP_ID", "2"},
                                      {"SLURM_PROCID", "1"},
                                      {"SLURM_NTASKS", "3"},
                                      {"SLURM_STEP_NODELIST", "n[07-09],m1"}};
  return variables;
}

TEST(TaskOptionsTest, AProcessWithoutThemIsAlone) {
  EXPECT_FALSE(Resolved({}).several());
  EXPECT_FALSE(Resolved(Task("0/1")).several());
}

TEST(TaskOptionsTest, ByHandTasksMeetAtTheLoopbackUnlessTheyAreToldWhere) {
  const TaskOptions first = Resolved(Task("0/3")), other = Resolved(Task("2/3", "db1:99"));
  EXPECT_TRUE(first.several());
  EXPECT_FALSE(first.guest());
  EXPECT_EQ(first.host + " " + first.port, "127.0.0.1 7717");
  EXPECT_TRUE(other.guest());
  EXPECT_EQ(other.index, 2);
  EXPECT_EQ(other.count, 3);
  EXPECT_EQ(other.host + " " + other.port, "db1 99");
  EXPECT_EQ(Resolved(Task("0/2", "[::1]:99")).host, "::1");
}

TEST(TaskOptionsTest, TasksOfAStepMeetAtItsFirstHostAtAPortOfItsOwn) {
  const TaskOptions task = Resolved(Task("slurm"), Step());
  EXPECT_EQ(task.index, 1);
  EXPECT_EQ(task.count, 3);
  EXPECT_EQ(task.host, "n07");
  EXPECT_EQ(task.step, "4711.2");
  Variables next = Step();
  next["SLURM_STEP_ID"] = "3";
  next["SLURM_STEP_NUM_TASKS"] = "2";  // a part of the job's
  const TaskOptions of_next = Resolved(Task("slurm"), next);
  EXPECT_NE(of_next.port, task.port);
  EXPECT_EQ(of_next.count, 2);
  EXPECT_EQ(Resolved(Task("slurm", "10.0.0.1:80"), Step()).host, "10.0.0.1");
}

TEST(TaskOptionsTest, AJobOfAFederationHasALargeNumber) {
  Variables federated = Step();
  federated["SLURM_JOB_ID"] = "4294967295";
  const TaskOptions task = Resolved(Task("slurm"), federated);
  EXPECT_EQ(task.step, "4294967295.2");
  EXPECT_EQ(task.port.size(), 5u);
}

TEST(TaskOptionsTest, TheLargestCountIsNamed) {
  EXPECT_THAT(RefusalOf(Task("0/1001")), HasSubstr("a count of at most 1000"));
  EXPECT_EQ(Resolved(Task("999/1000")).count, 1000);
}

TEST(TaskOptionsTest, WhatIsMissingIsNamed) {
  Variables no_step = Step();
  no_step.erase("SLURM_STEP_ID");  // a script of sbatch has the other variables, too
  EXPECT_THAT(RefusalOf(Task("slurm"), no_step), HasSubstr("start it by srun"));
  EXPECT_THAT(RefusalOf(Task("", "db1:99")), HasSubstr("--task-address belongs to a run of "));
  Variables no_host = Step();
  no_host.erase("SLURM_STEP_NODELIST");
  EXPECT_THAT(RefusalOf(Task("slurm"), no_host), HasSubstr("give --task-address HOST:PORT"));
}

TEST(TaskOptionsTest, ParsingRefusesWhatIsNoPlaceAndNoAddress) {
  for (const auto& [option, value] : std::map<std::string, std::vector<std::string>>{
           {"--task", {"3/3", "-1/2", "1", "x/2", "1/", "/", "0/0", "0/1001", "1/2/3", ""}},
           {"--task-address", {"host", ":1", "host:", "host:0", "host:65536", "host:x"}},
           {"--task-timeout", {"1", "x", "1000000"}}}) {
    for (const std::string& text : value) {
      try {
        (void)ParseRunOptions({option + "=" + text});
        ADD_FAILURE() << option << " " << text;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::kUsage);
        EXPECT_THAT(error.what(), HasSubstr(option));
      }
    }
  }
  EXPECT_EQ(ParseRunOptions({"--task", "slurm"}).tasks.task, "slurm");
}

TEST(TaskOptionsTest, TheFirstHostOfAListOfSlurm) {
  EXPECT_EQ(FirstHost("n1"), "n1");
  EXPECT_EQ(FirstHost("n1,n2"), "n1");
  EXPECT_EQ(FirstHost("n[1-3]"), "n1");
  EXPECT_EQ(FirstHost("n[07,09]-ib,m[1-2]"), "n07-ib");
  EXPECT_EQ(FirstHost("rack[1-2]"), "rack1");
  EXPECT_EQ(FirstHost("rack[1-2]n[1-3]"), "rack1n1");
  EXPECT_EQ(FirstHost("rack[3,5]n[07,09]-ib,m1"), "rack3n07-ib");
  EXPECT_EQ(FirstHost("rack[1-2]n[1"), "");
  EXPECT_EQ(FirstHost(""), "");
}

}  // namespace
}  // namespace testbed
