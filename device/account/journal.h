// These functions find where the journal of a file system lies on its device, so that the kernel
// account can tell requests to the journal from other metadata (KernelAccount::RegisterJournal).
// They also find whether a file system has parts on other devices, and whether its metadata can be
// told from files.
//
//   for (const SectorRange& range : JournalUnder(directory)) {
//     account->RegisterJournal(range.first, range.sectors);
//   }
//
// ext4's superblock (Documentation/filesystems/ext4/super.rst) keeps a copy of the journal inode's
// extent tree in s_jnl_blocks. xfs's superblock (XFS Algorithms and Data Structures, chapter
// "Superblocks") gives its log as one contiguous range.
#ifndef TESTBED_DEVICE_ACCOUNT_JOURNAL_H_
#define TESTBED_DEVICE_ACCOUNT_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/os/sys_file.h"

namespace testbed {

struct SectorRange {
  uint64_t first = 0;  // in units of 512 bytes
  uint64_t sectors = 0;
  friend bool operator==(const SectorRange&, const SectorRange&) = default;
};

// Reads n bytes at a byte offset of a volume. Returns false when it cannot read all of them.
using VolumeReader = std::function<bool(uint64_t offset, void* buffer, size_t n)>;

// Returns the ranges of the journal that a volume's superblock describes, counted from the volume's
// start. A volume is a partition or a whole disk that holds a file system. Returns nothing when the
// volume holds no journal that this code knows: on another file system, on an ext4 without a
// journal, for a journal on a device of its own, and for an ext4 journal that is not mapped by
// extents.
std::vector<SectorRange> JournalOf(const VolumeReader& read);

// Returns the ranges of the journal of the file system that holds `path`, counted from the start of
// the disk. Returns nothing where JournalOf does, and when the device cannot be read: that needs
// root, and some systems refuse it even to root (virtual machines that protect their root disk).
std::vector<SectorRange> JournalUnder(const std::string& path);

// Returns a sentence for InForce::not_covered (grade.h) when the file system of a mount keeps its
// journal, or realtime files of xfs, outside of its volume; else an empty string. xfs shows this in
// the options of the mount, ext4 in its superblock, which the function reads through `read`.
std::string WhyPartsElsewhere(const Mount& mount, const VolumeReader& read);
// Returns that sentence for the file system that holds `path`, as far as it can be found out:
// ext4's superblock can be read only where JournalUnder can read it.
std::string WhyPartsElsewhere(const std::string& path);
// Returns a sentence for InForce::not_covered when the file system of a mount writes its metadata
// as pages of inodes of its own; else an empty string. The kernel account takes these inodes for
// files of other programs. Other file systems write metadata as pages of the block device, or of no
// inode.
std::string WhyMetadataUnknown(const Mount& mount);
// Returns that sentence for the file system that holds `path`.
std::string WhyMetadataUnknown(const std::string& path);
// Returns whether the file system that holds `path` keeps data outside of its volume: realtime
// files of xfs.
bool HasDataElsewhere(const std::string& path);

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_JOURNAL_H_
