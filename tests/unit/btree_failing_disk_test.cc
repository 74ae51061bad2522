// Each sync and each write of a database fails in turn, on a disk that keeps the kernel's rules
// (failing_disk.h); the clients go on, or the database is opened again with the machine still up,
// and goes on; then the power is cut. Each acknowledged row must be there, and each database open.
//
// TESTBED_FAULT_STRIDE sets every how many-th call is tried; 1 tries all.
#include "tests/unit/failing_disk.h"

#include <cstdlib>
#include <set>

#include "tests/unit/btree_store_test.h"

namespace testbed::btree {
namespace {

struct Case {
  const char* name;
  TornPage torn_page;
  IoMode io;
  PageCodec codec;
  bool change_buffer;
  bool sync;  // what fails: a sync, or else a write
  int error;
};

class FailingDiskTest : public StoreTest, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    const Case& c = GetParam();
    options_.torn_page = c.torn_page;
    options_.io = c.io;
    options_.compression = c.codec;
    options_.durability = Durability::kSync;
    options_.page_size = c.codec == PageCodec::kNone ? 4096 : 8192;
    options_.cache_bytes = 40 * options_.page_size;
    options_.log.segment_bytes = 128 << 10;
    options_.checkpoint_log_bytes = 96 << 10;
    if (c.change_buffer) options_.change_buffer_bytes = 20 << 10;
  }
  void TearDown() override {
    StoreTest::TearDown();
    std::filesystem::remove_all(dir_ + ".cut");
  }

  struct Row {
    std::string value;
    std::set<std::string> doubtful;
  };

  void Commit(StoreClient* client, Tree* tree, int number, uint64_t range) {
    std::map<std::string, std::string> rows;
    for (int j = 0; j < 4; ++j) {
      std::string value(50 + random_() % 250, 'v');
      if (number % 3 != 0) {
        for (char& c : value) c = static_cast<char>(random_());  // grows when it is compressed
      }
      rows["key" + std::to_string(random_() % range)] = std::to_string(number) + ":" + value;
    }
    std::vector<RowWrite> operations;
    for (const auto& [key, value] : rows) {
      operations.push_back({false, tree->table(), key, value});
      rows_[key].doubtful.insert(value);
    }
    client->Commit(operations);
    for (const auto& [key, value] : rows) rows_[key] = {value, {}};
  }

  // Opens, writes, reads and closes; goes on after errors.
  void Run(int commits, uint64_t range) {
    try {
      Open();
      Tree* tree = store_->OpenTable("t");
      StoreClient client(store_.get());
      for (int i = 0; i < commits; ++i) {
        try {
          Commit(&client, tree, i, range);
          if (i % 40 == 20) store_->Checkpoint();
        } catch (const Error&) {
          ++errors_;
        }
      }
    } catch (const Error&) {
      ++errors_;
    }
    store_.reset();
  }

  // The rows in `dir`, which must open.
  void ExpectAll(const std::string& dir, const std::string& when) {
    SCOPED_TRACE(when);
    std::unique_ptr<Store> store;
    try {
      store = Store::Open(dir, options_);
    } catch (const Error& e) {
      FAIL() << "does not open: " << e.what();
    }
    for (const std::string& problem : CheckStore(store.get()).problems) ADD_FAILURE() << problem;
    Tree* tree = store->OpenTable("t");
    StoreClient client(store.get());
    int lost = 0;
    for (const auto& [key, row] : rows_) {
      std::string value;
      client.Get(tree, key, &value);
      lost += value != row.value && !row.doubtful.contains(value);
    }
    EXPECT_EQ(lost, 0) << "of " << rows_.size() << " rows";
  }

  void Try(const std::string& file, uint64_t call, bool lasts, bool reopen) {
    std::filesystem::remove_all(dir_);
    rows_.clear();
    errors_ = 0;
    random_.seed(7);
    FailingDisk disk(dir_, file);
    Arm(&disk, call, lasts);
    Run(160, 300);
    if (lasts || reopen) disk.Heal();
    if (reopen) Run(60, 20);
    const std::string cut = dir_ + ".cut";
    disk.Cut(cut);
    if (disk.failed() > 0) ++hit_;
    if (!std::filesystem::exists(DataPath(cut))) {
      for (const auto& [key, row] : rows_) EXPECT_TRUE(row.value.empty()) << key;
      return;
    }
    ExpectAll(cut, "after the power cut");
  }
  void Arm(FailingDisk* disk, uint64_t call, bool lasts) {
    if (GetParam().sync) {
      disk->FailSync(call, lasts);
    } else {
      disk->FailWrite(call, GetParam().error, lasts);
    }
  }

  // Each call of the file, or a sample.
  void Sweep(const std::string& file) {
    std::filesystem::remove_all(dir_);
    uint64_t calls = 0;
    errors_ = 0;
    rows_.clear();
    random_.seed(7);
    {
      FailingDisk disk(dir_, file);
      Arm(&disk, UINT64_MAX, false);
      Run(160, 300);
      calls = GetParam().sync ? disk.syncs() : disk.writes();
      ASSERT_EQ(errors_, 0);
    }
    // Page images in the log take the place of the doublewrite file.
    if (calls == 0 && GetParam().torn_page != TornPage::kDoublewrite) return;
    ASSERT_GT(calls, 1u);
    const char* set = ::getenv("TESTBED_FAULT_STRIDE");
    const uint64_t stride =
        std::max<uint64_t>(1, set != nullptr ? std::strtoull(set, nullptr, 10) : calls / 4);
    for (uint64_t call = set == nullptr ? stride / 2 : 0; call < calls; call += stride) {
      TryEach(file, call);
      if (HasFailure()) return;
    }
  }
  void TryEach(const std::string& file, uint64_t call) {
    for (const bool reopen : {false, true}) {
      for (const bool lasts : {false, true}) {
        SCOPED_TRACE(file + ", call " + std::to_string(call) + (lasts ? " and all after it" : "") +
                     (reopen ? ", opened again" : ""));
        Try(file, call, lasts, reopen);
        ++tried_;
        if (HasFailure()) return;
      }
    }
  }

  std::map<std::string, Row> rows_;
  int errors_ = 0;
  uint64_t hit_ = 0, tried_ = 0;
};

TEST_P(FailingDiskTest, LosesNothingThatWasAcknowledged) {
  for (const char* file : {"btree.data", "btree.doublewrite", "btree.checkpoint", "btree.log/"}) {
    Sweep(file);
    if (HasFailure()) return;
  }
  EXPECT_GT(hit_, tried_ / 2);
  RecordProperty("tried", static_cast<int>(tried_));
}

constexpr auto kDw = TornPage::kDoublewrite;
constexpr auto kFpi = TornPage::kFullPageImage;
INSTANTIATE_TEST_SUITE_P(
    Faults, FailingDiskTest,
    testing::Values(
        Case{"sync_buffered", kDw, IoMode::kBuffered, PageCodec::kNone, false, true, EIO},
        Case{"sync_direct", kDw, IoMode::kDirect, PageCodec::kNone, false, true, EIO},
        Case{"sync_mmap_change_buffer", kDw, IoMode::kMmap, PageCodec::kNone, true, true, EIO},
        Case{"sync_images", kFpi, IoMode::kBuffered, PageCodec::kNone, false, true, EIO},
        Case{"sync_lz4", kDw, IoMode::kBuffered, PageCodec::kLz4, false, true, EIO},
        Case{"write_eio", kDw, IoMode::kBuffered, PageCodec::kNone, false, false, EIO},
        Case{"write_eio_images", kFpi, IoMode::kBuffered, PageCodec::kNone, false, false, EIO},
        Case{"write_full_lz4", kDw, IoMode::kBuffered, PageCodec::kLz4, false, false, ENOSPC},
        Case{"write_full_images_lz4", kFpi, IoMode::kBuffered, PageCodec::kLz4, true, false,
             ENOSPC}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace testbed::btree
