// A fixture with a store whose nodes are so small that a few thousand rows make a tree of several
// levels, and in which nothing happens by itself: no cleaner, no checkpoint, no sync.
#ifndef TESTBED_TESTS_UNIT_ENGINES_FRACTAL_SMALL_STORE_H_
#define TESTBED_TESTS_UNIT_ENGINES_FRACTAL_SMALL_STORE_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "engines/fractal/store.h"
#include "tools/database/copy_tree.h"

namespace testbed::fractal {

class SmallStoreTest : public testing::Test {
 protected:
  SmallStoreTest() {
    std::string pattern = std::filesystem::current_path() / "fractal_test_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    options_.page_size = 4096;
    options_.node_size = 16 << 10;
    options_.fanout = 4;
    options_.durability = Durability::kNone;
    options_.cleaner_period_ms = 0;
    options_.checkpoint_period_ms = 1 << 30;
    options_.log.segment_bytes = 1 << 20;
  }
  ~SmallStoreTest() override {
    Close();
    std::filesystem::remove_all(dir_);
  }
  // Opens the store by options_, and table "t".
  void Open() {
    Close();
    store_ = Store::Open(dir_, options_);
    client_ = std::make_unique<StoreClient>(store_.get());
    tree_ = store_->OpenTable("t");
  }
  void Close() {
    client_.reset();
    store_.reset();
  }
  // Closes the store, and leaves its files as a crash would have left them before.
  void CloseCrashed() {
    const std::string copy = dir_ + ".copy";
    CopyTree(dir_, copy);
    Close();
    std::filesystem::remove_all(dir_);
    std::filesystem::rename(copy, dir_);
  }

  std::string dir_;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreClient> client_;
  Tree* tree_ = nullptr;
};

}  // namespace testbed::fractal

#endif  // TESTBED_TESTS_UNIT_ENGINES_FRACTAL_SMALL_STORE_H_
