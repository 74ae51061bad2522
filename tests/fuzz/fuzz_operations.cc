#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/btree/inspect/check.h"
#include "engines/btree/store/store.h"
#include "engines/btree/tree/cursor.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_files.h"

namespace testbed::btree {
namespace {

namespace fs = std::filesystem;

// A small database in memory, and what it should hold.
class FuzzedStore {
 public:
  explicit FuzzedStore(FuzzInput* input) {
    options_.page_size = 4096;
    options_.cache_bytes = (80 + 40 * input->Below(8)) << 10;
    options_.durability = Durability::kNone;
    options_.log.segment_bytes = 256 << 10;
    options_.checkpoint_log_bytes = 1ull << 40;  // the input says when to checkpoint
    compressed_ = input->Below(2) == 0;
    if (compressed_) {
      options_.page_size = 8192;
      options_.cache_bytes += 160 << 10;
    }
    options_.io = compressed_ || input->Below(2) == 0 ? IoMode::kBuffered : IoMode::kMmap;
    Choose(input);
    Open();
  }
  ~FuzzedStore() {
    client_.reset();
    store_.reset();
  }

  void Commit(FuzzInput* input) {
    std::map<std::string, std::pair<bool, std::string>> rows;
    for (uint32_t n = 1 + input->Below(input->Below(8) == 0 ? 40 : 4); n > 0; --n) {
      const std::string key = Key(input);
      const uint32_t kind = input->Below(16);
      const size_t size = kind == 0  ? 2000 + input->Below(9000)
                          : kind < 4 ? 200 + input->Below(900)
                                     : input->Below(60);
      rows[key] = {kind > 11, std::string(size, static_cast<char>('a' + size % 26))};
    }
    std::vector<RowWrite> operations;
    for (const auto& [key, write] : rows) {
      const auto& [erase, value] = write;
      operations.push_back({erase, tree_->table(), key, erase ? std::string_view() : value});
      if (erase) {
        model_.erase(key);
      } else {
        model_[key] = value;
      }
    }
    client_->Commit(operations);
  }
  void Get(FuzzInput* input) {
    const std::string key = Key(input);
    std::string value;
    const bool found = client_->Get(tree_, key, &value);
    const auto at = model_.find(key);
    Require(found == (at != model_.end()), "presence of a row");
    Require(!found || value == at->second, "value of a row");
  }
  void Walk(FuzzInput* input) {
    TreeCursor cursor(tree_, client_->context(), options_.page_size);
    const std::string key = Key(input);
    auto at = model_.lower_bound(key);
    bool on = cursor.SeekForward(key, false);
    for (int steps = 1 + input->Below(60); steps > 0; --steps) {
      Require(on == (at != model_.end()), "end of a walk");
      if (!on) return;
      Require(cursor.key() == at->first && cursor.value() == at->second, "row of a walk");
      on = cursor.Next();
      ++at;
    }
  }
  void Checkpoint() { store_->Checkpoint(); }
  void Flush() { store_->Flush(); }
  void Resize(FuzzInput* input) { store_->ResizeCache((240 + 40 * input->Below(8)) << 10); }

  // Closes the database, or leaves it as a crash would after the log was written to the kernel.
  // Then opens it again, perhaps with other settings.
  void Reopen(FuzzInput* input) {
    const bool crash = input->Below(2) == 0;
    client_.reset();
    if (crash) {
      store_->log()->Write(store_->log()->EndLsn());
      const std::string next = top_.path() + "/" + std::to_string(++crashes_);
      // The copy must be of one moment, but the cleaner may be writing pages, which takes less than
      // a millisecond in memory.
      const auto written = [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return store_->pool()->Counters().written;
      };
      for (uint64_t before = written();;) {
        fs::remove_all(next);
        fs::copy(dir_, next, fs::copy_options::recursive);
        if (const uint64_t now = written(); std::exchange(before, now) == now) break;
      }
      store_.reset();
      fs::remove_all(dir_);
      dir_ = next;
    }
    store_.reset();
    Choose(input);
    Open();
  }
  void Check() {
    const CheckReport report = CheckStore(store_.get());
    Require(report.ok(), report.ok() ? "" : report.problems[0]);
  }

 private:
  static std::string Key(FuzzInput* input) {
    // There are few keys, with long common prefixes; some are long.
    const uint32_t n = input->Below(600);
    std::string key(n % 50 == 0 ? 300 : n % 7, static_cast<char>('a' + n % 3));
    return key + std::to_string(n);
  }
  void Choose(FuzzInput* input) {
    constexpr TornPage kWays[] = {TornPage::kDoublewrite, TornPage::kFullPageImage,
                                  TornPage::kNone};
    options_.torn_page = kWays[input->Below(3)];
    // The database is made with compression, since it could not get any later.
    constexpr PageCodec kCodecs[] = {PageCodec::kLz4, PageCodec::kZstd, PageCodec::kNone};
    if (compressed_) options_.compression = kCodecs[input->Below(dir_.empty() ? 2 : 3)];
    options_.compressed_cache_pct =
        options_.compression != PageCodec::kNone ? 10 * input->Below(5) : 0;
    options_.change_buffer_bytes = input->Below(2) == 0 ? 0 : (4 + 4 * input->Below(8)) << 10;
  }
  void Open() {
    if (dir_.empty()) dir_ = top_.path() + "/0";
    store_ = Store::Open(dir_, options_);
    tree_ = store_->OpenTable("t");
    client_ = std::make_unique<StoreClient>(store_.get());
  }

  const ScratchDir top_;
  std::string dir_;
  int crashes_ = 0;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreClient> client_;
  Tree* tree_ = nullptr;
  bool compressed_ = false;
  std::map<std::string, std::string> model_;
};

}  // namespace

// Performs operations on a database, with crashes and reopenings, and compares it with a model.
TESTBED_FUZZ_TARGET(operations) {
  FuzzInput input(bytes);
  FuzzedStore store(&input);
  int reopened = 0;
  while (!input.empty()) {
    switch (input.Below(24)) {
      case 0:
        store.Checkpoint();
        break;
      case 1:
        store.Flush();
        break;
      case 2:
        store.Resize(&input);
        break;
      case 3:
        if (++reopened <= 4) store.Reopen(&input);  // expensive, so not too often
        break;
      case 4:
      case 5:
        store.Walk(&input);
        break;
      case 6:
      case 7:
      case 8:
      case 9:
        store.Get(&input);
        break;
      default:
        store.Commit(&input);
    }
  }
  store.Check();
}

}  // namespace testbed::btree
