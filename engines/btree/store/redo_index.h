// A RedoIndex reads the log after a checkpoint without replaying it. It tells what the log does to
// the space map, to pages and to rows, and makes the log's changes of shape to a page in memory. It
// is for a database that is not open (inspect/image.h); recovery itself is in redo.h and
// store_open.cc.
//
//   RedoIndex index(LogPath(dir), page_size, &faults);
//   index.Read(checkpoint.redo, checkpoint.log_id, &space);
//   state = index.Apply(page_id, state, page, &why);     // as after recovery's first pass
//
// Every segment header, frame and record from the redo point on is checked; each defect becomes a
// fault that names file and byte. The index keeps the position of each change in the log instead of
// the change: about 100 bytes for a page that the log changes. Not thread-safe.
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

  // Reads the log from `from` to its end and makes its changes to `space`. Returns false, after it
  // added a fault, when the log cannot be read to its end; the records before the damage count.
  // Call it once, first.
  bool Read(Lsn from, uint64_t log_id, Space* space);

  // Makes those changes of the log that `page`, read from the data file in state `state`, lacks.
  // Returns the page's state after them; *why is set when that is kBroken.
  PageState Apply(PageId id, PageState state, char* page, std::string* why);

  // Returns whether the log makes this page used as a part of a row's value: replay writes the page
  // again, so its content in the file does not matter.
  bool Pending(PageId id) const { return id < pending_.size() && pending_[id]; }
  // Returns the values of the catalogue's rows that the log writes, by key.
  const std::map<std::string, std::string>& catalogue() const { return catalogue_; }
  // Returns the numbers of the tables of which the log has rows, each with the LSN of the first
  // one.
  const std::map<uint32_t, Lsn>& tables() const { return tables_; }

  const ReplayNeeded& replay() const { return replay_; }
  Lsn end() const { return end_; }  // end of the log
  // Returns whether the log has frames after the redo point; opening a log writes one.
  bool written_after() const { return written_after_; }
  // Returns a fault with the file and byte of a position in the log.
  Fault At(Lsn lsn, std::string what) const;

 private:
  struct Segment {
    std::string path;
    SegmentHeader header;
  };
  // A Change is a change of one page, with the place of its payload in the log.
  struct Change {
    Lsn lsn;        // LSN of the page after the change
    Lsn payload;    // position of the payload
    uint32_t size;  // bytes of the payload
    PageAction action;
    bool whole() const { return PageChange{action, kNoPage, {}}.whole(); }
  };

  // Each of these functions returns false when it added a fault with which the log cannot be read.
  bool ListSegments();
  bool ReadHeader(const std::string& path, uint64_t number, bool last);
  bool CheckHeaders();
  bool ReadRecords(LogReader* reader, Lsn from, Space* space);
  void AddRecord(const LogRecord& record, Space* space);
  void AddStructure(const LogRecord& record, std::string_view structure, Space* space);
  bool CheckRun(const LogRecord& record, const PageRun& run);
  void AddOperations(const LogRecord& record, const DecodedRecord& decoded);
  void AddOperation(const LogRecord& record, const RowWrite& op);
  const Segment* Find(Lsn lsn) const;                   // null when no segment has that position
  void ReadLog(Lsn lsn, size_t n, std::string* bytes);  // throws Error when it cannot
  void Damage(Lsn lsn, std::string what) { faults_->Add(At(lsn, std::move(what))); }

  const std::string directory_;
  const uint32_t page_size_;
  Faults* const faults_;
  std::vector<Segment> segments_;                            // segments in use, in order
  std::unordered_map<PageId, std::vector<Change>> changes_;  // changes of each page, by LSN
  std::vector<bool> pending_;
  TransactionParts parts_;
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
