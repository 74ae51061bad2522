// The BPF program that the kernel account attaches to the block layer's tracepoints. It is
// assembled for the running kernel's structure layouts, one device and one event.
//
// At an event on its device the program
//   1. classes the request (FileKind). A request whose first sector lies in the file system's
//      journal is of the journal. Else the inode that owns the request's first page decides: the
//      program looks it up among the registered files, and the block device's own inode is
//      metadata. A page that no file owns (direct IO, a file system's private buffers) is metadata
//      if the request carries that flag, and else of the kind of the file call under way;
//   2. finds the slot of the current thread through `tids`. A thread without a slot is counted by
//      its name;
//   3. adds to the slot's counts of that class, under the operation that runs on the thread.
//
// The program reads the kernel's memory through bpf_probe_read_kernel alone: an unexpected value
// there costs a request its class. It costs a count only where the device of the request cannot be
// read either.
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

// File descriptors of the maps that the program shares with user space.
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
  Range ranges[kMaxJournalRanges];  // unused ones are empty
};

// Class of an empty flush whose thread has no slot. User space classes it by the thread's name.
inline constexpr uint32_t kUnclassedFlush = kFileKinds;
// Class of a request whose pages belong to no file and that is not flagged as metadata: direct IO
// of some file. User space classes it by the thread's name too.
inline constexpr uint32_t kUnclassedIo = kFileKinds + 1;

struct ForeignKey {
  char thread[16];  // kernel's name of the thread; "kworker" for all kernel workers
  uint32_t kind;    // FileKind, kUnclassedFlush or kUnclassedIo
  uint32_t unused;
};
// Thread name of the entries that count what the hash has no room for. User space creates them in
// advance, one for each kind.
inline constexpr char kForeignOverflow[16] = "other";

// Offsets of structure members and values of enumerators that the program needs.
struct AccountLayout {
  using Member = KernelTypes::Member;
  Member bio_bdev, bio_flags, bio_sector, bio_size, bio_vecs;
  Member vec_page;
  std::optional<Member> page_head;  // compound_head: leads from a tail page to its head page
  Member page_mapping, mapping_host;
  Member inode_sb, inode_mapping, inode_number, inode_rdev, sb_dev;
  Member bdev_disk, bdev_dev, disk_major, disk_minor;
  Member request_bio;
  // `op_passthrough` is the first of the operations that carry a driver's commands.
  int32_t op_discard, op_secure_erase, op_passthrough;
  uint64_t meta_flag, readahead_flag;

  // Returns nothing, and sets *why to a clause that names the first missing member or enumerator,
  // when this kernel lacks any of them.
  static std::optional<AccountLayout> Resolve(const KernelTypes& types, std::string* why);
};

// How an event at a tracepoint changes the counts.
struct AccountEvent {
  std::string tracepoint;
  int argument;      // index of the tracepoint's argument that is the bio or request
  bool is_request;   // the argument is a request, and the program counts its first bio
  int32_t requests;  // added to the number of requests; -1 takes a merged request away
  bool bytes;        // whether the bio's bytes are added
};

struct AccountTarget {
  uint32_t device;  // dev_t of the whole disk in the kernel's encoding (KernelDev)
  // The pid namespace whose thread ids `tids` holds. An inode of 0 stands for the initial
  // namespace, in which the kernel finds a thread's id more cheaply.
  uint64_t pid_namespace_dev = 0, pid_namespace_inode = 0;
  AccountMaps maps;
};

// Returns the program's instructions, ready to be loaded as a raw tracepoint program.
std::vector<bpf_insn> AssembleAccountProgram(const AccountLayout& layout,
                                             const AccountTarget& target,
                                             const AccountEvent& event);

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_ACCOUNT_PROGRAM_H_
