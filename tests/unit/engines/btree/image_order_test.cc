// Tests recovery when a page changed after it was copied, but before the copy was in the log: the
// torn page must become the copy first, and then get the change, although the change comes first in
// the log.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "device/error.h"
#include "device/log/log.h"
#include "device/log/log_reader.h"
#include "engines/btree/page/node.h"
#include "engines/btree/page/space.h"
#include "engines/btree/pool/pool.h"
#include "engines/btree/pool/redo.h"
#include "engines/btree/store/redo_index.h"
#include "tests/fuzz/replay_tree.h"

namespace testbed::btree {
namespace {

constexpr PageId kPage = 3;  // a leaf of keys 100 to 187
constexpr Lsn kCopied = 50;

class ImageOrderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "btree_image_order_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    MakeReplayFile(dir_ + "/data");
    FileOptions options;
    const auto file = File::Open(dir_ + "/data", options);
    const std::string torn(512, 'x');
    file->Write(kPage * uint64_t{kReplayPageSize} + 2048, torn.data(), torn.size());
    LogOptions log_options;
    log_options.segment_bytes = 64 << 10;
    std::filesystem::create_directory(dir_ + "/log");
    const auto log = Log::Open(dir_ + "/log", log_options);
    log_id_ = log->id();
    begin_ = log->EndLsn();
    StructureRecord cut;
    cut.Truncate(kPage, ReplayKey(145));
    end_of_cut_ = log->Append(cut.Encode()).end;
    AlignedBuffer page(kReplayPageSize);
    MakeReplayPage(kPage, page.data());
    Header(page.data())->lsn = kCopied;
    StructureRecord copy;
    copy.SavedImage(page.data(), kReplayPageSize);
    log->Append(copy.Encode());
    log->Flush();
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  // Replays the log from `begin` on. Then passes the page, and the number of changed pages, to
  // `look`.
  void Replay(const std::string& log, Lsn begin,
              const std::function<void(const char* page, uint64_t changed)>& look) const {
    PageFile file(File::Open(dir_ + "/data", FileOptions{}), nullptr, kReplayPageSize);
    RedoLog redo;
    Pool pool(&file, &redo, Pool::BytesFor(64, kReplayPageSize, 2000));
    Space space(kReplayPageSize, [](uint32_t) {});
    PoolClient client(&pool);
    StructureReplay replay(&pool, &space, &client);
    redo.Attach(Log::Open(log, LogOptions{}, begin, [&](const LogRecord& record) {
      replay.Apply(DecodeRecord(record.bytes).structure, record.lsn, record.end);
    }));
    replay.CheckWhole();
    look(pool.Read(&client, kPage).page(), replay.pages_changed());
  }
  // Replays the log's first record alone. Then the pool writes what it may write, and the recovery
  // ends, as if the process were killed.
  void ReplayFirst(const std::string& log, Lsn begin) const {
    PageFile file(File::Open(dir_ + "/data", FileOptions{}), nullptr, kReplayPageSize);
    RedoLog redo;
    Pool pool(&file, &redo, Pool::BytesFor(64, kReplayPageSize, 2000));
    Space space(kReplayPageSize, [](uint32_t) {});
    PoolClient client(&pool);
    StructureReplay replay(&pool, &space, &client);
    LogReader reader(log, begin);
    LogRecord record;
    ASSERT_TRUE(reader.Next(&record));
    replay.Apply(DecodeRecord(record.bytes).structure, record.lsn, record.end);
    pool.FlushBefore(kNoLsn);
  }
  // Turns a page that was read in `state` into the page that recovery will make of it according to
  // the check. Returns its new state.
  static PageState Check(const std::string& log, uint64_t log_id, Lsn begin, PageState state,
                         char* page) {
    Faults faults;
    Space space(kReplayPageSize, [](uint32_t) {});
    RedoIndex index(log, kReplayPageSize, &faults);
    EXPECT_TRUE(index.Read(begin, log_id, &space));
    std::memset(page, state == PageState::kBroken ? 'x' : 0, kReplayPageSize);
    std::string why;
    return index.Apply(kPage, state, page, &why);
  }
  // Fills another log, and returns its id and where it begins.
  std::pair<uint64_t, Lsn> Log2(const std::function<void(Log* log)>& fill) const {
    std::filesystem::create_directory(dir_ + "/log2");
    const auto log = Log::Open(dir_ + "/log2", LogOptions{});
    const std::pair<uint64_t, Lsn> made(log->id(), log->EndLsn());
    fill(log.get());
    log->Flush();
    return made;
  }
  // A commit from before the redo point logs a page whole when it splits one, and then puts a row
  // into it, which leaves the page's LSN. Returns the image that is saved when the page is written;
  // it has the row.
  static StructureRecord SplitAndRow(Log* log) {
    AlignedBuffer page(kReplayPageSize);
    MakeReplayPage(kPage, page.data());
    StructureRecord split, saved;
    split.Image(page.data(), kReplayPageSize);
    Header(page.data())->lsn = log->Append(split.Encode()).end;
    Node node(page.data(), kReplayPageSize);
    bool found;
    const std::string key = ReplayKey(101);
    EXPECT_TRUE(node.InsertLeaf(node.LowerBound(key, &found), key, {"row", false}));
    saved.SavedImage(page.data(), kReplayPageSize);
    return saved;
  }
  static void ExpectRow(const char* page) {
    bool found;
    Node(page, kReplayPageSize).LowerBound(ReplayKey(101), &found);
    EXPECT_TRUE(found);
  }
  void ExpectCut(const char* page) const {
    const Node node(page, kReplayPageSize);
    EXPECT_EQ(node.Validate(), "");
    EXPECT_EQ(node.HighFence(), ReplayKey(145));
    ASSERT_EQ(node.count(), 15u);  // 100, 103, ... 142
    EXPECT_EQ(node.Key(14), ReplayKey(142));
    EXPECT_EQ(Header(page)->lsn, end_of_cut_);
  }

  std::string dir_;
  uint64_t log_id_ = 0;
  Lsn begin_ = 0, end_of_cut_ = 0;
};

TEST_F(ImageOrderTest, RecoveryMakesTheChangeAfterTheCopy) {
  Replay(dir_ + "/log", begin_, [&](const char* page, uint64_t changed) {
    EXPECT_EQ(changed, 2u);
    ExpectCut(page);
  });
}

TEST_F(ImageOrderTest, ASavedImageOfATornPageCountsAtTheSameLsn) {
  const Lsn begin = Log2([](Log* log) { log->Append(SplitAndRow(log).Encode()); }).second;
  Replay(dir_ + "/log2", begin, [](const char* page, uint64_t) { ExpectRow(page); });
}

// Before the image comes to the log another commit splits the page once more.
TEST_F(ImageOrderTest, ASavedImageOfATornPageCountsAlthoughTheLogHasChangedThePageSince) {
  const auto [log_id, begin] = Log2([](Log* log) {
    StructureRecord saved = SplitAndRow(log), cut;
    cut.Truncate(kPage, ReplayKey(145));
    log->Append(cut.Encode());
    log->Append(saved.Encode());
  });
  const auto expect_both = [](const char* page) {
    ExpectRow(page);
    EXPECT_EQ(Node(page, kReplayPageSize).HighFence(), ReplayKey(145));
  };
  Replay(dir_ + "/log2", begin, [&](const char* page, uint64_t) { expect_both(page); });
  AlignedBuffer page(kReplayPageSize);
  EXPECT_EQ(Check(dir_ + "/log2", log_id, begin, PageState::kBroken, page.data()),
            PageState::kValid);
  expect_both(page.data());
}

// A recovery that ends between the two records must not leave a page that looks whole and has the
// LSN of the image, but not its row.
TEST_F(ImageOrderTest, ATornPageStaysTornWhenARecoveryIsInterrupted) {
  const Lsn begin = Log2([](Log* log) { log->Append(SplitAndRow(log).Encode()); }).second;
  for (int recovery = 0; recovery < 2; ++recovery) ReplayFirst(dir_ + "/log2", begin);
  Replay(dir_ + "/log2", begin, [](const char* page, uint64_t) { ExpectRow(page); });
}

// The log has the first image behind the redo point and the merge before it, although the image was
// copied before the page was merged with its neighbour. So the cut of what came from the neighbour
// does not fit that image. The second image is that of the page's next write.
TEST_F(ImageOrderTest, AChangeThatDoesNotFitAnOldImageWaitsForTheNext) {
  for (const bool cut_first : {false, true}) {
    SCOPED_TRACE(cut_first);
    std::filesystem::remove_all(dir_ + "/log2");
    const auto [log_id, begin] = Log2([cut_first](Log* log) {
      AlignedBuffer page(kReplayPageSize);
      StructureRecord old, cut, saved;
      MakeReplayPage(kPage, page.data());
      Header(page.data())->lsn = kCopied;
      old.SavedImage(page.data(), kReplayPageSize);
      cut.Truncate(kPage, ReplayKey(250));
      Node merged(page.data(), kReplayPageSize);
      merged.Init(kPage, 1, PageType::kLeaf, 0, ReplayKey(100), ReplayKey(250), false);
      merged.InsertLeaf(0, ReplayKey(101), {"row", false});
      if (!cut_first) log->Append(old.Encode());
      Header(page.data())->lsn = log->Append(cut.Encode()).end;
      if (cut_first) log->Append(old.Encode());
      saved.SavedImage(page.data(), kReplayPageSize);
      log->Append(saved.Encode());
    });
    const auto expect_merged = [](const char* page) {
      ExpectRow(page);
      EXPECT_EQ(Node(page, kReplayPageSize).HighFence(), ReplayKey(250));
    };
    Replay(dir_ + "/log2", begin, [&](const char* page, uint64_t) { expect_merged(page); });
    AlignedBuffer page(kReplayPageSize);
    EXPECT_EQ(Check(dir_ + "/log2", log_id, begin, PageState::kBroken, page.data()),
              PageState::kValid);
    expect_merged(page.data());
  }
}

// Without a further image nothing is known of the page.
TEST_F(ImageOrderTest, APageWhoseChangeFitsNoImageIsBroken) {
  const Lsn begin = Log2([](Log* log) {
                      AlignedBuffer page(kReplayPageSize);
                      StructureRecord old, cut;
                      MakeReplayPage(kPage, page.data());
                      Header(page.data())->lsn = kCopied;
                      old.SavedImage(page.data(), kReplayPageSize);
                      cut.Truncate(kPage, ReplayKey(250));
                      log->Append(old.Encode());
                      log->Append(cut.Encode());
                    }).second;
  EXPECT_THROW(Replay(dir_ + "/log2", begin, [](const char*, uint64_t) {}), Error);
}

TEST_F(ImageOrderTest, AndSoDoesACheckThatWritesNothing) {
  AlignedBuffer page(kReplayPageSize);
  EXPECT_EQ(Check(dir_ + "/log", log_id_, begin_, PageState::kBroken, page.data()),
            PageState::kValid);
  ExpectCut(page.data());
}

}  // namespace
}  // namespace testbed::btree
