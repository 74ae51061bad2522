// Injects an error at each IO call of a database in turn. The operation that needs the call must
// fail with an error, no acknowledged commit may be lost, and the database must open again.
//
// TESTBED_FAULT_STRIDE is the distance between the calls that are tried; 1 tries all. By default
// each round tries about sixty calls.
#include <cerrno>
#include <cstdlib>
#include <set>

#include "device/file/file_faults.h"
#include "tests/unit/engines/btree/store_test.h"
#include "tools/database/copy_tree.h"

namespace testbed::btree {
namespace {

struct Fault {
  int error;
  bool lasts;  // all later calls fail, too, as on a device that is gone
  TornPage torn_page;
  IoMode io;
  bool change_buffer;
  bool compressed = false;
};

class IoFaultTest : public StoreTest, public testing::WithParamInterface<Fault> {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_.torn_page = GetParam().torn_page;
    options_.io = GetParam().io;
    options_.durability = Durability::kSync;
    options_.cache_bytes = 160 << 10;
    options_.log.segment_bytes = 256 << 10;
    if (GetParam().change_buffer) options_.change_buffer_bytes = 20 << 10;
    if (GetParam().compressed) {
      options_.page_size = 8192;
      options_.cache_bytes = 300 << 10;
      options_.compression = PageCodec::kLz4;
      options_.compressed_cache_pct = 20;
    }
  }
  void TearDown() override {
    FileFaults::Clear();
    StoreTest::TearDown();
  }

  // The expected state of a row: the value acknowledged last, and the values of later commits that
  // failed, any of which may have been written.
  struct Row {
    std::string value = kNone;
    std::set<std::string> doubtful;
  };
  static inline const std::string kNone = "(none)";

  void Commit(StoreClient* client, Tree* tree,
              const std::vector<std::pair<std::string, std::string>>& rows) {
    std::vector<RowWrite> operations;
    for (const auto& [key, value] : rows) {
      operations.push_back({value == kNone, tree->table(), key,
                            value == kNone ? std::string_view() : std::string_view(value)});
    }
    for (const auto& [key, value] : rows) rows_[key].doubtful.insert(value);
    client->Commit(operations);
    for (const auto& [key, value] : rows) {
      rows_[key].value = value;
      rows_[key].doubtful.clear();
    }
  }

  // Opens the database, writes, reads and closes it. Ends at the first error and counts it.
  void Scenario(uint64_t seed) {
    std::mt19937_64 random(seed);
    try {
      Open();
      Tree* tree = store_->OpenTable("t");
      StoreClient client(store_.get());
      for (int i = 0; i < 60; ++i) {
        std::map<std::string, std::string> rows;
        for (int j = 0; j < 8; ++j) {
          const std::string key = "key" + std::to_string(random() % 400);
          const uint64_t kind = random() % 20;
          rows[key] =
              kind < 3 ? kNone
                       : std::to_string(i) + ':' +
                             std::string(kind == 3 ? 9000 + random() % 9000 : random() % 300, 'v');
        }
        try {
          Commit(&client, tree, {rows.begin(), rows.end()});
        } catch (const Error& e) {
          Told(e);
        }
        std::string value;
        try {
          client.Get(tree, "key" + std::to_string(random() % 400), &value);
          if (i % 20 == 10) store_->Checkpoint();
          if (i % 20 == 15) store_->Flush();
        } catch (const Error& e) {
          Told(e);
        }
      }
    } catch (const Error& e) {
      Told(e);
    }
    store_.reset();
  }
  void Told(const Error& e) {
    ++errors_;
    const std::string sentence = e.what();
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    EXPECT_GT(sentence.size(), 20u);
  }

  // Expects that the database is sound after the fault, and that every row has its acknowledged
  // value or a doubtful one.
  void ExpectNothingLost() {
    Open();
    ExpectSound();
    StoreClient client(store_.get());
    Tree* tree = store_->OpenTable("t");
    for (const auto& [key, row] : rows_) {
      std::string value;
      if (!client.Get(tree, key, &value)) value = kNone;
      EXPECT_TRUE(value == row.value || row.doubtful.contains(value))
          << key << " is " << value.substr(0, 20) << ", acknowledged was "
          << row.value.substr(0, 20);
      rows_[key] = {value, {}};
    }
  }
  static uint64_t Stride(uint64_t calls) {
    const char* set = ::getenv("TESTBED_FAULT_STRIDE");
    return set != nullptr ? std::strtoull(set, nullptr, 10) : std::max<uint64_t>(1, calls / 30);
  }

  std::map<std::string, Row> rows_;
  int errors_ = 0;
};

TEST_P(IoFaultTest, InEachCallLosesNothing) {
  const Fault fault = GetParam();
  FileFaults::Set(UINT64_MAX, UINT64_MAX, fault.error);
  Scenario(1);
  const uint64_t calls = FileFaults::Clear();
  ASSERT_EQ(errors_, 0);
  ASSERT_GT(calls, 150u);
  const uint64_t stride = Stride(calls);
  uint64_t told = 0, tried = 0;
  for (uint64_t call = 0; call < calls; call += 1 + random_() % (2 * stride - 1)) {
    SCOPED_TRACE("call " + std::to_string(call));
    std::filesystem::remove_all(dir_);
    rows_.clear();
    errors_ = 0;
    FileFaults::Set(call, fault.lasts ? UINT64_MAX : call + 1, fault.error);
    Scenario(1);
    FileFaults::Clear();
    told += errors_ > 0;
    ++tried;
    ExpectNothingLost();
    store_.reset();
    if (HasFailure()) return;
  }
  // Not every failed call causes an error: some have a fallback, and some come when the database
  // closes.
  EXPECT_GT(told, tried / 2);
}

TEST_P(IoFaultTest, InEachCallOfRecoveryLosesNothing) {
  const Fault fault = GetParam();
  RunAndCrash([&] {
    Tree* tree = store_->OpenTable("t");
    StoreClient client(store_.get());
    for (int i = 0; i < 600; ++i) {
      Commit(&client, tree,
             {{"key" + std::to_string(i * 7 % 400), std::string(200, 'a' + i % 26)}});
    }
  });
  for (int i = 0; i < 600; ++i) {
    rows_["key" + std::to_string(i * 7 % 400)].value = std::string(200, 'a' + i % 26);
  }
  const std::string crashed = dir_ + ".crashed";
  CopyTree(dir_, crashed);
  FileFaults::Set(UINT64_MAX, UINT64_MAX, fault.error);
  Open();
  store_.reset();
  const uint64_t calls = FileFaults::Clear();
  for (uint64_t call = 0; call < calls; call += 1 + random_() % (2 * Stride(calls) - 1)) {
    SCOPED_TRACE("call " + std::to_string(call));
    std::filesystem::remove_all(dir_);
    CopyTree(crashed, dir_);
    FileFaults::Set(call, fault.lasts ? UINT64_MAX : call + 1, fault.error);
    try {
      Open();
    } catch (const Error& e) {
      Told(e);
    }
    store_.reset();
    FileFaults::Clear();
    ExpectNothingLost();
    store_.reset();
    if (HasFailure()) break;
  }
  std::filesystem::remove_all(crashed);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, IoFaultTest,
    testing::Values(Fault{EIO, false, TornPage::kDoublewrite, IoMode::kBuffered, false},
                    Fault{EIO, true, TornPage::kDoublewrite, IoMode::kMmap, true},
                    Fault{EIO, false, TornPage::kFullPageImage, IoMode::kBuffered, true},
                    Fault{EIO, true, TornPage::kFullPageImage, IoMode::kBuffered, false},
                    Fault{ENOSPC, false, TornPage::kDoublewrite, IoMode::kBuffered, false},
                    Fault{ENOSPC, true, TornPage::kFullPageImage, IoMode::kBuffered, true},
                    Fault{EIO, false, TornPage::kDoublewrite, IoMode::kBuffered, false, true},
                    Fault{ENOSPC, true, TornPage::kFullPageImage, IoMode::kBuffered, true, true}),
    [](const auto& param) {
      const Fault& f = param.param;
      return std::string(f.error == EIO ? "EIO" : "ENOSPC") + (f.lasts ? "_lasting_" : "_once_") +
             TornPageName(f.torn_page) + "_" + IoModeName(f.io) +
             (f.change_buffer ? "_change_buffer" : "") + (f.compressed ? "_compressed" : "");
    });

}  // namespace
}  // namespace testbed::btree
