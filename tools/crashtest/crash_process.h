// The child processes of `testbed crashtest`. A writer commits transactions until the parent kills
// it; a verifier checks the database that the crash left. Both report to the parent through shared
// memory.
#ifndef TESTBED_TOOLS_CRASHTEST_CRASH_PROCESS_H_
#define TESTBED_TOOLS_CRASHTEST_CRASH_PROCESS_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/registry.h"
#include "tools/crashtest/crash_oracle.h"
#include "tools/crashtest/crashtest.h"

namespace testbed {

// The activity that a crash interrupts.
enum class CrashPlace : uint8_t { kWriting, kCheckpoint, kClose, kCreation };

// The memory that the parent shares with its child processes. It stays when they die. New() maps
// it; Delete() unmaps it, once no process of the test is left.
struct CrashShared {
  static constexpr int kMaxWriters = 64;
  static constexpr size_t kMessage = 600;

  // Throws Error (kIo) when no memory can be mapped.
  static CrashShared* New();
  void Delete();

  // The last transaction that each client has begun, and the last one that was acknowledged to it.
  // Transactions are numbered from 1. Only one transaction of a client can be in flight.
  std::atomic<uint64_t> begun[kMaxWriters], acknowledged[kMaxWriters];
  // The acknowledged transactions of each client at the beginning of the last checkpoint of the
  // round that has returned, which has made them durable (Engine::Checkpoint).
  std::atomic<uint64_t> checkpointed[kMaxWriters];
  std::atomic<bool> ready, stop, closing, closed, opened;
  std::atomic<bool> power_is_cut;     // errors from now on are caused by the test itself
  std::atomic<bool> fails;            // a client that failed writes `failure`, or has written it
  std::atomic<bool> writer_failed;    // a client failed; `failure` tells the whole error
  std::atomic<bool> refused;          // `failure` names an option that the engine cannot honour
  std::atomic<bool> stopped_by_user;  // a child has ended because the user asked to stop
  std::atomic<uint64_t> checkpoints;  // number of checkpoints begun
  // The last durations, in microseconds. They let the parent aim its crashes.
  std::atomic<uint64_t> open_us, close_us, checkpoint_us;
  // The results of the verifier. `verified` is set at its end, so that a library that ends the
  // process with exit code 0 does not pass for it.
  std::atomic<bool> verified;
  uint64_t rows, unacknowledged;
  char failure[kMessage];

  // Returns the last acknowledged transaction of each of the first `writers` clients.
  std::vector<uint64_t> Acknowledged(int writers) const;
  // Prepares a round: no writer has opened the database, and nobody has failed.
  void StartRound();
  // Notes that a client of the round has failed, and the error of the first that did.
  void NoteFailure(const char* what);
  // Prepares a new database, in which no client has begun a transaction.
  void StartDatabase();
  // Takes note that a checkpoint has returned, before which these transactions were acknowledged.
  void NoteCheckpoint(const std::vector<uint64_t>& commits);
  // Raises the promised transactions of the clients to those that a checkpoint has made durable.
  void AddCheckpointed(std::vector<uint64_t>* promised) const;
  // Lowers the acknowledged transactions of the clients to those that a crash may not lose.
  void PromiseOnly(const std::vector<uint64_t>& commits);
};

// Sleeps for `ms` milliseconds.
void CrashSleep(double ms);

// Returns whether the child has ended. Does not reap it: AwaitChild still returns its status.
bool HasEnded(pid_t child);
// Waits until the child has ended, and reaps it. Returns its wait(2) status, or nothing when the
// child had not ended within `longest_ms` and was killed.
std::optional<int> AwaitEnd(pid_t child, uint32_t longest_ms);
// What the test did that can have ended a child process.
enum class CrashCause : uint8_t {
  kNone,    // nothing: a child that ends does so by itself
  kKill,    // the test killed it
  kDevice,  // the device failed or lost power, and then the test killed the child
};
// Returns what is wrong with the wait(2) status of a child that opens or writes a database; an
// empty string when `cause` may end a child in that way. An engine whose device is gone may end the
// process itself, with an exit code or by abort(3), or read a mapping that has no pages any more
// (SIGBUS). A child does not end without a cause.
std::string WrongEnd(int status, CrashCause cause);

// The work of a child process. The parent constructs the object before it forks, and the child
// calls one of the methods. They throw Error when the engine does.
class CrashProcess {
 public:
  // Exit code of a verifier when the creation was interrupted, and the engine refuses to open what
  // it left.
  static constexpr int kNotCreated = 3;

  // `options` and `shared` must outlive the object. `exists` says whether the database was created
  // before.
  CrashProcess(const CrashtestOptions& options, CrashShared* shared, std::string dir, bool exists)
      : options_(options),
        info_(FindEngine(options.run.engine_name)),
        shared_(shared),
        dir_(std::move(dir)),
        exists_(exists) {}

  // Opens the database, or creates it when it does not exist yet.
  std::unique_ptr<Engine> Open();
  // Commits transactions on these clients until the process is killed. When the parent sets `stop`,
  // closes the database and waits to be killed.
  void Write(CrashPlace place, const std::vector<int>& clients);
  // Opens the database, which recovers it, and compares every row with the acknowledged
  // transactions. With `close`, then closes the database and runs the engine's check on its files;
  // otherwise ends the process without closing. Throws Error (kCorruption) at the first difference.
  void Verify(bool close);

 private:
  void WriterThread(Engine& engine, const CrashTables& tables, int w);
  void CheckpointThread(Engine& engine);
  void WriterFailed(const char* what);
  void VerifyOpen(Engine* engine);
  void CheckFiles(const char* when);
  void Fail(const std::string& sentence) { throw Error(Error::kCorruption, sentence); }

  const CrashtestOptions& options_;
  const EngineInfo& info_;
  CrashShared* const shared_;
  const std::string dir_;
  const bool exists_;  // the database has been created, so it must not be created again
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASH_PROCESS_H_
