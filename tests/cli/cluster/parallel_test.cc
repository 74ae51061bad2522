// `--on ssh:HOSTS` by GNU parallel, with a program in the place of ssh that runs the tasks here
// under the name of the host.
#include <sys/stat.h>
#include <unistd.h>

#include "device/os/child_process.h"
#include "tests/cli/cluster/small_sweep.h"

namespace testbed {
namespace {

constexpr char kSsh[] = R"sh(#!/bin/bash
while [[ $1 == -* ]]; do
  echo "$1" >>"$FAKE/options"
  shift
done
host=$1
shift
[[ $1 != -- ]] || shift
grep -qx "$host" "$FAKE/dead" 2>/dev/null && exit 255
echo "$host" >>"$FAKE/called"
cut -d' ' -f6 /proc/$$/stat >>"$FAKE/sessions"
# sshd begins in the home directory, which is not the command's, and gives each command the SHELL of
# its user, which GNU parallel asks for on the host.
cd /
SLURMD_NODENAME=$host SHELL=/bin/sh exec sh -c "$*"
)sh";

class ParallelTest : public SweepTest {
 protected:
  void SetUp() override {
    SweepTest::SetUp();
    if (!FindProgram("parallel")) GTEST_SKIP() << "GNU parallel is not installed";
    std::ofstream(directory_ / "ssh") << kSsh;
    ::chmod((directory_ / "ssh").c_str(), 0755);
    WriteSweep(1, 2);
  }
  // The user's own options of GNU parallel must have no effect. With --dry-run no block would run.
  std::string Environment() const {
    return "FAKE=" + directory_.string() + " PARALLEL_SSH=" + (directory_ / "ssh").string() +
           " PARALLEL=--dry-run HOME=" + directory_.string();
  }
};

const char kOverSsh[] = "experiment sweep.toml --on ssh:n1,n2 --host-checks none --out o";

TEST_F(ParallelTest, RunsEachBlockOnOneOfTheHosts) {
  const CommandResult result = Run(kOverSsh, Environment());
  ASSERT_EQ(result.code, 0) << result.err;
  std::set<std::string> hosts;
  for (const auto& [block, of_block] : HostsOfBlocks("o")) {
    EXPECT_EQ(of_block.size(), 1u) << block;
    hosts.insert(of_block.begin(), of_block.end());
  }
  EXPECT_EQ(hosts, (std::set<std::string>{"n1", "n2"}));
  // In another session ssh has no terminal, on which it would ask for a password and wait for ever.
  const std::string sessions = "\n" + Read(directory_ / "sessions");
  EXPECT_EQ(sessions.find("\n" + std::to_string(::getsid(0)) + "\n"), std::string::npos)
      << sessions;
  ASSERT_EQ(Run("experiment sweep.toml --quiet --out local").code, 0);
  EXPECT_EQ(Counts("o"), Counts("local"));
}

// Once, hosts did not find the file and could not plan the cells: the block was "none of this
// experiment".
TEST_F(ParallelTest, AFileIsThatOfTheDirectoryInWhichTheCommandRuns) {
  std::string text = SweepText(0.2, 1);
  const std::string order = "key-order = \"permuted\"\n";
  text.replace(text.find(order), order.size(), "keys = \"keys.txt\"\n");
  std::ofstream(directory_ / "sweep.toml") << text;
  std::ofstream keys(directory_ / "keys.txt");
  for (int i = 0; i < 10000; ++i) keys << "key-" << i << "\n";
  keys.close();
  const CommandResult result = Run(kOverSsh, Environment());
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Cells("o").size(), 2u);
}

TEST_F(ParallelTest, BlocksOfAHostThatIsGoneRunOnAnother) {
  std::ofstream(directory_ / "dead") << "n2\n";
  const CommandResult result = Run(kOverSsh, Environment());
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Cells("o").size(), 4u);
}

// Once, ssh waited for hours for a host that had lost its power in the middle of a block. A master
// of the user's configuration that a task's ssh had become stayed behind after Ctrl-C.
TEST_F(ParallelTest, SshNoticesThatAHostHasGoneAndLeavesNoMasterBehind) {
  WriteSweep(0.2, 1);
  const std::string fake = directory_.string();
  const CommandResult result =
      Run(kOverSsh, "FAKE=" + fake + " PARALLEL_SSH= PATH=" + fake + ":$PATH HOME=" + fake);
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string options = Read(directory_ / "options");
  EXPECT_NE(options.find("-oServerAliveInterval="), std::string::npos) << options;
  EXPECT_NE(options.find("-oControlMaster=no\n"), std::string::npos) << options;
}

// Two blocks would run at once on a host that is named twice.
using SshHostsTest = SweepTest;

TEST_F(SshHostsTest, AHostIsNamedOnce) {
  WriteSweep(1);
  const auto refusal = [&](const std::string& hosts) {
    return Run("experiment sweep.toml --on ssh:" + hosts + " --out o");
  };
  for (const std::string hosts : {"n1,n2,n1", "n1,me@n1", "n1.lab,N1"}) {
    ExpectRefused(refusal(hosts), "--on ssh:" + hosts + " names host n1 twice");
  }
  ExpectRefused(refusal("n1,me@n1.lab"), "names host n1.lab twice");
  const CommandResult secret = refusal("n1,me:secret@n2");
  ExpectRefused(secret, "--on takes no password");
  EXPECT_EQ(secret.err.find("secret"), std::string::npos) << secret.err;
  // Hosts of several domains are several hosts.
  ExpectRefused(refusal("n.east,n.west,n.east"), "names host n.east twice");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "o"));
}

}  // namespace
}  // namespace testbed
