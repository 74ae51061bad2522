// Performs a scan of rows of a data set as an operation, and checks the rows that it found.
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
// and to *kept, which keeps them for the check and leaves out most of a long scan. Returns how many
// rows it found.
uint64_t Scan(Session& session, const ScanRange& range, Consumer* consume, KeptRows* kept);

// Returns whether a scan found the right rows. They must be in order, and each that was kept must
// have a value of its row. The first row must have the key `from`, which the database holds. There
// must be range.rows rows, or fewer when the scan reached the last row of the table. `inserts` says
// that other clients insert rows beyond those of the data set meanwhile.
bool CheckScan(const Dataset& dataset, Session& session, const ScanRange& range,
               const KeptRows& kept, bool inserts);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_SCAN_H_
