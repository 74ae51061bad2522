// A Gate lets several sessions use a tree at the same time, and lets a single call have the tree
// for itself.
//
//   Gate::Member member(&gate);        // of a session
//   { Gate::Turn turn(&member); ... }  // uses the tree
//   gate.Alone([&] { ... });           // no member has a turn meanwhile
//
// A turn costs one lock of a mutex that no other session uses.
#ifndef TESTBED_ENGINES_BF_TREE_GATE_H_
#define TESTBED_ENGINES_BF_TREE_GATE_H_

#include <list>
#include <mutex>
#include <vector>

#include "device/os/mutex.h"

namespace testbed::bf_tree {

// Thread-safe.
class Gate {
 private:
  struct alignas(64) Latch {
    std::mutex mutex;  // a std::mutex: clang cannot check Alone
  };

 public:
  // A Member is a session's part of the gate. Not thread-safe: one thread uses it.
  class Member {
   public:
    explicit Member(Gate* gate) : gate_(gate) {
      LockGuard lock(gate_->mutex_);
      latch_ = gate_->latches_.emplace(gate_->latches_.end());
    }
    ~Member() {
      LockGuard lock(gate_->mutex_);
      gate_->latches_.erase(latch_);
    }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   private:
    friend class Gate;
    Gate* const gate_;
    std::list<Latch>::iterator latch_;
  };

  // The member may use the tree while the Turn lives. A member has one Turn at a time.
  class Turn {
   public:
    explicit Turn(Member* member) : lock_(member->latch_->mutex) {}

   private:
    std::lock_guard<std::mutex> lock_;
  };

  template <typename Body>
  void Alone(const Body& body) {
    LockGuard lock(mutex_);
    std::vector<std::unique_lock<std::mutex>> turns;
    for (Latch& latch : latches_) turns.emplace_back(latch.mutex);
    body();
  }

 private:
  Mutex mutex_;  // protects the list of latches
  std::list<Latch> latches_ GUARDED_BY(mutex_);
};

}  // namespace testbed::bf_tree

#endif  // TESTBED_ENGINES_BF_TREE_GATE_H_
