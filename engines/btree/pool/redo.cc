#include "engines/btree/pool/redo.h"

#include <algorithm>
#include <cstring>

#include "device/error.h"
#include "engines/btree/page/node.h"
#include "engines/btree/page/packed_page.h"

namespace testbed::btree {
namespace {

[[noreturn]] void Malformed(const std::string& what) {
  throw Error(Error::kCorruption, "the btree's log holds a record that it cannot have written (" +
                                      what +
                                      "): restore the database from a copy, or load it again");
}

// These are the bytes of an operation before its key and value.
struct [[gnu::packed]] OperationHeader {
  uint8_t erase;
  uint32_t table, key_size;
  uint64_t value_size;
};
static_assert(sizeof(OperationHeader) == 17);

template <typename T>
void Put(std::string* to, T value) {
  to->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A Reader takes values off the front of a record's bytes. It throws Error (kCorruption) when they
// are too short.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  T Take() {
    T value;
    std::memcpy(&value, TakeBytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view TakeBytes(uint64_t n) {
    if (n > bytes_.size()) Malformed("it is too short");
    std::string_view taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return taken;
  }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

void PutRuns(const std::vector<PageRun>& runs, std::string* to) {
  Put(to, static_cast<uint32_t>(runs.size()));
  for (const PageRun& run : runs) {
    Put(to, run.first);
    Put(to, run.pages);
  }
}

PageRun TakeRun(Reader* reader) {
  PageRun run;
  run.first = reader->Take<PageId>();
  run.pages = reader->Take<uint32_t>();
  if (run.first == kNoPage || uint64_t{run.first} + run.pages > kMaxPages) Malformed("page number");
  return run;
}

// Throws Error (kCorruption) unless the page is a well-formed inner node whose range has `key`.
void CheckInner(const Node& node, std::string_view key, const char* action) {
  if (!node.Validate().empty() || node.leaf() || key < node.LowFence() ||
      (!node.unbounded() && key >= node.HighFence())) {
    Malformed(action);
  }
}

}  // namespace

void FormatFree(char* page, uint32_t page_size, PageId id) {
  const Lsn lsn = Header(page)->lsn;
  std::memset(page, 0, page_size);
  Header(page)->id = id;
  Header(page)->lsn = lsn;
  Header(page)->type = PageType::kFree;
}

void StructureRecord::Clear() {
  used_.clear();
  freed_.clear();
  actions_.clear();
  action_count_ = 0;
}

void StructureRecord::Action(PageAction action, PageId page, std::string_view a,
                             std::string_view b) {
  Put(&actions_, action);
  Put(&actions_, page);
  Put(&actions_, static_cast<uint32_t>(a.size() + b.size()));
  actions_.append(a);
  actions_.append(b);
  ++action_count_;
}

void StructureRecord::Image(const char* page, uint32_t page_size) {
  AnyImage(PageAction::kImage, page, page_size);
}

void StructureRecord::SavedImage(const char* page, uint32_t page_size) {
  AnyImage(PageAction::kSavedImage, page, page_size);
}

void StructureRecord::AnyImage(PageAction action, const char* page, uint32_t page_size) {
  const PackedPage kept = PackedFormOf(page, page_size);
  Action(action, Header(page)->id, {page, kept.front}, {page + page_size - kept.back, kept.back});
}

void StructureRecord::Truncate(PageId page, std::string_view separator) {
  Action(PageAction::kTruncate, page, separator);
}

void StructureRecord::Insert(PageId page, std::string_view key, PageId child) {
  Action(PageAction::kInsert, page, {reinterpret_cast<const char*>(&child), sizeof child}, key);
}

void StructureRecord::Remove(PageId page, std::string_view key) {
  Action(PageAction::kRemove, page, key);
}

void StructureRecord::FreePage(PageId page) { Action(PageAction::kFree, page, {}); }

std::string_view StructureRecord::Encode(std::string_view operations) {
  encoded_.clear();
  const uint8_t flags = kHasStructure | (operations.empty() ? 0 : kHasOperations);
  Put(&encoded_, flags);
  if (!operations.empty()) Put(&encoded_, uint64_t{0});
  const size_t runs = 8 * (used_.size() + freed_.size());
  Put(&encoded_, static_cast<uint32_t>(12 + runs + actions_.size()));
  PutRuns(used_, &encoded_);
  PutRuns(freed_, &encoded_);
  Put(&encoded_, action_count_);
  encoded_.append(actions_);
  encoded_.append(operations);
  return encoded_;
}

size_t OperationBytes(const RowWrite& op) {
  return sizeof(OperationHeader) + op.key.size() + op.value.size();
}

char* PutOperation(const RowWrite& op, char* to) {
  const OperationHeader header{static_cast<uint8_t>(op.erase ? 1 : 0), op.table,
                               static_cast<uint32_t>(op.key.size()), op.value.size()};
  std::memcpy(to, &header, sizeof header);
  to += sizeof header;
  for (const std::string_view bytes : {op.key, op.value}) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  }
  return to;
}

void AppendOperation(const RowWrite& op, std::string* to) {
  const size_t had = to->size();
  to->resize(had + OperationBytes(op));
  PutOperation(op, to->data() + had);
}

std::string OperationsHeader(const TransactionParts::Part& part) {
  std::string header;
  Put(&header, static_cast<uint8_t>(kHasOperations | (part.more ? kMoreParts : 0) |
                                    (part.later ? kLaterPart : 0)));
  Put(&header, part.transaction);
  Put(&header, uint32_t{0});
  return header;
}

DecodedRecord DecodeRecord(std::string_view bytes) {
  Reader reader(bytes);
  DecodedRecord record;
  record.flags = reader.Take<uint8_t>();
  constexpr uint8_t kKnown = kHasStructure | kHasOperations | kMoreParts | kLaterPart;
  if (record.flags == 0 || record.flags > kKnown) Malformed("unknown kind");
  if ((record.flags & kHasOperations) != 0) record.part.transaction = reader.Take<uint64_t>();
  record.part.more = (record.flags & kMoreParts) != 0;
  record.part.later = (record.flags & kLaterPart) != 0;
  record.structure = reader.TakeBytes(reader.Take<uint32_t>());
  record.part.operations = reader.rest();
  return record;
}

bool NextOperation(std::string_view* operations, RowWrite* op) {
  if (operations->empty()) return false;
  if (static_cast<uint8_t>(operations->front()) > 1) Malformed("unknown operation");
  Reader reader(*operations);
  const auto header = reader.Take<OperationHeader>();
  op->erase = header.erase == 1;
  op->table = header.table;
  op->key = reader.TakeBytes(header.key_size);
  op->value = reader.TakeBytes(header.value_size);
  *operations = reader.rest();
  return true;
}

DecodedStructure DecodeStructure(std::string_view structure) {
  Reader reader(structure);
  DecodedStructure decoded;
  for (std::vector<PageRun>* runs : {&decoded.used, &decoded.freed}) {
    for (uint32_t n = reader.Take<uint32_t>(); n > 0; --n) runs->push_back(TakeRun(&reader));
  }
  for (uint32_t n = reader.Take<uint32_t>(); n > 0; --n) {
    const auto action = reader.Take<PageAction>();
    const auto page = reader.Take<PageId>();
    const auto size = reader.Take<uint32_t>();
    if (page == kNoPage || page >= kMaxPages) Malformed("page number");
    decoded.changes.push_back({action, page, reader.TakeBytes(size)});
  }
  return decoded;
}

Lsn PageChange::LsnAfter(Lsn end) const {
  if (action != PageAction::kSavedImage) return end;
  if (payload.size() < sizeof(PageHeader)) Malformed("image");
  PageHeader header;
  std::memcpy(&header, payload.data(), sizeof header);
  return std::min(header.lsn, end);
}

namespace {

// Replaces the page by the image. Throws Error (kCorruption) when the image is not a well-formed
// node.
void ApplyImage(const PageChange& change, char* page, uint32_t page_size, AlignedBuffer* scratch) {
  const std::string_view image = change.payload;
  if (image.size() < sizeof(NodeHeader) || image.size() > page_size) Malformed("image");
  NodeHeader header;
  std::memcpy(&header, image.data(), sizeof header);
  const size_t front = sizeof header + Node::kSlotSize * header.count;
  if (header.heap > page_size || front + page_size - header.heap != image.size() ||
      header.id != change.page) {
    Malformed("image");
  }
  if (scratch->size() == 0) *scratch = AlignedBuffer(page_size);
  char* made = scratch->data();
  std::memcpy(made, image.data(), image.size());
  UnpackPage({static_cast<uint32_t>(front), page_size - header.heap}, made, page_size);
  if (!Node(made, page_size).Validate().empty()) Malformed("image");
  Header(made)->lsn = 0;  // the caller sets it
  std::memcpy(page, made, page_size);
}

void ApplyInsert(std::string_view payload, Node* node, uint32_t page_size) {
  Reader reader(payload);
  const auto child = reader.Take<PageId>();
  const std::string_view key = reader.rest();
  CheckInner(*node, key, "insert");
  bool found;
  const uint32_t at = node->LowerBound(key, &found);
  if (found || key.size() > MaxKeySize(page_size) || child >= kMaxPages ||
      !node->InsertInner(at, key, child)) {
    Malformed("insert");
  }
}

void ApplyRemove(std::string_view key, Node* node) {
  CheckInner(*node, key, "remove");
  bool found;
  const uint32_t at = node->LowerBound(key, &found);
  if (!found || node->count() == 1) Malformed("remove");
  node->Remove(at);
}

}  // namespace

void ApplyChange(const PageChange& change, char* page, uint32_t page_size, AlignedBuffer* scratch) {
  Node node(page, page_size);
  switch (change.action) {
    case PageAction::kImage:
    case PageAction::kSavedImage:
      ApplyImage(change, page, page_size, scratch);
      break;
    case PageAction::kTruncate:
      if (!node.Validate().empty() || (!node.unbounded() && change.payload >= node.HighFence()) ||
          !node.TruncateAt(change.payload)) {
        Malformed("truncate");
      }
      break;
    case PageAction::kInsert:
      ApplyInsert(change.payload, &node, page_size);
      break;
    case PageAction::kRemove:
      ApplyRemove(change.payload, &node);
      break;
    case PageAction::kFree:
      FormatFree(page, page_size, change.page);
      break;
    default:
      Malformed("unknown action");
  }
}

void StructureReplay::Apply(std::string_view structure, Lsn begin, Lsn end) {
  const DecodedStructure decoded = DecodeStructure(structure);
  for (const PageRun& run : decoded.used) space_->MarkUsed(run.first, run.pages);
  for (const PageRun& run : decoded.freed) space_->MarkFree(run.first, run.pages);
  for (const PageChange& change : decoded.changes) ApplyAction(change, begin, end);
}

void StructureReplay::Change(const PageChange& change, Lsn begin, Lsn lsn, ExclusiveGuard* guard) {
  ApplyChange(change, guard->page(), pool_->page_size(), &scratch_);
  guard->MarkDirty(begin, lsn);
  ++pages_changed_;
}

// Makes a change to a page that was torn and is whole again. When the change does not fit the saved
// image that made the page whole, the page waits for its next image.
void StructureReplay::ChangeTorn(const PageChange& change, Lsn begin, Lsn lsn, Torn* torn,
                                 ExclusiveGuard* guard) {
  try {
    Change(change, begin, lsn, guard);
  } catch (const Error& e) {
    if (!torn->saved || e.kind() != Error::kCorruption) throw;
    torn->whole.reset();
  }
}

// Makes a torn page whole by an action at `lsn`, and then makes the changes that are later.
void StructureReplay::MakeWhole(const PageChange& change, Lsn begin, Lsn lsn, Torn* torn,
                                ExclusiveGuard* guard) {
  Change(change, begin, lsn, guard);
  torn->whole = lsn;
  torn->saved = change.action == PageAction::kSavedImage;
  for (const WaitingChange& later : torn->later) {
    if (!torn->whole) return;
    if (later.end <= lsn) continue;
    ChangeTorn({later.action, change.page, later.payload}, later.begin, later.end, torn, guard);
  }
}

void StructureReplay::ApplyToWhole(const PageChange& change, Lsn begin, Lsn lsn, Torn* torn,
                                   ExclusiveGuard* guard) {
  const Lsn has = Header(guard->page())->lsn;
  // A page that was torn has what the log has had of it so far. It may lack rows of a commit from
  // before the redo point, which reached the page after its last image was logged. A saved image
  // has these rows, but is logged later than it was taken, so the changes since then are made once
  // more.
  if (torn != nullptr && change.action == PageAction::kSavedImage && has >= lsn &&
      lsn >= *torn->whole) {
    return MakeWhole(change, begin, lsn, torn, guard);
  }
  // A page that has the change already is marked dirty all the same: if its sync failed, the change
  // may be in the page cache alone.
  if (has >= lsn) return guard->MarkDirty(begin, has);
  if (torn == nullptr) return Change(change, begin, lsn, guard);
  if (change.whole()) {
    torn->later.clear();
    return MakeWhole(change, begin, lsn, torn, guard);
  }
  torn->later.push_back({change.action, std::string(change.payload), begin, lsn});
  ChangeTorn(change, begin, lsn, torn, guard);
}

void StructureReplay::ApplyAction(const PageChange& change, Lsn begin, Lsn end) {
  PageState state;
  ExclusiveGuard guard = pool_->WriteAny(client_, change.page, &state);
  // The pool keeps a page that is not valid as zeros, and calls it valid from then on, so torn_
  // remembers it.
  if (state != PageState::kValid) torn_.try_emplace(change.page);
  // A blank page was never written: no commit from before the redo point has rows in it.
  if (state == PageState::kBroken) pool_->KeepBack(guard);
  const auto found = torn_.find(change.page);
  Torn* const torn = found == torn_.end() ? nullptr : &found->second;
  const Lsn lsn = change.LsnAfter(end);
  if (torn == nullptr || torn->whole) return ApplyToWhole(change, begin, lsn, torn, &guard);
  if (!change.whole()) {
    torn->later.push_back({change.action, std::string(change.payload), begin, end});
    return;
  }
  MakeWhole(change, begin, lsn, torn, &guard);
}

void StructureReplay::CheckWhole() const {
  for (const auto& [page, torn] : torn_) {
    if (!torn.whole) throw pool_->file()->Broken(page);
  }
  pool_->ReleaseKept();
}

}  // namespace testbed::btree
