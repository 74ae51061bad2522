// A scan of the rows of a data set as an operation, and the check of what it found.
#ifndef TESTBED_WORKLOADS_ROWS_SCAN_H_
#define TESTBED_WORKLOADS_ROWS_SCAN_H_

#include <cstdint>
#include <string_view>

#include "engines/engine.h"
#include "workloads/consume.h"
#include "workloads/dataset.h"
#include "workloads/rows/kept_rows.h"

namespace testbed {

// A scan of at most `rows` rows from the row of the key `from` on.
struct ScanRange {
  TableId table;
  std::string_view from;
  uint64_t rows;
};

// Performs the scan: seeks, and steps once for each further row. Passes keys and values to *consume
// and, where they are kept, to *kept. Returns how many rows it found.
uint64_t Scan(Session& session, const ScanRange& range, Consumer* consume, KeptRows* kept);

// Returns whether the rows that a scan found are right: in order, each with a value of its row, the
// first one with the key `from`, whose row the database holds, and all that were asked for or those
// up to the last row of the table. `inserts` tells that clients insert rows beyond those of the
// data set meanwhile.
bool CheckScan(const Dataset& dataset, Session& session, const ScanRange& range,
               const KeptRows& kept, bool inserts);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_SCAN_H_
