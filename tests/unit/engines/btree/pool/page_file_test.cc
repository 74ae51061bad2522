// Tests torn pages: wherever the write of a batch is cut, each page must afterwards be whole, with
// its old or its new contents.
#include "engines/btree/pool/page_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/file_faults.h"
#include "engines/btree/page/node.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::btree {
namespace {

constexpr uint32_t kPageSize = 4096;

class PageFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "btree_page_file_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<PageFile> Open() {
    FileOptions data, doublewrite;
    data.create = doublewrite.create = FileOptions::kMayExist;
    doublewrite.kind = FileKind::kDoublewrite;
    return std::make_unique<PageFile>(File::Open(dir_ + "/data", data),
                                      File::Open(dir_ + "/doublewrite", doublewrite), kPageSize);
  }
  // Writes the pages with this content as one batch.
  void Write(const std::vector<PageId>& ids, char content) {
    auto file = Open();
    WriteBatch batch(kPageSize, 16);
    AddPages(&batch, ids, content);
    file->Write(&batch);
    file->Sync();
  }
  static void AddPages(WriteBatch* batch, const std::vector<PageId>& ids, char content) {
    AlignedBuffer page(kPageSize);
    for (PageId id : ids) {
      std::memset(page.data(), content, kPageSize);
      Header(page.data())->id = id;
      Header(page.data())->lsn = static_cast<unsigned char>(content);
      batch->Add(page.data());
    }
  }
  char ContentOf(PageFile* file, PageId id) {
    AlignedBuffer page(kPageSize);
    file->Read(id, page.data());
    return page.data()[kPageSize - 1];
  }
  std::string Bytes(const std::string& name) {
    std::ifstream in(dir_ + "/" + name, std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    return bytes.str();
  }
  void SetBytes(const std::string& name, const std::string& bytes) {
    std::ofstream(dir_ + "/" + name, std::ios::binary) << bytes;
  }

  std::string dir_;
};

TEST(RecentWritesTest, KnowsEachPageAndNoOther) {
  RecentWrites writes;
  EXPECT_FALSE(writes.Has(7));
  for (const PageId id : {7u, 65543u, 4294967290u}) {
    writes.Note(id);
    EXPECT_TRUE(writes.Has(id));
    for (const uint32_t apart : {1u, 64u, 4096u, 1u << 16, 1u << 21}) {
      EXPECT_FALSE(writes.Has(id + apart)) << id << " + " << apart;
    }
    writes.Clear();
    EXPECT_FALSE(writes.Has(id));
    writes.Note(0);
    EXPECT_FALSE(writes.Has(id)) << "of before";
  }
}

TEST_F(PageFileTest, ATornPageIsPutBackFromTheDoublewriteFile) {
  const std::vector<PageId> ids = {1, 2, 3, 7};
  Write(ids, 'a');
  const std::string old_data = Bytes("data");
  Write(ids, 'b');
  const std::string new_data = Bytes("data");
  ASSERT_EQ(old_data.size(), new_data.size());
  // The machine stops after the first `cut` sectors reached their places.
  for (size_t cut = 0; cut <= new_data.size(); cut += 512) {
    SetBytes("data", new_data.substr(0, cut) + old_data.substr(cut));
    auto file = Open();
    const bool torn = cut % kPageSize != 0 && cut / kPageSize != 0 && cut / kPageSize != 4 &&
                      cut / kPageSize != 5 && cut / kPageSize != 6;
    EXPECT_EQ(file->RestoreTorn(), torn ? 1u : 0u) << cut;
    for (PageId id : ids) {
      const bool arrived = cut > id * kPageSize;  // torn ones are restored as new
      ASSERT_EQ(ContentOf(file.get(), id), arrived ? 'b' : 'a') << "page " << id << " cut " << cut;
    }
    EXPECT_EQ(file->RestoreTorn(), 0u);
  }
}

// The file may be cut behind the pages in use after their last batch was written.
TEST_F(PageFileTest, APageBehindTheEndOfTheFileIsNotTorn) {
  Write({1, 2, 6, 7}, 'a');
  SetBytes("data", Bytes("data").substr(0, 3 * kPageSize));
  auto file = Open();
  file->FindTorn([](PageId id, const char*) { ADD_FAILURE() << "page " << id; });
  EXPECT_EQ(file->RestoreTorn(), 0u);
  EXPECT_EQ(Bytes("data").size(), 3 * kPageSize);
  EXPECT_EQ(ContentOf(file.get(), 2), 'a');
}

// The disk becomes full in the middle of a batch, and then the copies of the batch are damaged.
TEST_F(PageFileTest, ABatchIsNotTakenForPutBackWhenItsCopiesAreNotWhole) {
  const std::vector<PageId> ids = {1, 3, 7};
  Write(ids, 'a');
  for (const bool damaged : {false, true}) {
    SCOPED_TRACE(damaged);
    auto file = Open();
    {
      FailingDisk disk(dir_);
      disk.Fail({DiskCall::kWrite, 2, ENOSPC});  // writes: the copies, page 1, page 3
      WriteBatch batch(kPageSize, 16);
      AddPages(&batch, ids, 'b');
      EXPECT_THROW(file->Write(&batch), Error);
      EXPECT_EQ(disk.failed(), 1u);
    }
    if (damaged) {
      std::string copies = Bytes("doublewrite");
      for (size_t at = 4096; at < copies.size(); at += 512) copies[at] ^= 1;
      SetBytes("doublewrite", copies);
      EXPECT_THROW(file->Retry(), Error);
      EXPECT_THROW(file->Sync(), Error) << "it lasts";
    } else {
      EXPECT_NO_THROW(file->Retry());
      for (PageId id : ids) EXPECT_EQ(ContentOf(file.get(), id), 'b');
    }
  }
}

// The disk is full in the middle of a batch while a checkpoint is about to sync what came before.
TEST_F(PageFileTest, ASyncOnAFullDiskLeavesTheHalfBatchToItsCopies) {
  const std::vector<PageId> ids = {1, 3, 7};
  Write(ids, 'a');
  auto file = Open();
  int lasting = 0;
  file->SetOnError([&](const Error&, bool lasts) { lasting += lasts ? 1 : 0; });
  {
    FailingDisk disk(dir_);
    disk.Fail({DiskCall::kWrite, 2, ENOSPC, true});  // after the copies and page 1
    WriteBatch batch(kPageSize, 16);
    AddPages(&batch, ids, 'b');
    EXPECT_THROW(file->Write(&batch), Error);
    EXPECT_NO_THROW(file->Sync());
    EXPECT_THROW(file->Retry(), Error) << "it is still full";
  }
  EXPECT_EQ(lasting, 0);
  const std::string full = Bytes("data"), copies = Bytes("doublewrite");
  EXPECT_NO_THROW(file->Retry());
  for (PageId id : ids) EXPECT_EQ(ContentOf(file.get(), id), 'b');
  {
    FailingDisk disk(dir_);
    WriteBatch batch(kPageSize, 16);
    AddPages(&batch, {2}, 'c');
    disk.Fail({DiskCall::kSync, 0});
    EXPECT_THROW(file->Write(&batch), Error) << "what was put in place is synced first";
    EXPECT_EQ(Bytes("doublewrite"), copies);
  }
  // A crash before the retry.
  SetBytes("data", full);
  SetBytes("doublewrite", copies);
  file = Open();
  file->RestoreTorn();
  EXPECT_EQ(ContentOf(file.get(), 1), 'b');
}

// What was written since the last sync may be torn, and recovery keeps such pages in memory.
TEST_F(PageFileTest, WithImagesInTheLogFewPagesAreWrittenFromSyncToSync) {
  constexpr PageId kMost = 8, kBatch = 3, kEnd = 100;
  FileOptions data;
  data.create = FileOptions::kMayExist;
  for (const bool images : {true, false}) {
    PageFileOptions options;
    options.images_in_log = images;
    options.most_unsynced_bytes = uint64_t{kMost} * kPageSize;
    PageFile file(File::Open(dir_ + "/data", data), nullptr, kPageSize, options);
    PageId most = 0;
    for (PageId first = 1; first + kBatch <= kEnd; first += kBatch) {
      WriteBatch batch(kPageSize, 16);
      AddPages(&batch, {first, first + 1, first + 2}, 'a');
      file.Write(&batch);
      PageId unsynced = 0;
      for (PageId id = 1; id < kEnd; ++id) unsynced += file.WrittenSinceSync(id) ? 1 : 0;
      most = std::max(most, unsynced);
      EXPECT_TRUE(file.WrittenSinceSync(first));
    }
    EXPECT_EQ(most, images ? 6u : 99u);
  }
}

// Nothing but their places has these pages, so after a failed sync nothing more may be written.
TEST_F(PageFileTest, AFailedSyncOfWhatTheLogHasImagesOfLasts) {
  for (const int error : {EIO, ENOSPC}) {
    FileOptions data;
    data.create = FileOptions::kMayExist;
    PageFileOptions options;
    options.images_in_log = true;
    options.most_unsynced_bytes = kPageSize;
    PageFile file(File::Open(dir_ + "/data", data), nullptr, kPageSize, options);
    int lasting = 0;
    file.SetOnError([&](const Error&, bool lasts) { lasting += lasts ? 1 : 0; });
    WriteBatch batch(kPageSize, 16);
    AddPages(&batch, {1}, 'a');
    file.Write(&batch);
    {
      FailingDisk disk(dir_);
      disk.Fail({DiskCall::kSync, 0, error});
      EXPECT_THROW(file.Write(&batch), Error);
      EXPECT_EQ(disk.failed(), 1u);
    }
    EXPECT_EQ(lasting, 1) << error;
    EXPECT_THROW(file.Write(&batch), Error);
    EXPECT_THROW(file.Sync(), Error);
  }
}

// A page that is torn in its place is read from its copy, until it is put in place. Here a read
// begins before that moment and ends after it.
TEST_F(PageFileTest, AReadThatMeetsTheEndOfACopyReadsAgain) {
  Write({1, 2}, 'a');
  const std::string whole = Bytes("data");
  AlignedBuffer page(kPageSize);
  for (const bool torn : {true, false}) {
    auto file = Open();
    PageFile::Copies copies;
    copies.emplace(2, whole.substr(2 * kPageSize, kPageSize));
    file->KeepCopies(std::move(copies));
    std::memcpy(page.data(), whole.data() + 2 * kPageSize, kPageSize);
    page.data()[3000] ^= 1;
    file->Retry();
    if (!torn) {
      std::string bytes = whole;
      bytes[2 * kPageSize + 3000] ^= 1;
      SetBytes("data", bytes);
      EXPECT_THROW(file->FinishRead(2, page.data(), kPageSize), Error)
          << "it is damaged since then";
      continue;
    }
    EXPECT_NO_THROW(file->FinishRead(2, page.data(), kPageSize));
    EXPECT_EQ(page.data()[3000], 'a');
  }
}

TEST_F(PageFileTest, ANodeIsPutBackThoughItsCopyLacksWhatItDoesNotUse) {
  auto write = [this](char content) {
    auto file = Open();
    WriteBatch batch(kPageSize, 16);
    AlignedBuffer page(kPageSize);
    for (const PageId id : {1, 2, 3}) {
      Node node(page.data(), kPageSize);
      node.Init(id, 1, PageType::kLeaf, 0, {}, {}, true);
      for (uint32_t i = 0; i < 5 * id; ++i) {
        node.InsertLeaf(i, "key" + std::to_string(10 + i), {std::string(100, content), false});
      }
      batch.Add(page.data());
    }
    file->Write(&batch);
    file->Sync();
    return file->doublewrite_bytes();
  };
  EXPECT_LE(write('a'), 4 * 4096u)
      << "30 rows of 125 bytes at most, in three nodes, and the header";
  const std::string old_data = Bytes("data");
  write('b');
  const std::string new_data = Bytes("data");
  ASSERT_EQ(old_data.size(), new_data.size());
  int torn = 0;
  for (size_t cut = 0; cut <= new_data.size(); cut += 512) {
    SetBytes("data", new_data.substr(0, cut) + old_data.substr(cut));
    torn += static_cast<int>(Open()->RestoreTorn());
    const size_t pages = (cut + kPageSize - 1) / kPageSize * kPageSize;  // torn ones become new
    ASSERT_EQ(Bytes("data"), new_data.substr(0, pages) + old_data.substr(pages)) << "cut " << cut;
  }
  EXPECT_GE(torn, 10);
}

TEST_F(PageFileTest, AHalfWrittenDoublewriteFileRestoresNothingWrong) {
  const std::vector<PageId> ids = {1, 2, 3};
  Write(ids, 'a');
  const std::string old_copies = Bytes("doublewrite"), data = Bytes("data");
  Write(ids, 'b');
  const std::string new_copies = Bytes("doublewrite");
  // The machine stops while the copies are written. All pages in their places are still old and
  // whole.
  for (size_t cut = 0; cut <= new_copies.size(); cut += 512) {
    SetBytes("data", data);
    SetBytes("doublewrite", new_copies.substr(0, cut) + old_copies.substr(cut));
    auto file = Open();
    EXPECT_EQ(file->RestoreTorn(), 0u) << cut;
    for (PageId id : ids) EXPECT_EQ(ContentOf(file.get(), id), 'a');
  }
}

// The system may read less than it was asked for, or nothing when a signal comes. The ledger
// counted the whole read when it was started.
TEST_F(PageFileTest, AStartedReadThatEndedEarlyIsCompletedAndCountedOnce) {
  Write({1, 2}, 'a');
  const std::string whole = Bytes("data");
  for (const IoMode mode : {IoMode::kBuffered, IoMode::kDirect}) {
    FileOptions options;
    options.mode = mode;
    PageFile file(File::Open(dir_ + "/data", options), nullptr, kPageSize);
    AlignedBuffer page(kPageSize);
    const OpKind op = DefineOp("short-read", Ground::kForeground);
    const LedgerCounts before = Ledger::Get().Counts();
    for (const int32_t result : {-EINTR, -EAGAIN, 0, 1, 511, 512, 4095, 4096}) {
      std::memset(page.data(), 'x', kPageSize);
      if (result > 0) {
        std::memcpy(page.data(), whole.data() + 2 * kPageSize, static_cast<size_t>(result));
      }
      const IoScope scope(op);
      EXPECT_NO_THROW(file.FinishRead(2, page.data(), result)) << result;
      EXPECT_EQ(page.data()[kPageSize - 1], 'a') << result;
    }
    const LedgerCounts cost = Ledger::Get().Counts() - before;
    EXPECT_EQ(cost.ops[op.id].FileTotal().read_bytes, 0u) << "what was started was counted then";
    EXPECT_THROW(file.FinishRead(2, page.data(), -EIO), Error);
    FileFaults::Set(0, 1, EIO);
    EXPECT_THROW(file.FinishRead(2, page.data(), 512), Error) << "the second read fails";
    FileFaults::Clear();
  }
}

TEST_F(PageFileTest, AFileEndsWithinAPageOnlyIfItsSizeSaysSo) {
  Write({1, 2}, 'a');
  std::filesystem::resize_file(dir_ + "/data", 2 * kPageSize + 1000);
  auto file = Open();
  AlignedBuffer page(kPageSize);
  for (const int32_t result : {-EINTR, 0, 512, 1000}) {
    try {
      file->FinishRead(2, page.data(), result);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kCorruption);
      EXPECT_NE(std::string(error.what()).find("ends within page 2"), std::string::npos)
          << error.what();
    }
  }
}

TEST_F(PageFileTest, EveryFlippedBitIsDetected) {
  Write({1}, 'a');
  const std::string good = Bytes("data");
  auto file = Open();
  AlignedBuffer page(kPageSize);
  ASSERT_EQ(file->Inspect(1, page.data()), PageState::kValid);
  for (size_t bit = 0; bit < kPageSize * 8; ++bit) {
    page.data()[bit / 8] = static_cast<char>(page.data()[bit / 8] ^ (1 << bit % 8));
    ASSERT_EQ(InspectPage(page.data(), kPageSize, 1), PageState::kBroken) << "bit " << bit;
    page.data()[bit / 8] = static_cast<char>(page.data()[bit / 8] ^ (1 << bit % 8));
  }
  // A whole page in the place of another page must count as broken.
  SetBytes("data", good + good.substr(kPageSize));
  EXPECT_EQ(file->Inspect(2, page.data()), PageState::kBroken);
  EXPECT_THROW(file->Read(2, page.data()), Error);
  EXPECT_EQ(file->Inspect(9, page.data()), PageState::kBlank) << "past the end";
}

}  // namespace
}  // namespace testbed::btree
