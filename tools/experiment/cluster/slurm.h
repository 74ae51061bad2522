// Runs blocks of cells as tasks of Slurm's job arrays. Each task has a node for itself, and Slurm
// requeues it when its node dies. The arrays' name follows from the results directory, by whichever
// path the user names it, so that a later call finds them.
#ifndef TESTBED_TOOLS_EXPERIMENT_CLUSTER_SLURM_H_
#define TESTBED_TOOLS_EXPERIMENT_CLUSTER_SLURM_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/experiment/cluster/launcher.h"

namespace testbed {

// Returns the tasks in the output of squeue, whose lines are "ID|STATE|NODES|REASON"
// (kSqueueFormat), and adds their ids to *ids.
inline constexpr char kSqueueFormat[] = "%i|%T|%N|%r";
ClusterTasks TasksOfSqueue(const std::string& output, std::vector<std::string>* ids);

// Returns the number of the job in the output of sbatch --parsable, among whose lines there may be
// messages of the site and warnings; an empty string when there is none.
std::string JobOfSbatch(const std::string& output);

// Returns whether sbatch takes a name for that of the option: it accepts the beginning of a name in
// its place.
bool IsBeginOf(std::string_view given, std::string_view option);

class SlurmLauncher : public Launcher {
 public:
  // `options` are more options of sbatch(1), without dashes. Throws Error (kUsage) when Slurm's
  // programs are not installed.
  SlurmLauncher(std::string out, std::string partition, std::vector<std::string> options);

  void Start(const std::vector<std::string>& command, const std::vector<std::string>& blocks,
             const std::set<std::string>& refused) override;
  ClusterTasks Look() override;
  void Exclude(const std::set<std::string>& hosts) override;
  void Cancel() override;
  std::string LogOf(const std::string& block) const override;

 private:
  std::string Name() const;  // name of the job arrays
  // Returns the hosts that get no task: `refused`, and those that the user excludes.
  std::string Excluded(const std::set<std::string>& refused) const;
  // Adds the ids of the arrays that have not ended to *ids.
  ClusterTasks Look(std::vector<std::string>* ids) const;
  void Submit(const std::vector<std::string>& command, const std::vector<std::string>& blocks,
              const std::set<std::string>& refused);

  const std::string out_, partition_;
  const std::vector<std::string> options_;
  std::string sbatch_, squeue_, scancel_;    // paths of the programs
  std::map<std::string, std::string> logs_;  // by block
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_SLURM_H_
