// The whole engine underneath its interface: trees against a model, recovery from
// processes that end without closing, the checker, and errors.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "device/error.h"
#include "engines/btree/check.h"
#include "engines/btree/cursor.h"
#include "engines/btree/store.h"

namespace testbed::btree {
namespace {

using Model = std::map<std::string, std::string>;

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "btree_store_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.page_size = 4096;
    options_.cache_bytes = 256 << 10;
    options_.durability = Durability::kNone;
    options_.log.segment_bytes = 1 << 20;
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(dir_);
  }
  void Open() {
    store_.reset();
    store_ = Store::Open(dir_, options_);
  }
  // Runs `body` in a process of its own, which then ends at once, as by a kill: nothing is closed,
  // and what the log had given to the kernel stays.
  void RunAndCrash(const std::function<void()>& body) {
    store_.reset();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        Open();
        body();
        store_->log()->Write(store_->log()->EndLsn());
      } catch (const Error& e) {
        ::dprintf(2, "child: %s\n", e.what());
        ::_exit(3);
      }
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }

  void ExpectSound() {
    const CheckReport report = CheckStore(store_.get());
    for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
  }
  void ExpectRows(Tree* tree, const Model& model) {
    StoreClient client(store_.get());
    TreeCursor cursor(tree, client.context(), options_.page_size);
    auto at = model.begin();
    for (bool on = cursor.SeekForward({}, false); on; on = cursor.Next(), ++at) {
      ASSERT_NE(at, model.end());
      ASSERT_EQ(cursor.key(), at->first);
      ASSERT_EQ(cursor.value(), at->second);
    }
    ASSERT_EQ(at, model.end());
    auto back = model.rbegin();
    for (bool on = cursor.Last(); on; on = cursor.Prev(), ++back) {
      ASSERT_NE(back, model.rend());
      ASSERT_EQ(cursor.key(), back->first);
      ASSERT_EQ(cursor.value(), back->second);
    }
    ASSERT_EQ(back, model.rend());
  }

  std::string RandomKey() {
    std::string key;
    const size_t n = random_() % 20 == 0 ? random_() % 512 : random_() % 16;
    while (key.size() < n) key.push_back("\0abcdefg"[random_() % 8]);
    return key;
  }
  std::string RandomValue() {
    const uint64_t kind = random_() % 40;
    const size_t n = kind == 0 ? random_() % 60000 : kind < 4 ? random_() % 3000 : random_() % 100;
    return std::string(n, static_cast<char>('a' + random_() % 26));
  }
  // A transaction of random puts and erases; without a client, what it would do to the model.
  void RandomCommit(StoreClient* client, Tree* tree, Model* model, size_t rows, int erase_of_ten) {
    std::map<std::string, std::pair<bool, std::string>> writes;
    while (writes.size() < rows) {
      const bool erase = static_cast<int>(random_() % 10) < erase_of_ten;
      std::string key = RandomKey();
      if (erase && !model->empty()) {
        auto at = model->lower_bound(key);
        key = at == model->end() ? model->begin()->first : at->first;
      }
      writes[key] = {erase, erase ? "" : RandomValue()};
    }
    std::vector<RowOp> operations;
    for (const auto& [key, write] : writes) {
      operations.push_back({write.first, tree != nullptr ? tree->table() : 0, key, write.second});
      if (write.first) {
        model->erase(key);
      } else {
        (*model)[key] = write.second;
      }
    }
    if (client != nullptr) client->Commit(operations);
  }
  void Put(const std::string& key, const std::string& value) {
    StoreClient client(store_.get());
    const RowOp op{false, store_->OpenTable("t")->table(), key, value};
    client.Commit({&op, 1});
  }
  std::string Get(const std::string& key) {
    StoreClient client(store_.get());
    std::string value = "(absent)";
    store_->OpenTable("t")->Get(client.context(), key, &value);
    return value;
  }

  std::string dir_;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
  std::mt19937_64 random_{1};
};

TEST_F(StoreTest, GrowsAndShrinksAsTheModelDoes) {
  for (const uint32_t page_size : {4096u, 65536u}) {
    options_.page_size = page_size;
    options_.cache_bytes = page_size == 4096 ? 256 << 10 : 2 << 20;
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

TEST_F(StoreTest, SteadyInsertsAndErasesKeepASteadySize) {
  Open();
  Tree* tree = store_->OpenTable("t");
  StoreClient client(store_.get());
  const std::string value(50, 'v');
  const auto write = [&](uint64_t i, bool erase) {
    char key[32];
    // Ascending at one end, erased at the other: a queue.
    snprintf(key, sizeof key, "%016lu", i);
    const RowOp op{erase, tree->table(), key, erase ? std::string_view() : value};
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
    commits(nullptr, nullptr, 0, 150);  // the child's model went with it
    Open();
    EXPECT_TRUE(store_->recovery().needed);
    ExpectRows(store_->OpenTable("t"), model);
    EXPECT_EQ(store_->TableNames().size(), 2u + static_cast<unsigned>(round));
    ExpectSound();
  }
}

// A commit stands in the log, and its leaf is held so that it cannot be applied, while a checkpoint
// runs from its beginning to its end.
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

TEST_F(StoreTest, TransactionsLongerThanARecordAreAtomic) {
  options_.cache_bytes = 4 << 20;
  Model model;
  const std::string value(500, 'v');
  for (int i = 0; i < 2000; ++i) model["key" + std::to_string(i)] = value;
  model["huge"] = std::string(64 << 20, 'h');
  RunAndCrash([&] {
    StoreClient client(store_.get());
    std::vector<RowOp> operations;
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
  // The log is cut in the middle of the transaction: zeros from there on.
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
    // Where the log knows that the cut part had been durable, it says so.
    EXPECT_EQ(e.kind(), Error::kCorruption) << e.what();
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
    constexpr int kThreads = 8, kRounds = 250;
    Tree* tree = store_->OpenTable("t");
    std::vector<std::thread> threads;
    std::atomic<bool> stop{false};
    std::thread checkpoints([&] {
      while (!stop) store_->Checkpoint();
    });
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        StoreClient client(store_.get());
        TreeCursor cursor(tree, client.context(), options_.page_size);
        std::mt19937 random(static_cast<uint32_t>(t));
        Model model;  // of this thread's rows: the last digit of the key is the thread
        std::string value;
        for (int i = 0; i < kRounds; ++i) {
          // Two rows that always change together.
          const std::string id = std::to_string(random() % 300) + "/" + std::to_string(t);
          const std::string a = "a" + id, b = "b" + id;
          const bool erase = random() % 3 == 0;
          const std::string now(random() % 10 == 0 ? 3000 + random() % 9000 : random() % 120,
                                static_cast<char>('a' + i % 26));
          const RowOp ops[] = {{erase, tree->table(), a, erase ? std::string_view() : now},
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
          if (i % 25 == 0) {
            std::string last;
            for (bool on = cursor.SeekForward({}, false); on; on = cursor.Next()) {
              ASSERT_LT(last, cursor.key());
              last = cursor.key();
            }
          }
        }
        for (const auto& [key, expected] : model) {
          ASSERT_TRUE(tree->Get(client.context(), key, &value));
          ASSERT_EQ(value, expected);
        }
        // The next round starts from nothing.
        for (const auto& [key, expected] : model) {
          const RowOp op{true, tree->table(), key, {}};
          client.Commit({&op, 1});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    stop = true;
    checkpoints.join();
    ExpectRows(tree, {});
    ExpectSound();
  }
}

// The checker names what is wrong, whichever kind of page it is planted in.
TEST_F(StoreTest, CheckFindsPlantedDamage) {
  Open();
  Tree* tree = store_->OpenTable("t");
  {
    Model model;
    StoreClient client(store_.get());
    for (int i = 0; i < 200; ++i) RandomCommit(&client, tree, &model, 20, 0);
  }
  ExpectSound();
  const uint32_t size = options_.page_size;
  const std::string path = dir_ + "/btree.data";
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  AlignedBuffer page(size), changed(size);
  std::map<PageType, int> tried;
  for (PageId id = 1; id < store_->space()->file_pages(); ++id) {
    if (!store_->space()->IsUsed(id)) continue;
    file.seekg(static_cast<std::streamoff>(id) * size);
    file.read(page.data(), size);
    if (++tried[Header(page.data())->type] > 5) continue;
    const auto expect = [&](const std::string& what, const std::function<void(char*)>& damage,
                            bool stamp, bool shows_elsewhere = false) {
      std::memcpy(changed.data(), page.data(), size);
      damage(changed.data());
      if (stamp) StampPage(changed.data(), size);
      file.seekp(static_cast<std::streamoff>(id) * size);
      file.write(changed.data(), size);
      file.flush();
      const CheckReport report = CheckStore(store_.get());
      EXPECT_GT(report.problem_count, 0u) << what << " in page " << id;
      bool named = shows_elsewhere;
      for (const std::string& problem : report.problems) {
        named = named || problem.starts_with("page " + std::to_string(id) + " of file " + path);
      }
      EXPECT_TRUE(named) << what << " in page " << id;
      file.seekp(static_cast<std::streamoff>(id) * size);
      file.write(page.data(), size);
      file.flush();
    };
    expect(
        "a flipped bit", [&](char* p) { p[size / 2] ^= 4; }, false);
    expect(
        "another number", [&](char* p) { Header(p)->id ^= 1; }, true);
    expect(
        "another table", [&](char* p) { Header(p)->table += 1; }, true);
    expect(
        "another type", [&](char* p) { Header(p)->type = PageType::kSuper; }, true);
    if (Header(page.data())->type == PageType::kLeaf && Node(page.data(), size).count() > 1) {
      expect(
          "keys out of order", [&](char* p) { std::swap_ranges(p + 48, p + 56, p + 56); }, true);
      expect(
          "another fence",
          [&](char* p) {
            Node node(p, size);
            node.header()->unbounded ^= 1;
          },
          true);
    }
    if (Header(page.data())->type == PageType::kInner) {
      expect(
          "a child's number",
          [&](char* p) {
            Node node(p, size);
            const PageId other = node.Child(0) + 1;
            const std::string key = node.Key(0);
            node.Remove(0);
            node.InsertInner(0, key, other);
          },
          true, true);
    }
  }
  EXPECT_GT(tried[PageType::kLeaf], 0);
  EXPECT_GT(tried[PageType::kInner], 0);
  EXPECT_GT(tried[PageType::kOverflow], 0);
  // The space map: a page too many, and one too few.
  const PageId leak = store_->space()->Reserve(1);
  store_->space()->MarkUsed(leak, 1);
  EXPECT_EQ(CheckStore(store_.get()).problem_count, 1u);
  store_->space()->MarkFree(leak, 1);
  store_->space()->MarkFree(tree->root(), 1);
  EXPECT_EQ(CheckStore(store_.get()).problem_count, 1u);
  store_->space()->MarkUsed(tree->root(), 1);
  ExpectSound();
}

class StoreErrorTest : public StoreTest {
 protected:
  std::string ErrorOfOpen(Error::Kind kind) {
    try {
      Open();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), kind) << e.what();
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
      return e.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }
};

TEST_F(StoreErrorTest, AnotherPageSize) {
  options_.page_size = 8192;
  Open();
  store_.reset();
  options_.page_size = 4096;
  EXPECT_EQ(ErrorOfOpen(Error::kUsage), "the database in " + dir_ +
                                            " has 8192-byte pages, not 4096: give --page-size 8k, "
                                            "or --fresh");
}

TEST_F(StoreErrorTest, ANewerFormat) {
  Open();
  store_.reset();
  {
    std::fstream file(dir_ + "/btree.data", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(40);  // after the page header and the magic
    const uint32_t version = 99;
    file.write(reinterpret_cast<const char*>(&version), 4);
  }
  EXPECT_NE(ErrorOfOpen(Error::kUsage).find("has format version 99, this testbed knows 1"),
            std::string::npos);
}

TEST_F(StoreErrorTest, NotADatabaseFile) {
  std::ofstream(dir_ + "/btree.data") << std::string(10000, 'x');
  EXPECT_NE(ErrorOfOpen(Error::kCorruption).find("is not a btree data file"), std::string::npos);
}

TEST_F(StoreErrorTest, AMissingDirectory) {
  dir_ += "/none";
  options_.create = false;
  EXPECT_NE(ErrorOfOpen(Error::kUsage).find("/none does not exist"), std::string::npos);
}

TEST_F(StoreErrorTest, ADirectoryThatMayNotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::permissions(
      dir_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_NE(ErrorOfOpen(Error::kIo).find("choose a --dir that this user may write to"),
            std::string::npos);
}

TEST_F(StoreErrorTest, OpenInAnotherProcess) {
  Open();
  EXPECT_THROW(
      {
        try {
          Store::Open(dir_, options_);
        } catch (const Error& e) {
          EXPECT_NE(std::string(e.what()).find("is open in another process"), std::string::npos);
          throw;
        }
      },
      Error);
}

TEST_F(StoreErrorTest, ACacheOfTooFewPages) {
  options_.cache_bytes = 10 * 4096;
  EXPECT_NE(ErrorOfOpen(Error::kUsage).find("fewer than 16 pages"), std::string::npos);
}

TEST_F(StoreErrorTest, ALogThatIsGone) {
  Open();
  Put("a", "1");
  store_.reset();
  std::filesystem::remove_all(dir_ + "/btree.log");
  std::filesystem::create_directory(dir_ + "/btree.log");
  ErrorOfOpen(Error::kCorruption);
}

TEST_F(StoreErrorTest, ABrokenPageFailsTheReadThatNeedsIt) {
  options_.torn_page = TornPage::kNone;  // else the doublewrite file has the page, and heals it
  Open();
  for (int i = 0; i < 3000; ++i) Put("key" + std::to_string(i), std::string(100, 'v'));
  const PageId root = store_->OpenTable("t")->root();
  store_.reset();
  {
    std::fstream file(dir_ + "/btree.data", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(root) * 4096 + 2000);
    file.write("damage", 6);
  }
  Open();
  try {
    Get("key7");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kCorruption);
    EXPECT_NE(std::string(e.what()).find("page " + std::to_string(root) + " of file " + dir_ +
                                         "/btree.data: its checksum does not match"),
              std::string::npos)
        << e.what();
  }
}

// A file-size limit stands for a full disk. The commit that does not fit fails and says why; every
// one before it is there after the next open.
TEST_F(StoreErrorTest, AFullDiskLosesNothing) {
  options_.durability = Durability::kSync;
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {3 << 20, 3 << 20};
    int done = 0;
    std::string why = "none";
    try {
      auto store = Store::Open(dir_, options_);
      Tree* tree = store->OpenTable("t");
      ::setrlimit(RLIMIT_FSIZE, &limit);
      StoreClient client(store.get());
      for (; done < 100000; ++done) {
        const std::string key = std::to_string(done), value(3000, 'v');
        const RowOp op{false, tree->table(), key, value};
        client.Commit({&op, 1});
      }
    } catch (const Error& e) {
      why = e.what();
    }
    ::dprintf(pipe_ends[1], "%d %s\n", done, why.c_str());
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  std::string said;
  char buffer[1000];
  for (ssize_t n; (n = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, n);
  ::close(pipe_ends[0]);
  ::waitpid(child, nullptr, 0);
  const int done = std::stoi(said);
  EXPECT_GT(done, 100);
  EXPECT_LT(done, 100000);
  EXPECT_NE(said.find("btree.data: File too large"), std::string::npos) << said;
  Open();
  for (int i = 0; i < done; ++i) ASSERT_EQ(Get(std::to_string(i)).size(), 3000u) << i;
  ExpectSound();
}

}  // namespace
}  // namespace testbed::btree
