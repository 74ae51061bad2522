#include "device/account/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

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

std::vector<SectorRange> Ext4Journal(const VolumeReader& read) {
  constexpr uint64_t kAt = 1024;
  uint8_t super[1024];
  if (!read(kAt, super, sizeof super) || Little(super + 0x38, 2) != 0xEF53) return {};
  constexpr uint64_t kHasJournal = 0x4;  // in s_feature_compat
  if ((Little(super + 0x5C, 4) & kHasJournal) == 0) return {};
  constexpr uint8_t kBlocksAreBackedUp = 1;
  const uint64_t journal_inode = Little(super + 0xE0, 4);
  if (journal_inode == 0 || super[0xFD] != kBlocksAreBackedUp) return {};
  const uint64_t log_block_size = Little(super + 0x18, 4);
  if (log_block_size > 6) return {};
  std::vector<SectorRange> ranges;
  constexpr int kMaxDepth = 6;
  ExtentTree tree(read, 1024ull << log_block_size);
  if (!tree.Walk(super + 0x10C, 60, kMaxDepth, &ranges)) return {};
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

}  // namespace

std::vector<SectorRange> JournalOf(const VolumeReader& read) {
  std::vector<SectorRange> ranges = XfsLog(read);
  return ranges.empty() ? Ext4Journal(read) : ranges;
}

std::vector<SectorRange> JournalUnder(const std::string& path) {
  const std::optional<BlockDevice> device = BlockDevice::Find(path);
  if (!device) return {};
  const int fd = ::open(device->volume_node().c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::vector<SectorRange> ranges = JournalOf([fd](uint64_t offset, void* buffer, size_t n) {
    return ::pread(fd, buffer, n, static_cast<off_t>(offset)) == static_cast<ssize_t>(n);
  });
  ::close(fd);
  for (SectorRange& range : ranges) range.first += device->volume_start();
  return ranges;
}

}  // namespace testbed
