// A RecordSpace has the records of one heap or one index: its extents, the list of records in each
// extent, and the lists of deleted records by size class.
//
//   RecordSpace heap(&files, &entry->heap, slot, /*is_index=*/false);
//   DiskLoc loc = heap.Allocate(512);   // linked as the last record of its extent
//   heap.Free(loc);                     // to the head of its class's list
//
// A new extent is one big deleted record. Allocate looks at the first records of a class's list,
// takes the shortest that is long enough, or else looks in the next larger class. It splits off the
// rest of that record if the rest is long enough for a record. Deleted records are never coalesced.
//
// Needs the database's write lock.
#ifndef TESTBED_ENGINES_MMAPV1_TREE_SPACE_H_
#define TESTBED_ENGINES_MMAPV1_TREE_SPACE_H_

#include <cstdint>

#include "engines/mmapv1/files/files.h"
#include "engines/mmapv1/files/format.h"

namespace testbed::mmapv1 {

// Returns the number of the list for deleted records of this length.
int ClassOf(uint32_t bytes);

// These functions return the room for a row's record, header included. PowerOf2Bytes returns the
// next larger power of two or, above 4 MiB, whole MiB. PaddedBytes returns `bytes` times the
// padding factor, rounded up to a sixteenth of the next larger power of two.
uint32_t PowerOf2Bytes(uint32_t bytes);
uint32_t PaddedBytes(uint32_t bytes, double padding);

// FirstExtentBytes returns the length of a table's first extent when its first record has this
// length. NextExtentBytes returns the length of the extent that follows one of `last_bytes`.
uint32_t FirstExtentBytes(uint32_t record_bytes);
uint32_t NextExtentBytes(uint32_t last_bytes);

class RecordSpace {
 public:
  RecordSpace(Files* files, Space* space, uint32_t slot, bool is_index)
      : files_(files), space_(space), slot_(slot), is_index_(is_index) {}

  // Allocates a record of at least `bytes` and writes its header. Throws Error (kIo) when the
  // device is full.
  DiskLoc Allocate(uint32_t bytes);
  void Free(DiskLoc loc);

 private:
  DiskLoc TakeDeleted(uint32_t bytes);
  void AddDeleted(DiskLoc loc, uint32_t bytes, int32_t extent);
  void AddExtent(uint32_t record_bytes);
  void Link(DiskLoc loc, uint32_t bytes, int32_t extent);
  void Unlink(DiskLoc loc);
  template <typename T>
  void Set(T* field, const T& value) {
    files_->Assign(kNsFile, field, value);
  }

  Files* const files_;
  Space* const space_;
  const uint32_t slot_;
  const bool is_index_;
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_TREE_SPACE_H_
