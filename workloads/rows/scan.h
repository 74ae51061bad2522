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

class Population;

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

// What is known of the rows that the table holds while it is scanned.
enum class TableRows : uint8_t {
  kLoaded,   // the rows of the data set, and no others
  kOthers,   // some of them are erased, or clients erase some; rows may have been inserted before
  kGrowing,  // clients insert rows beyond those of the data set meanwhile
};
// Returns what is known of the rows in a phase that neither inserts nor erases any. `population`
// may be null, as WorkloadOptions::population.
TableRows UnchangingRows(const Population* population);

// Returns whether a scan found the right rows. They must be in order, and each that was kept must
// have a value of its row. The first row must have the key `from`, which the database holds. There
// must be range.rows rows, or fewer when the scan reached the last row of the table. The scan must
// have left out no row between its first and its last one, where that is known: with kLoaded and
// Dataset::KnowsKeyOrder.
bool CheckScan(const Dataset& dataset, Session& session, const ScanRange& range,
               const KeptRows& kept, TableRows rows);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_SCAN_H_
