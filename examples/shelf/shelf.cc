// An engine outside the tree: each table is a std::map under one mutex. The command `testbed` has
// it when this folder is in the build (CONTRIBUTING.md, "Adding an engine";
// tests/extension/check.sh); another program has it by a call of AddEngine (own_engine.cc).
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/registry.h"

namespace testbed {
namespace {

using Rows = std::map<std::string, std::string, std::less<>>;

class Shelf : public Engine {
 public:
  std::string name() const override { return "shelf"; }
  TableId OpenTable(const std::string& table) override {
    std::lock_guard lock(mutex_);
    const auto [at, is_new] = ids_.try_emplace(table, static_cast<TableId>(ids_.size()));
    if (is_new) tables_.push_back(std::make_unique<Rows>());
    return at->second;
  }
  std::unique_ptr<Session> NewSession() override;
  void Flush() override {}
  void Checkpoint() override {}
  void Settle() override {}
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override { return {}; }
  EngineCounters Counters() const override { return {}; }
  DiskSize SizeOnDisk() const override { return {}; }

  std::mutex& mutex() { return mutex_; }
  // Returns the rows of a table. The caller holds the mutex.
  Rows& rows(TableId table) {
    if (table >= tables_.size()) {
      throw Error(Error::kUsage, "shelf: table " + std::to_string(table) + " was not opened");
    }
    return *tables_[table];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, TableId> ids_;
  std::vector<std::unique_ptr<Rows>> tables_;
};

// A cursor that copies each row on which it stops, so that it holds no lock between its calls.
class ShelfCursor : public Cursor {
 public:
  ShelfCursor(Shelf* shelf, const Rows& rows) : shelf_(shelf), rows_(rows) {}
  bool Seek(std::string_view key) override {
    std::lock_guard lock(shelf_->mutex());
    return Take(rows_.lower_bound(key));
  }
  bool SeekForPrev(std::string_view key) override {
    std::lock_guard lock(shelf_->mutex());
    return TakeBefore(rows_.upper_bound(key));
  }
  bool First() override {
    std::lock_guard lock(shelf_->mutex());
    return Take(rows_.begin());
  }
  bool Last() override {
    std::lock_guard lock(shelf_->mutex());
    return TakeBefore(rows_.end());
  }
  bool Next() override {
    std::lock_guard lock(shelf_->mutex());
    return Take(rows_.upper_bound(key_));
  }
  bool Prev() override {
    std::lock_guard lock(shelf_->mutex());
    return TakeBefore(rows_.lower_bound(key_));
  }
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }

 private:
  bool Take(Rows::const_iterator at) {
    if (at == rows_.end()) return false;
    key_ = at->first;
    value_ = at->second;
    return true;
  }
  bool TakeBefore(Rows::const_iterator at) { return at != rows_.begin() && Take(--at); }

  Shelf* const shelf_;
  const Rows& rows_;
  std::string key_, value_;
};

class ShelfSession : public Session {
 public:
  explicit ShelfSession(Shelf* shelf) : shelf_(shelf) {}
  void Begin() override {}
  void Commit() override {}
  void Rollback() override {}
  bool Get(TableId table, std::string_view key, std::string_view* value) override {
    std::lock_guard lock(shelf_->mutex());
    const Rows& rows = shelf_->rows(table);
    const auto at = rows.find(key);
    if (at == rows.end()) return false;
    value_ = at->second;
    *value = value_;
    return true;
  }
  void Put(TableId table, std::string_view key, std::string_view value) override {
    std::lock_guard lock(shelf_->mutex());
    shelf_->rows(table).insert_or_assign(std::string(key), std::string(value));
  }
  void Erase(TableId table, std::string_view key) override {
    std::lock_guard lock(shelf_->mutex());
    shelf_->rows(table).erase(std::string(key));
  }
  std::unique_ptr<Cursor> NewCursor(TableId table) override {
    std::lock_guard lock(shelf_->mutex());
    return std::make_unique<ShelfCursor>(shelf_, shelf_->rows(table));
  }

 private:
  Shelf* const shelf_;
  std::string value_;
};

std::unique_ptr<Session> Shelf::NewSession() { return std::make_unique<ShelfSession>(this); }

}  // namespace

EngineInfo ShelfEngineInfo() {
  EngineInfo info;
  info.name = "shelf";
  info.summary = "a map in memory";
  info.version = "1";
  info.capabilities.io_modes = {IoMode::kBuffered};
  info.capabilities.durabilities = {Durability::kNone};
  info.capabilities.compressions = {"none"};
  info.capabilities.max_key_size = info.capabilities.max_value_size = SIZE_MAX;
  info.capabilities.persistent = info.capabilities.transactions = info.capabilities.cache = false;
  info.recognises = [](const std::string&) { return false; };
  info.open = [](const std::string&, const EngineOptions&) { return std::make_unique<Shelf>(); };
  return info;
}

}  // namespace testbed
