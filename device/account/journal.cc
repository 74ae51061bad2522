#include "device/account/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "device/account/block_device.h"

namespace testbed {
namespace {

constexpr uint64_t kSector = 512;

// Decodes a little-endian number, as ext4 has them.
uint64_t Little(const uint8_t* at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | at[i];
  return value;
}

// Decodes a big-endian number, as xfs has them.
uint64_t Big(const uint8_t* at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | at[i];
  return value;
}

// Appends a range, or lengthens the last range if the new range follows it directly.
void Append(std::vector<SectorRange>* ranges, SectorRange range) {
  if (!ranges->empty() && ranges->back().first + ranges->back().sectors == range.first) {
    ranges->back().sectors += range.sectors;
  } else {
    ranges->push_back(range);
  }
}

// Reads ext4's extent tree. A node is a header of 12 bytes and entries of 12 bytes each. The root
// has the 60 bytes that an inode gives it; every other node has a block.
class ExtentTree {
 public:
  ExtentTree(const VolumeReader& read, uint64_t block_size)
      : read_(read), block_size_(block_size) {}

  // Appends the ranges of all leaves under `node`. Returns false when a node cannot be read, is not
  // an extent node, or lies deeper than `depth_left` levels.
  bool Walk(const uint8_t* node, size_t bytes, int depth_left, std::vector<SectorRange>* ranges) {
    constexpr size_t kEntry = 12;
    constexpr uint64_t kMagic = 0xF30A;
    constexpr uint64_t kUnwrittenFrom = 32768;  // a greater length marks an unwritten extent
    const uint64_t entries = Little(node + 2, 2);
    const uint64_t depth = Little(node + 6, 2);
    if (Little(node, 2) != kMagic || (entries + 1) * kEntry > bytes || depth_left == 0) {
      return false;
    }
    for (uint64_t i = 1; i <= entries; ++i) {
      const uint8_t* entry = node + i * kEntry;
      if (depth == 0) {
        const uint64_t length = Little(entry + 4, 2);
        const uint64_t block = Little(entry + 6, 2) << 32 | Little(entry + 8, 4);
        const uint64_t blocks = length > kUnwrittenFrom ? length - kUnwrittenFrom : length;
        Append(ranges, {block * block_size_ / kSector, blocks * block_size_ / kSector});
      } else {
        const uint64_t block = Little(entry + 8, 2) << 32 | Little(entry + 4, 4);
        std::vector<uint8_t> child(block_size_);
        if (!read_(block * block_size_, child.data(), child.size()) ||
            !Walk(child.data(), child.size(), depth_left - 1, ranges)) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  const VolumeReader& read_;
  const uint64_t block_size_;
};

using Ext4Super = std::array<uint8_t, 1024>;

// Returns the superblock of an ext4 that has a journal; nothing when the volume holds none.
std::optional<Ext4Super> ReadJournaledExt4(const VolumeReader& read) {
  constexpr uint64_t kAt = 1024;
  Ext4Super super;
  if (!read(kAt, super.data(), super.size())) return std::nullopt;
  constexpr uint64_t kHasJournal = 0x4;  // in s_feature_compat
  const bool is_ext4 = Little(&super[0x38], 2) == 0xEF53;
  if (!is_ext4 || (Little(&super[0x5C], 4) & kHasJournal) == 0) return std::nullopt;
  return super;
}

// Returns the inode of the journal; 0 when the journal has a device of its own.
uint64_t JournalInode(const Ext4Super& super) { return Little(&super[0xE0], 4); }

std::vector<SectorRange> Ext4Journal(const VolumeReader& read) {
  const std::optional<Ext4Super> super = ReadJournaledExt4(read);
  if (!super) return {};
  constexpr uint8_t kBlocksAreBackedUp = 1;
  if (JournalInode(*super) == 0 || (*super)[0xFD] != kBlocksAreBackedUp) return {};
  const uint64_t log_block_size = Little(&(*super)[0x18], 4);
  if (log_block_size > 6) return {};
  std::vector<SectorRange> ranges;
  constexpr int kMaxDepth = 6;
  ExtentTree tree(read, 1024ull << log_block_size);
  if (!tree.Walk(&(*super)[0x10C], 60, kMaxDepth, &ranges)) return {};
  return ranges;
}

std::vector<SectorRange> XfsLog(const VolumeReader& read) {
  uint8_t super[512];
  if (!read(0, super, sizeof super) || std::memcmp(super, "XFSB", 4) != 0) return {};
  const uint64_t block_size = Big(super + 4, 4);
  const uint64_t start = Big(super + 48, 8);  // sb_logstart; 0 if the log has a device of its own
  const uint64_t blocks = Big(super + 96, 4);
  if (start == 0 || blocks == 0) return {};
  // The high bits of a block number are the number of its allocation group. The low bits are the
  // block's place in the group.
  const uint64_t group_blocks = Big(super + 84, 4);
  const unsigned group_bits = super[124];
  if (group_bits >= 64) return {};
  const uint64_t in_group = start & ((1ull << group_bits) - 1);
  const uint64_t first = (start >> group_bits) * group_blocks + in_group;
  return {{first * block_size / kSector, blocks * block_size / kSector}};
}

// An OpenVolume is a device's volume that is open for reading.
class OpenVolume {
 public:
  explicit OpenVolume(const BlockDevice& device)
      : fd_(::open(device.volume_node().c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenVolume() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenVolume(const OpenVolume&) = delete;
  OpenVolume& operator=(const OpenVolume&) = delete;

  // Returns a reader, which this object must outlive. It reads nothing when the volume could not be
  // opened.
  VolumeReader reader() const {
    return [fd = fd_](uint64_t offset, void* buffer, size_t n) {
      return ::pread(fd, buffer, n, static_cast<off_t>(offset)) == static_cast<ssize_t>(n);
    };
  }

 private:
  const int fd_;
};

}  // namespace

std::vector<SectorRange> JournalOf(const VolumeReader& read) {
  std::vector<SectorRange> ranges = XfsLog(read);
  return ranges.empty() ? Ext4Journal(read) : ranges;
}

std::vector<SectorRange> JournalUnder(const std::string& path) {
  const std::optional<BlockDevice> device = BlockDevice::Find(path);
  if (!device) return {};
  const OpenVolume volume(*device);
  std::vector<SectorRange> ranges = JournalOf(volume.reader());
  for (SectorRange& range : ranges) range.first += device->volume_start();
  return ranges;
}

std::string WhyPartsElsewhere(const Mount& mount, const VolumeReader& read) {
  std::vector<std::string> parts;
  const bool xfs = mount.type == "xfs";
  if (xfs && mount.HasOption("logdev")) parts.emplace_back("its journal");
  if (xfs && mount.HasOption("rtdev")) parts.emplace_back("its realtime files");
  if (mount.type.starts_with("ext")) {
    const std::optional<Ext4Super> super = ReadJournaledExt4(read);
    if (super && JournalInode(*super) == 0) parts.emplace_back("its journal");
  }
  if (parts.empty()) return "";
  return fmt::format(
      "the file system keeps {} outside of the counted device, where requests are not counted",
      fmt::join(parts, " and "));
}

std::string WhyMetadataUnknown(const Mount& mount) {
  constexpr std::array<std::string_view, 5> kTypes = {"f2fs", "hfs", "hfsplus", "jfs", "nilfs2"};
  if (std::find(kTypes.begin(), kTypes.end(), mount.type) == kTypes.end()) return "";
  return fmt::format(
      "{} keeps its metadata in inodes of its own, so that requests for it cannot be told from "
      "those for files of other programs",
      mount.type);
}

std::string WhyMetadataUnknown(const std::string& path) {
  const std::optional<Mount> mount = MountOf(path);
  return mount ? WhyMetadataUnknown(*mount) : "";
}

bool HasDataElsewhere(const std::string& path) {
  const std::optional<Mount> mount = MountOf(path);
  return mount && mount->type == "xfs" && mount->HasOption("rtdev");
}

std::string WhyPartsElsewhere(const std::string& path) {
  const std::optional<BlockDevice> device = BlockDevice::Find(path);
  const std::optional<Mount> mount = MountOf(path);
  if (!device || !mount) return "";
  const OpenVolume volume(*device);
  return WhyPartsElsewhere(*mount, volume.reader());
}

}  // namespace testbed
