// Tests the memory budget on the kernel of this machine. Needs the right to make a memory cgroup.
#include "device/machine/memory_budget.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <vector>

#include "device/error.h"
#include "device/file/page_cache.h"

namespace testbed {
namespace {

constexpr uint64_t kMiB = 1 << 20;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kLimit = 64 * kMiB;  // room for the sanitizer's shadow memory
#else
constexpr uint64_t kLimit = 32 * kMiB;
#endif
constexpr uint64_t kFileSize = 3 * kLimit;

class MemoryBudgetEngineTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    budget_ = MemoryBudget::Create(kLimit, &why_not);
    if (budget_ == nullptr) GTEST_SKIP() << why_not;
    std::string pattern = std::filesystem::current_path() / "memory_budget_test_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ + "/file";
  }
  void TearDown() override {
    budget_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  // Writes the file outside the budget and leaves nothing of it in the page cache.
  void MakeFile() const {
    const int fd = open(path_.c_str(), O_RDWR | O_CREAT, 0644);
    const std::vector<char> block(kMiB, 'x');
    for (uint64_t at = 0; at < kFileSize; at += kMiB) {
      ASSERT_EQ(pwrite(fd, block.data(), kMiB, static_cast<off_t>(at)), static_cast<ssize_t>(kMiB));
    }
    close(fd);
    ASSERT_EQ(DropPages(path_).after.cached, 0u);
  }

  // Runs `work` in a child under the budget, and returns the child's status. The child does not end
  // before `look` has run in this process, so that `look` can measure what the child holds.
  int RunUnderBudget(const std::function<bool()>& work, const std::function<void()>& look = {}) {
    int done[2], leave[2];
    EXPECT_EQ(pipe(done) + pipe(leave), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(done[0]), close(leave[1]);
      budget_->Enter();
      const char ok = work() ? 1 : 0;
      char any;
      if (write(done[1], &ok, 1) != 1 || read(leave[0], &any, 1) != 0) _exit(3);
      _exit(ok == 1 ? 0 : 1);
    }
    close(done[1]), close(leave[0]);
    char ok = 0;
    if (read(done[0], &ok, 1) == 1 && look) look();
    close(done[0]), close(leave[1]);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  std::unique_ptr<MemoryBudget> budget_;
  std::string directory_, path_;
};

bool ReadAll(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  if (fd < 0) return false;
  static char block[65536];
  ssize_t got = 0;
  uint64_t sum = 0;
  while ((got = read(fd, block, sizeof(block))) > 0) sum += static_cast<uint64_t>(got);
  close(fd);
  return sum == kFileSize;
}

TEST_F(MemoryBudgetEngineTest, BoundsThePageCacheThatReadsFill) {
  MakeFile();
  MemoryUsage usage;
  MemoryParts parts;
  uint64_t resident = 0;
  const int status = RunUnderBudget([&] { return ReadAll(path_) && ReadAll(path_); },
                                    [&] {
                                      usage = budget_->Usage();
                                      parts = budget_->Parts(0);
                                      resident = Residency(path_).cached;
                                    });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(usage.limit, kLimit);
  EXPECT_LE(usage.peak, kLimit);
  EXPECT_LE(usage.usage, kLimit);
  EXPECT_GT(usage.failcnt, 0u);
  EXPECT_EQ(usage.oom_kills, 0u);
  // The file is three times the budget, so the budget must bound its page cache, and nothing
  // smaller may.
  EXPECT_LT(resident, kLimit);
  EXPECT_GT(resident, kLimit / 2);
  // The statistics of the group must agree with the number of the file's pages in memory.
  EXPECT_NEAR(static_cast<double>(usage.file), static_cast<double>(resident), 1.0 * kMiB);
  // The parts add up to the limit.
  EXPECT_EQ(parts.limit, kLimit);
  EXPECT_LT(std::abs(parts.unaccounted()), static_cast<int64_t>(kLimit / 20));
  ASSERT_TRUE(parts.process_check);
  std::printf(
      "limit %lu peak %lu usage %lu: engine %lu other %lu page cache %lu (resident %lu) kernel %lu "
      "unused %lu, unaccounted %ld, by page tables %+ld\n",
      kLimit, usage.peak, usage.usage, parts.engine_cache, parts.process_other, parts.page_cache,
      resident, parts.kernel, parts.unused, parts.unaccounted(), *parts.process_check);
}

// A sanitizer's shadow of the whole mapping would not fit into the budget.
__attribute__((no_sanitize_address, no_sanitize_thread)) bool EveryPageStartsWith(
    char expected, const volatile char* map, uint64_t size) {
  for (uint64_t at = 0; at < size; at += 4096) {
    if (map[at] != expected) return false;
  }
  return true;
}

TEST_F(MemoryBudgetEngineTest, BoundsDirtyPagesAndMappings) {
  const auto work = [&] {
    const int fd = open(path_.c_str(), O_RDWR | O_CREAT, 0644);
    static char block[kMiB];
    std::memset(block, 'y', sizeof(block));
    for (uint64_t at = 0; at < kFileSize; at += kMiB) {
      if (pwrite(fd, block, kMiB, static_cast<off_t>(at)) != static_cast<ssize_t>(kMiB))
        return false;
    }
    void* map = mmap(nullptr, kFileSize, PROT_READ, MAP_SHARED, fd, 0);
    return map != MAP_FAILED && EveryPageStartsWith('y', static_cast<char*>(map), kFileSize);
  };
  MemoryUsage usage;
  EXPECT_EQ(RunUnderBudget(work, [&] { usage = budget_->Usage(); }), 0);
  EXPECT_LE(usage.peak, kLimit);
  EXPECT_LE(usage.file, kLimit);
  EXPECT_GT(usage.mapped, 0u);
  EXPECT_LT(Residency(path_).cached, kLimit);
}

TEST_F(MemoryBudgetEngineTest, RemovingGivesThePageCacheBack) {
  MakeFile();
  EXPECT_EQ(RunUnderBudget([&] { return ReadAll(path_); }), 0);
  EXPECT_GT(Residency(path_).cached, kLimit / 2);
  EXPECT_EQ(budget_->Remove(), "");
  EXPECT_FALSE(std::filesystem::exists(budget_->path()));
  EXPECT_LT(Residency(path_).cached, kMiB);
}

TEST_F(MemoryBudgetEngineTest, TooMuchAnonymousMemoryIsAnOomKill) {
  const auto work = [] {
    constexpr size_t kSize = 2 * kLimit;
    auto* memory = static_cast<volatile char*>(
        mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (size_t at = 0; at < kSize; at += 4096) memory[at] = 1;
    return memory[0] == 1;
  };
  EXPECT_FALSE(budget_->OomKilled());
  const int status = RunUnderBudget(work);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;
  EXPECT_TRUE(budget_->OomKilled());
  EXPECT_LE(budget_->Usage().peak, kLimit);
}

TEST_F(MemoryBudgetEngineTest, ProcessesThatEnterBeforeExecAreChargedWhole) {
  int hold[2], ready[2];
  ASSERT_EQ(pipe(hold) + pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    budget_->Enter();
    dup2(hold[0], 0), dup2(ready[1], 1);
    close(hold[1]);
    const char* holds_8_mb =
        "x=$(head -c 8000000 /dev/zero | tr '\\0' x); echo ready; read nothing";
    execl("/bin/sh", "sh", "-c", holds_8_mb, static_cast<char*>(nullptr));
    _exit(127);
  }
  char line[6];
  ASSERT_EQ(read(ready[0], line, sizeof(line)), 6);
  const MemoryParts parts = budget_->Parts(7 * kMiB);
  close(hold[1]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(parts.engine_cache, 7 * kMiB);
  EXPECT_GT(parts.process_other, 0u);
  ASSERT_TRUE(parts.process_check);
  // The kernel gathers a group's statistics in steps of 64 pages a CPU.
  const int64_t step = sysconf(_SC_NPROCESSORS_ONLN) * 64 * 4096;
  EXPECT_LE(std::abs(*parts.process_check), step + 64 * 1024)
      << "the page tables and the group must agree on what the process holds";
}

TEST_F(MemoryBudgetEngineTest, GroupsOfKilledRunsAreRemovedByTheNext) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string why_not;
    auto own = MemoryBudget::Create(kLimit, &why_not);
    const char path_size = static_cast<char>(own->path().size());
    if (write(ready[1], &path_size, 1) != 1) _exit(1);
    if (write(ready[1], own->path().data(), own->path().size()) < 0) _exit(1);
    pause();
    _exit(0);
  }
  unsigned char size = 0;
  ASSERT_EQ(read(ready[0], &size, 1), 1);
  std::string path(size, ' ');
  ASSERT_EQ(read(ready[0], path.data(), size), size);
  ASSERT_TRUE(std::filesystem::exists(path));
  (void)MemoryBudget::CleanLeftovers();
  EXPECT_TRUE(std::filesystem::exists(path)) << "its maker still runs";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(std::filesystem::exists(path));
  const std::vector<std::string> removed = MemoryBudget::CleanLeftovers().removed;
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::any_of(removed.begin(), removed.end(),
                          [&](const std::string& s) { return s.find(path) != std::string::npos; }));
  EXPECT_TRUE(std::filesystem::exists(budget_->path()));
}

TEST_F(MemoryBudgetEngineTest, EnteringAProcessThatIsGoneIsAnError) {
  EXPECT_THROW(budget_->Enter(1 << 30), Error);
}

}  // namespace
}  // namespace testbed
