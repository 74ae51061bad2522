// Tests the opening of a database that a killed process left on a full disk. The opening must need
// no free space, and what finds no space afterwards must leave the log's reserve for the next
// opening.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/log/log_format.h"
#include "engines/btree/btree_engine.h"
#include "engines/btree/page/meta.h"
#include "engines/btree/pool/redo.h"
#include "engines/btree/store/store.h"
#include "engines/btree/tree/overflow.h"
#include "tests/unit/engines/btree/store_test.h"
#include "tests/unit/engines/failing_disk/expect_refused.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::btree {
namespace {

class FullDiskOpeningTest : public StoreTest {
 protected:
  CheckpointState LastCheckpoint() const {
    return ReadCheckpoint(dir_, CheckSuperblock(DataPath(dir_), dir_, options_.page_size).database);
  }
  // Cuts the data file after its last used page and `left` free pages: a file that has filled the
  // disk has no others.
  void CutFreePages(uint32_t left = 0) {
    const uint64_t pages = uint64_t{LengthInUse(store_->space()->Snapshot())} + left;
    std::filesystem::resize_file(DataPath(dir_), pages * options_.page_size);
  }
  void OpenOnAFullDisk() {
    FailingDisk disk(dir_);
    disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true, "btree.data"});
    Open();
  }
  void Commit(const std::vector<std::pair<std::string, std::string>>& rows,
              const std::string& name = "t") {
    StoreClient client(store_.get());
    const uint32_t table = store_->OpenTable(name)->table();
    std::vector<RowWrite> operations;
    for (const auto& [key, value] : rows) operations.push_back({false, table, key, value});
    client.Commit(operations);
  }
};

TEST_F(FullDiskOpeningTest, ALongValueIsWrittenWhereItIs) {
  const std::string value(1 << 20, 'x');
  RunAndCrash([&] { Put("a", value); });
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true});
  ASSERT_NO_THROW(Open());
  EXPECT_EQ(Get("a"), value);
  ExpectSound();
}

TEST_F(FullDiskOpeningTest, WithAChangeBufferThatTheDatabaseDidNotHave) {
  RunAndCrash([&] {
    Put("a", "1");
    CutFreePages();
  });
  options_.change_buffer_bytes = 100 << 10;
  ASSERT_NO_THROW(OpenOnAFullDisk());
  EXPECT_EQ(Get("a"), "1");
}

// A result would have told a setting that was not in force.
TEST_F(FullDiskOpeningTest, TellsNoChangeBufferWhereItFoundNoRoomForOne) {
  RunAndCrash([&] {
    Put("a", "1");
    CutFreePages();
  });
  EngineOptions options;
  options.page_size = options_.page_size;
  options.cache_bytes = 10 << 20;
  options.extra = {{"change_buffer_pct", "10"}};
  const auto told = [&] {
    for (const auto& [name, value] : OpenBtree(dir_, options)->EffectiveSettings()) {
      if (name == "change_buffer_bytes") return value;
    }
    return std::string();
  };
  {
    FailingDisk disk(dir_);
    disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true, "btree.data"});
    EXPECT_EQ(told(), "0");
  }
  EXPECT_EQ(told(), std::to_string(options.cache_bytes / 100 * 10));
}

// The commit of a long value has reserved its run of pages, and promised pages for splits, so that
// the file has them. Recovery splits leaves for rows that were longer for a while, and must not use
// these pages for that.
TEST_F(FullDiskOpeningTest, SplitsForAWhileLeaveALongValueItsPages) {
  options_.cache_bytes = 4 << 20;
  options_.checkpoint_log_bytes = 1 << 30;
  constexpr int kGroups = 40;
  Model model;
  const auto rows = [&](int group, char prefix, int count, size_t bytes) {
    std::vector<std::pair<std::string, std::string>> made;
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(100 + group) + "-" + prefix;
      made.emplace_back(number + std::to_string(100 + i), std::string(bytes, prefix));
      model[made.back().first] = made.back().second;
    }
    return made;
  };
  const std::string last(20 * 4000, 'z');
  RunAndCrash([&] {
    for (int g = 0; g < kGroups; ++g) Commit(rows(g, 'a', 8, 400));
    store_->Checkpoint();
    for (int g = 0; g < kGroups; ++g) Commit(rows(g, 'a', 8, 120));
    for (int g = 0; g < kGroups; ++g) Commit(rows(g, 'b', 22, 85));
    for (int g = 0; g < kGroups; ++g) Commit(rows(g, 'a', 8, 120));
    // The process is killed when the commit is in the log.
    std::string record = OperationsHeader({});
    AppendOperation({false, store_->OpenTable("t")->table(), "zzz", last}, &record);
    store_->log()->Append(record);
    CutFreePages(OverflowPages(last.size(), options_.page_size) + 10);
  });
  for (int g = 0; g < kGroups; ++g) {
    rows(g, 'a', 8, 120);
    rows(g, 'b', 22, 85);
  }
  model["zzz"] = last;
  ASSERT_NO_THROW(OpenOnAFullDisk());
  ExpectRows(store_->OpenTable("t"), model);
  ExpectSound();
}

// The table of the change buffer still has the row that the commit took out of it.
TEST_F(FullDiskOpeningTest, ALongValueTakesItsRowOutOfTheChangeBuffer) {
  options_.change_buffer_bytes = 100 << 10;
  const std::string value(1 << 20, 'x');
  Open();
  Put("a", "1");
  Tree* tree = store_->OpenTable("t");
  const uint32_t table = tree->table();
  {
    // The buffer has an older version of the row.
    StoreClient client(store_.get());
    client.context()->commit = {store_->log()->EndLsn() - 1, store_->log()->EndLsn()};
    std::string key(4, '\0');
    key[3] = static_cast<char>(table);
    store_->Table(1)->Write(client.context(), {key + "a", false, {"p1", false}});
  }
  RunAndCrash([&] { Put("a", value); });
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true});
  ASSERT_NO_THROW(Open());
  StoreClient client(store_.get());
  std::string found;
  ASSERT_TRUE(client.Get(store_->OpenTable("t"), "a", &found));
  EXPECT_EQ(found, value);
  EXPECT_EQ(store_->change_buffer()->rows(), 0u);
}

// The pages of the replaced value belong to another value now.
TEST_F(FullDiskOpeningTest, AValueThatWasReplacedNeedsNoPages) {
  const std::string last((1 << 20) - 5000, 'y'), other(1 << 20, 'z');
  RunAndCrash([&] {
    Put("a", std::string(1 << 20, 'x'));
    Put("a", last);
    Put("b", other);
    CutFreePages();
  });
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true});
  ASSERT_NO_THROW(Open());
  EXPECT_EQ(Get("a"), last);
  EXPECT_EQ(Get("b"), other);
  ExpectSound();
}

// The leaf is full of later, shorter versions of the rows, and has no room for the earlier ones,
// which recovery replays first.
TEST_F(FullDiskOpeningTest, LongerVersionsOfRowsInAFullLeafNeedNoPages) {
  Model model;
  RunAndCrash([&] {
    std::vector<std::pair<std::string, std::string>> rows;
    for (int i = 0; i < 8; ++i) rows.emplace_back("a" + std::to_string(i), std::string(400, 'x'));
    Commit(rows);
    for (auto& [key, value] : rows) value.resize(10);
    Commit(rows);
    rows.clear();
    for (int i = 0; i < 30; ++i) rows.emplace_back("b" + std::to_string(i), std::string(85, 'y'));
    Commit(rows);
    store_->Flush();
    CutFreePages();
  });
  for (int i = 0; i < 8; ++i) model["a" + std::to_string(i)] = std::string(10, 'x');
  for (int i = 0; i < 30; ++i) model["b" + std::to_string(i)] = std::string(85, 'y');
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true});
  ASSERT_NO_THROW(Open());
  ExpectRows(store_->OpenTable("t"), model);
  ExpectSound();
}

// The records of the log make room in a leaf, fill it, and write the short rows once more.
TEST_F(FullDiskOpeningTest, ARowWaitsUntilALaterOneHasMadeRoom) {
  Model model;
  const auto rows = [&](char prefix, int count, size_t bytes) {
    std::vector<std::pair<std::string, std::string>> made;
    for (int i = 0; i < count; ++i) {
      made.emplace_back(prefix + std::to_string(i), std::string(bytes, 'x'));
      model[made.back().first] = made.back().second;
    }
    return made;
  };
  const auto long_rows = rows('a', 8, 400), others = rows('b', 30, 85),
             short_rows = rows('a', 8, 10);
  RunAndCrash([&] {
    Commit(long_rows);
    store_->Flush();
    Commit(short_rows);
    Commit(others);
    Commit(short_rows);
    CutFreePages();
  });
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true});
  ASSERT_NO_THROW(Open());
  ExpectRows(store_->OpenTable("t"), model);
  ExpectSound();
}

// Recovery erases the rows of two leaves before it writes the rows that take their place. It must
// not merge the leaves: another table would get the page that the merge frees.
TEST_F(FullDiskOpeningTest, LeavesThatAreEmptyForAWhileStay) {
  std::vector<std::pair<std::string, std::string>> first, second;
  for (int i = 100; i < 150; ++i) {
    first.emplace_back(std::to_string(i) + "x", std::string(100, 'x'));
    second.emplace_back(std::to_string(i) + "y", std::string(100, 'y'));
  }
  const auto rows = [](char prefix, int count, size_t bytes) {
    std::vector<std::pair<std::string, std::string>> made;
    for (int i = 0; i < count; ++i) {
      made.emplace_back(prefix + std::to_string(100 + i), std::string(bytes, 'z'));
    }
    return made;
  };
  const auto long_rows = rows('a', 8, 400), others = rows('b', 36, 85),
             short_rows = rows('a', 8, 10);
  RunAndCrash([&] {
    Commit(first);
    Commit(long_rows, "u");
    store_->Checkpoint();
    StoreClient client(store_.get());
    const uint32_t table = store_->OpenTable("t")->table();
    for (size_t i = 0; i < first.size(); ++i) {
      const std::vector<RowWrite> replace = {{true, table, first[i].first, {}},
                                             {false, table, second[i].first, second[i].second}};
      client.Commit(replace);
    }
    Commit(short_rows, "u");
    Commit(others, "u");
    Commit(short_rows, "u");
    Commit(second);
    CutFreePages();
  });
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true});
  ASSERT_NO_THROW(Open());
  ExpectRows(store_->OpenTable("t"), {second.begin(), second.end()});
  Model others_and_short(others.begin(), others.end());
  others_and_short.insert(short_rows.begin(), short_rows.end());
  ExpectRows(store_->OpenTable("u"), others_and_short);
  ExpectSound();
}

// The leaves are full, so the rows that wait for them in the buffer must go on waiting.
TEST_F(FullDiskOpeningTest, RowsOfTheChangeBufferGoBackToIt) {
  options_.change_buffer_bytes = 100 << 10;
  Model model;
  const auto key = [](int i) { return "row" + std::to_string(100000 + i); };
  for (int i = 0; i < 4000; ++i) model[key(2 * i)] = std::string(100, 'x');
  Open();
  Commit({model.begin(), model.end()});
  store_->Checkpoint();
  std::vector<std::pair<std::string, std::string>> between;
  for (int i = 0; i < 4000; i += 8) between.emplace_back(key(2 * i + 1), std::string(100, 'y'));
  RunAndCrash([&] {
    Commit(between);
    ASSERT_GT(store_->change_buffer()->rows(), 200u);
    CutFreePages();
  });
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true});
  ASSERT_NO_THROW(Open());
  EXPECT_GT(store_->change_buffer()->rows(), 0u);
  ExpectSound();
  model.insert(between.begin(), between.end());
  {
    StoreClient client(store_.get());
    for (const auto& [row, value] : model) {
      std::string found;
      ASSERT_TRUE(client.Get(store_->OpenTable("t"), row, &found));
      ASSERT_EQ(found, value);
    }
  }
  // The rows must move once there is room.
  disk.Heal();
  store_.reset();
  options_.change_buffer_bytes = 0;
  Open();
  EXPECT_EQ(store_->change_buffer()->rows(), 0u);
  ExpectRows(store_->OpenTable("t"), model);
}

// Does random work, after which long values take all the free pages that are left.
class RandomFullDiskTest : public FullDiskOpeningTest {
 protected:
  // Without a client only the model changes.
  void Work(uint64_t seed, StoreClient* client, Tree* tree, Model* model) {
    random_.seed(seed);
    const uint64_t commits = 20 + random_() % 400;
    const int erased = static_cast<int>(random_() % 6);
    const bool flushes = random_() % 2 == 0;
    for (uint64_t i = 0; i < commits; ++i) {
      RandomCommit(client, tree, model, 1 + random_() % 20, i % 50 < 10 ? 9 : erased);
      if (client == nullptr) continue;
      if (flushes && i % 37 == 0) store_->Flush();
      most_ = std::max(most_, LengthInUse(store_->space()->Snapshot()));
    }
  }
  void UseFreePages() {
    Space* const space = store_->space();
    int n = 0;
    for (uint32_t run = 64; run > 0; run /= 2) {
      for (;;) {
        const PageId first = space->Reserve(run);
        space->Cancel(first, run);
        if (first + run > LengthInUse(space->Snapshot())) break;
        Put("free" + std::to_string(n++), std::string(run * (options_.page_size - 100), 'f'));
        most_ = std::max(most_, LengthInUse(space->Snapshot()));
      }
    }
  }
  uint32_t most_ = 0;  // pages that the file has had in use
};

TEST_F(RandomFullDiskTest, OpensWithEveryRow) {
  for (const uint64_t seed : {3, 5, 8, 9, 12, 14, 15, 22}) {
    SCOPED_TRACE(seed);
    store_.reset();
    std::filesystem::remove_all(dir_);
    options_.change_buffer_bytes = seed % 2 == 0 ? 0 : 100 << 10;
    options_.checkpoint_log_bytes = 1 << 30;
    Model model;
    RunAndCrash([&] {
      Tree* tree = store_->OpenTable("t");
      StoreClient client(store_.get());
      Work(seed, &client, tree, &model);
      UseFreePages();
      std::filesystem::resize_file(DataPath(dir_), uint64_t{most_} * options_.page_size);
    });
    Work(seed, nullptr, nullptr, &model);
    FailingDisk disk(dir_);
    disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true});
    ASSERT_NO_THROW(Open());
    StoreClient client(store_.get());
    for (const auto& [key, value] : model) {
      std::string found;
      ASSERT_TRUE(client.Get(store_->OpenTable("t"), key, &found));
      ASSERT_EQ(found, value);
    }
    ExpectSound();
  }
}

// The checkpoint at the end of a recovery, which would give the log's reserve back, finds the disk
// full.
class FullCheckpointTest : public FullDiskOpeningTest,
                           public testing::WithParamInterface<TornPage> {
 protected:
  FullCheckpointTest() {
    options_.log.reserve = true;
    options_.torn_page = GetParam();
    options_.durability = Durability::kSync;
  }
};

TEST_P(FullCheckpointTest, NoCommitUsesTheReserve) {
  RunAndCrash([&] {
    for (int i = 0; i < 500; ++i) Put(std::to_string(i), std::string(300, 'x'));
  });
  const uint64_t next = LastCheckpoint().sequence + 1;
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kWrite, 0, ENOSPC, true, CheckpointPath("", static_cast<int>(next % 2))});
  for (int opening = 0; opening < 2; ++opening) {
    Open();
    EXPECT_EQ(store_->checkpoints(), 0u);
    EXPECT_EQ(store_->pool()->Counters().images, 0u);
    EXPECT_EQ(store_->torn_page(),
              GetParam() == TornPage::kNone ? TornPage::kNone : TornPage::kDoublewrite);
    for (int i = 0; i < 2; ++i) {
      ExpectRefused([&] { Put("new", "1"); });
    }
    EXPECT_EQ(Get("499"), std::string(300, 'x'));
    EXPECT_EQ(store_->log()->Counters().records, 0u);
    store_.reset();
  }
  Open();
  EXPECT_THROW(Put("new", "1"), Error);
  disk.Heal();
  Put("new", "1");
  EXPECT_EQ(store_->checkpoints(), 1u);
  EXPECT_EQ(Get("new"), "1");
  ExpectSound();
  Open();
  EXPECT_EQ(store_->torn_page(), GetParam());
}
INSTANTIATE_TEST_SUITE_P(TornPages, FullCheckpointTest,
                         testing::Values(TornPage::kDoublewrite, TornPage::kFullPageImage,
                                         TornPage::kNone),
                         [](const auto& param) { return std::string(TornPageName(param.param)); });

// The frame that the opening writes takes the reserve, and the disk has no room for another one. A
// checkpoint must let the log recycle a segment.
TEST_F(FullDiskOpeningTest, AnOpeningAtTheEndOfALogSegmentFindsTheReserveAndGivesItBack) {
  options_.log.reserve = true;
  options_.log.segment_bytes = options_.log.buffer_bytes = 64 << 10;
  options_.durability = Durability::kSync;
  Open();
  const auto left = [this] {
    const LogOptions& log = options_.log;
    return (log.segment_bytes - store_->log()->EndLsn() % log.segment_bytes) % log.segment_bytes;
  };
  for (int i = 0; left() >= options_.log.write_size; ++i) Put("a", std::to_string(i));
  store_.reset();
  // The segment that would be the next reserve; the one that is recycled gets its name.
  const uint64_t next = LogSegmentPaths(LogPath(dir_)).size() + 1;
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kWrite, 0, ENOSPC, false, LogSegmentPath("", next)});
  Open();
  EXPECT_EQ(disk.failed(), 1u);
  EXPECT_FALSE(store_->log()->LacksReserve());
  EXPECT_NO_THROW(Put("a", "b"));
  EXPECT_EQ(Get("a"), "b");
}

// The space map of a data file that has filled the disk must still have room in the checkpoint
// files.
TEST_F(FullDiskOpeningTest, TheCheckpointFilesHaveTheirSpaceBeforeTheDataFileGrows) {
  Open();
  for (int which : {0, 1}) EXPECT_TRUE(std::filesystem::exists(CheckpointPath(dir_, which)));
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true, CheckpointPath("", 1)});
  const uint32_t pages = store_->space()->file_pages();
  EXPECT_THROW(store_->space()->Promise(1 << 20), Error);
  EXPECT_EQ(disk.failed(), 2u);  // once more for fewer pages
  EXPECT_EQ(store_->space()->file_pages(), pages);
}

}  // namespace
}  // namespace testbed::btree
