#include "workloads/rows/scan.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "workloads/population.h"

namespace testbed {
namespace {

// Returns whether `last` can have been the last row of the table when it was scanned. An erased row
// is never inserted again, so a row after `last` that exists now existed then, unless it is beyond
// the data set and a client has inserted it since.
bool MayEndAt(const Dataset& dataset, Session& session, TableId table, std::string_view last,
              TableRows rows) {
  const std::unique_ptr<Cursor> cursor = session.NewCursor(table);
  bool on = cursor->Seek(last);
  if (on && cursor->key() == last) on = cursor->Next();
  if (!on) return true;
  const std::optional<uint64_t> row = dataset.RowOf(cursor->key());
  return rows == TableRows::kGrowing && row && *row >= dataset.rows();
}

// Returns whether a scan for `asked` rows of a table with the rows of the data set left none out.
// The rows that it found have ascending keys, so there are as many as from the first to the last.
bool LeftNoneOut(const Dataset& dataset, uint64_t asked, const KeptRows& kept) {
  const uint64_t found = kept.size() + kept.left_out();
  const std::optional<uint64_t> first = dataset.RankOf(kept.key(0));
  const std::optional<uint64_t> last = dataset.RankOf(kept.last_key());
  if (!first || !last || *last - *first + 1 != found) return false;
  return found == asked || *last + 1 == dataset.rows();
}

}  // namespace

uint64_t Scan(Session& session, const ScanRange& range, Consumer* consume, KeptRows* kept) {
  // The cursor ends with the scan, since an open one may pin pages or a snapshot.
  const std::unique_ptr<Cursor> cursor = session.NewCursor(range.table);
  cursor->Expect(std::max<uint64_t>(range.rows, 1));
  uint64_t found = 0;
  bool on = cursor->Seek(range.from);
  while (on && found < range.rows) {
    const std::string_view key = cursor->key(), value = cursor->value();
    (*consume)(key);
    (*consume)(value);
    if (kept->keeps()) kept->AddFew(key, value);
    on = ++found < range.rows && cursor->Next();  // no step beyond the last row
  }
  return found;
}

TableRows UnchangingRows(const Population* population) {
  const bool loaded = population == nullptr ||
                      (population->known() && population->as_loaded() && !population->divided());
  return loaded ? TableRows::kLoaded : TableRows::kOthers;
}

bool CheckScan(const Dataset& dataset, Session& session, const ScanRange& range,
               const KeptRows& kept, TableRows rows) {
  if (range.rows == 0) return kept.size() == 0;
  const size_t found = kept.size() + kept.left_out();
  if (kept.size() == 0 || found > range.rows || kept.key(0) != range.from) return false;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i > 0 && kept.key(i) <= kept.key(i - 1)) return false;
    const std::optional<uint64_t> row = dataset.RowOf(kept.key(i));
    if (!row || !dataset.Check(*row, kept.value(i))) return false;
  }
  const std::string_view last = kept.last_key();
  if (kept.left_out() > 0 && last <= kept.key(kept.size() - 1)) return false;
  if (rows == TableRows::kLoaded && dataset.KnowsKeyOrder()) {
    return LeftNoneOut(dataset, range.rows, kept);
  }
  return found == range.rows || MayEndAt(dataset, session, range.table, last, rows);
}

}  // namespace testbed
