// Tests crashes that tear pages on their way to the file: each method of torn-page protection must
// repair them.
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <future>
#include <thread>

#include "engines/btree/inspect/image.h"
#include "engines/inspect.h"
#include "tests/unit/engines/btree/inspect_util.h"
#include "tests/unit/engines/btree/store_test.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::btree {
namespace {

class TornPageTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_.torn_page = TornPage::kFullPageImage;
    options_.checkpoint_log_bytes = 1ull << 40;  // only the test itself starts checkpoints
  }
  // Commits without a checkpoint until most pages have been written to their places, then crashes.
  void WriteAndCrash(Model* model, int rounds) {
    before_ = Slurp(DataPath(dir_));
    const Model start = *model;
    RunAndCrash([&] {
      Tree* tree = store_->OpenTable("t");
      StoreClient client(store_.get());
      Model same = start;
      for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < 60; ++i) RandomCommit(&client, tree, &same, 1 + random_() % 10, 3);
        store_->Flush();  // writes pages to their places without a checkpoint
      }
    });
    for (int i = 0; i < rounds * 60; ++i)
      RandomCommit(nullptr, nullptr, model, 1 + random_() % 10, 3);
  }
  // Tears each page that was written since WriteAndCrash began: its last sectors get their old
  // contents. Returns the number of torn pages.
  int TearPages() {
    const std::string now = Slurp(DataPath(dir_));
    std::string torn = now;
    before_.resize(now.size());
    int pages = 0;
    for (size_t at = options_.page_size; at < now.size(); at += options_.page_size) {
      const std::string_view old_page(&before_[at], options_.page_size);
      if (std::string_view(&now[at], options_.page_size) == old_page) continue;
      const size_t keep = (1 + random_() % (options_.page_size / 512 - 1)) * 512;
      torn.replace(at + keep, options_.page_size - keep, old_page.substr(keep));
      ++pages;
    }
    std::ofstream(DataPath(dir_), std::ios::binary | std::ios::trunc) << torn;
    return pages;
  }
  Model MakeDatabase() {
    Model model;
    Open();
    Tree* tree = store_->OpenTable("t");
    {
      StoreClient client(store_.get());
      for (int i = 0; i < 400; ++i) RandomCommit(&client, tree, &model, 10, 1);
      store_->Checkpoint();
    }
    store_.reset();
    return model;
  }

  std::string before_;
};

TEST_F(TornPageTest, TheLogHasEveryPageThatWasWrittenWhole) {
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    std::filesystem::remove_all(dir_);
    Model model = MakeDatabase();
    WriteAndCrash(&model, 1 + round);
    EXPECT_GT(TearPages(), 100);
    // The checker sees the database as recovery will leave it, so it must find no fault.
    const Inspection inspection = InspectDatabase(dir_, {});
    EXPECT_EQ(inspection.faults.count, 0u)
        << (inspection.faults.kept.empty() ? "" : inspection.faults.kept[0].Text());
    // Recovery's own writes may be torn as well. It protects them by the doublewrite file.
    Open();
    EXPECT_TRUE(store_->recovery().needed);
    ExpectSound();
    ExpectRows(store_->OpenTable("t"), model);
  }
}

// Recovery must keep its last batch in the doublewrite file, so that reads can go on.
TEST_F(TornPageTest, AFullDiskDoesNotEndTheOpening) {
  Model model = MakeDatabase();
  WriteAndCrash(&model, 2);
  options_.cache_bytes = 16 << 20;  // no page need leave
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kWrite, 0, ENOSPC, true, "btree.data"});
  Open();
  EXPECT_GT(disk.failed(), 0u);
  ExpectRows(store_->OpenTable("t"), model);
  disk.Heal();
  Open();
  ExpectSound();
  ExpectRows(store_->OpenTable("t"), model);
}

TEST_F(TornPageTest, WithoutProtectionTheSameIsDetected) {
  options_.torn_page = TornPage::kNone;
  Model model = MakeDatabase();
  WriteAndCrash(&model, 2);
  EXPECT_GT(TearPages(), 100);
  EXPECT_THROW(
      {
        Open();
        ExpectRows(store_->OpenTable("t"), model);
      },
      Error);
}

TEST_F(TornPageTest, APageGoesToTheLogOnceBetweenTwoCheckpoints) {
  options_.cache_bytes = 4 << 20;
  MakeDatabase();
  Open();
  Put("a", "1");
  const uint64_t start = store_->pool()->Counters().images;
  store_->Flush();
  const uint64_t first = store_->pool()->Counters().images - start;
  EXPECT_GE(first, 1u);
  for (int i = 0; i < 5; ++i) {
    Put("a", std::to_string(i));
    store_->Flush();
  }
  EXPECT_EQ(store_->pool()->Counters().images - start, first);
  store_->Checkpoint();
  Put("a", "2");
  store_->Flush();
  EXPECT_EQ(store_->pool()->Counters().images - start, first + 1);
  EXPECT_EQ(store_->file()->doublewrite_bytes(), 0u);
}

// The page is copied before the record is in the log, and its image comes into the log after the
// record. So the image must not count as protection for a floor at the end of the record, which is
// set later.
TEST_F(TornPageTest, ACopyFromBeforeTheFloorIsNoImageForIt) {
  MakeDatabase();
  Open();
  Put("a", "1");
  // The second checkpoint moves the floor past the page's image.
  for (int checkpoint = 0; checkpoint < 2; ++checkpoint) store_->Checkpoint();
  Put("a", "2");
  const uint64_t start = store_->pool()->Counters().images;
  std::promise<void> latched, copied;
  LogRange record;
  std::thread append([&] {
    record = store_->log()->Append(8, [&](char* to) {
      std::memset(to, 0, 8);
      latched.set_value();
      copied.get_future().wait();
    });
  });
  latched.get_future().wait();
  std::thread flush([&] { store_->Flush(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // flush waits now
  copied.set_value();
  append.join();
  flush.join();
  const uint64_t images = store_->pool()->Counters().images;
  EXPECT_GT(images, start);
  store_->pool()->SetImageFloor(record.end);
  Put("a", "3");
  store_->Flush();
  EXPECT_GT(store_->pool()->Counters().images, images);
}

TEST_F(TornPageTest, APageThatLeavesThePoolAndComesBackHasOneImage) {
  Open();
  const std::string value(200, 'v');
  const auto write = [&](int rows) {
    for (int i = 0; i < rows; ++i) Put("row" + std::to_string(random_() % 4000), value);
  };
  write(12000);
  for (int checkpoint = 0; checkpoint < 2; ++checkpoint) {
    store_->Checkpoint();  // each page needs a new image at its first write after a checkpoint
    const PoolCounters start = store_->pool()->Counters();
    write(6000);
    const PoolCounters end = store_->pool()->Counters();
    const uint64_t pages = store_->space()->used_pages();
    EXPECT_GT(pages, 3 * store_->pool()->frames());
    EXPECT_GT(end.written - start.written, 6 * pages);
    // A page has one image, and a second one only when its newest change is older than the floor.
    EXPECT_LE(end.images - start.images, pages + store_->pool()->frames());
    EXPECT_GT(end.images - start.images, pages / 2);
  }
}

TEST_F(TornPageTest, TheWayCanBeChangedBetweenRuns) {
  Model model = MakeDatabase();
  for (const TornPage way : {TornPage::kDoublewrite, TornPage::kFullPageImage, TornPage::kNone,
                             TornPage::kFullPageImage, TornPage::kDoublewrite}) {
    // Recovery must use the protection of the last run, whatever the next run's method is.
    WriteAndCrash(&model, 1);
    if (options_.torn_page == TornPage::kFullPageImage) TearPages();
    options_.torn_page = way;
    Open();
    ExpectSound();
    ExpectRows(store_->OpenTable("t"), model);
    store_.reset();
  }
}

// A doublewrite file without its space would find the disk full in the middle of a run.
TEST_F(TornPageTest, TheDoublewriteFileGetsItsSpaceWhenTheWayIsChanged) {
  FileOptions probe;
  probe.mode = IoMode::kBuffered;
  probe.create = FileOptions::kMustCreate;
  if (!File::Open(dir_ + "/probe", probe)->Allocate(0, 4096)) GTEST_SKIP() << "no fallocate(2)";
  std::filesystem::remove(dir_ + "/probe");
  for (const TornPage before : {TornPage::kFullPageImage, TornPage::kNone}) {
    options_.torn_page = before;
    Open();
    Put("a", "1");
    store_.reset();
    ASSERT_EQ(std::filesystem::file_size(DoublewritePath(dir_)), 0u);
    options_.torn_page = TornPage::kDoublewrite;
    {
      FailingDisk disk(dir_);
      disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true, "btree.doublewrite"});
      ASSERT_NO_THROW(Open()) << "an opening needs no free space";
      EXPECT_GT(disk.failed(), 0u);
      store_.reset();
    }
    Open();
    EXPECT_GE(std::filesystem::file_size(DoublewritePath(dir_)),
              WriteBatch::PackedLimit(options_.page_size));
  }
}

TEST_F(TornPageTest, AtomicWritesAreRefusedWhereTheDeviceHasNone) {
  options_.torn_page = TornPage::kAtomic;
  options_.io = IoMode::kBuffered;
  try {
    Open();
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_NE(std::string(e.what()).find("torn_page=atomic"), std::string::npos) << e.what();
  }
  EXPECT_FALSE(Store::Exists(dir_));
}

}  // namespace
}  // namespace testbed::btree
