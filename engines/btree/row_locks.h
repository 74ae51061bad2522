// Locks on rows, held by a commit from before its log record is appended until its rows are in the
// trees: so writes of one row reach the tree in the order in which they are in the log, and a
// reader that has seen one row of a commit finds its other rows as that commit left them.
//
// A row is known by 64 bits of hash of its table and key; two rows that share them only wait for
// each other. A commit takes its locks in ascending order, so commits never wait in a circle.
// A reader takes none: it waits until the row it wants is free (`AwaitUnlocked`), and only while
// commits of several rows are under way, as a single row is atomic by its page's latch.
#ifndef TESTBED_ENGINES_BTREE_ROW_LOCKS_H_
#define TESTBED_ENGINES_BTREE_ROW_LOCKS_H_

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace testbed::btree {

class RowLocks {
 public:
  using Row = uint64_t;
  static Row RowOf(uint32_t table, std::string_view key) {
    return std::max<Row>(1, XXH3_64bits_withSeed(key.data(), key.size(), table));
  }

  // Locks a set of rows; unlocks at its end. The vector is the caller's, so that it is reused.
  class Holder {
   public:
    Holder(RowLocks* locks, std::vector<Row>* rows) : locks_(locks), rows_(rows) {
      std::sort(rows->begin(), rows->end());
      rows->erase(std::unique(rows->begin(), rows->end()), rows->end());
      many_ = rows->size() > 1;
      for (Row row : *rows) locks_->Lock(row);
      // Readers that see anything of this commit see this first.
      if (many_) locks_->commits_of_many_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Holder() {
      for (Row row : *rows_) locks_->Unlock(row);
      if (many_) locks_->commits_of_many_.fetch_sub(1, std::memory_order_release);
      rows_->clear();
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

   private:
    RowLocks* const locks_;
    std::vector<Row>* const rows_;
    bool many_;
  };

  // Whether no commit of several rows has this one now: AwaitUnlocked would not wait.
  bool Unlocked(uint32_t table, std::string_view key) {
    if (commits_of_many_.load(std::memory_order_acquire) == 0) return true;
    const Row row = RowOf(table, key);
    Shard& shard = ShardOf(row);
    std::lock_guard lock(shard.mutex);
    return !shard.locked.Contains(row);
  }

  // Waits while a commit of several rows has this one. The caller must hold no latch.
  void AwaitUnlocked(uint32_t table, std::string_view key) {
    if (commits_of_many_.load(std::memory_order_acquire) == 0) return;
    const Row row = RowOf(table, key);
    Shard& shard = ShardOf(row);
    std::unique_lock lock(shard.mutex);
    shard.WaitFor(row, &lock);
  }

 private:
  static constexpr int kShardBits = 8;

  // Numbers in an open-addressed table, so that a lock allocates nothing.
  class RowSet {
   public:
    bool Contains(Row row) const {
      for (size_t at = Home(row); rows_[at] != 0; at = (at + 1) & mask()) {
        if (rows_[at] == row) return true;
      }
      return false;
    }
    void Insert(Row row) {
      if (2 * ++count_ > rows_.size()) Grow();
      size_t at = Home(row);
      while (rows_[at] != 0) at = (at + 1) & mask();
      rows_[at] = row;
    }
    void Erase(Row row) {
      size_t hole = Home(row);
      while (rows_[hole] != row) hole = (hole + 1) & mask();
      --count_;
      // Those behind move up, unless that would put them before their home.
      for (size_t at = (hole + 1) & mask(); rows_[at] != 0; at = (at + 1) & mask()) {
        if (((at - Home(rows_[at])) & mask()) < ((at - hole) & mask())) continue;
        rows_[hole] = rows_[at];
        hole = at;
      }
      rows_[hole] = 0;
    }

   private:
    size_t mask() const { return rows_.size() - 1; }
    size_t Home(Row row) const { return row & mask(); }
    void Grow() {
      std::vector<Row> old(2 * rows_.size());
      old.swap(rows_);
      for (const Row row : old) {
        if (row == 0) continue;
        size_t at = Home(row);
        while (rows_[at] != 0) at = (at + 1) & mask();
        rows_[at] = row;
      }
    }
    std::vector<Row> rows_ = std::vector<Row>(8);  // 0 = none
    size_t count_ = 0;
  };

  struct alignas(64) Shard {
    void WaitFor(Row row, std::unique_lock<std::mutex>* lock) {
      while (locked.Contains(row)) {
        ++waiting;
        unlocked.wait(*lock);
        --waiting;
      }
    }
    std::mutex mutex;
    std::condition_variable unlocked;
    uint32_t waiting = 0;
    RowSet locked;
  };

  // By the top bits, so that rows in ascending order are shards in ascending order.
  Shard& ShardOf(Row row) { return shards_[row >> (64 - kShardBits)]; }

  void Lock(Row row) {
    Shard& shard = ShardOf(row);
    std::unique_lock lock(shard.mutex);
    shard.WaitFor(row, &lock);
    shard.locked.Insert(row);
  }

  void Unlock(Row row) {
    Shard& shard = ShardOf(row);
    std::lock_guard lock(shard.mutex);
    shard.locked.Erase(row);
    if (shard.waiting > 0) shard.unlocked.notify_all();
  }

  std::atomic<uint32_t> commits_of_many_{0};
  std::array<Shard, 1 << kShardBits> shards_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_ROW_LOCKS_H_
