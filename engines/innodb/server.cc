#include "engines/innodb/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/file.h"
#include "device/os/interrupted.h"
#include "device/os/thread.h"
#include "engines/innodb/pool_resize.h"
#include "engines/innodb/process_state.h"
#include "engines/sql/dialect.h"
#include "engines/sql/mariadb_files.h"
#include "engines/sql/mariadb_pages.h"
#include "engines/sql/mariadb_settings.h"

namespace testbed::innodb {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr size_t kLongestName = 64;

// A thread holds process_mutex while it starts or ends a server, which changes the process
// (process_state.h). Of two servers at once, each would restore changes of the other.
Mutex process_mutex;

mariadb::PurgeState PurgeOf(std::map<std::string, uint64_t> status) {
  return {.history = status["history_list_length"], .pages_read = status["pages_read"]};
}

std::string SystemFile(const std::string& dir) { return dir + "/ibdata1"; }

void CheckName(const std::string& name) {
  if (!name.empty() && name.size() <= kLongestName && name.back() != ' ' &&
      name.find_first_of(std::string_view("`\0", 2)) == std::string::npos) {
    return;
  }
  throw Error(
      Error::kUsage,
      fmt::format("innodb: a table's name has 1 to {} bytes, no `, and no space at its end: '{}'",
                  kLongestName, name));
}

}  // namespace

// A Running owns a library, its server, and the arguments that the library uses until the end.
class Server::Running {
 public:
  Running(const Settings& settings, const std::string& dir) : library_(Library::Load()) {
    std::string temporary = dir + "/" + mariadb::kTemporary;
    if (temporary.find(':') != std::string::npos) {
      // The server takes a colon for the border between two directories.
      temporary_fd_ = ::open(temporary.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
      if (temporary_fd_ < 0) throw Error::Io("open", temporary, errno);
      temporary = fmt::format("/proc/self/fd/{}", temporary_fd_);
    }
    arguments_ = ServerArguments(settings, dir, temporary);
    for (std::string& argument : arguments_) pointers_.push_back(argument.data());
    pointers_.push_back(nullptr);
  }
  const Library& library() const { return *library_; }

  // Starts the server. Returns whether the server runs. Sets *said to its complaints.
  bool Start(std::string* said) {
    static char* groups[] = {nullptr};
    LockGuard alone(process_mutex);
    ProcessState state;
    StderrCapture capture;
    const bool runs = (*library_)->mysql_server_init(static_cast<int>(arguments_.size()),
                                                     pointers_.data(), groups) == 0;
    *said = capture.End();
    if (!runs && temporary_fd_ >= 0) ::close(temporary_fd_);  // no End follows
    LockGuard lock(mutex_);
    return running_ = runs;
  }
  void End() {
    {
      LockGuard lock(mutex_);
      if (!running_) return;
      running_ = false;
    }
    LockGuard alone(process_mutex);
    ProcessState state;
    StderrCapture capture;
    (*library_)->mysql_server_end();
    if (temporary_fd_ >= 0) ::close(temporary_fd_);
  }
  void Enter() {
    if ((*library_)->mysql_thread_init() != 0) {
      throw Error::NoMemory("for a thread of innodb");
    }
  }
  // Frees what the library keeps for the calling thread, unless the server has ended before it.
  void Leave() {
    LockGuard lock(mutex_);
    if (running_) (*library_)->mysql_thread_end();
  }

 private:
  const std::unique_ptr<Library> library_;
  int temporary_fd_ = -1;  // descriptor of the temporary directory, if the arguments need it
  std::vector<std::string> arguments_;
  std::vector<char*> pointers_;
  Mutex mutex_;
  bool running_ GUARDED_BY(mutex_) = false;
};

// The ThreadPass of a thread lists the servers to whose libraries the thread is known. A server
// that is closed after the thread_local objects are destroyed gets a new ThreadPass.
class Server::ThreadPass {
 public:
  static ThreadPass& Mine() {
    return *OfThread([] { return std::make_unique<ThreadPass>(); });
  }
  ThreadPass() = default;
  ThreadPass(const ThreadPass&) = delete;
  ThreadPass& operator=(const ThreadPass&) = delete;
  ~ThreadPass() {
    for (const std::shared_ptr<Running>& running : known_) running->Leave();
  }
  bool IsFor(const Running* running) const { return last_ == running; }
  void Enter(const std::shared_ptr<Running>& running) {
    if (std::find(known_.begin(), known_.end(), running) == known_.end()) {
      running->Enter();
      known_.push_back(running);
    }
    last_ = running.get();
  }
  void Leave(const std::shared_ptr<Running>& running) {
    const auto it = std::find(known_.begin(), known_.end(), running);
    if (it == known_.end()) return;
    running->Leave();
    known_.erase(it);
    last_ = nullptr;
  }

 private:
  const Running* last_ = nullptr;
  std::vector<std::shared_ptr<Running>> known_;
};

Server::Server(const std::string& dir, const Settings& settings)
    : dir_(fs::absolute(dir)), settings_(settings) {
  if (::access(dir_.c_str(), W_OK) != 0) throw Error::Io("write to", dir_, errno);
  lock_ = DirLock(dir_, "the database in");
  mariadb::CheckFilesThere(dir_, false);
  const std::optional<uint32_t> page_size = mariadb::PageSizeOf(dir_);
  if (page_size && *page_size != settings_.page_size) {
    throw Error(Error::kUsage,
                fmt::format("the database in {} has pages of {} bytes, not of --page-size {}: give "
                            "that size, or load it anew with --fresh",
                            dir_, *page_size, settings_.page_size));
  }
  // NamesIn throws if it cannot read names. If the server does not start, new names are removed.
  const std::vector<std::string> before = NamesIn(dir_);
  const bool is_new = !Recognises(dir_);
  try {
    MakeDirectories(dir_ + "/" + mariadb::kTemporary);
    service_.Run([this] {
      Start();
      Prepare();
    });
    if (!settings_.server_options.empty()) CheckOptions();
  } catch (...) {
    service_.Run([this] { Stop(); });
    if (is_new) RemoveNew(dir_, before);
    throw;
  }
  if (settings_.durability != Durability::kLazy) return;
  lazy_ = std::make_unique<LazySync>(
      milliseconds(std::max(1u, settings_.lazy_interval_ms)),
      [this] { return commits_.load(std::memory_order_relaxed); }, [this] { SyncLazily(); });
}

// Throws Error (kUsage) when the server has not taken an option as the user gave it.
void Server::CheckOptions() {
  const std::map<std::string, std::string> variables = Variables();
  try {
    mariadb::CheckServerOptions("innodb", settings_.shared, settings_.server_options, variables);
  } catch (const Error&) {
    EndPurge();  // here, as the constructor ends the server
    throw;
  }
}

// Waits until the purge has nothing to do. While the server (10.11.19) ends, it keeps no table's
// definition: a purge that opens a table then may open it over and over, for ever.
void Server::EndPurge() noexcept {
  try {
    mariadb::AwaitPurge([this] { return PurgeOf(Status()); }, mariadb::kPurgePatience,
                        milliseconds(0));  // 0: pages that the purge reads later belong to no table
  } catch (const std::exception&) {
    // If the server no longer answers, it is ended without waiting for the purge.
  }
}

Server::~Server() {
  lazy_.reset();
  EndPurge();
  ThreadPass::Mine().Leave(running_);
  service_.Run([this] { Stop(); });
}

void Server::Start() {
  // The Running objects are never freed, as the libraries keep pointers into them.
  static Mutex mutex;
  static std::vector<std::shared_ptr<Running>>* const all PT_GUARDED_BY(mutex) =
      new std::vector<std::shared_ptr<Running>>;
  running_ = std::make_shared<Running>(settings_, dir_);
  {
    LockGuard lock(mutex);
    all->push_back(running_);
  }
  std::string said;
  library_ = &running_->library();
  if (running_->Start(&said)) return;
  const std::string complaint = FirstComplaint(said);
  running_.reset();
  const bool full = said.find("No space left") != std::string::npos ||
                    said.find("error number 28") != std::string::npos;
  if (said.find("unknown variable") != std::string::npos ||
      said.find("unknown option") != std::string::npos) {
    throw Error(Error::kUsage, "innodb cannot honour --engine-option server_option: " + complaint);
  }
  throw Error(full ? Error::kIo : Error::kCorruption,
              fmt::format("innodb could not open the database in {}: {}{}", dir_,
                          full ? "No space left on device: " : "", complaint));
}

void Server::Prepare() {
  connection_ = std::make_unique<Connection>(library_);
  if (!Recognises(dir_)) {
    connection_->Run(fmt::format("CREATE DATABASE {}", kSchema));
    // A new database can be recovered only after its first checkpoint.
    connection_->Run(mariadb::kCheckpointNow);
    SyncDirectory(dir_);
  }
  connection_->Run(fmt::format("USE {}", kSchema));
  // The definitions of tables are read here, so that no later operation has to read them.
  for (const Connection::Row& table : connection_->Run("SHOW TABLES")) {
    connection_->Run(fmt::format("SELECT k FROM `{}` LIMIT 0", table[0]));
    TakeKeyBlockSize(connection_->Run(fmt::format("SHOW CREATE TABLE `{}`", table[0]))[0][1],
                     &settings_);
  }
  RegisterFiles();
  log_fd_ = ::open(log_file().c_str(), O_RDONLY | O_CLOEXEC);
  if (log_fd_ < 0) throw Error::Io("open", log_file(), errno);
}

void Server::Stop() {
  connection_.reset();
  lazy_connection_.reset();
  if (log_fd_ >= 0) ::close(log_fd_);
  log_fd_ = -1;
  if (running_ != nullptr) running_->End();
}

void Server::MakeThreadKnown() {
  ThreadPass& pass = ThreadPass::Mine();
  if (!pass.IsFor(running_.get())) [[unlikely]]
    pass.Enter(running_);
}

std::vector<Connection::Row> Server::Ask(const std::string& sql) {
  std::vector<Connection::Row> rows;
  service_.Run([&] { rows = connection_->Run(sql); });
  return rows;
}

std::optional<TableId> Server::Find(const std::string& name) const {
  LockGuard lock(mutex_);
  const auto it = std::find(names_.begin(), names_.end(), name);
  if (it == names_.end()) return {};
  return static_cast<TableId>(it - names_.begin());
}

TableId Server::Add(const std::string& name, TableInfo info) {
  RegisterFiles();
  LockGuard lock(mutex_);
  // Another thread may have added the name since this thread looked for it.
  const auto known = std::find(names_.begin(), names_.end(), name);
  if (known != names_.end()) return static_cast<TableId>(known - names_.begin());
  const auto id = static_cast<TableId>(names_.size());
  if (info.column.empty()) info.table = id;
  names_.push_back(name);
  tables_.push_back(std::move(info));
  return id;
}

TableInfo Server::Table(TableId table) const {
  LockGuard lock(mutex_);
  if (table >= tables_.size()) throw Error(Error::kUsage, "innodb: no such table");
  return tables_[table];
}

TableId Server::OpenTable(const std::string& table) {
  CheckName(table);
  if (const std::optional<TableId> known = Find(table)) return *known;
  const LockGuard lock(making_);
  bool made = false;
  service_.Run([&] {
    connection_->Run(fmt::format(
        "CREATE TABLE IF NOT EXISTS `{}` (k VARBINARY({}) NOT NULL PRIMARY KEY, v LONGBLOB NOT "
        "NULL) ENGINE=InnoDB {}",
        table, mariadb::kMaxKeySize,
        settings_.key_block_size != 0 ? fmt::format("ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={}",
                                                    settings_.key_block_size / 1024)
        : settings_.compressed        ? "ROW_FORMAT=DYNAMIC PAGE_COMPRESSED=1"
                                      : "ROW_FORMAT=DYNAMIC"));
    made = HasMadeTable(connection_->Run("SHOW WARNINGS"));
  });
  if (made) {
    // A table whose first page was never written cannot be recovered. So this takes a checkpoint.
    WriteAll();
    SyncDirectory(dir_ + "/" + kSchema);
  }
  return Add(table, {.name = "`" + table + "`", .shape = std::make_shared<std::shared_mutex>()});
}

TableId Server::OpenIndex(const std::string& index, TableId table,
                          const std::vector<IndexPart>& parts) {
  CheckName(index);
  if (const std::optional<TableId> known = Find(index)) {
    const TableInfo named = Table(*known);
    CheckNamesIndexOf("innodb", index, named.column, named.table, table);
    return *known;
  }
  TableInfo info = Table(table);
  std::string cut;
  for (const IndexPart& part : parts) {
    cut +=
        fmt::format("{}SUBSTR(v, {}, {})", cut.empty() ? "" : ", ", part.offset + 1, part.length);
    info.key_part += part.length;
  }
  if (!info.column.empty() || info.key_part == 0 || info.key_part > 255) {
    throw Error(Error::kUsage,
                "innodb: an index takes a table, not an index, and 1 to 255 bytes of its values");
  }
  info.column = "`" + index + "`";
  info.table = table;
  // An open HANDLER keeps the table from being changed.
  std::unique_lock shape(*info.shape);
  {
    LockGuard lock(sessions_mutex_);
    for (HandlerOwner* session : sessions_) session->CloseHandler(table);
  }
  bool made = false;
  Call([&] {
    Connection connection(library_, kSchema);
    const std::vector<Connection::Row> columns = connection.Run("SHOW COLUMNS FROM " + info.name);
    if (HasIndexColumn("innodb", columns, info.name, index)) return;
    connection.Run(fmt::format(
        "ALTER TABLE {} ADD COLUMN {} BINARY({}) AS (CONCAT({})) VIRTUAL INVISIBLE, ADD INDEX {} "
        "({})",
        info.name, info.column, info.key_part, cut, info.column, info.column));
    made = true;
  });
  if (made) {
    WriteAll();
    SyncDirectory(dir_ + "/" + kSchema);
  }
  return Add(index, std::move(info));
}

void Server::Join(HandlerOwner* session) {
  LockGuard lock(sessions_mutex_);
  sessions_.push_back(session);
}

void Server::Leave(HandlerOwner* session) {
  LockGuard lock(sessions_mutex_);
  std::erase(sessions_, session);
}

bool Server::HasSessions() {
  LockGuard lock(sessions_mutex_);
  return !sessions_.empty();
}

// Registers the files with the ledger, as their IO does not go through device/file/file.h.
void Server::RegisterFiles() const {
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(dir_, error)) {
    struct stat st {};
    if (::stat(entry.path().c_str(), &st) != 0 || !S_ISREG(st.st_mode)) continue;
    const std::string path = entry.path().lexically_relative(dir_);
    Ledger::Get().RegisterFile(st.st_dev, st.st_ino, mariadb::KindOf(path));
  }
}

// Runs on the thread of lazy_, and syncs the log. If InnoDB cannot write its log, it ends the
// process itself. The sync of log_fd_ may still fail, when the device refuses a flush.
void Server::SyncLazily() {
  IoScope scope(kLogWrite);
  CallMark mark(FileKind::kLog);
  MakeThreadKnown();
  if (lazy_connection_ == nullptr) lazy_connection_ = std::make_unique<Connection>(library_);
  lazy_connection_->Run("FLUSH ENGINE LOGS");
  if (Uninterrupted([&] { return ::fdatasync(log_fd_); }) != 0)
    throw Error::Io("sync", log_file(), errno);
}

void Server::WriteAll() {
  const LockGuard lock(changing_);
  mariadb::PageWriting how;
  if (!HasSessions()) how.at_rest = milliseconds(0);
  mariadb::WritePages(
      "innodb", [this](const std::string& sql) { return Ask(sql); },
      [this] { return mariadb::PageStateOf(Status()); }, how);
}

void Server::Settle() {
  mariadb::AwaitPurge([this] { return PurgeOf(Status()); });
  WriteAll();
}

void Server::Resize(uint64_t bytes) {
  bytes = std::max(bytes >> 20 << 20, mariadb::LeastPool(settings_.page_size));
  const LockGuard lock(changing_);
  ResizePool([this](const std::string& sql) { return Ask(sql); }, bytes);
}

std::map<std::string, uint64_t> Server::Status() {
  std::map<std::string, uint64_t> status;
  for (const Connection::Row& row : Ask("SHOW GLOBAL STATUS LIKE 'Innodb%'")) {
    const std::string& value = row[1];
    if (value.empty() || value.find_first_not_of("0123456789") != std::string::npos) continue;
    status[row[0].substr(7)] = std::stoull(value);
  }
  return status;
}

std::map<std::string, std::string> Server::Variables() {
  const LockGuard lock(changing_);
  std::map<std::string, std::string> variables;
  for (const Connection::Row& row : Ask("SHOW GLOBAL VARIABLES")) {
    variables[row[0]] = row[1];
  }
  return variables;
}

// Returns whether `dir` is a data directory of a server and has a schema of testbed's name.
bool Recognises(const std::string& dir) {
  return IsThere(SystemFile(dir)) && IsThere(dir + "/" + kSchema);
}

}  // namespace testbed::innodb
