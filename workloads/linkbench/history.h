// A ListHistory remembers lists of links that were longer than a query may return, and where the
// next query of each list goes on. As in LinkBench, each requester has its own. Not thread-safe.
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
    uint64_t time;  // time of the last link that was returned
  };
  explicit ListHistory(size_t limit = 2048) : limit_(limit) {}
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  // Returns a random list; empty() must be false.
  const Entry& Any(Random& random) const { return entries_[random.Below(entries_.size())]; }

  // Adds a list after a query from its newest link on returned as many links as it may. A list that
  // is known stays unchanged. When there are `limit` lists, a random list is dropped.
  void Add(const Entry& entry, Random& random) {
    if (places_.contains({entry.id1, entry.type})) return;
    if (entries_.size() == limit_) Remove(random.Below(limit_));
    places_[{entry.id1, entry.type}] = entries_.size();
    entries_.push_back(entry);
  }
  // Notes that a query for older links was answered. If it was `full`, the next query goes on after
  // `last`; else the list has ended and is dropped.
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
