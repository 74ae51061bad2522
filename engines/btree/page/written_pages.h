// WrittenPages notes the last pages that were written to the data file, with their LSNs. They
// become the witness pages of the next checkpoint (meta.h).
//
//   written.Note(id, lsn);      // the page was written
//   written.Synced();           // the file was synced after that
//   state.witnesses = written.TakeSynced();
//
// Not thread-safe.
#ifndef TESTBED_ENGINES_BTREE_PAGE_WRITTEN_PAGES_H_
#define TESTBED_ENGINES_BTREE_PAGE_WRITTEN_PAGES_H_

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engines/btree/page/meta.h"

namespace testbed::btree {

class WrittenPages {
 public:
  void Note(PageId id, Lsn lsn) { noted_.Add({id, lsn}); }
  // Tells that every page that was noted is durable.
  void Synced() {
    if (noted_.count > 0) synced_ = std::exchange(noted_, {});
  }
  // Returns the last pages that were noted before the last sync, at most kMaxWitnesses, and forgets
  // them. A sync before which no page was noted does not count.
  std::vector<WitnessPage> TakeSynced() {
    const Last taken = std::exchange(synced_, {});
    const size_t n = std::min(taken.count, kMaxWitnesses);
    return {taken.pages.begin(), taken.pages.begin() + static_cast<ptrdiff_t>(n)};
  }

 private:
  // The last kMaxWitnesses pages that were added; `count` is the number of all that were added.
  struct Last {
    void Add(const WitnessPage& page) { pages[count++ % kMaxWitnesses] = page; }
    std::array<WitnessPage, kMaxWitnesses> pages;
    size_t count = 0;
  };
  Last noted_, synced_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_WRITTEN_PAGES_H_
