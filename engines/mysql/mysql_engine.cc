#include "engines/mysql/mysql_engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "device/account/ledger.h"
#include "device/account/served_thread.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "device/machine/host.h"
#include "device/machine/resident_code.h"
#include "device/os/dir_lock.h"
#include "device/os/mutex.h"
#include "device/os/random_id.h"
#include "device/os/signal_guard.h"
#include "engines/lazy_sync.h"
#include "engines/mysql/connection.h"
#include "engines/mysql/dialect.h"
#include "engines/mysql/given_server.h"
#include "engines/mysql/library.h"
#include "engines/mysql/myrocks.h"
#include "engines/mysql/old_server.h"
#include "engines/mysql/server.h"
#include "engines/mysql/settings.h"
#include "engines/mysql/unfinished_table.h"
#include "engines/mysql/versions.h"
#include "engines/sql/addresses.h"
#include "engines/sql/mariadb_files.h"
#include "engines/sql/mariadb_pages.h"
#include "engines/sql/mariadb_settings.h"
#include "engines/sql/ownership.h"
#include "engines/sql/session.h"
#include "engines/sql/store.h"

namespace testbed {
namespace mysql {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr char kComment[] = "testbed";  // comment of a database, which MariaDB has from 10.5 on

class MysqlEngine : public Engine {
 public:
  MysqlEngine(const std::string& dir, const Settings& settings);
  ~MysqlEngine() override { lazy_.reset(); }

  std::string name() const override { return "mysql"; }
  TableId OpenTable(const std::string& table) override;
  bool KeepsIndexes() const override { return !IsRocksdb() && version_ >= kInvisibleColumns; }
  TableId OpenIndex(const std::string& index, TableId table,
                    const std::vector<IndexPart>& parts) override {
    if (!KeepsIndexes()) return Engine::OpenIndex(index, table, parts);
    return store_->OpenIndex(index, table, parts);
  }
  std::unique_ptr<Session> NewSession() override {
    AwaitOtherNodes();
    return std::make_unique<SqlSession>(store_.get());
  }
  std::unique_ptr<Session> NewClientSession(int client) override {
    return std::make_unique<SqlSession>(store_.get(), "",
                                        AddressOfClient(client, store_->addresses()));
  }
  void Flush() override { WriteAll(); }
  void Checkpoint() override { WriteAll(); }
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
  ConnectOptions Target(size_t address) const;
  std::vector<std::string> Addresses() const;
  void AwaitOtherNodes();
  void OpenSchema();
  FoundSchema FindSchema();
  bool TryLock(const std::string& name, size_t address);
  void MakeSchema();
  bool IsTableThere(const std::string& table);
  void WriteAll();
  mariadb::PageState Pages() const;
  void WriteDirtyPages();
  void CheckpointGivenServer(size_t address);
  std::string Checkpoints() const;
  mariadb::PurgeState Purge(size_t address) const;
  void SyncLazily();
  EngineCounters CountersOf(size_t address) const;
  std::map<std::string, std::string> Variables(size_t address) const;
  bool IsRocksdb() const { return settings_.storage == Storage::kRocksdb; }
  // Returns the numbers of the server's status. Innodb_NAME and Rocksdb_NAME have the name NAME,
  // and Com_NAME has com_NAME.
  std::map<std::string, uint64_t> Status(size_t address) const;

  const std::string dir_;
  const Settings settings_;
  const std::string schema_;
  const SchemaOwner owner_;
  DirLock lock_;
  std::unique_ptr<PrivateServer> server_;  // null when the run has not started the server
  std::unique_ptr<SqlStore> store_;        // declared after server_, so that it ends before it
  std::unique_ptr<SqlConnection> lazy_connection_;
  std::unique_ptr<ServedThread> lazy_served_;
  std::unique_ptr<LazySync> lazy_;
  Version version_ = kNewest;  // version of the server
  bool has_checkpoint_now_ = true, may_checkpoint_ = true;
  bool tables_in_steps_ = false;        // a kill may leave a half-made table
  bool galera_ = false;                 // the first of several addresses is a node of Galera
  std::vector<bool> repeated_servers_;  // indexed by address (FindRepeatedServers)
  mutable Mutex writing_;               // held while the server's variables differ from the run's
  Mutex checkpointing_;
  // These connections take checkpoints, one at each address; null until the first checkpoint there.
  std::vector<std::unique_ptr<MyConnection>> checkpoint_connections_ GUARDED_BY(checkpointing_);
  Mutex making_;
  std::set<std::string> opened_ GUARDED_BY(making_);  // used while tables are made in steps
};

MysqlEngine::MysqlEngine(const std::string& dir, const Settings& settings)
    : dir_(fs::absolute(dir)),
      settings_(settings),
      schema_(SchemaOfDirectory(dir_, settings.schema, !settings.is_private)),
      owner_{"mysql",         "database",       schema_,          dir_,
             settings.create, settings.replace, settings.guest_of} {
  lock_ = owner_.TakeDirectory();
  if (settings_.is_private) {
    server_ = std::make_unique<PrivateServer>(dir_, settings_, !owner_.HasRecord());
  }
  // InnoDB cannot recover a table whose first page was never written, so a checkpoint follows its
  // creation. Before 10.3 the server writes and syncs that page when it makes the table.
  const std::function<void()> made =
      server_ != nullptr && !IsRocksdb() && settings_.version >= kInvisibleColumns
          ? [this] { WriteDirtyPages(); }
          : std::function<void()>();
  store_ = std::make_unique<SqlStore>(
      "mysql", std::make_unique<Dialect>(mariadb::kMaxKeySize, settings_.access, settings_.storage),
      schema_,
      SqlLimits{mariadb::kMaxKeySize, settings_.max_value_size, settings_.conflict_wait_ms,
                settings_.goes_on},
      [this](size_t address) { return std::make_unique<MyConnection>(Target(address)); }, made,
      std::max<size_t>(settings_.targets.size(), 1));
  if (const Version told = ParseVersion(store_->AskOne("SELECT VERSION()"))) version_ = told;
  has_checkpoint_now_ =
      !store_->Ask("SHOW GLOBAL VARIABLES LIKE 'innodb_log_checkpoint_now'").empty();
  tables_in_steps_ = server_ != nullptr && !IsRocksdb() && version_ < kAtomicTables;
  for (size_t i = 0; i < settings_.targets.size(); ++i) {
    CheckGivenServer(settings_, settings_.targets[i], Variables(i));
  }
  if (!settings_.server_options.empty()) {
    mariadb::CheckServerOptions("mysql", settings_.server, settings_.server_options, Variables(0));
  }
  galera_ = store_->addresses() > 1 &&
            !store_->Ask("SHOW GLOBAL VARIABLES WHERE Variable_name = 'wsrep_on' AND Value = 'ON'")
                 .empty();
  OpenSchema();
  AwaitAddresses(store_.get(), Addresses(), Error::kUsage, kPatienceAtOpening);
  repeated_servers_ = FindRepeatedServers(
      store_.get(),
      [this](const std::string& name, size_t address) { return TryLock(name, address); });
  if (tables_in_steps_) {
    unfinished_table::Repair(dir_, schema_, [this](const std::string& sql) { store_->Ask(sql); });
  }
  if (server_ != nullptr) server_->Keep();
  if (server_ == nullptr || settings_.durability != Durability::kLazy) return;
  lazy_connection_ = store_->Connect();
  lazy_served_ = std::make_unique<ServedThread>(lazy_connection_->server_thread());
  lazy_ = std::make_unique<LazySync>(
      milliseconds(std::max(1u, settings_.lazy_interval_ms)), [this] { return store_->commits(); },
      [this] { SyncLazily(); });
}

TableId MysqlEngine::OpenTable(const std::string& table) {
  if (!tables_in_steps_) return store_->OpenTable(table);
  const LockGuard lock(making_);
  const bool makes = !opened_.contains(table) && !IsTableThere(table);
  if (makes) {
    unfinished_table::Note(dir_, schema_,
                           store_->dialect().Quote(schema_) + "." + store_->dialect().Quote(table));
  }
  const TableId id = store_->OpenTable(table);
  if (makes) unfinished_table::Forget(dir_);
  opened_.insert(table);
  return id;
}

bool MysqlEngine::IsTableThere(const std::string& table) {
  const auto rows = store_->Ask("SHOW TABLES FROM " + store_->dialect().Quote(schema_));
  return std::any_of(rows.begin(), rows.end(), [&](const SqlConnection::Row& row) {
    return !row.empty() && row[0] == table;
  });
}

ConnectOptions MysqlEngine::Target(size_t address) const {
  ConnectOptions options = server_ != nullptr ? server_->connect() : settings_.targets[address];
  options.batches = settings_.access == Access::kBatched;
  options.as_text = options.batches || settings_.access == Access::kSelect;
  // A server ends idle sessions, by default after eight hours. One session holds the schema's lock,
  // another syncs lazy commits.
  options.setup = fmt::format(
      "SET SESSION tx_isolation = 'READ-COMMITTED', sql_mode = 'STRICT_ALL_TABLES', wait_timeout = "
      "31536000, {}",
      mariadb::kCommitsOfSession);
  return options;
}

// Returns the names of the addresses of a server that runs already.
std::vector<std::string> MysqlEngine::Addresses() const {
  std::vector<std::string> names;
  for (const ConnectOptions& target : settings_.targets) names.push_back(target.address);
  return names;
}

// Waits until the first of several nodes has applied what clients have committed at the other
// nodes. So a session there, which may check the rows, sees these commits.
void MysqlEngine::AwaitOtherNodes() {
  if (!galera_) return;
  store_->Ask("SET SESSION wsrep_sync_wait = 1");
  store_->Ask(fmt::format("SELECT COUNT(*) FROM `{}`.{}", schema_, kSchemaMarkerTable));
  store_->Ask("SET SESSION wsrep_sync_wait = 0");
}

FoundSchema MysqlEngine::FindSchema() {
  const std::string marker = fmt::format("`{}`.{}", schema_, kSchemaMarkerTable);
  FoundSchema found;
  const auto schemas =
      store_->Ask(fmt::format("SELECT schema_name /*M!100500 , schema_comment */ FROM "
                              "information_schema.schemata WHERE schema_name = '{}'",
                              schema_));
  found.is_there = !schemas.empty();
  if (!store_
           ->AskOne(
               fmt::format("SELECT 1 FROM information_schema.tables WHERE table_schema = '{}' AND "
                           "table_name = '{}'",
                           schema_, kSchemaMarkerTable))
           .empty()) {
    const auto rows = store_->Ask("SELECT id, host, directory FROM " + marker);
    found.marker.emplace();
    if (!rows.empty()) *found.marker = {rows[0][0], rows[0][1], rows[0][2]};
  } else if (found.is_there && schemas[0].size() > 1 && schemas[0][1] == kComment &&
             store_
                 ->AskOne(fmt::format(
                     "SELECT 1 FROM information_schema.tables WHERE table_schema = '{}' LIMIT 1",
                     schema_))
                 .empty()) {
    found.marker.emplace();  // a run was killed before it made the marker's table
  }
  return found;
}

// Takes the server's lock `name` for the store's own connection to the address. Returns whether the
// lock was free.
bool MysqlEngine::TryLock(const std::string& name, size_t address) {
  return store_->AskOne(fmt::format("SELECT GET_LOCK('{}', 0)", name), address) == "1";
}

void MysqlEngine::OpenSchema() {
  const auto try_lock = [this] { return TryLock(SchemaLockName(schema_), 0); };
  if (owner_.Take([this] { return FindSchema(); }, try_lock)) MakeSchema();
}

void MysqlEngine::MakeSchema() {
  const std::string id = fmt::format("{:016x}", RandomId());
  const auto hex = [](const std::string& text) {
    std::string digits = "x'";
    for (const char c : text) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return digits + "'";
  };
  store_->Ask(fmt::format("DROP DATABASE IF EXISTS `{}`", schema_));
  // One statement makes the database and marks it as testbed's, before it has a table.
  store_->Ask(fmt::format("CREATE DATABASE `{}` /*M!100500 COMMENT '{}' */", schema_, kComment));
  store_->Ask(
      fmt::format("CREATE TABLE `{}`.{} (id VARBINARY(64), host VARBINARY(256), directory "
                  "VARBINARY(4096)) ENGINE={}",
                  schema_, kSchemaMarkerTable, StorageName(settings_.storage)));
  store_->Ask(fmt::format("INSERT INTO `{}`.{} VALUES ('{}', {}, {})", schema_, kSchemaMarkerTable,
                          id, hex(HostName()), hex(dir_)));
  WriteAll();
  owner_.WriteRecord(id);
}

void MysqlEngine::WriteAll() {
  if (IsRocksdb()) {
    store_->Ask("SET GLOBAL rocksdb_force_flush_memtable_now = 1");
    return;
  }
  if (server_ != nullptr) return WriteDirtyPages();
  if (may_checkpoint_) {
    store_->AtEach([this](size_t address) { CheckpointGivenServer(address); });
  }
  if (may_checkpoint_ || settings_.durability != Durability::kLazy) return;
  AwaitLogSync(milliseconds(settings_.lazy_interval_ms));
}

mariadb::PageState MysqlEngine::Pages() const {
  mariadb::PageState pages = mariadb::PageStateOf(Status(0));
  if (!has_checkpoint_now_) {
    old_server::ReadLog([this](const std::string& sql) { return store_->Ask(sql); }, &pages);
  }
  return pages;
}

// WritePages changes the server's variables for a while, so only a private server is asked for it.
void MysqlEngine::WriteDirtyPages() {
  const LockGuard lock(writing_);
  mariadb::PageWriting how{.has_statement = has_checkpoint_now_};
  if (store_->commits() == 0) how.at_rest = milliseconds(0);
  mariadb::WritePages(
      "mysql", [this](const std::string& sql) { return store_->Ask(sql); },
      [this] { return Pages(); }, how);
}

// InnoDB ends the statement when a checkpoint has reached the end of the log. Each client that
// writes moves that end on. KILL does not end the statement before that (buf_flush_sync). So a run
// that has waited long enough closes the connection, and the statement may go on in the server.
void MysqlEngine::CheckpointGivenServer(size_t address) {
  const LockGuard lock(checkpointing_);
  checkpoint_connections_.resize(store_->addresses());
  std::unique_ptr<MyConnection> connection = std::move(checkpoint_connections_[address]);
  if (connection == nullptr) {
    connection =
        store_->Reach(address, [&] { return std::make_unique<MyConnection>(Target(address)); });
  }
  bool ended = false;
  try {
    ended = connection->RunWithin(mariadb::kCheckpointNow,
                                  std::chrono::seconds(settings_.checkpoint_wait_s));
  } catch (const Error& error) {
    if (error.kind() != Error::kUsage) throw;
    may_checkpoint_ = false;  // the server does not allow the statement; Checkpoints() says so
    return;
  }
  if (!ended) {
    if (StopRequested()) throw Stopped("while its server took a checkpoint");
    throw Error(Error::kRun,
                fmt::format("mysql: {} has not ended a checkpoint within {} s, as happens while "
                            "other clients write there without a pause: let them pause, or raise "
                            "--engine-option checkpoint_wait_s",
                            settings_.targets[address].shown, settings_.checkpoint_wait_s));
  }
  checkpoint_connections_[address] = std::move(connection);
}

// Returns in words how checkpoints are taken, for EffectiveSettings.
std::string MysqlEngine::Checkpoints() const {
  if (!may_checkpoint_) {
    return has_checkpoint_now_ ? "not allowed to this user" : "not possible with this version";
  }
  const bool by_statement = has_checkpoint_now_ || IsRocksdb();
  return by_statement ? "by testbed" : "by testbed, through innodb_max_dirty_pages_pct";
}

void MysqlEngine::Settle() {
  if (IsRocksdb()) {
    return myrocks::Settle([this](const std::string& sql) { return store_->AskOne(sql); });
  }
  AwaitAddresses(store_.get(), Addresses(), Error::kRun, kPatienceAtRest);
  // An older server shortens the history only at each 128th batch of its purge, so a part of it
  // stays.
  constexpr milliseconds kOfOlder(1000);
  const milliseconds patience = version_ < kInvisibleColumns ? kOfOlder : mariadb::kPurgePatience;
  store_->AtEach([this, patience](size_t address) {
    mariadb::AwaitPurge([this, address] { return Purge(address); }, patience);
  });
  WriteAll();
}

// Returns a history of length 0 when the server does not tell its length. The user of a given
// server need not have the right to see the status of InnoDB.
mariadb::PurgeState MysqlEngine::Purge(size_t address) const {
  const std::map<std::string, uint64_t> status = Status(address);
  mariadb::PurgeState purge;
  if (const auto it = status.find("pages_read"); it != status.end()) purge.pages_read = it->second;
  if (const auto it = status.find("history_list_length"); it != status.end()) {
    purge.history = it->second;
  } else if (server_ != nullptr) {
    purge.history =
        old_server::HistoryLength([this](const std::string& sql) { return store_->Ask(sql); });
  }
  return purge;
}

// Runs on the thread of lazy_, and makes all commits durable.
void MysqlEngine::SyncLazily() {
  lazy_served_->Follow();
  const IoScope scope(kLogWrite);
  const CallMark mark(FileKind::kLog);
  try {
    lazy_connection_->Run("FLUSH ENGINE LOGS");
    server_->SyncLog();
  } catch (const Error& error) {
    store_->FailCommits(error);
  }
}

std::map<std::string, std::string> MysqlEngine::Variables(size_t address) const {
  std::map<std::string, std::string> variables;
  for (const SqlConnection::Row& row : store_->Ask("SHOW GLOBAL VARIABLES", address)) {
    variables[row[0]] = row[1];
  }
  return variables;
}

std::map<std::string, uint64_t> MysqlEngine::Status(size_t address) const {
  std::map<std::string, uint64_t> status;
  const std::string prefix = IsRocksdb() ? "Rocksdb_" : "Innodb_";
  const std::string sql = fmt::format(
      "SHOW GLOBAL STATUS WHERE Variable_name LIKE '{}%' OR Variable_name IN ('Com_select', "
      "'Com_ha_read', 'Com_stmt_execute')",
      prefix);
  for (const SqlConnection::Row& row : store_->Ask(sql, address)) {
    const std::string &name = row[0], &value = row[1];
    if (value.empty() || value.find_first_not_of("0123456789") != std::string::npos) continue;
    status[name.starts_with("Com") ? "com" + name.substr(3) : name.substr(prefix.size())] =
        std::stoull(value);
  }
  return status;
}

std::vector<std::pair<std::string, std::string>> MysqlEngine::EffectiveSettings() const {
  std::vector<std::pair<std::string, std::string>> all = {
      {"access", AccessName(settings_.access)},
      {"storage", StorageName(settings_.storage)},
      {"durability", DurabilityName(settings_.durability)},
      {"lazy_interval_ms", std::to_string(settings_.lazy_interval_ms)},
      {"server", server_ != nullptr ? "private" : "given by connect"},
      {"schema", schema_},
      {"checkpoints", Checkpoints()}};
  if (server_ != nullptr) {
    all.emplace_back("program", settings_.program);
  } else {
    all.emplace_back("addresses", JoinAddresses(Addresses()));
    all.emplace_back("lost_address", settings_.goes_on ? "next" : "end");
    all.emplace_back("charged", HowCharged(store_.get(), Addresses()));
  }
  std::map<std::string, std::string> variables;
  {
    const LockGuard lock(writing_);
    variables = Variables(0);
  }
  for (auto& variable : mariadb::ToldVariables(variables, IsRocksdb() ? "rocksdb_" : "innodb_",
                                               settings_.server, settings_.server_options)) {
    all.push_back(std::move(variable));
  }
  return all;
}

EngineCounters MysqlEngine::CountersOf(size_t address) const {
  std::map<std::string, uint64_t> status = Status(address);
  if (IsRocksdb()) {
    EngineCounters c = myrocks::Counters(status);
    const std::string held = store_->AskOne(
        "SELECT value FROM information_schema.rocksdb_dbstats WHERE stat_type = "
        "'DB_BLOCK_CACHE_USAGE'");
    c.cache_bytes = std::strtoull(held.c_str(), nullptr, 10);
    return c;
  }
  EngineCounters c = mariadb::BlockCounters(&status, settings_.page_size);
  mariadb::AddStatus(status,
                     {"dblwr_pages_written", "dblwr_writes", "log_writes", "log_write_requests",
                      "log_waits", "data_reads", "data_read", "data_writes", "data_written",
                      "data_fsyncs", "buffer_pool_read_ahead", "buffer_pool_pages_flushed",
                      "buffer_pool_wait_free", "deadlocks", "row_lock_waits",
                      "buffer_pool_pages_split", "com_select", "com_ha_read", "com_stmt_execute"},
                     &c);
  return c;
}

DiskSize MysqlEngine::SizeOnDisk() const {
  if (server_ != nullptr) {
    const std::string log = fmt::format("cluster/{}.", mariadb::kBinaryLog);
    const std::string rocksdb = fmt::format("cluster/{}/", myrocks::kDirectory);
    return DiskSizeOf(dir_, [&log, &rocksdb](const std::string& path) {
      return path.starts_with("cluster/ib_logfile") || path.starts_with(log) ||
             (path.starts_with(rocksdb) && path.ends_with(".log"));
    });
  }
  // The server tells the sizes that its statistics of the tables had when they were last computed,
  // which need not have been after the load. LOCAL keeps the statement from the other nodes. With
  // another value of use_stat_tables it might read all rows.
  store_->Ask("SET SESSION use_stat_tables = 'NEVER'");
  for (const std::string& table : store_->TableNames()) {
    store_->Ask("ANALYZE LOCAL TABLE " + table);
  }
  DiskSize size;
  const std::string bytes = store_->AskOne(
      fmt::format("SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE "
                  "table_schema = '{}'",
                  schema_));
  size.data_bytes = bytes.empty() ? 0 : std::strtoull(bytes.c_str(), nullptr, 10);
  return size;
}

std::vector<std::string> Files() {
  std::vector<std::string> files = {SchemaRecordName("mysql"), SchemaRecordName("mysql") + ".new",
                                    "server.log", unfinished_table::kFile,
                                    std::string(unfinished_table::kFile) + ".new"};
  for (const char* file :
       {"ibdata#", "ibtmp#", "ib_logfile#", "ib_buffer_pool", "undo#", "aria_log_control",
        "aria_log.#", "ddl_recovery.log", "ddl_recovery-backup.log", "multi-master.info", "tc.log",
        "mysqld.sock", "server.pid", "tmp/\\#sql*", "testbed/db.opt", "testbed/*.frm",
        "testbed/*.ibd"}) {
    files.push_back(std::string("cluster/") + file);
  }
  // A server of 11.4 or later has an index file (idx) for each file of the binary log.
  for (const char* end : {"#", "#.idx", "index", "state", "\\~rec\\~"}) {
    files.push_back(fmt::format("cluster/{}.{}", mariadb::kBinaryLog, end));
  }
  for (const std::string& file : myrocks::Files()) files.push_back("cluster/" + file);
  return files;
}

// Returns the files of all schemas, as a schema need not have testbed's own name.
std::vector<std::string> TableFiles(const std::string& dir) {
  std::vector<std::string> files;
  for (const std::string& file : mariadb::SchemaFiles(dir + "/cluster")) {
    files.push_back("cluster/" + file);
  }
  return files;
}

}  // namespace
}  // namespace mysql

EngineInfo MysqlEngineInfo() {
  EngineInfo info;
  info.name = "mysql";
  info.summary = "MariaDB through its client library, on a server of the run's own or a given one";
  info.version = "by the server";
  info.capabilities = mysql::MysqlCapabilities();
  info.files = mysql::Files();
  info.table_files = mysql::TableFiles;
  info.recognises = [](const std::string& dir) {
    return IsFileThere(dir + "/" + SchemaRecordName("mysql"));
  };
  info.check_options = mysql::CheckSettings;
  info.check_programs = [](const EngineOptions& o) { (void)mysql::MakeSettings(o); };
  info.read_code = [](const EngineOptions& o) {
    (void)mysql::LoadClient();
    const mysql::Settings settings = mysql::MakeSettings(o);
    ReadProgramFile(settings.program);
    mysql::myrocks::ReadCode(settings.server);
  };
  info.open = [](const std::string& dir, const EngineOptions& options) -> std::unique_ptr<Engine> {
    return std::make_unique<mysql::MysqlEngine>(dir, mysql::MakeSettings(options));
  };
  info.variants = "server";
  info.access_options = {"access"};
  info.servers = [] {
    std::vector<ServerChoice> all;
    for (const mysql::OldServer& server : mysql::OldServers()) {
      const std::string program = mysql::ProgramOf(server);
      const bool is_there = ::access(program.c_str(), X_OK) == 0;
      all.push_back({server.name, server.from, server.innodb, is_there ? program : "",
                     mysql::FetchCommand(server)});
    }
    return all;
  };
  return info;
}

}  // namespace testbed
