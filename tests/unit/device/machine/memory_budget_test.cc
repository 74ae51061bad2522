#include "device/machine/memory_budget.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "device/error.h"
#include "device/os/sys_file.h"
#include "tests/refused_call.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

void WriteFile(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// A directory that imitates a machine with cgroups of one version. Plain files stand for the
// kernel's.
class FakeCgroups : public CgroupFs {
 public:
  FakeCgroups(int version, const std::string& root_of_mount, const std::string& own_group)
      : version_(version) {
    std::string pattern = fs::current_path() / "cgroups_XXXXXX";
    prefix_ = mkdtemp(pattern.data());
    fs::create_directories(prefix_ + "/proc/self");
    const std::string mount = "/sys/fs/cgroup";
    fs::create_directories(prefix_ + mount);
    WriteFile(prefix_ + "/proc/self/mountinfo",
              "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
              "40 31 0:37 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
              "35 31 0:32 " +
                  root_of_mount + " " + mount + " rw shared:9 - " +
                  (version == 1 ? "cgroup cgroup rw,memory\n" : "cgroup2 cgroup2 rw\n"));
    WriteFile(prefix_ + "/proc/self/cgroup",
              version == 1 ? "7:blkio:/\n4:cpu,memory:" + own_group + "\n0::/elsewhere\n"
                           : "0::" + own_group + "\n");
  }
  ~FakeCgroups() override { fs::remove_all(prefix_); }

  int MakeDirectory(const std::string& path) const override {
    if (refuse.count(path.substr(0, path.rfind('/'))) > 0) return EACCES;
    fs::create_directories(path);
    Populate(path);
    return 0;
  }
  int RemoveDirectory(const std::string& path) const override {
    if (!fs::exists(path)) return ENOENT;
    if (!ReadLine(path + "/cgroup.procs").empty()) return EBUSY;
    fs::remove_all(path);
    return 0;
  }
  std::string prefix() const override { return prefix_; }
  std::chrono::milliseconds patience() const override { return std::chrono::milliseconds(50); }

  std::string Group(const std::string& name) const { return prefix_ + "/sys/fs/cgroup" + name; }
  // Adds a group with the files that the kernel makes. On v2 its children get the controllers
  // `handed_down`.
  void Add(const std::string& name, const std::string& handed_down = "memory io") {
    fs::create_directories(Group(name));
    Populate(Group(name));
    WriteFile(Group(name) + "/cgroup.subtree_control", handed_down);
  }
  void Populate(const std::string& path) const {
    const std::map<std::string, std::string> v1 = {
        {"memory.limit_in_bytes", "9223372036854771712\n"},
        {"memory.memsw.limit_in_bytes", "9223372036854771712\n"},
        {"memory.swappiness", "60\n"},
        {"memory.force_empty", ""},
        {"cgroup.procs", ""}};
    const std::map<std::string, std::string> v2 = {
        {"memory.max", "max\n"},      {"memory.high", "max\n"},
        {"memory.swap.max", "max\n"}, {"memory.current", "0\n"},
        {"memory.reclaim", ""},       {"cgroup.controllers", "cpu io memory pids\n"},
        {"cgroup.procs", ""},         {"cgroup.subtree_control", "\n"}};
    for (const auto& [name, text] : version_ == 1 ? v1 : v2) {
      const bool of_swap = name == "memory.memsw.limit_in_bytes" || name == "memory.swap.max";
      if (counts_swap || !of_swap) WriteFile(path + "/" + name, text);
    }
  }

  std::set<std::string> refuse;  // groups that refuse to make a child group
  bool counts_swap = true;       // the kernel counts the swap of each group

 private:
  int version_;
  std::string prefix_;
};

std::string Parent(const MemoryBudget& budget) { return fs::path(budget.path()).parent_path(); }

TEST(MemoryBudgetTest, Version1LimitsMemoryAndSwapInTheProcessesOwnGroup) {
  FakeCgroups cgroups(1, "/", "/user/shell");
  cgroups.Add("");
  cgroups.Add("/user/shell");
  WriteFile(cgroups.prefix() + "/proc/swaps", "Filename Type\n/dev/sda2 partition\n");
  std::string why_not;
  auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups);
  ASSERT_NE(budget, nullptr) << why_not;
  EXPECT_EQ(budget->version(), 1);
  EXPECT_EQ(Parent(*budget), cgroups.Group("/user/shell"));
  EXPECT_EQ(ReadLine(budget->path() + "/memory.limit_in_bytes"), "67108864");
  EXPECT_EQ(ReadLine(budget->path() + "/memory.memsw.limit_in_bytes"), "67108864");
  EXPECT_EQ(ReadLine(budget->path() + "/memory.swappiness"), "0");
  budget->Enter(4711);
  EXPECT_EQ(ReadLine(budget->path() + "/cgroup.procs"), "4711");
  WriteFile(budget->path() + "/cgroup.procs", "");
  const std::string path = budget->path();
  budget.reset();
  EXPECT_FALSE(fs::exists(path));
}

TEST(MemoryBudgetTest, Version1LeavesTheSwapLimitAloneWhereThereIsNoSwap) {
  FakeCgroups cgroups(1, "/", "/");
  cgroups.Add("");
  WriteFile(cgroups.prefix() + "/proc/swaps", "Filename Type\n");
  std::string why_not;
  auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups);
  ASSERT_NE(budget, nullptr) << why_not;
  EXPECT_EQ(ReadLine(budget->path() + "/memory.memsw.limit_in_bytes"), "9223372036854771712");
}

TEST(MemoryBudgetTest, Version2LimitsMemoryAndForbidsSwap) {
  FakeCgroups cgroups(2, "/", "/");
  cgroups.Add("");
  std::string why_not;
  auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups);
  ASSERT_NE(budget, nullptr) << why_not;
  EXPECT_EQ(budget->version(), 2);
  EXPECT_EQ(Parent(*budget), cgroups.Group(""));
  EXPECT_EQ(ReadLine(budget->path() + "/memory.max"), "67108864");
  EXPECT_EQ(ReadLine(budget->path() + "/memory.swap.max"), "0");
}

// A kernel that was built or booted without swap accounting lacks the files.
TEST(MemoryBudgetTest, WithoutSwapAccountingASentenceSaysThatSwapIsNotBounded) {
  for (const int version : {1, 2}) {
    FakeCgroups cgroups(version, "/", "/");
    cgroups.counts_swap = false;
    cgroups.Add("");
    const std::string file = version == 1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max";
    const auto lacks = [&](const std::string& swaps) {
      WriteFile(cgroups.prefix() + "/proc/swaps", swaps);
      std::string why_not;
      const auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups);
      EXPECT_NE(budget, nullptr) << why_not;
      return budget == nullptr ? why_not : budget->lacks();
    };
    EXPECT_EQ(lacks("Filename Type\n"), "") << "there is no swap";
    EXPECT_EQ(lacks("Filename Type\n/dev/sda2 partition\n"),
              file +
                  " could not be set (No such file or directory), so the run's memory may move "
                  "into the machine's swap, which counts in no budget; end the swap with swapoff "
                  "-a");
    cgroups.counts_swap = true;
    EXPECT_EQ(lacks("Filename Type\n/dev/sda2 partition\n"), "");
  }
}

// Once, such a budget was said to be in force, and memory that the machine lacks counted as unused.
TEST(MemoryBudgetTest, ABudgetAboveTheMemoryOfTheMachineBoundsNothing) {
  for (const int version : {1, 2}) {
    FakeCgroups cgroups(version, "/", "/");
    cgroups.Add("");
    WriteFile(cgroups.prefix() + "/proc/meminfo", "MemTotal:  131072 kB\nMemFree:  4096 kB\n");
    const auto lacks = [&](uint64_t limit) {
      std::string why_not;
      const auto budget = MemoryBudget::Create(limit, &why_not, cgroups);
      EXPECT_NE(budget, nullptr) << why_not;
      return budget == nullptr ? why_not : budget->lacks();
    };
    EXPECT_EQ(lacks(128 << 20), "");
    EXPECT_EQ(lacks(256 << 20),
              "it is 256 MiB, and the machine has 128 MiB of memory, of which the run gets what "
              "other programs leave; give a smaller one");
  }
}

TEST(MemoryBudgetTest, Version2GoesUpToTheNearestGroupThatHandsMemoryDown) {
  FakeCgroups cgroups(2, "/", "/user/app/shell");
  cgroups.Add("");
  cgroups.Add("/user");
  cgroups.Add("/user/app");
  cgroups.Add("/user/app/shell", "");
  std::string why_not;
  auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups);
  ASSERT_NE(budget, nullptr) << why_not;
  EXPECT_EQ(Parent(*budget), cgroups.Group("/user/app"));

  cgroups.refuse = {cgroups.Group("/user/app"), cgroups.Group("/user")};
  auto above = MemoryBudget::Create(64 << 20, &why_not, cgroups);
  ASSERT_NE(above, nullptr) << why_not;
  EXPECT_EQ(Parent(*above), cgroups.Group(""));
}

// systemd hands the controller memory further down than io.
TEST(MemoryBudgetTest, Version2GoesUpToTheNearestGroupThatHandsBothDownWhereReadsAreLimited) {
  FakeCgroups cgroups(2, "/", "/user/app/shell");
  cgroups.Add("");
  cgroups.Add("/user", "io memory pids");
  cgroups.Add("/user/app", "memory pids");
  cgroups.Add("/user/app/shell", "");
  std::string why_not;
  auto both = MemoryBudget::Create(64 << 20, &why_not, cgroups, true);
  ASSERT_NE(both, nullptr) << why_not;
  EXPECT_EQ(Parent(*both), cgroups.Group("/user"));
  auto memory = MemoryBudget::Create(64 << 20, &why_not, cgroups);
  ASSERT_NE(memory, nullptr) << why_not;
  EXPECT_EQ(Parent(*memory), cgroups.Group("/user/app"));
}

TEST(MemoryBudgetTest, WhereNoGroupHasBothControllersTheBudgetStillHolds) {
  FakeCgroups cgroups(2, "/", "/user");
  cgroups.Add("", "memory");
  cgroups.Add("/user", "memory");
  std::string why_not;
  auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups, true);
  ASSERT_NE(budget, nullptr) << why_not;
  EXPECT_EQ(Parent(*budget), cgroups.Group("/user"));
}

TEST(MemoryBudgetTest, AProcessThatAnotherLimitEndedIsNotEndedByThisOne) {
  std::string why_not;
  {
    FakeCgroups cgroups(1, "/", "/");
    cgroups.Add("");
    auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups);
    ASSERT_NE(budget, nullptr) << why_not;
    WriteFile(budget->path() + "/memory.max_usage_in_bytes", "30000000\n");
    EXPECT_FALSE(budget->AnyKilled());
    WriteFile(budget->path() + "/memory.oom_control", "under_oom 0\noom_kill 1\n");
    EXPECT_TRUE(budget->AnyKilled());
    EXPECT_FALSE(budget->OomKilled());
    WriteFile(budget->path() + "/memory.max_usage_in_bytes", "67000000\n");
    EXPECT_TRUE(budget->OomKilled());
  }
  FakeCgroups cgroups(2, "/", "/");
  cgroups.Add("");
  auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups);
  ASSERT_NE(budget, nullptr) << why_not;
  // The page cache had filled the group, as it does in most runs.
  WriteFile(budget->path() + "/memory.peak", "67108864\n");
  WriteFile(budget->path() + "/memory.events", "low 0\nhigh 0\nmax 17\noom 0\noom_kill 1\n");
  EXPECT_TRUE(budget->AnyKilled());
  EXPECT_FALSE(budget->OomKilled());
}

TEST(MemoryBudgetTest, Version2ReadsWhatTheGroupHolds) {
  FakeCgroups cgroups(2, "/", "/");
  cgroups.Add("");
  std::string why_not;
  auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups);
  ASSERT_NE(budget, nullptr) << why_not;
  const std::string& path = budget->path();
  WriteFile(path + "/memory.current", "50000000\n");
  WriteFile(path + "/memory.peak", "60000000\n");
  WriteFile(path + "/memory.events", "low 0\nhigh 0\nmax 17\noom 1\noom_kill 1\n");
  WriteFile(path + "/memory.stat",
            "anon 20000000\nfile 25000000\nkernel 4000000\nkernel_stack 1\nsock 100\n"
            "shmem 1000000\nfile_mapped 300\nfile_dirty 200\nfile_writeback 100\n"
            "workingset_refault_file 5\n");
  const MemoryUsage usage = budget->Usage();
  EXPECT_EQ(usage.limit, 64u << 20);
  EXPECT_EQ(usage.usage, 50'000'000u);
  EXPECT_EQ(usage.peak, 60'000'000u);
  EXPECT_EQ(usage.anon, 20'000'000u);
  EXPECT_EQ(usage.shmem, 1'000'000u);
  EXPECT_EQ(usage.file, 24'000'000u);
  EXPECT_EQ(usage.kernel, 4'000'100u);
  EXPECT_EQ(usage.mapped, 300u);
  EXPECT_EQ(usage.dirty, 200u);
  EXPECT_EQ(usage.writeback, 100u);
  EXPECT_EQ(usage.refaults, 5u);
  EXPECT_EQ(usage.failcnt, 17u);
  EXPECT_TRUE(budget->OomKilled());

  const MemoryParts parts = budget->Parts(15'000'000);
  EXPECT_EQ(parts.engine_cache, 15'000'000u);
  EXPECT_EQ(parts.process_other, 6'000'000u);
  EXPECT_EQ(parts.page_cache, 24'000'000u);
  EXPECT_EQ(parts.unused, parts.limit - 50'000'000);
  // 50,000,000 bytes were charged, and the parts add up to 49,000,100.
  EXPECT_EQ(parts.unaccounted(), 999'900);
  EXPECT_EQ(parts.Sum() + static_cast<uint64_t>(parts.unaccounted()), parts.limit);
  EXPECT_FALSE(parts.process_check) << "no process was in the group";

  // An engine that counts more cache than its process touched cannot make the sum grow.
  const MemoryParts more = budget->Parts(30'000'000);
  EXPECT_EQ(more.engine_cache, 21'000'000u);
  EXPECT_EQ(more.process_other, 0u);
  EXPECT_EQ(more.Sum(), parts.Sum());
}

TEST(MemoryBudgetTest, KernelMemoryOfOlderVersion2KernelsIsTheSumOfItsParts) {
  FakeCgroups cgroups(2, "/", "/");
  cgroups.Add("");
  std::string why_not;
  auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups);
  ASSERT_NE(budget, nullptr) << why_not;
  WriteFile(budget->path() + "/memory.stat",
            "kernel_stack 10\npagetables 20\npercpu 30\nslab_reclaimable 7\nslab 40\n");
  EXPECT_EQ(budget->Usage().kernel, 100u);
}

TEST(MemoryBudgetTest, DeclinesWithASentence) {
  std::string why_not;
  {
    FakeCgroups none(2, "/", "/");  // no controllers file: memory is not on this hierarchy
    EXPECT_EQ(MemoryBudget::Create(64 << 20, &why_not, none), nullptr);
    EXPECT_NE(why_not.find("no memory cgroup controller"), std::string::npos) << why_not;
  }
  {
    FakeCgroups refused(1, "/", "/");
    refused.Add("");
    refused.refuse = {refused.Group("")};
    EXPECT_EQ(MemoryBudget::Create(64 << 20, &why_not, refused), nullptr);
    EXPECT_NE(why_not.find("run as root"), std::string::npos) << why_not;
  }
  {
    FakeCgroups withheld(2, "/", "/");
    withheld.Add("", "io");
    fs::remove(withheld.Group("/cgroup.subtree_control"));
    EXPECT_EQ(MemoryBudget::Create(64 << 20, &why_not, withheld), nullptr);
    EXPECT_NE(why_not.find("cgroup.subtree_control"), std::string::npos) << why_not;
  }
  for (int version : {1, 2}) {
    FakeCgroups outer(version, "/", "/container");
    outer.Add("");
    outer.Add("/container", "");  // a group with processes, which hands nothing down
    WriteFile(outer.Group("/container/") + (version == 1 ? "memory.limit_in_bytes" : "memory.max"),
              "33554432\n");
    EXPECT_EQ(MemoryBudget::Create(64 << 20, &why_not, outer), nullptr);
    EXPECT_NE(why_not.find("limits it to 32 MiB, below 64 MiB"), std::string::npos) << why_not;
    for (const auto& entry : fs::recursive_directory_iterator(outer.Group(""))) {
      EXPECT_FALSE(entry.is_directory() && entry.path().string() != outer.Group("/container"))
          << "left " << entry.path();
    }
    EXPECT_NE(MemoryBudget::Create(16 << 20, &why_not, outer), nullptr) << why_not;
  }
}

TEST(MemoryBudgetTest, LeavesNoGroupWhereTheSystemGivesNoLock) {
  FakeCgroups cgroups(1, "/", "/user/shell");
  cgroups.Add("");
  cgroups.Add("/user/shell");
  const int code = ExitCodeWithout(SYS_flock, ENOLCK, [&] {
    std::string why_not;
    if (MemoryBudget::Create(64 << 20, &why_not, cgroups) != nullptr) return 1;
    return why_not.find(std::strerror(ENOLCK)) == std::string::npos ? 2 : 0;
  });
  if (code == kCannotRefuse) GTEST_SKIP() << kNoFilters;
  EXPECT_EQ(code, 0);
  for (const auto& entry : fs::recursive_directory_iterator(cgroups.Group(""))) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("testbed-")) << entry.path();
  }
}

TEST(MemoryBudgetTest, FindsItsPlaceBelowAMountThatShowsOnlyAPart) {
  // A container sees its own group as the mount's root, but may read its full path.
  FakeCgroups cgroups(1, "/docker/1234", "/docker/1234/run");
  cgroups.Add("");
  cgroups.Add("/run");
  std::string why_not;
  auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups);
  ASSERT_NE(budget, nullptr) << why_not;
  EXPECT_EQ(Parent(*budget), cgroups.Group("/run"));
}

TEST(MemoryBudgetTest, RemovesOnlyGroupsThatNoRunHolds) {
  FakeCgroups cgroups(1, "/", "/");
  cgroups.Add("");
  cgroups.Add("/user");
  const std::string dead = "/user/testbed-00000000000000a1", busy = "/testbed-00000000000000a2",
                    held = "/testbed-00000000000000a3";
  // The name of the last group is of an earlier version, whose runs held no lock. Whether such a
  // run lives cannot be told, so the group must stay.
  for (const std::string& name :
       {dead, busy, held, std::string("/testbed-notes"), std::string("/testbed-999999-1-0")}) {
    cgroups.Add(name);
  }
  WriteFile(cgroups.Group(busy) + "/cgroup.procs", "77\n");
  // This lock stands for a run in another process namespace, which cannot be recognised by a
  // process number.
  const DirLock other(cgroups.Group(held), "");
  std::string why_not;
  auto living = MemoryBudget::Create(64 << 20, &why_not, cgroups);
  ASSERT_NE(living, nullptr) << why_not;

  const MemoryBudget::Leftovers leftovers = MemoryBudget::CleanLeftovers(cgroups);
  ASSERT_EQ(leftovers.removed.size(), 1u);
  EXPECT_NE(leftovers.removed[0].find(cgroups.Group(dead)), std::string::npos);
  ASSERT_EQ(leftovers.kept.size(), 1u);
  EXPECT_NE(leftovers.kept[0].find("processes 77"), std::string::npos);
  EXPECT_FALSE(fs::exists(cgroups.Group(dead)));
  EXPECT_TRUE(fs::exists(cgroups.Group(busy)));
  EXPECT_TRUE(fs::exists(cgroups.Group(held)));
  EXPECT_TRUE(fs::exists(cgroups.Group("/testbed-notes")));
  EXPECT_TRUE(fs::exists(cgroups.Group("/testbed-999999-1-0")));
  EXPECT_TRUE(fs::exists(living->path()));
}

// Dirty pages of a file system that an error has made read-only can neither be written nor dropped.
// Once, the parent of such a run waited for the kernel without end, and its results were lost.
TEST(MemoryBudgetTest, AGroupWhosePagesTheKernelDoesNotReclaimStays) {
  for (const int version : {1, 2}) {
    FakeCgroups cgroups(version, "/", "/");
    cgroups.Add("");
    std::string why_not;
    auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups);
    ASSERT_NE(budget, nullptr) << why_not;
    const std::string group = budget->path();
    const std::string knob = group + (version == 1 ? "/memory.force_empty" : "/memory.reclaim");
    WriteFile(group + (version == 1 ? "/memory.usage_in_bytes" : "/memory.current"), "8192\n");
    // Nobody reads the pipe, so that a writer waits for as long as it lives.
    fs::remove(knob);
    ASSERT_EQ(::mkfifo(knob.c_str(), 0600), 0);
    const auto begin = std::chrono::steady_clock::now();
    const std::string stays = "8 KiB of pages stay in the memory cgroup " + group;
    EXPECT_TRUE(budget->Remove().starts_with(stays));
    budget.reset();
    EXPECT_TRUE(fs::exists(group));
    const MemoryBudget::Leftovers leftovers = MemoryBudget::CleanLeftovers(cgroups);
    EXPECT_TRUE(leftovers.removed.empty());
    ASSERT_EQ(leftovers.kept.size(), 1u);
    EXPECT_TRUE(leftovers.kept[0].starts_with(stays)) << leftovers.kept[0];
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));

    fs::remove(knob);
    WriteFile(knob, "");
    EXPECT_EQ(MemoryBudget::CleanLeftovers(cgroups).removed.size(), 1u);
    EXPECT_FALSE(fs::exists(group));
  }
}

TEST(MemoryBudgetTest, OnlyItsMakerRemovesAGroup) {
  FakeCgroups cgroups(1, "/", "/");
  cgroups.Add("");
  std::string why_not;
  auto budget = MemoryBudget::Create(64 << 20, &why_not, cgroups);
  ASSERT_NE(budget, nullptr) << why_not;
  const pid_t child = fork();
  if (child == 0) {
    budget.reset();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(budget->path()));
  MemoryBudget::Attach(budget->path(), cgroups).reset();
  EXPECT_TRUE(fs::exists(budget->path()));
  EXPECT_EQ(MemoryBudget::Attach(budget->path(), cgroups)->limit(), 64u << 20);
  EXPECT_THROW(MemoryBudget::Attach(cgroups.Group("/none"), cgroups), Error);
}

TEST(MemoryBudgetTest, ProcessMemoryComesFromPageTables) {
  const auto before = ReadProcessMemory(getpid());
  ASSERT_TRUE(before);
  std::vector<char> touched(32 << 20, 'x');
  const auto after = ReadProcessMemory(getpid());
  ASSERT_TRUE(after);
  EXPECT_GE(after->anon, before->anon + (31 << 20));
  EXPECT_GE(after->rss, after->anon);
  EXPECT_EQ(touched[touched.size() - 1], 'x');
  EXPECT_FALSE(ReadProcessMemory(1 << 30));
}

}  // namespace
}  // namespace testbed
