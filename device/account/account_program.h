// AssembleAccountProgram makes the program that the kernel account runs on the block layer's
// tracepoints. The program fits the running kernel's structure layouts, one device and one event.
//
// At an event on its device the program does three things:
//   1. It classes the request (FileKind). Any request to another partition than the file system's
//      is kOtherFile. A request whose first sector lies in the file system's journal is kFsJournal.
//      Else the program looks up the inode of the request's first page among the registered files;
//      the block device's own inode is metadata. A request whose pages are no file's (direct IO, a
//      file system's private buffers) is metadata if it is flagged so; else it has the class of the
//      file call under way.
//   2. It looks up the slot of the current thread in `tids`. A thread without a slot is counted by
//      name.
//   3. It counts the request there, under the operation that is running on the thread.
//
// Everything read from the kernel's memory goes through bpf_probe_read_kernel: an unexpected value
// costs a class, never a count.
#ifndef TESTBED_DEVICE_ACCOUNT_ACCOUNT_PROGRAM_H_
#define TESTBED_DEVICE_ACCOUNT_ACCOUNT_PROGRAM_H_

#include <linux/bpf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/account/kernel_types.h"
#include "device/account/ledger.h"

namespace testbed {

// These maps are shared between the program and user space.
struct AccountMaps {
  int slots = -1;    // array, mapped: slot index -> KernelSlot
  int tids = -1;     // hash: thread id (uint32_t) -> slot index (uint32_t)
  int files = -1;    // hash: FileKey -> FileKind (uint32_t)
  int journal = -1;  // array of one JournalSectors
  int foreign = -1;  // hash: ForeignKey -> BlockCounts
};

struct FileKey {
  uint64_t dev;  // kernel's encoding
  uint64_t inode;
};

inline constexpr size_t kMaxJournalRanges = 32;
struct JournalSectors {
  struct Range {
    uint64_t first, end;
  };
  Range bounds;                     // covers all ranges: one comparison rules out most requests
  Range ranges[kMaxJournalRanges];  // unused ranges are empty
};

// kUnclassedFlush is the class of an empty flush by a thread that has no slot. The thread's name
// tells user space which file system or program asked for the flush.
inline constexpr uint32_t kUnclassedFlush = kFileKinds;
// kUnclassedIo is the class of direct IO of a file that is not registered.
inline constexpr uint32_t kUnclassedIo = kFileKinds + 1;

struct ForeignKey {
  char thread[16];  // kernel's name of the thread; "kworker" for all kernel workers
  uint32_t kind;    // FileKind, kUnclassedFlush or kUnclassedIo
  uint32_t unused;
};
// This thread name marks the entries that count IO for which the hash had no room. The hash always
// has one such entry for each kind.
inline constexpr char kForeignOverflow[16] = "other";

// AccountLayout holds the offsets and values of the running kernel that the program needs.
struct AccountLayout {
  using Member = KernelTypes::Member;
  Member bio_bdev, bio_flags, bio_sector, bio_size, bio_vecs;
  Member vec_page;
  std::optional<Member> page_head;  // where a tail page names its head page
  Member page_mapping, mapping_host;
  Member inode_sb, inode_mapping, inode_number, inode_rdev, sb_dev;
  Member bdev_disk, bdev_dev, disk_major, disk_minor;
  Member request_bio;
  int32_t op_discard, op_secure_erase, op_passthrough;  // passthrough and above: drivers' commands
  uint64_t meta_flag, readahead_flag;

  // Returns the layout. When this kernel lacks one of its parts, returns nothing and sets *why to a
  // sentence.
  static std::optional<AccountLayout> Resolve(const KernelTypes& types, std::string* why);
};

// An AccountEvent says how the program changes the counts at a tracepoint.
struct AccountEvent {
  std::string tracepoint;
  int argument;      // index of the argument that is the bio or request
  bool is_request;   // the argument is a request, counted by its first bio
  int32_t requests;  // added to the number of requests
  bool bytes;        // whether the bio's bytes are added to the counts
};

struct AccountTarget {
  uint32_t device, volume;  // kernel's dev_t of the whole disk, and of the file system's volume
  // `tids` holds thread ids of this pid namespace. 0 is the initial one, which costs less to ask.
  uint64_t pid_namespace_dev = 0, pid_namespace_inode = 0;
  AccountMaps maps;
};

std::vector<bpf_insn> AssembleAccountProgram(const AccountLayout& layout,
                                             const AccountTarget& target,
                                             const AccountEvent& event);

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_ACCOUNT_PROGRAM_H_
