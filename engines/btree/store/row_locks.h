// RowLocks are locks on rows. A commit holds the locks of its rows from before its log record is
// appended until its rows are in the trees. So the writes of one row reach the tree in the order of
// the log, and a reader that has seen one row of a commit also finds the commit's other rows.
//
//   RowLocks::Holder held(&locks, &rows);      // a commit; locks until `held` is destroyed
//   locks.AwaitUnlocked(table, key);           // a reader
//
// A row is identified by a 64-bit hash of its table and key. Two rows with the same hash share a
// lock, which only makes them wait for each other. A commit takes its locks in ascending order, so
// that commits cannot deadlock. A reader takes no lock: AwaitUnlocked waits until the row is
// unlocked, and only while a commit of several rows is under way, because the page latch makes a
// commit of one row atomic. Thread-safe.
#ifndef TESTBED_ENGINES_BTREE_STORE_ROW_LOCKS_H_
#define TESTBED_ENGINES_BTREE_STORE_ROW_LOCKS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "device/os/mutex.h"
#include "engines/write_set.h"

namespace testbed::btree {

class RowLocks {
 public:
  using Row = uint64_t;
  static Row RowOf(uint32_t table, std::string_view key) { return RowHash(table, key); }
  static Row RowOf(const RowWrite& write) {
    return write.hash != 0 ? write.hash : RowOf(write.table, write.key);
  }

  // A Holder locks a set of rows until it is destroyed. It sorts *rows, removes duplicates, and
  // clears the vector at its end; the vector stays owned by the caller, so that its memory is
  // reused. Throws std::bad_alloc, and then has locked nothing.
  class Holder {
   public:
    Holder(RowLocks* locks, std::vector<Row>* rows) : locks_(locks), rows_(rows) {
      SortRows(rows);
      rows->erase(std::unique(rows->begin(), rows->end()), rows->end());
      many_ = rows->size() > 1;
      size_t shards = 0;
      try {
        EachShard([&](Shard* shard, std::span<const Row> its) {
          shard->Lock(its);
          ++shards;
        });
      } catch (...) {
        EachShard([&](Shard* shard, std::span<const Row> its) {
          if (shards == 0) return;
          shard->Unlock(its);
          --shards;
        });
        rows->clear();
        throw;
      }
      // A reader that has seen a row of this commit also sees this count, because the commit writes
      // the row after counting itself, under the page's latch.
      if (many_) locks_->commits_of_many_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Holder() {
      EachShard([](Shard* shard, std::span<const Row> its) { shard->Unlock(its); });
      if (many_) locks_->commits_of_many_.fetch_sub(1, std::memory_order_release);
      rows_->clear();
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

   private:
    template <typename Action>
    void EachShard(Action action) {
      for (auto begin = rows_->begin(); begin != rows_->end();) {
        auto end = begin + 1;
        while (end != rows_->end() && ShardOf(*end) == ShardOf(*begin)) ++end;
        action(&locks_->shards_[ShardOf(*begin)], std::span<const Row>(begin, end));
        begin = end;
      }
    }

    RowLocks* const locks_;
    std::vector<Row>* const rows_;
    bool many_;
  };

  // Returns whether AwaitUnlocked would return without waiting.
  bool Unlocked(uint32_t table, std::string_view key) {
    if (commits_of_many_.load(std::memory_order_acquire) == 0) return true;
    const Row row = RowOf(table, key);
    Shard& shard = shards_[ShardOf(row)];
    LockGuard lock(shard.mutex);
    return !shard.locked.Contains(row);
  }

  // Waits until no commit has this row locked. Does not wait when no commit of several rows is
  // under way. The caller must hold no latch.
  void AwaitUnlocked(uint32_t table, std::string_view key) {
    if (commits_of_many_.load(std::memory_order_acquire) == 0) return;
    const Row row = RowOf(table, key);
    Shard& shard = shards_[ShardOf(row)];
    UniqueLock lock(shard.mutex);
    shard.WaitFor(row);
  }

 private:
  static constexpr int kShardBits = 6;
  static constexpr size_t kShards = size_t{1} << kShardBits;
  // The top bits select the shard, so that locking rows in ascending order locks shards in
  // ascending order.
  static size_t ShardOf(Row row) { return row >> (64 - kShardBits); }

  // Sorts hashes, which are evenly distributed: many of them are first distributed to their shards.
  static void SortRows(std::vector<Row>* rows) {
    if (rows->size() < kShards / 4) {
      std::sort(rows->begin(), rows->end());
      return;
    }
    std::array<uint32_t, kShards + 1> place = {};
    for (const Row row : *rows) ++place[ShardOf(row) + 1];
    std::partial_sum(place.begin(), place.end(), place.begin());
    std::vector<Row> sorted(rows->size());
    for (const Row row : *rows) sorted[place[ShardOf(row)]++] = row;
    rows->swap(sorted);
    auto begin = rows->begin();
    for (size_t shard = 0; shard < kShards; ++shard) {
      const auto end = rows->begin() + place[shard];
      std::sort(begin, end);
      begin = end;
    }
  }

  // A RowSet is a set of rows in an open-addressed hash table, which allocates nothing once it has
  // grown.
  class RowSet {
   public:
    bool Contains(Row row) const { return rows_[PlaceOf(row)] == row; }
    // Adds the row. Returns false when the set has it already.
    bool Insert(Row row) {
      if (2 * (count_ + 1) > rows_.size()) Grow();
      const size_t at = PlaceOf(row);
      if (rows_[at] == row) return false;
      rows_[at] = row;
      ++count_;
      return true;
    }
    // Erases rows, all of which must be in the set.
    void Erase(std::span<const Row> rows) {
      // If these are all rows of the set, the whole table is cleared at once, unless it is mostly
      // empty.
      if (rows.size() == count_ && 8 * count_ >= rows_.size()) {
        std::fill(rows_.begin(), rows_.end(), 0);
        count_ = 0;
        return;
      }
      for (const Row row : rows) Erase(row);
    }

   private:
    size_t mask() const { return rows_.size() - 1; }
    size_t Home(Row row) const { return row & mask(); }
    // Returns the place of the row, or the empty place where the row would go.
    size_t PlaceOf(Row row) const {
      size_t at = Home(row);
      while (rows_[at] != 0 && rows_[at] != row) at = (at + 1) & mask();
      return at;
    }
    void Erase(Row row) {
      size_t hole = Home(row);
      while (rows_[hole] != row) hole = (hole + 1) & mask();
      --count_;
      // Rows behind the hole move into it, unless that would put them before their home place.
      for (size_t at = (hole + 1) & mask(); rows_[at] != 0; at = (at + 1) & mask()) {
        if (((at - Home(rows_[at])) & mask()) < ((at - hole) & mask())) continue;
        rows_[hole] = rows_[at];
        hole = at;
      }
      rows_[hole] = 0;
    }
    void Grow() {
      std::vector<Row> old(2 * rows_.size());
      old.swap(rows_);
      for (const Row row : old) {
        if (row != 0) rows_[PlaceOf(row)] = row;
      }
    }
    std::vector<Row> rows_ = std::vector<Row>(8);  // 0 marks an empty place
    size_t count_ = 0;
  };

  struct alignas(64) Shard {
    void Lock(std::span<const Row> rows) {
      UniqueLock lock(mutex);
      size_t held = 0;
      try {
        for (const Row row : rows) {
          while (!locked.Insert(row)) WaitFor(row);
          ++held;
        }
      } catch (...) {
        locked.Erase(rows.first(held));
        if (waiting > 0) unlocked.notify_all();
        throw;
      }
    }
    void Unlock(std::span<const Row> rows) {
      LockGuard lock(mutex);
      locked.Erase(rows);
      if (waiting > 0) unlocked.notify_all();
    }
    void WaitFor(Row row) REQUIRES(mutex) {
      while (locked.Contains(row)) {
        ++waiting;
        unlocked.wait(mutex);
        --waiting;
      }
    }
    Mutex mutex;  // protects waiting and locked
    CondVar unlocked;
    uint32_t waiting GUARDED_BY(mutex) = 0;  // number of threads in WaitFor
    RowSet locked GUARDED_BY(mutex);
  };

  std::atomic<uint32_t> commits_of_many_{0};  // commits of several rows that are under way
  std::array<Shard, kShards> shards_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_ROW_LOCKS_H_
