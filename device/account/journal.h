// Where the journal of a file system lies on its device, so that block requests to it can be told
// from other metadata (KernelAccount::RegisterJournal).
//
//   for (const SectorRange& range : JournalUnder(directory)) {
//     account->RegisterJournal(range.first, range.sectors);
//   }
//
// Sources: ext4's superblock (Documentation/filesystems/ext4/super.rst), whose s_jnl_blocks keeps a
// copy of the journal inode's extent tree; xfs's superblock (XFS Algorithms and Data Structures,
// chapter "Superblocks"), whose log is one contiguous range.
#ifndef TESTBED_DEVICE_ACCOUNT_JOURNAL_H_
#define TESTBED_DEVICE_ACCOUNT_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace testbed {

struct SectorRange {
  uint64_t first = 0;  // in units of 512 bytes
  uint64_t sectors = 0;
  friend bool operator==(const SectorRange&, const SectorRange&) = default;
};

// Reads n bytes at an offset of a volume; false when it cannot.
using VolumeReader = std::function<bool(uint64_t offset, void* buffer, size_t n)>;

// The journal inside a volume (a partition or a whole disk that holds a file system), by what its
// superblock says; ranges count from the volume's start. Empty when there is none inside: another
// file system, an ext4 without a journal, a journal on a device of its own, a journal of before
// extents.
std::vector<SectorRange> JournalOf(const VolumeReader& read);

// The journal of the file system that holds `path`; ranges count from the start of the disk. Empty
// also when the device cannot be read, which needs root and is refused even to root on some systems
// (virtual machines that protect their root disk).
std::vector<SectorRange> JournalUnder(const std::string& path);

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_JOURNAL_H_
