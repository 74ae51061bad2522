// `testbed crashtest`: does an engine keep its promise of durability?
//
// Writers commit transactions over two tables and note each acknowledgement in memory that outlives
// them. At a random moment they are killed (SIGKILL), or the file system under them
// loses power (shut down without flushing its log, on a scratch device, then mounted again), or the
// disk below does (device/fault_disk.h: of what was not flushed, some sectors are there). After
// each crash the database is opened, recovers, and must hold every acknowledged commit, no half
// transaction, and no row that reads wrongly; every row is read in both directions, so every page's
// checksum is looked at. With lazy commits it must hold those that were acknowledged a lazy
// interval before the last ones were, and of younger ones each writer's up to some moment.
#ifndef TESTBED_TOOLS_CRASHTEST_H_
#define TESTBED_TOOLS_CRASHTEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/options.h"

namespace testbed {

struct CrashtestOptions {
  RunOptions run;  // engine, page size, cache, directory, scratch
  int kills = 20;
  int power_cuts = 0;             // of the file system; need root and a scratch device
  int disk_cuts = 0;              // of the disk; need FUSE too
  int crashes_per_database = 50;  // then a new one, so that reading all of it stays short
  int writers = 4;
  uint32_t rows_per_transaction = 5;
  uint32_t longest_ms = 400;  // a crash comes at a random moment within this
};

struct CrashtestResult {
  uint64_t kills = 0, power_cuts = 0, disk_cuts = 0;
  uint64_t commits_acknowledged = 0;
  uint64_t commits_found_unacknowledged = 0;  // in flight at a crash, and found whole: allowed
  uint64_t rows_read = 0;
  std::vector<std::string> failures;  // a sentence each; empty when the promise held
};

CrashtestResult RunCrashtest(const CrashtestOptions& options);

// Runs it with a progress line and prints the result; returns the exit code (0 or 1).
int CrashtestCommand(const CrashtestOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_H_
