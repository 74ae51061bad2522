// Tests the change buffer: the rows that wait in it must be as visible and as durable as rows in
// their leaves.
#include "engines/btree/tree/change_buffer.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engines/btree/btree_engine.h"
#include "engines/btree/store/read_queue.h"
#include "engines/inspect.h"
#include "tests/unit/engines/btree/store_test.h"

namespace testbed::btree {
namespace {

class ChangeBufferTest : public StoreTest {
 protected:
  static constexpr int kRows = 20000;  // far more pages than the pool has

  void SetUp() override {
    StoreTest::SetUp();
    options_.cache_bytes = 400 << 10;
    options_.change_buffer_bytes = 100 << 10;
    options_.checkpoint_log_bytes = 1 << 20;
  }
  static std::string Key(int i) { return "row" + std::to_string(100000 + i); }
  Model Load() {
    Model model;
    Tree* tree = store_->OpenTable("t");
    StoreClient client(store_.get());
    for (int i = 0; i < kRows; i += 100) {
      std::vector<std::pair<std::string, std::string>> rows;
      for (int j = i; j < i + 100; ++j) rows.emplace_back(Key(j), std::string(60, 'a' + j % 26));
      std::vector<RowWrite> operations;
      for (const auto& [key, value] : rows) {
        operations.push_back({false, tree->table(), key, value});
        model[key] = value;
      }
      client.Commit(operations);
    }
    return model;
  }
  // Puts, erases and inserts rows all over the table and in the model. Without a client only the
  // model changes.
  void Change(StoreClient* client, uint32_t table, Model* model, int commits) {
    for (int c = 0; c < commits; ++c) {
      std::map<std::string, std::string> rows;
      for (int i = 0; i < 10; ++i) {
        rows[Key(static_cast<int>(random_() % (kRows + kRows / 4)))] =
            random_() % 4 == 0 ? ""
                               : std::string(1 + random_() % 90, static_cast<char>('A' + c % 26));
      }
      std::vector<RowWrite> operations;
      for (const auto& [key, value] : rows) {
        operations.push_back({value.empty(), table, key, value});
        if (value.empty()) {
          model->erase(key);
        } else {
          (*model)[key] = value;
        }
      }
      if (client != nullptr) client->Commit(operations);
    }
  }
  void ExpectGets(Tree* tree, const Model& model) {
    StoreClient client(store_.get());
    for (int i = 0; i < kRows + kRows / 4; i += 7) {
      std::string value;
      const bool found = client.Get(tree, Key(i), &value);
      const auto at = model.find(Key(i));
      ASSERT_EQ(found, at != model.end()) << i;
      if (found) {
        ASSERT_EQ(value, at->second) << i;
      }
    }
  }
};

TEST_F(ChangeBufferTest, HidesNothing) {
  Open();
  Model model = Load();
  Tree* tree = store_->OpenTable("t");
  {
    StoreClient client(store_.get());
    for (int round = 0; round < 4; ++round) {
      Change(&client, tree->table(), &model, 200);
      EXPECT_GT(store_->change_buffer()->rows(), 100u);
      EXPECT_LE(store_->change_buffer()->bytes(), options_.change_buffer_bytes);
      ExpectGets(tree, model);
    }
  }
  ExpectRows(tree, model);  // forward, then backward
  EXPECT_EQ(store_->change_buffer()->rows(), 0u) << "a walk leaves nothing behind";
  ExpectSound();
}

// Once, `testbed tree` took the change buffer for a table of the user, and the rows that wait in it
// for further rows.
TEST_F(ChangeBufferTest, IsATreeOfTheEnginesOwn) {
  Open();
  Model model = Load();
  store_->OpenTable("a");  // a name before the buffer's
  {
    StoreClient client(store_.get());
    Change(&client, store_->OpenTable("t")->table(), &model, 200);
  }
  EXPECT_GT(store_->change_buffer()->rows(), 100u);
  store_.reset();
  const Inspection result = InspectDatabase(dir_, {});
  EXPECT_EQ(result.faults.count, 0u);
  std::vector<std::pair<std::string, bool>> trees;
  for (const TreeStats& tree : result.trees) trees.emplace_back(tree.table, tree.own);
  const std::vector<std::pair<std::string, bool>> expected = {
      {"(catalogue)", true}, {std::string(kChangeBufferTable), true}, {"a", false}, {"t", false}};
  EXPECT_EQ(trees, expected);
}

TEST_F(ChangeBufferTest, ItsLimitKeepsItsShareOfTheCache) {
  Open();
  Model model = Load();
  Tree* tree = store_->OpenTable("t");
  StoreClient client(store_.get());
  const ChangeBuffer* const buffer = store_->change_buffer();
  store_->ResizeCache(2 * options_.cache_bytes);
  EXPECT_EQ(buffer->most_bytes(), 2 * options_.change_buffer_bytes);
  Change(&client, tree->table(), &model, 600);
  EXPECT_GT(buffer->bytes(), options_.change_buffer_bytes);
  store_->ResizeCache(options_.cache_bytes);
  EXPECT_EQ(buffer->most_bytes(), options_.change_buffer_bytes);
  EXPECT_LE(buffer->bytes(), options_.change_buffer_bytes) << "it is emptied at once";
  ExpectGets(tree, model);
}

// Rows that a session wrote there would be taken for rows that wait. The buffer's table has number
// 1, which a new database without a buffer gives to the first table of the user.
TEST(ChangeBufferTableTest, IsNoTableOfASession) {
  std::string dir = std::filesystem::current_path() / "change_buffer_table_XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  EngineOptions options;
  options.cache_bytes = 4 << 20;
  options.extra = {{"change_buffer_pct", "25"}};
  {
    const std::unique_ptr<Engine> engine = OpenBtree(dir, options);
    ASSERT_EQ(engine->OpenTable("t"), 2u);
    const std::unique_ptr<Session> session = engine->NewSession();
    const auto refused = [](const std::function<void()>& call) {
      try {
        call();
      } catch (const Error& e) {
        return e.kind() == Error::kUsage &&
               std::string(e.what()).find("was not opened") != std::string::npos;
      }
      return false;
    };
    for (const TableId own : {0u, 1u}) {
      std::string_view value;
      EXPECT_TRUE(refused([&] { session->Get(own, "row", &value); })) << own;
      EXPECT_TRUE(refused([&] { session->Put(own, "row", "v"); })) << own;
      EXPECT_TRUE(refused([&] { session->Erase(own, "row"); })) << own;
      EXPECT_TRUE(refused([&] { session->NewCursor(own); })) << own;
      if (!ReadRing::Available()) continue;
      const std::unique_ptr<ReadQueue> queue = session->NewReadQueue(1);
      EXPECT_TRUE(refused([&] { queue->Start(0, own, "row", nullptr); })) << own;
    }
  }
  std::filesystem::remove_all(dir);
}

// A row that leaves the buffer is logged again. A scan moves rows without a commit of its own, and
// so does an opening without the option, so these must not let the log grow without checkpoints.
TEST_F(ChangeBufferTest, RowsThatLeaveItDoNotMakeTheLogLong) {
  constexpr uint64_t kLogBytes = 64 << 10;
  options_.change_buffer_bytes = 4 << 20;  // takes all rows
  Open();
  Model model = Load();
  const auto fill = [&] {
    StoreClient client(store_.get());
    Change(&client, store_->OpenTable("t")->table(), &model, 1500);
    ASSERT_GT(store_->change_buffer()->bytes(), 3 * kLogBytes);
  };
  fill();
  options_.checkpoint_log_bytes = kLogBytes;
  Open();
  const uint64_t before = store_->checkpoints();
  ExpectRows(store_->OpenTable("t"), model);
  EXPECT_EQ(store_->change_buffer()->rows(), 0u);
  EXPECT_GT(store_->checkpoints(), before);
  fill();
  options_.change_buffer_bytes = 0;
  Open();
  EXPECT_EQ(store_->change_buffer()->rows(), 0u);
  EXPECT_GT(store_->checkpoints(), 0u) << "the closing left nothing to be recovered";
  ExpectRows(store_->OpenTable("t"), model);
  ExpectSound();
}

// The look-ups of a call leave leaves in the pool, in which the next ones would find old rows.
TEST_F(ChangeBufferTest, HidesNothingFromLookUpsByTurns) {
  constexpr int kTogether = 16;
  if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
  Open();
  Model model = Load();
  const Tree* const tree = store_->OpenTable("t");
  StoreClient client(store_.get());
  Change(&client, tree->table(), &model, 200);
  EXPECT_GT(store_->change_buffer()->rows(), 100u);
  const SessionState session{};
  BtreeReadQueue queue(store_.get(), &client, &session, kTogether);
  for (int first = 0; first < kRows; first += kTogether) {
    std::vector<std::string> keys;
    for (int i = first; i < first + kTogether; ++i) keys.push_back(Key(i));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    queue.StartAll(tree->table(), views);
    for (int ended = 0; ended < kTogether; ++ended) {
      bool found;
      std::string_view value;
      const std::string& key = keys[queue.Finish(&found, &value)];
      const auto row = model.find(key);
      ASSERT_EQ(found, row != model.end()) << key;
      if (found) {
        ASSERT_EQ(value, row->second) << key;
      }
    }
  }
}

// Damage with a right checksum can leave rows in the buffer that it cannot have taken.
TEST_F(ChangeBufferTest, ARowThatItCannotHaveIsAnError) {
  const std::string known("\0\0\0\2", 4);
  for (const auto& [key, value] : {std::pair(std::string("\xff\xff\xff\xff"
                                                         "row",
                                                         7),
                                             "p1"),
                                   {std::string("\0\0", 2), "p1"},
                                   {known + "row", ""},
                                   {known + "row", "x1"}}) {
    std::filesystem::remove_all(dir_);
    options_.change_buffer_bytes = 100 << 10;
    Open();
    Tree* tree = store_->OpenTable("t");
    ASSERT_EQ(tree->table(), 2u);
    {
      StoreClient client(store_.get());
      client.context()->commit = {store_->log()->EndLsn(), store_->log()->EndLsn()};
      Tree* buffer = store_->Table(1);
      ASSERT_EQ(buffer, store_->change_buffer()->tree());
      buffer->Write(client.context(), {key, false, {value, false}});
    }
    store_.reset();
    try {
      Open();
      StoreClient client(store_.get());
      std::string found;
      client.Get(store_->OpenTable("t"), "row", &found);
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kCorruption);
      EXPECT_NE(std::string(e.what()).find("change buffer"), std::string::npos) << e.what();
    }
    store_.reset();
  }
}

// The buffer's leaf that lacks the row may be in the page cache alone, while the leaf on the device
// still has it. So recovery must write the leaf.
TEST_F(ChangeBufferTest, RecoveryWritesTheLeafThatDoesNotHaveTheRow) {
  Open();
  Tree* tree = store_->OpenTable("t");
  store_->Checkpoint();
  StoreClient client(store_.get());
  const auto written = [&](bool recovers) {
    const uint64_t before = store_->file()->pages_written();
    const Lsn end = store_->log()->EndLsn();
    client.context()->commit = {end - 1, end};
    client.context()->recovers = recovers;
    store_->change_buffer()->WriteThrough(client.context(), tree, {"row", false, {"1", false}});
    store_->Flush();
    return store_->file()->pages_written() - before;
  };
  EXPECT_EQ(written(false), 1u);
  EXPECT_EQ(written(true), 2u);
  EXPECT_EQ(store_->change_buffer()->rows(), 0u);
  EXPECT_EQ(store_->change_buffer()->bytes(), 0u);
}

TEST_F(ChangeBufferTest, AWalkAndASeekSeeWhatWaits) {
  Open();
  Model model = Load();
  Tree* tree = store_->OpenTable("t");
  StoreClient client(store_.get());
  Change(&client, tree->table(), &model, 300);
  TreeCursor cursor(tree, client.context(), options_.page_size);
  for (int i = 0; i < 200; ++i) {
    const std::string key = Key(static_cast<int>(random_() % (kRows + kRows / 4)));
    const auto at = model.lower_bound(key);
    ASSERT_EQ(cursor.SeekForward(key, false), at != model.end());
    if (at == model.end()) continue;
    ASSERT_EQ(cursor.key(), at->first);
    ASSERT_EQ(cursor.value(), at->second);
    if (at == model.begin()) continue;
    ASSERT_TRUE(cursor.SeekBackward(at->first, true));
    ASSERT_EQ(cursor.key(), std::prev(at)->first);
  }
}

TEST_F(ChangeBufferTest, ReadsFarFewerPagesForTheSameRows) {
  uint64_t misses[2], i = 0;
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{200 << 10}}) {
    std::filesystem::remove_all(dir_);
    options_.change_buffer_bytes = bytes;
    Open();
    Model model = Load();
    Tree* tree = store_->OpenTable("t");
    const uint64_t before = store_->pool()->Counters().misses;
    {
      StoreClient client(store_.get());
      Change(&client, tree->table(), &model, 3000);
    }
    misses[i++] = store_->pool()->Counters().misses - before;
    ExpectGets(tree, model);
    store_.reset();
  }
  EXPECT_LT(misses[1] * 2, misses[0]);
}

TEST_F(ChangeBufferTest, SurvivesClosingAndIsEmptiedWhenNotWantedAnyMore) {
  Open();
  Model model = Load();
  {
    StoreClient client(store_.get());
    Change(&client, store_->OpenTable("t")->table(), &model, 200);
  }
  const uint64_t waiting = store_->change_buffer()->rows();
  const uint64_t bytes = store_->change_buffer()->bytes();
  EXPECT_GT(waiting, 100u);
  Open();  // counts them anew, row by row
  EXPECT_EQ(store_->change_buffer()->rows(), waiting);
  EXPECT_EQ(store_->change_buffer()->bytes(), bytes);
  ExpectGets(store_->OpenTable("t"), model);
  options_.change_buffer_bytes = 0;
  Open();
  EXPECT_EQ(store_->change_buffer()->rows(), 0u);
  ExpectRows(store_->OpenTable("t"), model);
  ExpectSound();
}

TEST_F(ChangeBufferTest, CrashesLoseNothing) {
  Open();
  Model model = Load();
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    const Model start = model;
    options_.torn_page = round % 2 == 0 ? TornPage::kDoublewrite : TornPage::kFullPageImage;
    RunAndCrash([&] {
      Model same = start;
      Tree* tree = store_->OpenTable("t");
      StoreClient client(store_.get());
      Change(&client, tree->table(), &same, 150 + 40 * round);
      if (round % 3 == 1) store_->Flush();  // leaves and buffer in their places
      if (round % 3 == 2) {
        store_->Checkpoint();
        Change(&client, tree->table(), &same, 40);
      }
    });
    Change(nullptr, 0, &model, 150 + 40 * round);
    if (round % 3 == 2) Change(nullptr, 0, &model, 40);
    EXPECT_EQ(InspectDatabase(dir_, {}).faults.count, 0u);
    Open();
    ExpectSound();
    ExpectGets(store_->OpenTable("t"), model);
  }
  ExpectRows(store_->OpenTable("t"), model);
}

// Threads that write, read and scan one tree until they are told to stop, and count their
// operations.
class ChangeBufferThreadsTest : public ChangeBufferTest {
 protected:
  // Writes the rows whose keys have this parity. The value of a row names the row, and its version
  // grows.
  void Writer(int parity) {
    StoreClient client(store_.get());
    std::mt19937_64 random(static_cast<uint64_t>(parity));
    for (int n = 1; !stop_; ++n) {
      std::vector<std::pair<std::string, std::string>> rows;
      for (int i = 0; i < 4; ++i) {
        const std::string key = Key(static_cast<int>(random() % (kRows / 2)) * 2 + parity);
        rows.emplace_back(key, key + ":" + std::to_string(n));
      }
      std::sort(rows.begin(), rows.end());
      rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
      std::vector<RowWrite> operations;
      for (const auto& [key, value] : rows)
        operations.push_back({false, tree_->table(), key, value});
      client.Commit(operations);
      commits_.fetch_add(1);
    }
  }
  // Reads rows, and expects that no row ever returns to an older version.
  void Reader() {
    StoreClient client(store_.get());
    std::mt19937_64 random(9);
    std::map<int, int> newest;
    while (!stop_) {
      const int row = static_cast<int>(random() % 50) * 400;
      std::string value;
      ASSERT_TRUE(client.Get(tree_, Key(row), &value));
      const size_t colon = value.find(':');
      if (colon == std::string::npos) continue;
      ASSERT_EQ(value.substr(0, colon), Key(row));
      const int n = std::stoi(value.substr(colon + 1));
      ASSERT_GE(n, newest[row]);
      newest[row] = n;
      gets_.fetch_add(1);
    }
  }
  void Walker() {
    StoreClient client(store_.get());
    while (!stop_) {
      TreeCursor cursor(tree_, client.context(), options_.page_size);
      int rows = 0;
      for (bool on = cursor.SeekForward({}, false); on && !stop_; on = cursor.Next()) ++rows;
      if (stop_) return;
      ASSERT_EQ(rows, kRows);
      walks_.fetch_add(1);
    }
  }

  Tree* tree_ = nullptr;
  std::atomic<bool> stop_{false};
  std::atomic<int> commits_{0}, gets_{0}, walks_{0};
};

TEST_F(ChangeBufferThreadsTest, WritersReadersAndWalkersTogether) {
  Open();
  Load();
  tree_ = store_->OpenTable("t");
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) threads.emplace_back([this, t] { Writer(t); });
  threads.emplace_back([this] { Reader(); });
  threads.emplace_back([this] { Walker(); });
  const auto enough = [this] { return commits_ > 4000 && gets_ > 4000 && walks_ > 20; };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!enough() && !HasFailure() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(enough()) << commits_ << " commits, " << gets_ << " reads, " << walks_ << " walks";
  stop_ = true;
  for (std::thread& thread : threads) thread.join();
  ExpectSound();
}

}  // namespace
}  // namespace testbed::btree
