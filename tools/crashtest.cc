#include "tools/crashtest.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <new>
#include <thread>

#include "device/child_process.h"
#include "device/error.h"
#include "device/file.h"
#include "device/scratch.h"
#include "device/signal_guard.h"
#include "engines/registry.h"
#include "tools/crash_model.h"
#include "tools/crash_oracle.h"
#include "tools/database_dir.h"
#include "tools/progress.h"
#include "workloads/random.h"

namespace testbed {
namespace {

constexpr int kMaxWriters = 64;
constexpr size_t kMessage = 600;
constexpr uint32_t kLongestWaitMs = 20000;  // for commits and closes to come
// For the next checkpoint to begin: one that waits for the clients to rest is as good a moment.
constexpr uint32_t kCheckpointWaitMs = 300;
constexpr double kLongestPartMs = 1000;  // into a close or a recovery
constexpr int kNotCreated = 3;              // exit code of a verifier
constexpr uint64_t kMostVoidRounds = 5;

// Where a crash comes.
enum class Place : uint8_t { kWriting, kCheckpoint, kClose, kCreation };

// What outlives the processes that are killed.
struct Shared {
  // Transactions of each client: numbered from 1; `begun` is the one that may be in flight.
  std::atomic<uint64_t> begun[kMaxWriters], acknowledged[kMaxWriters];
  std::atomic<bool> ready, stop, closing, closed, opened;
  std::atomic<bool> power_is_cut;     // errors from now on are the test's own
  std::atomic<bool> writer_failed;    // `failure` says how
  std::atomic<bool> refused;          // `failure` names an option that the engine cannot honour
  std::atomic<uint64_t> checkpoints;  // begun
  // How long these took the last time, so that crashes fall into them.
  std::atomic<uint64_t> open_us, close_us, checkpoint_us;
  // The verdict of the process that verifies.
  uint64_t rows, unacknowledged;
  char failure[kMessage];
};

Shared* NewShared() {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error::Io("mmap", "shared memory", errno);
  auto* shared = new (memory) Shared();
  shared->open_us = shared->close_us = shared->checkpoint_us = 20000;
  return shared;
}

void Sleep(double ms) {
  const auto ns = static_cast<uint64_t>(ms * 1e6);
  timespec pause{static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
  ::nanosleep(&pause, nullptr);
}

class Timed {
 public:
  explicit Timed(std::atomic<uint64_t>* us) : us_(us) {}
  ~Timed() {
    const auto spent = std::chrono::steady_clock::now() - begin_;
    us_->store(static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(spent).count()));
  }

 private:
  std::atomic<uint64_t>* us_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

enum class Crash : uint8_t { kKill, kPowerCut, kDiskCut };
std::string Describe(Crash crash, Place place) {
  static constexpr const char* kNames[] = {"kill", "power cut", "power cut of the disk"};
  static constexpr const char* kPlaces[] = {"", " during checkpoints", " in a clean close",
                                            " in the creation of the database"};
  return std::string(kNames[static_cast<size_t>(crash)]) + kPlaces[static_cast<size_t>(place)];
}

class Test {
 public:
  explicit Test(const CrashtestOptions& options)
      : options_(options),
        random_(options.run.data.seed),
        info_(FindEngine(options.run.engine_name)),
        shared_(NewShared()) {
    engine_options_ = options.run.engine;
  }
  ~Test() { ::munmap(shared_, sizeof(Shared)); }

  CrashtestResult Run();

 private:
  std::unique_ptr<Engine> Open();
  Crash CrashOf(int round) const;
  Place ChoosePlace();
  template <typename Condition>
  bool Await(pid_t child, const Condition& condition, uint32_t longest_ms = kLongestWaitMs) const;
  bool AwaitCommits(pid_t writer, uint64_t before) const;
  void AwaitNewCommits(pid_t writer) const;
  void AwaitPlace(Place place, pid_t writer);
  bool Round(Crash crash, int number);
  void StartWriting(Place place);
  void CrashWriters(Crash crash, Place place, pid_t writer);
  void CrashNow(Crash crash, pid_t child);
  void CrashRecovery(Crash crash);
  void VerifyRound(Crash crash, Place place, int number);
  bool FailedWriting(int number);
  void StartAgain();
  uint64_t Acknowledged() const;
  std::vector<uint64_t> AcknowledgedByWriter() const;
  void Write(Place place);
  void WriterThread(Engine& engine, const CrashTables& tables, int w);
  void CheckpointThread(Engine& engine);
  void Verify(bool close);
  void VerifyOpen(Engine* engine);
  void CheckFiles(const char* when);
  template <typename Function>
  pid_t Spawn(Function function);
  void Fail(const std::string& sentence) { throw Error(Error::kCorruption, sentence); }
  void WriterFailed(const char* what);

  const CrashtestOptions& options_;
  EngineOptions engine_options_;
  Random random_;
  const EngineInfo& info_;
  Shared* const shared_;
  bool exists_ = false;  // the database was created before: it is never made anew
  std::string dir_;
  std::unique_ptr<ScratchDevice> scratch_;
  uint64_t gone_ = 0;  // commits to databases that are gone
  CrashtestResult result_;
};

// Runs a function in a child process; what it throws becomes the shared failure sentence.
template <typename Function>
pid_t Test::Spawn(Function function) {
  std::fflush(nullptr);
  const pid_t child = ForkChild();
  if (child != 0) return child;
  int code = 0;
  try {
    function();
  } catch (const Error& e) {
    std::snprintf(shared_->failure, kMessage, "%s", e.what());
    shared_->refused.store(e.kind() == Error::kUsage);
    code = 1;
  } catch (const std::exception& e) {
    std::snprintf(shared_->failure, kMessage, "%s", e.what());
    code = 1;
  }
  ::_exit(code);
}

std::unique_ptr<Engine> Test::Open() {
  EngineOptions options = engine_options_;
  options.create = !exists_;
  Timed timed(&shared_->open_us);
  return OpenEngine(info_.name, dir_, options);
}

// The first sentence counts.
void Test::WriterFailed(const char* what) {
  if (shared_->power_is_cut.load() || shared_->writer_failed.exchange(true)) return;
  std::snprintf(shared_->failure, kMessage, "%s", what);
}

void Test::WriterThread(Engine& engine, const CrashTables& tables, int w) {
  const std::unique_ptr<Session> session = engine.NewSession();
  ClientModel model(w, options_.rows_per_transaction);
  model.SkipTo(shared_->acknowledged[w].load());
  while (!shared_->stop.load()) {
    if (model.transactions() % 8 == 3) {
      PerformCrashWrites(session.get(), tables, model.Junk(), false);
    }
    const std::vector<CrashWrite>& writes = model.Next();
    shared_->begun[w].store(model.transactions());
    PerformCrashWrites(session.get(), tables, writes, true);
    shared_->acknowledged[w].store(model.transactions());
  }
}

void Test::CheckpointThread(Engine& engine) {
  for (uint64_t i = 0; !shared_->stop.load(); ++i) {
    {
      Timed timed(&shared_->checkpoint_us);
      shared_->checkpoints.fetch_add(1);
      i % 4 == 1 ? engine.Flush() : i % 8 == 3 ? engine.Settle() : engine.Checkpoint();
    }
    Sleep(1);
  }
}

void Test::Write(Place place) {
  std::unique_ptr<Engine> engine = Open();
  const CrashTables tables(engine.get());
  shared_->ready.store(true);
  std::vector<std::thread> threads;
  const auto start = [&threads, this](const auto& work) {
    threads.emplace_back([work, this] {
      try {
        work();
      } catch (const std::exception& e) {
        WriterFailed(e.what());
      }
    });
  };
  for (int w = 0; w < options_.writers; ++w) {
    start([&engine, &tables, w, this] { WriterThread(*engine, tables, w); });
  }
  if (place == Place::kCheckpoint) start([&engine, this] { CheckpointThread(*engine); });
  for (std::thread& thread : threads) thread.join();
  shared_->closing.store(true);
  {
    Timed timed(&shared_->close_us);
    engine.reset();
  }
  shared_->closed.store(!shared_->writer_failed.load() && !shared_->power_is_cut.load());
  while (true) Sleep(1000);  // to be killed
}

// The engine's own check of the files as they are, with nobody having them open.
void Test::CheckFiles(const char* when) {
  if (!info_.check) return;
  const Inspection found = info_.check(dir_, InspectOptions());
  if (found.faults.count == 0) return;
  Fail(fmt::format("the engine's check finds {} faults {}, first: {}", found.faults.count, when,
                   found.faults.kept.front().Text()));
}

void Test::VerifyOpen(Engine* engine) {
  const CrashTables tables(engine);
  const std::unique_ptr<Session> session = engine->NewSession();
  std::vector<ClientModel> clients;
  for (int w = 0; w < options_.writers; ++w) {
    const uint64_t acknowledged = shared_->acknowledged[w].load();
    const uint64_t begun = shared_->begun[w].load();
    const uint64_t last = LastTransaction(session.get(), tables, w);
    if (last < acknowledged) {
      Fail(fmt::format("transaction {} of client {} was acknowledged, and the last one that is "
                       "there is {}",
                       acknowledged, w, last));
    }
    if (last > begun) {
      Fail(fmt::format("transaction {} of client {} is there, which began {}", last, w, begun));
    }
    clients.emplace_back(w, options_.rows_per_transaction);
    clients.back().SkipTo(last);
    shared_->unacknowledged += last - acknowledged;
    shared_->acknowledged[w].store(last);  // what was seen counts from now on
    shared_->begun[w].store(last);
  }
  shared_->rows = CompareWithModels(session.get(), tables, clients);
}

void Test::Verify(bool close) {
  shared_->rows = shared_->unacknowledged = 0;
  if (exists_) CheckFiles("after the crash");
  std::unique_ptr<Engine> engine;
  try {
    engine = Open();
  } catch (const Error&) {
    // A creation that did not end promised nothing but that it says so.
    if (!exists_) ::_exit(kNotCreated);
    throw;
  }
  VerifyOpen(engine.get());
  if (!close) ::_exit(0);
  engine.reset();
  CheckFiles("after recovery and a clean close");
}

Crash Test::CrashOf(int round) const {
  if (round < options_.kills) return Crash::kKill;
  return round < options_.kills + options_.power_cuts ? Crash::kPowerCut : Crash::kDiskCut;
}

Place Test::ChoosePlace() {
  const uint64_t at = random_.Below(100);
  if (at < 50) return Place::kWriting;
  if (at < 75) return Place::kCheckpoint;
  return at < 90 ? Place::kClose : Place::kCreation;
}

// Waits for the condition, at most so long and while the child is alive and its clients go
// on; returns whether it came.
template <typename Condition>
bool Test::Await(pid_t child, const Condition& condition, uint32_t longest_ms) const {
  for (uint32_t ms = 0; !condition(); ++ms) {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid != 0 || shared_->writer_failed.load() || ms > longest_ms) return false;
    Sleep(1);
  }
  return true;
}

// A device that is busy can hold a sync up for longer than the lazy interval, and what was
// acknowledged before waits with it. The promise then is that no more is acknowledged: a crash
// loses an interval of work at most. So it comes when a commit has begun, and was acknowledged,
// since now.
void Test::AwaitNewCommits(pid_t writer) const {
  const std::vector<uint64_t> now = AcknowledgedByWriter();
  Await(writer, [&] {
    for (int w = 0; w < options_.writers; ++w) {
      // The first may have begun before.
      if (shared_->acknowledged[w].load() >= now[static_cast<size_t>(w)] + 2) return true;
    }
    return false;
  });
}

bool Test::AwaitCommits(pid_t writer, uint64_t before) const {
  return Await(writer, [&] { return Acknowledged() >= before + options_.least_commits; });
}

// Until the middle of a checkpoint or of a clean close, somewhere.
void Test::AwaitPlace(Place place, pid_t writer) {
  if (place == Place::kCheckpoint) {
    const uint64_t now = shared_->checkpoints.load();
    Await(writer, [&] { return shared_->checkpoints.load() > now; }, kCheckpointWaitMs);
    const double longest = static_cast<double>(shared_->checkpoint_us.load()) / 1000;
    Sleep(random_.Unit() * std::min<double>(longest, kCheckpointWaitMs));
  }
  if (place == Place::kClose) {
    const double longest =
        std::min(kLongestPartMs, 1.1 * static_cast<double>(shared_->close_us.load()) / 1000);
    shared_->stop.store(true);
    Await(writer, [&] { return shared_->closing.load(); });
    Sleep(random_.Unit() * longest);
  }
}

void Test::CrashNow(Crash crash, pid_t child) {
  if (crash != Crash::kKill) shared_->power_is_cut.store(true);
  if (crash == Crash::kPowerCut) scratch_->Shutdown();
  if (crash == Crash::kDiskCut) {
    scratch_->CutPower(random_.Next(), static_cast<int>(random_.Below(101)));
  }
  ::kill(child, SIGKILL);
  AwaitChild(child);
  if (crash != Crash::kKill) scratch_->Remount();
  shared_->power_is_cut.store(false);
}

// A real power cut ends the program too; the simulated one lets it run on for a moment, and a sync
// that is under way then can return success for a journal transaction that was thrown away. So what
// is acknowledged after this moment is not acknowledged: it may be there or not. Lazy commits are
// promised when they are older than the interval; of younger ones a client's first may be there,
// without a gap, since they reached the log one after the other. A close that ended promises all.
void Test::CrashWriters(Crash crash, Place place, pid_t writer) {
  std::vector<uint64_t> promised = AcknowledgedByWriter();
  const bool lazy = engine_options_.durability == Durability::kLazy;
  // A creation is not awaited, so nothing in it is an interval old.
  if (place == Place::kCreation) promised.assign(promised.size(), 0);
  if (lazy && place != Place::kCreation) {
    Sleep(engine_options_.lazy_interval_ms);
    AwaitNewCommits(writer);
  }
  AwaitPlace(place, writer);
  const bool closed = shared_->closed.load();
  if (!lazy || closed) promised = AcknowledgedByWriter();
  CrashNow(crash, writer);
  for (int w = 0; (crash != Crash::kKill || lazy) && w < options_.writers; ++w) {
    shared_->acknowledged[w].store(promised[static_cast<size_t>(w)]);
  }
  ++(crash == Crash::kKill       ? result_.kills
     : crash == Crash::kPowerCut ? result_.power_cuts
                                 : result_.disk_cuts);
  result_.in_checkpoint += place == Place::kCheckpoint;
  result_.in_close += place == Place::kClose && !closed;
}

// The next opening must recover all the same.
void Test::CrashRecovery(Crash crash) {
  for (uint64_t times = random_.Below(3); exists_ && times > 0 && random_.Below(2) == 0; --times) {
    shared_->opened.store(false);
    const double longest =
        std::min(kLongestPartMs, 1.1 * static_cast<double>(shared_->open_us.load()) / 1000);
    const pid_t interrupted = Spawn([this] {
      const std::unique_ptr<Engine> engine = Open();
      shared_->opened.store(true);
      while (true) Sleep(1000);
    });
    Sleep(random_.Unit() * longest);
    const bool opened = shared_->opened.load();
    CrashNow(crash, interrupted);
    result_.in_recovery += !opened;
  }
}

void Test::VerifyRound(Crash crash, Place place, int number) {
  shared_->failure[0] = '\0';
  // A database that was recovered and not closed recovers again. After power cuts it is closed: what
  // a client saw in it must be durable to be counted.
  const bool close = options_.kills == 0 || random_.Below(2) == 0 ||
                     options_.power_cuts + options_.disk_cuts > 0;
  const int status = AwaitChild(Spawn([this, close] { Verify(close); }));
  if (!exists_ && (WIFSIGNALED(status) || WEXITSTATUS(status) == kNotCreated)) {
    ++result_.not_created;
    StartAgain();
  } else if (status != 0) {
    result_.failures.push_back(fmt::format(
        "round {}, after a {}: {}", number, Describe(crash, place),
        WIFSIGNALED(status) ? fmt::format("recovery ended by signal {}", WTERMSIG(status))
                            : shared_->failure));
  } else {
    exists_ = true;
  }
  result_.rows_read += shared_->rows;
  result_.commits_found_unacknowledged += shared_->unacknowledged;
}

bool Test::FailedWriting(int number) {
  if (!shared_->writer_failed.load()) return false;
  result_.failures.push_back(fmt::format(
      "round {}: a client failed, and no fault was injected: {}", number, shared_->failure));
  return true;
}

void Test::StartWriting(Place place) {
  if (place == Place::kCreation && exists_) StartAgain();
  shared_->failure[0] = '\0';
  for (auto* flag : {&shared_->ready, &shared_->stop, &shared_->closing, &shared_->closed,
                     &shared_->writer_failed, &shared_->refused}) {
    flag->store(false);
  }
  shared_->rows = shared_->unacknowledged = 0;
}

// Returns whether it was a round: that something was there to lose.
bool Test::Round(Crash crash, int number) {
  const Place place = ChoosePlace();
  StartWriting(place);
  const uint64_t before = Acknowledged();
  const pid_t writer = Spawn([this, place] { Write(place); });
  if (place == Place::kCreation) {
    const double opening = static_cast<double>(shared_->open_us.load()) / 1000;
    Sleep(random_.Unit() * std::min(kLongestPartMs, 10 + 1.5 * opening));
  } else {
    if (!Await(writer, [this] { return shared_->ready.load(); })) {
      ::kill(writer, SIGKILL);
      AwaitChild(writer);
      if (!exists_ && shared_->refused.load()) throw Error(Error::kUsage, shared_->failure);
      result_.failures.push_back(
          fmt::format("round {}: the database does not open: {}", number, shared_->failure));
      return true;
    }
    exists_ = true;
    Sleep(random_.Unit() * options_.longest_ms);
  }
  const bool counts = place == Place::kCreation || AwaitCommits(writer, before);
  if (!counts || shared_->writer_failed.load()) {
    ::kill(writer, SIGKILL);
    const int status = AwaitChild(writer);
    if (FailedWriting(number)) return true;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
      result_.failures.push_back(fmt::format("round {}: the clients' process ended by itself", number));
      return true;
    }
  }
  if (counts) {
    CrashWriters(crash, place, writer);
    if (FailedWriting(number)) return true;
  }
  if (place == Place::kCreation) {
    if (shared_->refused.load()) throw Error(Error::kUsage, shared_->failure);
    result_.in_creation += !shared_->ready.load();
    exists_ = shared_->ready.load();
  }
  CrashRecovery(crash);
  VerifyRound(crash, place, number);
  return counts;
}

// An empty database in place of the one that is there.
void Test::StartAgain() {
  gone_ += Acknowledged();
  exists_ = false;
  std::filesystem::remove_all(dir_);
  std::filesystem::create_directory(dir_);
  SyncDirectory(std::filesystem::path(dir_).parent_path());
  for (int w = 0; w < options_.writers; ++w) {
    shared_->begun[w].store(0);
    shared_->acknowledged[w].store(0);
  }
}

std::vector<uint64_t> Test::AcknowledgedByWriter() const {
  std::vector<uint64_t> all;
  for (int w = 0; w < options_.writers; ++w) all.push_back(shared_->acknowledged[w].load());
  return all;
}

uint64_t Test::Acknowledged() const {
  uint64_t commits = 0;
  for (int w = 0; w < options_.writers; ++w) commits += shared_->acknowledged[w].load();
  return commits;
}

CrashtestResult Test::Run() {
  RunOptions placed = options_.run;
  if (options_.power_cuts + options_.disk_cuts > 0 || placed.scratch_bytes != 0) {
    ScratchOptions scratch;
    scratch.bytes = placed.scratch_bytes != 0 ? placed.scratch_bytes : 512ull << 20;
    scratch.file_system = placed.scratch_fs == "xfs" ? FileSystem::kXfs : FileSystem::kExt4;
    scratch.directory = ".";
    scratch.fault_disk = options_.disk_cuts > 0;
    scratch_ = ScratchDevice::Create(scratch);
    placed.dir = scratch_->path() + "/database";
  }
  DatabaseDir directory(placed);
  directory.Prepare();
  dir_ = directory.engine_path();
  if (scratch_) {
    directory.Unlock();
    // The directory itself must survive the first power cut.
    ::sync();
  }
  ProgressLine progress(placed.engine_name + " crashtest", placed.quiet);
  const int rounds = options_.kills + options_.power_cuts + options_.disk_cuts;
  for (int i = 0; i < rounds && result_.failures.empty() && !StopRequested();) {
    if (i > 0 && i % options_.crashes_per_database == 0 && exists_) StartAgain();
    if (!Round(CrashOf(i), i + 1)) {
      if (++result_.void_rounds < kMostVoidRounds) continue;
      result_.failures.push_back(
          fmt::format("{} rounds had fewer than {} commits in {} s each, which tests nothing",
                      result_.void_rounds, options_.least_commits, kLongestWaitMs / 1000));
    }
    ++i;
    progress.Say(
        fmt::format("{} of {} crashes, {} commits", i, rounds, gone_ + Acknowledged()));
  }
  result_.commits_acknowledged = gone_ + Acknowledged();
  if (!result_.failures.empty()) directory.Keep();
  return result_;
}

}  // namespace

CrashtestResult RunCrashtest(const CrashtestOptions& options) {
  const EngineInfo& info = FindEngine(options.run.engine_name);
  const Capabilities& can = info.capabilities;
  if (!can.persistent || !can.reads || !can.transactions) {
    throw Error(Error::kUsage,
                options.run.engine_name +
                    " keeps nothing that could be read back, so it has no crash to survive; "
                    "choose another --engine");
  }
  if (options.writers < 1 || options.writers > kMaxWriters) {
    throw Error(Error::kUsage, fmt::format("--writers takes 1 to {}", kMaxWriters));
  }
  if (options.run.reuse) {
    throw Error(Error::kUsage,
                "crashtest makes databases of its own and removes them, so it takes no --reuse; "
                "give an empty --dir, or none");
  }
  if (options.kills + options.power_cuts + options.disk_cuts == 0) {
    throw Error(Error::kUsage,
                "crashtest without a crash proves nothing; give --kills, --power-cuts or "
                "--disk-cuts 1 or more");
  }
  CheckEngineOptions(info, options.run.engine);
  if (options.run.engine.durability == Durability::kNone) {
    throw Error(Error::kUsage, "crashtest needs --durability sync or lazy: none promises nothing");
  }
  std::string why;
  if (options.power_cuts > 0 && !ScratchDevice::Available(&why)) {
    throw Error(Error::kUsage, "--power-cuts needs a scratch device: " + why);
  }
  if (options.disk_cuts > 0 && (!ScratchDevice::Available(&why) || !FaultDisk::Available(&why))) {
    throw Error(Error::kUsage, "--disk-cuts needs a scratch device on FUSE: " + why);
  }
  return Test(options).Run();
}

int CrashtestCommand(const CrashtestOptions& options) {
  const CrashtestResult result = RunCrashtest(options);
  fmt::print(
      "{}: {} kills, {} power cuts, {} of the disk, {} commits acknowledged, {} found that were in "
      "flight, {} rows "
      "read\n",
      options.run.engine_name, result.kills, result.power_cuts, result.disk_cuts,
      result.commits_acknowledged, result.commits_found_unacknowledged, result.rows_read);
  fmt::print(
      "of them {} during checkpoints, {} in a clean close, {} in a creation ({} begun anew), and {} "
      "more in recovery\n",
      result.in_checkpoint, result.in_close, result.in_creation, result.not_created,
      result.in_recovery);
  if (result.void_rounds > 0) {
    fmt::print("{} rounds had too few commits and are not counted\n", result.void_rounds);
  }
  for (const std::string& failure : result.failures) fmt::print("FAILED {}\n", failure);
  if (result.failures.empty()) {
    fmt::print("no {} lost, no half transaction, no other difference\n",
               options.run.engine.durability == Durability::kSync
                   ? "acknowledged commit"
                   : fmt::format("commit that was acknowledged {} ms before",
                                 options.run.engine.lazy_interval_ms));
  }
  return result.failures.empty() ? 0 : 1;
}

}  // namespace testbed
