// A Host does the IO of one tree: its functions, which the library calls
// (engines/bf_tree/library/interface.h), do it through device/file/file.h, which counts it. Bf-Tree
// has no threads, so all IO is done by the thread that called it, and charged to its operation.
//
// The pages of an open tree are in the file `bf-tree.leaves`. A snapshot, which holds all rows of a
// moment, is written to `bf-tree.new_tmp`, renamed to `bf-tree.new` when it is durable, and then to
// `bf-tree.snapshot`. A tree that is opened has the snapshot for its pages, which it changes in
// place; so before the first change the Host renames it to `bf-tree.leaves`. A database that is
// only read keeps its snapshot.
//
// Bf-Tree cannot go on without a page that it wrote. So the Host hides failed writes from it: after
// the first failure, the Host keeps written pages in memory and reads them back from there, and the
// files stay as they are. A read that fails is the end of the tree: its Host is dead.
#ifndef TESTBED_ENGINES_BF_TREE_HOST_H_
#define TESTBED_ENGINES_BF_TREE_HOST_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "device/error.h"
#include "device/file/file.h"
#include "device/os/mutex.h"
#include "engines/bf_tree/library/interface.h"

namespace testbed::bf_tree {

inline constexpr char kLeaves[] = "bf-tree.leaves";
inline constexpr char kSnapshot[] = "bf-tree.snapshot";
inline constexpr char kNew[] = "bf-tree.new";
inline constexpr char kUnfinished[] = "bf-tree.new_tmp";  // kNew with what Bf-Tree appends

// Thread-safe.
class Host {
 public:
  // With `has_snapshot` the tree is opened from the file kSnapshot in `dir`.
  Host(std::string dir, IoMode io, Advice advice, bool has_snapshot);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Returns the functions for the library, which keeps the pointer as long as the tree is open.
  const BfHost* functions() const { return &functions_; }
  std::string PathOf(const char* file) const { return dir_ + "/" + file; }

  // Returns whether the tree's pages are still the unchanged snapshot.
  bool has_snapshot() const { return has_snapshot_.load(std::memory_order_acquire); }
  // Renames the snapshot to kLeaves if the tree's pages are in it. Throws Error.
  void LeaveSnapshot();

  // Throws the error of the first failed write of a page, if one has failed.
  void ThrowIfFailed() const;
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Begins a snapshot: forgets the failure of the snapshot before.
  void BeginSnapshot();
  // Returns the first failure of a write to a snapshot since BeginSnapshot, if there was one.
  std::optional<Error> SnapshotFailure() const;
  // Declares the tree dead for this reason, unless it is dead already. ThrowIfDead throws the first
  // reason.
  void Die(const Error& reason);
  void ThrowIfDead() const;
  bool dead() const { return dead_.load(std::memory_order_acquire); }

  // Returns how many pages of all trees the calling thread has read.
  static uint64_t ReadsOfThisThread();
  struct Totals {
    uint64_t reads, read_bytes, writes, write_bytes, snapshot_bytes;
  };
  Totals totals() const;

 private:
  friend struct HostFile;
  friend struct HostCalls;

  // Keeps the first failure of a write of a page.
  void Fail(const Error& error);

  const std::string dir_;
  const IoMode io_;
  const Advice advice_;
  std::atomic<bool> has_snapshot_, failed_{false}, dead_{false};
  std::atomic<uint64_t> reads_{0}, read_bytes_{0}, writes_{0}, write_bytes_{0}, snapshot_bytes_{0};
  mutable Mutex mutex_;  // protects the members below
  std::optional<Error> failure_ GUARDED_BY(mutex_),
      snapshot_failure_ GUARDED_BY(mutex_), death_ GUARDED_BY(mutex_);
  // These are the pages that were written since a write failed, by offset.
  std::unordered_map<uint64_t, std::string> kept_ GUARDED_BY(mutex_);
  BfHost functions_{};
};

}  // namespace testbed::bf_tree

#endif  // TESTBED_ENGINES_BF_TREE_HOST_H_
