#include "engines/postgres/postgres_engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "device/account/ledger.h"
#include "device/account/served_thread.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "device/machine/host.h"
#include "device/machine/resident_code.h"
#include "device/os/dir_lock.h"
#include "device/os/random_id.h"
#include "engines/lazy_sync.h"
#include "engines/postgres/cluster_files.h"
#include "engines/postgres/connection.h"
#include "engines/postgres/dialect.h"
#include "engines/postgres/library.h"
#include "engines/postgres/server.h"
#include "engines/postgres/settings.h"
#include "engines/postgres/target.h"
#include "engines/postgres/versions.h"
#include "engines/sql/addresses.h"
#include "engines/sql/ownership.h"
#include "engines/sql/session.h"
#include "engines/sql/store.h"

namespace testbed {
namespace postgres {
namespace {

namespace fs = std::filesystem;

// The commit of a transaction that logs something makes all of the log before it durable, if that
// commit waits for the log.
constexpr char kLogSomething[] = "SELECT pg_logical_emit_message(true, 'testbed', '')";

uint64_t Number(const std::string& text) {
  return text.empty() ? 0 : std::strtoull(text.c_str(), nullptr, 10);
}

class PostgresEngine : public Engine {
 public:
  PostgresEngine(const std::string& dir, const Settings& settings);

  std::string name() const override { return "postgres"; }
  TableId OpenTable(const std::string& table) override { return store_->OpenTable(table); }
  bool KeepsIndexes() const override { return version_ >= kGeneratedColumns; }
  TableId OpenIndex(const std::string& index, TableId table,
                    const std::vector<IndexPart>& parts) override {
    if (!KeepsIndexes()) return Engine::OpenIndex(index, table, parts);
    return store_->OpenIndex(index, table, parts);
  }
  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<SqlSession>(store_.get(), FlushOfStatistics(version_));
  }
  std::unique_ptr<Session> NewClientSession(int client) override {
    return std::make_unique<SqlSession>(store_.get(), FlushOfStatistics(version_),
                                        AddressOfClient(client, store_->addresses()));
  }
  void Flush() override { Checkpoint(); }
  void Checkpoint() override;
  void Settle() override;
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override;
  EngineCounters Counters() const override { return SumOfCounters(CountersByAddress()); }
  std::vector<std::optional<EngineCounters>> CountersByAddress() const override {
    return CountersAtEach(store_.get(), repeated_servers_,
                          [this](size_t address) { return CountersOf(address); });
  }
  std::vector<ServerAddress> ServerAddresses() const override {
    return ServerAddressesOf(*store_, Addresses());
  }
  DiskSize SizeOnDisk() const override;

 private:
  ConnectOptions TargetAt(size_t address) const;
  std::vector<std::string> Addresses() const;
  void CheckGivenServer(size_t address);
  void OpenSchema();
  FoundSchema FindSchema();
  bool TryLock(const std::string& name, size_t address);
  void MakeSchema();
  void BeginLazySyncs();
  void SyncLazily();
  EngineCounters CountersOf(size_t address) const;

  const std::string dir_;
  const Settings settings_;
  const std::string schema_;
  const SchemaOwner owner_;
  DirLock lock_;
  std::unique_ptr<PrivateServer> server_;  // null when the run has not started the server
  std::unique_ptr<SqlStore> store_;        // declared after server_, so that it ends before it
  // These connections sync lazy commits, one at each address; null for a replica, which commits
  // nothing.
  std::vector<std::unique_ptr<SqlConnection>> lazy_connections_;
  std::vector<std::unique_ptr<ServedThread>> lazy_served_;
  std::unique_ptr<LazySync> lazy_;
  Version version_ = 0;                 // version of the server
  std::vector<bool> repeated_servers_;  // indexed by address (FindRepeatedServers)
  bool may_checkpoint_ = true, sees_buffers_ = false;
};

PostgresEngine::PostgresEngine(const std::string& dir, const Settings& settings)
    : dir_(fs::absolute(dir)),
      settings_(settings),
      schema_(SchemaOfDirectory(dir_, settings.schema, !settings.targets.empty())),
      owner_{"postgres",      "schema",         schema_,          dir_,
             settings.create, settings.replace, settings.guest_of} {
  lock_ = owner_.TakeDirectory();
  if (settings_.targets.empty()) {
    server_ = std::make_unique<PrivateServer>(dir_, settings_, !owner_.HasRecord());
  }
  store_ = std::make_unique<SqlStore>(
      "postgres", std::make_unique<Dialect>(), schema_,
      SqlLimits{kMaxKeySize, kMaxValueSize, settings_.conflict_wait_ms, settings_.goes_on},
      [this](size_t address) { return std::make_unique<PgConnection>(TargetAt(address)); },
      std::function<void()>(), std::max<size_t>(settings_.targets.size(), 1));
  version_ = static_cast<int>(Number(store_->AskOne("SHOW server_version_num")));
  for (size_t i = 0; i < settings_.targets.size(); ++i) CheckGivenServer(i);
  OpenSchema();
  AwaitAddresses(store_.get(), Addresses(), Error::kUsage, kPatienceAtOpening);
  repeated_servers_ = FindRepeatedServers(
      store_.get(),
      [this](const std::string& name, size_t address) { return TryLock(name, address); });
  if (server_ != nullptr) server_->Keep();
  if (settings_.durability == Durability::kLazy) BeginLazySyncs();
}

void PostgresEngine::BeginLazySyncs() {
  lazy_connections_.resize(store_->addresses());
  lazy_served_.resize(store_->addresses());
  for (size_t i = 0; i < store_->addresses(); ++i) {
    // A replica commits nothing, and would refuse the message.
    if (i > 0 && store_->AskOne("SELECT pg_is_in_recovery()", i) == "t") continue;
    lazy_connections_[i] = store_->Connect(i);
    lazy_connections_[i]->Run("SET synchronous_commit = on");
    lazy_served_[i] = std::make_unique<ServedThread>(lazy_connections_[i]->server_thread());
  }
  lazy_ = std::make_unique<LazySync>(
      std::chrono::milliseconds(std::max(1u, settings_.lazy_interval_ms)),
      [this] { return store_->commits(); }, [this] { SyncLazily(); });
}

// Runs on the thread of lazy_.
void PostgresEngine::SyncLazily() {
  for (const auto& served : lazy_served_) {
    if (served != nullptr) served->Follow();
  }
  const IoScope scope(kLogWrite);
  const CallMark mark(FileKind::kLog);
  try {
    store_->AtEach([this](size_t address) {
      if (lazy_connections_[address] == nullptr) return;
      lazy_connections_[address]->Run(kLogSomething);
    });
  } catch (const Error& error) {
    store_->FailCommits(error);
  }
}

ConnectOptions PostgresEngine::TargetAt(size_t address) const {
  if (server_ != nullptr) return server_->connect();
  ConnectOptions options;
  options.target = settings_.targets[address].conninfo;
  options.shown = "the server at " + settings_.targets[address].name;
  options.setup = SessionSetup(settings_);
  return options;
}

// Returns the names of the addresses of a server that runs already.
std::vector<std::string> PostgresEngine::Addresses() const {
  std::vector<std::string> names;
  for (const Target& target : settings_.targets) names.push_back(target.name);
  return names;
}

// Throws Error (kUsage) when a server that runs already does not have what the options ask for: a
// session can choose whether its commits wait for the log, but not whether the server syncs the
// log.
void PostgresEngine::CheckGivenServer(size_t address) {
  const std::string& name = settings_.targets[address].name;
  const auto version = static_cast<int>(Number(store_->AskOne("SHOW server_version_num", address)));
  // In other versions the server has its counters in other places.
  if (version / 10000 != version_ / 10000) {
    throw Error(Error::kUsage,
                fmt::format("postgres: the servers at {} and {} are of versions {} and {}; give "
                            "--connect addresses of one version",
                            settings_.targets[0].name, name, version_ / 10000, version / 10000));
  }
  if (settings_.durability == Durability::kNone || store_->AskOne("SHOW fsync", address) == "on") {
    return;
  }
  throw Error(Error::kUsage,
              fmt::format("postgres cannot honour --durability {}: {} has fsync = off; give "
                          "--durability none",
                          DurabilityName(settings_.durability),
                          store_->addresses() > 1 ? "the server at " + name : "the server"));
}

FoundSchema PostgresEngine::FindSchema() {
  const std::string marker = fmt::format("{}.{}", schema_, kSchemaMarkerTable);
  FoundSchema found;
  found.is_there =
      !store_->AskOne(fmt::format("SELECT 1 FROM pg_namespace WHERE nspname = '{}'", schema_))
           .empty();
  if (found.is_there && !store_->AskOne(fmt::format("SELECT to_regclass('{}')", marker)).empty()) {
    const auto rows = store_->Ask("SELECT id, host, directory FROM " + marker);
    found.marker.emplace();
    if (!rows.empty()) *found.marker = {rows[0][0], rows[0][1], rows[0][2]};
  }
  return found;
}

// Takes an advisory lock of the server for the store's own connection to the address. An advisory
// lock has a number, so the number is a hash of `name`.
bool PostgresEngine::TryLock(const std::string& name, size_t address) {
  return store_->AskOne(fmt::format("SELECT pg_try_advisory_lock({})", HashOf(version_, name)),
                        address) == "t";
}

void PostgresEngine::OpenSchema() {
  const auto try_lock = [this] { return TryLock(SchemaLockName(schema_), 0); };
  if (owner_.Take([this] { return FindSchema(); }, try_lock)) return MakeSchema();
  if (server_ != nullptr) {
    sees_buffers_ =
        !store_->AskOne(fmt::format("SELECT to_regclass('{}.pg_buffercache')", schema_)).empty();
  }
}

void PostgresEngine::MakeSchema() {
  const std::string id = fmt::format("{:016x}", RandomId());
  store_->Ask(fmt::format("DROP SCHEMA IF EXISTS {} CASCADE", schema_));
  // One statement makes the schema and its marker, so that a schema of testbed is never without its
  // marker. The quotation marks around the names contain the id, which nobody can guess, so no name
  // can end its quotation.
  store_->Ask(
      fmt::format("BEGIN; CREATE SCHEMA {0}; CREATE TABLE {0}.{1} (id text, host text, "
                  "directory text); INSERT INTO {0}.{1} VALUES ('{2}', $t{2}${3}$t{2}$, "
                  "$t{2}${4}$t{2}$); COMMIT",
                  schema_, kSchemaMarkerTable, id, HostName(), dir_));
  if (server_ != nullptr) {
    try {
      store_->Ask(fmt::format("CREATE EXTENSION pg_buffercache SCHEMA {}", schema_));
      sees_buffers_ = true;
    } catch (const Error&) {
      // The extension is in a package of its own. Without it, the engine reports the size of the
      // cache instead of the bytes in use.
    }
  }
  Checkpoint();
  owner_.WriteRecord(id);
}

void PostgresEngine::Checkpoint() {
  if (may_checkpoint_) {
    try {
      store_->AtEach([this](size_t address) { store_->Ask("CHECKPOINT", address); });
      return;
    } catch (const Error& error) {
      if (server_ != nullptr || error.kind() != Error::kUsage) throw;
      may_checkpoint_ = false;  // EffectiveSettings reports this
    }
  }
  // A user who may take no checkpoint can make the commits durable all the same.
  if (lazy_ == nullptr) return;
  store_->AtEach([this](size_t address) {
    if (lazy_connections_[address] == nullptr) return;
    store_->Ask(fmt::format("BEGIN; SET LOCAL synchronous_commit = on; {}; COMMIT", kLogSomething),
                address);
  });
}

void PostgresEngine::Settle() {
  for (const std::string& table : store_->TableNames()) store_->Ask("VACUUM (ANALYZE) " + table);
  AwaitAddresses(store_.get(), Addresses(), Error::kRun, kPatienceAtRest);
  Checkpoint();
}

std::vector<std::pair<std::string, std::string>> PostgresEngine::EffectiveSettings() const {
  std::vector<std::pair<std::string, std::string>> all = {
      {"durability", DurabilityName(settings_.durability)},
      {"lazy_interval_ms", std::to_string(settings_.lazy_interval_ms)},
      {"server", server_ != nullptr ? "private" : "given by connect"},
      {"schema", schema_},
      {"checkpoints", may_checkpoint_ ? "by testbed" : "not allowed to this user"}};
  if (server_ != nullptr) {
    all.emplace_back("programs", settings_.programs);
    all.emplace_back("checkpoint_log_bytes", std::to_string(settings_.checkpoint_log_bytes));
  } else {
    all.emplace_back("addresses", JoinAddresses(Addresses()));
    all.emplace_back("lost_address", settings_.goes_on ? "next" : "end");
    all.emplace_back("charged", HowCharged(store_.get(), Addresses()));
  }
  std::string names =
      "'block_size', 'data_checksums', 'wal_segment_size', 'fsync', 'synchronous_commit', "
      "'wal_sync_method', 'wal_buffers', 'wal_compression', 'bgwriter_delay', "
      "'bgwriter_lru_maxpages', 'bgwriter_flush_after', 'checkpoint_flush_after', "
      "'backend_flush_after', 'effective_io_concurrency', 'io_method', 'autovacuum_naptime', "
      "'autovacuum_max_workers', 'enable_seqscan', 'enable_bitmapscan', 'enable_sort', "
      "'plan_cache_mode', 'max_parallel_workers_per_gather', 'default_transaction_isolation'";
  // A private server has these settings from its configuration. Another server has values of its
  // own.
  for (const char* name :
       {"shared_buffers", "effective_cache_size", "work_mem", "maintenance_work_mem",
        "max_wal_size", "min_wal_size", "checkpoint_timeout", "checkpoint_completion_target",
        "full_page_writes", "autovacuum", "wal_level", "wal_writer_delay", "wal_writer_flush_after",
        "random_page_cost", "deadlock_timeout", "max_connections", "jit", "huge_pages"}) {
    names += fmt::format(", '{}'", name);
  }
  for (const std::string& option : settings_.server) {
    names += fmt::format(", '{}'", option.substr(0, option.find('=')));
  }
  // A few names have capital letters there, such as DateStyle.
  for (SqlConnection::Row& row :
       store_->Ask("SELECT name, current_setting(name) FROM pg_settings WHERE lower(name) IN (" +
                   names + ")")) {
    all.emplace_back(std::move(row[0]), std::move(row[1]));
  }
  all.emplace_back("version", store_->AskOne("SHOW server_version"));
  return all;
}

EngineCounters PostgresEngine::CountersOf(size_t address) const {
  EngineCounters c;
  const auto ask = [&](const std::string& sql) { return store_->Ask(sql, address); };
  if (const std::string flush = FlushOfStatistics(version_); !flush.empty()) ask(flush);
  // Where track_counts is off, the server counts no blocks and tells 0.
  const auto database =
      ask("SELECT blks_read, blks_hit, xact_commit, xact_rollback, temp_bytes, deadlocks FROM "
          "pg_stat_database WHERE datname = current_database() AND "
          "current_setting('track_counts') = 'on'");
  if (!database.empty()) {
    const SqlConnection::Row& row = database[0];
    c.block_reads = Number(row[0]);
    c.block_hits = Number(row[1]);
    c.block_requests = *c.block_reads + *c.block_hits;
    c.block_read_bytes = *c.block_reads * kPageSize;
    const char* const names[] = {"xact_commit", "xact_rollback", "temp_bytes", "deadlocks"};
    for (size_t i = 0; i < 4; ++i) c.more.emplace_back(names[i], Number(row[i + 2]));
  }
  const auto writes = ask(WriteStatistics(version_));
  if (!writes.empty()) {
    c.blocks_written = Number(writes[0][0]) + Number(writes[0][1]) + Number(writes[0][2]);
    c.block_write_bytes = *c.blocks_written * kPageSize;
    const char* const names[] = {"buffers_checkpoint", "buffers_clean", "buffers_backend",
                                 "checkpoints"};
    for (size_t i = 0; i < 4; ++i) c.more.emplace_back(names[i], Number(writes[0][i]));
  }
  if (const std::string log = LogStatistics(version_); !log.empty()) {
    for (const SqlConnection::Row& row : ask(log)) {
      c.log_payload_bytes = Number(row[0]);
      c.more.emplace_back("wal_records", Number(row[1]));
      c.more.emplace_back("wal_full_page_images", Number(row[2]));
      if (row.size() > 3) c.more.emplace_back("wal_syncs", Number(row[3]));
    }
  }
  c.cache_bytes = Number(
      sees_buffers_
          ? store_->AskOne(fmt::format("SELECT count(relfilenode) * {} FROM {}.pg_buffercache",
                                       kPageSize, schema_))
          : store_->AskOne(
                fmt::format(
                    "SELECT setting::bigint * {} FROM pg_settings WHERE name = 'shared_buffers'",
                    kPageSize),
                address));
  return c;
}

DiskSize PostgresEngine::SizeOnDisk() const {
  if (server_ != nullptr) {
    return DiskSizeOf(dir_, [](const std::string& path) {
      return path.starts_with("cluster/pg_wal/") || path.starts_with("cluster/pg_xlog/");
    });
  }
  DiskSize size;
  size.data_bytes = Number(store_->AskOne(
      fmt::format("SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
                  "JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = '{}' AND relkind "
                  "= 'r'",
                  schema_)));
  return size;
}

}  // namespace
}  // namespace postgres

EngineInfo PostgresEngineInfo() {
  EngineInfo info;
  info.name = "postgres";
  info.summary =
      "PostgreSQL through its client library, on a server of the run's own or a given one";
  info.version = "by the server";
  info.capabilities = postgres::PostgresCapabilities();
  info.files = postgres::EngineFiles();
  info.recognises = [](const std::string& dir) {
    return IsFileThere(dir + "/" + SchemaRecordName("postgres"));
  };
  info.check_options = postgres::CheckSettings;
  info.check_programs = [](const EngineOptions& o) { (void)postgres::MakeSettings(o); };
  info.read_code = [](const EngineOptions& o) {
    (void)postgres::LoadLibpq();
    const std::string programs = postgres::MakeSettings(o).programs;
    if (!programs.empty()) ReadProgramFile(programs + "/postgres");
  };
  info.open = [](const std::string& dir, const EngineOptions& options) -> std::unique_ptr<Engine> {
    return std::make_unique<postgres::PostgresEngine>(dir, postgres::MakeSettings(options));
  };
  info.variants = "server";
  info.servers = [] {
    std::vector<ServerChoice> all;
    for (const postgres::Release& release : postgres::Releases()) {
      const std::string dir = postgres::ProgramsOf(release);
      all.push_back({"postgres@" + release.name, release.from, "PostgreSQL " + release.name,
                     postgres::HasPrograms(dir) ? dir + "/postgres" : "",
                     postgres::FetchCommand(release)});
    }
    return all;
  };
  return info;
}

}  // namespace testbed
