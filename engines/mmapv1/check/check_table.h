// A TableCheck verifies one table (check.h): its extents and records, then its tree.
#ifndef TESTBED_ENGINES_MMAPV1_CHECK_CHECK_TABLE_H_
#define TESTBED_ENGINES_MMAPV1_CHECK_CHECK_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engines/inspect.h"
#include "engines/mmapv1/files/files.h"
#include "engines/mmapv1/files/format.h"
#include "engines/mmapv1/tree/bucket.h"

namespace testbed::mmapv1 {

struct FoundExtent {
  uint32_t bytes;
  std::string table;
  bool is_index;
};

// These are the extents of all tables that were found so far.
using FoundExtents = std::map<DiskLoc, FoundExtent>;

class TableCheck {
 public:
  TableCheck(const Files& files, uint32_t slot, const InspectOptions& options, Faults* faults,
             FoundExtents* extents, const std::function<void()>& tick);

  // Checks the whole table, and returns its statistics.
  TreeStats Run();

 private:
  struct Live {
    uint32_t bytes;
    bool reached = false;
  };
  using LiveRecords = std::unordered_map<uint64_t, Live>;  // the key is IdOf the record's place
  struct SpaceCheck {
    const Space* space;
    bool is_index;
    LiveRecords live;
    // The map has the offset and length of the pieces of each extent.
    std::map<DiskLoc, std::vector<std::pair<uint32_t, uint32_t>>> pieces;
    uint64_t deleted_bytes = 0, header_bytes = 0;
  };
  struct Seen {
    uint32_t depth;
    uint64_t entries, used;
  };

  static uint64_t IdOf(DiskLoc loc) {
    return static_cast<uint64_t>(static_cast<uint32_t>(loc.file)) << 32 |
           static_cast<uint32_t>(loc.ofs);
  }
  // Returns whether the file has `n` bytes at `loc`, and `loc` is a multiple at which structures
  // begin.
  bool Inside(DiskLoc loc, uint64_t n) const;
  void Fault(DiskLoc at, const std::string& what, const std::string& expected = "",
             const std::string& found = "");
  void ExpectCount(const std::string& what, uint64_t expected, uint64_t found);

  void CheckSpace(SpaceCheck* check);
  void WalkExtents(SpaceCheck* check);
  void WalkRecords(SpaceCheck* check, DiskLoc extent);
  void WalkDeleted(SpaceCheck* check);
  void CheckTiling(const SpaceCheck& check);
  uint64_t Count(const SpaceCheck& check, uint64_t* bytes) const;

  void WalkTree(DiskLoc loc, DiskLoc parent, uint32_t depth, std::optional<std::string> low,
                std::optional<std::string> high, TreePage* drawing);
  bool CheckBucket(const Bucket& bucket, uint32_t depth);
  void CheckKeys(const Bucket& bucket, uint32_t depth, const std::optional<std::string>& low,
                 const std::optional<std::string>& high);
  void CheckRow(const Bucket& bucket, int i, std::string_view key);
  void Descend(const Bucket& bucket, uint32_t depth, const std::optional<std::string>& low,
               const std::optional<std::string>& high, TreePage* drawing);
  void CountLevelsUp(TreePage* page) const;
  void Unreached(const SpaceCheck& check, const std::string& what);
  void FillStats();

  const Files& files_;
  const NsEntry& entry_;
  const uint32_t slot_;
  const InspectOptions& options_;
  Faults* const faults_;
  FoundExtents* const extents_;
  const std::function<void()>& tick_;
  TreeStats stats_;
  SpaceCheck heap_, index_;
  std::vector<Seen> buckets_;
  uint64_t keys_bytes_ = 0, free_bytes_ = 0, document_bytes_ = 0, documents_ = 0, unused_keys_ = 0;
  uint32_t depth_ = 0;
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_CHECK_CHECK_TABLE_H_
