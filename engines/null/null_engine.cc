#include "engines/null/null_engine.h"

#include <string>

#include "engines/extra_options.h"

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
  explicit NullSession(std::string_view value) : value_(value) {}
  void Begin() override {}
  void Commit() override {}
  void Rollback() override {}
  bool Get(TableId, std::string_view, std::string_view* value) override {
    *value = value_;
    return true;
  }
  void Put(TableId, std::string_view, std::string_view) override {}
  void Erase(TableId, std::string_view) override {}
  std::unique_ptr<Cursor> NewCursor(TableId) override { return std::make_unique<NullCursor>(); }

 private:
  const std::string_view value_;
};

class NullEngine : public Engine {
 public:
  explicit NullEngine(size_t value_size) : value_(value_size, 'x') {}
  std::string name() const override { return "null"; }
  TableId OpenTable(const std::string&) override { return 0; }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<NullSession>(value_); }
  void Flush() override {}
  void Checkpoint() override {}
  void Settle() override {}
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override { return {}; }
  EngineCounters Counters() const override { return {}; }
  DiskSize SizeOnDisk() const override { return {}; }

 private:
  const std::string value_;
};

uint64_t ValueSize(const EngineOptions& options) {
  return ExtraOptions("null", options.extra).Integer("value_size", 0, 0, 1ull << 30);
}

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
  info.capabilities.cache = false;
  info.capabilities.extra_options = {
      {"value_size", "bytes of the value that Get returns for every key (0)"}};
  info.recognises = [](const std::string&) { return false; };
  info.check_options = [](const EngineOptions& options) { (void)ValueSize(options); };
  info.open = [](const std::string&, const EngineOptions& options) -> std::unique_ptr<Engine> {
    return std::make_unique<NullEngine>(ValueSize(options));
  };
  return info;
}

}  // namespace testbed
