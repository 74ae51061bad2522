// Tests records of mmapv1: their padded lengths, extents and free lists.
#include "engines/mmapv1/tree/space.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "device/error.h"
#include "tests/unit/engines/mmapv1/test_util.h"

namespace testbed::mmapv1 {
namespace {

constexpr uint32_t kMiB = 1 << 20;

TEST(Mmapv1SizesTest, PowersOfTwoAreStrictlyLarger) {
  EXPECT_EQ(PowerOf2Bytes(1), 32u);
  EXPECT_EQ(PowerOf2Bytes(31), 32u);
  EXPECT_EQ(PowerOf2Bytes(32), 64u);
  EXPECT_EQ(PowerOf2Bytes(255), 256u);
  EXPECT_EQ(PowerOf2Bytes(256), 512u);
  EXPECT_EQ(PowerOf2Bytes(4 * kMiB - 1), 4 * kMiB);
  EXPECT_EQ(PowerOf2Bytes(4 * kMiB), 8 * kMiB);
  EXPECT_EQ(PowerOf2Bytes(4 * kMiB + 1), 5 * kMiB);
}

TEST(Mmapv1SizesTest, PaddingIsByFactorAndInSixteenthsOfTheClass) {
  EXPECT_EQ(PaddedBytes(10, 1), 32u);
  EXPECT_EQ(PaddedBytes(500, 1), 512u);
  EXPECT_EQ(PaddedBytes(520, 1), 576u);  // steps of 1024 / 16
  EXPECT_EQ(PaddedBytes(520, 1.5), 832u);
  EXPECT_EQ(PaddedBytes(520, 2), 1152u);  // steps of 2048 / 16
}

TEST(Mmapv1SizesTest, ClassesAreThoseOfTheLists) {
  EXPECT_EQ(ClassOf(16), 0);
  EXPECT_EQ(ClassOf(32), 1);
  EXPECT_EQ(ClassOf(63), 1);
  EXPECT_EQ(ClassOf(64), 2);
  EXPECT_EQ(ClassOf(8 * kMiB - 1), 18);
  EXPECT_EQ(ClassOf(500 * kMiB), 18);
}

TEST(Mmapv1SizesTest, ExtentsGrowFourTimesThenByAThird) {
  EXPECT_EQ(FirstExtentBytes(512), 64 * 512u);
  EXPECT_EQ(FirstExtentBytes(1000), 16'000u);
  EXPECT_EQ(NextExtentBytes(kMiB), 4 * kMiB);
  EXPECT_EQ(NextExtentBytes(4 * kMiB), 4 * kMiB / 100 * 135 + 5);
  EXPECT_EQ(NextExtentBytes(kMostFileBytes), kMostFileBytes);
}

class Mmapv1SpaceTest : public Mmapv1FilesTest {
 protected:
  void Open() {
    OpenFiles();
    NewTable("t");
    entry_ = files_->As<NsEntry>(EntryLoc(*FindTable(*files_, "t")));
    space_ =
        std::make_unique<RecordSpace>(files_.get(), &entry_->heap, *FindTable(*files_, "t"), false);
  }
  uint32_t Bytes(DiskLoc loc) const { return files_->As<RecordHeader>(loc)->bytes; }

  NsEntry* entry_ = nullptr;
  std::unique_ptr<RecordSpace> space_;
};

TEST_F(Mmapv1SpaceTest, ADeletedRecordIsUsedAgainTheLastOneFirst) {
  Open();
  std::vector<DiskLoc> locs;
  for (int i = 0; i < 10; ++i) locs.push_back(space_->Allocate(256));
  for (int i = 1; i < 10; ++i) EXPECT_EQ(locs[i].ofs, locs[i - 1].ofs + 256);
  space_->Free(locs[3]);
  space_->Free(locs[7]);
  EXPECT_EQ(space_->Allocate(256), locs[7]);
  EXPECT_EQ(space_->Allocate(256), locs[3]);
  EXPECT_EQ(entry_->heap.records, 10u);
  EXPECT_EQ(entry_->heap.record_bytes, 2560u);
}

TEST_F(Mmapv1SpaceTest, TheBestOfAListIsTakenAndTheRestSplitOff) {
  Open();
  const DiskLoc large = space_->Allocate(480);
  space_->Allocate(64);
  const DiskLoc small = space_->Allocate(320);
  space_->Allocate(64);
  space_->Free(small);
  space_->Free(large);  // the head of the same list
  const DiskLoc best = space_->Allocate(300);
  EXPECT_EQ(best, small);
  EXPECT_EQ(Bytes(best), 320u);  // 20 bytes are no record
  const DiskLoc split = space_->Allocate(288);
  EXPECT_EQ(split, large);
  EXPECT_EQ(Bytes(split), 288u);
  EXPECT_EQ(space_->Allocate(192), Plus(large, 288));
}

TEST_F(Mmapv1SpaceTest, RecordsNeverOverlap) {
  Open();
  std::mt19937 random(301);
  std::map<DiskLoc, uint32_t> live;
  for (int i = 0; i < 20000; ++i) {
    if (live.size() < 50 || random() % 2 == 0) {
      const uint32_t bytes = PowerOf2Bytes(20 + random() % 3000);
      const DiskLoc loc = space_->Allocate(bytes);
      ASSERT_GE(Bytes(loc), bytes);
      const auto next = live.lower_bound(loc);
      if (next != live.end() && next->first.file == loc.file) {
        ASSERT_LE(loc.ofs + Bytes(loc), static_cast<uint32_t>(next->first.ofs));
      }
      if (next != live.begin() && std::prev(next)->first.file == loc.file) {
        ASSERT_LE(std::prev(next)->first.ofs + std::prev(next)->second,
                  static_cast<uint32_t>(loc.ofs));
      }
      live[loc] = Bytes(loc);
    } else {
      auto at = live.lower_bound(
          {static_cast<int32_t>(random() % 2), static_cast<int32_t>(random() % kMiB)});
      if (at == live.end()) at = live.begin();
      space_->Free(at->first);
      live.erase(at);
    }
  }
  uint64_t bytes = 0;
  for (const auto& [loc, n] : live) bytes += n;
  EXPECT_EQ(entry_->heap.records, live.size());
  EXPECT_EQ(entry_->heap.record_bytes, bytes);
}

TEST_F(Mmapv1SpaceTest, AnUndoneOperationLeavesNothing) {
  Open();
  space_->Allocate(512);
  const NsEntry before = *entry_;
  files_->BeginOperation();
  for (int i = 0; i < 5000; ++i) space_->Allocate(512);  // adds files
  EXPECT_GT(files_->count(), 1);
  files_->UndoOperation();
  EXPECT_EQ(std::memcmp(&before, entry_, sizeof before), 0);
  const DiskLoc again = space_->Allocate(512);
  EXPECT_EQ(again.file, 0);
  for (int i = 0; i < 5000; ++i) space_->Allocate(512);
  EXPECT_GT(files_->count(), 1);
}

TEST_F(Mmapv1SpaceTest, FilesThatAnUndoneOperationAddedAreBegunInTheirOrder) {
  Open();
  files_->BeginOperation();
  for (int i = 0; i < 20'000; ++i) space_->Allocate(512);
  const int32_t added = files_->count();
  ASSERT_GE(added, 4);
  files_->UndoOperation();
  for (int i = 0; i < 5000; ++i) space_->Allocate(512);
  EXPECT_NO_THROW(files_->CheckHeaders(files_->Headers()));
  EXPECT_EQ(files_->Headers().back().magic, 0u) << "is not needed yet";
  for (int i = 0; i < 30'000; ++i) space_->Allocate(512);
  EXPECT_NO_THROW(files_->CheckHeaders(files_->Headers()));
  EXPECT_EQ(files_->Headers()[static_cast<size_t>(added - 1)].magic, kFileMagic);
  EXPECT_GT(files_->count(), added);
}

// The file that was left has the usual length, and the row needs a longer file.
TEST_F(Mmapv1SpaceTest, AnExtentThatIsLongerThanTheFileThatWasLeftGoesBehindIt) {
  Open();
  files_->BeginOperation();
  for (int i = 0; i < 3000; ++i) space_->Allocate(512);
  ASSERT_EQ(files_->count(), 2);
  files_->UndoOperation();
  const DiskLoc loc = space_->Allocate(5 * kMiB);
  EXPECT_EQ(loc.file, 2);
  EXPECT_GE(Bytes(loc), 5 * kMiB);
  EXPECT_NO_THROW(files_->CheckHeaders(files_->Headers()));
}

TEST_F(Mmapv1SpaceTest, APlaceOutsideOfAllFilesIsAnError) {
  Open();
  for (const DiskLoc loc : {DiskLoc{5, 0}, DiskLoc{0, -8}, DiskLoc{0, 0x7fffff00}, DiskLoc{},
                            DiskLoc{kNsFile, 1 << 20}}) {
    EXPECT_THROW(files_->At(loc, 8), Error);
  }
}

}  // namespace
}  // namespace testbed::mmapv1
