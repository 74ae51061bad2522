#include "engines/mmapv1/check/check_table.h"

#include <algorithm>

#include "device/error.h"
#include "engines/mmapv1/tree/table.h"

namespace testbed::mmapv1 {
namespace {

constexpr uint32_t kDeepest = 64;  // more levels than any tree has

// Returns the number that drawings show for a page. The number consists of the file's number and
// the number of the memory page in the file.
uint64_t PageNumber(DiskLoc loc) {
  return static_cast<uint64_t>(loc.file) << 20 | static_cast<uint32_t>(loc.ofs) / kMemoryPage;
}

}  // namespace

TableCheck::TableCheck(const Files& files, uint32_t slot, const InspectOptions& options,
                       Faults* faults, FoundExtents* extents, const std::function<void()>& tick)
    : files_(files),
      entry_(*files.As<NsEntry>(EntryLoc(slot))),
      slot_(slot),
      options_(options),
      faults_(faults),
      extents_(extents),
      tick_(tick),
      heap_{&entry_.heap, false, {}, {}},
      index_{&entry_.index, true, {}, {}} {
  stats_.table.assign(entry_.name, std::min<size_t>(entry_.name_size, kMaxTableName));
}

TreeStats TableCheck::Run() {
  CheckSpace(&heap_);
  CheckSpace(&index_);
  TreePage drawing;
  WalkTree(entry_.root, {}, 0, std::nullopt, std::nullopt,
           options_.shape_levels > 0 ? &drawing : nullptr);
  ExpectCount("rows", stats_.rows, entry_.rows);
  Unreached(heap_, "no row has the record");
  Unreached(index_, "the bucket is not in the tree");
  FillStats();
  if (options_.shape_levels > 0) {
    CountLevelsUp(&drawing);
    stats_.shape = std::move(drawing);
  }
  return std::move(stats_);
}

void TableCheck::CountLevelsUp(TreePage* page) const {
  page->level = depth_ - page->level;
  for (TreePage& child : page->children) CountLevelsUp(&child);
}

void TableCheck::Unreached(const SpaceCheck& check, const std::string& what) {
  for (const auto& [id, record] : check.live) {
    if (record.reached) continue;
    Fault({static_cast<int32_t>(id >> 32), static_cast<int32_t>(id & 0xffffffff)}, what);
  }
}

void TableCheck::WalkTree(DiskLoc loc, DiskLoc parent, uint32_t depth,
                          std::optional<std::string> low, std::optional<std::string> high,
                          TreePage* drawing) {
  const auto record = index_.live.find(IdOf(loc));
  if (record == index_.live.end() || record->second.bytes != kBucketRecord || depth > kDeepest) {
    Fault(parent, "a child is no bucket of the table");
    if (drawing != nullptr) drawing->fault = "no bucket of the table";
    return;
  }
  if (record->second.reached) {
    Fault(loc, "the bucket is in the tree twice");
    return;
  }
  record->second.reached = true;
  depth_ = std::max(depth_, depth);
  const Bucket bucket(&files_, loc);
  if (bucket.parent() != parent) Fault(loc, "the bucket names another parent");
  if (!CheckBucket(bucket, depth)) return;
  CheckKeys(bucket, depth, low, high);
  if (drawing != nullptr) {
    drawing->page = PageNumber(loc);
    drawing->level = depth;  // CountLevelsUp sets the final level
    drawing->entries = static_cast<uint64_t>(bucket.n());
    drawing->fill = 1 - static_cast<double>(bucket.FreeBytes()) / kBodyBytes;
    drawing->low = low ? KeyText(*low) : "";
    drawing->high = high ? KeyText(*high) : "";
  }
  Descend(bucket, depth, low, high, drawing);
}

// Checks the bucket's own numbers. Only if they are right may the bucket's keys be read.
bool TableCheck::CheckBucket(const Bucket& bucket, uint32_t depth) {
  const BucketHeader& h = *bucket.header();
  const uint32_t nodes = h.n * static_cast<uint32_t>(sizeof(KeyNode));
  if (!bucket.sound()) {
    Fault(bucket.loc(), "the parts of the bucket do not add up", std::to_string(kBodyBytes),
          std::to_string(nodes + h.empty + h.top));
    return false;
  }
  if (h.n == 0 && depth > 0) Fault(bucket.loc(), "the bucket is empty");
  uint32_t used = 0;
  for (int i = 0; i < bucket.n(); ++i) {
    const KeyNode& node = *bucket.node(i);
    const uint32_t ofs = node.key_ofs[0] | static_cast<uint32_t>(node.key_ofs[1]) << 8;
    const std::string_view key = bucket.Key(i);
    if (ofs < kBodyBytes - h.top || ofs + KeyRoom(key) > kBodyBytes || key.empty() ||
        key.size() > kMaxKeySize) {
      Fault(bucket.loc(), "key " + std::to_string(i) + " of the bucket is not among its keys");
      return false;
    }
    used += KeyRoom(key);
  }
  if (used > h.top || ((h.flags & kPacked) != 0 && used != h.top)) {
    Fault(bucket.loc(), "the keys of the bucket take another room than it says",
          std::to_string(h.top), std::to_string(used));
    return false;
  }
  buckets_.push_back({depth, h.n, nodes + used});
  keys_bytes_ += nodes + used;
  free_bytes_ += kBodyBytes - nodes - used;
  return true;
}

void TableCheck::CheckKeys(const Bucket& bucket, uint32_t depth,
                           const std::optional<std::string>& low,
                           const std::optional<std::string>& high) {
  std::string_view last;
  if (low) last = *low;
  for (int i = 0; i < bucket.n(); ++i) {
    const std::string_view key = bucket.Key(i);
    if ((i > 0 || low) && key <= last) {
      Fault(bucket.loc(), "key " + std::to_string(i) + " is out of order", "", KeyText(key));
    }
    last = key;
    if (bucket.Record(i) == kUnusedKey) {
      ++unused_keys_;
      if (bucket.Child(i).null() || bucket.Child(i + 1).null()) {
        Fault(bucket.loc(), "an unused key divides nothing", "", KeyText(key));
      }
      continue;
    }
    CheckRow(bucket, i, key);
  }
  if (bucket.n() > 0 && high && last >= *high) {
    Fault(bucket.loc(), "the last key is beyond that of its parent", KeyText(*high), KeyText(last));
  }
}

void TableCheck::CheckRow(const Bucket& bucket, int i, std::string_view key) {
  tick_();
  ++stats_.rows;
  stats_.key_bytes += key.size();
  const DiskLoc loc = bucket.Record(i);
  if (loc == kNoRecord) return;
  const auto record = heap_.live.find(IdOf(loc));
  if (record == heap_.live.end()) {
    Fault(bucket.loc(), "the row has no record", "", KeyText(key));
    return;
  }
  if (record->second.reached) Fault(loc, "two rows have the record", "", KeyText(key));
  record->second.reached = true;
  const uint32_t bytes = record->second.bytes - sizeof(RecordHeader);
  const std::string_view document(files_.At(Plus(loc, sizeof(RecordHeader)), bytes), bytes);
  std::string_view its_key, value;
  if (!ParseDocument(document, &its_key, &value)) {
    Fault(loc, "the record is no document of a row", KeyText(key));
    return;
  }
  if (its_key != key) {
    Fault(loc, "the document is of another row", KeyText(key), KeyText(its_key));
  }
  stats_.value_bytes += value.size();
  ++documents_;
  document_bytes_ += kDocumentFrame + its_key.size() + value.size();
}

void TableCheck::Descend(const Bucket& bucket, uint32_t depth,
                         const std::optional<std::string>& low,
                         const std::optional<std::string>& high, TreePage* drawing) {
  uint32_t drawn = 0;
  for (int i = 0; i <= bucket.n(); ++i) {
    const DiskLoc child = bucket.Child(i);
    if (child.null()) continue;
    const auto from = i == 0 ? low : std::string(bucket.Key(i - 1));
    const auto to = i == bucket.n() ? high : std::string(bucket.Key(i));
    TreePage* page = nullptr;
    if (drawing != nullptr && depth + 1 < options_.shape_levels) {
      // The last child is always drawn.
      if (drawn + 1 < options_.shape_children || i == bucket.n()) {
        page = &drawing->children.emplace_back();
        ++drawn;
      } else {
        ++drawing->hidden;
      }
    }
    WalkTree(child, bucket.loc(), depth + 1, from, to, page);
  }
}

void TableCheck::FillStats() {
  stats_.levels.resize(buckets_.empty() ? 0 : depth_ + 1);
  for (const Seen& bucket : buckets_) {
    LevelStats& level = stats_.levels[depth_ - bucket.depth];
    ++level.pages;
    level.bytes += kBucketRecord;
    level.entries += bucket.entries;
    level.used_bytes += bucket.used;
    level.capacity_bytes += kBodyBytes;
    ++level.fill[std::min<uint64_t>(9, bucket.used * 10 / kBodyBytes)];
  }
  uint64_t heap_bytes = 0, index_bytes = 0;
  const uint64_t records = Count(heap_, &heap_bytes), buckets = Count(index_, &index_bytes);
  const uint64_t headers = records * sizeof(RecordHeader);
  const uint64_t bucket_headers = buckets * (kBucketRecord - kBodyBytes);
  stats_.parts = {
      {"documents", document_bytes_},
      {"record headers", headers},
      {"room in records", heap_bytes - std::min(heap_bytes, headers + document_bytes_)},
      {"deleted records", heap_.deleted_bytes},
      {"extent headers", heap_.header_bytes + index_.header_bytes},
      {"keys and key nodes", keys_bytes_},
      {"bucket headers", bucket_headers},
      {"room in buckets", index_bytes - std::min(index_bytes, bucket_headers + keys_bytes_)},
      {"deleted buckets", index_.deleted_bytes}};
}

}  // namespace testbed::mmapv1
