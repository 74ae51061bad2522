// The journal makes changes of the private views durable before the shared views get them. It lies
// in the files journal.N, which are appended to by direct IO.
//
//   Journal journal(dir, settings, next_seq, database);
//   uint64_t seq = journal.Append(body);    // a section: durable when this returns
//   journal.Flushed(seq, written);          // the data files have all sections up to seq, durably
//
//   ReplayResult replayed = ReplayJournal(dir, database, [&](std::string_view body) { ... });
//
// A section is one group commit: a header {magic, compressed length, raw length, sequence number,
// file id}, the entries compressed with snappy, and XXH3 over both. It is padded to 8192 bytes and
// written by one call, then fdatasync. A section counts if its checksum is right, its file id is
// that of the file's header, and its number follows that of the section before. When all sections
// of a file are flushed, the file is recycled as the next one, or removed. On a full disk even the
// only file is recycled, after a flush.
//
// journal.lsn says up to which section the data files are flushed, where replay begins, and which
// file is the newest one. It is durable before the first section of a file is written.
//
// How a replay knows the end. A section is written when the one before is durable, so a crash tears
// at most the last one, and no section with the file's id and a later number lies behind it. A
// section that does not count ends the journal only if this holds. Otherwise sections were damaged
// after they had been acknowledged, which is an error. So are a damaged header of a file whose
// sections are needed, a missing file before the newest one, and a missing newest file. Sections
// from the earlier life of a recycled file bear another id and lower numbers. A damaged last
// section looks like a torn one: nothing tells whether it was acknowledged.
//
// Only one thread at a time may call Append or the destructor. Any thread may call Flushed and read
// the figures.
#ifndef TESTBED_ENGINES_MMAPV1_JOURNAL_JOURNAL_H_
#define TESTBED_ENGINES_MMAPV1_JOURNAL_JOURNAL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/file/file.h"
#include "device/os/mutex.h"
#include "engines/mmapv1/files/settings.h"

namespace testbed::mmapv1 {

inline constexpr uint64_t kSectionPadding = 8192;
// This is the most bytes of a section's body before compression. Both the section's header and
// snappy have lengths of 32 bits.
inline constexpr uint64_t kMostSectionBytes = 3ull << 30;

class Journal {
 public:
  // Begins a new file. Files in `dir` that an earlier Journal has written stay as they are; their
  // numbers are below the new ones. `database` is the random number of the database, which the
  // journal's files hold.
  Journal(const std::string& dir, const Settings& settings, uint64_t next_seq, uint64_t database);

  // Appends a section, which is durable when this returns, and returns its number. Calls `flush`,
  // which flushes the data files and calls Flushed, when the disk has no space for another file. If
  // that frees no space but all sections are flushed, the present file is recycled. Throws Error
  // (kRun), and has written nothing, when the body has more than kMostSectionBytes.
  uint64_t Append(std::string_view body, const std::function<void()>& flush = {});
  // Tells the journal that the sections up to `seq` are durable in the data files. `written` is the
  // value that written_bytes() had before that flush began.
  void Flushed(uint64_t seq, uint64_t written);
  // Removes all files of the journal. Before that, Flushed must have been called for all sections,
  // and the namespace file must say that the database is clean.
  void Remove();

  uint64_t written_bytes() const { return counts_.written_bytes.load(std::memory_order_relaxed); }
  // Returns the bytes of the sections that are not flushed, which a replay would read.
  uint64_t unflushed_bytes() const {
    // flushed_ is read first. Bytes are written before they are flushed, so written_bytes() is
    // never the smaller number.
    const uint64_t flushed = flushed_.load(std::memory_order_acquire);
    return written_bytes() - flushed;
  }
  bool direct() const { return direct_; }

  struct Counts {
    std::atomic<uint64_t> commits{0}, raw_bytes{0}, payload_bytes{0}, written_bytes{0},
        preallocated_bytes{0}, files_recycled{0};
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Past {
    uint64_t number, last_seq, bytes;
  };
  void NextFile();
  void NextFileOnFullDisk(const std::function<void()>& flush);
  // Recycles the present file as the next one. All its sections must be flushed.
  void UseFileAgain();
  // Writes the header of the next file, which exists, and goes on in that file. With `keeps_last`
  // the previous file is kept until it is flushed; without, the previous file was recycled as the
  // next one.
  void BeginFile(const std::string& path, bool keeps_last);
  bool IsAllFlushed();
  void Place(const std::string& path);
  void BuildSection(std::string_view body, uint64_t seq);
  void WriteLsn() REQUIRES(mutex_);

  const std::string dir_;
  const uint64_t database_;
  const Settings settings_;
  uint64_t seq_;  // number of the last section
  std::unique_ptr<File> file_;
  uint64_t number_, file_id_ = 0, ofs_ = 0;
  AlignedBuffer section_;
  uint64_t section_bytes_ = 0, section_payload_ = 0;  // length with its padding, and without it
  bool direct_ = true;

  Mutex mutex_;                                        // protects the members below
  std::vector<Past> past_ GUARDED_BY(mutex_);          // files before the present one, oldest first
  bool spare_ GUARDED_BY(mutex_) = false;              // there is a flushed file to be recycled
  std::unique_ptr<File> lsn_file_ GUARDED_BY(mutex_);  // journal.lsn, from its first slot on
  uint64_t flushed_seq_ GUARDED_BY(mutex_) = 0, lsn_writes_ GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> flushed_{0};
  Counts counts_;
};

struct ReplayResult {
  uint64_t files = 0;
  uint64_t bytes = 0;     // bytes of the sections that were replayed, with padding
  uint64_t sections = 0;  // number of sections that were replayed
  // This is the number of the last section of the journal, or of the last section that the data
  // files have, if that is later.
  uint64_t last_seq = 0;
  // This is the place of the last section that was replayed; the path is empty when none was.
  struct Place {
    std::string path;
    uint64_t begin = 0, end = 0;
  };
  Place last;
};

// Calls MakeDurable (device/file/durable.h) for each file of the journal, before it is replayed.
void MakeJournalDurable(const std::string& dir);
// Writes the last section and journal.lsn once more (WriteAgain of device/file/durable.h). Only
// after that may the sections reach the data files: the sync of the last section may have failed,
// while all earlier sections are durable.
void WriteEndAgain(const std::string& dir, const ReplayResult& found);
// Calls `apply` with the body of each section after the last data flush, and changes no file.
// Throws Error (kCorruption) when a section that was durable is missing or damaged, or when a file
// was cut or is another database's. By then `apply` was called for the sections before that one.
ReplayResult ReplayJournal(const std::string& dir, uint64_t database,
                           const std::function<void(std::string_view body)>& apply);

// Writes to journal.lsn, durably, that the data files have all sections up to `seq`.
void WriteReplayed(const std::string& dir, uint64_t seq);
// Throws Error (kCorruption) when a journal file holds a whole section that the data files may
// lack. That contradicts a namespace file which says that the database is clean. Journal files that
// a crash has left while they were made or removed do not contradict it. Changes no file.
void CheckJournalIsDone(const std::string& dir);

// Removes all journal files in `dir`. journal.lsn goes last: until then it says that the data files
// have the sections that are left. Files whose names only begin like those of the journal stay.
void RemoveJournal(const std::string& dir);
bool IsJournalFile(const std::string& path);

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_JOURNAL_JOURNAL_H_
