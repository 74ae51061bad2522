// This header has the bytes of the journal's files. journal.h says what they mean.
#ifndef TESTBED_ENGINES_MMAPV1_JOURNAL_JOURNAL_FORMAT_H_
#define TESTBED_ENGINES_MMAPV1_JOURNAL_JOURNAL_FORMAT_H_

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace testbed::mmapv1 {

inline constexpr char kJournalBase[] = "journal.";
inline constexpr uint64_t kJournalMagic = 0x326c6e724a314d4d;  // "MM1Jrnl2"
inline constexpr uint32_t kSectionMagic = 0x31636553;          // "Sec1"
inline constexpr uint64_t kLsnMagic = 0x326e734c314d4d;        // "MM1Lsn2"

// JournalFileHeader is the first 8192 bytes of a file.
struct JournalFileHeader {
  uint64_t magic;
  uint64_t number;
  uint64_t file_id;  // random number, which each section of the file has, too
  uint64_t first_seq;
  uint64_t database;  // number of the database, as in the namespace file
  uint64_t bytes;     // length of the file, which never shrinks
  uint64_t checksum;  // checksum of the fields before it
};

struct SectionHeader {
  uint32_t magic;
  uint32_t body_bytes;  // compressed size
  uint64_t raw_bytes;
  uint64_t seq;
  uint64_t file_id;
};
static_assert(sizeof(SectionHeader) == 32);
struct SectionFooter {
  uint64_t checksum;  // checksum of the header and the body
};

// journal.lsn has two LsnSlots, 4096 bytes apart, which are written in turn. The valid one with the
// greater `newest` counts, and of two with the same `newest` the one with the greater `seq`.
struct LsnSlot {
  uint64_t magic;
  uint64_t seq;
  uint64_t newest;    // number of the newest file that may hold sections
  uint64_t checksum;  // checksum of the fields before it
};
inline constexpr uint64_t kLsnSlotBytes = 4096;

template <typename T>
uint64_t ChecksumOf(const T& fields) {
  return XXH3_64bits(&fields, offsetof(T, checksum));
}

inline std::string JournalPath(const std::string& dir, uint64_t number) {
  return dir + "/" + kJournalBase + std::to_string(number);
}
inline std::string SparePath(const std::string& dir) { return dir + "/" + kJournalBase + "spare"; }
inline std::string LsnPath(const std::string& dir) { return dir + "/" + kJournalBase + "lsn"; }

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_JOURNAL_JOURNAL_FORMAT_H_
