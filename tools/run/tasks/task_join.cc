#include "tools/run/tasks/task_join.h"

#include <fmt/format.h>
#include <poll.h>

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
#include "device/machine/host.h"
#include "device/os/signal_guard.h"
#include "tools/output/json_text.h"
#include "tools/release/build_info.h"
#include "tools/run/tasks/clock_offset.h"

namespace testbed {
namespace {

using nlohmann::json;
using Deadline = std::chrono::steady_clock::time_point;

// Task 0 waits this long for the first line of a connection, which may be no task's.
constexpr double kFirstLineSeconds = 5;

std::string ThisHost() {
  const std::string name = HostName();
  return name.empty() ? "unknown" : name;
}

json Hello(const TaskOptions& options, const json& plan, const json& given) {
  return {{"testbed", TESTBED_VERSION},
          {"commit", ThisBuild().commit},
          {"sources", ThisBuild().sources},
          {"task", options.index},
          {"tasks", options.count},
          {"step", options.step},
          {"host", ThisHost()},
          {"given", given},
          {"plan", plan}};
}

// A member of a Hello by which a task asks for the record, and comes again to join.
constexpr char kAsksRecord[] = "asks_record";

Deadline DeadlineOf(const TaskOptions& options) {
  return std::chrono::steady_clock::now() +
         std::chrono::milliseconds(static_cast<int64_t>(options.timeout * 1000));
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

// Returns why the task that sent this hello does not belong to the run; empty when it does. Sets
// *all when the reason ends the run: it holds for all tasks, which are started alike.
std::string WhyNotOfRun(const json& hello, const json& own, bool* all) {
  const std::string other =
      fmt::format("task {} on host {}", hello.value("task", 0), hello.value("host", std::string()));
  if (hello.value("step", json()) != own.at("step")) {
    return "another step of Slurm meets at this address; give each step a --task-address";
  }
  *all = true;
  for (const char* part : {"testbed", "commit", "sources"}) {
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
  if (hello.contains(kAsksRecord)) return "";  // its plan follows from the record
  return PlanDifference(own.at("plan"), hello.value("plan", json::object()), other, own.at("given"),
                        hello.value("given", json()));
}

// Returns whether a line is the first one of a task. Another program may connect, too.
bool IsHello(const json& line) {
  const json task = line.value("task", json()), host = line.value("host", json());
  const auto is_text = [&line](const char* name) { return line.value(name, json()).is_string(); };
  return is_text("testbed") && task.is_number_unsigned() && host.is_string() &&
         !host.get_ref<const std::string&>().empty() && line.value("plan", json()).is_object();
}

// Task 0 while the others come to it. It listens to all connections at once, so that one that says
// nothing delays no other, and notes when a task that has come ends before the last one is there.
class Gathering {
 public:
  // `record` is told to those who ask for it.
  Gathering(const TaskOptions& options, const json& own, const json& record)
      : own_(own),
        record_(record),
        listener_(options.host, options.port),
        links_(static_cast<size_t>(options.count - 1)),
        hosts_(static_cast<size_t>(options.count)) {
    hosts_[0] = ThisHost();
  }

  // Returns whether all tasks are there.
  bool IsWhole() const { return std::count(links_.begin(), links_.end(), nullptr) == 0; }
  // Returns the numbers of the tasks that have not come, as text.
  std::string WhoIsMissing() const { return Missing(links_); }

  // Waits a moment for tasks and their lines, and takes what has come. Throws Error (kUsage) for a
  // difference between tasks with which none of them can go on, and Stopped when one was stopped.
  void Look() {
    constexpr int kNewsMs = 100;
    std::vector<pollfd> fds;
    // When kMostNewcomers connections are silent, the next connection waits to be accepted.
    const bool room = newcomers_.size() < kMostNewcomers;
    fds.push_back({room ? listener_.fd() : -1, POLLIN, 0});
    for (const Newcomer& one : newcomers_) fds.push_back({one.link->fd(), POLLIN, 0});
    for (const auto& link : links_) fds.push_back({link ? link->fd() : -1, POLLIN, 0});
    ::poll(fds.data(), fds.size(), kNewsMs);
    DropEnded();
    HearNewcomers();
    if (!room) return;
    std::unique_ptr<TaskLink> link = listener_.Accept(0, MonotonicNs);
    if (link == nullptr) return;
    link->LimitSends(kFirstLineSeconds);
    link->LimitLines(kLongestHello);
    newcomers_.push_back({std::move(link), std::chrono::steady_clock::now()});
  }

  // Forgets the tasks whose connection is closed: they may be started again. Throws Stopped when
  // one of them was asked to stop.
  void DropEnded() {
    for (auto& link : links_) {
      std::vector<TaskLine> lines;
      if (link == nullptr) continue;
      const bool open = link->Read(0, &lines);
      if (!lines.empty()) ThrowIfStopped(lines.front().line);
      // A task says nothing else until it is told that all have come.
      if (!open || !lines.empty()) link.reset();
    }
  }

  // Sends the line to all tasks that have come.
  void Tell(const json& line) {
    for (const auto& link : links_) {
      if (link != nullptr) link->Send(line);
    }
  }

  std::unique_ptr<TaskGroup> Group(double timeout) {
    Tell({{"welcome", hosts_}});
    return std::make_unique<TaskGroup>(0, std::move(hosts_), std::move(links_), timeout,
                                       MonotonicNs);
  }

 private:
  struct Newcomer {
    std::unique_ptr<TaskLink> link;
    std::chrono::steady_clock::time_point came;
  };
  static constexpr size_t kMostNewcomers = 500;
  // The longest first line, which has the plan.
  static constexpr size_t kLongestHello = 1 << 20;

  // Takes the first lines that have come, and drops connections that have been silent for
  // kFirstLineSeconds.
  void HearNewcomers() {
    std::vector<Newcomer> silent;
    for (Newcomer& one : std::exchange(newcomers_, {})) {
      std::vector<TaskLine> lines;
      const bool open = one.link->Read(0, &lines);
      if (!lines.empty()) {
        const json& line = lines.front().line;
        const bool taken = IsHello(line) && Admit(std::move(one.link), line);
        if (taken && lines.size() > 1) ThrowIfStopped(lines[1].line);
      } else if (open && -SecondsUntil(one.came) < kFirstLineSeconds) {
        silent.push_back(std::move(one));
      }
    }
    newcomers_ = std::move(silent);
  }

  static void ThrowIfStopped(const json& line) {
    if (line.contains("stopped")) throw Stopped("in another task while the tasks gathered");
  }

  // Takes the task that has said this hello, if it is one of the run. Returns whether it is. A task
  // that asks for the record is told it, and comes again.
  bool Admit(std::unique_ptr<TaskLink> link, const json& hello) {
    bool all = false;
    const std::string why = WhyNotOfRun(hello, own_, &all);
    if (!why.empty()) {
      link->Send({{"refused", why}});
      if (all) throw Error(Error::kUsage, why);
      return false;
    }
    if (hello.contains(kAsksRecord)) {
      link->Send({{"record", record_}});
      return false;
    }
    const auto index = hello.at("task").get<size_t>();
    if (index == 0 || index > links_.size()) return false;
    if (links_[index - 1] != nullptr) DropEnded();
    if (links_[index - 1] != nullptr) {
      link->Send({{"refused", fmt::format("task {} of the run is there already, on host {}; give "
                                          "each task a number of its own",
                                          index, hosts_[index])}});
      return false;
    }
    hosts_[index] = hello.at("host").get<std::string>();
    link->LimitLines(TaskLink::kLongestLine);
    links_[index - 1] = std::move(link);
    return true;
  }

  const json& own_;
  const json& record_;
  TaskListener listener_;
  std::vector<Newcomer> newcomers_;
  std::vector<std::unique_ptr<TaskLink>> links_;  // links to tasks 1, 2, ...; null: not there
  std::vector<std::string> hosts_;                // hosts of all tasks
};

// Waits until all tasks are there. Throws Stopped when the run should end before.
void Gather(const TaskOptions& options, Deadline deadline, Gathering* gathering) {
  for (;;) {
    // The last one may have come after another one has ended.
    gathering->DropEnded();
    if (gathering->IsWhole()) return;
    if (StopRequested()) throw Stopped("while it waited for the other tasks");
    if (SecondsUntil(deadline) < 0) {
      throw Error(
          Error::kUsage,
          fmt::format("--task {}: task {} has not come to {} within {:g} s; start all "
                      "tasks of a run together, or raise --task-timeout",
                      options.task, gathering->WhoIsMissing(), PlaceOf(options), options.timeout));
    }
    gathering->Look();
  }
}

std::unique_ptr<TaskGroup> JoinAsFirst(const TaskOptions& options, const json& own,
                                       const json& record, Deadline deadline) {
  Gathering gathering(options, own, record);
  try {
    Gather(options, deadline, &gathering);
  } catch (const Stopped&) {
    gathering.Tell({{"stopped", true}});
    throw;
  } catch (const Error& error) {
    gathering.Tell({{"refused", error.what()}});
    throw;
  }
  return gathering.Group(options.timeout);
}

// Connects to task 0, which may not listen yet.
std::unique_ptr<TaskLink> Reach(const TaskOptions& options, Deadline deadline) {
  std::string why = "nobody listens there";
  while (SecondsUntil(deadline) > 0) {
    if (StopRequested()) throw Stopped("while it waited for task 0");
    if (auto link = ConnectToTask(options.host, options.port, MonotonicNs, &why)) return link;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw Error(Error::kUsage,
              fmt::format("--task {}: task 0 cannot be reached at {} within {:g} s ({}); start all "
                          "tasks of a run together, and give all the same --task-address",
                          options.task, PlaceOf(options), options.timeout, why));
}

// Waits for the line by which task 0 says that all tasks are there. Tells task 0 when the user
// stops this task before.
std::optional<TaskLine> AwaitAll(TaskLink* link, double seconds) {
  try {
    return link->Await(seconds);
  } catch (const Stopped&) {
    link->Send({{"stopped", true}});
    throw;
  }
}

// Returns the error of a task that gets no answer of task 0.
Error NoAnswerOfFirst(const TaskOptions& options) {
  return {Error::kUsage,
          fmt::format("--task {}: task 0 at {} has ended, or waits for another task; its own "
                      "message says more",
                      options.task, PlaceOf(options))};
}

// Throws Error (kUsage) when the answer of task 0 is that it refuses this task.
void ThrowIfRefused(const json& answer) {
  if (!answer.contains("refused")) return;
  throw Error(Error::kUsage, answer.value("refused", std::string()));
}

std::unique_ptr<TaskGroup> JoinAsOther(const TaskOptions& options, const json& own,
                                       Deadline deadline) {
  std::unique_ptr<TaskLink> link = Reach(options, deadline);
  link->Send(own);
  // Task 0 waits for the last task as long as this one does, and may have begun later.
  const std::optional<TaskLine> answer =
      AwaitAll(link.get(), SecondsUntil(deadline) + options.timeout);
  if (!answer) throw NoAnswerOfFirst(options);
  if (answer->line.contains("stopped")) throw Stopped("in task 0 while the tasks gathered");
  ThrowIfRefused(answer->line);
  const json hosts = answer->line.value("welcome", json::array());
  const bool whole =
      hosts.size() == static_cast<size_t>(options.count) &&
      std::all_of(hosts.begin(), hosts.end(), [](const json& host) { return host.is_string(); });
  if (!whole) {
    throw Error(Error::kUsage,
                fmt::format("--task-address {}: the process there is not task 0 of this run",
                            PlaceOf(options)));
  }
  std::vector<std::unique_ptr<TaskLink>> links;
  links.push_back(std::move(link));
  return std::make_unique<TaskGroup>(options.index, hosts.get<std::vector<std::string>>(),
                                     std::move(links), options.timeout, MonotonicNs);
}

// Returns whether the tasks may be given different values of the option.
bool IsOfEachTask(const std::string& option) {
  static const std::vector<std::string> all = {
      "--csv",    "--csv-series", "--dir",          "--fresh",           "--json",
      "--label",  "--live",       "--quiet",        "--report-interval", "--reuse",
      "--strict", "--task",       "--task-address", "--task-timeout",    "--wide"};
  return std::find(all.begin(), all.end(), option) != all.end();
}

// Returns the value that the option is given; null when it is not given.
json ValueIn(const json& given, const std::string& option) {
  if (!given.is_object()) return nullptr;
  json value = given.value(option, json());
  if (!value.is_string()) return nullptr;
  return value;
}

// Returns an option that two tasks are given differently: `wanted`, or another one; "" when there
// is none.
std::string OptionThatDiffers(const json& first, const json& other, const std::string& wanted) {
  if (ValueIn(first, wanted) != ValueIn(other, wanted)) return wanted;
  for (const json* given : {&first, &other}) {
    if (!given->is_object()) continue;
    for (const auto& [option, value] : given->items()) {
      if (!IsOfEachTask(option) && ValueIn(first, option) != ValueIn(other, option)) return option;
    }
  }
  return "";
}

// Returns the option with its value, as the user has given it.
std::string AsGiven(const json& given, const std::string& option) {
  const json value = ValueIn(given, option);
  if (value.is_null()) return "no " + option;
  const auto text = value.get<std::string>();
  return text.empty() ? option : option + " " + text;
}

}  // namespace

json OptionsGiven(const std::vector<std::string>& words) {
  json given = json::object();
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) continue;
    const size_t equals = words[i].find('=');
    const std::string option = words[i].substr(0, equals);
    std::string value;
    if (equals != std::string::npos) {
      value = words[i].substr(equals + 1);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      value = words[++i];
    }
    // Some options may be given again.
    const std::string before = given.value(option, std::string());
    given[option] = before.empty() ? value : before + " " + value;
  }
  return given;
}

std::string PlanDifference(const json& of_first, const json& of_other, const std::string& other,
                           const json& given_first, const json& given_other) {
  json names = of_first;
  names.update(of_other);  // a plan may have settings that the other lacks
  for (const auto& [name, any] : names.items()) {
    const json value = of_first.value(name, json()), theirs = of_other.value(name, json());
    if (theirs == value) continue;
    std::string setting = name;
    std::replace(setting.begin(), setting.end(), '_', '-');
    const std::string option = OptionThatDiffers(given_first, given_other, "--" + setting);
    if (option.empty()) {
      return fmt::format("{} has {} {} and task 0 has {}; give all tasks the same options", other,
                         setting, JsonText(theirs), JsonText(value));
    }
    return fmt::format("{} has {} and task 0 has {}; give all tasks the same options", other,
                       AsGiven(given_other, option), AsGiven(given_first, option));
  }
  return "";
}

std::unique_ptr<TaskGroup> JoinTasks(const TaskOptions& options, const json& plan,
                                     const json& given, const json& record) {
  const Deadline deadline = DeadlineOf(options);
  const json own = Hello(options, plan, given);
  return options.guest() ? JoinAsOther(options, own, deadline)
                         : JoinAsFirst(options, own, record, deadline);
}

json RecordOfFirst(const TaskOptions& options) {
  const Deadline deadline = DeadlineOf(options);
  const std::unique_ptr<TaskLink> link = Reach(options, deadline);
  json asks = Hello(options, json::object(), json::object());
  asks[kAsksRecord] = true;
  link->Send(asks);
  const std::optional<TaskLine> answer = link->Await(SecondsUntil(deadline));
  if (!answer) throw NoAnswerOfFirst(options);
  ThrowIfRefused(answer->line);
  json record = answer->line.value("record", json());
  return record.is_object() ? record : json::object();
}

}  // namespace testbed
