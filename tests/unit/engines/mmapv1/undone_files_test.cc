// Tests the files after an operation that was undone, and a flush that comes while an operation
// changes them.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "device/error.h"
#include "engines/mmapv1/files/files.h"
#include "tests/unit/engines/mmapv1/test_util.h"

namespace testbed::mmapv1 {
namespace {

class Mmapv1UndoneFilesTest : public Mmapv1FilesTest {
 protected:
  // Makes a table of one row, and undoes an operation that has added at least three files.
  void UndoMany(DataFile::Views views) {
    OpenFiles(views);
    const std::unique_ptr<Table> table = NewTable("t");
    table->Put("first", "row");
    files_->EndOperation();
    files_->BeginOperation();
    for (int i = 0; i < 1000; ++i) table->Put("undone" + std::to_string(i), std::string(5000, 'v'));
    files_->UndoOperation();
    ASSERT_GE(files_->count(), 4);
  }
};

TEST_F(Mmapv1UndoneFilesTest, RemappingDropsTheCopiesThatItLeft) {
  for (const double fraction : {1.0, 0.07}) {
    UndoMany(DataFile::kBothViews);
    std::string body;
    files_->Prepare(&body);
    files_->WriteToDataFiles(body);
    EXPECT_GT(files_->private_bytes(), 4u << 20);
    for (double sum = 0; sum < 2; sum += fraction) files_->Remap(fraction);
    EXPECT_EQ(files_->private_bytes(), 0u) << fraction;
    for (int32_t n = 0; n < files_->count(); ++n) EXPECT_EQ(files_->file(n).private_end(), 0u) << n;
    files_.reset();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directory(dir_);
  }
}

// A change that is not in the journal yet must keep its private copy, even behind the last extent.
TEST_F(Mmapv1UndoneFilesTest, RemappingKeepsWhatIsPendingBehindTheLastExtent) {
  UndoMany(DataFile::kBothViews);
  std::string body;
  files_->Prepare(&body);
  files_->WriteToDataFiles(body);
  const DiskLoc loc{2, 3 << 20};
  files_->BeginOperation();
  std::memset(files_->Write(loc, 64), 'x', 64);
  files_->EndOperation();
  files_->Remap(1);
  EXPECT_EQ(files_->private_bytes(), kMemoryPage);
  EXPECT_EQ(std::string(files_->At(loc, 64), 64), std::string(64, 'x'));
  body.clear();
  files_->Prepare(&body);
  files_->WriteToDataFiles(body);
  files_->Remap(1);
  EXPECT_EQ(files_->private_bytes(), 0u);
  EXPECT_EQ(std::string(files_->At(loc, 64), 64), std::string(64, 'x'));
}

// Earlier versions wrote the header of only the last of several such files, and left the others
// without one.
TEST_F(Mmapv1UndoneFilesTest, AFileWithoutHeaderAmongOthersIsAcceptedAndUsed) {
  UndoMany(DataFile::kSharedView);
  const int32_t last = files_->count() - 1;
  const FileHeader header{kFileMagic,
                          kFormatVersion,
                          files_->ns()->database,
                          files_->file(last).bytes(),
                          static_cast<uint32_t>(last),
                          kFileHeaderBytes};
  std::memcpy(files_->Write({last, 0}, sizeof header), &header, sizeof header);
  CheckSound();
  options_.durability = Durability::kSync;
  std::unique_ptr<Store> store = OpenStore();
  TableId table = store->OpenTable("t");
  for (int transaction = 0; transaction < 10; ++transaction) {
    WriteSet writes;
    for (int i = 0; i < 60; ++i) {
      writes.Set(table, std::to_string(transaction * 60 + i), false, std::string(5000, 'w'));
    }
    store->Apply(writes);
  }
  EXPECT_EQ(AllRows(store.get(), table).size(), 601u);
  store.reset();
  EXPECT_EQ(FirstFault(dir_), "");
  store = OpenStore();
  EXPECT_EQ(AllRows(store.get(), store->OpenTable("t")).size(), 601u);
  store.reset();
  Files files(dir_, settings_, DataFile::kPrivateView);
  EXPECT_EQ(files.Headers()[1].magic, kFileMagic);
  EXPECT_EQ(files.Headers()[2].magic, kFileMagic);
}

TEST_F(Mmapv1UndoneFilesTest, AFlushWhileAnOperationWritesDoesNotCountItsPages) {
  OpenFiles();
  NewTable("t");
  files_->EndOperation();
  const DiskLoc loc{0, 64 << 10};
  for (const bool undone : {false, true}) {
    files_->Sync();
    ASSERT_EQ(files_->shared_bytes(), 0u);
    ASSERT_FALSE(files_->AnyMayBeOld());
    files_->BeginOperation();
    char* const at = files_->Write(loc, 64);
    files_->Sync();
    std::memset(at, 'x', 64);
    if (undone) files_->Sync();
    undone ? files_->UndoOperation() : files_->EndOperation();
    EXPECT_GT(files_->shared_bytes(), 0u) << "the next flush would leave the page out";
    EXPECT_TRUE(files_->AnyMayBeOld());
    EXPECT_TRUE(files_->file(0).MayBeOld(64 << 10, 64));
  }
}

}  // namespace
}  // namespace testbed::mmapv1
