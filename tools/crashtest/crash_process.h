// The processes of `testbed crashtest` that are killed, or that look at what a crash left: one
// writes until its crash comes, another verifies. Both talk to the parent by shared memory.
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

// Where a crash comes.
enum class CrashPlace : uint8_t { kWriting, kCheckpoint, kClose, kCreation };

// The memory that the parent and the processes it kills share; it outlives them. New() maps it, and
// Delete() takes it away, once no process of the test is left.
struct CrashShared {
  static constexpr int kMaxWriters = 64;
  static constexpr size_t kMessage = 600;

  static CrashShared* New();
  void Delete();

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

void CrashSleep(double ms);

// What one such process does; made in the parent, used in the child. Errors are thrown.
class CrashProcess {
 public:
  // Exit code of a verifier that found a creation which had not ended, and was refused.
  static constexpr int kNotCreated = 3;

  CrashProcess(const CrashtestOptions& options, CrashShared* shared, std::string dir, bool exists)
      : options_(options),
        info_(FindEngine(options.run.engine_name)),
        shared_(shared),
        dir_(std::move(dir)),
        exists_(exists) {}

  // Opens the database, or creates it where none exists yet.
  std::unique_ptr<Engine> Open();
  // Commits on all clients until it is killed; closes the database when the parent asks for it, and
  // then waits to be killed.
  void Write(CrashPlace place);
  // Recovers and compares every row with the acknowledged transactions. Throws Error (kCorruption)
  // for the first difference. With `close`, the engine's check of the closed files follows.
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
  const bool exists_;  // the database was created before: it is never made anew
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASH_PROCESS_H_
