#include "tools/experiment/cluster/parallel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/lower_case.h"
#include "device/os/child_process.h"
#include "tools/experiment/cluster/claim.h"
#include "tools/experiment/results_dir.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

// The placeholder for a block in the command. GNU parallel's own placeholder {} may be part of a
// path.
constexpr char kPlace[] = "@block@";

// The ssh of the tasks, unless the user's PARALLEL_SSH names another. For a host that has lost its
// power or its network, ssh would wait for hours. This one gives up after five minutes without an
// answer of the host's sshd, as Slurm does by default with its nodes. Where the configuration of
// the user lets each ssh become the master of a shared connection, this one uses a master that is
// there, but becomes none: with ControlPersist a master would outlive the command, and without it
// would stay until the user's own sessions on that host have ended.
constexpr char kSsh[] = "ssh -oServerAliveInterval=30 -oServerAliveCountMax=10 -oControlMaster=no";

// The signals by which GNU parallel ends a task whose ssh has ended, and how many ms it waits after
// each. By default a second SIGTERM comes after 200 ms, at which testbed ends at once, and SIGKILL
// after 350: databases and cgroups stay on the host then. Slurm waits for 30 s, too (KillWait). The
// ssh processes here get the same signals. They end at the first, so that Ctrl-C does not wait.
constexpr char kEnding[] = "TERM,30000,KILL,25";

// Returns the host's name without its domain: n1 of me@N1.lab.
std::string ShortNameOf(const std::string& login) {
  const std::string name = HostOfLogin(login);
  return name.substr(0, name.find('.'));
}

// Returns the logins that lead to none of the refused hosts, which have the names that they call
// themselves. A host may call itself by another domain than ssh does. So where no login is its
// name, the name without the domain counts.
std::vector<std::string> NotRefused(const std::vector<std::string>& logins,
                                    const std::set<std::string>& refused) {
  std::vector<std::string> fit = logins;
  for (const std::string& host : refused) {
    const auto is_it = [&](const std::string& login) { return IsOneHost(login, host); };
    const bool is_named = std::any_of(logins.begin(), logins.end(), is_it);
    std::erase_if(fit, [&](const std::string& login) {
      return is_named ? is_it(login) : ShortNameOf(login) == ShortNameOf(host);
    });
  }
  return fit;
}

// Returns the command of a task. sshd begins in the home directory of the user. The task goes to
// the directory of this process, as sbatch has it, because options may name files by relative
// paths. On a host without that directory it stays at home. The task takes the place of the shell
// (exec). GNU parallel waits between its signals only until the process ends that it has started.
// A shell would end at the SIGTERM, and the task would get SIGKILL at once.
std::string CommandOfTask(const std::vector<std::string>& command) {
  const std::string here = std::filesystem::current_path().string();
  return fmt::format("cd {} 2>/dev/null; exec {} {}", ShellCommand({here}), ShellCommand(command),
                     kPlace);
}

// Returns the number of blocks whose claims processes hold.
size_t BlocksThatRun(const std::string& claims) {
  size_t blocks = 0;
  for (const std::string& name : NamesIn(claims)) {
    const bool is_block = name.starts_with("round-") && !name.ends_with(".json");
    if (is_block && Claim::IsHeld(claims + "/" + name)) ++blocks;
  }
  return blocks;
}

[[noreturn]] void Exec(const std::vector<std::string>& words, int log) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  // GNU parallel gets a session of its own: Ctrl-C then reaches testbed alone, which cancels the
  // tasks. The session has no terminal, on which ssh would wait for a password or a yes to a host
  // key.
  ::setsid();
  ::dup2(::open("/dev/null", O_RDONLY), 0);
  ::dup2(log, 1);
  ::dup2(log, 2);
  const char* const ssh = std::getenv("PARALLEL_SSH");
  if (ssh == nullptr || *ssh == '\0') ::setenv("PARALLEL_SSH", kSsh, /*replace=*/1);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace

std::string HostOfLogin(const std::string& login) {
  return LowerCase(login.substr(login.rfind('@') + 1));
}

bool IsOneHost(const std::string& a, const std::string& b) {
  const std::string one = HostOfLogin(a), other = HostOfLogin(b);
  return one == other || one.starts_with(other + ".") || other.starts_with(one + ".");
}

ParallelLauncher::ParallelLauncher(std::string out, std::vector<std::string> hosts)
    : out_(std::move(out)), hosts_(std::move(hosts)) {
  const std::optional<std::string> path = FindProgram("parallel");
  if (!path) {
    throw Error(Error::kUsage,
                "--on ssh takes GNU parallel, which is not installed (Debian: parallel)");
  }
  parallel_ = *path;
}

ParallelLauncher::~ParallelLauncher() {
  if (child_ >= 0) Cancel();
}

void ParallelLauncher::Start(const std::vector<std::string>& command,
                             const std::vector<std::string>& blocks,
                             const std::set<std::string>& refused) {
  looks_for_others_ = false;
  const std::vector<std::string> fit = NotRefused(hosts_, refused);
  if (fit.empty()) throw Error(Error::kRun, "every host that --on names was refused; see above");
  log_ = fmt::format("{}/logs/{}_0.txt", out_, ::getpid());
  WriteOutputFile(
      "--out", log_,
      fmt::format("{}after block by GNU parallel, on {}\n", kLogBegins, fmt::join(fit, ", ")));
  // --plain leaves out the options that the user's environment and files have for GNU parallel:
  // with --dry-run no block would run, and with --nice a slower one. PARALLEL_SSH still names the
  // ssh.
  std::vector<std::string> words = {parallel_,
                                    "--plain",
                                    "--will-cite",
                                    "--line-buffer",
                                    "--jobs",
                                    "1",
                                    "--retries",
                                    "3",
                                    "--termseq",
                                    kEnding,
                                    "-I",
                                    kPlace,
                                    "--sshlogin",
                                    fmt::format("{}", fmt::join(fit, ",")),
                                    CommandOfTask(command),
                                    ":::"};
  words.insert(words.end(), blocks.begin(), blocks.end());
  const int log = ::open(log_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (log < 0) throw Error::Io("open", log_, errno);
  blocks_ = blocks;
  try {
    child_ = ForkChild();
  } catch (...) {
    ::close(log);
    throw;
  }
  if (child_ == 0) Exec(words, log);
  ::close(log);
}

// The claims of the blocks tell which block runs: parallel itself says nothing while it runs.
ClusterTasks ParallelLauncher::Look() {
  ClusterTasks tasks;
  if (child_ < 0) {
    if (looks_for_others_) tasks.running = BlocksThatRun(out_ + "/claims");
    return tasks;
  }
  if (::waitpid(child_, nullptr, WNOHANG) != 0) {
    child_ = -1;
    return tasks;
  }
  for (const std::string& block : blocks_) {
    if (Claim::IsHeld(out_ + "/claims/" + block)) ++tasks.running;
  }
  tasks.waiting = tasks.running == 0 ? 1 : 0;
  return tasks;
}

void ParallelLauncher::Cancel() {
  looks_for_others_ = false;  // tasks of another call are not cancelled, and nobody waits for them
  // At the first SIGTERM GNU parallel starts no more jobs; at the second it ends those that run.
  for (int request = 0; request < 2 && child_ >= 0; ++request) {
    ::kill(child_, SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    (void)Look();
  }
}

}  // namespace testbed
