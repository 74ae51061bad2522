#include "device/account/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Volume {
 public:
  explicit Volume(size_t bytes) : bytes_(bytes, '\0') {}
  void Little(size_t at, uint64_t value, int n) {
    for (int i = 0; i < n; ++i) bytes_[at + i] = static_cast<char>(value >> (8 * i));
  }
  void Big(size_t at, uint64_t value, int n) {
    for (int i = 0; i < n; ++i) bytes_[at + i] = static_cast<char>(value >> (8 * (n - 1 - i)));
  }
  void Text(size_t at, const std::string& text) { bytes_.replace(at, text.size(), text); }
  std::vector<SectorRange> Journal() const { return JournalOf(Reader()); }
  // Returns a reader of the volume, which must outlive it.
  VolumeReader Reader() const {
    return [this](uint64_t offset, void* buffer, size_t n) {
      if (offset + n > bytes_.size()) return false;
      std::memcpy(buffer, bytes_.data() + offset, n);
      return true;
    };
  }

 private:
  std::string bytes_;
};

constexpr size_t kSuper = 1024;
constexpr size_t kTree = kSuper + 0x10C;

Volume Ext4() {
  Volume v(64 * 4096);
  v.Little(kSuper + 0x18, 2, 4);  // blocks of 4 KiB
  v.Little(kSuper + 0x38, 0xEF53, 2);
  v.Little(kSuper + 0x5C, 0x4, 4);  // feature: the file system has a journal
  v.Little(kSuper + 0xE0, 8, 4);    // inode of the journal
  v.Little(kSuper + 0xFD, 1, 1);    // the superblock holds a copy of the journal's extents
  return v;
}

void Node(Volume* v, size_t at, int entries, int depth) {
  v->Little(at, 0xF30A, 2);
  v->Little(at + 2, entries, 2);
  v->Little(at + 6, depth, 2);
}

void Extent(Volume* v, size_t node, int i, uint64_t block, uint64_t length) {
  const size_t at = node + 12 * (i + 1);
  v->Little(at + 4, length, 2);
  v->Little(at + 6, block >> 32, 2);
  v->Little(at + 8, block, 4);
}

TEST(JournalTest, Ext4ExtentsInTheSuperblock) {
  Volume v = Ext4();
  Node(&v, kTree, 3, 0);
  Extent(&v, kTree, 0, 100, 32768);
  Extent(&v, kTree, 1, 100 + 32768, 10);              // follows the first extent on the device
  Extent(&v, kTree, 2, (1ull << 32) + 5, 32768 + 7);  // an unwritten extent beyond 16 TiB
  EXPECT_THAT(v.Journal(), ElementsAre(SectorRange{800, (32768 + 10) * 8},
                                       SectorRange{((1ull << 32) + 5) * 8, 56}));
}

TEST(JournalTest, Ext4ExtentsBelowAnIndex) {
  Volume v = Ext4();
  Node(&v, kTree, 2, 1);
  for (int i = 0; i < 2; ++i) {
    v.Little(kTree + 12 * (i + 1) + 4, 20 + i, 4);  // block of the child node
    Node(&v, (20 + i) * 4096, 1, 0);
    Extent(&v, (20 + i) * 4096, 0, 1000 * (i + 1), 4);
  }
  EXPECT_THAT(v.Journal(), ElementsAre(SectorRange{8000, 32}, SectorRange{16000, 32}));

  v.Little(21 * 4096, 0, 2);  // with a damaged child, half of a journal must not be reported
  EXPECT_THAT(v.Journal(), IsEmpty());
}

TEST(JournalTest, Ext4ATreeThatPointsToItselfEnds) {
  Volume v = Ext4();
  Node(&v, kTree, 1, 1);
  v.Little(kTree + 12 + 4, 20, 4);
  Node(&v, 20 * 4096, 1, 1);
  v.Little(20 * 4096 + 12 + 4, 20, 4);
  EXPECT_THAT(v.Journal(), IsEmpty());
}

TEST(JournalTest, Ext4WithoutAJournalInside) {
  Volume none = Ext4();
  Node(&none, kTree, 1, 0);
  Extent(&none, kTree, 0, 100, 10);
  none.Little(kSuper + 0x5C, 0, 4);
  EXPECT_THAT(none.Journal(), IsEmpty());

  Volume outside = Ext4();
  outside.Little(kSuper + 0xE0, 0, 4);
  EXPECT_THAT(outside.Journal(), IsEmpty());

  Volume old = Ext4();  // an old journal has block numbers in place of the extent tree
  for (int i = 0; i < 15; ++i) old.Little(kTree + 4 * i, 500 + i, 4);
  EXPECT_THAT(old.Journal(), IsEmpty());
}

TEST(JournalTest, XfsLog) {
  Volume v(4096);
  v.Text(0, "XFSB");
  v.Big(4, 4096, 4);
  v.Big(48, (2ull << 16) + 6, 8);  // block 6 of allocation group 2
  v.Big(84, 40000, 4);             // groups are shorter than their number of bits allows
  v.Big(96, 2560, 4);
  v.Big(124, 16, 1);
  EXPECT_THAT(v.Journal(), ElementsAre(SectorRange{(2 * 40000 + 6) * 8, 2560 * 8}));
  v.Big(48, 0, 8);
  EXPECT_THAT(v.Journal(), IsEmpty()) << "on a device of its own";
}

// Requests to such a part go to another device than the one whose requests are counted.
TEST(JournalTest, PartsOutsideOfTheVolumeAreNamed) {
  const Volume inside = Ext4();
  EXPECT_EQ(WhyPartsElsewhere({.type = "ext4"}, inside.Reader()), "");
  Volume none = Ext4();
  none.Little(kSuper + 0x5C, 0, 4);
  none.Little(kSuper + 0xE0, 0, 4);
  EXPECT_EQ(WhyPartsElsewhere({.type = "ext4"}, none.Reader()), "");
  Volume outside = Ext4();
  outside.Little(kSuper + 0xE0, 0, 4);
  EXPECT_EQ(WhyPartsElsewhere({.type = "ext4"}, outside.Reader()),
            "the file system keeps its journal outside of the counted device, where requests are "
            "not counted");
  EXPECT_EQ(WhyPartsElsewhere({.type = "ext4"}, Volume(100).Reader()), "") << "it cannot be read";

  const auto why = [&](const std::string& options) {
    return WhyPartsElsewhere({.type = "xfs", .options = options}, outside.Reader());
  };
  EXPECT_EQ(why("rw,relatime,rw,attr2,inode64,logbufs=8,noquota"), "");
  EXPECT_THAT(why("rw,rw,logdev=/dev/sdb1,noquota"), testing::HasSubstr("keeps its journal out"));
  EXPECT_THAT(why("rw,rw,logdev=/dev/sdb1,rtdev=/dev/sdc"),
              testing::HasSubstr("keeps its journal and its realtime files out"));
  EXPECT_EQ(WhyPartsElsewhere("/proc"), "");
  EXPECT_EQ(WhyPartsElsewhere("/no/such/path"), "");
}

// The kernel account would take the requests for such metadata for those of another program.
TEST(JournalTest, MetadataInInodesOfItsOwnIsNamed) {
  const auto why = [](const char* type) {
    Mount mount;
    mount.type = type;
    return WhyMetadataUnknown(mount);
  };
  EXPECT_EQ(why("f2fs"),
            "f2fs keeps its metadata in inodes of its own, so that requests for it cannot be told "
            "from those for files of other programs");
  for (const char* type : {"hfs", "hfsplus", "jfs", "nilfs2"}) EXPECT_NE(why(type), "") << type;
  for (const char* type : {"ext2", "ext3", "ext4", "xfs", "vfat", "overlay", "tmpfs", "fuse", ""}) {
    EXPECT_EQ(why(type), "") << type;
  }
  EXPECT_EQ(WhyMetadataUnknown(std::string("/proc")), "");
  EXPECT_EQ(WhyMetadataUnknown(std::string("/no/such/path")), "");
}

TEST(JournalTest, OtherVolumes) {
  EXPECT_THAT(Volume(8192).Journal(), IsEmpty());
  EXPECT_THAT(Volume(100).Journal(), IsEmpty());
  EXPECT_THAT(JournalUnder("/proc"), IsEmpty());
  EXPECT_THAT(JournalUnder("/no/such/path"), IsEmpty());
}

}  // namespace
}  // namespace testbed
