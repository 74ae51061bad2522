// Runs blocks of cells on hosts that ssh reaches, by GNU parallel, where there is no scheduler: one
// block at a time on each host. A block whose host goes away, or that fails, is tried up to three
// times.
#ifndef TESTBED_TOOLS_EXPERIMENT_CLUSTER_PARALLEL_H_
#define TESTBED_TOOLS_EXPERIMENT_CLUSTER_PARALLEL_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "tools/experiment/cluster/launcher.h"

namespace testbed {

class ParallelLauncher : public Launcher {
 public:
  // `hosts` are as ssh(1) takes them. Throws Error (kUsage) when GNU parallel is not installed.
  ParallelLauncher(std::string out, std::vector<std::string> hosts);
  ~ParallelLauncher() override;

  // Throws Error (kRun) when every host is refused.
  void Start(const std::vector<std::string>& command, const std::vector<std::string>& blocks,
             const std::set<std::string>& refused) override;
  // Returns the tasks that this object has started. Before it has started any, those are tasks that
  // hold the claim of a block: a call that was killed has left them, or a user has started them.
  ClusterTasks Look() override;
  void Cancel() override;
  std::string LogOf(const std::string&) const override { return log_; }

 private:
  const std::string out_;
  const std::vector<std::string> hosts_;
  std::string parallel_;  // path of the program
  std::string log_;
  std::vector<std::string> blocks_;
  pid_t child_ = -1;
  bool looks_for_others_ = true;  // until Start or Cancel is called
};

// Returns the name of the host that ssh knows as `login`: n1.lab of me@N1.lab.
std::string HostOfLogin(const std::string& login);
// Returns whether two logins, or names of hosts, are those of one host: the names are the same, or
// one is the other without its domain.
bool IsOneHost(const std::string& a, const std::string& b);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_PARALLEL_H_
