// Tests look-ups that go on by turns, alone against a model and in a queue beside a commit, and
// look-ups that a queue has set aside.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engines/btree/store/read_queue.h"
#include "tests/unit/engines/btree/store_test.h"

namespace testbed::btree {
namespace {

// Takes the look-ups to their end by turns, and returns how many pages they requested.
uint64_t LookUpByTurns(const Tree* tree, TreeContext* context, std::vector<CachedLookup>* lookups) {
  const uint64_t before = context->client.requests.Get();
  for (bool on = true; on;) {
    on = false;
    for (CachedLookup& lookup : *lookups) {
      if (lookup.ended()) continue;
      tree->Step(context, &lookup);
      on = true;
    }
  }
  return context->client.requests.Get() - before;
}

// Starts slot 1 anew whenever it is answered, until slot 0 is answered or slot 1 was answered
// `most` times. Returns the number of answers of slot 1.
int AnswersBeforeSlot0(BtreeReadQueue* queue, const Tree* table_of_slot1, int most) {
  for (int answers = 0; answers < most; ++answers) {
    bool found;
    std::string_view value;
    if (queue->Finish(&found, &value) == 0) return answers;
    queue->Start(1, table_of_slot1->table(), "k", nullptr);
  }
  return most;
}

// The tree has rows with values in overflow pages, of which only Get can tell.
TEST_F(StoreTest, LookUpsByTurnsFindWhatGetFinds) {
  constexpr size_t kTogether = 16;
  options_.cache_bytes = 32 << 20;
  Open();
  Tree* const tree = store_->OpenTable("t");
  Model model;
  StoreClient client(store_.get());
  for (int i = 0; i < 150; ++i) RandomCommit(&client, tree, &model, 20, 2);
  std::vector<std::string> keys;
  for (const auto& row : model) {
    keys.push_back(row.first);
    keys.push_back(row.first + "x");  // a letter that no key has
  }
  std::shuffle(keys.begin(), keys.end(), random_);
  size_t ended[3] = {};
  for (size_t first = 0; first < keys.size(); first += kTogether) {
    std::vector<std::string> values(std::min(kTogether, keys.size() - first));
    std::vector<CachedLookup> lookups;
    for (size_t i = 0; i < values.size(); ++i) lookups.emplace_back(keys[first + i], &values[i]);
    const uint64_t requests = LookUpByTurns(tree, client.context(), &lookups);
    const uint64_t before = client.context()->client.requests.Get();
    for (const CachedLookup& lookup : lookups) {
      const auto row = model.find(std::string(lookup.key));
      const bool is_long =
          row != model.end() && tree->NeedsOverflow(row->first.size(), row->second.size());
      using State = CachedLookup::State;
      ASSERT_EQ(lookup.state, is_long              ? State::kUnknown
                              : row == model.end() ? State::kAbsent
                                                   : State::kFound);
      ++ended[is_long ? 2 : row == model.end()];
      if (lookup.state == State::kFound) {
        ASSERT_EQ(*lookup.value, row->second);
      }
      std::string value;
      if (!is_long) tree->Get(client.context(), lookup.key, &value);
    }
    ASSERT_EQ(requests, client.context()->client.requests.Get() - before);
  }
  for (const size_t n : ended) EXPECT_GT(n, 20u);
}

TEST_F(StoreTest, ALookUpByTurnsGivesUpWhereItWouldHaveToWait) {
  options_.cache_bytes = 4 << 20;
  Open();
  for (int i = 1000; i < 2000; ++i) Put("key" + std::to_string(i), std::string(100, 'v'));
  const std::string key = "key1500";
  std::string value;
  const auto look_up = [&](StoreClient* client) {
    std::vector<CachedLookup> lookups;
    lookups.emplace_back(key, &value);
    const uint64_t requests = LookUpByTurns(store_->OpenTable("t"), client->context(), &lookups);
    const bool gave_up = lookups[0].state == CachedLookup::State::kUnknown;
    EXPECT_EQ(requests == 0, gave_up);
    return gave_up;
  };
  Open();  // with an empty pool
  StoreClient client(store_.get()), other(store_.get());
  const Tree* const tree = store_->OpenTable("t");
  EXPECT_TRUE(look_up(&client)) << "its leaf is missing";
  ASSERT_TRUE(tree->Get(client.context(), key, &value));
  EXPECT_FALSE(look_up(&client));
  {
    const ExclusiveGuard root = store_->pool()->Write(&other.context()->client, tree->root());
    EXPECT_TRUE(look_up(&client)) << "a thread may be changing the root";
  }
  EXPECT_FALSE(look_up(&client));
  if constexpr (kLatchedReads) return;  // the look-up holds its leaf, and the write would wait
  CachedLookup changed(key, &value);
  while (!changed.at_row() && !changed.ended()) tree->Step(client.context(), &changed);
  ASSERT_TRUE(changed.at_row());
  Put(key, "new");
  tree->Step(client.context(), &changed);
  EXPECT_EQ(changed.state, CachedLookup::State::kUnknown) << "the leaf has changed since";
}

// Otherwise a look-up would find one row of the commit, and the next one of its call an old row.
TEST_F(StoreTest, ALookUpByTurnsWaitsForTheCommitThatWritesItsRow) {
  using std::chrono::milliseconds;
  if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
  Open();
  const Tree* const first = store_->OpenTable("first");
  const Tree* const last = store_->OpenTable("last");
  StoreClient writer(store_.get()), reader(store_.get()), other(store_.get());
  const auto commit = [&](const std::string& value) {
    const std::vector<RowWrite> rows = {{false, first->table(), "k", value},
                                        {false, last->table(), "k", value}};
    writer.Commit(rows);
  };
  commit("old");
  ExclusiveGuard held = store_->pool()->Write(&other.context()->client, last->root());
  std::thread committing([&] { commit("new"); });  // waits for the page of its last row
  const auto in_leaf = [&] {
    std::string value;
    std::vector<CachedLookup> lookups;
    lookups.emplace_back("k", &value);
    LookUpByTurns(first, reader.context(), &lookups);
    return lookups[0].state == CachedLookup::State::kFound ? value : std::string();
  };
  for (int i = 0; i < 10000 && in_leaf() != "new"; ++i)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(in_leaf(), "new") << "the leaf has the first row of the commit";
  std::future<std::string> answer = std::async(std::launch::async, [&] {
    const SessionState session{};
    BtreeReadQueue queue(store_.get(), &reader, &session, 16);
    const std::vector<std::string_view> keys = {"k"};
    queue.StartAll(first->table(), keys);
    bool found;
    std::string_view value;
    queue.Finish(&found, &value);
    return std::string(value);
  });
  EXPECT_EQ(answer.wait_for(milliseconds(50)), std::future_status::timeout);
  held.Release();
  committing.join();
  EXPECT_EQ(answer.get(), "new");
}

// The other slot's look-ups find their pages in the pool, so that no read of the queue ever ends.
// With long values they wait for the thread all the time.
TEST_F(StoreTest, AQueueTriesALookUpAgainThatFoundItsPageLatched) {
  if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
  Open();
  const Tree* const latched = store_->OpenTable("latched");
  const Tree* const cached = store_->OpenTable("cached");
  StoreClient client(store_.get()), other(store_.get());
  for (const size_t bytes : {10, 20000}) {
    const std::string value(bytes, 'v');
    const std::vector<RowWrite> rows = {{false, latched->table(), "k", "v"},
                                        {false, cached->table(), "k", value}};
    client.Commit(rows);
    const SessionState session{};
    BtreeReadQueue queue(store_.get(), &client, &session, 2);
    ExclusiveGuard held = store_->pool()->Write(&other.context()->client, latched->root());
    queue.Start(0, latched->table(), "k", nullptr);
    queue.Start(1, cached->table(), "k", nullptr);
    EXPECT_EQ(AnswersBeforeSlot0(&queue, cached, 200), 200);
    held.Release();
    EXPECT_LE(AnswersBeforeSlot0(&queue, cached, 1000), 50) << bytes;
  }
}

// The thread may have latched pages by its queue in another database, for which the thread that has
// latched this page may wait.
TEST_F(StoreTest, AQueueSaysSoBeforeItWaitsForALatchedPage) {
  if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
  Open();
  Put("k", "v");
  const Tree* const table = store_->OpenTable("t");
  StoreClient client(store_.get()), other(store_.get());
  const SessionState session{};
  BtreeReadQueue queue(store_.get(), &client, &session, 1);
  ExclusiveGuard held = store_->pool()->Write(&other.context()->client, table->root());
  queue.SetBeforeWaiting([&held] { held.Release(); });
  queue.Start(0, table->table(), "k", nullptr);
  bool found = false;
  std::string_view value;
  EXPECT_EQ(queue.Finish(&found, &value), 0u);
  EXPECT_TRUE(found);
  EXPECT_EQ(value, "v");
}

TEST_F(StoreTest, AQueueThatHasEndedItsReadsLatchesNoPage) {
  if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
  Open();
  Put("k", "v");
  Open();
  const Tree* const table = store_->OpenTable("t");
  ASSERT_FALSE(store_->pool()->Contains(table->root()));
  StoreClient client(store_.get());
  const SessionState session{};
  BtreeReadQueue queue(store_.get(), &client, &session, 1);
  queue.Start(0, table->table(), "k", nullptr);
  OptimisticGuard guard;
  Pool::MissingPage missing;
  EXPECT_EQ(store_->pool()->TryOptimistic(table->root(), &guard, &missing), Pool::Look::kBusy);
  queue.EndReads();
  EXPECT_EQ(store_->pool()->TryOptimistic(table->root(), &guard, &missing), Pool::Look::kHere);
  guard = {};
  bool found = false;
  std::string_view value;
  EXPECT_EQ(queue.Finish(&found, &value), 0u);
  EXPECT_TRUE(found);
  EXPECT_EQ(value, "v");
}

TEST_F(StoreTest, AQueueTriesALookUpAgainWhoseRowACommitWasWriting) {
  if (std::string why; !ReadRing::Available(&why)) GTEST_SKIP() << why;
  Open();
  const Tree* const first = store_->OpenTable("first");
  const Tree* const last = store_->OpenTable("last");
  const Tree* const cached = store_->OpenTable("cached");
  StoreClient writer(store_.get()), reader(store_.get()), other(store_.get());
  const std::vector<RowWrite> rows = {{false, first->table(), "k", "v"},
                                      {false, last->table(), "k", "v"}};
  writer.Commit(rows);
  const RowWrite cached_row{false, cached->table(), "k", "v"};
  writer.Commit({&cached_row, 1});
  const SessionState session{};
  BtreeReadQueue queue(store_.get(), &reader, &session, 2);
  ExclusiveGuard held = store_->pool()->Write(&other.context()->client, last->root());
  std::thread committing([&] { writer.Commit(rows); });  // waits for the page of its last row
  for (int i = 0; i < 10000 && store_->RowUnlocked(first, "k"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(store_->RowUnlocked(first, "k"));
  queue.Start(0, first->table(), "k", nullptr);
  queue.Start(1, cached->table(), "k", nullptr);
  EXPECT_EQ(AnswersBeforeSlot0(&queue, cached, 200), 200);
  held.Release();
  committing.join();
  EXPECT_LE(AnswersBeforeSlot0(&queue, cached, 1000), 50);
}

}  // namespace
}  // namespace testbed::btree
