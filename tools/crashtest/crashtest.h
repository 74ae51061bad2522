// `testbed crashtest`: does an engine keep its promise of durability?
//
// Clients commit transactions over several tables and indexes (crash_model.h) and note each
// acknowledgement in memory that outlives them. Then comes a crash: they are killed (SIGKILL), or
// the file system under them loses power (shut down without flushing its log, on a scratch device,
// then mounted again), or the disk below does (device/machine/fault_disk.h: of what was not flushed, some
// sectors are there). It comes while they commit, while they commit and checkpoints or compactions
// are under way, in a clean close, or while the database is created; and now and then again while
// the database recovers. Afterwards the engine's own check must find no fault, and every row of
// every table and index must be what the acknowledged transactions made of it, by point reads and
// by scans in both directions; the one transaction of a client that was under way may be there,
// whole, or not at all. With lazy commits those must be there that were acknowledged a lazy
// interval before the last ones were, and of younger ones each client's up to some moment.
//
// docs/crash-testing.md says what that finds and what it cannot see.
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
  int power_cuts = 0;   // of the file system; need root and a scratch device
  int disk_cuts = 0;    // of the disk; need FUSE too
  int disk_errors = 0;  // writes that the disk refuses; need FUSE too
  // After a failure, begin with a new database and go on: how often does it happen?
  bool go_on = false;
  int crashes_per_database = 50;  // then a new one, so that reading all of it stays short
  int writers = 4;
  uint32_t rows_per_transaction = 5;
  uint32_t longest_ms = 400;  // a crash comes at a random moment within this
  // A crash of clients waits until so many transactions of its round were acknowledged; a round
  // that had fewer is no round.
  uint64_t least_commits = 5;
};

struct CrashtestResult {
  uint64_t kills = 0, power_cuts = 0, disk_cuts = 0, disk_errors = 0;
  // Of the disk errors: those that a client was told of, and those at which the engine ended its
  // process. The others came too late in their round to be noticed, or were not noticed.
  uint64_t errors_told = 0, errors_ended = 0;
  uint64_t commits_acknowledged = 0;
  uint64_t commits_found_unacknowledged = 0;  // in flight at a crash, and found whole: allowed
  uint64_t rows_read = 0;
  // Of the crashes: those that came while a checkpoint was under way, in a clean close, in the
  // creation of a database; and further ones while the database recovered from a crash.
  uint64_t in_checkpoint = 0, in_close = 0, in_creation = 0, in_recovery = 0;
  uint64_t not_created = 0;  // creations that were refused afterwards, having promised nothing
  uint64_t void_rounds = 0;  // too few commits: not counted as crashes
  bool stopped = false;      // a signal ended the test before all crashes were made
  std::vector<std::string> failures;  // a sentence each; empty when the promise held
};

// Makes the crashes, with a progress line. Throws Error (kUsage) when the options cannot be honoured,
// before anything is made.
CrashtestResult RunCrashtest(const CrashtestOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASHTEST_H_
