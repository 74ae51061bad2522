#include "tools/experiment/cluster/coordinator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/dir_lock.h"
#include "device/os/signal_guard.h"
#include "device/os/sys_file.h"
#include "tools/experiment/cluster/blocks.h"
#include "tools/experiment/cluster/host_check.h"
#include "tools/output/progress.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

using Clock = std::chrono::steady_clock;

// The time for which a scheduler may not answer, because it or its host is restarted. Its jobs go
// on meanwhile.
constexpr std::chrono::minutes kPatience(10);
// The time within which a scheduler takes up a job whose submission was interrupted.
constexpr std::chrono::seconds kTakesUp(5);

class Coordinator {
 public:
  Coordinator(const std::vector<Cell>& cells, const ResultsDir& results, Launcher* launcher,
              const CoordinatorOptions& options)
      : results_(results), launcher_(launcher), options_(options), cells_(cells) {
    for (const Cell& cell : cells_) {
      if (cell.runs()) files_.insert(CellKey(cell) + ".json");
    }
  }

  bool Execute();

 private:
  std::vector<std::string> OpenBlocks() const;
  size_t Finished() const;
  void Watch();
  void KeepFromRefused(const ClusterTasks& tasks);
  std::set<std::string> RefusedNames() const;
  ClusterTasks LookPatiently();
  void Show(const ClusterTasks& tasks, size_t finished);
  void Cancel(bool submission_was_cut);
  void NameOpenBlocks(const std::vector<std::string>& blocks) const;
  void Say(const std::string& text) const {
    if (!options_.progress.quiet) fmt::print(stderr, "testbed: {}\n", text);
  }

  const ResultsDir& results_;
  Launcher* const launcher_;
  const CoordinatorOptions& options_;
  const std::vector<Cell>& cells_;
  std::set<std::string> files_;                 // names of the cells' files
  std::map<std::string, std::string> refused_;  // reasons, by host
  std::set<std::string> excluded_;              // refused hosts that tasks are kept from
  ProgressLine progress_{"experiment", options_.progress};
  const Clock::time_point start_ = Clock::now();
  Clock::time_point answered_ = Clock::now();
  size_t finished_before_ = 0;
};

void Wait(std::chrono::milliseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end && !StopRequested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// Calls the launcher. Returns false when the launcher fails because the user asks to stop: Ctrl-C
// also ends the launcher's program, perhaps a moment before the request is noticed here. What that
// program has started then runs until it is cancelled. Throws the Error of any other failure.
bool IsDone(const std::function<void()>& call) {
  try {
    call();
    return true;
  } catch (const Error&) {
    Wait(std::chrono::milliseconds(100));
    if (!StopRequested()) throw;
    return false;
  }
}

// The blocks that take longest begin first, so that none of them is left alone at the end.
std::vector<std::string> Coordinator::OpenBlocks() const {
  std::vector<Block> blocks = BlocksOf(cells_, results_);
  std::erase_if(blocks, [](const Block& block) { return block.left == 0; });
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block& a, const Block& b) { return a.seconds > b.seconds; });
  std::vector<std::string> keys;
  for (const Block& block : blocks) keys.push_back(block.key);
  return keys;
}

// Returns the number of finished cells. Reads the directory, which asks an NFS server anew; a stat
// of each file may be answered from the client's cache.
size_t Coordinator::Finished() const {
  const std::vector<std::string> names = NamesIn(results_.path() + "/cells");
  return static_cast<size_t>(std::count_if(
      names.begin(), names.end(), [&](const std::string& name) { return files_.contains(name); }));
}

ClusterTasks Coordinator::LookPatiently() {
  try {
    ClusterTasks tasks = launcher_->Look();
    answered_ = Clock::now();
    return tasks;
  } catch (const Error& error) {
    // Ctrl-C also ends the launcher's program, so its error means nothing then.
    if (StopRequested()) return {.running = 1, .hosts = {}};
    if (Clock::now() - answered_ > kPatience) throw;
    progress_.Say(fmt::format("the scheduler does not answer: {}", error.what()));
    return {.running = 1, .hosts = {}};
  }
}

void Coordinator::Show(const ClusterTasks& tasks, size_t finished) {
  std::string text = fmt::format("{} of {}; {} running", finished, Counted(files_.size(), "cell"),
                                 Counted(tasks.running, "block"));
  if (!tasks.hosts.empty() && tasks.hosts.size() <= 8) {
    text += fmt::format(" on {}", fmt::join(tasks.hosts, " "));
  } else if (!tasks.hosts.empty()) {
    text += fmt::format(" on {} hosts", tasks.hosts.size());
  }
  if (tasks.waiting != 0) {
    text += fmt::format(", {} waiting{}", tasks.waiting,
                        tasks.why_waiting.empty() ? "" : " (" + tasks.why_waiting + ")");
  }
  if (finished > finished_before_) {
    const double passed = std::chrono::duration<double>(Clock::now() - start_).count();
    const auto left =
        static_cast<uint64_t>(passed / static_cast<double>(finished - finished_before_) *
                              static_cast<double>(files_.size() - finished));
    text += fmt::format("; {}:{:02}:{:02} left", left / 3600, left / 60 % 60, left % 60);
  }
  progress_.Say(text);
}

std::set<std::string> Coordinator::RefusedNames() const {
  std::set<std::string> names;
  for (const auto& [host, why] : refused_) names.insert(host);
  return names;
}

// Keeps the tasks that wait from the hosts that were refused. Such a host is idle, so it would get
// one block after the other, and refuse all that wait while the fit hosts run their first. With no
// fit host among those that run tasks, the blocks are left to their refusals: the tasks might
// otherwise wait for ever.
void Coordinator::KeepFromRefused(const ClusterTasks& tasks) {
  const std::set<std::string> refused = RefusedNames();
  const bool has_fit_host =
      std::any_of(tasks.hosts.begin(), tasks.hosts.end(),
                  [&refused](const std::string& host) { return !refused.contains(host); });
  if (refused == excluded_ || tasks.waiting == 0 || !has_fit_host) return;
  excluded_ = refused;
  try {
    launcher_->Exclude(refused);
  } catch (const Error&) {
    // The scheduler does not answer. Blocks that begin on these hosts are started again later.
  }
}

// Waits until no task is left, and names the hosts that are refused meanwhile.
void Coordinator::Watch() {
  for (;;) {
    const ClusterTasks tasks = LookPatiently();
    for (const auto& [host, why] : RefusedHosts(results_.path())) {
      if (!refused_.emplace(host, why).second) continue;
      progress_.Clear();
      fmt::print(stderr, "testbed: host {} is refused: {}\n", host, why);
    }
    KeepFromRefused(tasks);
    Show(tasks, Finished());
    if (tasks.none() || StopRequested()) return;
    // A scheduler with thousands of tasks is asked less often than each second.
    const std::chrono::duration<double> passed = Clock::now() - start_;
    Wait(std::chrono::milliseconds(static_cast<int>(std::clamp(passed.count() * 50, 500., 15e3))));
  }
}

// Cancels the tasks and waits for their end, for a minute in all. A scheduler that is busy is asked
// again: what it does not cancel would run on, and nobody would wait for it. After a submission
// that was cut, tasks are cancelled again until the scheduler would have taken up new ones.
void Coordinator::Cancel(bool submission_was_cut) {
  progress_.Clear();
  Say("interrupted; cancelling what runs on other hosts");
  const auto end = Clock::now() + std::chrono::minutes(1);
  const auto known = Clock::now() + (submission_was_cut ? kTakesUp : std::chrono::seconds(0));
  for (bool cancelled = false;;) {
    try {
      if (!cancelled) launcher_->Cancel();
      cancelled = Clock::now() >= known;
      if ((cancelled && launcher_->Look().none()) || Clock::now() >= end) return;
    } catch (const Error&) {
      if (Clock::now() >= end) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

void Coordinator::NameOpenBlocks(const std::vector<std::string>& blocks) const {
  constexpr size_t kMostNamed = 10;
  for (size_t i = 0; i < std::min(blocks.size(), kMostNamed); ++i) {
    const std::string log = launcher_->LogOf(blocks[i]);
    const std::vector<std::string> lines = SplitLines(ReadSmallFile(log).value_or(""));
    fmt::print(stderr, "testbed: block {} is not finished{}\n", blocks[i],
               lines.empty() ? "" : fmt::format("; {} ends with: {}", log, lines.back()));
  }
  if (blocks.size() > kMostNamed) {
    const size_t others = blocks.size() - kMostNamed;
    fmt::print(stderr, "testbed: {} {} not finished\n", Counted(others, "other block"),
               others == 1 ? "is" : "are");
  }
}

bool Coordinator::Execute() {
  MakeDirectories(results_.path() + "/logs");
  finished_before_ = Finished();
  bool submission_was_cut = false;
  ClusterTasks earlier;
  if (IsDone([&] { earlier = launcher_->Look(); }) && !earlier.none()) {
    Say("tasks of an earlier call are not ended yet; they come first");
    Watch();
  }
  ForgetRefusals(results_.path());
  ForgetFirst(results_.path());
  refused_.clear();
  excluded_.clear();
  for (;;) {
    if (StopRequested()) break;
    const std::vector<std::string> blocks = OpenBlocks();
    if (blocks.empty()) return true;
    const size_t refused_before = refused_.size();
    excluded_ = RefusedNames();
    std::vector<std::string> command = {std::filesystem::read_symlink("/proc/self/exe"),
                                        "experiment", "run", results_.path()};
    command.insert(command.end(), options_.task_options.begin(), options_.task_options.end());
    command.push_back("--block");
    submission_was_cut = !IsDone([&] { launcher_->Start(command, blocks, excluded_); });
    if (submission_was_cut) break;
    Watch();
    if (StopRequested()) break;
    // The blocks of a host that was refused are started again on other hosts. When no host was
    // refused, the blocks that are still open have failed.
    if (refused_.size() == refused_before) {
      progress_.Clear();
      const std::vector<std::string> open = OpenBlocks();
      NameOpenBlocks(open);
      return open.empty();
    }
  }
  Cancel(submission_was_cut);
  return false;
}

}  // namespace

bool RunOnHosts(const std::vector<Cell>& cells, const ResultsDir& results, Launcher* launcher,
                const CoordinatorOptions& options) {
  const DirLock alone(results.path() + "/claims", "--out");
  return Coordinator(cells, results, launcher, options).Execute();
}

}  // namespace testbed
