#include "device/machine/host.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "device/error.h"
#include "tests/refused_call.h"
#include "tools/inspect/doctor.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// Imitates /proc, /sys and /etc of a machine by files in a temporary directory.
class HostTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::current_path() / "host_test_XXXXXX";
    root_ = mkdtemp(pattern.data());
    Write("/proc/2/comm", "kthreadd\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  HostFacts Read() const { return ReadHostFacts(root_, root_); }
  std::string root_;
};

TEST_F(HostTest, ReadsWhatTheKernelTells) {
  Write("/etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  Write("/proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Xeon 9\nflags\t\t: fpu constant_tsc nonstop_tsc "
        "hypervisor\n\nprocessor\t: 1\nmodel name\t: other\n");
  Write("/proc/meminfo", "MemTotal:       1024 kB\nMemAvailable:  512 kB\nSwapTotal:  256 kB\n");
  Write("/proc/loadavg", "1.25 0.5 0.1 2/100 999\n");
  Write("/proc/sys/kernel/perf_event_paranoid", "-1\n");
  Write("/proc/self/uid_map", "         0          0 4294967295\n");
  Write("/proc/self/status", "Name:\tx\nCapEff:\t0000008000000000\n");  // CAP_BPF alone
  Write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  Write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n");
  Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  Write("/proc/self/mountinfo",
        "1 0 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
        "2 1 8:2 / " +
            root_ +
            " rw,noatime - tmpfs covered rw\n"
            "3 1 8:3 / " +
            root_ +
            " rw,noatime - xfs /dev/sdb rw,inode64\n"
            "4 1 8:4 / " +
            root_ +
            "x rw - btrfs /dev/sdc rw\n"
            "5 1 0:9 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
  const HostFacts host = Read();
  EXPECT_EQ(host.operating_system, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(host.cpu_model, "Xeon 9");
  EXPECT_TRUE(host.virtual_machine);
  EXPECT_TRUE(host.tsc_invariant);
  EXPECT_EQ(host.memory_bytes, 1u << 20);
  EXPECT_EQ(host.memory_available, 512u * 1024);
  EXPECT_EQ(host.swap_bytes, 256u * 1024);
  EXPECT_DOUBLE_EQ(host.load, 1.25);
  EXPECT_EQ(host.perf_event_paranoid, -1);
  EXPECT_FALSE(host.user_namespace);
  EXPECT_TRUE(host.cap_bpf);
  EXPECT_FALSE(host.cap_perfmon);
  EXPECT_FALSE(host.cap_sys_admin);
  EXPECT_EQ(host.transparent_huge_pages, "madvise");
  EXPECT_EQ(host.clock_source, "kvm-clock");
  EXPECT_EQ(host.cpu_governor, "powersave");
  EXPECT_EQ(host.cgroups, "v2");
  EXPECT_EQ(host.file_system, "xfs");
  EXPECT_EQ(host.mount_source, "/dev/sdb");
  EXPECT_EQ(host.mount_options, "rw,noatime,rw,inode64");
  EXPECT_FALSE(host.kernel_types);
  EXPECT_GT(host.free_bytes, 0u);
}

TEST_F(HostTest, RootOfAUserNamespaceIsTold) {
  Write("/proc/self/uid_map", "0 1000 1\n");
  Write("/proc/self/status", "CapEff:\t000001ffffffffff\n");
  const HostFacts host = Read();
  EXPECT_TRUE(host.user_namespace);
  EXPECT_TRUE(host.cap_sys_admin && host.cap_bpf && host.cap_perfmon);
}

TEST_F(HostTest, FactsThatAreNotThereAreEmpty) {
  const HostFacts host = Read();
  EXPECT_EQ(host.cpu_model, "");
  EXPECT_FALSE(host.tsc_invariant);
  EXPECT_EQ(host.cgroups, "none");
  EXPECT_EQ(host.perf_event_paranoid, HostFacts::kNoParanoid);
  EXPECT_THROW(ReadHostFacts(root_ + "/none", root_), Error);
}

TEST_F(HostTest, DamonIsFoundInEachPlaceWhereItShows) {
  EXPECT_EQ(Read().damon, Reclaim::kNone);

  Write("/proc/77/comm", "kdamond.0\n");
  EXPECT_EQ(Read().damon, Reclaim::kRunning);
  EXPECT_EQ(Read().damon_detail, "the kernel thread kdamond.0 (process 77) runs");

  Write("/sys/module/damon_reclaim/parameters/enabled", "Y\n");
  EXPECT_EQ(Read().damon_detail, "damon_reclaim is enabled");

  const std::string kdamonds = "/sys/kernel/mm/damon/admin/kdamonds/";
  Write(kdamonds + "nr_kdamonds", "1\n");
  Write(kdamonds + "0/state", "off\n");
  Write(kdamonds + "0/contexts/0/schemes/0/action", "pageout\n");
  EXPECT_EQ(Read().damon_detail, "damon_reclaim is enabled");
  Write(kdamonds + "0/state", "on\n");
  EXPECT_EQ(Read().damon_detail, "kdamond 0 is on, with the action pageout");
  EXPECT_EQ(CheckReclaim(Read()).state, Check::State::kLimited);
}

TEST_F(HostTest, WhereKernelThreadsAreHiddenDamonIsUnknown) {
  Write("/proc/2/comm", "bash\n");
  EXPECT_EQ(Read().damon, Reclaim::kUnknown);
  EXPECT_EQ(CheckReclaim(Read()).state, Check::State::kLimited);
  EXPECT_FALSE(CheckReclaim(Read()).change.empty());
}

TEST(HostFactsTest, ThisMachineHasFacts) {
  const HostFacts host = ReadHostFacts(".");
  EXPECT_FALSE(host.kernel.empty());
  EXPECT_GE(host.cpus, 1u);
  EXPECT_GE(host.cpus_online, host.cpus);
  EXPECT_GT(host.memory_bytes, 0u);
  EXPECT_FALSE(host.file_system.empty());
  EXPECT_EQ(host.root, geteuid() == 0);
  std::set<std::string> names;
  for (const auto& [name, value] : host.Fields()) {
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"), std::string::npos);
  }
  EXPECT_GE(names.size(), 30u);
}

// The kernel of a machine with more than 1024 processors refuses the C library's set of that size.
TEST(HostFactsTest, TheProcessorsOfAnyMachineAreFound) {
  const std::vector<int> own = OwnProcessors();
  ASSERT_FALSE(own.empty());
  EXPECT_EQ(ReadHostFacts(".").cpus, own.size());
  const int code = ExitCodeWithout(
      SYS_sched_getaffinity, EINVAL, [&own] { return OwnProcessors() == own ? 0 : 1; },
      8 * sizeof(cpu_set_t) - 1);
  if (code == kCannotRefuse) GTEST_SKIP() << kNoFilters;
  EXPECT_EQ(code, 0);
}

TEST(DoctorTest, GradesFollowWhatIsPossible) {
  EXPECT_EQ(CheckAccount("", "").state, Check::State::kOk);
  EXPECT_NE(CheckAccount("", "").found.find("grade A"), std::string::npos);
  EXPECT_NE(CheckAccount("no bpf", "").found.find("grade B"), std::string::npos);
  EXPECT_NE(CheckAccount("", "no loop").found.find("grade B"), std::string::npos);
  const Check none = CheckAccount("no bpf", "no loop");
  EXPECT_EQ(none.state, Check::State::kLimited);
  EXPECT_EQ(none.found, "grade C: no bpf; no loop");
  EXPECT_NE(none.change.find("root"), std::string::npos);
}

TEST(DoctorTest, JudgesClockLoadAndMemory) {
  HostFacts host;
  host.clock_source = "tsc", host.tsc_invariant = true;
  EXPECT_EQ(CheckClock(host, 30).state, Check::State::kOk);
  EXPECT_EQ(CheckClock(host, 900).state, Check::State::kLimited);
  host.tsc_invariant = false;
  EXPECT_EQ(CheckClock(host, 30).state, Check::State::kLimited);

  host.cpus = host.cpus_online = 8;
  host.load = 1;
  EXPECT_EQ(CheckLoad(host).state, Check::State::kOk);
  host.load = 4;
  EXPECT_EQ(CheckLoad(host).state, Check::State::kLimited);
  host.load = 0, host.cpu_governor = "powersave";
  EXPECT_EQ(CheckLoad(host).state, Check::State::kLimited);
  EXPECT_NE(CheckLoad(host).change.find("performance"), std::string::npos);

  EXPECT_EQ(CheckMemorySettings(host).state, Check::State::kOk);
  host.transparent_huge_pages = "always";
  EXPECT_EQ(CheckMemorySettings(host).state, Check::State::kLimited);
  host.transparent_huge_pages = "madvise", host.swap_bytes = 1 << 30;
  EXPECT_EQ(CheckMemorySettings(host).change, "swapoff -a");
}

TEST(DoctorTest, ChecksEverythingOnceAndLeavesNothing) {
  std::string directory = fs::current_path() / "doctor_test_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::vector<Check> checks = Doctor(directory);
  EXPECT_TRUE(fs::is_empty(directory));
  fs::remove(directory);
  std::set<std::string> names;
  for (const Check& check : checks) {
    EXPECT_TRUE(names.insert(check.name).second);
    EXPECT_FALSE(check.found.empty()) << check.name;
    EXPECT_FALSE(check.means.empty()) << check.name;
    EXPECT_TRUE(check.state == Check::State::kOk || !check.change.empty() ||
                check.name == "clock" || check.name == "disk traffic")
        << check.name << " says no way to change it";
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"account", "scratch", "memory budget", "direct IO", "readahead",
                                   "reads in flight", "page cache", "proactive reclaim", "memory",
                                   "clock", "load", "disk traffic", "space"}));
  EXPECT_THROW(Doctor(directory), Error);
}

// Once, a full disk was taken for a kernel without cachestat(2).
TEST(DoctorTest, ADirectoryThatTakesNoBytesIsSaidNotToBeWritten) {
  std::string directory = fs::current_path() / "doctor_full_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) _exit(2);
    for (const Check& check : Doctor(directory)) {
      if (check.name != "page cache") continue;
      _exit(check.found.find("cannot be written to") != std::string::npos ? 0 : 1);
    }
    _exit(3);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::is_empty(directory));
  fs::remove(directory);
}

TEST(DoctorTest, WithoutRightsTheKernelAccountSaysWhatItNeeds) {
  HostFacts host;
  EXPECT_NE(WhyNoKernelAccount(host).find("btf"), std::string::npos);
  if (geteuid() == 0) GTEST_SKIP() << "this user may load kernel programs";
  host.kernel_types = true;
  EXPECT_FALSE(WhyNoKernelAccount(host).empty());
}

}  // namespace
}  // namespace testbed
