// The lists of links that are longer than one query returns, with the position where the next query
// of each list continues. Not thread-safe: each requester has its own, as in LinkBench.
#ifndef TESTBED_WORKLOADS_LINKBENCH_HISTORY_H_
#define TESTBED_WORKLOADS_LINKBENCH_HISTORY_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "workloads/random.h"

namespace testbed::linkbench {

class ListHistory {
 public:
  struct Entry {
    uint64_t id1, type;
    uint64_t time;  // time of the last link returned
  };
  explicit ListHistory(size_t limit = 2048) : limit_(limit) {}
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  // Returns a random entry. Requires !empty().
  const Entry& Any(Random& random) const { return entries_[random.Below(entries_.size())]; }

  // Records a list whose first query returned the maximum number of links. A list that is already
  // recorded stays unchanged. At the limit a random entry is dropped.
  void Add(const Entry& entry, Random& random) {
    if (places_.contains({entry.id1, entry.type})) return;
    if (entries_.size() == limit_) Remove(random.Below(limit_));
    places_[{entry.id1, entry.type}] = entries_.size();
    entries_.push_back(entry);
  }
  // Records the answer of a query for older links: a full answer moves the list's position on, any
  // other removes the list.
  void Continue(const Entry& last, bool full) {
    const auto at = places_.find({last.id1, last.type});
    if (at == places_.end()) return;
    if (full) {
      entries_[at->second].time = last.time;
    } else {
      Remove(at->second);
    }
  }

 private:
  void Remove(size_t place) {
    places_.erase({entries_[place].id1, entries_[place].type});
    if (place + 1 < entries_.size()) {
      entries_[place] = entries_.back();
      places_[{entries_[place].id1, entries_[place].type}] = place;
    }
    entries_.pop_back();
  }
  const size_t limit_;
  std::vector<Entry> entries_;
  std::map<std::pair<uint64_t, uint64_t>, size_t> places_;
};

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_HISTORY_H_
