// CommitSlots tell a checkpoint which commits are under way, so that it finds a redo point: a position
// in the log that lies within no commit, and before which all commits are in the trees.
//
//   CommitSlots slots;
//   CommitSlots::Slot slot;                      // of a thread that commits
//   slots.Add(&slot);
//   slots.Begin(&slot, log->EndLsn());           // before the commit's first record
//   slots.End(&slot);                            // when the trees have the commit
//   Lsn redo = slots.RedoPoint([&] { return log->LatchedEndLsn(); });
//
// A commit may append records while a checkpoint looks for the redo point, and end before its slot is
// looked at. So a commit that ends meanwhile leaves its begin. Thread-safe; one thread at a time uses a
// slot.
#ifndef TESTBED_ENGINES_BTREE_STORE_COMMIT_SLOTS_H_
#define TESTBED_ENGINES_BTREE_STORE_COMMIT_SLOTS_H_

#include <algorithm>
#include <atomic>
#include <set>

#include "device/log/log.h"
#include "device/os/mutex.h"
#include "engines/btree/pool/frame.h"

namespace testbed::btree {

class CommitSlots {
 public:
  class alignas(64) Slot {
    friend class CommitSlots;
    // All log records of the commit are at or after this position; kNoLsn = no commit.
    std::atomic<Lsn> begin_{kNoLsn};
  };

  void Add(Slot* slot) {
    LockGuard lock(mutex_);
    slots_.insert(slot);
  }
  void Remove(Slot* slot) {
    LockGuard lock(mutex_);
    slots_.erase(slot);
  }
  // Says that a commit begins. All of its log records will be at or after `begin`.
  void Begin(Slot* slot, Lsn begin) { slot->begin_.store(begin, std::memory_order_seq_cst); }
  // Says that the trees have the commit, or that it has no record in the log.
  void End(Slot* slot) {
    if (looking_.load(std::memory_order_acquire)) [[unlikely]]
      NoteEnd(slot);
    slot->begin_.store(kNoLsn, std::memory_order_release);
  }
  // Returns the redo point. `end` returns the end of the log, read in the order of appends
  // (Log::LatchedEndLsn): a commit that appends a record behind that end sees that it is looked for.
  template <typename End>
  Lsn RedoPoint(const End& end) {
    LockGuard lock(mutex_);
    ended_.store(kNoLsn, std::memory_order_relaxed);
    looking_.store(true, std::memory_order_seq_cst);
    Lsn redo = end();
    for (const Slot* slot : slots_) {
      redo = std::min(redo, slot->begin_.load(std::memory_order_seq_cst));
    }
    redo = std::min(redo, ended_.load(std::memory_order_seq_cst));
    looking_.store(false, std::memory_order_seq_cst);
    return redo;
  }

 private:
  void NoteEnd(const Slot* slot) {
    const Lsn begin = slot->begin_.load(std::memory_order_relaxed);
    Lsn least = ended_.load(std::memory_order_relaxed);
    while (begin < least && !ended_.compare_exchange_weak(least, begin)) {
    }
  }

  Mutex mutex_;
  std::set<Slot*> slots_ GUARDED_BY(mutex_);
  std::atomic<bool> looking_{false};  // a redo point is being looked for
  std::atomic<Lsn> ended_{kNoLsn};    // least begin of the commits that ended meanwhile
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_COMMIT_SLOTS_H_
