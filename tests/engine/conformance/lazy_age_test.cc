// Tests the promise of lazy durability, which is the same for all engines: a commit is durable
// after at most the interval, including the sync, as long as the device keeps up. The test observes
// it from outside: it records when each sync of a file that holds commits begins and ends.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct SeenSync {
  Clock::time_point begin, end;
};

// The syncs of files below a directory that hold commits, recorded while `dir` is set.
struct Watch {
  std::mutex mutex;
  std::string dir;  // empty: nothing is recorded
  std::vector<SeenSync> syncs;
  // Makes syncs of logs fail when their descriptor cannot write. Such descriptors are testbed's
  // own, for logs that a library or a server writes.
  bool refuses = false;
};
Watch& TheWatch() {
  static Watch* const watch = new Watch;
  return *watch;
}

// Returns whether a file holds commits: rocksdb 000012.log, wiredtiger WiredTigerLog.0001, innodb
// ib_logfile0, mmapv1 journal/journal.0, lmdb data.mdb, mdbx mdbx.dat, sqlite data.sqlite-wal or
// data.sqlite-journal, ours log/...
bool HoldsCommits(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.ends_with("-wal") || name.ends_with("-journal")) return true;
  if (name.ends_with(".log") || name.starts_with("WiredTigerLog")) return true;
  if (name == "ib_logfile0" || name == "data.mdb" || name == "mdbx.dat" ||
      name.starts_with("journal."))
    return true;
  return name.starts_with("log");
}

void Note(const std::string& path, Clock::time_point begin) {
  Watch& watch = TheWatch();
  std::lock_guard lock(watch.mutex);
  if (watch.dir.empty() || !path.starts_with(watch.dir) || !HoldsCommits(path)) return;
  watch.syncs.push_back({begin, Clock::now()});
}

bool Refuses(const std::string& path, int fd) {
  Watch& watch = TheWatch();
  std::lock_guard lock(watch.mutex);
  return watch.refuses && HoldsCommits(path) && (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
}

int NotedSync(const char* name, int fd) {
  using Sync = int (*)(int);
  const Sync next = reinterpret_cast<Sync>(::dlsym(RTLD_NEXT, name));
  const Clock::time_point begin = Clock::now();
  char path[PATH_MAX];
  const ssize_t n = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path, sizeof path);
  if (n > 0 && Refuses(std::string(path, static_cast<size_t>(n)), fd)) {
    errno = EIO;
    return -1;
  }
  const int result = next(fd);
  const int error = errno;
  if (n > 0) Note(std::string(path, static_cast<size_t>(n)), begin);
  errno = error;
  return result;
}

}  // namespace
}  // namespace testbed

// Replaces the function of the C library, also for the libraries of engines.
extern "C" __attribute__((visibility("default"))) int fdatasync(int fd) {
  return testbed::NotedSync("fdatasync", fd);
}
extern "C" __attribute__((visibility("default"))) int fsync(int fd) {
  return testbed::NotedSync("fsync", fd);
}

namespace testbed {
namespace {

class LazyAgeTest : public EngineTest {
 public:
  // A test takes eight intervals. How an engine reads has no influence on when it syncs its log.
  static constexpr CaseChoice kChoice = {};
  // A server syncs in other processes.
  static bool IsFor(const EngineCase& c) {
    const std::vector<Durability>& able = FindEngine(c.engine).capabilities.durabilities;
    const bool lazy = std::find(able.begin(), able.end(), Durability::kLazy) != able.end();
    return lazy && !FindEngine(c.engine).capabilities.server;
  }

 protected:
  static constexpr milliseconds kInterval{400};

  struct Seen {
    double oldest = 0;  // age of a commit when it became durable, in intervals
    double rate = 0;    // syncs per interval
    bool keeps_up = true;
    std::string figures;
  };

  // Commits for some intervals and compares them with the syncs.
  Seen Look() {
    std::vector<Clock::time_point> commits;
    {
      std::lock_guard lock(TheWatch().mutex);
      TheWatch().dir = dir_;
      TheWatch().syncs.clear();
    }
    const Clock::time_point begin = Clock::now();
    for (uint64_t row = 0; Clock::now() - begin < 8 * kInterval; ++row) {
      Put(RowKey(row), RowValue(row, 50));
      commits.push_back(Clock::now());
      std::this_thread::sleep_for(milliseconds(4));
    }
    std::vector<SeenSync> syncs;
    {
      std::lock_guard lock(TheWatch().mutex);
      TheWatch().dir.clear();
      syncs = TheWatch().syncs;
    }
    Seen seen;
    Clock::duration oldest{0}, slowest{0};
    for (const SeenSync& sync : syncs) slowest = std::max(slowest, sync.end - sync.begin);
    for (const Clock::time_point commit : commits) {
      // Only a sync that begins after the commit is sure to include it.
      Clock::time_point durable = Clock::time_point::max();
      for (const SeenSync& sync : syncs) {
        if (sync.begin >= commit) durable = std::min(durable, sync.end);
      }
      if (durable != Clock::time_point::max()) oldest = std::max(oldest, durable - commit);
      if (durable == Clock::time_point::max()) oldest = std::max(oldest, Clock::now() - commit);
    }
    const auto of_interval = [](Clock::duration d) {
      return std::chrono::duration<double>(d) / std::chrono::duration<double>(kInterval);
    };
    seen.oldest = of_interval(oldest);
    seen.rate = static_cast<double>(syncs.size()) / 8;
    seen.keeps_up = of_interval(slowest) < 0.04;
    seen.figures = fmt::format("oldest {:.3f}, {:.2f} syncs an interval, slowest {:.3f}",
                               seen.oldest, seen.rate, of_interval(slowest));
    return seen;
  }
};
TESTBED_FOR_EVERY_ENGINE(LazyAgeTest);

TEST_P(LazyAgeTest, ACommitIsDurableWithinTheInterval) {
  options_.durability = Durability::kLazy;
  options_.lazy_interval_ms = static_cast<uint32_t>(kInterval.count());
  Open();
  // Other programs use the device, too. An attempt in which a sync was slow, or the thread was
  // late, says nothing about the promise.
  Seen seen;
  std::string says_no;
  for (int attempt = 0; attempt < 6; ++attempt) {
    seen = Look();
    // LMDB syncs its data in each commit; what is lazy is the sync of the page that makes the
    // commit valid. libmdbx syncs twice, its data and then that page. SQLite with a rollback
    // journal syncs in each commit.
    const bool alike = info().name == "lmdb" || info().name == "mdbx" ||
                       GetParam().variant == "delete" || (seen.rate >= 0.9 && seen.rate <= 1.5);
    if (seen.oldest <= 1 && alike) return;
    if (seen.keeps_up) says_no = seen.figures;
  }
  if (says_no.empty()) GTEST_SKIP() << "the device does not keep up: " << seen.figures;
  ADD_FAILURE() << says_no;
}

// The engines whose lazy syncs testbed makes itself. The others sync their logs themselves.
class FailedLazySyncTest : public EngineTest {
 public:
  static bool IsFor(const EngineCase& c) { return c.engine == "mysql"; }
};
TESTBED_FOR_EVERY_ENGINE(FailedLazySyncTest);

// The next sync would succeed, although the data of the failed one may be lost.
TEST_P(FailedLazySyncTest, NoCommitIsAcknowledgedAfterIt) {
  options_.durability = Durability::kLazy;
  options_.lazy_interval_ms = 50;
  Open();
  Put("k", "v");
  const auto refuse = [](bool refuses) {
    std::lock_guard lock(TheWatch().mutex);
    TheWatch().refuses = refuses;
  };
  refuse(true);
  const auto commit_on = [&] {
    for (int i = 0; i < 60000; ++i) {
      Put("k" + std::to_string(i), "v");
      std::this_thread::sleep_for(milliseconds(1));
    }
  };
  ErrorOf(Error::kIo, commit_on);
  refuse(false);
  ErrorOf(Error::kIo, [&] { Put("k", "w"); });
}

}  // namespace
}  // namespace testbed
