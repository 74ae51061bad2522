// `testbed crashtest` tests whether an engine keeps its promise of durability.
//
// Clients commit transactions over several tables and indexes (crash_model.h), and record each
// acknowledgement in memory that outlives them. Then comes a crash, of one of three kinds:
//
//   kill         The clients' process is killed (SIGKILL).
//   power cut    The file system, on a scratch device, is shut down without flushing its log, and
//                mounted again.
//   disk cut     The disk loses power. Only some of the sectors that were not flushed survive
//                (device/machine/fault_disk.h).
//
// The crash comes while the clients commit, while they commit during checkpoints or compactions, in
// a clean close, or while the database is created; and now and then a second time, while the
// database recovers. In a round of disk errors the disk first refuses a few writes.
//
// Afterwards the engine's own check must find no fault. Point reads and scans in both directions
// must find every row of every table and index as the acknowledged transactions left it. The single
// transaction of a client that was in flight may have happened as a whole, or not at all. With lazy
// commits, the transactions must be found that had the age of PromisedAgeMs (crashtest_checks.h) at
// the crash, and those before the last checkpoint; of a client's younger transactions any number
// may be lost, but only from the end.
//
// docs/crash-testing.md tells which bugs this finds and which it cannot see.
#ifndef TESTBED_TOOLS_CRASHTEST_CRASHTEST_H_
#define TESTBED_TOOLS_CRASHTEST_CRASHTEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/options.h"

namespace testbed {

struct CrashtestOptions {
  RunOptions run;  // engine, page size, cache, directory, scratch
  int kills = 20;
  int power_cuts = 0;   // power cuts of the file system; need root and a scratch device
  int disk_cuts = 0;    // power cuts of the disk; need FUSE too
  int disk_errors = 0;  // rounds in which the disk refuses writes; need FUSE too
  // Whether to go on with a new database after a failure, in order to count the failures.
  bool go_on = false;
  int crashes_per_database = 50;  // a new database keeps the verification short
  int writers = 4;
  uint32_t rows_per_transaction = 5;
  uint32_t longest_ms = 400;  // a crash comes at a random moment within this time
  // A crash waits until this many transactions of its round were acknowledged. A round with fewer
  // is void.
  uint64_t least_commits = 5;
  uint32_t commits_wait_ms = 20000;  // maximum wait for them, and for their end before a close
  // Maximum wait for the end of a recovery and its check, and for an opening.
  uint32_t verify_wait_ms = 600000;
};

struct CrashtestResult {
  uint64_t kills = 0, power_cuts = 0, disk_cuts = 0, disk_errors = 0;
  // The disk errors that a client was told of, and those at which the engine ended its process. The
  // other disk errors came too late in their round to be noticed, or were not noticed.
  uint64_t errors_told = 0, errors_ended = 0;
  uint64_t commits_acknowledged = 0;
  uint64_t commits_found_unacknowledged = 0;  // in flight at a crash and found whole, as allowed
  uint64_t rows_read = 0;
  // The crashes that came during a checkpoint, in a clean close and in the creation of a database;
  // and the additional crashes during recovery.
  uint64_t in_checkpoint = 0, in_close = 0, in_creation = 0, in_recovery = 0;
  uint64_t not_created = 0;  // interrupted creations that the engine refused to open
  // Crashes that damaged the file system so that it could not be mounted. The round ends with them,
  // and the next one begins with a new file system and a new database.
  uint64_t file_systems_lost = 0;
  uint64_t void_rounds = 0;  // rounds with too few commits, which are not counted as crashes
  // A signal ended the test before all crashes were made. The round that it cut short is not
  // counted.
  bool stopped = false;
  std::vector<std::string> failures;  // a sentence each; empty when the promise held
};

// Makes the crashes, with a progress line, and returns the result. When it has failures, the
// database is kept. Throws Error (kUsage) when the options cannot be honoured.
CrashtestResult RunCrashtest(const CrashtestOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASHTEST_H_
