#include "engines/mmapv1/tree/table.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "device/error.h"

namespace testbed::mmapv1 {
namespace {

// A move of a record makes the padding factor grow; an update in place makes it shrink slowly.
constexpr double kMostPadding = 2, kPaddingUp = 0.1, kPaddingDown = 0.001;

constexpr char kBinary = 5;  // the type of BSON's binary elements

uint32_t DocumentBytes(std::string_view key, std::string_view value) {
  return kDocumentFrame + static_cast<uint32_t>(key.size() + value.size());
}

char* AppendU32(char* to, uint64_t n) {
  const auto word = static_cast<uint32_t>(n);
  std::memcpy(to, &word, sizeof word);
  return to + sizeof word;
}

// Appends an element of type binary, subtype 0.
char* AppendBinary(char* to, std::string_view name, std::string_view bytes) {
  *to++ = kBinary;
  std::memcpy(to, name.data(), name.size());
  to += name.size();
  *to++ = 0;
  to = AppendU32(to, bytes.size());
  *to++ = 0;
  std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

bool TakeU32(std::string_view* bytes, uint32_t* n) {
  if (bytes->size() < sizeof *n) return false;
  std::memcpy(n, bytes->data(), sizeof *n);
  bytes->remove_prefix(sizeof *n);
  return true;
}

bool TakeBinary(std::string_view* bytes, std::string_view name, std::string_view* content) {
  uint32_t n = 0;
  if (bytes->size() < name.size() + 2 || bytes->front() != kBinary ||
      bytes->substr(1, name.size()) != name || (*bytes)[name.size() + 1] != 0) {
    return false;
  }
  bytes->remove_prefix(name.size() + 2);
  if (!TakeU32(bytes, &n) || bytes->empty() || n > bytes->size() - 1) return false;
  *content = bytes->substr(1, n);
  bytes->remove_prefix(n + 1);
  return true;
}

// Returns the slot of the table, or the free slot where the table would go; nothing when there is
// neither.
std::optional<uint32_t> SlotOf(const Files& files, std::string_view name, bool* found) {
  const uint32_t slots = files.ns()->slots;
  const auto first = static_cast<uint32_t>(XXH3_64bits(name.data(), name.size()) % slots);
  for (uint32_t i = 0; i < slots; ++i) {
    const uint32_t slot = (first + i) % slots;
    const auto* entry = files.As<NsEntry>(EntryLoc(slot));
    *found = entry->used != 0 && entry->name_size <= kMaxTableName &&
             std::string_view(entry->name, entry->name_size) == name;
    if (*found || entry->used == 0) return slot;
  }
  return std::nullopt;
}

[[noreturn]] void ExtentMissing(const std::string& dir, const char* which, DiskLoc at) {
  throw Error(Error::kCorruption,
              "the database in " + dir + " is damaged: a table's " + which + ", at " +
                  std::to_string(at.ofs) + " of data file " + std::to_string(at.file) +
                  ", is not there; put the file back, or load the database anew with --fresh");
}

// Follows a chain from its last extent back to its first one.
void CheckChain(const Files& files, const std::vector<FileHeader>& headers, const Space& space) {
  uint32_t extents = 0;
  for (DiskLoc at = space.last_extent; !at.null(); ++extents) {
    const bool in_use = at.file < static_cast<int32_t>(headers.size()) &&
                        headers[static_cast<size_t>(at.file)].magic != 0;
    if (!in_use || extents == space.extents) ExtentMissing(files.dir(), "extent", at);
    const auto* extent = files.As<ExtentHeader>(at);
    if (extent->magic != kExtentMagic || extent->self != at) {
      ExtentMissing(files.dir(), "extent", at);
    }
    at = extent->prev;
  }
}

}  // namespace

DiskLoc EntryLoc(uint32_t slot) {
  return {kNsFile, static_cast<int32_t>(kNsHeaderBytes + slot * sizeof(NsEntry))};
}

void CheckTableName(const std::string& name) {
  if (!name.empty() && name.size() <= kMaxTableName) return;
  throw Error(Error::kUsage, "mmapv1 cannot name a table '" + name + "': a name has 1 to " +
                                 std::to_string(kMaxTableName) + " bytes");
}

std::optional<uint32_t> FindTable(const Files& files, std::string_view name) {
  bool found = false;
  const std::optional<uint32_t> slot = SlotOf(files, name, &found);
  return found ? slot : std::nullopt;
}

void CheckLastExtents(const std::string& dir, std::string_view ns,
                      const std::vector<FileHeader>& headers) {
  const auto missing = [&](DiskLoc at) { ExtentMissing(dir, "last extent", at); };
  for (uint64_t at = kNsHeaderBytes; at + sizeof(NsEntry) <= ns.size(); at += sizeof(NsEntry)) {
    NsEntry entry;
    std::memcpy(&entry, ns.data() + at, sizeof entry);
    if (entry.used == 0) continue;
    for (const Space* space : {&entry.heap, &entry.index}) {
      const DiskLoc extent = space->last_extent;
      if (extent.null()) continue;
      if (extent.file >= static_cast<int32_t>(headers.size())) missing(extent);
      const FileHeader& header = headers[static_cast<size_t>(extent.file)];
      const uint64_t end = uint64_t{static_cast<uint32_t>(extent.ofs)} + space->last_extent_bytes;
      if (header.magic == 0 || end > header.unused) missing(extent);
    }
  }
}

void CheckFilesWithoutHeader(const Files& files) {
  const std::vector<FileHeader> headers = files.Headers();
  if (std::all_of(headers.begin(), headers.end(), [](const auto& h) { return h.magic != 0; })) {
    return;
  }
  for (uint32_t slot = 0; slot < files.ns()->slots; ++slot) {
    const auto* entry = files.As<NsEntry>(EntryLoc(slot));
    if (entry->used == 0) continue;
    for (const Space* space : {&entry->heap, &entry->index}) CheckChain(files, headers, *space);
  }
}

uint32_t CreateTable(Files* files, std::string_view name) {
  bool found = false;
  const std::optional<uint32_t> slot = SlotOf(*files, name, &found);
  if (!slot || found) {
    throw Error(Error::kUsage,
                "the namespace file of mmapv1 is full: make the database with a "
                "larger --engine-option ns_size");
  }
  NsEntry entry{};
  entry.used = 1;
  entry.name_size = static_cast<uint32_t>(name.size());
  std::memcpy(entry.name, name.data(), name.size());
  entry.heap.first_extent = entry.heap.last_extent = DiskLoc();
  entry.index = entry.heap;
  entry.padding = 1;
  std::memcpy(files->Write(EntryLoc(*slot), sizeof entry), &entry, sizeof entry);
  files->Assign(kNsFile, &files->ns()->tables, files->ns()->tables + 1);
  Tree(files, files->As<NsEntry>(EntryLoc(*slot)), *slot).Create();
  return *slot;
}

bool ParseDocument(std::string_view bytes, std::string_view* key, std::string_view* value) {
  std::string_view rest = bytes;
  uint32_t length = 0;
  if (!TakeU32(&rest, &length) || length < kDocumentFrame || length > bytes.size()) return false;
  rest = rest.substr(0, length - sizeof length);
  return TakeBinary(&rest, "_id", key) && TakeBinary(&rest, "v", value) && rest.size() == 1 &&
         rest.front() == 0;
}

Table::Table(Files* files, const Settings& settings, RowCounts* counts, uint32_t slot)
    : files_(files),
      settings_(settings),
      counts_(counts),
      entry_(files->As<NsEntry>(EntryLoc(slot))),
      tree_(files, entry_, slot),
      heap_(files, &entry_->heap, slot, false) {}

std::string_view Table::Value(TreePosition at) const {
  const DiskLoc loc = tree_.Record(at);
  if (loc == kNoRecord) return {};
  const auto* header = files_->As<RecordHeader>(loc);
  const uint32_t bytes = std::max<uint32_t>(header->bytes, sizeof(RecordHeader));
  const std::string_view document(files_->At(loc, bytes) + sizeof(RecordHeader),
                                  bytes - sizeof(RecordHeader));
  std::string_view key, value;
  if (!ParseDocument(document, &key, &value)) {
    throw Error(Error::kCorruption, "the database in " + files_->dir() +
                                        " is damaged: the record at " + std::to_string(loc.ofs) +
                                        " of file " + std::to_string(loc.file) + " is no row");
  }
  return value;
}

bool Table::RecordNotInMemory(TreePosition at, const char** begin, uint64_t* bytes) const {
  const DiskLoc loc = tree_.Record(at);
  if (loc.null()) return false;
  *begin = files_->At(loc, sizeof(RecordHeader));  // throws if the file does not exist
  const DataFile& file = files_->file(loc.file);
  const auto ofs = static_cast<uint32_t>(loc.ofs);
  *bytes = sizeof(RecordHeader);
  if (!file.InMemory(ofs, *bytes)) return true;
  *bytes = std::max<uint64_t>(*bytes, files_->As<RecordHeader>(loc)->bytes);
  files_->At(loc, *bytes);
  const uint64_t page_left = kMemoryPage - ofs % kMemoryPage;
  return *bytes > page_left && !file.InMemory(ofs, *bytes);
}

void Table::CountRows(int64_t change) {
  files_->Assign(kNsFile, &entry_->rows, entry_->rows + static_cast<uint64_t>(change));
}

void Table::AdaptPadding(bool moved) {
  (moved ? counts_->moved : counts_->in_place).fetch_add(1, std::memory_order_relaxed);
  if (settings_.allocation != Allocation::kPadding) return;
  const double factor = entry_->padding + (moved ? kPaddingUp : -kPaddingDown);
  const double bounded = std::clamp(factor, 1.0, kMostPadding);
  if (bounded != entry_->padding) files_->Assign(kNsFile, &entry_->padding, bounded);
}

void Table::WriteDocument(DiskLoc loc, std::string_view key, std::string_view value) {
  const uint32_t bytes = DocumentBytes(key, value);
  char* to = files_->Write(Plus(loc, sizeof(RecordHeader)), bytes);
  to = AppendU32(to, bytes);
  to = AppendBinary(to, "_id", key);
  to = AppendBinary(to, "v", value);
  *to = 0;
}

DiskLoc Table::AddRecord(std::string_view key, std::string_view value) {
  const auto bytes = static_cast<uint32_t>(DocumentBytes(key, value) + sizeof(RecordHeader));
  const DiskLoc loc = heap_.Allocate(settings_.allocation == Allocation::kPadding
                                         ? PaddedBytes(bytes, entry_->padding)
                                         : PowerOf2Bytes(bytes));
  WriteDocument(loc, key, value);
  return loc;
}

DiskLoc Table::UpdateRecord(DiskLoc loc, std::string_view key, std::string_view value) {
  const bool fits =
      DocumentBytes(key, value) + sizeof(RecordHeader) <= files_->As<RecordHeader>(loc)->bytes;
  AdaptPadding(!fits);
  if (fits) {
    WriteDocument(loc, key, value);
    return loc;
  }
  heap_.Free(loc);
  return AddRecord(key, value);
}

void Table::Put(std::string_view key, std::string_view value) {
  TreePosition at;
  if (!tree_.Find(key, &at)) {
    tree_.Insert(at, key, value.empty() ? kNoRecord : AddRecord(key, value));
    CountRows(1);
    return;
  }
  const DiskLoc old = tree_.Record(at);
  DiskLoc now = kNoRecord;
  if (value.empty()) {
    if (old != kNoRecord) heap_.Free(old);
  } else {
    now = old == kNoRecord ? AddRecord(key, value) : UpdateRecord(old, key, value);
  }
  if (now != old) tree_.SetRecord(at, now);
}

void Table::Erase(std::string_view key) {
  TreePosition at;
  if (!tree_.Find(key, &at)) return;
  const DiskLoc record = tree_.Record(at);
  tree_.Remove(at);
  if (record != kNoRecord) heap_.Free(record);
  CountRows(-1);
}

}  // namespace testbed::mmapv1
