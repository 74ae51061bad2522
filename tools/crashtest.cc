#include "tools/crashtest.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <new>
#include <thread>

#include "device/child_process.h"
#include "device/error.h"
#include "device/file.h"
#include "device/scratch.h"
#include "device/signal_guard.h"
#include "engines/registry.h"
#include "tools/database_dir.h"
#include "tools/progress.h"
#include "workloads/random.h"

namespace testbed {
namespace {

constexpr int kMaxWriters = 64;
constexpr char kLeft[] = "left", kRight[] = "right";
constexpr size_t kMessage = 400;

// What outlives the processes that are killed.
struct Shared {
  // Commits of each writer: numbered from 1; `begun` is the one that may be in flight.
  std::atomic<uint64_t> begun[kMaxWriters], acknowledged[kMaxWriters];
  std::atomic<bool> ready;
  // The verdict of the process that verifies.
  uint64_t rows, unacknowledged;
  char failure[kMessage];
};

Shared* NewShared() {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error::Io("mmap", "shared memory", errno);
  return new (memory) Shared();
}

void Sleep(double ms) {
  const auto ns = static_cast<uint64_t>(ms * 1e6);
  timespec pause{static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
  ::nanosleep(&pause, nullptr);
}

// Row r of commit n of writer w. Commits are spread over the key space, so that they touch many
// pages; the value tells which commit it belongs to and differs in length from row to row.
std::string RowKey(int w, uint64_t n, uint32_t r) {
  return fmt::format("{:016x}-{:02d}-{:010d}-{:03d}",
                     Mix64(n * kMaxWriters + static_cast<uint64_t>(w)), w, n, r);
}

std::string RowValue(const std::string& key) {
  uint64_t state = 0;
  for (char c : key) state = Mix64(state + static_cast<unsigned char>(c));
  std::string value(20 + state % 300, '\0');
  for (size_t i = 0; i < value.size(); ++i)
    value[i] = static_cast<char>(Mix64(state + i / 8) >> (i % 8 * 8));
  return value;
}

// A row that every commit of a writer overwrites: it must tell the last one.
std::string LastKey(int w) { return fmt::format("last-{:02d}", w); }

enum class Crash : uint8_t { kKill, kPowerCut, kDiskCut };
const char* CrashName(Crash crash) {
  static constexpr const char* kNames[] = {"kill", "power cut", "power cut of the disk"};
  return kNames[static_cast<size_t>(crash)];
}

class Test {
 public:
  explicit Test(const CrashtestOptions& options)
      : options_(options), random_(options.run.data.seed), shared_(NewShared()) {
    engine_options_ = options.run.engine;
  }
  ~Test() { ::munmap(shared_, sizeof(Shared)); }

  CrashtestResult Run();

 private:
  std::unique_ptr<Engine> Open() {
    return OpenEngine(options_.run.engine_name, dir_, engine_options_);
  }
  Crash CrashOf(int round) const;
  void AwaitCommits() const;
  void Round(Crash crash, int number);
  void StartAgain();
  uint64_t Acknowledged() const;
  uint64_t AcknowledgedBy(int w) const { return shared_->acknowledged[w].load(); }
  std::vector<uint64_t> AcknowledgedByWriter() const;
  void Write();
  void WriterThread(Engine& engine, int w);
  void Verify();
  void VerifyWriter(Session& session, const TableId tables[2], int w);
  uint64_t VerifyScan(Session& session, TableId table);
  template <typename Function>
  pid_t Spawn(Function function);
  void Fail(const std::string& sentence) { throw Error(Error::kCorruption, sentence); }

  const CrashtestOptions& options_;
  EngineOptions engine_options_;
  Random random_;
  Shared* const shared_;
  std::string dir_;
  std::unique_ptr<ScratchDevice> scratch_;
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
  } catch (const std::exception& e) {
    std::snprintf(shared_->failure, kMessage, "%s", e.what());
    code = 1;
  }
  ::_exit(code);
}

void Test::WriterThread(Engine& engine, int w) {
  const TableId tables[2] = {engine.OpenTable(kLeft), engine.OpenTable(kRight)};
  std::unique_ptr<Session> session = engine.NewSession();
  for (uint64_t n = shared_->acknowledged[w].load() + 1;; ++n) {
    shared_->begun[w].store(n);
    session->Begin();
    for (uint32_t r = 0; r < options_.rows_per_transaction; ++r) {
      const std::string key = RowKey(w, n, r);
      session->Put(tables[r % 2], key, RowValue(key));
    }
    session->Put(tables[1], LastKey(w), std::to_string(n));
    session->Commit();
    shared_->acknowledged[w].store(n);
  }
}

void Test::Write() {
  std::unique_ptr<Engine> engine = Open();
  engine->OpenTable(kLeft);
  engine->OpenTable(kRight);
  shared_->ready.store(true);
  std::vector<std::thread> threads;
  for (int w = 0; w < options_.writers; ++w) {
    threads.emplace_back([&engine, w, this] {
      try {
        WriterThread(*engine, w);
      } catch (const Error&) {
        // The device is gone: what counts is what was acknowledged before.
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (true) Sleep(1000);  // to be killed
}

void Test::VerifyWriter(Session& session, const TableId tables[2], int w) {
  const uint64_t acknowledged = shared_->acknowledged[w].load(), begun = shared_->begun[w].load();
  std::string_view value;
  for (uint64_t n = 1; n <= begun; ++n) {
    uint32_t found = 0;
    for (uint32_t r = 0; r < options_.rows_per_transaction; ++r) {
      const std::string key = RowKey(w, n, r);
      if (!session.Get(tables[r % 2], key, &value)) continue;
      if (value != RowValue(key)) Fail("row " + key + " has a wrong value");
      ++found;
    }
    if (n <= acknowledged && found != options_.rows_per_transaction) {
      Fail(fmt::format("commit {} of writer {} was acknowledged, and {} of its {} rows are there",
                       n, w, found, options_.rows_per_transaction));
    }
    if (found != 0 && found != options_.rows_per_transaction) {
      Fail(fmt::format("commit {} of writer {} is there by half: {} of {} rows", n, w, found,
                       options_.rows_per_transaction));
    }
    if (n > acknowledged && found != 0) {
      ++shared_->unacknowledged;
      shared_->acknowledged[w].store(n);  // it counts from now on: it was seen
    }
  }
  const uint64_t last = shared_->acknowledged[w].load();
  const bool there = session.Get(tables[1], LastKey(w), &value);
  if ((last > 0 || there) && (!there || value != std::to_string(last))) {
    Fail(fmt::format("the last commit of writer {} was {}, and the row that tells it says '{}'", w,
                     last, there ? std::string(value) : "nothing"));
  }
}

uint64_t Test::VerifyScan(Session& session, TableId table) {
  uint64_t forward = 0, backward = 0;
  std::string last;
  std::unique_ptr<Cursor> cursor = session.NewCursor(table);
  for (bool on = cursor->First(); on; on = cursor->Next(), ++forward) {
    if (forward > 0 && cursor->key() <= last) Fail("rows are out of order at " + last);
    last.assign(cursor->key());
    if (!last.starts_with("last-") && cursor->value() != RowValue(last)) {
      Fail("row " + last + " has a wrong value in a scan");
    }
  }
  for (bool on = cursor->Last(); on; on = cursor->Prev()) ++backward;
  if (forward != backward) {
    Fail(fmt::format("a scan forward sees {} rows, backward {}", forward, backward));
  }
  return forward;
}

void Test::Verify() {
  std::unique_ptr<Engine> engine = Open();
  const TableId tables[2] = {engine->OpenTable(kLeft), engine->OpenTable(kRight)};
  std::unique_ptr<Session> session = engine->NewSession();
  shared_->rows = shared_->unacknowledged = 0;
  for (int w = 0; w < options_.writers; ++w) VerifyWriter(*session, tables, w);
  uint64_t expected = 0;
  for (int w = 0; w < options_.writers; ++w) {
    const uint64_t commits = shared_->acknowledged[w].load();
    expected += commits * options_.rows_per_transaction + (commits > 0);
  }
  shared_->rows = VerifyScan(*session, tables[0]) + VerifyScan(*session, tables[1]);
  if (shared_->rows != expected) {
    Fail(fmt::format("the tables hold {} rows, and {} were committed", shared_->rows, expected));
  }
  session.reset();
}

Crash Test::CrashOf(int round) const {
  if (round < options_.kills) return Crash::kKill;
  return round < options_.kills + options_.power_cuts ? Crash::kPowerCut : Crash::kDiskCut;
}

// A device that is busy can hold a sync up for longer than the lazy interval, and what was
// acknowledged before waits with it. The promise then is that no more is acknowledged: a crash
// loses an interval of work at most. So it comes when a commit has begun, and was acknowledged,
// since now.
void Test::AwaitCommits() const {
  constexpr uint32_t kMostMs = 20000;
  const std::vector<uint64_t> now = AcknowledgedByWriter();
  for (uint32_t ms = 0; ms < kMostMs; ++ms) {
    for (int w = 0; w < options_.writers; ++w) {
      // The first may have begun before.
      if (AcknowledgedBy(w) >= now[static_cast<size_t>(w)] + 2) return;
    }
    Sleep(1);
  }
}

void Test::Round(Crash crash, int number) {
  const bool power_cut = crash != Crash::kKill;
  shared_->ready.store(false);
  shared_->failure[0] = '\0';
  shared_->rows = shared_->unacknowledged = 0;
  const pid_t writer = Spawn([this] { Write(); });
  while (!shared_->ready.load() && ::waitpid(writer, nullptr, WNOHANG) == 0) Sleep(1);
  if (!shared_->ready.load()) {
    result_.failures.push_back(
        fmt::format("round {}: the database does not open: {}", number, shared_->failure));
    return;
  }
  Sleep(random_.Unit() * options_.longest_ms);
  // A real power cut ends the program too; the simulated one lets it run on for a moment, and a
  // sync that is under way then can return success for a journal transaction that was thrown away.
  // So what is acknowledged after this moment is not acknowledged: it may be there or not. Lazy
  // commits are promised when they are older than the interval; of younger ones a writer's first
  // may be there, without a gap, since they reached the log one after the other.
  const std::vector<uint64_t> promised = AcknowledgedByWriter();
  const bool lazy = engine_options_.durability == Durability::kLazy;
  if (lazy) {
    Sleep(engine_options_.lazy_interval_ms);
    AwaitCommits();
  }
  if (crash == Crash::kPowerCut) scratch_->Shutdown();
  if (crash == Crash::kDiskCut) {
    scratch_->CutPower(random_.Next(), static_cast<int>(random_.Below(101)));
  }
  ::kill(writer, SIGKILL);
  AwaitChild(writer);
  for (int w = 0; (power_cut || lazy) && w < options_.writers; ++w) {
    shared_->acknowledged[w].store(promised[static_cast<size_t>(w)]);
  }
  if (power_cut) scratch_->Remount();
  ++(crash == Crash::kKill       ? result_.kills
     : crash == Crash::kPowerCut ? result_.power_cuts
                                 : result_.disk_cuts);
  // Recovery is itself crashed now and then: the next opening must recover all the same.
  if (random_.Below(4) == 0) {
    const pid_t interrupted = Spawn([this] { Open(); });
    Sleep(random_.Unit() * 30);
    ::kill(interrupted, SIGKILL);
    AwaitChild(interrupted);
  }
  const pid_t verifier = Spawn([this] { Verify(); });
  const int status = AwaitChild(verifier);
  if (status != 0) {
    result_.failures.push_back(fmt::format(
        "round {}, after a {}: {}", number, CrashName(crash),
        WIFSIGNALED(status) ? fmt::format("recovery ended by signal {}", WTERMSIG(status))
                            : shared_->failure));
  }
  result_.rows_read += shared_->rows;
  result_.commits_found_unacknowledged += shared_->unacknowledged;
}

// An empty database in place of the one that is there.
void Test::StartAgain() {
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
  for (int w = 0; w < options_.writers; ++w) all.push_back(AcknowledgedBy(w));
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
  uint64_t before = 0;  // commits to databases that are gone
  for (int i = 0; i < rounds && result_.failures.empty() && !StopRequested(); ++i) {
    if (i > 0 && i % options_.crashes_per_database == 0) {
      before += Acknowledged();
      StartAgain();
    }
    Round(CrashOf(i), i + 1);
    result_.commits_acknowledged = before + Acknowledged();
    progress.Say(
        fmt::format("{} of {} crashes, {} commits", i + 1, rounds, result_.commits_acknowledged));
  }
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
  for (const std::string& failure : result.failures) fmt::print("FAILED {}\n", failure);
  if (result.failures.empty()) {
    fmt::print("no {} lost, no half transaction, no bad page\n",
               options.run.engine.durability == Durability::kSync
                   ? "acknowledged commit"
                   : fmt::format("commit that was acknowledged {} ms before",
                                 options.run.engine.lazy_interval_ms));
  }
  return result.failures.empty() ? 0 : 1;
}

}  // namespace testbed
