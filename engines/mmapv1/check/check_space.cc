// This file checks the extents and records of a table's heap and index.
#include <algorithm>

#include "engines/mmapv1/check/check_table.h"
#include "engines/mmapv1/tree/space.h"
#include "engines/mmapv1/tree/table.h"

namespace testbed::mmapv1 {
namespace {

std::string Text(DiskLoc loc) {
  return loc.null() ? "none" : std::to_string(loc.file) + ":" + std::to_string(loc.ofs);
}

}  // namespace

bool TableCheck::Inside(DiskLoc loc, uint64_t n) const {
  if (loc.file < 0 || loc.file >= files_.count() || loc.ofs < 0) return false;
  if (static_cast<uint32_t>(loc.ofs) % kAlignment != 0) return false;
  return static_cast<uint32_t>(loc.ofs) + n <= files_.file(loc.file).bytes();
}

void TableCheck::Fault(DiskLoc at, const std::string& what, const std::string& expected,
                       const std::string& found) {
  testbed::Fault fault;
  const bool in_data = at.file >= 0 && at.file < files_.count();
  fault.file = in_data ? DataPath(files_.dir(), at.file) : NsPath(files_.dir());
  fault.byte = static_cast<uint32_t>(in_data || at.file == kNsFile ? at.ofs : EntryLoc(slot_).ofs);
  fault.table = stats_.table;
  fault.what = what;
  fault.expected = expected;
  fault.found = found;
  faults_->Add(std::move(fault));
}

void TableCheck::ExpectCount(const std::string& what, uint64_t expected, uint64_t found) {
  if (expected == found) return;
  Fault(EntryLoc(slot_), "its count of " + what + " is wrong", std::to_string(expected),
        std::to_string(found));
}

void TableCheck::CheckSpace(SpaceCheck* check) {
  WalkExtents(check);
  WalkDeleted(check);
  CheckTiling(*check);
  uint64_t bytes = 0;
  const uint64_t records = Count(*check, &bytes);
  const std::string of = check->is_index ? "buckets" : "records";
  ExpectCount(of, records, check->space->records);
  ExpectCount("bytes of " + of, bytes, check->space->record_bytes);
}

uint64_t TableCheck::Count(const SpaceCheck& check, uint64_t* bytes) const {
  for (const auto& [id, record] : check.live) *bytes += record.bytes;
  return check.live.size();
}

void TableCheck::WalkExtents(SpaceCheck* check) {
  DiskLoc prev, at = check->space->first_extent;
  uint32_t count = 0;
  for (; !at.null(); ++count) {
    if (!Inside(at, sizeof(ExtentHeader))) {
      Fault(prev, "its next extent is not in any file", "", Text(at));
      return;
    }
    const auto* header = files_.As<ExtentHeader>(at);
    if (header->magic != kExtentMagic || header->self != at || !Inside(at, header->bytes) ||
        header->bytes < kMemoryPage || header->bytes % kMemoryPage != 0) {
      Fault(at, "there is no extent");
      return;
    }
    if (header->prev != prev) {
      Fault(at, "the extent's predecessor is wrong", Text(prev), Text(header->prev));
    }
    if (header->slot != slot_ || (header->is_index != 0) != check->is_index) {
      Fault(at, "the extent belongs to something else");
    }
    if (!extents_->try_emplace(at, FoundExtent{header->bytes, stats_.table, check->is_index})
             .second) {
      Fault(at, "the extent is in two places");
      return;
    }
    check->header_bytes += check->is_index ? kIndexStart : kHeapStart;
    check->pieces[at];
    WalkRecords(check, at);
    prev = at;
    at = header->next;
  }
  if (check->space->last_extent != prev) {
    Fault(EntryLoc(slot_), "its last extent is wrong", Text(prev), Text(check->space->last_extent));
  }
  ExpectCount("extents", count, check->space->extents);
}

void TableCheck::WalkRecords(SpaceCheck* check, DiskLoc extent) {
  const auto* header = files_.As<ExtentHeader>(extent);
  const int64_t begin = extent.ofs + (check->is_index ? kIndexStart : kHeapStart);
  const int64_t end = int64_t{extent.ofs} + header->bytes;
  int32_t prev = kNone, at = header->first_record;
  while (at != kNone) {
    const DiskLoc loc{extent.file, at};
    const int64_t head_end = at + static_cast<int64_t>(sizeof(RecordHeader));
    if (at < begin || head_end > end || static_cast<uint32_t>(at) % kAlignment != 0) {
      Fault(extent, "a record of the extent is not in it", "", std::to_string(at));
      return;
    }
    const auto* record = files_.As<RecordHeader>(loc);
    if (record->bytes < SizeOfClass(0) || at + int64_t{record->bytes} > end ||
        record->extent != extent.ofs) {
      Fault(loc, "there is no record of the extent");
      return;
    }
    if (record->prev != prev) {
      Fault(loc, "the record's predecessor is wrong", std::to_string(prev),
            std::to_string(record->prev));
    }
    if (!check->live.try_emplace(IdOf(loc), Live{record->bytes}).second) {
      Fault(loc, "the extent's records make a ring");
      return;
    }
    check->pieces[extent].emplace_back(at, record->bytes);
    tick_();
    prev = at;
    at = record->next;
  }
  if (header->last_record != prev) {
    Fault(extent, "the extent's last record is wrong", std::to_string(prev),
          std::to_string(header->last_record));
  }
}

void TableCheck::WalkDeleted(SpaceCheck* check) {
  LiveRecords seen;
  for (int i = 0; i < kSizeClasses; ++i) {
    for (DiskLoc at = check->space->free[i]; !at.null();) {
      if (!Inside(at, sizeof(DeletedRecord))) {
        Fault(EntryLoc(slot_), "a deleted record is not in any file", "", Text(at));
        break;
      }
      const auto* deleted = files_.As<DeletedRecord>(at);
      const auto extent = check->pieces.find({at.file, deleted->extent});
      if (extent == check->pieces.end() || ClassOf(deleted->bytes) != i ||
          deleted->bytes < SizeOfClass(0)) {
        Fault(at, "the deleted record is none of its list");
        break;
      }
      if (!seen.try_emplace(IdOf(at)).second) {
        Fault(at, "the deleted record is in a list twice");
        break;
      }
      extent->second.emplace_back(at.ofs, deleted->bytes);
      check->deleted_bytes += deleted->bytes;
      at = deleted->next;
    }
  }
}

void TableCheck::CheckTiling(const SpaceCheck& check) {
  for (const auto& [extent, unsorted] : check.pieces) {
    auto pieces = unsorted;
    std::sort(pieces.begin(), pieces.end());
    uint64_t at = static_cast<uint32_t>(extent.ofs) + (check.is_index ? kIndexStart : kHeapStart);
    const uint64_t end =
        static_cast<uint32_t>(extent.ofs) + uint64_t{files_.As<ExtentHeader>(extent)->bytes};
    // The last piece of an extent may be shorter than a bucket, or than a record.
    for (const auto& [ofs, bytes] : pieces) {
      if (ofs != at) {
        Fault({extent.file, static_cast<int32_t>(std::min<uint64_t>(at, ofs))},
              ofs < at ? "two records overlap" : "bytes of the extent are in no record",
              std::to_string(at), std::to_string(ofs));
      }
      at = ofs + uint64_t{bytes};
    }
    if (at != end) {
      Fault(extent, "the extent's records do not fill it", std::to_string(end), std::to_string(at));
    }
  }
}

}  // namespace testbed::mmapv1
