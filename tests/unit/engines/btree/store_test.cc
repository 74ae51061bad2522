// Tests the whole engine below the Engine interface: trees against a model, recovery from processes
// that end without closing, checkpoints and long transactions.
#include "tests/unit/engines/btree/store_test.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

namespace testbed::btree {
namespace {

TEST_F(StoreTest, GrowsAndShrinksAsTheModelDoes) {
  for (const uint32_t page_size : {4096u, 65536u}) {
    options_.page_size = page_size;
    options_.cache_bytes = page_size == 4096 ? 256 << 10 : 2 << 20;
    store_.reset();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directory(dir_);
    Open();
    Tree* tree = store_->OpenTable("t");
    Model model;
    StoreClient client(store_.get());
    for (int i = 0; i < 400; ++i) RandomCommit(&client, tree, &model, 20, 2);
    ExpectRows(tree, model);
    ExpectSound();
    const CheckReport full = CheckStore(store_.get());
    EXPECT_GE(full.trees[1].levels.size(), 2u);
    EXPECT_EQ(full.trees[1].rows, model.size());
    while (model.size() > 10) RandomCommit(&client, tree, &model, 10, 10);
    ExpectRows(tree, model);
    ExpectSound();
    const CheckReport empty = CheckStore(store_.get());
    EXPECT_LE(empty.used_pages, 4 + empty.trees[1].overflow_pages + full.used_pages / 50)
        << "erasing everything gives the pages back";
  }
  store_.reset();
}

// A commit asks for pages by the number of levels. A number that is too low would let a full disk
// stop the commit after it was logged.
TEST_F(StoreTest, ATreeKnowsItsLevelsWhileItGrowsAndShrinksAndAfterAnOpening) {
  constexpr int kRows = 3000;
  Open();
  const auto levels = [&] {
    StoreClient client(store_.get());
    const uint32_t known = store_->OpenTable("t")->Levels(client.context());
    EXPECT_EQ(known, CheckStore(store_.get()).trees[1].levels.size());
    return known;
  };
  const auto write = [&](int row, bool erase) {
    StoreClient client(store_.get());
    const std::string key = std::to_string(10000 + row), value(erase ? size_t{0} : 800, 'v');
    const RowWrite op{erase, store_->OpenTable("t")->table(), key, value};
    client.Commit({&op, 1});
  };
  EXPECT_EQ(levels(), 1u);
  uint32_t highest = 1;
  for (int i = 0; i < kRows; ++i) {
    write(i, false);
    if (i % 300 == 20) highest = std::max(highest, levels());
  }
  EXPECT_GE(highest, 3u) << "four rows a leaf";
  Open();
  EXPECT_EQ(levels(), highest);
  for (int i = 0; i < kRows - 1; ++i) {
    write(i, true);
    if (i % 300 == 20) levels();
  }
  EXPECT_LT(levels(), highest);
}

TEST_F(StoreTest, SteadyInsertsAndErasesKeepASteadySize) {
  Open();
  Tree* tree = store_->OpenTable("t");
  StoreClient client(store_.get());
  const std::string value(50, 'v');
  const auto write = [&](uint64_t i, bool erase) {
    char key[32];
    // Rows are inserted at one end and erased at the other, as in a queue.
    snprintf(key, sizeof key, "%016lu", i);
    const RowWrite op{erase, tree->table(), key, erase ? std::string_view() : value};
    client.Commit({&op, 1});
  };
  for (uint64_t i = 0; i < 5000; ++i) write(i, false);
  store_->Checkpoint();
  const uint32_t pages = store_->space()->used_pages();
  for (uint64_t i = 5000; i < 40000; ++i) {
    write(i, false);
    write(i - 5000, true);
  }
  EXPECT_LE(store_->space()->used_pages(), pages * 3 / 2);
  ExpectSound();
}

// A transaction keeps the leaf of its last row latched, and releases it for a row of another leaf
// or table.
TEST_F(StoreTest, RowsInOrderNeedOneDescentALeaf) {
  options_.cache_bytes = 8 << 20;
  Open();
  Tree* tables[] = {store_->OpenTable("a"), store_->OpenTable("b")};
  StoreClient client(store_.get());
  constexpr uint32_t kRows = 5000;
  const std::string value(60, 'v');
  const auto requests_of = [&](bool by_table, uint32_t first) {
    std::vector<std::string> keys;
    for (uint32_t i = 0; i < kRows; ++i) keys.push_back(std::to_string(first + i));
    std::vector<RowWrite> rows;
    for (uint32_t i = 0; i < 2 * kRows; ++i) {
      const uint32_t table = by_table ? i / kRows : i % 2;
      rows.push_back({false, tables[table]->table(), keys[by_table ? i % kRows : i / 2], value});
    }
    const uint64_t before = client.context()->client.requests.Get();
    client.Commit(rows);
    return client.context()->client.requests.Get() - before;
  };
  EXPECT_LT(requests_of(true, 100'000), 2 * kRows / 4);
  EXPECT_GT(requests_of(false, 200'000), 2 * kRows) << "each goes to the other table's leaf";
  for (Tree* table : tables) {
    std::string found;
    for (const uint32_t first : {100'000u, 200'000u}) {
      for (uint32_t i = 0; i < kRows; ++i) {
        ASSERT_TRUE(client.Get(table, std::to_string(first + i), &found)) << first + i;
        ASSERT_EQ(found, value);
      }
    }
  }
  ExpectSound();
}

// Imitates a load by eight threads, each of which commits a hundred rows at a time, so that the
// rows come about in the order of their keys.
TEST_F(StoreTest, TransactionsInAboutAscendingOrderFillTheirPages) {
  options_.cache_bytes = 8 << 20;
  Open();
  Tree* tree = store_->OpenTable("t");
  StoreClient client(store_.get());
  constexpr int kAtOnce = 8, kRun = 100, kRows = 40000;
  const std::string value(60, 'v');
  std::vector<int> waiting;
  for (int next = 0; next < kRows || !waiting.empty();) {
    while (waiting.size() < kAtOnce && next < kRows) {
      waiting.push_back(next);
      next += kRun;
    }
    std::swap(waiting[random_() % waiting.size()], waiting.back());
    std::vector<std::string> keys;
    for (int i = 0; i < kRun; ++i) {
      char key[16];
      snprintf(key, sizeof key, "%08d", waiting.back() + i);
      keys.emplace_back(key);
    }
    waiting.pop_back();
    std::vector<RowWrite> operations;
    for (const std::string& key : keys) operations.push_back({false, tree->table(), key, value});
    client.Commit(operations);
  }
  ExpectSound();
  const uint32_t pages = store_->space()->used_pages();
  Tree* ascending = store_->OpenTable("ascending");
  for (int row = 0; row < kRows; ++row) {
    char key[16];
    snprintf(key, sizeof key, "%08d", row);
    const RowWrite op{false, ascending->table(), key, value};
    client.Commit({&op, 1});
  }
  const uint32_t least = store_->space()->used_pages() - pages;
  EXPECT_LT(pages, least * 135 / 100) << "in order " << least;
}

TEST_F(StoreTest, RecoversFromACrashAtAnyMoment) {
  options_.checkpoint_log_bytes = 1 << 20;
  Model model;
  for (int round = 0; round < 12; ++round) {
    const auto commits = [&](StoreClient* client, Tree* tree, int from, int to) {
      for (int i = from; i < to; ++i) {
        RandomCommit(client, tree, &model, 1 + random_() % 30, round % 3 == 2 ? 9 : 3);
      }
    };
    RunAndCrash([&] {
      Tree* tree = store_->OpenTable("t");
      StoreClient client(store_.get());
      commits(&client, tree, 0, 70);
      if (round % 2 == 0) store_->Checkpoint();
      commits(&client, tree, 70, 100);
      store_->OpenTable("t" + std::to_string(round));
      commits(&client, tree, 100, 150);
    });
    commits(nullptr, nullptr, 0, 150);  // the model of the child is gone, so it is made again here
    Open();
    EXPECT_TRUE(store_->recovery().needed);
    ExpectRows(store_->OpenTable("t"), model);
    EXPECT_EQ(store_->TableNames().size(), 2u + static_cast<unsigned>(round));
    ExpectSound();
  }
}

// A commit is in the log, but its leaf is latched, so that it cannot be applied while a whole
// checkpoint runs.
TEST_F(StoreTest, ACheckpointNeverPassesACommitThatIsNotApplied) {
  RunAndCrash([&] {
    Put("row", "old");
    store_->Checkpoint();
    PoolClient client(store_->pool());
    const ExclusiveGuard leaf = store_->pool()->Write(&client, store_->OpenTable("t")->root());
    const Lsn before = store_->log()->EndLsn();
    std::thread([&] { Put("row", "new"); }).detach();
    while (store_->log()->EndLsn() == before) std::this_thread::yield();
    const uint64_t checkpoints = store_->checkpoints();
    store_->Checkpoint();
    if (store_->checkpoints() != checkpoints + 1) ::_exit(4);
    store_->log()->Write(store_->log()->EndLsn());
    ::_exit(0);
  });
  Open();
  EXPECT_EQ(Get("row"), "new");
  ExpectSound();
}

// Commits that are faster than checkpoints must wait for them, so that the log that recovery must
// read stays bounded.
TEST_F(StoreTest, TheLogNeverGrowsMuchBeyondTwoCheckpoints) {
  options_.checkpoint_log_bytes = 2 << 20;
  Open();
  Tree* tree = store_->OpenTable("t");
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> most{0};
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      StoreClient client(store_.get());
      std::mt19937 random(t);
      const std::string value(500, 'v');
      while (!stop) {
        const std::string key = std::to_string(random() % 20000);
        const RowWrite op{false, tree->table(), key, value};
        client.Commit({&op, 1});
      }
    });
  }
  while (store_->log()->EndLsn() < 30u << 20) {
    most = std::max(most.load(), store_->LogBytesOnDisk());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  // Apart from twice the setting, the log has the segment that is being filled, the one prepared
  // after it, and one that lies only partly before the redo point.
  EXPECT_LE(most.load(), 2 * options_.checkpoint_log_bytes + 4 * options_.log.segment_bytes);
  EXPECT_GE(store_->checkpoints(), 10u);
}

TEST_F(StoreTest, TransactionsLongerThanARecordAreAtomic) {
  options_.cache_bytes = 4 << 20;
  Model model;
  const std::string value(500, 'v');
  for (int i = 0; i < 2000; ++i) model["key" + std::to_string(i)] = value;
  model["huge"] = std::string(64 << 20, 'h');
  RunAndCrash([&] {
    StoreClient client(store_.get());
    std::vector<RowWrite> operations;
    const uint32_t table = store_->OpenTable("t")->table();
    for (const auto& [key, row] : model) operations.push_back({false, table, key, row});
    client.Commit(operations);
    ExpectRows(store_->OpenTable("t"), model);
    if (HasFailure()) ::_exit(4);
  });
  Open();
  EXPECT_TRUE(store_->recovery().needed);
  ExpectRows(store_->OpenTable("t"), model);
  ExpectSound();
  Open();
  EXPECT_FALSE(store_->recovery().needed) << "a clean close leaves nothing to recover";
  ExpectRows(store_->OpenTable("t"), model);
}

TEST_F(StoreTest, ALongTransactionWithoutItsLastPartNeverHappened) {
  RunAndCrash([&] {
    Put("before", "1");
    store_->log()->Sync();
    Put("long", std::string(1 << 20, 'x'));
  });
  // The log is cut in the middle of the transaction; from there on it has zeros.
  int cut = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_ + "/btree.log")) {
    std::string content;
    {
      std::ifstream in(entry.path(), std::ios::binary);
      content.assign(std::istreambuf_iterator<char>(in), {});
    }
    const size_t at = content.find(std::string(100000, 'x'));
    if (at == std::string::npos) continue;
    std::fstream out(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    const std::string zeros(content.size() - at - 50000, '\0');
    out.seekp(static_cast<std::streamoff>(at + 50000));
    out.write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
    ++cut;
  }
  ASSERT_GT(cut, 0);
  try {
    Open();
    EXPECT_EQ(Get("before"), "1");
    EXPECT_EQ(Get("long"), "(absent)");
    ExpectSound();
  } catch (const Error& e) {
    // When the log knows that the cut part was durable, it reports damage.
    EXPECT_EQ(e.kind(), Error::kCorruption) << e.what();
  }
}

uint64_t LeavesOf(const Tree& tree, TreeContext* context, uint32_t page_size) {
  AlignedBuffer copy(page_size);
  uint64_t leaves = 0;
  for (std::string at;; at = Node(copy.data(), page_size).HighFence()) {
    tree.CopyLeaf(context, Tree::Bound::kCover, at, copy.data());
    ++leaves;
    if (Node(copy.data(), page_size).unbounded()) return leaves;
  }
}

// Each leaf must be read once, ahead of the scan or when the scan enters it. A short scan must read
// nothing ahead.
TEST_F(StoreTest, ScansReadAhead) {
  if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
  for (const IoMode io : {IoMode::kBuffered, IoMode::kMmap}) {
    SCOPED_TRACE(IoModeName(io));
    std::filesystem::remove_all(dir_);
    options_.io = io;
    options_.cache_bytes = 1 << 20;
    options_.scan_readahead_bytes = 16 * options_.page_size;
    Open();
    Model model;
    {
      StoreClient client(store_.get());
      Tree* tree = store_->OpenTable("t");
      for (int i = 0; i < 400; ++i) RandomCommit(&client, tree, &model, 20, 0);
    }
    Open();  // cold
    Tree* tree = store_->OpenTable("t");
    {
      StoreClient client(store_.get());
      TreeCursor cursor(tree, client.context(), options_.page_size);
      ASSERT_TRUE(cursor.SeekForward({}, false));
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(cursor.Next());
    }
    EXPECT_EQ(store_->pool()->Counters().fetched, 0u);
    const PoolCounters before = store_->pool()->Counters();
    ExpectRows(tree, model);  // forward, then backward
    const PoolCounters after = store_->pool()->Counters();
    StoreClient client(store_.get());
    const uint64_t leaves = LeavesOf(*tree, client.context(), options_.page_size);
    ASSERT_GT(leaves, 50u);
    if (io == IoMode::kMmap) {
      EXPECT_EQ(after.fetched, 0u) << "the kernel reads ahead";
      continue;
    }
    EXPECT_GT(after.fetched - before.fetched, leaves * 7 / 10);
    EXPECT_LE(after.fetched - before.fetched, leaves);
  }
}

// A scan that tells its length waits once for its leaves, and reads few that it does not enter.
TEST_F(StoreTest, AScanOfKnownLengthReadsItsLeavesAtOnce) {
  if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
  options_.cache_bytes = 1 << 20;
  options_.scan_readahead_bytes = 16 * options_.page_size;
  Open();
  Model model;
  uint64_t leaves = 0;
  {
    StoreClient client(store_.get());
    Tree* tree = store_->OpenTable("t");
    for (int i = 0; i < 400; ++i) RandomCommit(&client, tree, &model, 20, 0);
    leaves = LeavesOf(*tree, client.context(), options_.page_size);
  }
  ASSERT_GT(leaves, 50u);
  const uint64_t rows = model.size() * 10 / leaves;  // rows of about ten leaves
  Open();                                            // cold
  StoreClient client(store_.get());
  TreeCursor cursor(store_->OpenTable("t"), client.context(), options_.page_size);
  cursor.Expect(rows);
  ASSERT_TRUE(cursor.SeekForward({}, false));
  uint64_t at_once = 0;
  for (uint64_t i = 1; i < rows; ++i) {
    ASSERT_TRUE(cursor.Next());
    if (at_once == 0) at_once = store_->pool()->Counters().fetched;
  }
  EXPECT_GE(at_once, 5u);
  EXPECT_LE(store_->pool()->Counters().fetched, 20u);
  ASSERT_TRUE(cursor.SeekForward({}, false));
  const uint64_t fetched = store_->pool()->Counters().fetched;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(cursor.Next());
  EXPECT_EQ(store_->pool()->Counters().fetched, fetched) << "Expect is of one walk";
  // Leaves were missing, so the next walk does not wait for its first leaf alone.
  cursor.Expect(rows);
  const auto middle = std::next(model.begin(), static_cast<ptrdiff_t>(model.size() / 2));
  ASSERT_TRUE(cursor.SeekForward(middle->first, false));
  EXPECT_GE(store_->pool()->Counters().fetched, fetched + 5);
  EXPECT_EQ(cursor.key(), middle->first);
  for (uint64_t i = 1; i < rows; ++i) ASSERT_TRUE(cursor.Next());
  EXPECT_LE(store_->pool()->Counters().fetched, fetched + 20);
}

}  // namespace
}  // namespace testbed::btree
