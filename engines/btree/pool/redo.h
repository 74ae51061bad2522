// The records that the b-tree writes to its log, and how the first pass of recovery replays them.
//
// A record has up to two sections.
//
//   Structure: which pages became used or free, and what happened to the pages that one change of
//   the tree's shape touches (a split: the left page loses its upper half, the right page's image,
//   the separator in the parent). It is appended while all these pages are latched, and each page
//   gets the record's end as its LSN, so replay knows for each page whether it has the change.
//
//   Operations: the rows that a transaction wrote, each with its whole value. They name no pages;
//   the second pass of recovery runs them again. A transaction longer than kMaxPart bytes is cut
//   into parts: all carry the transaction's number, all but the last the flag kMoreParts. It counts
//   only when its last part is in the log.
//
//   record     u8 flags, [u64 transaction], u32 structure size, structure, operations
//   structure  u32 n, n x run (became used); u32 n, n x run (became free);
//              u32 n, n x {u8 action, u32 page, u32 size, payload}          run: u32 first, u32
//              pages
//   operation  u8 kind (0 put, 1 erase), u32 table, u32 key size, u64 value size, key, value
//
// docs/btree.md argues why replaying both sections in two passes restores every committed row.
#ifndef TESTBED_ENGINES_BTREE_POOL_REDO_H_
#define TESTBED_ENGINES_BTREE_POOL_REDO_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/file/file.h"
#include "engines/btree/page/page.h"
#include "engines/btree/page/space.h"
#include "engines/btree/pool/pool.h"
#include "engines/write_set.h"

namespace testbed::btree {

enum class PageAction : uint8_t {
  kImage,     // the whole page: header and slots, then the heap
  kTruncate,  // a node loses everything at and above the key
  kInsert,    // an inner node gets {u32 child, key}
  kRemove,    // an inner node loses the entry with this key
  kFree,      // the page is a free page
  // The whole page as it was at the LSN in its header, before the record: logged so that a torn
  // page can be made whole (TornPage::kFullPageImage). All others are as at the record's end.
  kSavedImage,
};

inline constexpr uint8_t kHasStructure = 1;
inline constexpr uint8_t kHasOperations = 2;
inline constexpr uint8_t kMoreParts = 4;
inline constexpr size_t kMaxPart = 128 << 10;

// Builds a structure section. Reused, so that it allocates nothing once warm.
class StructureRecord {
 public:
  void Clear();
  void Use(PageId first, uint32_t pages) { used_.push_back({first, pages}); }
  void Free(PageId first, uint32_t pages) { freed_.push_back({first, pages}); }
  void Image(const char* page, uint32_t page_size);
  void SavedImage(const char* page, uint32_t page_size);
  void Truncate(PageId page, std::string_view separator);
  void Insert(PageId page, std::string_view key, PageId child);
  void Remove(PageId page, std::string_view key);
  void FreePage(PageId page);
  // The record, followed by `operations` when there are any. Valid until the next call.
  std::string_view Encode(std::string_view operations = {});

  const std::vector<PageRun>& used() const { return used_; }
  const std::vector<PageRun>& freed() const { return freed_; }

 private:
  void Action(PageAction action, PageId page, std::string_view a, std::string_view b = {});
  void AnyImage(PageAction action, const char* page, uint32_t page_size);
  std::vector<PageRun> used_, freed_;
  std::string actions_, encoded_;
  uint32_t action_count_ = 0;
};

// An operation of a record: how long it is, and writes it; returns where the next one goes.
size_t OperationBytes(const RowWrite& op);
char* PutOperation(const RowWrite& op, char* to);
void AppendOperation(const RowWrite& op, std::string* to);

// A record taken apart. Throws Error (kCorruption) when it is not well-formed.
struct DecodedRecord {
  uint8_t flags = 0;
  uint64_t transaction = 0;  // 0 when the record is the whole of it
  std::string_view structure;
  std::string_view operations;
};
DecodedRecord DecodeRecord(std::string_view bytes);
// The first `header` bytes of a record with operations only.
std::string OperationsHeader(uint64_t transaction, bool more);

// Takes operations apart, one by one; returns false at the end.
bool NextOperation(std::string_view* operations, RowWrite* op);

// What a change of shape did to one page.
struct PageChange {
  PageAction action = PageAction::kImage;
  PageId page = kNoPage;
  std::string_view payload;
  // Replaces the page, whatever it was.
  bool whole() const {
    return action == PageAction::kImage || action == PageAction::kFree ||
           action == PageAction::kSavedImage;
  }
  // Of the page after the change, whose record ends at `end`.
  Lsn LsnAfter(Lsn end) const;
};
// A structure section taken apart. Throws Error (kCorruption) when it is not well-formed.
struct DecodedStructure {
  std::vector<PageRun> used, freed;
  std::vector<PageChange> changes;
};
DecodedStructure DecodeStructure(std::string_view structure);
// Changes `page`, which is valid or, for a whole change, anything. The LSN is left to the caller.
// Throws Error (kCorruption), the page unchanged, when it cannot have been changed so, and leaves a
// well-formed page whatever it is given. `scratch` is made when it is empty.
void ApplyChange(const PageChange& change, char* page, uint32_t page_size, AlignedBuffer* scratch);

// First pass. Brings pages and space to where the record left them. Safe to run any number of
// times, on pages in any state between the checkpoint's and the crash's. Throws Error (kCorruption)
// for records and pages that do not go together, and leaves well-formed pages whatever it is given.
//
// The changes of a torn page wait until the log has it whole. A saved image was taken before it
// came to the log, so changes that came to the log in between are later than the image: they are
// made after it, in the order of the page's LSNs.
class StructureReplay {
 public:
  StructureReplay(Pool* pool, Space* space, PoolClient* client)
      : pool_(pool), space_(space), client_(client) {}
  void Apply(std::string_view structure, Lsn begin, Lsn end);
  // At the end of the log: throws for a page that was torn and that the log does not have whole.
  void CheckWhole() const;
  uint64_t pages_changed() const { return pages_changed_; }

 private:
  struct WaitingChange {
    PageAction action;
    std::string payload;
    Lsn begin, end;
  };
  void ApplyAction(const PageChange& change, Lsn begin, Lsn end);
  void Change(const PageChange& change, Lsn begin, Lsn lsn, ExclusiveGuard* guard);
  Pool* const pool_;
  Space* const space_;
  PoolClient* const client_;
  AlignedBuffer scratch_;  // where an image is looked at before it becomes a page
  std::map<PageId, std::vector<WaitingChange>> torn_;  // pages that wait for their image
  uint64_t pages_changed_ = 0;
};

// Makes `page` a free page.
void FormatFree(char* page, uint32_t page_size, PageId id);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_REDO_H_
