#include "tools/run/tasks/task_group.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "device/os/thread.h"

namespace testbed {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

std::atomic<bool> task_lost{false}, task_stopped{false};

// The interval at which a task tells the others that it lives, and the longest time until its
// thread notices that it should end.
constexpr std::chrono::seconds kSayAlive(1);
constexpr int kLookMs = 50;
// The number of exchanges, of which the fastest tells the offset of a clock.
constexpr int kExchanges = 16;
// Time between the last arrival and the start, in which all tasks learn of it.
constexpr int64_t kToStartNs = 50'000'000, kToStartPerTaskNs = 1'000'000;
// Seconds for which task 0 waits for the others once the run should end.
constexpr double kStopPatience = 10;

double SecondsSince(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

}  // namespace

bool TaskIsLost() { return task_lost.load(std::memory_order_relaxed); }

bool TaskIsStopped() { return task_stopped.load(std::memory_order_relaxed); }

bool StopOfAnyTask() { return StopRequested() || TaskIsStopped(); }

TaskGroup::TaskGroup(int index, std::vector<std::string> hosts,
                     std::vector<std::unique_ptr<TaskLink>> links, double timeout, Now now)
    : index_(index),
      hosts_(std::move(hosts)),
      links_(std::move(links)),
      timeout_(timeout),
      now_(std::move(now)),
      inbox_(links_.size()),
      lost_(links_.size()),
      stopped_(links_.size()) {
  for (const auto& link : links_) link->LimitSends(timeout_);
}

TaskGroup::~TaskGroup() {
  ending_ = true;
  if (watch_.joinable()) watch_.join();
}

std::string TaskGroup::NameOf(size_t task) const {
  return fmt::format("task {} of {} on host {}", task, hosts_.size(), hosts_[task]);
}

void TaskGroup::Begin() {
  task_lost = false;
  task_stopped = false;
  heard_.assign(links_.size(), steady_clock::now());
  watch_ = StartThread("the tasks of the run", [this] { Watch(); });
}

// The thread that Begin starts runs this function.
void TaskGroup::Watch() {
  steady_clock::time_point said{}, awake = steady_clock::now();
  std::vector<bool> open(links_.size(), true);
  while (!ending_) {
    std::vector<pollfd> fds;
    for (size_t i = 0; i < links_.size(); ++i) {
      fds.push_back({open[i] ? links_[i]->fd() : -1, POLLIN, 0});
    }
    ::poll(fds.data(), fds.size(), kLookMs);
    if (SecondsSince(awake) > timeout_) NoteSleep(SecondsSince(awake));
    if (StopOfAnyTask()) Stop();
    for (size_t i = 0; i < links_.size() && !ending_; ++i) {
      if (!open[i]) continue;
      std::vector<TaskLine> lines;
      const uint64_t received = links_[i]->received();
      open[i] = links_[i]->Read(0, &lines);
      // A long line, as of the seconds of a long phase, may be under way for longer than timeout_.
      if (links_[i]->received() != received) heard_[i] = steady_clock::now();
      try {
        TakeLines(i, std::move(lines));
      } catch (const std::exception&) {
        open[i] = false;  // the other end is no task
      }
      if (!open[i]) LoseSilent(i, "has ended");
      if (SecondsSince(heard_[i]) > timeout_) {
        LoseSilent(i, fmt::format("has said nothing for {:g} s (--task-timeout)", timeout_));
      }
    }
    const bool say = steady_clock::now() - said >= kSayAlive;
    if (say) said = steady_clock::now();
    for (size_t i = 0; say && i < links_.size() && !ending_; ++i) {
      if (open[i]) links_[i]->Send({{"alive", true}});
    }
    awake = steady_clock::now();  // a send may have waited for the other end
  }
}

void TaskGroup::TakeLines(size_t link, std::vector<TaskLine> lines) {
  for (TaskLine& line : lines) {
    if (line.line.contains("alive")) continue;
    if (line.line.contains("ask_time")) {
      // Answers with this host's time. The asking task measures how long the answer took; a delay
      // here only makes the offset less certain.
      const int64_t asked = line.line.value("ask_time", int64_t{0}), received = line.at_ns;
      const int64_t ahead = WallAheadOf(now_);
      links_[link]->SendMade(
          [&] { return json{{"time", {asked, received, now_()}}, {"wall_ahead", ahead}}; });
      continue;
    }
    if (line.line.contains("failed")) {
      Lose(link, "failed: " + line.line.value("failed", std::string()),
           line.line.value("exit_code", 1) == 2);
      continue;
    }
    const bool ended = line.line.contains("stopped");
    if (ended || line.line.contains("stop")) task_stopped = true;
    if (line.line.contains("stop")) continue;
    const LockGuard lock(mutex_);
    if (ended) {
      stopped_[link] = true;
      changed_.notify_all();
      continue;
    }
    inbox_[link].push_back(std::move(line));
    changed_.notify_all();
  }
}

void TaskGroup::Lose(size_t link, const std::string& why, bool usage) {
  const LockGuard lock(mutex_);
  if (stopped_[link] || !lost_[link].why.empty()) return;
  lost_[link] = {why, usage};
  task_lost = true;
  changed_.notify_all();
}

// Marks a task as lost that has given no reason. When the run should end, it is marked as stopped
// instead.
void TaskGroup::LoseSilent(size_t link, const std::string& why) {
  if (!StopOfAnyTask()) return Lose(link, why);
  const LockGuard lock(mutex_);
  if (lost_[link].why.empty()) stopped_[link] = true;
  changed_.notify_all();
}

// Notes that this process has not run for so long that the others have lost it. The reason is this
// process, even where their connections are closed.
void TaskGroup::NoteSleep(double seconds) {
  const LockGuard lock(mutex_);
  if (!slept_.empty()) return;
  slept_ = fmt::format(
      "{}, which is this one, was itself stopped for {:.1f} s, so that the others have lost it "
      "(--task-timeout {:g})",
      NameOf(static_cast<size_t>(index_)), seconds, timeout_);
  task_lost = true;
  changed_.notify_all();
}

void TaskGroup::ThrowIfLost() {
  const LockGuard lock(mutex_);
  if (!slept_.empty()) throw Error(Error::kRun, slept_);
  for (size_t i = 0; i < lost_.size(); ++i) {
    if (lost_[i].why.empty()) continue;
    throw Error(lost_[i].usage ? Error::kUsage : Error::kRun,
                NameOf(TaskOf(i)) + " " + lost_[i].why);
  }
  for (size_t i = 0; i < stopped_.size(); ++i) {
    if (stopped_[i]) throw Stopped("in " + NameOf(TaskOf(i)));
  }
}

// Throws the reason why the other task no longer receives. Waits up to two seconds for that task's
// last message, which may give the reason.
void TaskGroup::ThrowUnsent(size_t link) {
  constexpr double kToHearSeconds = 2;
  const steady_clock::time_point begin = steady_clock::now();
  while (SecondsSince(begin) < kToHearSeconds) {
    ThrowIfLost();
    std::this_thread::sleep_for(std::chrono::milliseconds(kLookMs));
  }
  BreakWith(link, "has ended");
}

void TaskGroup::BreakWith(size_t link, const std::string& what) const {
  throw Error(Error::kRun, fmt::format("{} {}", NameOf(TaskOf(link)), what));
}

void TaskGroup::SendTo(size_t link, const json& line) {
  if (!links_[link]->Send(line)) ThrowUnsent(link);
}

// Returns the next line of the link. What a task has sent before it was lost is still taken.
TaskLine TaskGroup::Take(size_t link, const At& at, steady_clock::time_point begin,
                         double patience) {
  // A task other than task 0 waits twice as long, because task 0 may itself be waiting for a third
  // task.
  const double stop_patience = index_ == 0 ? kStopPatience : 2 * kStopPatience;
  bool stops = false;
  steady_clock::time_point stop_began = begin;
  for (;;) {
    {
      const LockGuard lock(mutex_);
      if (inbox_[link].empty()) {
        changed_.wait_for(mutex_, std::chrono::milliseconds(kLookMs));
      }
      if (!inbox_[link].empty()) {
        TaskLine line = std::move(inbox_[link].front());
        inbox_[link].pop_front();
        return line;
      }
    }
    ThrowIfLost();
    if (StopOfAnyTask()) {
      if (!stops) stop_began = steady_clock::now();
      stops = true;
      if (SecondsSince(stop_began) < stop_patience) continue;
      throw Stopped("while it waited for the other tasks at " + at.where);
    }
    if (patience > 0 && SecondsSince(begin) > patience) {
      BreakWith(link, fmt::format("lives, but has not come to {} within {:g} s (--task-timeout)",
                                  at.where, patience));
    }
  }
}

// Asks the task of the link for its time, several times.
ClockOffset TaskGroup::Compare(size_t link, const At& at) {
  std::vector<ClockExchange> exchanges;
  int64_t wall_ahead = 0;  // the other host's time of day less its clock
  for (int i = 0; i < kExchanges; ++i) {
    const bool sent = links_[link]->SendMade([this] { return json{{"ask_time", now_()}}; });
    if (!sent) ThrowUnsent(link);
    const TaskLine answer = Take(link, at, steady_clock::now(), timeout_);
    const json times = answer.line.value("time", json::array());
    const bool whole =
        times.size() == 3 && std::all_of(times.begin(), times.end(),
                                         [](const json& time) { return time.is_number_integer(); });
    if (!whole) BreakWith(link, "did not tell its time at " + at.where);
    exchanges.push_back(
        {times[0].get<int64_t>(), times[1].get<int64_t>(), times[2].get<int64_t>(), answer.at_ns});
    wall_ahead = answer.line.value("wall_ahead", int64_t{0});
  }
  ClockOffset offset = OffsetOf(exchanges);
  offset.wall_ns = offset.ns + wall_ahead - WallAheadOf(now_);
  return offset;
}

TaskGroup::Meeting TaskGroup::Meet(const At& at, const json& told, const Unite& unite) {
  return index_ == 0 ? MeetAsFirst(at, told, unite) : MeetAsOther(at, told);
}

TaskGroup::Meeting TaskGroup::MeetAsFirst(const At& at, const json& told, const Unite& unite) {
  std::vector<json> all;
  all.push_back(told);
  const steady_clock::time_point begin = steady_clock::now();
  for (size_t i = 0; i < links_.size(); ++i) {
    const TaskLine line = Take(i, at, begin, at.patience);
    const std::string where = line.line.value("at", std::string());
    if (where != at.where) {
      BreakWith(i, fmt::format("is at {} when the others are at {}", where, at.where));
    }
    all.push_back(line.line.value("told", json()));
  }
  Meeting met;
  if (at.compares_clocks) {
    met.offsets.push_back({});
    for (size_t i = 0; i < links_.size(); ++i) met.offsets.push_back(Compare(i, at));
  }
  met.answer = unite(std::move(all));
  const auto others = static_cast<int64_t>(links_.size());
  met.start_ns = now_() + kToStartNs + others * kToStartPerTaskNs;
  for (size_t i = 0; i < links_.size(); ++i) {
    const int64_t offset = at.compares_clocks ? met.offsets[i + 1].ns : 0;
    SendTo(i, {{"go", at.where}, {"start", met.start_ns + offset}, {"answer", met.answer}});
  }
  return met;
}

TaskGroup::Meeting TaskGroup::MeetAsOther(const At& at, const json& told) {
  SendTo(0, {{"at", at.where}, {"told", told}});
  // Task 0 may wait `patience` for the last task, from its own arrival on, so this task waits twice
  // as long.
  const TaskLine line = Take(0, at, steady_clock::now(), at.patience * 2);
  if (line.line.value("go", std::string()) != at.where) {
    BreakWith(0, "is not at " + at.where + " as the others are");
  }
  Meeting met;
  met.answer = line.line.value("answer", json());
  met.start_ns = line.line.value("start", int64_t{0});
  return met;
}

void TaskGroup::Stop() {
  task_stopped = true;
  if (told_stop_.exchange(true)) return;
  for (const auto& link : links_) link->Send({{"stop", true}});
}

void TaskGroup::End(const std::string& why, int exit_code) {
  EndWith(why.empty() ? json() : json{{"failed", why}, {"exit_code", exit_code}});
}

void TaskGroup::EndStopped() { EndWith({{"stopped", true}}); }

// Ends the thread, after the line has been sent unless it is null.
void TaskGroup::EndWith(const json& line) {
  for (const auto& link : links_) {
    try {
      if (!line.is_null()) link->Send(line);
    } catch (const std::exception&) {
      // The others notice that the connection is closed.
    }
  }
  ending_ = true;
  if (watch_.joinable()) watch_.join();
}

void AwaitStart(const TaskGroup::Meeting& met, const TaskGroup::Now& now) {
  constexpr int64_t kNapNs = 10'000'000;
  // The wait is bounded, because a clock stands still while its machine sleeps, and `start_ns` may
  // never come.
  constexpr double kMostSeconds = 10;
  const steady_clock::time_point begin = steady_clock::now();
  while (SecondsSince(begin) < kMostSeconds) {
    const int64_t left = met.start_ns - now();
    if (left <= 0 || TaskIsLost() || StopOfAnyTask()) return;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, kNapNs)));
  }
}

}  // namespace testbed
