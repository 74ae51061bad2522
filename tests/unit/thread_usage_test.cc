#include "device/thread_usage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "device/page_cache.h"

namespace testbed {
namespace {

void Spin(uint64_t cpu_ns) {
  const uint64_t begin = ThreadUsage().cpu_ns;
  while (ThreadUsage().cpu_ns - begin < cpu_ns) {
  }
}

TEST(ThreadUsageTest, ChargesTimeToTheThreadThatUsedIt) {
  const CpuUsage process = ProcessUsage();
  const CpuUsage mine = ThreadUsage();
  std::thread([] { Spin(50'000'000); }).join();
  const CpuUsage after = ThreadUsage() - mine;
  const CpuUsage all = ProcessUsage() - process;
  EXPECT_LT(after.cpu_ns, 25'000'000u);
  EXPECT_GE(all.cpu_ns, 50'000'000u);
  // The split comes from the same total.
  EXPECT_NEAR(static_cast<double>(all.user_ns + all.system_ns), static_cast<double>(all.cpu_ns),
              5e6);
}

TEST(ThreadUsageTest, CountsDeviceReadsToTheByte) {
  const std::string path = std::filesystem::current_path() / "thread_usage_test_file";
  constexpr size_t kSize = 1 << 20;
  std::ofstream(path) << std::string(kSize, 'x');
  if (DropPages(path).after.cached != 0) {
    std::filesystem::remove(path);
    GTEST_SKIP() << "the file system of " << path << " keeps its files in memory";
  }
  const int fd = open(path.c_str(), O_RDONLY);
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  std::vector<char> page(8192);
  // The first read also reads the file's block map.
  ASSERT_EQ(pread(fd, page.data(), page.size(), 0), 8192);
  const CpuUsage before = ThreadUsage();
  for (off_t at = 1; at < 17; ++at) {
    ASSERT_EQ(pread(fd, page.data(), page.size(), at * 32768), 8192);
  }
  const CpuUsage cost = ThreadUsage() - before;
  EXPECT_EQ(cost.read_bytes, 16u * 8192);
  const CpuUsage warm = ThreadUsage();
  ASSERT_EQ(pread(fd, page.data(), page.size(), 32768), 8192);
  EXPECT_EQ((ThreadUsage() - warm).read_bytes, 0u);
  close(fd);
  std::filesystem::remove(path);
}

TEST(ThreadUsageTest, ListsThreadsByName) {
  std::atomic<pid_t> tid{0};
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    pthread_setname_np(pthread_self(), "a (worker) x");
    Spin(30'000'000);
    tid = static_cast<pid_t>(syscall(SYS_gettid));
    while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (tid == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::vector<TaskUsage> tasks = AllThreadsUsage();
  stop = true;
  worker.join();
  const auto found =
      std::find_if(tasks.begin(), tasks.end(), [&](const TaskUsage& t) { return t.tid == tid; });
  ASSERT_NE(found, tasks.end());
  EXPECT_EQ(found->name, "a (worker) x");
  EXPECT_GE(found->usage.cpu_ns, 30'000'000u);
  EXPECT_TRUE(std::any_of(tasks.begin(), tasks.end(),
                          [](const TaskUsage& t) { return t.tid == getpid(); }));
}

TEST(ThreadUsageTest, UsageAddsUp) {
  CpuUsage a;
  a.cpu_ns = 10, a.read_bytes = 4096, a.waits = 3;
  CpuUsage b = a;
  b += a;
  EXPECT_EQ(b.cpu_ns, 20u);
  EXPECT_EQ(b.read_bytes, 8192u);
  EXPECT_EQ((b - a).waits, 3u);
}

}  // namespace
}  // namespace testbed
