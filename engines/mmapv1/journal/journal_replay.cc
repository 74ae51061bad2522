// This file reads the journal after a crash.
#include <snappy.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/durable.h"
#include "engines/mmapv1/journal/journal.h"
#include "engines/mmapv1/journal/journal_format.h"

namespace testbed::mmapv1 {
namespace {

std::unique_ptr<File> OpenToRead(const std::string& path) {
  FileOptions options;
  options.kind = FileKind::kLog;
  options.read_only = true;
  return File::Open(path, options);
}

// A NewestLsn is the valid slot of journal.lsn that counts, with the number of that slot.
struct NewestLsn {
  LsnSlot slot{};
  uint64_t at = 0;
};

// Returns the newest valid slot of journal.lsn; nothing when the file is missing or has no valid
// slot.
std::optional<NewestLsn> FindLsn(const std::string& dir) {
  std::optional<NewestLsn> newest;
  if (!IsThere(LsnPath(dir))) return newest;
  const std::unique_ptr<File> file = OpenToRead(LsnPath(dir));
  for (uint64_t i = 0; i < 2; ++i) {
    LsnSlot slot{};
    if (file->ReadSome(i * kLsnSlotBytes, &slot, sizeof slot) != sizeof slot) continue;
    if (slot.magic != kLsnMagic || slot.checksum != ChecksumOf(slot)) continue;
    if (!newest ||
        std::pair(slot.newest, slot.seq) >= std::pair(newest->slot.newest, newest->slot.seq)) {
      newest = {slot, i};
    }
  }
  return newest;
}

NewestLsn ReadLsn(const std::string& dir) {
  const std::optional<NewestLsn> newest = FindLsn(dir);
  if (!newest) {
    throw Error(Error::kCorruption,
                "file " + LsnPath(dir) +
                    " is missing or damaged: without it nobody knows which part of the journal "
                    "the data files lack");
  }
  return *newest;
}

// Returns the numbers of the journal's files, in ascending order.
std::vector<uint64_t> JournalNumbers(const std::string& dir) {
  std::vector<uint64_t> numbers;
  for (const std::string& name : NamesIn(dir)) {
    if (!name.starts_with(kJournalBase)) continue;
    const std::string number = name.substr(sizeof kJournalBase - 1);
    const bool digits = !number.empty() && number.size() < 19 &&
                        std::all_of(number.begin(), number.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
    if (digits) numbers.push_back(std::stoull(number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

class SectionReader {
 public:
  SectionReader(const std::string& path, uint64_t number)
      : file_(OpenToRead(path)), bytes_(file_->Size()) {
    JournalFileHeader header{};
    if (file_->ReadSome(0, &header, sizeof header) != sizeof header) return;
    valid_ = header.magic == kJournalMagic && header.number == number &&
             header.checksum == ChecksumOf(header);
    file_id_ = header.file_id;
    first_seq_ = header.first_seq;
    database_ = header.database;
    was_cut_ = bytes_ < header.bytes;
  }
  bool valid() const { return valid_; }
  uint64_t database() const { return database_; }
  bool was_cut() const { return was_cut_; }
  uint64_t first_seq() const { return first_seq_; }
  uint64_t section_bytes() const { return section_bytes_; }
  uint64_t section_end() const { return ofs_; }

  // Sets *body to the body of the section with number `seq`. Returns false when the next section
  // has another number or is torn.
  bool Next(uint64_t seq, std::string* body) {
    SectionHeader header;
    if (!HeaderAt(ofs_, &header) || header.file_id != file_id_ || header.seq != seq ||
        !WholeAt(ofs_, header)) {
      return false;
    }
    const char* const compressed = buffer_.data() + sizeof header;
    if (!snappy::Uncompress(compressed, header.body_bytes, body) ||
        body->size() != header.raw_bytes) {
      return false;
    }
    section_bytes_ = (buffer_.size() + kSectionPadding - 1) / kSectionPadding * kSectionPadding;
    ofs_ += section_bytes_;  // ofs_ moves to the end of the section
    return true;
  }

  // Returns whether the file has a section with a number above `seq` behind the section that Next
  // refused. If so, the refused section was durable once.
  bool HasLater(uint64_t seq) const {
    SectionHeader header;
    for (uint64_t ofs = ofs_ + kSectionPadding; HeaderAt(ofs, &header); ofs += kSectionPadding) {
      if (header.magic == kSectionMagic && header.file_id == file_id_ && header.seq > seq) {
        return true;
      }
    }
    return false;
  }

  // Returns whether a file whose header is damaged, or was never written, holds a whole section
  // with number `seq` or a later one.
  bool HoldsFrom(uint64_t seq) {
    SectionHeader header;
    for (uint64_t ofs = kSectionPadding; HeaderAt(ofs, &header); ofs += kSectionPadding) {
      if (header.magic == kSectionMagic && header.seq >= seq && WholeAt(ofs, header)) return true;
    }
    return false;
  }

 private:
  bool HeaderAt(uint64_t ofs, SectionHeader* header) const {
    return file_->ReadSome(ofs, header, sizeof *header) == sizeof *header;
  }
  // Reads the section at `ofs` into buffer_. Returns whether it is whole.
  bool WholeAt(uint64_t ofs, const SectionHeader& header) {
    const uint64_t checked = sizeof header + header.body_bytes;
    if (header.magic != kSectionMagic || ofs + checked + sizeof(SectionFooter) > bytes_) {
      return false;
    }
    buffer_.resize(checked + sizeof(SectionFooter));
    file_->Read(ofs, buffer_.data(), buffer_.size());
    SectionFooter footer;
    std::memcpy(&footer, buffer_.data() + checked, sizeof footer);
    return footer.checksum == XXH3_64bits(buffer_.data(), checked);
  }

  std::unique_ptr<File> file_;
  uint64_t bytes_;
  bool valid_ = false, was_cut_ = false;
  uint64_t database_ = 0;
  uint64_t file_id_ = 0, first_seq_ = 0, ofs_ = kSectionPadding, section_bytes_ = 0;
  std::string buffer_;
};

[[noreturn]] void Lacks(const std::string& dir, uint64_t seq) {
  throw Error(Error::kCorruption, "the journal in " + dir + " lacks section " +
                                      std::to_string(seq) +
                                      ": what was committed after it is lost");
}

[[noreturn]] void Damaged(const std::string& path, uint64_t seq) {
  throw Error(Error::kCorruption, "file " + path + " is damaged: section " + std::to_string(seq) +
                                      " of the journal, which was durable, cannot be read");
}

}  // namespace

void MakeJournalDurable(const std::string& dir) {
  for (const std::string& name : NamesIn(dir)) {
    if (IsJournalFile(name)) MakeDurable(dir + "/" + name, FileKind::kLog);
  }
}

void WriteEndAgain(const std::string& dir, const ReplayResult& found) {
  const auto write = [](const std::string& path, uint64_t begin, uint64_t end) {
    FileOptions options;
    options.kind = FileKind::kLog;
    WriteAgain(File::Open(path, options).get(), begin, end);
  };
  write(LsnPath(dir), 0, UINT64_MAX);
  if (!found.last.path.empty()) write(found.last.path, found.last.begin, found.last.end);
}

void WriteReplayed(const std::string& dir, uint64_t seq) {
  const NewestLsn newest = ReadLsn(dir);
  if (newest.slot.seq >= seq) return;
  LsnSlot slot = newest.slot;
  slot.seq = seq;
  slot.checksum = ChecksumOf(slot);
  FileOptions options;
  options.kind = FileKind::kLog;
  const std::unique_ptr<File> file = File::Open(LsnPath(dir), options);
  // The other slot, which does not count, is written, so that the one that counts stays if this
  // write is torn.
  file->Write((1 - newest.at) * kLsnSlotBytes, &slot, sizeof slot);
  file->Sync();
}

void CheckJournalIsDone(const std::string& dir) {
  const std::optional<NewestLsn> newest = FindLsn(dir);
  const uint64_t flushed = newest ? newest->slot.seq : 0;
  for (const uint64_t number : JournalNumbers(dir)) {
    const std::string path = JournalPath(dir, number);
    if (!SectionReader(path, number).HoldsFrom(flushed + 1)) continue;
    throw Error(
        Error::kCorruption,
        "the namespace file in " + dir + " says that the database was closed in order, but " +
            path + " holds commits after section " + std::to_string(flushed) +
            " of the journal, which the data files may lack: one of the files is damaged or "
            "from another time");
  }
}

ReplayResult ReplayJournal(const std::string& dir, uint64_t database,
                           const std::function<void(std::string_view)>& apply) {
  ReplayResult result;
  const LsnSlot lsn = ReadLsn(dir).slot;
  result.last_seq = lsn.seq;
  const std::vector<uint64_t> numbers = JournalNumbers(dir);
  if (numbers.empty() || numbers.back() < lsn.newest) {
    throw Error(Error::kCorruption,
                "file " + JournalPath(dir, lsn.newest) + " of the journal is missing");
  }
  uint64_t next = 0;
  std::string body;
  for (const uint64_t number : numbers) {
    const std::string path = JournalPath(dir, number);
    SectionReader reader(path, number);
    // Sections that are flushed may be missing, because their files were recycled or removed.
    const uint64_t expected = std::max(next, lsn.seq + 1);
    if (!reader.valid()) {
      if (number == lsn.newest || reader.HoldsFrom(expected)) Damaged(path, expected);
      continue;  // a crash came just after the file got its name
    }
    if (reader.database() != database) {
      throw Error(Error::kCorruption, "file " + path + " belongs to another database");
    }
    if (reader.was_cut()) Damaged(path, expected);
    ++result.files;
    if (reader.first_seq() > expected || (next > lsn.seq && reader.first_seq() != next)) {
      Lacks(dir, expected);
    }
    next = reader.first_seq();
    for (; reader.Next(next, &body); ++next) {
      if (next <= lsn.seq) continue;
      apply(body);
      ++result.sections;
      result.bytes += reader.section_bytes();
      result.last_seq = next;
      result.last = {path, reader.section_end() - reader.section_bytes(), reader.section_end()};
    }
    if (reader.HasLater(std::max(next, lsn.seq))) Damaged(path, next);
  }
  return result;
}

}  // namespace testbed::mmapv1
