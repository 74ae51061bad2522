#include "tools/run/tasks/task_join.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/output/json_text.h"
#include "tools/release/build_info.h"
#include "workloads/measure/clock.h"

namespace testbed {
namespace {

using nlohmann::json;
using Deadline = std::chrono::steady_clock::time_point;

// How long task 0 waits for the first line of whoever has connected, who may be a stranger.
constexpr double kFirstLineSeconds = 2;

std::string ThisHost() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

json Hello(const TaskOptions& options, const json& plan) {
  return {{"testbed", TESTBED_VERSION},
          {"commit", ThisBuild().commit},
          {"task", options.index},
          {"tasks", options.count},
          {"step", options.step},
          {"host", ThisHost()},
          {"plan", plan}};
}

std::string PlaceOf(const TaskOptions& options) { return options.host + ":" + options.port; }

double SecondsUntil(Deadline deadline) {
  return std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count();
}

// Returns the numbers of the tasks that have not come, as text.
std::string Missing(const std::vector<std::unique_ptr<TaskLink>>& links) {
  constexpr int kMost = 5;
  std::string text;
  int n = 0;
  for (size_t i = 0; i < links.size(); ++i) {
    if (links[i] != nullptr) continue;
    if (n++ < kMost) text += (text.empty() ? "" : ", ") + std::to_string(i + 1);
  }
  return n > kMost ? fmt::format("{} and {} more", text, n - kMost) : text;
}

// Returns why whoever says this hello does not belong to the run; empty when he does. `all` is set
// when no task can go on, as all have been started alike.
std::string WhyNotOfRun(const json& hello, const json& own, bool* all) {
  const std::string other =
      fmt::format("task {} on host {}", hello.value("task", 0), hello.value("host", std::string()));
  if (hello.value("step", json()) != own.at("step")) {
    return "another step of Slurm meets at this address; give each step a --task-address";
  }
  *all = true;
  for (const char* part : {"testbed", "commit"}) {
    if (hello.value(part, json()) == own.at(part)) continue;
    return fmt::format(
        "{} is another version of testbed than task 0; install the same one on each "
        "host",
        other);
  }
  if (hello.value("tasks", json()) != own.at("tasks")) {
    return fmt::format("{} has --task .../{} and task 0 has .../{}; give the same count to all",
                       other, JsonText(hello.value("tasks", json())), JsonText(own.at("tasks")));
  }
  return PlanDifference(own.at("plan"), hello.value("plan", json::object()), other);
}

// Takes the task that has connected into *links and *hosts, if it is one.
void Admit(std::unique_ptr<TaskLink> link, const json& own,
           std::vector<std::unique_ptr<TaskLink>>* links, std::vector<std::string>* hosts) {
  link->LimitSends(kFirstLineSeconds);
  const std::optional<TaskLine> first = link->Await(kFirstLineSeconds);
  if (!first || !first->line.contains("testbed")) return;  // a stranger
  const json& hello = first->line;
  try {
    bool all = false;
    const std::string why = WhyNotOfRun(hello, own, &all);
    if (!why.empty()) {
      link->Send({{"refused", why}});
      if (all) throw Error(Error::kUsage, why);
      return;
    }
    const auto index = hello.at("task").get<size_t>();
    if (index == 0 || index > links->size()) return;
    if ((*links)[index - 1] != nullptr) {
      link->Send({{"refused", fmt::format("task {} of the run is there already, on host {}; give "
                                          "each task a number of its own",
                                          index, (*hosts)[index])}});
      return;
    }
    (*hosts)[index] = hello.at("host").get<std::string>();
    (*links)[index - 1] = std::move(link);
  } catch (const json::exception&) {
    // A stranger, too.
  }
}

std::unique_ptr<TaskGroup> JoinAsFirst(const TaskOptions& options, const json& own,
                                       Deadline deadline) {
  TaskListener listener(options.host, options.port);
  std::vector<std::unique_ptr<TaskLink>> links(static_cast<size_t>(options.count - 1));
  std::vector<std::string> hosts(static_cast<size_t>(options.count));
  hosts[0] = ThisHost();
  const auto missing = [&] { return std::count(links.begin(), links.end(), nullptr); };
  while (missing() > 0) {
    if (StopRequested()) throw Stopped("while it waited for the other tasks");
    if (SecondsUntil(deadline) < 0) {
      throw Error(Error::kUsage,
                  fmt::format("--task {}: task {} has not come to {} within {:g} s; start all "
                              "tasks of a run together, or raise --task-timeout",
                              options.task, Missing(links), PlaceOf(options), options.timeout));
    }
    std::unique_ptr<TaskLink> link = listener.Accept(0.1, SystemNs);
    if (link != nullptr) Admit(std::move(link), own, &links, &hosts);
  }
  for (const auto& link : links) link->Send({{"welcome", hosts}});
  return std::make_unique<TaskGroup>(0, std::move(hosts), std::move(links), options.timeout,
                                     SystemNs);
}

// Connects to task 0, which may not listen yet.
std::unique_ptr<TaskLink> Reach(const TaskOptions& options, Deadline deadline) {
  std::string why = "nobody listens there";
  while (SecondsUntil(deadline) > 0) {
    if (StopRequested()) throw Stopped("while it waited for task 0");
    if (auto link = ConnectToTask(options.host, options.port, SystemNs, &why)) return link;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw Error(Error::kUsage,
              fmt::format("--task {}: task 0 cannot be reached at {} within {:g} s ({}); start all "
                          "tasks of a run together, and give all the same --task-address",
                          options.task, PlaceOf(options), options.timeout, why));
}

std::unique_ptr<TaskGroup> JoinAsOther(const TaskOptions& options, const json& own,
                                       Deadline deadline) {
  std::unique_ptr<TaskLink> link = Reach(options, deadline);
  link->Send(own);
  // Task 0 waits for the last task as long as this one does, and may have begun later.
  const std::optional<TaskLine> answer = link->Await(SecondsUntil(deadline) + options.timeout);
  if (!answer) {
    throw Error(Error::kUsage,
                fmt::format("--task {}: task 0 at {} has ended, or waits for another task; its own "
                            "message says more",
                            options.task, PlaceOf(options)));
  }
  if (answer->line.contains("refused")) {
    throw Error(Error::kUsage, answer->line.value("refused", std::string()));
  }
  const json hosts = answer->line.value("welcome", json::array());
  const bool whole =
      hosts.size() == static_cast<size_t>(options.count) &&
      std::all_of(hosts.begin(), hosts.end(), [](const json& host) { return host.is_string(); });
  if (!whole) {
    throw Error(Error::kUsage,
                fmt::format("--task-address {}: who answers there is no task 0 of this run",
                            PlaceOf(options)));
  }
  std::vector<std::unique_ptr<TaskLink>> links;
  links.push_back(std::move(link));
  return std::make_unique<TaskGroup>(options.index, hosts.get<std::vector<std::string>>(),
                                     std::move(links), options.timeout, SystemNs);
}

}  // namespace

std::string PlanDifference(const json& of_first, const json& of_other, const std::string& other) {
  for (const auto& [name, value] : of_first.items()) {
    const json theirs = of_other.value(name, json());
    if (theirs == value) continue;
    std::string option = name;
    std::replace(option.begin(), option.end(), '_', '-');
    return fmt::format("{} has {} {} and task 0 has {}; give all tasks the same options", other,
                       option, JsonText(theirs), JsonText(value));
  }
  return "";
}

std::unique_ptr<TaskGroup> JoinTasks(const TaskOptions& options, const json& plan) {
  const Deadline deadline = std::chrono::steady_clock::now() +
                            std::chrono::milliseconds(static_cast<int64_t>(options.timeout * 1000));
  const json own = Hello(options, plan);
  return options.guest() ? JoinAsOther(options, own, deadline)
                         : JoinAsFirst(options, own, deadline);
}

}  // namespace testbed
