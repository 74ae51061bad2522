#include "tools/crashtest/crashtest.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/file.h"
#include "device/machine/scratch.h"
#include "device/os/child_process.h"
#include "device/os/signal_guard.h"
#include "engines/registry.h"
#include "tools/crashtest/crash_kind.h"
#include "tools/crashtest/crash_process.h"
#include "tools/crashtest/crashtest_checks.h"
#include "tools/database/database_dir.h"
#include "tools/database/database_files.h"
#include "tools/output/progress.h"
#include "tools/output/table.h"
#include "workloads/random.h"

namespace testbed {
namespace {

constexpr uint32_t kLongestWaitMs = 20000;  // maximum wait where no option sets one
// A checkpoint that does not begin may wait for the clients. That is a moment for a crash, too.
constexpr uint32_t kCheckpointWaitMs = 300;  // maximum wait for the next one to begin
constexpr double kLongestPartMs = 1000;      // latest moment of a crash in a close or a recovery
constexpr uint64_t kMostVoidRounds = 5;

class Test {
 public:
  explicit Test(const CrashtestOptions& options)
      : options_(options),
        random_(options.run.data.seed),
        info_(FindEngine(options.run.engine_name)),
        shared_(CrashShared::New()) {}
  ~Test() { shared_->Delete(); }

  CrashtestResult Run();

 private:
  template <typename Condition>
  bool Await(pid_t child, const Condition& condition, uint32_t longest_ms = kLongestWaitMs) const;
  bool AwaitCommits(pid_t writer, uint64_t before) const;
  void AwaitLazyCommits(pid_t writer) const;
  std::string AwaitPlace(CrashPlace place, pid_t writer);
  bool Round(Crash crash, int number);
  std::string CrashWriters(Crash crash, CrashPlace place, pid_t writer);
  bool RefuseWrites(pid_t writer);
  std::string CrashAfterDiskError(CrashPlace place, pid_t writer);
  std::string CrashNow(Crash crash, pid_t child, CrashCause before = CrashCause::kNone);
  std::string CrashRecovery(Crash crash);
  std::string VerifyRound(int number);
  void RecoverAndVerify(Crash crash, CrashPlace place, int number);
  bool LostFileSystem();
  std::string Told(const std::string& who, const std::string& wrong) const;
  bool Failed(Crash crash, CrashPlace place, int number, const std::string& what);
  bool FailedWriting(int number);
  void FailedOpening(pid_t writer, int number);
  // Returns whether the user has asked to stop. A signal of the terminal may reach a child before
  // this process.
  bool Stops() const { return StopRequested() || shared_->stopped_by_user.load(); }
  // Returns whether the stop may have ended the round's process, which has left no error.
  bool EndedByStop() const { return Stops() && shared_->failure[0] == '\0'; }
  void StartAgain();
  uint64_t Acknowledged() const;
  std::vector<uint64_t> AcknowledgedByWriter() const {
    return shared_->Acknowledged(options_.writers);
  }
  CrashProcess Process() const { return {options_, shared_, dir_, exists_}; }
  template <typename Function>
  pid_t Spawn(Function function);

  const CrashtestOptions& options_;
  Random random_;
  const EngineInfo& info_;
  CrashShared* const shared_;
  bool exists_ = false;            // the database was created, and must not be created again
  bool lost_file_system_ = false;  // a crash has damaged it, and it was made anew
  std::string dir_;
  std::unique_ptr<ScratchDevice> scratch_;
  uint64_t gone_ = 0;  // commits to databases that StartAgain removed
  CrashtestResult result_;
};

// Runs a function in a child process. If it throws, the sentence becomes the shared failure, unless
// the user's stop is why it throws: an engine that waits for its server ends so.
template <typename Function>
pid_t Test::Spawn(Function function) {
  std::fflush(nullptr);
  const pid_t child = ForkChild();
  if (child != 0) return child;
  int code = 0;
  try {
    function();
  } catch (const Stopped&) {
    shared_->stopped_by_user.store(true);
    code = 1;
  } catch (const Error& e) {
    std::snprintf(shared_->failure, CrashShared::kMessage, "%s", e.what());
    shared_->refused.store(e.kind() == Error::kUsage);
    code = 1;
  } catch (const std::exception& e) {
    std::snprintf(shared_->failure, CrashShared::kMessage, "%s", SentenceOf(e));
    code = 1;
  }
  ::_exit(code);
}

// Waits until the condition holds, at most `longest_ms`, and only while the child lives, no client
// has failed and the user has not asked to stop. Returns whether it holds.
template <typename Condition>
bool Test::Await(pid_t child, const Condition& condition, uint32_t longest_ms) const {
  for (uint32_t ms = 0; !condition(); ++ms) {
    if (HasEnded(child) || shared_->writer_failed.load() || Stops() || ms > longest_ms) {
      return condition();  // it may have come true before the child ended or a client failed
    }
    CrashSleep(1);
  }
  return true;
}

// Waits until the lazy commits that were acknowledged before the call must be durable, as they have
// the age of PromisedAgeMs. Then it waits until a commit has begun and was acknowledged, which
// shows of mmapv1 that the earlier commits are durable, however slow the device is: mmapv1
// acknowledges nothing while a sync is late. Other engines acknowledge commits while a sync runs,
// so that on a device whose syncs take longer than the wait the test may ask for more than they
// promise.
void Test::AwaitLazyCommits(pid_t writer) const {
  CrashSleep(static_cast<double>(PromisedAgeMs(options_)));
  const std::vector<uint64_t> now = AcknowledgedByWriter();
  Await(writer, [&] {
    for (int w = 0; w < options_.writers; ++w) {
      // Two more commits are awaited, because the first of them may have begun before the call.
      if (shared_->acknowledged[w].load() >= now[static_cast<size_t>(w)] + 2) return true;
    }
    return false;
  });
}

bool Test::AwaitCommits(pid_t writer, uint64_t before) const {
  const auto enough = [&] { return Acknowledged() >= before + options_.least_commits; };
  return Await(writer, enough, options_.commits_wait_ms);
}

// Waits until a random moment within a checkpoint or a clean close, whichever `place` names.
// Returns what is wrong with the clients when they do not end for the close; else an empty string.
std::string Test::AwaitPlace(CrashPlace place, pid_t writer) {
  if (place == CrashPlace::kCheckpoint) {
    const uint64_t now = shared_->checkpoints.load();
    Await(writer, [&] { return shared_->checkpoints.load() > now; }, kCheckpointWaitMs);
    const double longest = static_cast<double>(shared_->checkpoint_us.load()) / 1000;
    CrashSleep(random_.Unit() * std::min<double>(longest, kCheckpointWaitMs));
  }
  if (place == CrashPlace::kClose) {
    const double longest =
        std::min(kLongestPartMs, 1.1 * static_cast<double>(shared_->close_us.load()) / 1000);
    shared_->stop.store(true);
    const auto closing = [&] { return shared_->closing.load(); };
    if (!Await(writer, closing, options_.commits_wait_ms) && !closing() && !HasEnded(writer) &&
        !shared_->writer_failed.load() && !Stops()) {
      return fmt::format("did not end its commits within {} ms", options_.commits_wait_ms);
    }
    CrashSleep(random_.Unit() * longest);
  }
  return "";
}

// Makes the crash. `before` is the cause that may have ended the child before it. Returns what is
// wrong with the end of the child (WrongEnd).
std::string Test::CrashNow(Crash crash, pid_t child, CrashCause before) {
  const bool ended = HasEnded(child);
  if (crash != Crash::kKill) shared_->power_is_cut.store(true);
  if (crash == Crash::kPowerCut) scratch_->Shutdown();
  if (crash == Crash::kDiskCut) {
    const uint64_t seed = random_.Next();
    const int keep_pct = static_cast<int>(random_.Below(101));
    scratch_->CutPower(seed, keep_pct, random_.Below(2) == 0);
  }
  ::kill(child, SIGKILL);
  const int status = AwaitChild(child);
  if (crash != Crash::kKill && !scratch_->Remount()) {
    lost_file_system_ = true;
    ++result_.file_systems_lost;
  }
  shared_->power_is_cut.store(false);
  if (ended || before == CrashCause::kDevice) return WrongEnd(status, before);
  return WrongEnd(status, crash == Crash::kKill ? CrashCause::kKill : CrashCause::kDevice);
}

// Crashes the clients, and lowers their acknowledged transactions to those that the engine has
// promised. After a simulated power cut the program runs on for a moment, in which a sync can
// return success for a journal transaction that was thrown away; so what is created or acknowledged
// after the cut may be lost. Lazy commits are promised once they are older than PromisedAgeMs, and
// by a checkpoint that has begun after them and returned. Of a client's younger commits the first
// few may be found, without a gap, since they reached the log in order. A close that was completed
// promises all commits.
std::string Test::CrashWriters(Crash crash, CrashPlace place, pid_t writer) {
  std::vector<uint64_t> promised = AcknowledgedByWriter();
  const bool lazy = options_.run.engine.durability == Durability::kLazy;
  // The test crashes a creation without waiting for it, so no lazy commit is old enough to be
  // promised.
  if (place == CrashPlace::kCreation) promised.assign(promised.size(), 0);
  if (lazy && place != CrashPlace::kCreation) AwaitLazyCommits(writer);
  const std::string hung = AwaitPlace(place, writer);
  const bool closed = shared_->closed.load();
  if (!lazy || closed) promised = AcknowledgedByWriter();
  shared_->AddCheckpointed(&promised);
  const bool created = shared_->ready.load();
  const std::string wrong = CrashNow(crash, writer);
  if (crash != Crash::kKill) shared_->ready.store(created);
  if (crash != Crash::kKill || lazy) shared_->PromiseOnly(promised);
  ++(crash == Crash::kKill       ? result_.kills
     : crash == Crash::kPowerCut ? result_.power_cuts
                                 : result_.disk_cuts);
  result_.in_checkpoint += place == CrashPlace::kCheckpoint;
  result_.in_close += place == CrashPlace::kClose && !closed;
  return wrong.empty() ? hung : wrong;
}

// Makes the disk refuse a few writes to files of the database. Waits until a write was refused and
// the engine has had time to tell the clients. Returns whether a write was refused.
bool Test::RefuseWrites(pid_t writer) {
  constexpr uint32_t kFileMs = 300;    // wait for a write to a file, before another file is tried
  constexpr uint32_t kNoticeMs = 500;  // wait for the engine to notice the error
  const uint64_t before = scratch_->FailedWrites();
  const auto refused = [&] { return scratch_->FailedWrites() > before; };
  for (int tries = 0; tries < 10 && !refused(); ++tries) {
    const std::string file = AnyFileIn(dir_, &random_);
    try {
      if (!file.empty()) scratch_->FailWrites(file, random_.Below(4), 1 + random_.Below(3));
    } catch (const Error&) {
      continue;  // the engine removed it meanwhile
    }
    if (!Await(writer, refused, kFileMs) && shared_->writer_failed.load()) break;
  }
  Await(writer, [] { return false; }, kNoticeMs);
  scratch_->FailWrites("", 0, 0);
  return refused();
}

// Makes writes fail, and then a crash. After a failed write the kernel drops the page and returns
// the error to one fsync, and the engine goes on, refuses work, or ends. Then the process is
// killed, so that the next one finds what the page cache holds, or the disk loses power.
std::string Test::CrashAfterDiskError(CrashPlace place, pid_t writer) {
  std::vector<uint64_t> promised = AcknowledgedByWriter();
  const bool lazy = options_.run.engine.durability == Durability::kLazy;
  if (lazy) AwaitLazyCommits(writer);
  if (place == CrashPlace::kClose) shared_->stop.store(true);
  const bool refused = RefuseWrites(writer);
  const bool told = shared_->writer_failed.load();
  if (!lazy || shared_->closed.load()) promised = AcknowledgedByWriter();
  shared_->AddCheckpointed(&promised);
  const bool ended = HasEnded(writer);
  // A file system that a failed write has shut down can only be mounted again.
  const bool ended_fs = ::access(dir_.c_str(), W_OK) != 0;
  const Crash crash = ended_fs || random_.Below(2) == 0 ? Crash::kDiskCut : Crash::kKill;
  const std::string wrong =
      CrashNow(crash, writer, refused ? CrashCause::kDevice : CrashCause::kNone);
  shared_->PromiseOnly(promised);
  if (refused) shared_->writer_failed.store(false);
  result_.disk_errors += refused;
  result_.errors_told += refused && told;
  result_.errors_ended += refused && !told && ended;
  return wrong;
}

// Interrupts recoveries by further crashes, at random, up to twice. The next opening must recover
// all the same. Returns what is wrong with the end of an interrupted process (WrongEnd).
std::string Test::CrashRecovery(Crash crash) {
  for (uint64_t times = random_.Below(3); exists_ && times > 0 && random_.Below(2) == 0; --times) {
    shared_->opened.store(false);
    const double longest =
        std::min(kLongestPartMs, 1.1 * static_cast<double>(shared_->open_us.load()) / 1000);
    const pid_t interrupted = Spawn([this] {
      const std::unique_ptr<Engine> engine = Process().Open();
      shared_->opened.store(true);
      while (true) CrashSleep(1000);
    });
    CrashSleep(random_.Unit() * longest);
    const bool opened = shared_->opened.load();
    const std::string wrong = CrashNow(crash, interrupted);
    if (!wrong.empty() || lost_file_system_) return wrong;
    result_.in_recovery += !opened;
  }
  return "";
}

// Returns what is wrong with the database that the crash left; an empty string when nothing is.
std::string Test::VerifyRound(int number) {
  shared_->failure[0] = '\0';
  shared_->verified.store(false);
  const bool close = ClosesAfterCheck(options_, number, &random_);
  const std::optional<int> end =
      AwaitEnd(Spawn([this, close] { Process().Verify(close); }), options_.verify_wait_ms);
  if (!end) return fmt::format("recovery did not end within {} ms", options_.verify_wait_ms);
  const int status = *end;
  result_.rows_read += shared_->rows;
  result_.commits_found_unacknowledged += shared_->unacknowledged;
  if (!exists_ && WIFEXITED(status) && WEXITSTATUS(status) == CrashProcess::kNotCreated) {
    ++result_.not_created;
    StartAgain();
    return "";
  }
  if (status == 0 && shared_->verified.load()) {
    exists_ = true;
    return "";
  }
  if (EndedByStop()) return "";
  // An Error that ended the verifier has left its sentence; an end by the engine itself has not.
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && shared_->failure[0] != '\0') {
    return shared_->failure;
  }
  return "recovery " + WrongEnd(status, CrashCause::kNone);
}

// Adds a failure of the round, unless nothing is wrong. Returns whether it did.
bool Test::Failed(Crash crash, CrashPlace place, int number, const std::string& what) {
  if (what.empty()) return false;
  result_.failures.push_back(
      fmt::format("round {}, after a {}: {}", number, Describe(crash, place), what));
  return true;
}

bool Test::FailedWriting(int number) {
  if (!shared_->writer_failed.load()) return false;
  result_.failures.push_back(fmt::format("round {}: a client failed, and no fault was injected: {}",
                                         number, shared_->failure));
  return true;
}

// Ends a writer whose database has not opened, and adds a failure of the round, unless the user's
// stop has ended the opening. Throws Error (kUsage) when the engine cannot honour an option.
void Test::FailedOpening(pid_t writer, int number) {
  ::kill(writer, SIGKILL);
  std::string end = WrongEnd(AwaitChild(writer), CrashCause::kKill);
  if (end.empty()) end = fmt::format("did not open it within {} ms", options_.verify_wait_ms);
  if (!exists_ && shared_->refused.load()) throw Error(Error::kUsage, shared_->failure);
  if (EndedByStop()) return;
  result_.failures.push_back(
      fmt::format("round {}: the database does not open: {}", number,
                  shared_->failure[0] != '\0' ? shared_->failure : "its process " + end));
}

// Makes one round: clients write, a crash, and the verification. Returns whether the round counts,
// which needs enough commits that a crash could lose. The user's stop ends the round before its
// next step, since a child inherits the stop and would end at once.
bool Test::Round(Crash crash, int number) {
  CrashPlace place = AnyPlace(&random_);
  // An engine may refuse to create a database when a write fails, so that case would test nothing.
  if (crash == Crash::kDiskError && place == CrashPlace::kCreation) place = CrashPlace::kCheckpoint;
  if (place == CrashPlace::kCreation && exists_) StartAgain();
  shared_->StartRound();
  const uint64_t before = Acknowledged();
  const std::vector<uint64_t> found = AcknowledgedByWriter();  // what the last check found
  const pid_t writer =
      Spawn([this, place, number] { Process().Write(place, ClientsOf(options_, number)); });
  if (place == CrashPlace::kCreation) {
    const double opening = static_cast<double>(shared_->open_us.load()) / 1000;
    CrashSleep(random_.Unit() * std::min(kLongestPartMs, 10 + 1.5 * opening));
  } else {
    // A check that has not closed the database leaves a recovery to this opening.
    const auto ready = [this] { return shared_->ready.load(); };
    if (!Await(writer, ready, options_.verify_wait_ms)) {
      FailedOpening(writer, number);
      return true;
    }
    exists_ = true;
    CrashSleep(random_.Unit() * options_.longest_ms);
  }
  const bool counts = !Stops() && (place == CrashPlace::kCreation || AwaitCommits(writer, before));
  if (!counts || shared_->writer_failed.load()) {
    ::kill(writer, SIGKILL);
    const int status = AwaitChild(writer);
    if (FailedWriting(number) || EndedByStop()) return true;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
      result_.failures.push_back(
          fmt::format("round {}: the clients' process ended by itself", number));
      return true;
    }
    // This kill loses lazy commits, too, so only those found before the round are promised.
    if (options_.run.engine.durability == Durability::kLazy) shared_->PromiseOnly(found);
  }
  std::string wrong;
  if (counts) {
    wrong = crash == Crash::kDiskError ? CrashAfterDiskError(place, writer)
                                       : CrashWriters(crash, place, writer);
    if (FailedWriting(number) || EndedByStop()) return true;
  }
  if (place == CrashPlace::kCreation) {
    if (shared_->refused.load()) throw Error(Error::kUsage, shared_->failure);
    result_.in_creation += !shared_->ready.load();
    exists_ = shared_->ready.load();
  }
  const bool is_left = !LostFileSystem();
  if (Failed(crash, place, number, Told("the clients' process ", wrong))) return true;
  if (is_left && !Stops()) RecoverAndVerify(crash, place, number);
  return counts;
}

// Recovers the database that the crash of the clients left, with further crashes, and verifies it.
void Test::RecoverAndVerify(Crash crash, CrashPlace place, int number) {
  shared_->failure[0] = '\0';
  const std::string wrong = CrashRecovery(crash == Crash::kDiskError ? Crash::kDiskCut : crash);
  if (EndedByStop()) return;
  const bool is_left = !LostFileSystem();
  if (Failed(crash, place, number, Told("an opening ", wrong))) return;
  if (is_left) Failed(crash, place, number, VerifyRound(number));
}

// Begins with a new database when the crash has damaged the file system so that it could not be
// mounted: what the disk lost was not the engine's to keep. Returns whether it did.
bool Test::LostFileSystem() {
  if (!lost_file_system_) return false;
  StartAgain();
  return true;
}

// Returns what is wrong with the end of a process, with the sentence that it has left; an empty
// string when nothing is.
std::string Test::Told(const std::string& who, const std::string& wrong) const {
  if (wrong.empty()) return "";
  return who + wrong + (shared_->failure[0] == '\0' ? "" : std::string(": ") + shared_->failure);
}

// Removes the database, so that the next round creates a new one. Files that are not the engine's
// stay: a user may have put them there.
void Test::StartAgain() {
  gone_ += Acknowledged();
  exists_ = lost_file_system_ = false;
  RemoveEngineFiles(dir_, options_.run.engine_name);
  MakeDirectories(dir_);
  SyncDirectory(std::filesystem::path(dir_).parent_path());
  shared_->StartDatabase();
}

uint64_t Test::Acknowledged() const {
  const std::vector<uint64_t> all = AcknowledgedByWriter();
  return std::accumulate(all.begin(), all.end(), uint64_t{0});
}

CrashtestResult Test::Run() {
  RunOptions placed = options_.run;
  if (options_.power_cuts + options_.disk_cuts + options_.disk_errors > 0 ||
      placed.scratch_bytes != 0) {
    ScratchOptions scratch;
    // Clients go on writing while a round waits for a disk error, so those rounds need more room
    // for the log.
    const uint64_t room = options_.disk_errors > 0 ? 2ull << 30 : 512ull << 20;
    scratch.bytes = placed.scratch_bytes != 0 ? placed.scratch_bytes : room;
    scratch.file_system = placed.scratch_fs;
    scratch.directory = ".";
    scratch.fault_disk = options_.disk_cuts + options_.disk_errors > 0;
    scratch_ = ScratchDevice::Create(scratch);
    placed.dir = scratch_->path() + "/database";
  }
  DatabaseDir directory(placed);
  directory.Prepare();
  dir_ = directory.engine_path();
  if (scratch_) {
    directory.Unlock();
    // The directory itself must survive the first power cut.
    scratch_->Sync();
  }
  ProgressLine progress(placed.EngineWithRelease() + " crashtest", placed.progress());
  size_t failures = 0;
  const int rounds =
      options_.kills + options_.power_cuts + options_.disk_cuts + options_.disk_errors;
  for (int i = 0; i < rounds && !StopRequested();) {
    if (!result_.failures.empty() && !options_.go_on) break;
    const bool failed = result_.failures.size() > failures;
    failures = result_.failures.size();
    if (failed || (i > 0 && i % options_.crashes_per_database == 0 && exists_)) StartAgain();
    const CrashtestResult before = result_;
    const bool counts = Round(CrashOf(options_, i), i + 1);
    if (Stops()) {
      // The crashes of a round that the stop has cut short were not verified.
      if (result_.failures.size() == before.failures.size()) result_ = before;
      break;
    }
    if (!counts) {
      if (++result_.void_rounds < kMostVoidRounds) continue;
      result_.failures.push_back(fmt::format(
          "{} rounds had fewer than {} in {} s each, which tests nothing", result_.void_rounds,
          Counted(options_.least_commits, "commit"), options_.commits_wait_ms / 1000));
    }
    ++i;
    progress.Say(fmt::format("crash {} of {}, commits: {}", i, rounds, gone_ + Acknowledged()));
  }
  result_.stopped = Stops();
  FailIfNothingWasTested(options_, &result_);
  result_.commits_acknowledged = gone_ + Acknowledged();
  if (!result_.failures.empty()) directory.Keep();
  return result_;
}

}  // namespace

CrashtestResult RunCrashtest(const CrashtestOptions& options) {
  CheckCrashtest(options);
  return Test(options).Run();
}

}  // namespace testbed
