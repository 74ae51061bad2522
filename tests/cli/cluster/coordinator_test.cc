// Tests `--on slurm` with stand-ins for Slurm's programs, which run the tasks on this machine one
// after the other: what testbed asks of the scheduler, and what it does with the answers.
#include <signal.h>
#include <sys/stat.h>

#include "device/os/child_process.h"
#include "tests/cli/cluster/small_sweep.h"

namespace testbed {
namespace {

// The stand-in for sbatch. The state of a task is in a file with the task's id as its name. The
// tasks of one sbatch run after those of earlier ones. They run on the hosts n1 and n2 in turn,
// without the excluded ones. A host in the file `unfit` refuses its tasks. With the file `hang` the
// stand-in does not end once it has submitted.
constexpr char kSbatch[] = R"sh(#!/bin/bash
cd "$FAKE"
echo "$*" >>asked
hosts=(n1 n2)
for word; do
  case $word in
    --array=0-*) last=${word#--array=0-} ;;
    --wrap=*) script=${word#--wrap=} ;;
    --output=*) output=${word#--output=} ;;
    --exclude=n2,n7) hosts=(n1 n1) ;;
    --exclude=n1,n2) echo "sbatch: error: no such node" >&2; exit 1 ;;
  esac
done
id=$(($(cat number 2>/dev/null || echo 0) + 1))
echo $id >number
for ((i = 0; i <= last; ++i)); do echo PENDING >tasks/${id}_$i; done
(
  for ((i = 0; i <= last; ++i)); do
    [[ -e tasks/${id}_$i ]] || continue
    host=${hosts[$((i % 2))]}
    echo "RUNNING $host" >tasks/${id}_$i
    if grep -qx $host unfit 2>/dev/null; then
      out=$(dirname -- "$(dirname -- "$output")")
      mkdir -p "$out/hosts"
      echo '{"schema": "testbed-host/1", "host": "'$host'", "refused": "it is loaded", "kind": {}}' >"$out/hosts/$host.json"
    else
      log=${output//%A/$id}
      SLURM_ARRAY_TASK_ID=$i SLURMD_NODENAME=$host setsid sh -c "$script" >"${log//%a/$i}" 2>&1 &
      echo $! >running
      wait $!
    fi
    rm -f tasks/${id}_$i
  done
) </dev/null >/dev/null 2>&1 &
[[ ! -e hang ]] || { : >hanging; exec sleep 600; }
echo "sbatch: the nodes of this site are fast" >&2
echo $id
)sh";
constexpr char kSqueue[] = R"sh(#!/bin/bash
cd "$FAKE/tasks"
for task in *; do
  [[ -e $task ]] || continue
  read -r state host <"$task"
  echo "$task|$state|$host|None"
done
)sh";
constexpr char kScancel[] = R"sh(#!/bin/bash
cd "$FAKE"
rm busy 2>/dev/null && exit 1
echo "$*" >>cancelled
rm -f tasks/*
running=$(cat running) && kill -TERM "$running" 2>/dev/null
# It returns when the task has ended, so that nothing of it is written to a directory that is removed.
while kill -0 "$running" 2>/dev/null; do sleep 0.02; done
exit 0
)sh";

// As Slurm's own, it ends with an error where a task of the array runs.
constexpr char kScontrol[] = R"sh(#!/bin/bash
echo "$*" >>"$FAKE/told"
exit 1
)sh";

class CoordinatorTest : public SweepTest {
 protected:
  void SetUp() override {
    SweepTest::SetUp();
    std::filesystem::create_directories(fake() / "tasks");
    for (const auto& [name, text] :
         {std::pair("sbatch", kSbatch), std::pair("squeue", kSqueue),
          std::pair("scancel", kScancel), std::pair("scontrol", kScontrol)}) {
      std::ofstream(fake() / name) << text;
      ::chmod((fake() / name).c_str(), 0755);
    }
  }
  std::filesystem::path fake() const { return directory_ / "fake"; }
  std::string Environment() const {
    return "FAKE=" + fake().string() + " PATH=" + fake().string() + ":$PATH";
  }
  size_t Asked() const {
    const std::string asked = Read(fake() / "asked");
    return static_cast<size_t>(std::count(asked.begin(), asked.end(), '\n'));
  }
};

const char kCommand[] =
    "experiment sweep.toml --on slurm:fast --sbatch gres=nvme:1 --host-checks none --out o";

TEST_F(CoordinatorTest, RunsEachBlockAsATaskOfOneArray) {
  WriteSweep(0.2, 2);
  const CommandResult result = Run(kCommand, Environment());
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("4 of 4 cells"), std::string::npos) << result.out;
  ASSERT_EQ(Asked(), 1u);
  const std::string asked = Read(fake() / "asked");
  for (const char* word : {"--array=0-1 ", "--exclusive ", "--requeue ", "--nodes=1 ",
                           "--partition=fast ", "--gres=nvme:1 "}) {
    EXPECT_NE(asked.find(word), std::string::npos) << word << asked;
  }
  for (const auto& [block, hosts] : HostsOfBlocks("o")) EXPECT_EQ(hosts.size(), 1u) << block;
  EXPECT_EQ(FilesIn("o/logs"), 2u);
  // Statistics take each round as a block, so rounds on different hosts need no warning.
  EXPECT_EQ(result.out.find("ran on n1"), std::string::npos) << result.out;
  // The same command finds nothing to do. With one more round, it runs that round alone.
  EXPECT_EQ(Run(kCommand, Environment()).code, 0);
  EXPECT_EQ(Asked(), 1u);
  EXPECT_EQ(Run(std::string(kCommand) + " --rounds 3 --databases ./d", Environment()).code, 0);
  EXPECT_EQ(Asked(), 2u);
  // Tasks get an absolute path, because a relative one could mean another place on each host.
  const std::string databases = "'--databases' '" + (directory_ / "d").string() + "'";
  EXPECT_NE(Read(fake() / "asked").find(databases), std::string::npos) << Read(fake() / "asked");
  EXPECT_EQ(Cells("o").size(), 6u);
  // --fresh removes the results of the tasks, too.
  EXPECT_EQ(
      Run("experiment sweep.toml --out o --fresh --quiet --rounds 1 --set operations=10").code, 0);
  for (const char* folder : {"o/logs", "o/hosts", "o/claims"}) {
    EXPECT_FALSE(std::filesystem::exists(directory_ / folder)) << folder;
  }
}

// The second host refuses its block while the first one runs others, and one block waits.
TEST_F(CoordinatorTest, AHostThatIsRefusedGetsNoMoreBlocks) {
  WriteSweep(0.4, 4);
  std::ofstream(fake() / "unfit") << "n2\n";
  // The user excludes a host, too.
  const CommandResult result = Run(std::string(kCommand) + " --sbatch exclude=n7", Environment());
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("host n2 is refused: it is loaded"), std::string::npos) << result.err;
  EXPECT_EQ(Asked(), 2u);
  EXPECT_EQ(Read(fake() / "told"), "update JobId=1 ExcNodeList=n2,n7\n");
  for (const auto& [block, hosts] : HostsOfBlocks("o")) {
    EXPECT_EQ(hosts, std::set<std::string>{"n1"}) << block;
  }
  EXPECT_EQ(Cells("o").size(), 8u);
}

TEST_F(CoordinatorTest, WithoutAFitHostItEndsWithWhatTheSchedulerSays) {
  WriteSweep(1);
  std::ofstream(fake() / "unfit") << "n1\nn2\n";
  const CommandResult result = Run(kCommand, Environment());
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_NE(result.err.find("no such node"), std::string::npos) << result.err;
  EXPECT_TRUE(Cells("o").empty());
}

TEST_F(CoordinatorTest, ABlockThatFailsIsNamedWithWhatItSaid) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gets a scratch device";
  WriteSweep(1);
  const CommandResult result =
      Run(std::string(kCommand) + " --set scratch=900000G --rounds 1", Environment());
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_NE(result.err.find("block round-1 is not finished; "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("the scratch device needs"), std::string::npos) << result.err;
  EXPECT_EQ(Asked(), 1u);
  EXPECT_TRUE(Cells("o").empty());
}

TEST_F(CoordinatorTest, AnInterruptCancelsAndTheSameCommandGoesOn) {
  WriteSweep(2, 3);
  const pid_t command = Start(kCommand, "env " + Environment());
  ASSERT_TRUE(Becomes([&] { return !Cells("o").empty(); }, 60));
  std::ofstream(fake() / "busy") << "the scheduler fails once\n";
  ::kill(command, SIGINT);
  EXPECT_EQ(ExitCodeOf(command), 130);
  EXPECT_EQ(Read(fake() / "cancelled"), "1\n");
  const size_t finished = Cells("o").size();
  EXPECT_LT(finished, 6u);
  const CommandResult rest = Run(kCommand, Environment());
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(Cells("o").size(), 6u);
}

// The terminal sends Ctrl-C to sbatch, too, which may have submitted and then cannot tell the id.
TEST_F(CoordinatorTest, AnInterruptOfSbatchCancelsWhatItHasSubmitted) {
  WriteSweep(30, 2);
  std::ofstream(fake() / "hang") << "\n";
  const pid_t command = Start(kCommand, "env " + Environment());
  ASSERT_TRUE(Becomes([&] {
    return std::filesystem::exists(fake() / "hanging") &&
           std::filesystem::exists(fake() / "running");
  }));
  ::kill(-command, SIGINT);
  EXPECT_EQ(ExitCodeOf(command), 130);
  EXPECT_NE(Read(fake() / "cancelled"), "");
  EXPECT_EQ(FilesIn("fake/tasks"), 0u);
  EXPECT_EQ(Asked(), 1u);
}

TEST_F(CoordinatorTest, ASecondCommandOnTheSameResultsIsRefused) {
  WriteSweep(2);
  const pid_t command = Start(kCommand, "env " + Environment());
  ASSERT_TRUE(Becomes([&] { return FilesIn("fake/tasks") > 0; }));
  ExpectRefused(Run(std::string(kCommand) + " --quiet", Environment()),
                "is used by another testbed now");
  ::kill(command, SIGINT);
  AwaitChild(command);
}

TEST_F(CoordinatorTest, WithoutSlurmOneSentenceSaysSo) {
  if (FindProgram("sbatch")) GTEST_SKIP() << "Slurm is installed here";
  WriteSweep(1);
  ExpectRefused(Run("experiment sweep.toml --on slurm --out o"),
                "--on slurm takes Slurm's program sbatch");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "o"));
}

}  // namespace
}  // namespace testbed
