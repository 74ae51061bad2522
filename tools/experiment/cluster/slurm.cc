#include "tools/experiment/cluster/slurm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/signal_guard.h"
#include "device/os/sys_file.h"
#include "tools/experiment/cluster/part.h"
#include "tools/experiment/results_dir.h"

namespace testbed {
namespace {

// Slurm's MaxArraySize is 1001 unless the site has set another.
constexpr size_t kMostTasks = 1000;
// The keys of an array's blocks are one argument of sbatch, which the kernel limits to 128 KiB.
constexpr size_t kMostBytes = 100000;

// Runs a program of Slurm. The user's variables of its environment that choose jobs would hide
// tasks from squeue or scancel, and two of sbatch would send the array to another cluster, or have
// sbatch wait for its end.
std::string RunSlurm(const std::vector<std::string>& command) {
  return RunProgram(command, {"SQUEUE_", "SCANCEL_", "SBATCH_CLUSTERS=", "SBATCH_WAIT="});
}

std::string ProgramOf(const std::string& name) {
  const std::optional<std::string> path = FindProgram(name);
  if (path) return *path;
  throw Error(
      Error::kUsage,
      fmt::format("--on slurm takes Slurm's program {}, which is not on PATH; run testbed where "
                  "jobs are submitted (Debian: slurm-client), or use --on ssh:HOST,HOST",
                  name));
}

std::vector<std::string> FieldsOf(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '|');) fields.push_back(field);
  return fields;
}

// Returns whether the option of sbatch is its --exclude.
bool ExcludesHosts(const std::string& option) {
  const size_t equals = option.find('=');
  return equals != std::string::npos && IsBeginOf(option.substr(0, equals), "exclude");
}

}  // namespace

ClusterTasks TasksOfSqueue(const std::string& output, std::vector<std::string>* ids) {
  ClusterTasks tasks;
  for (const std::string& line : SplitLines(output)) {
    const std::vector<std::string> fields = FieldsOf(line);
    if (fields.size() < 3) continue;
    const std::string array = fields[0].substr(0, fields[0].find('_'));
    if (std::find(ids->begin(), ids->end(), array) == ids->end()) ids->push_back(array);
    if (fields[1] == "PENDING" || fields[1] == "REQUEUED" || fields[1] == "REQUEUE_HOLD") {
      ++tasks.waiting;
      if (fields.size() > 3 && fields[3] != "None") tasks.why_waiting = fields[3];
    } else {
      ++tasks.running;
      if (!fields[2].empty()) tasks.hosts.insert(fields[2]);
    }
  }
  return tasks;
}

bool IsBeginOf(std::string_view given, std::string_view option) {
  return !given.empty() && option.starts_with(given);
}

std::string JobOfSbatch(const std::string& output) {
  std::string job;
  for (const std::string& line : SplitLines(output)) {
    const std::string id = line.substr(0, line.find(';'));  // the name of a cluster may follow
    if (!id.empty() && id.find_first_not_of("0123456789") == std::string::npos) job = id;
  }
  return job;
}

SlurmLauncher::SlurmLauncher(std::string out, std::string partition,
                             std::vector<std::string> options)
    : out_(std::move(out)),
      partition_(std::move(partition)),
      options_(std::move(options)),
      sbatch_(ProgramOf("sbatch")),
      squeue_(ProgramOf("squeue")),
      scancel_(ProgramOf("scancel")) {}

// The name is made when it is asked for: the results directory may not be there before.
std::string SlurmLauncher::Name() const { return "testbed-" + PartId(out_); }

void SlurmLauncher::Start(const std::vector<std::string>& command,
                          const std::vector<std::string>& blocks,
                          const std::set<std::string>& refused) {
  for (size_t at = 0, end = 0; at < blocks.size() && !StopRequested(); at = end) {
    for (size_t bytes = 0; end < blocks.size() && end - at < kMostTasks; ++end) {
      bytes += blocks[end].size() + 1;
      if (bytes > kMostBytes && end != at) break;
    }
    try {
      Submit(command,
             {blocks.begin() + static_cast<ptrdiff_t>(at),
              blocks.begin() + static_cast<ptrdiff_t>(end)},
             refused);
    } catch (const Error& error) {
      if (at == 0) throw;
      throw Error(error.kind(),
                  fmt::format("{}; the {} blocks before are submitted and run on: the same command "
                              "waits for them and then goes on, and scancel --name={} ends them",
                              error.what(), at, Name()));
    }
  }
}

void SlurmLauncher::Submit(const std::vector<std::string>& command,
                           const std::vector<std::string>& blocks,
                           const std::set<std::string>& refused) {
  // A task's output begins with kLogBegins, by which IsFileOfOurs knows the log.
  const std::string script = fmt::format(
      "set -- {}; shift \"$SLURM_ARRAY_TASK_ID\"; echo \"{}$1 on $SLURMD_NODENAME\"; exec {} "
      "\"$1\"",
      fmt::join(blocks, " "), kLogBegins, ShellCommand(command));
  std::vector<std::string> words = {sbatch_,
                                    "--parsable",
                                    "--job-name=" + Name(),
                                    fmt::format("--array=0-{}", blocks.size() - 1),
                                    "--nodes=1",
                                    "--exclusive",
                                    "--requeue",
                                    "--open-mode=append",
                                    "--output=" + out_ + "/logs/%A_%a.txt"};
  if (!partition_.empty()) words.push_back("--partition=" + partition_);
  for (const std::string& option : options_) {
    if (!ExcludesHosts(option)) words.push_back("--" + option);
  }
  // sbatch uses only the last --exclude, so all excluded hosts go into one.
  const std::string excluded = Excluded(refused);
  if (!excluded.empty()) words.push_back("--exclude=" + excluded);
  words.push_back("--wrap=" + script);
  const std::string id = JobOfSbatch(RunSlurm(words));
  if (id.empty()) throw Error(Error::kRun, "sbatch gave no number of a job");
  for (size_t i = 0; i < blocks.size(); ++i) {
    logs_[blocks[i]] = fmt::format("{}/logs/{}_{}.txt", out_, id, i);
  }
}

std::string SlurmLauncher::Excluded(const std::set<std::string>& refused) const {
  std::vector<std::string> excluded(refused.begin(), refused.end());
  for (const std::string& option : options_) {
    if (ExcludesHosts(option)) excluded.push_back(option.substr(option.find('=') + 1));
  }
  return fmt::format("{}", fmt::join(excluded, ","));
}

ClusterTasks SlurmLauncher::Look() {
  std::vector<std::string> ids;
  return Look(&ids);
}

ClusterTasks SlurmLauncher::Look(std::vector<std::string>* ids) const {
  return TasksOfSqueue(RunSlurm({squeue_, "--me", "--noheader", "--array", "--name=" + Name(),
                                 std::string("--format=") + kSqueueFormat}),
                       ids);
}

// Of an array scontrol changes the tasks that wait, and calls it an error that others run.
void SlurmLauncher::Exclude(const std::set<std::string>& hosts) {
  const std::optional<std::string> scontrol = FindProgram("scontrol");
  if (!scontrol) return;
  std::vector<std::string> ids;
  (void)Look(&ids);
  for (const std::string& id : ids) {
    try {
      (void)RunSlurm({*scontrol, "update", "JobId=" + id, "ExcNodeList=" + Excluded(hosts)});
    } catch (const Error&) {
      continue;  // a task that begins on such a host is refused again
    }
  }
}

void SlurmLauncher::Cancel() {
  std::vector<std::string> ids;
  (void)Look(&ids);
  if (ids.empty()) return;
  ids.insert(ids.begin(), scancel_);
  (void)RunSlurm(ids);
}

std::string SlurmLauncher::LogOf(const std::string& block) const {
  const auto found = logs_.find(block);
  return found == logs_.end() ? "" : found->second;
}

std::string ShellCommand(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) {
    command += command.empty() ? "'" : " '";
    for (const char c : word) command += c == '\'' ? std::string("'\\''") : std::string(1, c);
    command += "'";
  }
  return command;
}

}  // namespace testbed
