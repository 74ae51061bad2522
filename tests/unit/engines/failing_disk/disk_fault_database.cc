#include "tests/unit/engines/failing_disk/disk_fault_database.h"

#include <filesystem>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/log/log_reader.h"
#include "engines/btree/inspect/check.h"
#include "engines/btree/store/store.h"
#include "engines/fractal/check.h"
#include "engines/fractal/store.h"
#include "engines/log/log_engine.h"
#include "engines/mmapv1/check/check.h"
#include "engines/mmapv1/files/format.h"
#include "engines/mmapv1/files/settings.h"
#include "engines/mmapv1/store.h"

namespace testbed {
namespace {

std::vector<RowWrite> Operations(uint32_t table, const std::map<std::string, FaultRow>& rows) {
  std::vector<RowWrite> operations;
  for (const auto& [key, value] : rows) {
    operations.push_back(
        {!value, table, key, value ? std::string_view(*value) : std::string_view()});
  }
  return operations;
}

std::string FirstFault(const Inspection& inspection) {
  return inspection.faults.kept.empty() ? "" : inspection.faults.kept.front().Text();
}

struct BtreeParts {
  using Store = btree::Store;
  using Options = btree::StoreOptions;
  using Client = btree::StoreClient;
  using Tree = btree::Tree;
  static Inspection Inspect(const std::string& dir) { return btree::InspectDatabase(dir, {}); }
};
struct FractalParts {
  using Store = fractal::Store;
  using Options = fractal::StoreOptions;
  using Client = fractal::StoreClient;
  using Tree = fractal::Tree;
  static Inspection Inspect(const std::string& dir) { return fractal::InspectDatabase(dir, {}); }
};

// A database of one of the stores that clients commit to and read from in the same way.
template <typename Parts>
class StoreFaults : public FaultDatabase {
 public:
  ~StoreFaults() override { Close(); }
  void Open(const std::string& dir, bool create) override {
    options_.create = create;
    store_ = Parts::Store::Open(dir, options_);
    client_ = std::make_unique<typename Parts::Client>(store_.get());
    tree_ = store_->OpenTable("t");
  }
  void Commit(const std::map<std::string, FaultRow>& rows) override {
    client_->Commit(Operations(tree_->table(), rows));
  }
  FaultRow Get(const std::string& key) override {
    std::string value;
    if (!client_->Get(tree_, key, &value)) return std::nullopt;
    return value;
  }
  void Checkpoint() override { store_->Checkpoint(); }
  void Close() override {
    client_.reset();
    store_.reset();
  }
  bool Exists(const std::string& dir) const override { return Parts::Store::Exists(dir); }
  std::string Check(const std::string& dir) override { return FirstFault(Parts::Inspect(dir)); }

 protected:
  typename Parts::Options options_;

 private:
  std::unique_ptr<typename Parts::Store> store_;
  std::unique_ptr<typename Parts::Client> client_;
  typename Parts::Tree* tree_ = nullptr;
};

class BtreeFaults : public StoreFaults<BtreeParts> {
 public:
  BtreeFaults(btree::TornPage torn_page, IoMode io, btree::PageCodec codec, bool change_buffer) {
    options_.torn_page = torn_page;
    options_.io = io;
    options_.compression = codec;
    options_.durability = Durability::kSync;
    options_.page_size = codec == btree::PageCodec::kNone ? 4096 : 8192;
    options_.cache_bytes = 40 * options_.page_size;
    if (io == IoMode::kDirect) options_.log.mode = io;
    options_.log.segment_bytes = 128 << 10;
    options_.log.reserve = true;
    options_.checkpoint_log_bytes = 48 << 10;
    if (change_buffer) options_.change_buffer_bytes = 20 << 10;
  }
};

class FractalFaults : public StoreFaults<FractalParts> {
 public:
  explicit FractalFaults(IoMode io) {
    options_.io = io;
    options_.page_size = 4096;
    options_.node_size = 16 << 10;
    options_.fanout = 4;
    options_.cache_bytes = 128 << 10;
    options_.durability = Durability::kSync;
    options_.cleaner_period_ms = 0;
    if (io == IoMode::kDirect) options_.log.mode = io;
    options_.log.segment_bytes = 128 << 10;
    options_.log.reserve = true;
    options_.checkpoint_log_bytes = 48 << 10;
  }
};

class Mmapv1Faults : public FaultDatabase {
 public:
  Mmapv1Faults() {
    options_.io = IoMode::kMmap;
    options_.durability = Durability::kSync;
    options_.extra = {
        {"small_files", "on"},       {"first_file_size", "1M"},        {"ns_size", "64k"},
        {"journal_file_size", "1M"}, {"journal_commit_interval", "2"}, {"uncommitted_limit", "1M"}};
  }
  ~Mmapv1Faults() override { Close(); }
  void Open(const std::string& dir, bool create) override {
    options_.create = create;
    store_ = std::make_unique<mmapv1::Store>(dir, mmapv1::MakeSettings(options_));
    table_ = store_->OpenTable("t");
  }
  void Commit(const std::map<std::string, FaultRow>& rows) override {
    WriteSet writes;
    for (const auto& [key, value] : rows) writes.Set(table_, key, !value, value ? *value : "");
    store_->Apply(writes);
  }
  FaultRow Get(const std::string& key) override {
    std::string value;
    if (!store_->Get(table_, key, &value)) return std::nullopt;
    return value;
  }
  void Checkpoint() override { store_->Checkpoint(); }
  void Close() override { store_.reset(); }
  bool Exists(const std::string& dir) const override {
    return std::filesystem::exists(mmapv1::NsPath(dir));
  }
  std::string Check(const std::string& dir) override {
    return FirstFault(mmapv1::InspectDatabase(dir, {}));
  }
  int commits() const override { return 50; }

 private:
  EngineOptions options_;
  std::unique_ptr<mmapv1::Store> store_;
  TableId table_ = 0;
};

// The engine log, whose rows are read from its log when the database is opened.
class LogFaults : public FaultDatabase {
 public:
  LogFaults(IoMode io, const char* space, const char* sync = "fdatasync") {
    options_.io = io;
    options_.durability = Durability::kSync;
    options_.extra = {
        {"log_space", space}, {"log_sync", sync}, {"log_segment", "1M"}, {"log_keep", "1M"}};
  }
  ~LogFaults() override { Close(); }
  void Open(const std::string& dir, bool create) override {
    options_.create = create;
    // The command makes the directory as well.
    if (create) MakeDirectories(dir);
    engine_ = OpenEngine("log", dir, options_);
    table_ = engine_->OpenTable("t");
    session_ = engine_->NewSession();
    if (!create) ReadRows(append_log::LogDirectory(dir));
  }
  void Commit(const std::map<std::string, FaultRow>& rows) override {
    session_->Begin();
    for (const auto& [key, value] : rows) {
      value ? session_->Put(table_, key, *value) : session_->Erase(table_, key);
    }
    // A segment has at least 1 MiB, which the rows alone would not fill. With this row a run goes
    // on in a second segment, and still keeps all of its log.
    session_->Put(table_, "long", std::string(10 << 10, 'l'));
    session_->Commit();
  }
  FaultRow Get(const std::string& key) override {
    const auto row = rows_.find(key);
    return row == rows_.end() ? std::nullopt : row->second;
  }
  void Checkpoint() override { engine_->Checkpoint(); }
  void Close() override {
    session_.reset();
    engine_.reset();
  }
  bool Exists(const std::string& dir) const override {
    return std::filesystem::exists(append_log::LogDirectory(dir) + "/tables");
  }
  std::string Check(const std::string&) override { return {}; }  // opening is a check
  bool reads() const override { return false; }

 private:
  void ReadRows(const std::string& directory) {
    rows_.clear();
    LogReader reader(directory);
    LogRecord record;
    while (reader.Next(&record)) {
      append_log::Row row;
      for (std::string_view rest = record.bytes; append_log::NextRow(&rest, &row);) {
        if (row.table != table_) continue;
        rows_[std::string(row.key)] = row.erase ? std::nullopt : FaultRow(row.value);
      }
    }
  }

  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  std::map<std::string, FaultRow> rows_;
  TableId table_ = 0;
};

std::unique_ptr<FaultDatabase> RecycledLog() {
  return std::make_unique<LogFaults>(IoMode::kDirect, "recycled");
}
std::unique_ptr<FaultDatabase> GrowingLog() {
  return std::make_unique<LogFaults>(IoMode::kBuffered, "growing");
}
std::unique_ptr<FaultDatabase> DsyncLog() {
  return std::make_unique<LogFaults>(IoMode::kBuffered, "recycled", "dsync");
}
template <btree::TornPage kTorn, IoMode kIo, btree::PageCodec kCodec, bool kBuffer>
std::unique_ptr<FaultDatabase> Btree() {
  return std::make_unique<BtreeFaults>(kTorn, kIo, kCodec, kBuffer);
}
template <IoMode kIo>
std::unique_ptr<FaultDatabase> Fractal() {
  return std::make_unique<FractalFaults>(kIo);
}
std::unique_ptr<FaultDatabase> Mmapv1() { return std::make_unique<Mmapv1Faults>(); }

}  // namespace

const std::vector<FaultMode>& FaultModes() {
  using btree::PageCodec;
  constexpr auto kDw = btree::TornPage::kDoublewrite, kFpi = btree::TornPage::kFullPageImage;
  static const std::vector<FaultMode> modes = {
      {"btree_buffered", Btree<kDw, IoMode::kBuffered, PageCodec::kNone, false>},
      {"btree_direct", Btree<kDw, IoMode::kDirect, PageCodec::kNone, false>},
      {"btree_mmap_change_buffer", Btree<kDw, IoMode::kMmap, PageCodec::kNone, true>},
      {"btree_images", Btree<kFpi, IoMode::kBuffered, PageCodec::kNone, false>},
      {"btree_lz4", Btree<kDw, IoMode::kBuffered, PageCodec::kLz4, false>},
      {"btree_images_lz4", Btree<kFpi, IoMode::kBuffered, PageCodec::kLz4, true>},
      {"fractal_buffered", Fractal<IoMode::kBuffered>},
      {"fractal_direct", Fractal<IoMode::kDirect>},
      {"mmapv1", Mmapv1},
      {"log_recycled", RecycledLog},
      {"log_growing", GrowingLog},
      {"log_dsync", DsyncLog},
  };
  return modes;
}

const std::vector<FaultMode>& WholeBlockModes() {
  using btree::PageCodec;
  static const std::vector<FaultMode> modes = {
      {"btree_none_change_buffer",
       Btree<btree::TornPage::kNone, IoMode::kDirect, PageCodec::kNone, true>, true},
  };
  return modes;
}

}  // namespace testbed
