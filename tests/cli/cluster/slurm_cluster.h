// A Slurm cluster for one test: slurmctld and three nodes, each of them a slurmd process on this
// host, in the test's directory and on free ports. A guard process starts the daemons. It ends them
// and all that they have started when the test ends, in whatever way. OnSlurm is the fixture of
// such tests.
#ifndef TESTBED_TESTS_CLI_CLUSTER_SLURM_CLUSTER_H_
#define TESTBED_TESTS_CLI_CLUSTER_SLURM_CLUSTER_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/sys_file.h"
#include "tests/free_port.h"

namespace testbed {

// Returns the processes whose parent is `parent`.
inline std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = ReadLine(entry.path() / "stat");
    // The name of the program in parentheses may hold spaces; the parent is the second word after
    // it.
    const size_t end = stat.rfind(')');
    if (end == std::string::npos) continue;
    const std::vector<std::string> words = SplitWords(stat.substr(end + 1));
    if (words.size() > 1 && words[1] == std::to_string(parent)) children.push_back(std::stoi(name));
  }
  return children;
}

// Kills the processes and all that they have started.
inline void KillTrees(const std::vector<pid_t>& roots) {
  for (const pid_t process : roots) {
    ::kill(process, SIGSTOP);  // stopped, the process starts no further ones
    const std::vector<pid_t> children = ChildrenOf(process);
    ::kill(process, SIGKILL);
    KillTrees(children);
  }
}

class SlurmCluster {
 public:
  // Returns why this machine cannot run such a cluster; an empty string when it can.
  static std::string WhyNot() {
    if (::geteuid() != 0) return "only root starts a Slurm of its own";
    for (const char* program : {"slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel"}) {
      if (!FindProgram(program)) return std::string(program) + " is not installed";
    }
    return "";
  }

  explicit SlurmCluster(const std::string& dir) : dir_(dir) {
    for (const char* part : {"/state", "/n1", "/n2", "/n3"}) {
      std::filesystem::create_directories(dir_ + part);
    }
    std::ofstream(conf()) << Configuration();
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    guard_ = ::fork();
    if (guard_ == 0) {
      ::close(ends[1]);
      Guard(ends[0]);
    }
    ::close(ends[0]);
    alive_ = ends[1];
  }
  ~SlurmCluster() {
    ::close(alive_);
    AwaitChild(guard_);
  }

  std::string conf() const { return dir_ + "/slurm.conf"; }
  // Returns the environment, as words for a shell, in which Slurm's programs use this cluster.
  std::string Environment() const { return "SLURM_CONF=" + conf(); }

  // Returns whether the three nodes are idle.
  bool IsUp() const {
    try {
      return RunProgram({"/usr/bin/env", Environment(), *FindProgram("sinfo"), "--noheader",
                         "--states=idle", "--format=%D"}) == "3\n";
    } catch (const Error&) {
      return false;
    }
  }
  // Returns the last lines of the daemons' logs.
  std::string Said() const {
    std::string text;
    for (const char* daemon : {"slurmctld", "n1", "n2", "n3"}) {
      text += ReadSmallFile(dir_ + "/" + daemon + ".out").value_or("");
    }
    return text;
  }

  // Kills a node and all that runs on it, as a power cut would.
  void KillNode(const std::string& node) const {
    std::vector<pid_t> dead = {std::stoi(ReadLine(dir_ + "/" + node + ".pid"))};
    for (const pid_t process : ChildrenOf(guard_)) {
      for (const pid_t child : ChildrenOf(process)) {
        const std::string environment =
            ReadSmallFile("/proc/" + std::to_string(child) + "/environ").value_or("");
        if (environment.find("SLURMD_NODENAME=" + node + '\0') != std::string::npos) {
          dead.push_back(process);
        }
      }
    }
    KillTrees(dead);
  }

 private:
  std::string Configuration() const {
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    const std::string name = host;
    std::string text = "ClusterName=testbed\nSlurmctldHost=" + name + "(127.0.0.1)\n" +
                       "SlurmctldPort=" + std::to_string(FreePort()) + "\n" +
                       // No keys: the cluster lives for a minute, on the loopback. A task that is
                       // requeued waits for the end of its credential.
                       "AuthType=auth/none\nCredType=cred/none\nAuthInfo=cred_expire=5\n"
                       "SlurmUser=root\nSlurmdUser=root\n"
                       "StateSaveLocation=" +
                       dir_ + "/state\nSlurmdSpoolDir=" + dir_ + "/%n\n" +
                       "SlurmctldPidFile=" + dir_ + "/slurmctld.pid\nSlurmdPidFile=" + dir_ +
                       "/%n.pid\n" +
                       "SlurmctldTimeout=10\nSlurmdTimeout=8\nKillWait=10\nMinJobAge=10\n"
                       "ReturnToService=1\nSchedulerType=sched/backfill\n"
                       "SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=1\n"
                       "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
                       "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
                       "JobAcctGatherType=jobacct_gather/none\n"
                       "AccountingStorageType=accounting_storage/none\nMpiDefault=none\n";
    for (const char* node : {"n1", "n2", "n3"}) {
      text += std::string("NodeName=") + node + " NodeAddr=127.0.0.1 NodeHostname=" + name +
              " Port=" + std::to_string(FreePort()) + " CPUs=1\n";
    }
    return text + "PartitionName=test Nodes=n1,n2,n3 Default=YES MaxTime=INFINITE State=UP\n";
  }

  void StartDaemon(const std::string& name, std::vector<std::string> words) const {
    if (::fork() != 0) return;
    ::setenv("SLURM_CONF", conf().c_str(), 1);
    const int output = ::open((dir_ + "/" + name + ".out").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(::open("/dev/null", O_RDONLY), 0);
    ::dup2(output, 1);
    ::dup2(output, 2);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }

  // Starts the daemons, whose orphans become this process's children, and kills all of them when
  // the other end of the pipe is closed.
  [[noreturn]] void Guard(int fd) const {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::setsid();
    StartDaemon("slurmctld", {*FindProgram("slurmctld"), "-D"});
    for (const char* node : {"n1", "n2", "n3"}) {
      StartDaemon(node, {*FindProgram("slurmd"), "-D", "-N", node});
    }
    pollfd end{fd, POLLIN, 0};
    while (::poll(&end, 1, 100) == 0) {
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
    }
    for (;;) {
      KillTrees(ChildrenOf(::getpid()));
      if (::waitpid(-1, nullptr, 0) < 0) ::_exit(0);
    }
  }

  const std::string dir_;
  pid_t guard_ = -1;
  int alive_ = -1;
};

// Gives the tests of a fixture that is derived from StartedCommandTest a cluster. They are skipped
// where there can be none.
template <typename Fixture>
class OnSlurm : public Fixture {
 protected:
  void SetUp() override {
    Fixture::SetUp();
    if (Fixture::IsSkipped()) return;
    if (const std::string why = SlurmCluster::WhyNot(); !why.empty()) GTEST_SKIP() << why;
    slurm_.emplace(Directory());
    const bool up = Fixture::Becomes([this] { return slurm_->IsUp(); }, 60);
    if (!up) GTEST_SKIP() << "no Slurm comes up here: " << slurm_->Said();
  }
  void TearDown() override {
    slurm_.reset();
    std::filesystem::remove_all(Directory());
    Fixture::TearDown();
  }

  std::optional<SlurmCluster> slurm_;

 private:
  std::string Directory() const { return this->directory_.string() + ".slurm"; }
};

}  // namespace testbed

#endif  // TESTBED_TESTS_CLI_CLUSTER_SLURM_CLUSTER_H_
