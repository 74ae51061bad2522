// Tests threads of mixed work on one store with a tiny pool, each against a model of its own rows,
// and what the store's own threads are charged to.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "device/account/ledger.h"
#include "tests/unit/engines/btree/store_test.h"

namespace testbed::btree {
namespace {

// Does the work of one thread: it changes pairs of rows together, reads them back, scans, and
// erases its rows at the end. The last digits of a key are the number of the thread.
void MixedWork(Store* store, Tree* tree, uint32_t page_size, int t) {
  constexpr int kRounds = 250;
  StoreClient client(store);
  TreeCursor cursor(tree, client.context(), page_size);
  std::mt19937 random(static_cast<uint32_t>(t));
  Model model;  // has this thread's rows
  std::string value;
  for (int i = 0; i < kRounds; ++i) {
    const std::string id = std::to_string(random() % 300) + "/" + std::to_string(t);
    const std::string a = "a" + id, b = "b" + id;
    const bool erase = random() % 3 == 0;
    const std::string now(random() % 10 == 0 ? 3000 + random() % 9000 : random() % 120,
                          static_cast<char>('a' + i % 26));
    const RowWrite ops[] = {{erase, tree->table(), a, erase ? std::string_view() : now},
                            {erase, tree->table(), b, erase ? std::string_view() : now}};
    client.Commit(ops);
    if (erase) {
      model.erase(a);
      model.erase(b);
    } else {
      model[a] = model[b] = now;
    }
    const std::string probe = "a" + std::to_string(random() % 300) + "/" + std::to_string(t);
    const bool found = tree->Get(client.context(), probe, &value);
    ASSERT_EQ(found, model.contains(probe));
    if (found) {
      ASSERT_EQ(value, model[probe]);
    }
    if (i % 25 != 0) continue;
    std::string last;
    for (bool on = cursor.SeekForward({}, false); on; on = cursor.Next()) {
      ASSERT_LT(last, cursor.key());
      last = cursor.key();
    }
  }
  for (const auto& [key, expected] : model) {
    ASSERT_TRUE(tree->Get(client.context(), key, &value));
    ASSERT_EQ(value, expected);
  }
  for (const auto& [key, expected] : model) {
    const RowWrite op{true, tree->table(), key, {}};
    client.Commit({&op, 1});
  }
}

TEST_F(StoreTest, ThreadsOfMixedWorkInATinyPool) {
  options_.cache_bytes = 200 << 10;
  options_.checkpoint_log_bytes = 1 << 20;
  options_.durability = Durability::kLazy;
  options_.log.flush_interval_ms = 5;
  for (const IoMode io : {IoMode::kBuffered, IoMode::kMmap}) {
    options_.io = io;
    Open();
    Tree* tree = store_->OpenTable("t");
    std::atomic<bool> stop{false};
    std::thread checkpoints([&] {
      while (!stop) store_->Checkpoint();
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] { MixedWork(store_.get(), tree, options_.page_size, t); });
    }
    for (std::thread& thread : threads) thread.join();
    stop = true;
    checkpoints.join();
    ExpectRows(tree, {});
    ExpectSound();
  }
}

// A commit waits for a checkpoint when the log has grown by twice the distance, and for the cleaner
// when no frame is clean, so both threads have worked when the last commit returns.
TEST_F(StoreTest, ItsOwnThreadsAreChargedToTheirOwnKinds) {
  constexpr int kRows = 3000;
  options_.checkpoint_log_bytes = 256 << 10;
  Open();
  const OpKind put = DefineOp("btree-threads-put", Ground::kForeground);
  const LedgerCounts before = Ledger::Get().Counts();
  {
    const IoScope scope(put);
    for (int i = 0; i < kRows; ++i) Put(std::to_string(i * 7919 % kRows), std::string(1000, 'v'));
  }
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  const auto data = [&cost](OpKind op) {
    return cost.ops[op.id].file[static_cast<size_t>(FileKind::kData)];
  };
  EXPECT_GT(data(kEviction).writes, 0u);
  EXPECT_GT(cost.ops[kCheckpoint.id].FileTotal().writes, 0u);
  EXPECT_EQ(data(put).writes, 0u) << "a client writes no page";
  const FileCounts nobody = cost.ops[kUnscoped.id].FileTotal();
  EXPECT_EQ(nobody.reads + nobody.writes + nobody.syncs, 0u);
}

}  // namespace
}  // namespace testbed::btree
