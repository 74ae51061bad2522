// Tests what a writer says of its wait for the lock of the database.
#include "engines/mmapv1/files/database_lock.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

namespace testbed::mmapv1 {
namespace {

// Waits until the thread sleeps.
void AwaitSleep(pid_t thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  for (;;) {
    std::ifstream in(path);
    const std::string line{std::istreambuf_iterator<char>(in), {}};
    const size_t name = line.rfind(')');  // the state follows the thread's name
    if (name != std::string::npos && line.compare(name, 3, ") S") == 0) return;
    ::sched_yield();
  }
}

// Returns whether a writer says that it waited while another thread has a Holder.
template <typename Holder>
bool WaitsFor() {
  DatabaseLock lock;
  std::optional<Holder> holder(std::in_place, lock);
  std::atomic<pid_t> id{0};
  bool waited = false;
  std::thread writer([&] {
    id = ::gettid();
    const WriteLock write(lock);
    waited = write.waited();
  });
  while (id == 0) ::sched_yield();
  AwaitSleep(id);
  holder.reset();
  writer.join();
  return waited;
}

TEST(Mmapv1LockTest, AWriterHasWaitedForWhoeverHadTheLock) {
  EXPECT_TRUE(WaitsFor<WriteLock>());
  EXPECT_TRUE(WaitsFor<ReadLock>());
  EXPECT_TRUE(WaitsFor<CommitTurn>());
  EXPECT_TRUE(WaitsFor<CommitWriteLock>());
  DatabaseLock lock;
  EXPECT_FALSE(WriteLock(lock).waited());
  EXPECT_FALSE(WriteLock(lock).waited()) << "nobody has it any more";
}

}  // namespace
}  // namespace testbed::mmapv1
