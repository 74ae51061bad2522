// CheckStore and InspectDatabase verify a database page by page and measure its trees. CheckStore
// is for an open store, InspectDatabase for a database that is not open.
//
//   CheckReport report = CheckStore(store.get());
//   for (const std::string& problem : report.problems) Print(problem);   // none: it is sound
//
//   Inspection result = InspectDatabase(dir, InspectOptions());
//
// Both read every page from the file, not from the pool, and so check what a reopened database
// would read. They check
// - each page's checksum, number, table, LSN, level and inner structure;
// - that the fences of each child are what its parent says, which puts all keys of a tree in order;
// - that values in overflow pages are whole;
// - that no page belongs to two places;
// - that the pages reached are exactly those that the space map calls used.
//
// Used pages that were not reached are checked as trees of their own. InspectDatabase also checks
// the superblock, the checkpoint files, the doublewrite file and every log record after the
// checkpoint (image.h). It changes nothing.
//
// A fault names page and byte of the file and, if possible, the expected value and the value found.
// The check goes on after a fault.
#ifndef TESTBED_ENGINES_BTREE_INSPECT_CHECK_H_
#define TESTBED_ENGINES_BTREE_INSPECT_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/btree/store/store.h"
#include "engines/inspect.h"

namespace testbed::btree {

struct CheckReport {
  static constexpr size_t kMaxProblems = 100;  // problems to describe; further ones are counted
  std::vector<std::string> problems;           // one line for each problem
  uint64_t problem_count = 0;
  std::vector<TreeStats> trees;  // statistics of the trees, the catalogue's first
  uint64_t page_size = 0;
  uint64_t file_pages = 0, used_pages = 0;
  bool ok() const { return problem_count == 0; }
};

// Checks an open store, after taking a checkpoint. No commit may run meanwhile. Throws what
// Store::Checkpoint throws.
CheckReport CheckStore(Store* store);

// Checks the database in `dir`, which must not be open. Throws the errors that engines/inspect.h
// lists. If options.table is set, only the pages of that table and of the catalogue are read, and
// Error (kUsage) is thrown when there is no such table.
Inspection InspectDatabase(const std::string& dir, const InspectOptions& options);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_INSPECT_CHECK_H_
