// The log after a checkpoint, read without replaying it: what it says of the space map, of pages
// and of rows, and what a page looks like once the changes of shape in the log are made. For a
// database that is not open (image.h); recovery itself is in redo.h and store_open.cc.
//
//   RedoIndex index(LogPath(dir), page_size, &faults);
//   index.Read(checkpoint.redo, checkpoint.log_id, &space);
//   state = index.Apply(page_id, state, page, &why);     // as after recovery's first pass
//
// Every segment header, frame and record from the redo point on is checked; what is wrong with them
// becomes a fault that names file and byte. Kept is where each change lies in the log, not the
// change: about 100 bytes for a page that the log changes. Not for several threads.
#ifndef TESTBED_ENGINES_BTREE_STORE_REDO_INDEX_H_
#define TESTBED_ENGINES_BTREE_STORE_REDO_INDEX_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "device/file/file.h"
#include "device/log/log.h"
#include "device/log/log_format.h"
#include "device/log/log_reader.h"
#include "engines/btree/page/page.h"
#include "engines/btree/page/space.h"
#include "engines/btree/pool/redo.h"
#include "engines/inspect.h"

namespace testbed::btree {

class RedoIndex {
 public:
  RedoIndex(std::string directory, uint32_t page_size, Faults* faults)
      : directory_(std::move(directory)), page_size_(page_size), faults_(faults) {}

  // Reads the log from `from` to its end and brings `space` there. False when it cannot be read to
  // its end; what came before the damage counts. Call once.
  bool Read(Lsn from, uint64_t log_id, Space* space);

  // Makes the changes that the page, as the data file has it, lacks. Returns the page's state
  // after; *why says what went wrong when it is kBroken.
  PageState Apply(PageId id, PageState state, char* page, std::string* why);

  // The log has this page's content again, as a row's value; replay writes it.
  bool Pending(PageId id) const { return id < pending_.size() && pending_[id]; }
  // Rows of the catalogue that are in the log, by name.
  const std::map<std::string, std::string>& catalogue() const { return catalogue_; }
  // Each table that the log has rows of, with the first of them.
  const std::map<uint32_t, Lsn>& tables() const { return tables_; }

  const ReplayNeeded& replay() const { return replay_; }
  Lsn end() const { return end_; }  // of the log
  // Something was written to the log after the redo point, if only by opening it.
  bool written_after() const { return written_after_; }
  // A fault about a position of the log.
  Fault At(Lsn lsn, std::string what) const;

 private:
  struct Segment {
    std::string path;
    SegmentHeader header;
  };
  // A change of one page, and where in the log its payload lies.
  struct Change {
    Lsn lsn;      // of the page after it
    Lsn payload;  // position
    uint32_t size;
    PageAction action;
    bool whole() const { return PageChange{action, kNoPage, {}}.whole(); }
  };

  bool ListSegments();
  bool ReadHeader(const std::string& path, uint64_t number);
  bool CheckHeaders();
  bool ReadRecords(LogReader* reader, Lsn from, Space* space);
  void AddRecord(const LogRecord& record, Space* space);
  void AddStructure(const LogRecord& record, std::string_view structure, Space* space);
  bool CheckRun(const LogRecord& record, const PageRun& run);
  void AddOperations(const LogRecord& record, const DecodedRecord& decoded);
  void AddOperation(const LogRecord& record, const RowWrite& op);
  const Segment* Find(Lsn lsn) const;
  void ReadLog(Lsn lsn, size_t n, std::string* bytes);
  void Damage(Lsn lsn, std::string what) { faults_->Add(At(lsn, std::move(what))); }

  const std::string directory_;
  const uint32_t page_size_;
  Faults* const faults_;
  std::vector<Segment> segments_;  // in use, by number
  std::unordered_map<PageId, std::vector<Change>> changes_;
  std::vector<bool> pending_;
  std::unordered_map<uint64_t, std::string> parts_;  // of transactions without their end so far
  std::map<std::string, std::string> catalogue_;
  std::map<uint32_t, Lsn> tables_;
  ReplayNeeded replay_;
  Lsn end_ = 0;
  bool written_after_ = false;
  std::unique_ptr<File> file_;  // the segment that was read last
  std::string payload_;
  AlignedBuffer scratch_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_REDO_INDEX_H_
