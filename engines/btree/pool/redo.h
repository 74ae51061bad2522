// This header has the records that the b-tree writes to its log, and the first pass of recovery,
// which replays them.
//
// A record has up to two sections.
//
//   Structure: which pages became used or free, and the changes of the pages that one change of the
//   tree's shape touches. For a split these are the truncation of the left page, the image of the
//   right page, and the new separator in the parent. The record is appended while all these pages
//   are latched. Each page gets the record's end as its LSN, so that replay knows for each page
//   whether it has the change.
//
//   Operations: the rows that a transaction wrote, each with its whole value. They name no pages.
//   The second pass of recovery replays them. A transaction longer than kMaxPart bytes is cut into
//   parts. Each part has the transaction's number. Each part but the last has the flag kMoreParts,
//   and each but the first kLaterPart. Recovery ignores a transaction whose last part is not in the
//   log, and one whose first part lies before the redo point.
//
//   record     u8 flags, u64 transaction (with kHasOperations only), u32 structure size, structure,
//              operations
//   structure  u32 n, n x run (became used); u32 n, n x run (became free); u32 n, n x change
//   run        u32 first page, u32 number of pages
//   change     u8 action, u32 page, u32 payload size, payload
//   operation  u8 kind (0 put, 1 erase), u32 table, u32 key size, u64 value size, key, value
//
// docs/engines/btree.md proves that replaying both sections in two passes restores every committed
// row.
#ifndef TESTBED_ENGINES_BTREE_POOL_REDO_H_
#define TESTBED_ENGINES_BTREE_POOL_REDO_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/file/file.h"
#include "engines/btree/page/page.h"
#include "engines/btree/page/space.h"
#include "engines/btree/pool/pool.h"
#include "engines/transaction_parts.h"
#include "engines/write_set.h"

namespace testbed::btree {

enum class PageAction : uint8_t {
  kImage,     // payload: the whole page, packed; replay replaces the page
  kTruncate,  // payload: key; a node loses all entries at and above it
  kInsert,    // payload: u32 child, key; an inner node gets this entry
  kRemove,    // payload: key; an inner node loses the entry with it
  kFree,      // no payload; the page becomes a free page
  // The payload is the whole page, packed, as it was before the record, at the LSN in its header.
  // It is logged so that a torn page can be made whole (TornPage::kFullPageImage). The other
  // actions describe the page as it is at the end of their record.
  kSavedImage,
};

// These are the flags of a record.
inline constexpr uint8_t kHasStructure = 1;
inline constexpr uint8_t kHasOperations = 2;
inline constexpr uint8_t kMoreParts = 4;
inline constexpr uint8_t kLaterPart = 8;
inline constexpr size_t kMaxPart = 128 << 10;  // bytes

// A StructureRecord builds a record with a structure section. An object that is used again
// allocates nothing once its buffers have grown. Not thread-safe.
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
  // Returns the record, with `operations` as its second section unless they are empty. Valid until
  // the next call.
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

// OperationBytes returns the length of an encoded operation in bytes. PutOperation writes the
// operation to `to` and returns the end of what it wrote. AppendOperation appends it to a string.
size_t OperationBytes(const RowWrite& op);
char* PutOperation(const RowWrite& op, char* to);
void AppendOperation(const RowWrite& op, std::string* to);

// A DecodedRecord has the sections of a record; its views point into the record's bytes.
struct DecodedRecord {
  uint8_t flags = 0;
  std::string_view structure;
  TransactionParts::Part part;  // set with kHasOperations only
};
// Throws Error (kCorruption) when the record is not well-formed.
DecodedRecord DecodeRecord(std::string_view bytes);
// Returns the bytes that stand before the operations in a record without a structure section. Does
// not look at the operations in `part`.
std::string OperationsHeader(const TransactionParts::Part& part);

// Takes the first operation off *operations; returns false when there is none. The key and value of
// *op point into the record's bytes. Throws Error (kCorruption) when it is not well-formed.
bool NextOperation(std::string_view* operations, RowWrite* op);

// A PageChange is the change that one change of shape makes to one page.
struct PageChange {
  PageAction action = PageAction::kImage;
  PageId page = kNoPage;
  std::string_view payload;
  // Returns whether the change replaces the page, so that its earlier content does not matter.
  bool whole() const {
    return action == PageAction::kImage || action == PageAction::kFree ||
           action == PageAction::kSavedImage;
  }
  // Returns the page's LSN after the change, whose record ends at `end`.
  Lsn LsnAfter(Lsn end) const;
};
// A DecodedStructure is the content of a structure section; the payloads point into the section's
// bytes.
struct DecodedStructure {
  std::vector<PageRun> used, freed;
  std::vector<PageChange> changes;
};
// Throws Error (kCorruption) when the section is not well-formed.
DecodedStructure DecodeStructure(std::string_view structure);
// Makes the change to `page`. The page must be valid, unless the change is whole(). The caller sets
// the page's LSN. Throws Error (kCorruption), with the page unchanged, when the change does not fit
// the page; the page is well-formed after it whatever the change has. `scratch` holds a page; it is
// allocated if it is empty.
void ApplyChange(const PageChange& change, char* page, uint32_t page_size, AlignedBuffer* scratch);

// StructureReplay is the first pass of recovery: it replays structure sections. It is idempotent,
// and works on pages in any state between the checkpoint and the crash. Not thread-safe.
//
// The changes of a broken page wait until the log has the page whole. A saved image is logged after
// it was taken, so changes may be in the log before the image although they are later than it.
// These are made after the image, in the order of the page's LSNs.
// The image that a change of shape logs may lack rows of a commit from before the redo point. If
// every node is saved before it is written, a page without a saved image was not written since
// then, and is not broken. If none is saved, such an image may make a broken page whole without
// these rows.
// A saved image may have been copied just before the redo point was chosen, and logged behind it.
// Then it lacks the changes in between, and a later change need not fit it. The page waits for its
// next image: its first write under the new image floor has logged one (Pool::SetImageFloor).
// Until the pass ends, a broken page may lack what a later record has of it, at the same LSN. So
// the pool keeps it back: in the file it stays broken, and a recovery after an interrupted one does
// all of this again.
class StructureReplay {
 public:
  StructureReplay(Pool* pool, Space* space, PoolClient* client)
      : pool_(pool), space_(space), client_(client) {}
  // Replays the section of the record [begin, end): changes its pages and the space map. Throws
  // Error (kCorruption) when the record does not fit the pages; all pages stay well-formed.
  void Apply(std::string_view structure, Lsn begin, Lsn end);
  // Ends the pass, and lets the pool write the pages that were broken. Throws Error (kCorruption)
  // when a page is broken and the log does not have it whole.
  void CheckWhole() const;
  uint64_t pages_changed() const { return pages_changed_; }

 private:
  struct WaitingChange {
    PageAction action;
    std::string payload;
    Lsn begin, end;
  };
  // A Torn is a page that the file did not have, or did not have whole.
  struct Torn {
    std::optional<Lsn> whole;  // the page's LSN after the last whole action; none: it waits for one
    bool saved = false;        // that change was a saved image
    std::vector<WaitingChange> later;  // the changes after that one or, without one, all changes
  };
  void ApplyAction(const PageChange& change, Lsn begin, Lsn end);
  void Change(const PageChange& change, Lsn begin, Lsn lsn, ExclusiveGuard* guard);
  void MakeWhole(const PageChange& change, Lsn begin, Lsn lsn, Torn* torn, ExclusiveGuard* guard);
  void ChangeTorn(const PageChange& change, Lsn begin, Lsn lsn, Torn* torn, ExclusiveGuard* guard);
  void ApplyToWhole(const PageChange& change, Lsn begin, Lsn lsn, Torn* torn,
                    ExclusiveGuard* guard);
  Pool* const pool_;
  Space* const space_;
  PoolClient* const client_;
  AlignedBuffer scratch_;  // working memory of ApplyChange
  std::map<PageId, Torn> torn_;
  uint64_t pages_changed_ = 0;
};

// Makes `page` a free page, which keeps its LSN.
void FormatFree(char* page, uint32_t page_size, PageId id);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_REDO_H_
