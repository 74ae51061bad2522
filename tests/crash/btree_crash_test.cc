// Tests kill -9 at random moments while threads commit with durability sync, and while the killed
// database recovers. Afterwards every acknowledged commit must be found, every transaction must be
// found as a whole or not at all, and all pages, pointers and the space map must pass the check.
//
// TESTBED_CRASH_ROUNDS sets the rounds of one or two kills for each IO mode (8), TESTBED_CRASH_SEED
// the first seed.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "engines/btree/inspect/check.h"
#include "engines/btree/store/store.h"

namespace testbed::btree {
namespace {

constexpr int kThreads = 4;
constexpr uint64_t kRowsOfTransaction = 3;

// The i-th transaction of a thread follows from (thread, i) alone. It sets three rows, in two
// tables, to a value that names i; each fourth transaction erases them instead. The rows repeat
// after kCycle transactions, so old ones are overwritten.
constexpr uint64_t kCycle = 700;

struct Transaction {
  std::string keys[kRowsOfTransaction];
  std::string value;
  bool erase = false;
};

Transaction MakeTransaction(int thread, uint64_t i) {
  Transaction t;
  const uint64_t slot = i % kCycle;
  for (uint64_t row = 0; row < kRowsOfTransaction; ++row) {
    // The keys are scattered, so that threads share pages.
    const uint64_t scattered = (slot * kRowsOfTransaction + row) * 0x9e3779b97f4a7c15ull;
    char key[64];
    snprintf(key, sizeof key, "%04x/%d/%lu/%lu", static_cast<unsigned>(scattered >> 48), thread,
             slot, row);
    t.keys[row] = key;
  }
  t.erase = i % 4 == 3;
  // Some values need overflow pages.
  const size_t size = i % 29 == 0 ? 5000 + i % 9000 : i % 120;
  t.value = std::to_string(i) + ":" + std::string(size, static_cast<char>('a' + i % 26));
  return t;
}

// The number of transactions that each thread was told are durable. It is shared with the child.
struct Acknowledged {
  std::atomic<uint64_t> count[kThreads];
};

class BtreeCrashTest : public testing::TestWithParam<IoMode> {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "btree_crash_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    void* shared = ::mmap(nullptr, sizeof(Acknowledged), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    acknowledged_ = new (shared) Acknowledged();
    options_.io = GetParam();
    options_.page_size = 4096;
    options_.cache_bytes = 400 << 10;  // much smaller than the database: eviction all the time
    options_.durability = Durability::kSync;
    options_.checkpoint_log_bytes = 1 << 20;
    options_.log.segment_bytes = 256 << 10;
    if (GetParam() == IoMode::kDirect) options_.log.mode = IoMode::kDirect;
  }
  void TearDown() override {
    ::munmap(acknowledged_, sizeof(Acknowledged));
    std::filesystem::remove_all(dir_);
  }

  // Runs in the child until it is killed. With `checkpoints` it takes one checkpoint after the
  // other, so that the kill falls shortly after one, whose redo point then decides what recovery
  // sees.
  [[noreturn]] void Work(bool checkpoints) {
    try {
      auto store = Store::Open(dir_, options_);
      Tree* tables[] = {store->OpenTable("first"), store->OpenTable("second")};
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          StoreClient client(store.get());
          for (uint64_t i = acknowledged_->count[t].load();; ++i) {
            const Transaction transaction = MakeTransaction(t, i);
            std::vector<RowWrite> rows;
            for (uint64_t row = 0; row < kRowsOfTransaction; ++row) {
              rows.push_back({transaction.erase, tables[row % 2]->table(), transaction.keys[row],
                              transaction.erase ? std::string_view() : transaction.value});
            }
            client.Commit(rows);
            acknowledged_->count[t].store(i + 1);
          }
        });
      }
      while (checkpoints) store->Checkpoint();
      for (std::thread& thread : threads) thread.join();
    } catch (const Error& e) {
      ::dprintf(2, "child: %s\n", e.what());
    }
    ::_exit(3);
  }

  // Starts one child, and kills it after a while.
  void KillOne(std::mt19937_64* random) {
    const bool checkpoints = (*random)() % 2 == 0;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) Work(checkpoints);
    // One wait in five is so short that the kill may come during recovery; the others are long
    // enough for checkpoints.
    const auto wait = (*random)() % 5 == 0 ? (*random)() % 20 : 50 + (*random)() % 400;
    std::this_thread::sleep_for(std::chrono::milliseconds(wait));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";
  }

  // Expects that the check finds no fault in the files that the kill left, before they are opened.
  void ExpectNoFault() {
    const Inspection left = InspectDatabase(dir_, {});
    for (const Fault& fault : left.faults.kept) ADD_FAILURE() << fault.Text();
  }

  // Expects that each slot has the state of the last transaction on it. The log may hold one
  // transaction of the thread more than it was told.
  void ExpectThread(Store* store, StoreClient* client, int thread) {
    const uint64_t done = acknowledged_->count[thread].load();
    Tree* tables[] = {store->OpenTable("first"), store->OpenTable("second")};
    bool one_more = false;
    std::string value;
    for (uint64_t slot = 0; slot < kCycle; ++slot) {
      std::string found[kRowsOfTransaction];
      const Transaction any = MakeTransaction(thread, slot);
      for (uint64_t row = 0; row < kRowsOfTransaction; ++row) {
        found[row] = tables[row % 2]->Get(client->context(), any.keys[row], &value) ? value : "";
      }
      ASSERT_EQ(found[0], found[1]) << "half a transaction, thread " << thread << " slot " << slot;
      ASSERT_EQ(found[0], found[2]) << "half a transaction, thread " << thread << " slot " << slot;
      std::string expected;
      if (done > slot) {
        const Transaction last =
            MakeTransaction(thread, slot + (done - 1 - slot) / kCycle * kCycle);
        if (!last.erase) expected = last.value;
      }
      if (found[0] == expected) continue;
      const Transaction next = MakeTransaction(thread, done);
      ASSERT_EQ(slot, done % kCycle)
          << "a lost or invented commit of thread " << thread << ", which was told of " << done;
      ASSERT_EQ(found[0], next.erase ? "" : next.value) << "thread " << thread;
      one_more = true;
    }
    if (one_more) acknowledged_->count[thread].store(done + 1);
  }

  std::string dir_;
  StoreOptions options_;
  Acknowledged* acknowledged_ = nullptr;
};

TEST_P(BtreeCrashTest, KilledAtRandomMomentsLosesNothing) {
  const char* rounds_set = ::getenv("TESTBED_CRASH_ROUNDS");
  const char* seed_set = ::getenv("TESTBED_CRASH_SEED");
  const int rounds = rounds_set != nullptr ? std::atoi(rounds_set) : 8;
  const uint64_t seed = seed_set != nullptr ? std::strtoull(seed_set, nullptr, 10) : 1;
  try {
    Store::Open(dir_, options_);
  } catch (const Error& e) {
    if (GetParam() != IoMode::kDirect) throw;
    GTEST_SKIP() << e.what();
  }
  uint64_t recoveries = 0, transactions = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + ", seed " + std::to_string(seed));
    std::mt19937_64 random(seed * 1000003 + static_cast<uint64_t>(round));
    const int kills = 1 + static_cast<int>(random() % 2);
    for (int i = 0; i < kills; ++i) {
      KillOne(&random);
      if (HasFatalFailure()) return;
      ExpectNoFault();
      if (HasFailure()) return;
    }
    auto store = Store::Open(dir_, options_);
    recoveries += store->recovery().needed ? 1 : 0;
    transactions += store->recovery().transactions;
    StoreClient client(store.get());
    for (int t = 0; t < kThreads; ++t) {
      ExpectThread(store.get(), &client, t);
      if (HasFatalFailure()) return;
    }
    const CheckReport report = CheckStore(store.get());
    for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
    if (HasFailure()) return;
  }
  EXPECT_GT(recoveries, 0u);
  EXPECT_GT(transactions, 0u);
  uint64_t sum = 0;
  for (const auto& count : acknowledged_->count) sum += count.load();
  RecordProperty("acknowledged", std::to_string(sum));
  EXPECT_GT(sum, static_cast<uint64_t>(rounds)) << "the children hardly worked";
}

INSTANTIATE_TEST_SUITE_P(Modes, BtreeCrashTest,
                         testing::Values(IoMode::kBuffered, IoMode::kDirect, IoMode::kMmap),
                         [](const auto& info) { return IoModeName(info.param); });

}  // namespace
}  // namespace testbed::btree
