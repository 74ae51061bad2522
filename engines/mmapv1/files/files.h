// Files has all files of an open database, and the changes of them that are not in the journal yet.
//
//   files.BeginOperation();
//   char* record = files.Write(loc, 100);      // a write intent: may be changed now
//   files.Assign(loc.file, &header->next, 7);  // the same for one field
//   files.EndOperation();                      // or UndoOperation: as if it had not been
//
// The journal is made of write intents: PREP sorts and merges them, and copies the bytes that they
// name out of the private view. Each intent also saves the old bytes, so that an operation that
// finds the device full half-way leaves no trace.
//
// Locks: functions that change something need the database's write lock, and all others its read
// lock, unless a comment says otherwise. A place outside of all files throws Error (kCorruption).
#ifndef TESTBED_ENGINES_MMAPV1_FILES_FILES_H_
#define TESTBED_ENGINES_MMAPV1_FILES_FILES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engines/mmapv1/files/data_file.h"
#include "engines/mmapv1/files/format.h"
#include "engines/mmapv1/files/preallocator.h"
#include "engines/mmapv1/files/settings.h"

namespace testbed::mmapv1 {

class Files;

// A ReadWatch tells whether its thread has read what was written last. While it exists, the thread
// holds the read lock or the write lock; after reading it calls Check, which throws if a page may
// be older (DataFile::MayBeOld). Without it a reader could get an older version of a row after a
// failed write-back.
//
//   ReadWatch watch(files);
//   ... files.At(...) ...
//   watch.Check();  // throws Error (kIo)
class ReadWatch {
 public:
  explicit ReadWatch(const Files& files);
  ~ReadWatch();
  ReadWatch(const ReadWatch&) = delete;
  ReadWatch& operator=(const ReadWatch&) = delete;
  void Check() const {
    if (read_ != nullptr) [[unlikely]]
      Ask();
  }

 private:
  friend class Files;
  void Ask() const;
  const Files& files_;
  DataFile* read_ = nullptr;  // a file of which pages that may be old were read
  bool more_ = false;         // pages of further such files were read
};

// An EntryHeader describes a changed range in a journal section. The range's bytes follow it.
struct EntryHeader {
  uint32_t bytes;
  uint32_t ofs;
  int32_t file;
};
static_assert(sizeof(EntryHeader) == 12);

// Calls `each` for every entry of a section's body. Returns false when the bytes are no such body.
bool ForEachEntry(std::string_view body,
                  const std::function<void(DiskLoc at, std::string_view bytes)>& each);

// Returns whether a path names a data file of a database.
bool IsDataFile(const std::filesystem::path& path);

class Files {
 public:
  // Opens the files that are in `dir`. The namespace file must be there.
  Files(const std::string& dir, const Settings& settings, DataFile::Views views);

  // Makes the namespace file of an empty database.
  static void CreateNamespace(const std::string& dir, const Settings& settings);

  const std::string& dir() const { return dir_; }
  // Returns `n` bytes at a place, in the view in which rows are read and changed. They are valid as
  // long as the caller keeps its lock. Only bytes of Write may be changed.
  char* At(DiskLoc loc, uint64_t n) const {
    const auto slot = static_cast<uint32_t>(loc.file);
    const uint64_t ofs = static_cast<uint32_t>(loc.ofs);
    if (slot >= kSlots || ofs + n > views_[slot].bytes) [[unlikely]]
      NotThere(loc, n);
    if (ReadWatch* const watch = watch_) [[unlikely]]
      Note(watch, slot, ofs, n);
    return views_[slot].base + ofs;
  }
  // Returns the T at a place. Throws Error (kCorruption) also when no T can lie there.
  template <typename T>
  T* As(DiskLoc loc) const {
    if (static_cast<uint32_t>(loc.ofs) % alignof(T) != 0) [[unlikely]]
      NotThere(loc, sizeof(T));
    return reinterpret_cast<T*>(At(loc, sizeof(T)));
  }
  NsHeader* ns() const { return As<NsHeader>({kNsFile, 0}); }

  // Begins an operation. The changes before it can no longer be undone.
  void BeginOperation();
  // Declares a write intent for `n` bytes, whose old values it saves, and returns them. The caller
  // may change them until the operation ends. Throws std::bad_alloc with the bytes unchanged.
  char* Write(DiskLoc loc, uint32_t n);
  // Sets a field, which lies in `file`, under an intent of its own.
  template <typename T>
  void Assign(int32_t file, T* field, const T& value) {
    const char* at = reinterpret_cast<const char*>(field);
    const auto ofs = static_cast<int32_t>(at - views_[static_cast<uint32_t>(file)].base);
    std::memcpy(Write({file, ofs}, sizeof(T)), &value, sizeof(T));
  }
  // Gives all bytes of the operation's intents their old values, and begins a new operation.
  void UndoOperation();
  // Keeps the changes, and forgets how to undo them. A Sync does not count them before this call.
  void EndOperation();

  // Returns the place of a new extent, and sets *bytes to its length: `wanted` bytes, or less, but
  // at least `least`. When the last file in use has no room, it begins the next file, and makes
  // that file unless an undone operation has left it. Throws Error (kIo) when the device has no
  // room either.
  DiskLoc NewExtent(uint32_t wanted, uint32_t least, uint32_t* bytes);
  // Starts making the next data file in the background.
  void Preallocate();

  // PREP: appends the changes since the last call to *body, in the order of their places, and
  // forgets them. The caller holds the read lock, which keeps writers out.
  void Prepare(std::string* body);
  // Returns the most bytes that the next Prepare appends.
  uint64_t pending_bytes() const { return pending_bytes_.load(std::memory_order_relaxed); }
  // WRITETODATAFILES: copies the changes of a section to the shared views. It needs no lock,
  // because it touches only committed bytes.
  void WriteToDataFiles(std::string_view body);
  // REMAP: maps this fraction of the private views anew, beginning where the last call ended. Pages
  // with changes that the journal does not have keep their private copies.
  void Remap(double fraction);
  // Returns the most bytes that private copies of pages may take.
  uint64_t private_bytes() const;
  // Returns the bytes of pages that the next Sync writes, or that a replay has changed.
  uint64_t shared_bytes() const;
  // Calls DataFile::Sync for every file that changed, and returns the bytes of changed pages. It
  // needs no lock.
  uint64_t Sync();
  // Returns whether pages may be older than what was written last. Pages that were changed since
  // the last REMAP do not count, because they have private copies.
  bool AnyMayBeOld() const { return any_changed_.load() || syncs_.load(); }
  // Calls DataFile::CheckWriteBack for each file that may have pages older than what was written
  // last.
  void CheckWriteBack() const;

  // Writes the state of the database directly, without the journal. The state is durable when this
  // returns. Nothing else changes the bytes that its checksum covers.
  void SetState(OpenState state);
  // Closes the files that are preallocated and not in use. The caller calls it after a replay.
  void CloseUnused();
  // Returns the headers of the data files, in the order of their numbers.
  std::vector<FileHeader> Headers() const;
  // Throws Error (kCorruption) when a data file with such a header does not belong to this database
  // at this place. Files at the end without a header are only preallocated. Before them a header of
  // zeros is that of a file which an undone operation has added, if no extent lies behind it;
  // CheckFilesWithoutHeader (table.h) makes sure that none lies anywhere in the file.
  void CheckHeaders(const std::vector<FileHeader>& headers) const;
  // Writes a replayed entry to the shared view, or to the only view that there is.
  void Replay(DiskLoc at, std::string_view bytes);

  // count returns the number of data files, preallocated ones included. file returns one of them,
  // or the namespace file (kNsFile), which stays owned by this object.
  int32_t count() const { return count_.load(std::memory_order_acquire); }
  DataFile& file(int32_t n) const { return *files_[static_cast<size_t>(n)]; }
  // Returns the offset up to which a data file has extents.
  uint32_t UsedBytes(int32_t n) const { return As<FileHeader>({n, 0})->unused; }
  Preallocator* preallocator() { return preallocator_.get(); }

  struct Counts {
    std::atomic<uint64_t> remaps{0}, remapped_bytes{0}, copies_dropped{0}, flushed_bytes{0};
  };
  const Counts& counts() const { return counts_; }

 private:
  friend class ReadWatch;
  static constexpr uint32_t kSlots = kMostFiles + 1;
  struct View {
    char* base = nullptr;
    uint64_t bytes = 0;
  };
  struct Range {
    uint32_t slot, ofs, n;
    uint64_t end() const { return uint64_t{ofs} + n; }
    friend auto operator<=>(const Range&, const Range&) = default;
  };
  // A Recent is a range that was declared lately. Operations declare the same few ranges again and
  // again.
  struct Recent {
    Range range{};
    uint64_t operation = 0, prepared = 0;
  };

  [[noreturn]] void NotThere(DiskLoc loc, uint64_t n) const;
  void Note(ReadWatch* watch, uint32_t slot, uint64_t ofs, uint64_t n) const;
  void CheckNamespace() const;  // throws Error for a header that this testbed does not know
  void OpenFile(int32_t n);
  // Returns the first data file without a header; count() when there is none.
  int32_t FirstNotBegun() const;
  void AddFile(uint32_t least);
  void StartFile(int32_t n);
  uint64_t FileBytes(int32_t n) const;
  void SaveForUndo(const Range& range, const char* at);
  void DropUnlessPending(uint32_t slot, uint64_t begin, uint64_t end);

  const std::string dir_;
  const Settings& settings_;
  const DataFile::Views views_kind_;
  std::array<View, kSlots> views_;
  std::vector<std::unique_ptr<DataFile>> files_;  // indexed by slot; elements never move
  std::atomic<int32_t> count_{0};                 // number of data files
  static inline thread_local ReadWatch* watch_ = nullptr;
  // any_changed_ says that pages were changed since the last Sync, and syncs_ that a Sync is
  // running.
  std::atomic<bool> any_changed_{false}, syncs_{false};
  std::unique_ptr<Preallocator> preallocator_;

  std::vector<Range> pending_;
  std::atomic<uint64_t> pending_bytes_{0};
  std::array<Recent, 256> recent_;
  uint64_t operation_ = 1, prepared_ = 1;
  std::vector<Range> undo_;
  std::vector<char> undo_bytes_;
  int32_t remap_file_ = 0;  // file at which the next Remap begins
  uint64_t remap_ofs_ = 0;
  Counts counts_;
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_FILES_FILES_H_
