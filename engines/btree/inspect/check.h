// Verifies a database, page by page, and measures its trees on the way.
//
//   CheckReport report = CheckStore(store.get());
//   for (const std::string& problem : report.problems) ...   // none: the database is sound
//
//   Inspection result = InspectDatabase(dir, options);       // of one that is not open
//
// Every page is read from the file, not from the pool: so both see what a reopened database would
// see. Checked are each page's checksum, number, owner, LSN, level and inner structure; that each
// child's fences are what its parent says, which puts all keys in order over the whole tree; that
// overflow values are whole; that no page belongs to two places; and that the pages reached are
// exactly those that the space map calls used. Pages that should have been reached and were not are
// checked as trees of their own. InspectDatabase looks at the superblock, the checkpoint files, the
// doublewrite file and every record of the log after the checkpoint, too (image.h), and changes
// nothing.
//
// A fault names page and byte of the file, and where it can, what was expected and what is there.
// After a fault the check goes on.
#ifndef TESTBED_ENGINES_BTREE_INSPECT_CHECK_H_
#define TESTBED_ENGINES_BTREE_INSPECT_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/btree/store/store.h"
#include "engines/inspect.h"

namespace testbed::btree {

struct CheckReport {
  static constexpr size_t kMaxProblems = 100;  // more are counted, not described
  std::vector<std::string> problems;
  uint64_t problem_count = 0;
  std::vector<TreeStats> trees;  // the catalogue first
  uint64_t page_size = 0;
  uint64_t file_pages = 0, used_pages = 0;
  bool ok() const { return problem_count == 0; }
};

// Takes a checkpoint first. No commit may run meanwhile.
CheckReport CheckStore(Store* store);

// Errors: engines/inspect.h. With a table in the options only its pages and the catalogue's are
// read, and kUsage says that there is no such table.
Inspection InspectDatabase(const std::string& dir, const InspectOptions& options);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_INSPECT_CHECK_H_
