// A DataFile is one mapped file of the database. Its shared view is a mapping that the kernel
// writes back whenever it likes. Its private view is a copy-on-write mapping of the same file,
// which all code reads and changes. A change reaches the shared view only when its journal section
// is durable (store.h). Without a journal there is only the shared view.
//
//   DataFile::Create(path, size, zero_fill);        // durable when it returns
//   DataFile file(path, DataFile::kBothViews, Advice::kNormal);
//   file.view()[ofs] = byte;                        // private
//   file.MarkPrivate(ofs, n);
//   memcpy(file.shared() + ofs, bytes, n);
//   file.MarkShared(ofs, n);
//   file.DropPrivate(begin, end);                   // REMAP: shows the shared bytes again
//   file.Sync();                                    // msync
//
// Blocks are allocated for the whole file before it is mapped, so a full device is an error at
// Create, never SIGBUS at a write. Errors throw Error (kIo). A DataFile takes no locks: its callers
// do (files.h). Only the marks of the shared view may be set and taken by several threads at once.
#ifndef TESTBED_ENGINES_MMAPV1_FILES_DATA_FILE_H_
#define TESTBED_ENGINES_MMAPV1_FILES_DATA_FILE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/file/file.h"
#include "device/file/write_back_watch.h"
#include "engines/mmapv1/files/format.h"

namespace testbed::mmapv1 {

// PageMarks has a bit for each memory page of a file, and counts the bits that are set.
class PageMarks {
 public:
  explicit PageMarks(uint64_t bytes);
  // Marks the pages of [ofs, ofs + n).
  void Mark(uint64_t ofs, uint64_t n);
  // Clears the marks of the pages in [begin, end), both multiples of a page. Returns how many were
  // set.
  uint64_t Clear(uint64_t begin, uint64_t end);
  // Returns whether a page of [ofs, ofs + n) is marked.
  bool Any(uint64_t ofs, uint64_t n) const;
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::vector<std::atomic<uint64_t>> words_;
  std::atomic<uint64_t> count_{0};
};

class DataFile {
 public:
  enum Views : uint8_t {
    kBothViews,
    kSharedView,   // only the shared view: without a journal
    kPrivateView,  // only the private view: to inspect a file or to try a replay
  };

  // Makes a file of `bytes` zeros, in place of a file of the same name. The file gets its name when
  // it is complete and durable. Throws Error (kIo), and then leaves no file.
  static void Create(const std::string& path, uint64_t bytes, bool zero_fill);

  DataFile(const std::string& path, Views views, Advice advice);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  const std::string& path() const { return file_->path(); }
  uint64_t bytes() const { return bytes_; }
  char* view() const { return private_ != nullptr ? private_ : shared_; }
  char* shared() const { return shared_; }
  const File& file() const { return *file_; }

  void MarkPrivate(uint64_t ofs, uint64_t n) {
    private_marks_.Mark(ofs, n);
    private_end_ = std::max(private_end_, (ofs + n + kMemoryPage - 1) / kMemoryPage * kMemoryPage);
  }
  void MarkShared(uint64_t ofs, uint64_t n) { shared_marks_.Mark(ofs, n); }
  uint64_t private_bytes() const;  // most bytes that private copies of pages may take
  uint64_t shared_bytes() const;   // most bytes of pages that may have changed since the last Sync
  uint64_t private_end() const { return private_end_; }  // no copy of a page lies behind it

  // Drops the private copies of whole pages. No thread may use the private view meanwhile.
  void DropPrivate(uint64_t begin, uint64_t end);
  // Writes changed pages of the shared view and waits for the device. Returns how many bytes of
  // pages had changed since the last Sync. The kernel may have written some of them before.
  uint64_t Sync();
  // Returns whether a page of the range was changed in the shared view and may not be durable yet.
  // A caller that has read such a page must call CheckWriteBack afterwards (write_back_watch.h).
  bool MayBeOld(uint64_t ofs, uint64_t n) const {
    return syncs_.load(std::memory_order_acquire) || shared_marks_.Any(ofs, n);
  }
  bool AnyMayBeOld() const {
    return syncs_.load(std::memory_order_acquire) || shared_marks_.count() > 0;
  }
  // Throws Error (kIo) when the kernel has failed to write pages back since the file was opened.
  void CheckWriteBack() { write_back_->Check(); }
  // Returns whether all pages of the range are in memory.
  bool InMemory(uint64_t ofs, uint64_t n) const;

 private:
  char* Map(int protection, int flags, Advice advice) const;

  std::unique_ptr<File> file_;
  uint64_t bytes_;
  char* shared_ = nullptr;
  char* private_ = nullptr;
  PageMarks private_marks_, shared_marks_;
  uint64_t private_end_ = 0;
  std::atomic<bool> syncs_{false};  // marks were cleared before their pages were durable
  std::unique_ptr<WriteBackWatch> write_back_;  // null when there is only the private view
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_FILES_DATA_FILE_H_
