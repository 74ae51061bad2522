// An Image reads the files of a database that is not open, without changing them. It returns pages
// as the first pass of recovery would leave them: torn pages are taken from the doublewrite file,
// and the log's changes of shape are made in memory. docs/engines/btree.md ("Recovery") says why
// the trees are whole then. The rows that the second pass would replay are checked as log records;
// the pages do not have them.
//
//   Image image(dir, &inspection);         // adds the faults of all files, except those in trees
//   if (image.page_size() != 0) state = image.Read(id, page, &why);   // else no page can be read
//
// While an Image exists, nobody else can open or inspect the database. A defect that a crash leaves
// and the next open repairs becomes a note, any other a fault. Not thread-safe.
#ifndef TESTBED_ENGINES_BTREE_INSPECT_IMAGE_H_
#define TESTBED_ENGINES_BTREE_INSPECT_IMAGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "device/file/file.h"
#include "device/os/dir_lock.h"
#include "engines/btree/page/meta.h"
#include "engines/btree/page/page_reader.h"
#include "engines/btree/page/space.h"
#include "engines/btree/pool/page_file.h"
#include "engines/btree/store/redo_index.h"
#include "engines/inspect.h"

namespace testbed::btree {

class Image : public PageReader {
 public:
  // Throws the errors that engines/inspect.h lists. `inspection` must outlive the image.
  Image(const std::string& dir, Inspection* inspection);
  ~Image() override;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  PageState Read(PageId id, char* page, std::string* why) override;
  void Prefetch(PageId id) override;
  bool Pending(PageId id) const override { return log_ && log_->Pending(id); }

  uint32_t page_size() const { return page_size_; }  // 0 when no file tells it
  const std::string& data_path() const { return data_path_; }
  uint64_t data_bytes() const { return data_bytes_; }
  uint64_t holes() const;  // bytes of the data file that take no space on the device
  // Returns which pages are in use; nullopt when no checkpoint file is whole.
  const std::optional<SpaceSnapshot>& space() const { return space_; }
  // Returns the end of the log; nullopt when the log cannot be read to its end.
  std::optional<Lsn> log_end() const { return log_end_; }
  const RedoIndex* log() const { return log_.get(); }  // null when no checkpoint file is whole

  // Returns the bytes of the files other than the data file, as Engine::SizeOnDisk counts them.
  NamedBytes OtherFiles() const;

 private:
  // These are the steps of the constructor. Each adds the faults and notes of the files that it
  // reads.
  void ReadMeta();
  void FindPageSize();
  void CheckSuper(const std::optional<SuperblockFields>& super, const std::string& why);
  void CheckCheckpoint(const CheckpointFile& file, const CheckpointFile& other, bool written_after);
  bool Usable(const CheckpointFile& file) const;
  void OpenPages();
  void CheckWitnesses();
  void ReadLog();
  void CheckLength(const SpaceSnapshot& space);
  void CheckMap(const CheckpointFile& file);
  void NoteLeftovers();
  Fault InFile(const std::string& file, uint64_t byte, std::string what, std::string expected = {},
               std::string found = {}) const;

  const std::string dir_, data_path_;
  Inspection* const inspection_;
  DirLock lock_;                // lock on dir_
  std::unique_ptr<File> data_;  // moved to pages_ when the page size is known
  uint64_t data_bytes_ = 0;
  uint32_t page_size_ = 0;
  std::optional<uint64_t> database_;  // database id of the superblock
  bool compressed_ = false;           // the superblock allows compressed pages
  CheckpointFile checkpoints_[2];
  const CheckpointFile* checkpoint_ = nullptr;  // the newest usable one; null: none
  std::optional<SpaceSnapshot> space_;
  std::unique_ptr<PageFile> pages_;
  std::map<PageId, AlignedBuffer> torn_;  // whole copies of torn pages
  std::unique_ptr<RedoIndex> log_;
  std::optional<Lsn> log_end_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_INSPECT_IMAGE_H_
