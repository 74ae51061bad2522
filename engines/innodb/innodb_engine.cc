#include "engines/innodb/innodb_engine.h"

#include <mysql.h>

#include <algorithm>
#include <utility>

#include "engines/innodb/server.h"
#include "engines/innodb/session.h"
#include "engines/innodb/settings.h"
#include "engines/sql/mariadb_files.h"
#include "engines/sql/mariadb_settings.h"

namespace testbed {
namespace innodb {
namespace {

class InnodbEngine : public Engine {
 public:
  InnodbEngine(const std::string& dir, const Settings& settings) : server_(dir, settings) {}

  std::string name() const override { return "innodb"; }
  TableId OpenTable(const std::string& table) override { return server_.OpenTable(table); }
  bool KeepsIndexes() const override { return true; }
  TableId OpenIndex(const std::string& index, TableId table,
                    const std::vector<IndexPart>& parts) override {
    return server_.OpenIndex(index, table, parts);
  }
  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<InnodbSession>(&server_);
  }
  void Flush() override { server_.WriteAll(); }
  void Checkpoint() override { server_.WriteAll(); }
  void Settle() override { server_.Settle(); }
  bool ResizeCache(uint64_t bytes) override {
    server_.Resize(bytes);
    return true;
  }
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override;
  EngineCounters Counters() const override;
  DiskSize SizeOnDisk() const override {
    return DiskSizeOf(server_.dir(), [](const std::string& path) {
      return mariadb::KindOf(path) == FileKind::kLog;
    });
  }

 private:
  mutable Server server_;
};

std::vector<std::pair<std::string, std::string>> InnodbEngine::EffectiveSettings() const {
  const Settings& s = server_.settings();
  std::vector<std::pair<std::string, std::string>> all = {
      {"access", s.access == Access::kSql ? "sql" : "handler"},
      {"durability", DurabilityName(s.durability)},
      {"lazy_interval_ms", std::to_string(s.lazy_interval_ms)},
      {"compression", s.compressed ? "zlib" : "none"},
      {"key_block_size", std::to_string(s.key_block_size)},
  };
  for (auto& variable :
       mariadb::ToldVariables(server_.Variables(), "innodb_", s.shared, GivenArguments(s))) {
    all.push_back(std::move(variable));
  }
  return all;
}

EngineCounters InnodbEngine::Counters() const {
  std::map<std::string, uint64_t> status = server_.Status();
  const Settings& settings = server_.settings();
  EngineCounters c = mariadb::BlockCounters(&status, settings.page_size);
  // Innodb_data_written includes the writes to the doublewrite buffer. InnoDB writes a page there
  // in full size, even if the page is compressed in its place.
  const uint64_t doublewrite_bytes = status["dblwr_pages_written"] * settings.page_size;
  if (settings.key_block_size == 0) {
    *c.block_write_bytes -= std::min(*c.block_write_bytes, status["page_compression_saved"]);
  } else {
    c.block_read_bytes = status["data_read"];
    c.block_write_bytes =
        status["data_written"] - std::min(status["data_written"], doublewrite_bytes);
  }
  c.more.emplace_back("doublewrite_bytes", doublewrite_bytes);
  mariadb::AddStatus(status,
                     {"dblwr_pages_written",
                      "dblwr_writes",
                      "log_writes",
                      "log_write_requests",
                      "log_waits",
                      "data_reads",
                      "data_read",
                      "data_writes",
                      "data_written",
                      "data_fsyncs",
                      "buffer_pool_read_ahead",
                      "buffer_pool_read_ahead_rnd",
                      "buffer_pool_pages_flushed",
                      "buffer_pool_wait_free",
                      "ibuf_merges",
                      "ibuf_merged_inserts",
                      "ibuf_merged_delete_marks",
                      "ibuf_merged_deletes",
                      "num_pages_page_compressed",
                      "page_compression_saved",
                      "deadlocks",
                      "row_lock_waits",
                      "buffer_pool_pages_split"},
                     &c);
  return c;
}

}  // namespace
}  // namespace innodb

EngineInfo InnodbEngineInfo() {
  EngineInfo info;
  info.name = "innodb";
  info.summary = "InnoDB by MariaDB's embedded library: clustered b-trees, doublewrite, redo log";
  info.version = MARIADB_CLIENT_VERSION_STR;
  info.capabilities = innodb::InnodbCapabilities();
  info.files = {"ibdata#",
                "ibtmp#",
                "ib_logfile#",
                "ib_buffer_pool",
                "undo#",
                "aria_log_control",
                "aria_log.#",
                "ddl_recovery.log",
                "ddl_recovery-backup.log",
                "multi-master.info",
                "tc.log",
                "tmp/\\#sql*",
                "testbed/db.opt",
                "testbed/*.frm",
                "testbed/*.ibd"};
  info.table_files = mariadb::SchemaFiles;
  info.recognises = innodb::Recognises;
  info.check_options = [](const EngineOptions& o) { (void)innodb::MakeSettings(o); };
  info.open = [](const std::string& dir, const EngineOptions& options) -> std::unique_ptr<Engine> {
    return std::make_unique<innodb::InnodbEngine>(dir, innodb::MakeSettings(options));
  };
  info.missing = innodb::Library::Missing;
  info.read_code = [](const EngineOptions&) { innodb::Library::ReadCode(); };
  info.variants = "access";
  return info;
}

}  // namespace testbed
