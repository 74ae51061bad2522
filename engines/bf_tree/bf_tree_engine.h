// The bf-tree engine implements Engine with Microsoft Research's Bf-Tree, which is written in Rust
// and loaded as a shared library.
#ifndef TESTBED_ENGINES_BF_TREE_BF_TREE_ENGINE_H_
#define TESTBED_ENGINES_BF_TREE_BF_TREE_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/os/dir_lock.h"
#include "device/os/mutex.h"
#include "engines/bf_tree/gate.h"
#include "engines/bf_tree/host.h"
#include "engines/bf_tree/settings.h"
#include "engines/bf_tree/tables.h"
#include "engines/bf_tree/tree.h"
#include "engines/engine.h"

namespace testbed {

struct EngineInfo;
EngineInfo BfTreeEngineInfo();

namespace bf_tree {

// A checkpoint is a snapshot: Bf-Tree has no other way to keep its inner nodes, and no log that a
// recovery could use. So the rows that a crash leaves are those of the last checkpoint, and none
// when the database was opened and written to since. A checkpoint stops all sessions. Bf-Tree can
// also take snapshots while sessions go on, but a session that then writes to a leaf or caches a
// record of it for the first time would read the leaf and write it back.
class BfTreeEngine : public Engine {
 public:
  BfTreeEngine(std::string dir, const Settings& settings);
  ~BfTreeEngine() override;

  std::string name() const override { return "bf-tree"; }
  TableId OpenTable(const std::string& table) override;
  std::unique_ptr<Session> NewSession() override;
  void Flush() override { Checkpoint(); }
  void Checkpoint() override;
  void Settle() override { Checkpoint(); }
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override;
  EngineCounters Counters() const override;
  DiskSize SizeOnDisk() const override;

  // The sessions call the functions below.
  const Tree& tree() const { return *tree_; }
  const Host& host() const { return *host_; }
  Gate* gate() { return &gate_; }
  const Tables& tables() const { return *tables_; }
  // Notes that a row was changed. A session calls it after the change.
  void NoteChange() {
    if (!changed_.load(std::memory_order_relaxed)) changed_.store(true, std::memory_order_release);
  }

 private:
  void CheckSettings() const;
  // Returns whether kSnapshot exists and holds the rows of the last checkpoint, rather than the
  // tree's pages.
  bool HasSnapshot() const { return host_->has_snapshot() || has_checkpoint_; }

  const std::string dir_;
  const Settings settings_;
  DirLock lock_;
  Gate gate_;
  std::optional<Host> host_;
  std::optional<Tree> tree_;
  std::optional<Tables> tables_;
  std::atomic<bool> changed_{false};  // rows have changed since the last checkpoint
  Mutex checkpoint_mutex_;
  std::atomic<bool> has_checkpoint_{false};  // a checkpoint was made since the tree was opened
  std::atomic<uint64_t> checkpoints_{0};
};

}  // namespace bf_tree
}  // namespace testbed

#endif  // TESTBED_ENGINES_BF_TREE_BF_TREE_ENGINE_H_
