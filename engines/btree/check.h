// Verifies a database, page by page, and measures its trees on the way.
//
//   CheckReport report = CheckStore(store.get());
//   for (const std::string& problem : report.problems) ...   // none: the database is sound
//
// Takes a checkpoint and then reads every page from the file, not from the pool: so it sees what a
// reopened database would see. Checked are each page's checksum, number, owner, level and inner
// structure; that each child's fences are what its parent says, which puts all keys in order over
// the whole tree; that overflow values are whole; that no page belongs to two places; and that the
// pages reached are exactly those that the space map calls used. No commit may run meanwhile.
#ifndef TESTBED_ENGINES_BTREE_CHECK_H_
#define TESTBED_ENGINES_BTREE_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/btree/store.h"

namespace testbed::btree {

struct LevelStats {
  uint64_t pages = 0;
  uint64_t entries = 0;
  uint64_t used_bytes = 0;  // of the pages' capacity: entries, fences
  uint64_t capacity_bytes = 0;
  std::vector<uint64_t> fill = std::vector<uint64_t>(10);  // pages by tenth of capacity used
};

struct TreeStats {
  std::string table;
  uint64_t rows = 0;
  uint64_t key_bytes = 0, value_bytes = 0;
  uint64_t overflow_values = 0, overflow_pages = 0;
  std::vector<LevelStats> levels;  // [0] = leaves; size = height
};

struct CheckReport {
  static constexpr size_t kMaxProblems = 100;  // more are counted, not described
  std::vector<std::string> problems;
  uint64_t problem_count = 0;
  std::vector<TreeStats> trees;  // the catalogue first
  uint64_t page_size = 0;
  uint64_t file_pages = 0, used_pages = 0;
  bool ok() const { return problem_count == 0; }
};

CheckReport CheckStore(Store* store);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_CHECK_H_
