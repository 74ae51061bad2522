#include "engines/mmapv1/files/files.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "device/error.h"
#include "device/file/directory.h"

namespace testbed::mmapv1 {
namespace {

constexpr uint64_t kLongestRange = 2 * kMaxValueSize;  // most bytes that are declared as one range

uint64_t PageDown(uint64_t ofs) { return ofs / kMemoryPage * kMemoryPage; }
uint64_t PageUp(uint64_t ofs) { return PageDown(ofs + kMemoryPage - 1); }

}  // namespace

bool ForEachEntry(std::string_view body,
                  const std::function<void(DiskLoc, std::string_view)>& each) {
  while (!body.empty()) {
    EntryHeader entry;
    if (body.size() < sizeof entry) return false;
    std::memcpy(&entry, body.data(), sizeof entry);
    body.remove_prefix(sizeof entry);
    if (entry.bytes > body.size()) return false;
    each({entry.file, static_cast<int32_t>(entry.ofs)}, body.substr(0, entry.bytes));
    body.remove_prefix(entry.bytes);
  }
  return true;
}

bool IsDataFile(const std::filesystem::path& path) {
  const std::string name = path.filename(), base = std::string(kFileBase) + ".";
  return name.size() > base.size() && name.starts_with(base) &&
         name.find_first_not_of("0123456789", base.size()) == std::string::npos;
}

Files::Files(const std::string& dir, const Settings& settings, DataFile::Views views)
    : dir_(dir), settings_(settings), views_kind_(views), files_(kSlots) {
  OpenFile(kNsFile);
  CheckNamespace();
  int32_t n = 0;
  for (; n < kMostFiles && IsThere(DataPath(dir, n)); ++n) OpenFile(n);
  count_.store(n, std::memory_order_release);
  for (const std::string& name : NamesIn(dir)) {
    if (!IsDataFile(name)) continue;
    const std::string number = name.substr(name.rfind('.') + 1);
    if (number.size() < 9 && std::stoi(number) < n) continue;
    throw Error(Error::kCorruption, "file " + DataPath(dir, n) + " is missing though " + dir + "/" +
                                        name + " is there");
  }
  if (views != DataFile::kPrivateView) {
    preallocator_ = std::make_unique<Preallocator>(settings.zero_fill);
  }
}

void Files::NotThere(DiskLoc loc, uint64_t n) const {
  throw Error(Error::kCorruption, "the database in " + dir_ + " is damaged: something refers to " +
                                      std::to_string(n) + " bytes at " + std::to_string(loc.ofs) +
                                      " of file " + std::to_string(loc.file) +
                                      ", which are not there");
}

void Files::OpenFile(int32_t n) {
  const std::string path = n == kNsFile ? NsPath(dir_) : DataPath(dir_, n);
  auto file = std::make_unique<DataFile>(path, views_kind_, settings_.advice);
  const auto slot = static_cast<size_t>(n);
  views_[slot] = {file->view(), file->bytes()};
  files_[slot] = std::move(file);
}

void Files::BeginOperation() {
  ++operation_;
  EndOperation();
}

// Marks the pages of a shared view after their bytes were changed or put back. A data flush may
// clear marks at any moment without a lock. If a page were marked before its change, a flush could
// clear the mark and write only the old bytes.
void Files::EndOperation() {
  if (views_kind_ == DataFile::kSharedView && !undo_.empty()) {
    for (const Range& range : undo_) files_[range.slot]->MarkShared(range.ofs, range.n);
    any_changed_.store(true);
  }
  undo_.clear();
  undo_bytes_.clear();
  if (undo_bytes_.capacity() <= settings_.kept_buffer()) return;
  std::vector<char>().swap(undo_bytes_);
  std::vector<Range>().swap(undo_);
}

// The old bytes are saved before their range is added. If there is no memory for the range, bytes
// without a range do no harm, whereas a range without its bytes would make an undo restore the
// wrong bytes.
void Files::SaveForUndo(const Range& range, const char* at) {
  undo_bytes_.insert(undo_bytes_.end(), at, at + range.n);
  undo_.push_back(range);
}

char* Files::Write(DiskLoc loc, uint32_t n) {
  char* const at = At(loc, n);
  const Range range{static_cast<uint32_t>(loc.file), static_cast<uint32_t>(loc.ofs), n};
  Recent& recent = recent_[(range.ofs / 2 + range.slot * 31 + (range.ofs >> 12)) % recent_.size()];
  const bool known = recent.range.slot == range.slot && recent.range.ofs == range.ofs &&
                     recent.range.n >= n && recent.prepared == prepared_;
  if (known && recent.operation == operation_) return at;
  SaveForUndo(range, at);
  if (views_kind_ != DataFile::kSharedView && !known) {
    pending_.push_back(range);
    pending_bytes_.store(pending_bytes() + sizeof(EntryHeader) + n, std::memory_order_relaxed);
    files_[range.slot]->MarkPrivate(range.ofs, n);
  }
  recent = {range, operation_, prepared_};
  return at;
}

void Files::UndoOperation() {
  size_t end = 0;  // end of the bytes that have a range
  for (const Range& range : undo_) end += range.n;
  for (size_t i = undo_.size(); i-- > 0;) {
    const Range& range = undo_[i];
    end -= range.n;
    std::memcpy(views_[range.slot].base + range.ofs, undo_bytes_.data() + end, range.n);
  }
  BeginOperation();
}

uint64_t Files::FileBytes(int32_t n) const {
  const uint64_t doubled = settings_.first_file_bytes << std::min(n, 20);
  return std::min(doubled, settings_.most_file_bytes);
}

void Files::Preallocate() {
  const int32_t next = count();
  if (!settings_.preallocate || next >= kMostFiles) return;
  if (IsThere(DataPath(dir_, next))) return;
  preallocator_->Request(DataPath(dir_, next), FileBytes(next));
}

void Files::StartFile(int32_t n) {
  FileHeader header{};
  header.magic = kFileMagic;
  header.version = kFormatVersion;
  header.database = ns()->database;
  header.bytes = file(n).bytes();
  header.number = static_cast<uint32_t>(n);
  header.unused = kFileHeaderBytes;
  std::memcpy(Write({n, 0}, sizeof header), &header, sizeof header);
}

void Files::AddFile(uint32_t least) {
  const int32_t n = count();
  if (n >= kMostFiles) throw Error(Error::kRun, "mmapv1 has no more than 4096 data files");
  const uint64_t bytes =
      std::max<uint64_t>(FileBytes(n), PageUp(uint64_t{least} + kFileHeaderBytes));
  if (bytes > kMostFileBytes) throw Error(Error::kUsage, "a row is longer than a file of mmapv1");
  preallocator_->Take(DataPath(dir_, n), bytes);
  OpenFile(n);
  count_.store(n + 1, std::memory_order_release);
  Preallocate();
}

// Files come into use in the order of their numbers. An operation that was undone may have left
// several unused files. An unused file before a used one would look like damage.
int32_t Files::FirstNotBegun() const {
  int32_t n = 0;
  while (n < count() && As<FileHeader>({n, 0})->magic != 0) ++n;
  return n;
}

DiskLoc Files::NewExtent(uint32_t wanted, uint32_t least, uint32_t* bytes) {
  for (;;) {
    const int32_t next = FirstNotBegun();
    if (next > 0) {
      const int32_t last = next - 1;
      auto* header = As<FileHeader>({last, 0});
      const uint64_t room = header->bytes - header->unused;
      // The rest of a file becomes a shorter extent unless it is much shorter than wanted. Files
      // are small here, and the original's rule would leave up to half of a file unused.
      if (room >= wanted || (room >= least && room >= wanted / 4)) {
        *bytes = static_cast<uint32_t>(std::min<uint64_t>(wanted, PageDown(room)));
        const DiskLoc at{last, static_cast<int32_t>(header->unused)};
        Assign(last, &header->unused, header->unused + *bytes);
        return at;
      }
    }
    if (next == count()) AddFile(least);
    StartFile(next);
    // A file that an undone operation has left may be too short even for `least`. Then the extent
    // goes into a later file.
    const uint64_t most = file(next).bytes() - kFileHeaderBytes;
    if (most >= least) wanted = static_cast<uint32_t>(std::min<uint64_t>(wanted, most));
  }
}

void Files::Prepare(std::string* body) {
  std::sort(pending_.begin(), pending_.end());
  for (size_t i = 0; i < pending_.size();) {
    Range all = pending_[i];
    for (++i; i < pending_.size(); ++i) {
      const Range& next = pending_[i];
      if (next.slot != all.slot || next.ofs > all.end()) break;
      all.n = static_cast<uint32_t>(std::max(all.end(), next.end()) - all.ofs);
    }
    const EntryHeader entry{all.n, all.ofs, static_cast<int32_t>(all.slot)};
    body->append(reinterpret_cast<const char*>(&entry), sizeof entry);
    body->append(views_[all.slot].base + all.ofs, all.n);
  }
  pending_.clear();
  if (pending_.capacity() * sizeof(Range) > settings_.kept_buffer()) {
    std::vector<Range>().swap(pending_);
  }
  pending_bytes_.store(0, std::memory_order_relaxed);
  ++prepared_;
}

void Files::WriteToDataFiles(std::string_view body) {
  ForEachEntry(body, [this](DiskLoc at, std::string_view bytes) {
    DataFile& to = file(at.file);
    const auto ofs = static_cast<uint32_t>(at.ofs);
    // The page is marked after the copy. So a data flush that clears marks meanwhile either writes
    // these bytes or leaves the mark for the next flush.
    std::memcpy(to.shared() + ofs, bytes.data(), bytes.size());
    to.MarkShared(ofs, bytes.size());
  });
  any_changed_.store(true);
}

void Files::Replay(DiskLoc at, std::string_view bytes) {
  At(at, bytes.size());
  DataFile& to = file(at.file);
  const auto ofs = static_cast<uint32_t>(at.ofs);
  std::memcpy((to.shared() != nullptr ? to.shared() : to.view()) + ofs, bytes.data(), bytes.size());
  to.MarkShared(ofs, bytes.size());
  any_changed_.store(true);
}

void Files::DropUnlessPending(uint32_t slot, uint64_t begin, uint64_t end) {
  DataFile& file = *files_[slot];
  const uint64_t before = file.private_bytes();
  const Range from{slot, static_cast<uint32_t>(begin), 0};
  auto at = std::lower_bound(pending_.begin(), pending_.end(), from);
  // Ranges that begin before this part may reach into it.
  while (at != pending_.begin() && std::prev(at)->slot == slot &&
         std::prev(at)->ofs + kLongestRange > begin) {
    --at;
  }
  for (; at != pending_.end() && at->slot == slot && at->ofs < end; ++at) {
    file.DropPrivate(begin, std::min(end, PageDown(at->ofs)));
    begin = std::max(begin, PageUp(at->end()));
  }
  file.DropPrivate(begin, end);
  counts_.copies_dropped.fetch_add(before - file.private_bytes(), std::memory_order_relaxed);
}

void Files::Remap(double fraction) {
  std::sort(pending_.begin(), pending_.end());
  const int32_t data_files = count();
  // An operation that was undone leaves copies behind the last extent, and in files that are not in
  // use.
  const auto part_of = [&](int32_t n) {
    if (n == kNsFile) return PageUp(file(n).bytes());
    return std::max(PageUp(UsedBytes(n)), file(n).private_end());
  };
  uint64_t total = part_of(kNsFile);
  for (int32_t n = 0; n < data_files; ++n) total += part_of(n);
  uint64_t left =
      fraction >= 1
          ? total
          : PageUp(static_cast<uint64_t>(std::ceil(fraction * static_cast<double>(total))));
  counts_.remaps.fetch_add(1, std::memory_order_relaxed);
  counts_.remapped_bytes.fetch_add(left, std::memory_order_relaxed);
  while (left > 0) {
    if (remap_file_ != kNsFile && remap_file_ >= data_files) remap_file_ = kNsFile;
    const uint64_t end = part_of(remap_file_);
    const uint64_t n = std::min(left, end - std::min(end, remap_ofs_));
    DropUnlessPending(static_cast<uint32_t>(remap_file_), remap_ofs_, remap_ofs_ + n);
    left -= n;
    remap_ofs_ += n;
    if (remap_ofs_ < end) continue;
    remap_ofs_ = 0;
    remap_file_ = remap_file_ == kNsFile ? 0 : remap_file_ + 1;
  }
}

uint64_t Files::private_bytes() const {
  uint64_t sum = file(kNsFile).private_bytes();
  for (int32_t n = 0; n < count(); ++n) sum += file(n).private_bytes();
  return sum;
}

uint64_t Files::shared_bytes() const {
  uint64_t sum = file(kNsFile).shared_bytes();
  for (int32_t n = 0; n < count(); ++n) sum += file(n).shared_bytes();
  return sum;
}

uint64_t Files::Sync() {
  syncs_.store(true);
  // A change that is made from here on sets the flag again.
  any_changed_.store(false);
  uint64_t sum = 0;
  try {
    sum += file(kNsFile).Sync();
    for (int32_t n = 0; n < count(); ++n) sum += file(n).Sync();
  } catch (...) {
    any_changed_.store(true);
    throw;
  }
  syncs_.store(false);
  counts_.flushed_bytes.fetch_add(sum, std::memory_order_relaxed);
  return sum;
}

}  // namespace testbed::mmapv1
