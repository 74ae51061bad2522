#include "engines/sqlite/sqlite_engine.h"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>

#include "device/file/directory.h"
#include "engines/lazy_sync.h"
#include "engines/sqlite/database.h"
#include "engines/sqlite/session.h"
#include "engines/sqlite/settings.h"

namespace testbed {
namespace sqlite {
namespace {

class SqliteEngine : public Engine {
 public:
  SqliteEngine(const std::string& dir, const Settings& settings) : database_(dir, settings) {
    if (settings.durability != Durability::kLazy || !settings.wal()) return;
    lazy_ = std::make_unique<LazySync>(
        std::chrono::milliseconds(std::max(1u, settings.lazy_interval_ms)),
        [this] { return database_.commits(); }, [this] { database_.SyncLazily(); });
  }

  std::string name() const override { return "sqlite"; }
  TableId OpenTable(const std::string& table) override { return database_.OpenTable(table); }
  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<SqliteSession>(&database_);
  }
  void Flush() override { database_.Checkpoint(); }
  void Checkpoint() override { database_.Checkpoint(); }
  void Settle() override { database_.Checkpoint(); }
  bool ResizeCache(uint64_t bytes) override {
    database_.shares().SetBytes(bytes);
    return true;
  }
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override;
  EngineCounters Counters() const override;
  DiskSize SizeOnDisk() const override;

 private:
  mutable Database database_;
  std::unique_ptr<LazySync> lazy_;  // declared last: it ends before the database
};

std::vector<std::pair<std::string, std::string>> SqliteEngine::EffectiveSettings() const {
  const Settings& s = database_.settings();
  std::vector<std::pair<std::string, std::string>> settings = {
      {"version", ::sqlite3_libversion()},
      {"source_id", ::sqlite3_sourceid()},
      {"threadsafe", std::to_string(::sqlite3_threadsafe())},
      {"io", IoModeName(s.io)},
      {"advice", AdviceName(s.advice)},
      {"table", s.table},
      {"cache_bytes", std::to_string(database_.shares().bytes())},
      {"durability", DurabilityName(s.durability)},
      {"lazy_interval_ms", std::to_string(s.lazy_interval_ms)},
      {"checkpoint_log_bytes", s.journal == "wal"
                                   ? std::to_string(s.checkpoint_log_bytes)
                                   : "no effect: journal=" + s.journal + " has no WAL"},
      {"busy_wait_ms", std::to_string(s.busy_wait_ms)},
  };
  for (const char* name : {"page_size", "journal_mode", "synchronous", "auto_vacuum",
                           "secure_delete", "temp_store", "locking_mode", "encoding"}) {
    settings.emplace_back(name, database_.Pragma(name));
  }
  return settings;
}

EngineCounters SqliteEngine::Counters() const {
  EngineCounters counters;
  const Connection::Counts cache = database_.Counts();
  // SQLite does not count the pages that it reads in the mapping.
  if (database_.settings().io != IoMode::kMmap) {
    counters.block_requests = cache.hits + cache.misses;
    counters.block_hits = cache.hits;
    counters.block_reads = cache.misses;
    counters.block_read_bytes = cache.misses * database_.settings().page_size;
  }
  const Vfs::Written written = database_.vfs().written();
  counters.blocks_written = written.blocks;
  counters.block_write_bytes = written.block_bytes;
  counters.log_written_bytes = written.log_bytes;
  counters.cache_bytes = cache.cache_bytes;
  counters.more = {{"commits", database_.commits()}};
  return counters;
}

DiskSize SqliteEngine::SizeOnDisk() const {
  const std::string& dir = database_.dir();
  return DiskSizeOf(dir, [&](const std::string& path) {
    return path.ends_with("-wal") || path.ends_with("-journal");
  });
}

bool Recognises(const std::string& dir) { return IsFileThere(DatabaseFile(dir)); }

}  // namespace
}  // namespace sqlite

EngineInfo SqliteEngineInfo() {
  EngineInfo info;
  info.name = "sqlite";
  info.summary =
      "SQLite: b-trees of rows in one file, with a write-ahead log or a rollback journal";
  info.version = ::sqlite3_libversion();
  info.variants = "journal";
  info.capabilities = sqlite::SqliteCapabilities();
  info.files = {"data.sqlite", "data.sqlite-wal", "data.sqlite-journal", "temporary-#"};
  info.recognises = sqlite::Recognises;
  info.check_options = [](const EngineOptions& o) { (void)sqlite::MakeSettings(o); };
  // The log is buffered even with direct IO, and SQLite reads pages from it.
  info.direct_reads_page_cache = [](const EngineOptions& o) {
    return sqlite::MakeSettings(o).wal();
  };
  info.open = [](const std::string& dir, const EngineOptions& options) -> std::unique_ptr<Engine> {
    return std::make_unique<sqlite::SqliteEngine>(dir, sqlite::MakeSettings(options));
  };
  return info;
}

}  // namespace testbed
