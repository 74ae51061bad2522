// Tests the meetings of several tasks, which are threads here that talk over pairs of sockets, with
// clocks that differ: all go on at one moment, and none waits for ever for one that is lost.
#include "tools/run/tasks/task_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/output/json_text.h"
#include "tools/run/tasks/clock_offset.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::vector<std::string>& Hosts() {
  static const std::vector<std::string> hosts = {"n0", "n1", "n2"};
  return hosts;
}

// The clocks of the hosts are these nanoseconds ahead.
constexpr int64_t kAhead[] = {0, 250'000'000, -3'000'000'000};

TaskGroup::Now ClockOf(size_t task) {
  return [task] { return MonotonicNs() + kAhead[task]; };
}

// Returns a task whose lines a test writes. Task 0 has the link to it that is added to *links.
std::unique_ptr<TaskLink> WrittenTask(std::vector<std::unique_ptr<TaskLink>>* links) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  links->push_back(std::make_unique<TaskLink>(ends[0], ClockOf(0)));
  return std::make_unique<TaskLink>(ends[1], ClockOf(0));
}

// Returns whether the task is sent a line with this member.
bool HearsOf(const char* member, TaskLink* task) {
  for (;;) {
    const std::optional<TaskLine> line = task->Await(10);
    if (!line) return false;
    if (line->line.contains(member)) return true;
  }
}

class TaskGroupTest : public testing::Test {
 protected:
  // Makes the groups of three tasks. Each begins where a test calls Begin.
  explicit TaskGroupTest(double timeout = 30) {
    std::vector<std::unique_ptr<TaskLink>> of_first;
    tasks_.resize(3);
    for (size_t task = 1; task < 3; ++task) {
      int ends[2] = {-1, -1};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
      of_first.push_back(std::make_unique<TaskLink>(ends[0], ClockOf(0)));
      std::vector<std::unique_ptr<TaskLink>> of_other;
      of_other.push_back(std::make_unique<TaskLink>(ends[1], ClockOf(task)));
      tasks_[task] = std::make_unique<TaskGroup>(static_cast<int>(task), Hosts(),
                                                 std::move(of_other), timeout, ClockOf(task));
    }
    tasks_[0] = std::make_unique<TaskGroup>(0, Hosts(), std::move(of_first), timeout, ClockOf(0));
  }

  void BeginAll() {
    for (const auto& task : tasks_) task->Begin();
  }
  // Has each of the tasks do the work in a thread of its own. Returns what each of them threw.
  std::vector<std::string> InEach(const std::vector<size_t>& which,
                                  const std::function<void(size_t, TaskGroup*)>& work) {
    std::vector<std::string> thrown(tasks_.size());
    std::vector<std::thread> threads;
    for (const size_t task : which) {
      threads.emplace_back([this, task, &work, &thrown] {
        try {
          work(task, tasks_[task].get());
        } catch (const Error& error) {
          thrown[task] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return thrown;
  }
  static json AllTold(const std::vector<json>& told) { return told; }

  std::vector<std::unique_ptr<TaskGroup>> tasks_;
};

class ImpatientTaskGroupTest : public TaskGroupTest {
 protected:
  ImpatientTaskGroupTest() : TaskGroupTest(2) {}
};

TEST_F(TaskGroupTest, AllGetTheAnswerToWhatAllHaveToldAndGoOnAtOneMoment) {
  BeginAll();
  std::vector<TaskGroup::Meeting> met(3);
  std::vector<int64_t> went_on(3);
  const std::vector<std::string> thrown = InEach({0, 1, 2}, [&](size_t task, TaskGroup* group) {
    met[task] = group->Meet({.where = "a phase"}, {{"of", task}}, AllTold);
    AwaitStart(met[task], group->now());
    went_on[task] = MonotonicNs();
  });
  EXPECT_EQ(thrown, std::vector<std::string>(3));
  const json all = {{{"of", 0}}, {{"of", 1}}, {{"of", 2}}};
  ASSERT_EQ(met[0].offsets.size(), 3u);
  EXPECT_EQ(met[0].offsets[0].ns, 0);
  for (size_t task = 0; task < 3; ++task) {
    EXPECT_EQ(met[task].answer, all);
    const ClockOffset& offset = met[0].offsets[task];
    EXPECT_LE(std::llabs(offset.ns - kAhead[task]), offset.error_ns) << task;
    EXPECT_LE(std::llabs(offset.wall_ns), offset.error_ns + 100'000'000)
        << "all have the time of day of this host";
    // By the clock that all share here, the moment is the same within that error.
    EXPECT_LE(std::llabs(met[task].start_ns - kAhead[task] - met[0].start_ns), offset.error_ns);
    EXPECT_GE(went_on[task], met[task].start_ns - kAhead[task]);
  }
}

TEST_F(TaskGroupTest, AnyNumberOfMeetingsFollowEachOther) {
  BeginAll();
  const std::vector<std::string> thrown = InEach({0, 1, 2}, [](size_t, TaskGroup* group) {
    for (int i = 0; i < 5; ++i) {
      const std::string where = "meeting " + std::to_string(i);
      const TaskGroup::Meeting met =
          group->Meet({.where = where, .compares_clocks = false}, i, AllTold);
      EXPECT_EQ(met.answer, json({i, i, i}));
    }
    group->End("");
  });
  EXPECT_EQ(thrown, std::vector<std::string>(3));
}

TEST_F(TaskGroupTest, WhatFailsInOneTaskEndsAllWithItsSentence) {
  BeginAll();
  const std::vector<std::string> thrown = InEach({0, 1, 2}, [](size_t task, TaskGroup* group) {
    try {
      if (task == 2) throw Error(Error::kRun, "the disk is full");
      group->Meet({.where = "a phase"}, json(), AllTold);
    } catch (const Error& error) {
      group->End(error.what());
      throw;
    }
  });
  EXPECT_EQ(thrown[2], "the disk is full");
  EXPECT_EQ(thrown[0], "task 2 of 3 on host n2 failed: the disk is full");
  EXPECT_EQ(thrown[1], "task 0 of 3 on host n0 failed: " + thrown[0]);
}

TEST_F(TaskGroupTest, ATaskThatIsKilledIsNamedToTheOthers) {
  BeginAll();
  tasks_[1].reset();  // closes the task's connection
  const std::vector<std::string> thrown = InEach({0, 2}, [](size_t, TaskGroup* group) {
    try {
      group->Meet({.where = "a phase"}, json(), AllTold);
    } catch (const Error& error) {
      group->End(error.what());
      throw;
    }
  });
  EXPECT_EQ(thrown[0], "task 1 of 3 on host n1 has ended");
  EXPECT_THAT(thrown[2], HasSubstr("task 1 of 3 on host n1 has ended"));
  EXPECT_TRUE(TaskIsLost()) << "a phase that is under way ends early";
}

// A process that is stopped, or whose host the network has lost, keeps its connection.
TEST_F(ImpatientTaskGroupTest, ATaskThatSaysNothingIsLostInTime) {
  tasks_[0]->Begin();
  tasks_[1]->Begin();  // and task 2 never does
  const std::vector<std::string> thrown = InEach({0, 1}, [](size_t, TaskGroup* group) {
    try {
      group->Meet({.where = "a phase"}, json(), AllTold);
    } catch (const Error& error) {
      group->End(error.what());
      throw;
    }
  });
  EXPECT_EQ(thrown[0], "task 2 of 3 on host n2 has said nothing for 2 s (--task-timeout)");
  EXPECT_EQ(thrown[1], "task 0 of 3 on host n0 failed: " + thrown[0]);
}

// The line with the results of a long phase may come in pieces over a slow network.
TEST_F(TaskGroupTest, ATaskWhoseLineComesInPiecesIsHeard) {
  constexpr double kTimeout = 2;
  std::vector<std::unique_ptr<TaskLink>> links;
  const std::unique_ptr<TaskLink> other = WrittenTask(&links);
  TaskGroup group(0, {"n0", "n1"}, std::move(links), kTimeout, ClockOf(0));
  group.Begin();
  const json line = {{"at", "the results"}, {"told", "some seconds"}};
  const std::string text = JsonText(line) + "\n";
  std::thread slow([&other, &text] {
    for (const char byte : text) {
      EXPECT_EQ(::send(other->fd(), &byte, 1, MSG_NOSIGNAL), 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  json answer;
  std::string thrown;
  try {
    answer = group.Meet({.where = "the results", .compares_clocks = false}, 0, AllTold).answer;
  } catch (const Error& error) {
    thrown = error.what();
  }
  slow.join();
  EXPECT_EQ(thrown, "");
  EXPECT_EQ(answer, json({0, "some seconds"}));
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::duration<double>(kTimeout))
      << "the line was under way for less than the timeout";
}

// The clients of a task may wait for a server that does not answer.
TEST_F(TaskGroupTest, ATaskThatLivesAndDoesNotComeIsNamed) {
  BeginAll();
  const std::vector<std::string> thrown = InEach({0, 1}, [](size_t, TaskGroup* group) {
    try {
      group->Meet({.where = "the end of reads", .patience = 2}, json(), AllTold);
    } catch (const Error& error) {
      group->End(error.what());
      throw;
    }
  });
  EXPECT_THAT(thrown[0], HasSubstr("task 2 of 3 on host n2 lives, but has not come to the end of "
                                   "reads within 2 s"));
  EXPECT_NE(thrown[1], "");
}

// The parent of the process that works ends its group, which has no thread, when it refuses a run.
TEST_F(TaskGroupTest, AnOptionThatOneTaskRefusesIsAUsageErrorOfAll) {
  tasks_[0]->Begin();
  tasks_[1]->Begin();
  tasks_[2]->End("--dir d holds a database", 2);
  std::vector<int> codes(3);
  const std::vector<std::string> thrown = InEach({0, 1}, [&codes](size_t task, TaskGroup* group) {
    try {
      group->Meet({.where = "a phase"}, json(), AllTold);
    } catch (const Error& error) {
      codes[task] = error.kind() == Error::kUsage ? 2 : 1;
      group->End(error.what(), codes[task]);
      throw;
    }
  });
  EXPECT_EQ(thrown[0], "task 2 of 3 on host n2 failed: --dir d holds a database");
  EXPECT_EQ(thrown[1], "task 0 of 3 on host n0 failed: " + thrown[0]);
  EXPECT_EQ(codes, (std::vector<int>{2, 2, 0}));
}

TEST_F(TaskGroupTest, AStopOfOneTaskIsToldToAllAndTheyStillMeet) {
  std::vector<std::unique_ptr<TaskLink>> links;
  const std::unique_ptr<TaskLink> first = WrittenTask(&links), second = WrittenTask(&links);
  TaskGroup group(0, Hosts(), std::move(links), 30, ClockOf(0));
  group.Begin();
  EXPECT_FALSE(StopOfAnyTask());
  first->Send({{"stop", true}});
  EXPECT_TRUE(HearsOf("stop", second.get()));
  EXPECT_TRUE(TaskIsStopped());
  // What all have done until then is gathered.
  first->Send({{"at", "the end"}, {"told", 1}});
  second->Send({{"at", "the end"}, {"told", 2}});
  const TaskGroup::Meeting met =
      group.Meet({.where = "the end", .compares_clocks = false}, 0, AllTold);
  EXPECT_EQ(met.answer, json({0, 1, 2}));
  // Whoever has stopped does not come any more, and is not lost.
  second->Send({{"stopped", true}});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(group.Meet({.where = "the next"}, json(), AllTold), Stopped);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(9))
      << "task 0 waits ten seconds for tasks that have said nothing";
  EXPECT_FALSE(TaskIsLost());
  group.EndStopped();
  EXPECT_TRUE(HearsOf("stopped", first.get()));
}

// Otherwise the task would name another task, which has given it up and closed the connection.
TEST_F(TaskGroupTest, ATaskThatWasItselfStoppedSaysSo) {
  std::vector<std::unique_ptr<TaskLink>> links;
  std::unique_ptr<TaskLink> other = WrittenTask(&links);
  const pid_t task = ::fork();
  if (task == 0) {
    TaskGroup group(0, {"n0", "n1"}, std::move(links), 1, ClockOf(0));
    group.Begin();
    std::string told;
    try {
      group.Meet({.where = "a phase"}, json(), AllTold);
    } catch (const Error& error) {
      told = error.what();
    }
    const std::string said = "task 0 of 2 on host n0, which is this one, was itself stopped for ";
    ::_exit(told.starts_with(said) ? 0 : 1);
  }
  links.clear();
  EXPECT_TRUE(HearsOf("alive", other.get()));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ::kill(task, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));  // more than its --task-timeout
  other.reset();
  ::kill(task, SIGCONT);
  int status = -1;
  ::waitpid(task, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(TaskGroupTest, TasksThatAreNotAtTheSamePlaceEnd) {
  BeginAll();
  const std::vector<std::string> thrown = InEach({0, 1, 2}, [](size_t task, TaskGroup* group) {
    try {
      group->Meet({.where = task == 1 ? "reads" : "writes"}, json(), AllTold);
    } catch (const Error& error) {
      group->End(error.what());
      throw;
    }
  });
  EXPECT_EQ(thrown[0], "task 1 of 3 on host n1 is at reads when the others are at writes");
}

TEST_F(TaskGroupTest, WhatIsNoLineOfATaskIsItsLoss) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const TaskLink other(ends[1], ClockOf(1));
  std::vector<std::unique_ptr<TaskLink>> links;
  links.push_back(std::make_unique<TaskLink>(ends[0], ClockOf(0)));
  TaskGroup group(0, {"n0", "n1"}, std::move(links), 30, ClockOf(0));
  group.Begin();
  const std::string noise = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_EQ(::send(other.fd(), noise.data(), noise.size(), 0), static_cast<ssize_t>(noise.size()));
  std::string told;
  try {
    group.Meet({.where = "a phase"}, json(), AllTold);
  } catch (const Error& error) {
    told = error.what();
  }
  EXPECT_EQ(told, "task 1 of 2 on host n1 has ended");
}

}  // namespace
}  // namespace testbed
