// Tests the promise of lazy durability, which is the same for all engines: a commit is durable
// after at most the interval, including the sync, as long as the device keeps up. The test observes
// it from outside: it records when each sync of a file that holds commits begins and ends. An
// engine's turn is what it syncs at once to make all commits so far durable.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
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
  // An attempt takes eight intervals, and one is most often enough. How an engine reads has no
  // influence on when it syncs its log.
  static constexpr CaseChoice kChoice = {};
  // A server syncs in other processes, which the test cannot watch.
  static bool IsFor(const EngineCase& c) {
    const std::vector<Durability>& able = FindEngine(c.engine).capabilities.durabilities;
    const bool lazy = std::find(able.begin(), able.end(), Durability::kLazy) != able.end();
    return lazy && !FindEngine(c.engine).capabilities.server;
  }

 protected:
  static constexpr milliseconds kInterval{400};

  // What all attempts so far have shown, in intervals.
  struct Seen {
    // For each turn, the age of its oldest commit when the turn ended, which made it durable.
    std::vector<double> ages;
    std::vector<double> periods;  // from the begin of a turn to that of the next
    std::vector<double> syncs;    // how long each sync took

    size_t late() const {
      return static_cast<size_t>(
          std::count_if(ages.begin(), ages.end(), [](double age) { return age > 1; }));
    }
    // Returns whether commits are durable in time. Other programs may delay a turn, so that a
    // quarter of the turns may be late. An engine that breaks the promise is late in nearly each.
    bool in_time() const { return ages.size() >= 4 && 4 * late() <= ages.size(); }
    // Returns whether the device keeps up. It does not when a sync takes longer than half of the
    // interval (docs/engines/settings.md); here half of that leaves room for other programs.
    bool keeps_up() const { return Median(syncs) < 0.25; }
    std::string Figures() const {
      return fmt::format("{} of {} turns late, median period {:.3f}, median sync {:.3f}", late(),
                         ages.size(), Median(periods), Median(syncs));
    }
  };

  static double Median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }
  static double OfInterval(Clock::duration d) {
    return std::chrono::duration<double>(d) / std::chrono::duration<double>(kInterval);
  }

  // LMDB syncs its data in each commit; what is lazy is the sync of the page that makes the commit
  // valid. SQLite with a rollback journal syncs in each commit.
  bool SyncsInEachCommit() const {
    return info().name == "lmdb" || GetParam().variant == "delete" ||
           GetParam().variant == "truncate" || GetParam().variant == "persist";
  }

  // libmdbx syncs its data and, some commits later, the page that makes them valid, so that its
  // periods are those of two kinds of syncs.
  bool SyncsOnceATurn() const { return !SyncsInEachCommit() && info().name != "mdbx"; }

  // Returns the turns of the engine. A turn may have several syncs, one right after the other.
  std::vector<SeenSync> TurnsOf(std::vector<SeenSync> syncs) const {
    std::sort(syncs.begin(), syncs.end(),
              [](const SeenSync& a, const SeenSync& b) { return a.begin < b.begin; });
    std::vector<SeenSync> turns;
    for (const SeenSync& sync : syncs) {
      const bool goes_on =
          !turns.empty() && !SyncsInEachCommit() && sync.begin - turns.back().end < kInterval / 20;
      if (goes_on) {
        turns.back().end = std::max(turns.back().end, sync.end);
      } else {
        turns.push_back(sync);
      }
    }
    return turns;
  }

  // Commits for eight intervals, and adds to `seen` what the syncs were.
  void Look(Seen* seen) {
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
    const Clock::time_point end = Clock::now();
    std::vector<SeenSync> syncs;
    {
      std::lock_guard lock(TheWatch().mutex);
      TheWatch().dir.clear();
      syncs = TheWatch().syncs;
    }
    for (const SeenSync& sync : syncs) seen->syncs.push_back(OfInterval(sync.end - sync.begin));
    const std::vector<SeenSync> turns = TurnsOf(std::move(syncs));
    size_t durable = 0;  // number of commits that are
    for (size_t i = 0; i < turns.size(); ++i) {
      if (i > 0) seen->periods.push_back(OfInterval(turns[i].begin - turns[i - 1].begin));
      // Only a turn that begins after the commit is sure to include it.
      const size_t first = durable;
      while (durable < commits.size() && commits[durable] <= turns[i].begin) ++durable;
      if (durable > first) seen->ages.push_back(OfInterval(turns[i].end - commits[first]));
    }
    // Each whole interval for which a commit was not durable at the end is a turn that is late.
    if (durable == commits.size()) return;
    const double waits = OfInterval(end - commits[durable]);
    seen->ages.insert(seen->ages.end(), static_cast<size_t>(waits), waits);
  }
};
TESTBED_FOR_EVERY_ENGINE(LazyAgeTest);

TEST_P(LazyAgeTest, ACommitIsDurableWithinTheInterval) {
  options_.durability = Durability::kLazy;
  options_.lazy_interval_ms = static_cast<uint32_t>(kInterval.count());
  Open();
  // All attempts are judged together, so that chance does not let an engine pass that is late half
  // of the time.
  Seen seen;
  bool alike = false;
  for (int attempt = 0; attempt < 6 && !(alike && seen.in_time()); ++attempt) {
    Look(&seen);
    const double period = Median(seen.periods);
    alike = !SyncsOnceATurn() || (period >= 0.45 && period <= 1);
  }
  if (alike && seen.in_time()) return;
  if (!seen.keeps_up()) GTEST_SKIP() << "the device does not keep up: " << seen.Figures();
  ADD_FAILURE() << seen.Figures();
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
