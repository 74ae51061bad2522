#include "engines/fractal/cache/cache.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "device/error.h"
#include "device/os/mutex.h"
#include "device/os/thread.h"

namespace testbed::fractal {

// A Claim lets one thread read a part. Other threads that want the part wait until that read has
// ended, and look for the part again.
class Cache::Claim {
 public:
  Claim(Shard* shard, BlockId block, size_t part) : shard_(shard), what_(block, part) {
    UniqueLock lock(shard->mutex);
    mine_ = shard->loading.insert(what_).second;
    if (!mine_) {
      while (shard->loading.contains(what_)) shard->loaded.wait(shard->mutex);
    }
  }
  ~Claim() {
    if (!mine_) return;
    {
      LockGuard lock(shard_->mutex);
      shard_->loading.erase(what_);
    }
    shard_->loaded.notify_all();
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  bool mine() const { return mine_; }  // false when another thread has just read the part

 private:
  Shard* const shard_;
  const std::pair<BlockId, size_t> what_;
  bool mine_;
};

// A WantedPart is what a fetch must know about the node to read a part. It is copied under the
// node's latch.
struct Cache::WantedPart {
  uint64_t version = 0, extent = 0;
  bool leaf = false;
  std::vector<PartPlace> places;  // places of adjacent parts, the wanted one first
};

NodeRef Cache::Find(BlockId block) {
  Shard& shard = ShardOf(block);
  LockGuard lock(shard.mutex);
  const auto at = shard.nodes.find(block);
  return at == shard.nodes.end() ? nullptr : at->second;
}

void Cache::ThrowDamaged(BlockId block, uint64_t offset, const std::string& why) const {
  throw Error(Error::kCorruption, "block " + std::to_string(block) + " at byte " +
                                      std::to_string(offset) + " of the data file " +
                                      file_->path() + " is damaged: " + why +
                                      "; restore the database from a copy, or load it again");
}

// Throws Error (kIo) for a dirty node that lacks one of its parts: a change of the node was cut
// short, and the file has an older version of that part.
void Cache::ThrowHalfDone(BlockId block) const {
  throw Error(Error::kIo, "a change of block " + std::to_string(block) + " of the data file " +
                              file_->path() + " was cut short; open the database again");
}

// Reads the range by one call to the file. The range is widened to the alignment of direct IO.
std::string_view Cache::ReadRange(uint64_t offset, size_t n, ReadCounters* counters) {
  AlignedBuffer& buffer = *OfThread([] { return std::make_unique<AlignedBuffer>(); });
  const uint64_t unit = std::max<uint64_t>(1, file_->alignment());
  const uint64_t begin = offset / unit * unit;
  const size_t bytes = (offset + n - begin + unit - 1) / unit * unit;
  if (buffer.size() < bytes) buffer = AlignedBuffer(bytes);
  counters->reads.Add(1);
  counters->bytes.Add(bytes);
  file_->Read(begin, buffer.data(), bytes);
  return {buffer.data() + (offset - begin), n};
}

NodeRef Cache::Get(BlockId block, ReadCounters* counters) {
  Shard& shard = ShardOf(block);
  for (;;) {
    if (NodeRef node = Find(block)) return node;
    const Claim claim(&shard, block, kHeaderPart);
    if (!claim.mine()) continue;
    if (NodeRef node = Find(block)) return node;
    // No thread can write a node that is not in memory, so the node stays at the place that the
    // table gives.
    const std::optional<BlockPlace> place = table_->Find(block);
    if (!place) return nullptr;
    counters->requests.Add(1);
    counters->missed.Add(1);
    counters->header_reads.Add(1);
    const std::string_view header = ReadRange(place->offset, place->header_bytes, counters);
    auto node = std::make_shared<Node>(block);
    std::string why;
    if (!ParseHeader(header, place->bytes, node.get(), &why)) {
      ThrowDamaged(block, place->offset, why);
    }
    if (ChecksumOf(header) != place->header_checksum) {
      ThrowDamaged(block, place->offset, "it is another version of the block");
    }
    node->extent = place->offset;
    LockGuard lock(shard.mutex);
    shard.nodes.emplace(block, node);
    Account(node.get());
    return node;
  }
}

bool Cache::Want(const NodeRef& node, size_t part, bool merge, WantedPart* wanted) {
  constexpr uint64_t kMostTogether = 1 << 20;
  std::shared_lock latch(node->latch);
  const auto missing = [&](size_t i) { return i < node->parts.size() && !node->parts[i].there(); };
  if (node->gone || !missing(part)) return false;
  if (node->dirty) ThrowHalfDone(node->block);
  wanted->version = node->version;
  wanted->extent = node->extent;
  wanted->leaf = node->leaf();
  uint64_t bytes = 0;
  for (size_t i = part; missing(i) && (i == part || merge) && bytes < kMostTogether; ++i) {
    wanted->places.push_back(node->parts[i].place);
    bytes += node->parts[i].place.stored;
  }
  return true;
}

// Reads the part and, if `merge` is set, the missing parts behind it. Reads nothing that another
// thread has just read. Installs nothing when the node has changed during the read.
void Cache::FetchRun(const NodeRef& node, size_t first, bool merge, ReadCounters* counters) {
  const Claim claim(&ShardOf(node->block), node->block, first);
  WantedPart wanted;
  if (!claim.mine() || !Want(node, first, merge, &wanted)) return;
  const PartPlace& begin = wanted.places.front();
  const PartPlace& last = wanted.places.back();
  const auto unchanged = [&] { return !node->gone && node->version == wanted.version; };
  std::vector<Part> parts(wanted.places.size());
  std::string why;
  try {
    const std::string_view bytes =
        ReadRange(wanted.extent + begin.start, last.start + last.stored - begin.start, counters);
    for (size_t i = 0; i < parts.size() && why.empty(); ++i) {
      const PartPlace& place = wanted.places[i];
      const std::string_view stored = bytes.substr(place.start - begin.start, place.stored);
      ParsePart(stored, place, node->block, wanted.leaf, &parts[i], &why);
    }
  } catch (const Error&) {
    std::shared_lock latch(node->latch);
    if (unchanged()) throw;
    return;
  }
  std::lock_guard latch(node->latch);
  if (!unchanged()) return;  // the extent may have been given to another node before the read
  if (!why.empty()) ThrowDamaged(node->block, wanted.extent + begin.start, why);
  for (size_t i = 0; i < parts.size(); ++i) {
    Part& part = node->parts[first + i];
    if (part.there()) continue;
    part.rows = std::move(parts[i].rows);
    part.buffer = std::move(parts[i].buffer);
    part.heat = 1;
  }
  Account(node.get());
  counters->missed.Add(parts.size());
}

void Cache::Fetch(const NodeRef& node, size_t part, ReadCounters* counters) {
  FetchRun(node, part, false, counters);
}

void Cache::FetchAll(const NodeRef& node, ReadCounters* counters) {
  for (;;) {
    size_t first = 0, parts = 0;
    {
      std::shared_lock latch(node->latch);
      parts = node->parts.size();
      while (first < parts && node->parts[first].there()) ++first;
    }
    if (first == parts) {
      counters->requests.Add(parts);
      return;
    }
    FetchRun(node, first, options_.merge_reads, counters);
  }
}

NodeRef Cache::Create(uint32_t height) {
  const BlockId block = next_block_.fetch_add(1);
  auto node = std::make_shared<Node>(block);
  node->height = height;
  node->dirty = true;
  node->heat = 1;
  Shard& shard = ShardOf(block);
  LockGuard lock(shard.mutex);
  shard.nodes.emplace(block, node);
  return node;
}

void Cache::Account(Node* node) {
  size_t memory = node->Memory();
  if (options_.row_overhead > 0) memory += options_.row_overhead * node->RowsInMemory();
  AfterChange(node, node->accounted, memory);
}

void Cache::AfterChange(Node* node) { Account(node); }

void Cache::AfterChange(Node* node, size_t before, size_t after) {
  node->accounted = node->accounted - before + after;
  used_.fetch_add(after - before, std::memory_order_relaxed);
}

void Cache::BeforeChange(Node* node) {
  if (node->pending) {
    {
      LockGuard lock(saved_mutex_);
      saved_.push_back(TakeSnapshot(*node));
    }
    node->pending = false;  // cleared after the snapshot is saved
    writes_.snapshots.fetch_add(1, std::memory_order_relaxed);
  }
  node->dirty = true;
  ++node->changes;
}

void Cache::Remove(Node* node) {
  BeforeChange(node);
  node->gone = true;
  node->dirty = false;
  Uncount(std::exchange(node->accounted, 0));
  table_->Remove(node->block);
  Shard& shard = ShardOf(node->block);
  LockGuard lock(shard.mutex);
  shard.nodes.erase(node->block);
}

void Cache::Evict(Unwritable unwritable) {
  if (!over_limit()) return;
  if (!evicting_.try_lock()) {
    if (used() <= limit() + limit() / 16) return;  // another thread is evicting
    evicting_.lock();
  }
  const LockGuard lock(evicting_, std::adopt_lock);
  IoScope scope(kEviction);
  constexpr int kMostRounds = 40;  // greater than any heat
  bool may_write = true;
  for (int rounds = 0; over_limit() && rounds < kMostRounds;) {
    if (round_.empty()) {
      ++rounds;
      for (Shard& shard : shards_) {
        LockGuard shard_lock(shard.mutex);
        for (const auto& [block, node] : shard.nodes) round_.push_back(block);
      }
      std::sort(round_.begin(), round_.end(), std::greater<>());  // the oldest is last
    }
    if (round_.empty()) return;
    const BlockId block = round_.back();
    round_.pop_back();
    const NodeRef node = Find(block);
    if (node == nullptr) continue;
    try {
      EvictFrom(node, may_write);
    } catch (const Error& e) {
      const bool keep = unwritable == Unwritable::kKeep ||
                        (keep_on_full_disk_.load(std::memory_order_relaxed) && e.disk_is_full());
      if (!keep) throw;
      may_write = false;  // another write would fail, too
    }
  }
}

void Cache::EvictFrom(const NodeRef& node, bool may_write) {
  constexpr long kUnpinned = 2;  // references of the shard and of this function
  if (node.use_count() > kUnpinned) return;
  const uint8_t heat = node->heat.load(std::memory_order_relaxed);
  if (heat > 0) node->heat.store(heat - 1, std::memory_order_relaxed);
  bool dirty, hot;
  {
    std::unique_lock latch(node->latch, std::try_to_lock);
    if (!latch.owns_lock()) return;
    dirty = node->dirty;
    hot = dirty && CoolDirty(node.get());
  }
  if (hot || (dirty && !may_write)) return;
  if (dirty) Write(node);
  DropParts(node);
}

// Cools the parts of a dirty node. Returns whether the node is still in use; if it is not, the
// caller writes it. The heat of a leaf's header does not count: it keeps the header in memory for
// long, and says nothing about the leaf's rows.
bool Cache::CoolDirty(Node* node) {
  bool hot = !node->leaf() && node->heat.load(std::memory_order_relaxed) > 0;
  for (Part& part : node->parts) {
    if (part.heat == 0) continue;
    --part.heat;
    hot = true;
  }
  return hot;
}

void Cache::DropParts(const NodeRef& node) {
  constexpr long kUnpinned = 2;
  bool empty = true;
  {
    std::unique_lock latch(node->latch, std::try_to_lock);
    if (!latch.owns_lock() || node.use_count() > kUnpinned || node->dirty || node->gone) return;
    for (Part& part : node->parts) {
      if (!part.there()) continue;
      if (part.heat > 0) {
        --part.heat;
        empty = false;
        continue;
      }
      part.rows.reset();
      part.buffer.reset();
      writes_.evicted_parts.fetch_add(1, std::memory_order_relaxed);
    }
    Account(node.get());
  }
  if (empty && node->heat.load(std::memory_order_relaxed) == 0) Forget(node);
}

// Removes a node without parts from memory, unless another thread has begun to use it. use_count()
// orders no memory, so the latch is taken to see the changes of threads that have dropped their
// references. Latches come before the mutexes of shards, so this does not wait for the latch.
void Cache::Forget(const NodeRef& node) {
  Shard& shard = ShardOf(node->block);
  LockGuard lock(shard.mutex);
  const std::unique_lock latch(node->latch, std::try_to_lock);
  if (!latch.owns_lock() || node.use_count() > 2 || node->dirty || node->gone) return;
  Uncount(std::exchange(node->accounted, 0));
  shard.nodes.erase(node->block);
  writes_.evicted_nodes.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace testbed::fractal
