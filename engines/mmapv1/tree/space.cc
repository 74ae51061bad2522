#include "engines/mmapv1/tree/space.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace testbed::mmapv1 {
namespace {

constexpr uint32_t kMiB = 1 << 20;
constexpr int kMostLookedAt = 32;  // most deleted records of a list that Allocate looks at

}  // namespace

int ClassOf(uint32_t bytes) {
  if (bytes < SizeOfClass(0)) return 0;
  return std::min(static_cast<int>(std::bit_width(bytes / SizeOfClass(0))), kSizeClasses - 1);
}

uint32_t PowerOf2Bytes(uint32_t bytes) {
  if (bytes > 4 * kMiB) return (bytes + kMiB - 1) / kMiB * kMiB;
  return std::max(SizeOfClass(0), std::bit_ceil(bytes + 1));
}

uint32_t PaddedBytes(uint32_t bytes, double padding) {
  const auto padded = static_cast<uint32_t>(std::ceil(bytes * padding));
  const uint32_t step = std::max(SizeOfClass(0), std::bit_ceil(padded + 1)) / 16;
  return std::max(SizeOfClass(0), (padded + step - 1) / step * step);
}

uint32_t FirstExtentBytes(uint32_t record_bytes) {
  const uint64_t bytes = uint64_t{record_bytes} * (record_bytes < 1000 ? 64 : 16);
  return static_cast<uint32_t>(std::min<uint64_t>(bytes, kMostFileBytes));
}

uint32_t NextExtentBytes(uint32_t last_bytes) {
  const uint64_t bytes =
      last_bytes < 4 * kMiB ? uint64_t{last_bytes} * 4 : uint64_t{last_bytes} * 135 / 100;
  return static_cast<uint32_t>(std::min<uint64_t>(bytes, kMostFileBytes));
}

DiskLoc RecordSpace::Allocate(uint32_t bytes) {
  DiskLoc loc = TakeDeleted(bytes);
  if (loc.null()) {
    AddExtent(bytes);
    loc = TakeDeleted(bytes);
  }
  return loc;
}

DiskLoc RecordSpace::TakeDeleted(uint32_t bytes) {
  DiskLoc best, before_best;
  uint32_t best_bytes = 0;
  for (int i = ClassOf(bytes); i < kSizeClasses && best.null(); ++i) {
    DiskLoc before, at = space_->free[i];
    for (int n = 0; n < kMostLookedAt && !at.null() && best_bytes != bytes; ++n) {
      const auto* deleted = files_->As<DeletedRecord>(at);
      if (deleted->bytes >= bytes && (best.null() || deleted->bytes < best_bytes)) {
        best = at;
        before_best = before;
        best_bytes = deleted->bytes;
      }
      before = at;
      at = deleted->next;
    }
    if (best.null()) continue;
    const DiskLoc next = files_->As<DeletedRecord>(best)->next;
    if (before_best.null()) {
      Set(&space_->free[i], next);
    } else {
      files_->Assign(before_best.file, &files_->As<DeletedRecord>(before_best)->next, next);
    }
  }
  if (best.null()) return best;
  const int32_t extent = files_->As<DeletedRecord>(best)->extent;
  if (best_bytes - bytes >= SizeOfClass(0)) {
    AddDeleted(Plus(best, bytes), best_bytes - bytes, extent);
    best_bytes = bytes;
  }
  Link(best, best_bytes, extent);
  return best;
}

void RecordSpace::AddDeleted(DiskLoc loc, uint32_t bytes, int32_t extent) {
  DiskLoc& head = space_->free[ClassOf(bytes)];
  const DeletedRecord deleted{bytes, extent, head};
  std::memcpy(files_->Write(loc, sizeof deleted), &deleted, sizeof deleted);
  Set(&head, loc);
}

void RecordSpace::AddExtent(uint32_t record_bytes) {
  const uint32_t start = is_index_ ? kIndexStart : kHeapStart;
  const uint32_t least = (start + record_bytes + kMemoryPage - 1) / kMemoryPage * kMemoryPage;
  uint32_t wanted = space_->extents == 0 ? FirstExtentBytes(record_bytes)
                                         : NextExtentBytes(space_->last_extent_bytes);
  wanted = std::max(least, (wanted + kMemoryPage - 1) / kMemoryPage * kMemoryPage);
  // An extent of an index holds a whole number of buckets.
  if (is_index_) wanted = (wanted - start) / kBucketRecord * kBucketRecord + start;
  uint32_t bytes = 0;
  const DiskLoc loc = files_->NewExtent(wanted, least, &bytes);
  ExtentHeader header{};
  header.magic = kExtentMagic;
  header.bytes = bytes;
  header.self = loc;
  header.prev = space_->last_extent;
  header.first_record = header.last_record = kNone;
  header.slot = slot_;
  header.is_index = is_index_ ? 1 : 0;
  std::memcpy(files_->Write(loc, sizeof header), &header, sizeof header);
  if (space_->last_extent.null()) {
    Set(&space_->first_extent, loc);
  } else {
    const DiskLoc last = space_->last_extent;
    files_->Assign(last.file, &files_->As<ExtentHeader>(last)->next, loc);
  }
  Set(&space_->last_extent, loc);
  Set(&space_->last_extent_bytes, bytes);
  Set(&space_->extents, space_->extents + 1);
  AddDeleted(Plus(loc, start), bytes - start, loc.ofs);
}

void RecordSpace::Link(DiskLoc loc, uint32_t bytes, int32_t extent) {
  auto* extent_header = files_->As<ExtentHeader>({loc.file, extent});
  const int32_t last = extent_header->last_record;
  const RecordHeader header{bytes, extent, kNone, last};
  std::memcpy(files_->Write(loc, sizeof header), &header, sizeof header);
  if (last == kNone) {
    files_->Assign(loc.file, &extent_header->first_record, loc.ofs);
  } else {
    files_->Assign(loc.file, &files_->As<RecordHeader>({loc.file, last})->next, loc.ofs);
  }
  files_->Assign(loc.file, &extent_header->last_record, loc.ofs);
  Set(&space_->records, space_->records + 1);
  Set(&space_->record_bytes, space_->record_bytes + bytes);
}

void RecordSpace::Unlink(DiskLoc loc) {
  const RecordHeader header = *files_->As<RecordHeader>(loc);
  auto* extent = files_->As<ExtentHeader>({loc.file, header.extent});
  if (header.prev == kNone) {
    files_->Assign(loc.file, &extent->first_record, header.next);
  } else {
    auto* prev = files_->As<RecordHeader>({loc.file, header.prev});
    files_->Assign(loc.file, &prev->next, header.next);
  }
  if (header.next == kNone) {
    files_->Assign(loc.file, &extent->last_record, header.prev);
  } else {
    auto* next = files_->As<RecordHeader>({loc.file, header.next});
    files_->Assign(loc.file, &next->prev, header.prev);
  }
  Set(&space_->records, space_->records - 1);
  Set(&space_->record_bytes, space_->record_bytes - header.bytes);
}

void RecordSpace::Free(DiskLoc loc) {
  const RecordHeader header = *files_->As<RecordHeader>(loc);
  Unlink(loc);
  AddDeleted(loc, header.bytes, header.extent);
}

}  // namespace testbed::mmapv1
