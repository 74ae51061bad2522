// Tests how tasks find each other over the loopback: those of one run do, and whatever is none of
// it is refused with a sentence that names what differs.
#include "tools/run/tasks/task_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "tests/free_port.h"
#include "tools/run/tasks/clock_offset.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class JoinTasksTest : public testing::Test {
 protected:
  TaskOptions At(int index, int count) const {
    TaskOptions options;
    options.task = std::to_string(index) + "/" + std::to_string(count);
    options.index = index;
    options.count = count;
    options.host = "127.0.0.1";
    options.port = port_;
    options.timeout = timeout_;
    return options;
  }
  // Joins the tasks with these options and plans, each in a thread of its own. Returns what each of
  // them was refused with.
  std::vector<std::string> Join(const std::vector<TaskOptions>& options,
                                const std::vector<json>& plans) {
    std::vector<std::string> refused(options.size());
    groups_.clear();
    groups_.resize(options.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < options.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          groups_[i] = JoinTasks(options[i], plans[i]);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), Error::kUsage);
          refused[i] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return refused;
  }

  // Connects to task 0, once it listens.
  std::unique_ptr<TaskLink> Reached() const {
    std::string why;
    std::unique_ptr<TaskLink> link;
    while (link == nullptr) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      link = ConnectToTask("127.0.0.1", port_, MonotonicNs, &why);
    }
    return link;
  }
  // Returns the first line of a task with this plan, as JoinTasks sends it.
  json HelloOf(int index, const json& plan) {
    TaskListener listener("127.0.0.1", port_);
    std::thread task([&] { (void)Join({At(index, 3)}, {plan}); });
    const std::unique_ptr<TaskLink> link = listener.Accept(30, MonotonicNs);
    json hello = link->Await(30)->line;
    link->Send({{"refused", "this is a test"}});
    task.join();
    return hello;
  }

  const std::string port_ = std::to_string(FreePort());
  double timeout_ = 30;
  std::vector<std::unique_ptr<TaskGroup>> groups_;
};

TEST_F(JoinTasksTest, TasksOfOneRunFindEachOther) {
  const json plan = {{"seconds", 20}};
  EXPECT_EQ(Join({At(2, 3), At(0, 3), At(1, 3)}, {plan, plan, plan}), std::vector<std::string>(3));
  for (size_t i = 0; i < 3; ++i) ASSERT_NE(groups_[i], nullptr);
  EXPECT_EQ(groups_[0]->index(), 2);
  EXPECT_EQ(groups_[1]->index(), 0);
  EXPECT_EQ(groups_[1]->count(), 3);
  EXPECT_FALSE(groups_[0]->host(2).empty());
  for (const auto& group : groups_) {
    const int64_t before = MonotonicNs(), told = group->now()();
    EXPECT_LE(before, told) << "whoever sets the time of day must not move the begin of a phase";
    EXPECT_LE(told, MonotonicNs());
  }
}

TEST_F(JoinTasksTest, AnotherPlanIsRefusedByTheNameOfTheOption) {
  const json plan = {{"rows", 5}, {"verify_every", 64}}, other = {{"rows", 5}, {"verify_every", 1}};
  for (const std::string& sentence : Join({At(0, 2), At(1, 2)}, {plan, other})) {
    EXPECT_THAT(sentence, HasSubstr("has verify-every 1 and task 0 has 64"));
  }
}

TEST_F(JoinTasksTest, AnotherCountIsRefused) {
  const json plan = {{"rows", 5}};
  for (const std::string& sentence : Join({At(0, 2), At(1, 3)}, {plan, plan})) {
    EXPECT_THAT(sentence, HasSubstr("has --task .../3 and task 0 has .../2"));
  }
}

TEST_F(JoinTasksTest, ATaskThatDoesNotComeIsNamed) {
  timeout_ = 0.5;
  EXPECT_THAT(Join({At(0, 3)}, {json::object()})[0], HasSubstr("task 1, 2 has not come to 127."));
  EXPECT_THAT(Join({At(1, 3)}, {json::object()})[0], HasSubstr("task 0 cannot be reached at 127."));
}

TEST_F(JoinTasksTest, AStrangerOnThePortKeepsNobodyOut) {
  const json plan = {{"rows", 5}};
  std::thread strangers([&] {
    Reached()->Send({{"hello", "world"}});
    Reached()->Send({{"testbed", 1}, {"step", ""}});
    Reached()->Send({{"testbed", "0"}, {"step", ""}, {"task", 1}, {"host", ""}, {"plan", plan}});
    Reached()->Send({{"testbed", "0"}, {"step", ""}, {"task", -1}, {"host", "n"}, {"plan", plan}});
    EXPECT_EQ(Join({At(1, 2)}, {plan}), std::vector<std::string>(1));
  });
  const std::unique_ptr<TaskGroup> first = JoinTasks(At(0, 2), plan);
  strangers.join();
  EXPECT_EQ(first->count(), 2);
}

TEST_F(JoinTasksTest, ConnectionsThatSayNothingDelayNobody) {
  const json plan = {{"rows", 5}};
  timeout_ = 4;  // less than the time for which a connection may be silent
  std::vector<std::unique_ptr<TaskLink>> silent;
  std::thread other([&] {
    for (int i = 0; i < 8; ++i) silent.push_back(Reached());
    EXPECT_EQ(Join({At(1, 2)}, {plan}), std::vector<std::string>(1));
  });
  const std::unique_ptr<TaskGroup> first = JoinTasks(At(0, 2), plan);
  other.join();
  EXPECT_EQ(first->count(), 2);
}

TEST_F(JoinTasksTest, AFirstLineWithoutAnEndIsCutOff) {
  const json plan = {{"rows", 5}};
  std::thread other([&] {
    const std::unique_ptr<TaskLink> endless = Reached();
    // Task 0 closes the connection before it has taken as much.
    EXPECT_FALSE(endless->Send({{"testbed", std::string(32 << 20, 'x')}}));
    EXPECT_EQ(Join({At(1, 2)}, {plan}), std::vector<std::string>(1));
  });
  const std::unique_ptr<TaskGroup> first = JoinTasks(At(0, 2), plan);
  other.join();
  EXPECT_EQ(first->count(), 2);
}

// Task 0 may have the record on another host, or in another directory.
TEST_F(JoinTasksTest, ATaskIsToldTheRecordThatTask0Reuses) {
  const json plan = {{"rows", 5}};
  for (const json& record : {json{{"rows", 5}, {"seed", 7}}, json::object()}) {
    std::thread other([&] {
      EXPECT_EQ(RecordOfFirst(At(1, 2)), record);
      EXPECT_EQ(Join({At(1, 2)}, {plan}), std::vector<std::string>(1));
    });
    const std::unique_ptr<TaskGroup> first = JoinTasks(At(0, 2), plan, json::object(), record);
    other.join();
    EXPECT_EQ(first->count(), 2);
  }
}

// A record of another version may mean something else.
TEST_F(JoinTasksTest, ATaskOfAnotherVersionIsToldNoRecord) {
  const json plan = {{"rows", 5}}, record = {{"rows", 5}, {"seed", 7}};
  const json hello = HelloOf(1, plan);
  for (const char* part : {"testbed", "commit", "sources"}) {
    SCOPED_TRACE(part);
    json asks = hello;
    asks[part] = "0";
    asks["asks_record"] = true;
    std::thread other([&] {
      const std::unique_ptr<TaskLink> link = Reached();
      link->Send(asks);
      const std::optional<TaskLine> answer = link->Await(30);
      ASSERT_TRUE(answer.has_value());
      EXPECT_FALSE(answer->line.contains("record"));
      EXPECT_THAT(answer->line.value("refused", std::string()), HasSubstr("is another version"));
    });
    EXPECT_THROW((void)JoinTasks(At(0, 3), plan, json::object(), record), Error);
    other.join();
  }
}

TEST_F(JoinTasksTest, ATaskOfAnotherStepIsToldNoRecord) {
  const json plan = {{"rows", 5}}, record = {{"rows", 5}, {"seed", 7}};
  std::thread other([&] {
    TaskOptions elsewhere = At(1, 2);
    elsewhere.step = "1.0";
    try {
      (void)RecordOfFirst(elsewhere);
      ADD_FAILURE() << "the record is another run's";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kUsage);
      EXPECT_THAT(error.what(), HasSubstr("another step of Slurm meets at this address"));
    }
    EXPECT_EQ(Join({At(1, 2)}, {plan}), std::vector<std::string>(1));
  });
  const std::unique_ptr<TaskGroup> first = JoinTasks(At(0, 2), plan, json::object(), record);
  other.join();
  EXPECT_EQ(first->count(), 2);
}

TEST_F(JoinTasksTest, ATaskThatAsksForTheRecordOfNobodyIsTold) {
  timeout_ = 0.5;
  try {
    (void)RecordOfFirst(At(1, 2));
    ADD_FAILURE() << "there is no task 0";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("task 0 cannot be reached at 127."));
  }
}

// The seconds that a stranger has to introduce himself.
class SlowStrangerTest : public JoinTasksTest, public testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(EveryWay, SlowStrangerTest, testing::Values(5));

// Each byte is heard, but only a task's.
TEST_P(SlowStrangerTest, WhoeverTricklesHisFirstLineIsDroppedInTime) {
  const json plan = {{"rows", 5}};
  std::thread other([&] {
    const std::unique_ptr<TaskLink> stranger = Reached();
    const auto begin = std::chrono::steady_clock::now();
    const auto waited = [begin] { return std::chrono::steady_clock::now() - begin; };
    const auto enough = std::chrono::seconds(GetParam() + 10);
    while (waited() < enough && ::send(stranger->fd(), " ", 1, MSG_NOSIGNAL) == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_LT(waited(), enough);
    EXPECT_EQ(Join({At(1, 2)}, {plan}), std::vector<std::string>(1));
  });
  const std::unique_ptr<TaskGroup> first = JoinTasks(At(0, 2), plan);
  other.join();
  EXPECT_EQ(first->count(), 2);
}

TEST_F(JoinTasksTest, ATaskThatEndsWhileOthersAreAwaitedMayBeStartedAgain) {
  const json plan = {{"rows", 5}};
  const json hello = HelloOf(1, plan);
  std::thread others([&] {
    Reached()->Send(hello);  // and ends
    EXPECT_EQ(Join({At(1, 3), At(2, 3)}, {plan, plan}), std::vector<std::string>(2));
  });
  const std::unique_ptr<TaskGroup> first = JoinTasks(At(0, 3), plan);
  others.join();
  EXPECT_EQ(first->count(), 3);
}

TEST_F(JoinTasksTest, ATaskThatIsThereAlreadyIsToldSo) {
  const json plan = {{"rows", 5}};
  const json hello = HelloOf(1, plan);
  std::thread others([&] {
    const std::unique_ptr<TaskLink> there = Reached();
    there->Send(hello);
    EXPECT_THAT(Join({At(1, 3)}, {plan})[0], HasSubstr("task 1 of the run is there already"));
    EXPECT_EQ(Join({At(2, 3)}, {plan}), std::vector<std::string>(1));
  });
  const std::unique_ptr<TaskGroup> first = JoinTasks(At(0, 3), plan);
  others.join();
  EXPECT_EQ(first->count(), 3);
}

TEST_F(JoinTasksTest, AStopOfOneTaskIsToldAsAStop) {
  const json plan = {{"rows", 5}};
  const json hello = HelloOf(1, plan);
  std::thread other([&] {
    const std::unique_ptr<TaskLink> link = Reached();
    link->Send(hello);
    link->Send({{"stopped", true}});
    EXPECT_TRUE(link->Await(30)->line.contains("stopped"));
  });
  EXPECT_THROW((void)JoinTasks(At(0, 3), plan), Stopped);
  other.join();
}

// The tasks that wait have not caused the end, and would not know why it came.
TEST_F(JoinTasksTest, ThoseWhoHaveComeAreToldWhoHasNot) {
  const json plan = {{"rows", 5}};
  timeout_ = 1;
  for (const std::string& sentence : Join({At(0, 3), At(1, 3)}, {plan, plan})) {
    EXPECT_THAT(sentence, HasSubstr("task 2 has not come to 127."));
  }
}

TEST_F(JoinTasksTest, AnAddressThatIsTakenOrOfAnotherHostIsRefused) {
  const TaskListener taken("127.0.0.1", port_);
  EXPECT_THAT(Join({At(0, 2)}, {json::object()})[0], HasSubstr("task 0 cannot listen there"));
  TaskOptions elsewhere = At(0, 2);
  elsewhere.host = "192.0.2.1";  // no host's address (RFC 5737)
  EXPECT_THAT(Join({elsewhere}, {json::object()})[0], HasSubstr("--task-address 192.0.2.1:"));
  elsewhere.host = std::string(64, 'x') + ".invalid";  // too long a name to ask a server for
  EXPECT_THAT(Join({elsewhere}, {json::object()})[0], HasSubstr("the host has no address"));
}

TEST(PlanDifferenceTest, NamesTheFirstOptionThatDiffers) {
  const json first = {{"engine", "mysql"}, {"threads", {8}}};
  EXPECT_EQ(PlanDifference(first, first, "task 1"), "");
  json longer = first;
  longer["release"] = "18";
  EXPECT_NE(PlanDifference(first, longer, "task 1").find("task 1 has release "), std::string::npos);
  EXPECT_EQ(PlanDifference(first, {{"engine", "mysql"}, {"threads", {4}}}, "task 1"),
            "task 1 has threads [4] and task 0 has [8]; give all tasks the same options");
}

// The plan has what follows from an option, such as the size of the cache, in bytes.
TEST(PlanDifferenceTest, NamesWhatTheUserHasGiven) {
  const json first = {{"cache_size", 67108864}, {"ram", 134217728}},
             other = {{"cache_size", 134217728}, {"ram", 268435456}};
  EXPECT_EQ(PlanDifference(first, other, "task 1",
                           OptionsGiven({"run", "--dir", "a", "--ram", "128M", "--task=0/2"}),
                           OptionsGiven({"run", "--dir", "b", "--task=1/2", "--ram=256M"})),
            "task 1 has --ram 256M and task 0 has --ram 128M; give all tasks the same options");
  EXPECT_EQ(PlanDifference(first, other, "task 1", OptionsGiven({"--ram", "128M"}),
                           OptionsGiven({"--dir", "b"})),
            "task 1 has no --ram and task 0 has --ram 128M; give all tasks the same options");
  const json warm = {{"drop_caches", false}, {"ram", 1}};
  const json cold = {{"drop_caches", true}, {"ram", 1}};
  EXPECT_EQ(PlanDifference(warm, cold, "task 1", OptionsGiven({"--ram", "1", "--seed", "1"}),
                           OptionsGiven({"--drop-caches", "--ram", "2", "--seed", "1"})),
            "task 1 has --drop-caches and task 0 has no --drop-caches; give all tasks the same "
            "options");
}

TEST(OptionsGivenTest, HasEachOptionWithItsValues) {
  EXPECT_EQ(OptionsGiven({"run", "--engine-option", "a=1", "--quiet", "--engine-option=b=2"}),
            json({{"--engine-option", "a=1 b=2"}, {"--quiet", ""}}));
}

}  // namespace
}  // namespace testbed
