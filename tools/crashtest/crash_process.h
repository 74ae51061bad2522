// The processes of `testbed crashtest` that are killed or that examine the result of a crash: one
// writes until its crash, another verifies. Both communicate with the parent through shared memory.
#ifndef TESTBED_TOOLS_CRASHTEST_CRASH_PROCESS_H_
#define TESTBED_TOOLS_CRASHTEST_CRASH_PROCESS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "device/error.h"
#include "engines/registry.h"
#include "tools/crashtest/crash_oracle.h"
#include "tools/crashtest/crashtest.h"

namespace testbed {

// The moment of a crash.
enum class CrashPlace : uint8_t { kWriting, kCheckpoint, kClose, kCreation };

// Memory shared by the parent and the processes that it kills; it survives the processes. New()
// maps it, and Delete() unmaps it once no process of the test is left.
struct CrashShared {
  static constexpr int kMaxWriters = 64;
  static constexpr size_t kMessage = 600;

  // Throws Error (kIo) when no memory can be mapped.
  static CrashShared* New();
  void Delete();

  // The transactions of each client, numbered from 1. `begun` may be in flight.
  std::atomic<uint64_t> begun[kMaxWriters], acknowledged[kMaxWriters];
  std::atomic<bool> ready, stop, closing, closed, opened;
  std::atomic<bool> power_is_cut;     // errors are now caused by the test
  std::atomic<bool> writer_failed;    // `failure` says why
  std::atomic<bool> refused;          // `failure` names an unsupported option
  std::atomic<uint64_t> checkpoints;  // checkpoints begun
  // Durations of the last opening, closing and checkpoint, so that crashes can be timed to hit
  // them.
  std::atomic<uint64_t> open_us, close_us, checkpoint_us;
  // The verdict of the verifying process.
  uint64_t rows, unacknowledged;
  char failure[kMessage];
};

// Sleeps for `ms` milliseconds.
void CrashSleep(double ms);

// The work of one such process. The object is made in the parent and used in the child. Its methods
// throw Error.
class CrashProcess {
 public:
  // Exit code of a verifier that found an unfinished creation, which the engine refused to open.
  static constexpr int kNotCreated = 3;

  // `options` and `shared` must outlive the object. `exists` says whether the database was created
  // before.
  CrashProcess(const CrashtestOptions& options, CrashShared* shared, std::string dir, bool exists)
      : options_(options),
        info_(FindEngine(options.run.engine_name)),
        shared_(shared),
        dir_(std::move(dir)),
        exists_(exists) {}

  // Opens the database, or creates it where none exists yet.
  std::unique_ptr<Engine> Open();
  // Commits on all clients until the process is killed. When the parent asks for it, closes the
  // database and then waits to be killed.
  void Write(CrashPlace place);
  // Recovers the database and compares every row with the acknowledged transactions. Throws Error
  // (kCorruption) for the first difference. With `close`, closes the database and runs the engine's
  // check on its files; without it the process exits with the database open.
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
  const bool exists_;  // the database exists and must not be created anew
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASH_PROCESS_H_
