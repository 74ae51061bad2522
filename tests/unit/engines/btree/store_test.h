// A fixture with a btree database in a directory of its own, and a model to compare it with.
#ifndef TESTBED_TESTS_UNIT_ENGINES_BTREE_STORE_TEST_H_
#define TESTBED_TESTS_UNIT_ENGINES_BTREE_STORE_TEST_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engines/btree/inspect/check.h"
#include "engines/btree/store/store.h"
#include "engines/btree/tree/cursor.h"
#include "tests/crashed_child.h"

namespace testbed::btree {

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
  // Runs `body` in a child process, which then ends at once, as if it were killed. The database is
  // not closed, but everything that the log has written to the kernel survives.
  void RunAndCrash(const std::function<void()>& body) {
    store_.reset();
    RunInCrashedChild([&] {
      Open();
      body();
      store_->log()->Write(store_->log()->EndLsn());
    });
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
  // Commits a transaction of random puts and erases, and applies it to the model. With a null
  // client only the model changes.
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
    std::vector<RowWrite> operations;
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
    const RowWrite op{false, store_->OpenTable("t")->table(), key, value};
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

}  // namespace testbed::btree

#endif  // TESTBED_TESTS_UNIT_ENGINES_BTREE_STORE_TEST_H_
