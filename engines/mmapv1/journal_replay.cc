// Reading the journal after a crash.
#include <snappy.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>

#include "device/error.h"
#include "engines/mmapv1/journal.h"
#include "engines/mmapv1/journal_format.h"

namespace testbed::mmapv1 {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<File> OpenToRead(const std::string& path) {
  FileOptions options;
  options.kind = FileKind::kLog;
  options.read_only = true;
  return File::Open(path, options);
}

uint64_t ReadLsn(const std::string& dir) {
  if (!fs::exists(LsnPath(dir))) return 0;
  const std::unique_ptr<File> file = OpenToRead(LsnPath(dir));
  uint64_t seq = 0;
  for (uint64_t i = 0; i < 2; ++i) {
    LsnSlot slot{};
    if (file->ReadSome(i * kLsnSlotBytes, &slot, sizeof slot) != sizeof slot) continue;
    if (slot.magic == kLsnMagic && slot.checksum == ChecksumOf(slot)) seq = std::max(seq, slot.seq);
  }
  return seq;
}

// Numbers of the journal's files, in their order.
std::vector<uint64_t> JournalNumbers(const std::string& dir) {
  std::vector<uint64_t> numbers;
  for (const auto& entry : fs::directory_iterator(dir)) {
    const std::string name = entry.path().filename();
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
  }
  bool valid() const { return valid_; }
  uint64_t first_seq() const { return first_seq_; }
  uint64_t section_bytes() const { return section_bytes_; }

  // The body of the section with this number, if it comes next and is whole.
  bool Next(uint64_t seq, std::string* body) {
    SectionHeader header{};
    if (file_->ReadSome(ofs_, &header, sizeof header) != sizeof header) return false;
    if (header.magic != kSectionMagic || header.file_id != file_id_ || header.seq != seq) {
      return false;
    }
    const uint64_t checked = sizeof header + header.body_bytes;
    if (ofs_ + checked + sizeof(SectionFooter) > bytes_) return false;
    buffer_.resize(checked + sizeof(SectionFooter));
    file_->Read(ofs_, buffer_.data(), buffer_.size());
    SectionFooter footer;
    std::memcpy(&footer, buffer_.data() + checked, sizeof footer);
    if (footer.checksum != XXH3_64bits(buffer_.data(), checked)) return false;
    const char* const compressed = buffer_.data() + sizeof header;
    if (!snappy::Uncompress(compressed, header.body_bytes, body) ||
        body->size() != header.raw_bytes) {
      return false;
    }
    section_bytes_ = (buffer_.size() + kSectionPadding - 1) / kSectionPadding * kSectionPadding;
    ofs_ += section_bytes_;
    return true;
  }

 private:
  std::unique_ptr<File> file_;
  uint64_t bytes_;
  bool valid_ = false;
  uint64_t file_id_ = 0, first_seq_ = 0, ofs_ = kSectionPadding, section_bytes_ = 0;
  std::string buffer_;
};

}  // namespace

ReplayResult ReplayJournal(const std::string& dir,
                           const std::function<void(std::string_view)>& apply) {
  ReplayResult result;
  const uint64_t flushed = ReadLsn(dir);
  result.last_seq = flushed;
  uint64_t next = 0;
  std::string body;
  for (const uint64_t number : JournalNumbers(dir)) {
    SectionReader reader(JournalPath(dir, number), number);
    // A file that had just got its name: nothing is in it.
    if (!reader.valid()) continue;
    ++result.files;
    // Of what is flushed anything may be missing.
    const uint64_t expected = std::max(next, flushed + 1);
    if (reader.first_seq() > expected || (next > flushed && reader.first_seq() != next)) {
      throw Error(Error::kCorruption, "the journal in " + dir + " lacks section " +
                                          std::to_string(expected) +
                                          ": what was committed after it is lost");
    }
    next = reader.first_seq();
    for (; reader.Next(next, &body); ++next) {
      if (next <= flushed) continue;
      apply(body);
      ++result.sections;
      result.bytes += reader.section_bytes();
      result.last_seq = next;
    }
  }
  return result;
}

}  // namespace testbed::mmapv1
