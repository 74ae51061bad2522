// A database that is not open, read from its files without changing them, as the first pass of
// recovery would leave it: torn pages taken from the doublewrite file, changes of shape taken from
// the log. docs/btree.md ("Recovery") says why its trees are whole then. The rows that the second
// pass would write again are checked as log records and are not in the pages.
//
//   Image image(dir, &inspection);         // faults of all files but the trees' go there
//   if (image.page_size() != 0) ...        // else nothing more can be read
//
// While it lives, other processes can look at the database too, and none can open it. What a crash
// leaves and opening the database puts right becomes a note, everything else a fault. Errors of
// the constructor are those of engines/inspect.h. Not for several threads.
#ifndef TESTBED_ENGINES_BTREE_INSPECT_IMAGE_H_
#define TESTBED_ENGINES_BTREE_INSPECT_IMAGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "device/file/file.h"
#include "engines/btree/page/meta.h"
#include "engines/btree/page/page_reader.h"
#include "engines/btree/page/space.h"
#include "engines/btree/pool/page_file.h"
#include "engines/btree/store/redo_index.h"
#include "engines/inspect.h"

namespace testbed::btree {

class Image : public PageReader {
 public:
  Image(const std::string& dir, Inspection* inspection);
  ~Image() override;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  PageState Read(PageId id, char* page, std::string* why) override;
  void Prefetch(PageId id) override;
  bool Pending(PageId id) const override { return log_ && log_->Pending(id); }

  uint32_t page_size() const { return page_size_; }  // 0: not to be found out
  const std::string& data_path() const { return data_path_; }
  uint64_t data_bytes() const { return data_bytes_; }
  uint64_t holes() const;  // bytes of the data file that take no space on the device
  // Which pages are in use; nothing when no checkpoint file is whole.
  const std::optional<SpaceSnapshot>& space() const { return space_; }
  // Nothing when the log cannot be read to its end, or not at all.
  std::optional<Lsn> log_end() const { return log_end_; }
  const RedoIndex* log() const { return log_.get(); }  // may be null

  // What the files beside the data file take, as Engine::SizeOnDisk counts them.
  NamedBytes OtherFiles() const;

 private:
  void Lock();
  void ReadMeta();
  void FindPageSize();
  void CheckSuper(const std::optional<SuperblockFields>& super, const std::string& why);
  void CheckCheckpoint(const CheckpointFile& file, const CheckpointFile& other, bool written_after);
  bool Usable(const CheckpointFile& file) const;
  void OpenPages();
  void ReadLog();
  void CheckMap(const CheckpointFile& file);
  void NoteLeftovers();
  Fault InFile(const std::string& file, uint64_t byte, std::string what, std::string expected = {},
               std::string found = {}) const;

  const std::string dir_, data_path_;
  Inspection* const inspection_;
  int lock_fd_ = -1;
  std::unique_ptr<File> data_;  // until the page size is known
  uint64_t data_bytes_ = 0;
  uint32_t page_size_ = 0;
  std::optional<uint64_t> database_;  // as the superblock says
  bool compressed_ = false;           // as it says too
  CheckpointFile checkpoints_[2];
  const CheckpointFile* checkpoint_ = nullptr;  // the one that counts
  std::optional<SpaceSnapshot> space_;
  std::unique_ptr<PageFile> pages_;
  std::map<PageId, AlignedBuffer> torn_;  // whole copies
  std::unique_ptr<RedoIndex> log_;
  std::optional<Lsn> log_end_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_INSPECT_IMAGE_H_
