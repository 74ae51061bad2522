#include "engines/null/null_engine.h"

namespace testbed {
namespace {

class NullCursor : public Cursor {
 public:
  bool Seek(std::string_view) override { return false; }
  bool SeekForPrev(std::string_view) override { return false; }
  bool First() override { return false; }
  bool Last() override { return false; }
  bool Next() override { return false; }
  bool Prev() override { return false; }
  std::string_view key() const override { return {}; }
  std::string_view value() const override { return {}; }
};

class NullSession : public Session {
 public:
  void Begin() override {}
  void Commit() override {}
  void Rollback() override {}
  bool Get(TableId, std::string_view, std::string_view* value) override {
    *value = {};
    return true;
  }
  void Put(TableId, std::string_view, std::string_view) override {}
  void Erase(TableId, std::string_view) override {}
  std::unique_ptr<Cursor> NewCursor(TableId) override { return std::make_unique<NullCursor>(); }
};

class NullEngine : public Engine {
 public:
  std::string name() const override { return "null"; }
  TableId OpenTable(const std::string&) override { return 0; }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<NullSession>(); }
  void Flush() override {}
  void Checkpoint() override {}
  void Settle() override {}
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override { return {}; }
  EngineCounters Counters() const override { return {}; }
  DiskSize SizeOnDisk() const override { return {}; }
};

}  // namespace

EngineInfo NullEngineInfo() {
  EngineInfo info;
  info.name = "null";
  info.summary = "does nothing, so that the harness itself can be measured";
  info.version = "1";
  info.capabilities.io_modes = {IoMode::kBuffered, IoMode::kDirect, IoMode::kMmap};
  info.capabilities.durabilities = {Durability::kNone, Durability::kLazy, Durability::kSync};
  info.capabilities.compressions = {"none"};
  info.capabilities.max_key_size = SIZE_MAX;
  info.capabilities.max_value_size = SIZE_MAX;
  info.capabilities.persistent = false;
  info.capabilities.scans = false;
  info.recognises = [](const std::string&) { return false; };
  info.open = [](const std::string&, const EngineOptions&) -> std::unique_ptr<Engine> {
    return std::make_unique<NullEngine>();
  };
  return info;
}

}  // namespace testbed
