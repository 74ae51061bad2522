#include "engines/mysql/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "device/account/thread_kinds.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/interrupted.h"
#include "device/os/thread.h"
#include "engines/mysql/myrocks.h"
#include "engines/mysql/old_server.h"
#include "engines/mysql/unfinished_table.h"
#include "engines/sql/mariadb_files.h"

namespace testbed::mysql {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kAnswerPatience(60);  // patience with a server that has its socket
constexpr char kSocket[] = "mysqld.sock";
// A server that waits for space begins its message with this text (wait_for_free_space in
// mysys/errors.c).
constexpr char kWaits[] = "Disk is full writing";

// Returns the kind of a file by its path in the server's directory.
FileKind KindOf(const std::string& path) {
  return path.starts_with(myrocks::kDirectory) ? myrocks::KindOfFile(path) : mariadb::KindOf(path);
}

}  // namespace

PrivateServer::PrivateServer(const std::string& dir, const Settings& settings, bool is_new)
    : ServerHome(dir, is_new, SIGTERM), settings_(settings) {
  (void)LoadClient();  // throws before a server is started
  if (!is_new) {
    if (settings_.version < kAtomicTables) {
      unfinished_table::RemoveBrokenFiles(this->dir(), settings_.schema);
    }
    CheckFiles();
  }
  if (const std::optional<uint32_t> size = settings_.storage == Storage::kRocksdb
                                               ? myrocks::BlockSizeOf(cluster())
                                               : mariadb::PageSizeOf(cluster());
      size && *size != settings_.page_size) {
    throw Error(Error::kUsage,
                fmt::format("the database in {} has pages of {} bytes, not of --page-size {}: give "
                            "that size, or load it anew with --fresh",
                            dir, *size, settings_.page_size));
  }
  MayDiscard();
  try {
    fs::create_directories(cluster() + "/" + mariadb::kTemporary);
    fs::permissions(cluster(), fs::perms::owner_all);
  } catch (const fs::filesystem_error& e) {
    throw Error::Io("create", cluster(), e.code().value());
  }
  HoldCluster();
  Start();
}

PrivateServer::~PrivateServer() = default;

PrivateServer::OpenFiles::~OpenFiles() {
  for (const int fd : fds) ::close(fd);
}

PrivateServer::WaitWatch::~WaitWatch() {
  const uint64_t one = 1;
  if (thread.joinable() && ::write(stop, &one, sizeof one) == sizeof one) thread.join();
  if (stop >= 0) ::close(stop);
}

bool PrivateServer::WaitsForSpace() const {
  if (!settings_.has_binary_log) return false;
  std::ifstream file = Messages();
  for (std::string line; std::getline(file, line);) {
    if (line.find(kWaits) != std::string::npos) return true;
  }
  return false;
}

// SIGKILL is needed, because the server does not heed SIGTERM while it waits.
bool PrivateServer::KillIfItWaits() const {
  if (!WaitsForSpace()) return false;
  ::kill(pid(), SIGKILL);
  return true;
}

void PrivateServer::WatchForWaits() {
  watch_.stop = ::eventfd(0, EFD_CLOEXEC);
  if (watch_.stop < 0) throw Error::Io("watch", log(), errno);
  watch_.thread = StartThread("watching for a full disk", [this] {
    constexpr int kLook = 500;  // ms
    pollfd stop{watch_.stop, POLLIN, 0};
    uintmax_t seen = 0;  // size of the file of messages
    while (::poll(&stop, 1, kLook) <= 0) {
      std::error_code error;
      const uintmax_t size = fs::file_size(log(), error);
      if (std::exchange(seen, size) != size && KillIfItWaits()) return;
    }
  });
}

void PrivateServer::CheckFiles() const {
  // After a server was killed, its binary log tells which prepared transactions are committed. A
  // server without the binary log would not open a database that has prepared transactions.
  if (!settings_.has_binary_log &&
      IsThere(fmt::format("{}/{}.index", cluster(), mariadb::kBinaryLog))) {
    throw Error(Error::kUsage,
                fmt::format("the database in {} has a binary log: give --engine-option binlog=on, "
                            "or load it anew with --fresh",
                            dir()));
  }
  const bool rocksdb = IsThere(cluster() + "/" + std::string(myrocks::kDirectory));
  const bool innodb = !rocksdb && IsThere(cluster() + "/ibdata1");
  if (settings_.storage == Storage::kInnodb ? rocksdb : innodb) {
    throw Error(
        Error::kUsage,
        fmt::format("the database in {} has its tables in {}: give --engine mysql:{}, or "
                    "load it anew with --fresh",
                    dir(), rocksdb ? "MyRocks" : "InnoDB", rocksdb ? "rocksdb" : "mariadb"));
  }
  // The server would create missing files anew, although they may lie on a file system that is not
  // mounted now.
  if (settings_.storage == Storage::kRocksdb) return myrocks::CheckFilesThere(cluster());
  CheckVersion();
  mariadb::CheckFilesThere(cluster(), true, LogFiles());
}

// Throws when another version of the server has made the files. The present version would refuse
// them, or convert them to its own format for good.
void PrivateServer::CheckVersion() const {
  const Version made = mariadb::LogVersionOf(cluster());
  const auto kind = [](Version version) {
    return version < kInnodb57 ? 0 : version < kInvisibleColumns ? 1 : 2;
  };
  if (made == 0 || kind(made) == kind(settings_.version)) return;
  throw Error(Error::kUsage,
              fmt::format("the database in {} is one of MariaDB {}.{}, which this server cannot "
                          "open: give --server {}, or load it anew with --fresh",
                          dir(), made / 10000, made / 100 % 100, ServerFor(made)));
}

void PrivateServer::FailToStart() const {
  std::ifstream file = Messages();
  const std::string said((std::istreambuf_iterator<char>(file)), {});
  const std::string complaint = Complaint();
  // Warnings are not searched, since the warning about an option that may be unknown (loose-) has
  // the same words.
  if (complaint.find("unknown variable") != std::string::npos ||
      complaint.find("unknown option") != std::string::npos) {
    throw Error(Error::kUsage, "mysql cannot honour --engine-option server_option: " + complaint);
  }
  const bool full = SaysFull(said) || WaitsForSpace();
  const bool tells = complaint.find("No space left") != std::string::npos;
  throw Failure(full, Error::kCorruption,
                fmt::format("MariaDB did not open the database in {}: {}{}", dir(),
                            full && !tells ? "No space left on device: " : "", complaint));
}

void PrivateServer::Start() {
  ServerCommand command;
  command.words = {settings_.program, "--no-defaults", "--skip-grant-tables",
                   "--datadir=" + cluster(),
                   // A colon ends the name of a directory for the server. So this is a relative
                   // name, in the server's working directory.
                   std::string("--tmpdir=") + mariadb::kTemporary,
                   std::string("--socket=") + kSocket, "--pid-file=server.pid"};
  if (!settings_.base.empty()) {
    command.words.push_back("--basedir=" + settings_.base);
    command.environment = {"LD_LIBRARY_PATH=" + settings_.base + "/lib"};
  }
  if (::geteuid() == 0) command.words.emplace_back("--user=root");
  command.words.insert(command.words.end(), settings_.server.begin(), settings_.server.end());
  command.directory = cluster();
  command.output = log();
  Launch(command, kSocket);
  while (!HasSocket(kSocket)) WaitForStart();
  // With direct IO, the threads of connections apart, all threads of the server write only data
  // files.
  for (const std::string& name : MysqlCapabilities().thread_names) {
    RegisterThreads(name, FileKind::kData);
  }
  WatchFiles(KindOf);
  AwaitAnswer();
  if (settings_.storage == Storage::kInnodb) OpenLogs();
  if (settings_.has_binary_log) WatchForWaits();
}

int PrivateServer::LogFiles() const {
  return settings_.version < kOneLogFile ? old_server::kLogFiles : 1;
}

void PrivateServer::OpenLogs() {
  for (int i = 0; i < LogFiles(); ++i) {
    const std::string path = LogFile(i);
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw Error::Io("open", path, errno);
    logs_.fds.push_back(fd);
  }
}

// Waits a moment for the server. Throws when the server has ended or waits for space, and when the
// run should end.
void PrivateServer::WaitForStart() {
  if (HasEnded() || KillIfItWaits()) FailToStart();
  WaitAMoment();
}

// Waits until the server lets the run connect. If a server that answers refuses, that is final, and
// the run does not try again.
void PrivateServer::AwaitAnswer() {
  const auto deadline = std::chrono::steady_clock::now() + kAnswerPatience;
  for (;;) {
    try {
      MyConnection probe(connect());
      return;
    } catch (const NoAnswer&) {
      if (std::chrono::steady_clock::now() > deadline) throw;
      WaitForStart();
    }
  }
}

ConnectOptions PrivateServer::connect() const {
  ConnectOptions options;
  options.host = "localhost";
  options.user = "root";
  options.private_server = true;
  options.socket = ShortCluster() + "/" + kSocket;
  options.shown = "the server in " + dir();
  options.complaint = [this] { return LastError(); };
  return options;
}

void PrivateServer::SyncLog() const {
  if (settings_.storage == Storage::kRocksdb) return myrocks::SyncLogs(cluster());
  // The log may have several files, and a commit may lie in any of them.
  for (size_t i = 0; i < logs_.fds.size(); ++i) {
    if (Uninterrupted([&] { return ::fdatasync(logs_.fds[i]); }) != 0) {
      throw Error::Io("sync", LogFile(static_cast<int>(i)), errno);
    }
  }
}

std::string PrivateServer::LastError() const {
  if (WaitsForSpace()) {
    return "No space left on device: the server waited for space to write its binary log, so it "
           "was ended";
  }
  std::ifstream file = Messages();
  std::string first;
  for (std::string line; std::getline(file, line);) {
    if (line.find("error while loading shared libraries") != std::string::npos) return line;
    const size_t at = line.find("[ERROR]");
    if (at == std::string::npos) continue;
    const std::string said = line.substr(std::min(at + 8, line.size()));
    // An older server prints this line at each start without tables of privileges.
    if (said.starts_with("Can't open and lock privilege tables")) continue;
    // InnoDB's complaint comes first, because the server's own complaints follow from it.
    if (said.starts_with("InnoDB: ")) return said.substr(8);
    if (first.empty()) first = said;
  }
  return first;
}

std::string PrivateServer::Complaint() const {
  const std::string said = LastError();
  return said.empty() ? "it did not say why" : said;
}

}  // namespace testbed::mysql
