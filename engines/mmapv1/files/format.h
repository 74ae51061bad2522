// This header has the files of the mmapv1 engine, byte by byte (docs/engines/mmapv1.md describes
// them in words).
//
// A database is the namespace file NAME.ns and data files NAME.0, NAME.1, ..., each of which is
// mapped whole. A place in them is a DiskLoc: file and offset. All structures lie in the mapping as
// they are declared here, little-endian. Only the header of the namespace file has a checksum.
//
//   NAME.ns   NsHeader (4096 B), then a hash table of NsEntry: a table's heap, index and counts
//   NAME.n    FileHeader (8192 B), then extents up to FileHeader::unused
//   extent    ExtentHeader, then records without gaps; an index's buckets begin at 4096
//   record    RecordHeader (16 B), then a BSON document or a b-tree bucket; or a DeletedRecord
#ifndef TESTBED_ENGINES_MMAPV1_FILES_FORMAT_H_
#define TESTBED_ENGINES_MMAPV1_FILES_FORMAT_H_

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace testbed::mmapv1 {

inline constexpr char kFileBase[] = "mmapv1";  // the names of all files begin with it
inline constexpr uint32_t kFormatVersion = 2;

inline constexpr uint32_t kMemoryPage = 4096;  // unit of copies, of remapping and of extents
inline constexpr uint32_t kFileHeaderBytes = 8192;
inline constexpr uint32_t kNsHeaderBytes = 4096;
inline constexpr uint32_t kMostFileBytes = 0x7ff00000;  // offsets have 31 bits
inline constexpr int32_t kMostFiles = 4096;
inline constexpr size_t kMaxKeySize = 1024;
inline constexpr size_t kMaxValueSize = 16 << 20;

// A DiskLoc is a place in the files. No pointer on disk leads into the namespace file, which is
// kNsFile, but journal entries name it.
struct DiskLoc {
  int32_t file = -1;
  int32_t ofs = 0;
  bool null() const { return file < 0; }
  friend bool operator==(const DiskLoc&, const DiskLoc&) = default;
  friend auto operator<=>(const DiskLoc&, const DiskLoc&) = default;
};
inline constexpr int32_t kNsFile = kMostFiles;

inline DiskLoc Plus(DiskLoc loc, uint32_t bytes) {
  return {loc.file, loc.ofs + static_cast<int32_t>(bytes)};
}

inline constexpr uint32_t kFileMagic = 0x31764d4d;    // "MMv1"
inline constexpr uint32_t kNsMagic = 0x534e4d4d;      // "MMNS"
inline constexpr uint32_t kExtentMagic = 0x41424445;  // "EDBA"

// An OpenState tells how the database was left. It lies on disk.
enum class OpenState : uint32_t {
  kClean = 0,
  kJournaled = 1,    // in use with a journal, which must be replayed
  kUnjournaled = 2,  // in use without a journal; nobody knows what the files hold
};

// One store writes an OpenMark, without the journal, so that the kernel never writes a state
// without its checksum. Without the checksum a flipped bit could call a database clean that needs
// its journal.
struct alignas(8) OpenMark {
  OpenState state;
  uint32_t checksum;  // checksum of all fields of the header but `tables`
};

struct NsHeader {
  uint32_t magic;
  uint32_t version;
  uint64_t database;  // a random number that all files of the database have
  OpenMark mark;
  uint32_t slots;   // number of slots of the hash table
  uint32_t tables;  // number of tables; written by way of the journal, recounted by `testbed check`
};
static_assert(sizeof(NsHeader) == 32);

inline uint32_t ChecksumOf(const NsHeader& header) {
  const struct {
    uint64_t database;
    uint32_t magic, version, state, slots;
  } fields{header.database, header.magic, header.version, static_cast<uint32_t>(header.mark.state),
           header.slots};
  return static_cast<uint32_t>(XXH3_64bits(&fields, sizeof fields));
}

struct FileHeader {
  uint32_t magic;  // 0 while the file is preallocated and not in use; then all of it is zeros
  uint32_t version;
  uint64_t database;
  uint64_t bytes;   // length of the file
  uint32_t number;  // number of the file
  uint32_t unused;  // offset of the next extent
  friend bool operator==(const FileHeader&, const FileHeader&) = default;
};
inline bool AllZeros(const FileHeader& header) { return header == FileHeader{}; }

// Deleted records are in lists by size class. List i has the records that are shorter than
// SizeOfClass(i) but not shorter than SizeOfClass(i - 1). The last list also has all longer ones.
inline constexpr int kSizeClasses = 19;
constexpr uint32_t SizeOfClass(int i) { return 32u << i; }  // 32 B to 8 MB

// A Space describes the records of one heap or one index.
struct Space {
  DiskLoc first_extent, last_extent;
  DiskLoc free[kSizeClasses];
  uint32_t last_extent_bytes;
  uint32_t extents;
  uint64_t records;
  uint64_t record_bytes;  // bytes of the records, with headers and padding
};
static_assert(sizeof(Space) == 192);

inline constexpr size_t kMaxTableName = 152;

struct NsEntry {
  uint32_t used;
  uint32_t name_size;
  char name[kMaxTableName];
  Space heap, index;
  DiskLoc root;  // root of the b-tree
  uint64_t rows;
  double padding;  // factor of the padding allocation, 1 to 2
  uint64_t unused;
};
static_assert(sizeof(NsEntry) == 576);

struct ExtentHeader {
  uint32_t magic;
  uint32_t bytes;  // length with header; a multiple of kMemoryPage
  DiskLoc self, next, prev;
  int32_t first_record, last_record;  // offsets in the file; kNone: no record
  uint32_t slot;                      // slot of the table's entry in the namespace file
  uint32_t is_index;
  uint32_t unused[4];
};
static_assert(sizeof(ExtentHeader) == 64);
inline constexpr int32_t kNone = -1;

struct RecordHeader {
  uint32_t bytes;  // length, with header and padding
  int32_t extent;  // offset of the extent in the file
  int32_t next, prev;
};
static_assert(sizeof(RecordHeader) == 16);
// This is the alignment of extents, records and deleted records: they begin at multiples of it.
inline constexpr uint32_t kAlignment = alignof(RecordHeader);

struct DeletedRecord {
  uint32_t bytes;
  int32_t extent;
  DiskLoc next;  // next deleted record in the list
};
static_assert(sizeof(DeletedRecord) == 16);

// This is the offset in an extent at which its records begin. An index has its buckets on memory
// pages, two pages for each bucket.
inline constexpr uint32_t kHeapStart = sizeof(ExtentHeader);
inline constexpr uint32_t kIndexStart = kMemoryPage;

// A row in the heap is the BSON document {_id: <binary key>, v: <binary value>}.
inline constexpr uint32_t kDocumentFrame = 23;  // bytes of a document beside its key and value

// A bucket is a record of 8192 bytes. The structures below lie in the 8176 bytes behind its header.
inline constexpr uint32_t kBucketRecord = 8192;
inline constexpr uint32_t kBucketBytes = kBucketRecord - sizeof(RecordHeader);

// A PackedLoc is a DiskLoc in 7 bytes: the offset in 4, the file in 3.
struct PackedLoc {
  uint8_t bytes[7];
};

// These places stand for keys without a record.
inline constexpr DiskLoc kNoRecord{-1, 0};  // the row's value is empty: the key is the whole row
// kUnusedKey says that the key was erased, but stays because it divides two children.
inline constexpr DiskLoc kUnusedKey{-2, 0};

inline DiskLoc Unpack(const PackedLoc& p) {
  const uint32_t ofs = p.bytes[0] | uint32_t{p.bytes[1]} << 8 | uint32_t{p.bytes[2]} << 16 |
                       uint32_t{p.bytes[3]} << 24;
  const uint32_t file = p.bytes[4] | uint32_t{p.bytes[5]} << 8 | uint32_t{p.bytes[6]} << 16;
  // The shifts extend the sign of the 24 bits.
  return {static_cast<int32_t>(file << 8) >> 8, static_cast<int32_t>(ofs)};
}

inline PackedLoc Pack(DiskLoc loc) {
  const auto ofs = static_cast<uint32_t>(loc.ofs), file = static_cast<uint32_t>(loc.file);
  return {{static_cast<uint8_t>(ofs), static_cast<uint8_t>(ofs >> 8),
           static_cast<uint8_t>(ofs >> 16), static_cast<uint8_t>(ofs >> 24),
           static_cast<uint8_t>(file), static_cast<uint8_t>(file >> 8),
           static_cast<uint8_t>(file >> 16)}};
}

struct KeyNode {
  PackedLoc left;      // child with the keys before this one
  PackedLoc record;    // the row's document, kNoRecord or kUnusedKey
  uint8_t key_ofs[2];  // offset in the bucket's body of the key's length and bytes
};
static_assert(sizeof(KeyNode) == 16);

struct BucketHeader {
  PackedLoc parent, next_child;  // next_child has the keys after the last one
  uint16_t flags;
  uint16_t empty;  // bytes between the key nodes and the keys
  uint16_t top;    // bytes of keys at the end of the body, with garbage
  uint16_t n;      // number of keys
};
static_assert(sizeof(BucketHeader) == 22);
inline constexpr uint16_t kPacked = 1;  // flag: no garbage lies among the keys

// This is the number of bytes in a bucket for key nodes and keys.
inline constexpr uint32_t kBodyBytes = kBucketBytes - sizeof(BucketHeader);
struct BucketRecord {
  RecordHeader record;
  BucketHeader bucket;
  char body[kBodyBytes];
};
static_assert(sizeof(BucketRecord) == kBucketRecord);

// These functions return the path of a file of a database in `dir`: "DIR/mmapv1.ns",
// "DIR/mmapv1.0".
inline std::string NsPath(const std::string& dir) { return dir + "/" + kFileBase + ".ns"; }
inline std::string DataPath(const std::string& dir, int32_t file) {
  return dir + "/" + kFileBase + "." + std::to_string(file);
}

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_FILES_FORMAT_H_
