// WrittenPages keeps the last pages that were written to the data file, with their LSNs, for the
// witness pages of the next checkpoint (meta.h).
//
//   written.Note(pages);        // the pages of a batch, when all of them are written
//   written.Synced();           // after a sync of the file
//   SetWitnesses(written.TakeSynced(), before, &state);
//
// Not thread-safe.
#ifndef TESTBED_ENGINES_BTREE_PAGE_WRITTEN_PAGES_H_
#define TESTBED_ENGINES_BTREE_PAGE_WRITTEN_PAGES_H_

#include <array>
#include <vector>

#include "engines/btree/page/meta.h"

namespace testbed::btree {

// A LastPages holds the last pages that were added. It holds more pages than a checkpoint names,
// because not every page can be a witness.
class LastPages {
 public:
  void Add(const WitnessPage& page) { pages_[count_++ % pages_.size()] = page; }
  // Calls `use` for each page, in the order in which they were added.
  template <typename Use>
  void ForEach(const Use& use) const {
    const size_t first = count_ > pages_.size() ? count_ - pages_.size() : 0;
    for (size_t i = first; i < count_; ++i) use(pages_[i % pages_.size()]);
  }

 private:
  std::array<WitnessPage, 8 * kMaxWitnesses> pages_;
  size_t count_ = 0;  // number of all pages that were ever added
};

class WrittenPages {
 public:
  void Note(const LastPages& pages) { AddAll(pages, &noted_); }
  // Tells that every page that was noted so far is durable.
  void Synced() {
    AddAll(noted_, &synced_);
    noted_ = {};
  }
  // Returns the last pages that are durable, in the order of their writes, and forgets them.
  std::vector<WitnessPage> TakeSynced() {
    std::vector<WitnessPage> taken;
    synced_.ForEach([&taken](const WitnessPage& page) { taken.push_back(page); });
    synced_ = {};
    return taken;
  }

 private:
  static void AddAll(const LastPages& from, LastPages* to) {
    from.ForEach([to](const WitnessPage& page) { to->Add(page); });
  }
  LastPages noted_, synced_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_WRITTEN_PAGES_H_
