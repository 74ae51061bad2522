#include "engines/postgres/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "device/account/thread_kinds.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/interrupted.h"
#include "engines/postgres/versions.h"
#include "engines/sql/file_watch.h"

namespace testbed::postgres {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kAnswerPatience(60);  // for a server that has made its socket
constexpr char kSocket[] = ".s.PGSQL.5432";

// Returns the name of the user that this process connects as.
std::string NameOfUser() {
  const passwd* const user = ::getpwuid(::geteuid());
  const std::string name = user != nullptr ? user->pw_name : "";
  // The server takes a name that begins with a slash for a regular expression.
  if (name.empty() || name.starts_with('/') || name.find_first_of("\"\n\r") != std::string::npos) {
    throw Error(
        Error::kUsage,
        fmt::format("PostgreSQL admits the user of a run by name, and user {} of this machine "
                    "has none, or none that it can write down",
                    ::geteuid()));
  }
  return name;
}

}  // namespace

FileKind KindOfClusterFile(const std::string& path) {
  if (path.starts_with("pg_wal/") || path.starts_with("pg_xlog/")) return FileKind::kLog;
  if (path.starts_with("base/pgsql_tmp/")) return FileKind::kTemp;
  if (path.starts_with("base/")) return FileKind::kData;
  return FileKind::kMeta;
}

PrivateServer::PrivateServer(const std::string& dir, const Settings& settings, bool is_new)
    : ServerHome(dir, is_new, SIGINT), settings_(settings) {
  (void)LoadLibpq();  // throws before a server is started
  if (::geteuid() == 0) {
    user_ = FindUser({"postgres", "nobody"});
    if (!user_) {
      throw Error(
          Error::kUsage,
          "PostgreSQL does not run as root, and this machine has no user postgres or nobody");
    }
  }
  if (const std::string file = cluster() + "/PG_VERSION"; !is_new && !IsThere(file)) {
    throw Error(Error::kCorruption,
                fmt::format("file {} is missing: put it back, restore the database from a copy, or "
                            "load it anew with --fresh",
                            file));
  }
  if (!is_new) CheckVersion();
  MayDiscard();
  if (is_new) MakeCluster();
  HoldCluster();
  AdmitThisUserAlone();
  Start();
}

// The server would refuse the files, too, but would not name the server that reads them.
void PrivateServer::CheckVersion() const {
  std::ifstream file(cluster() + "/PG_VERSION");
  std::string made;
  std::getline(file, made);
  if (made.empty() || made == MajorName(settings_.version)) return;
  throw Error(Error::kUsage,
              fmt::format("the database in {} is one of PostgreSQL {}, which this server, {}, "
                          "cannot open: give --server postgres@{}, or load it anew with --fresh",
                          dir(), made, VersionName(settings_.version), made));
}

ServerCommand PrivateServer::Command(const std::string& program,
                                     const std::string& directory) const {
  ServerCommand command;
  command.words = {settings_.programs + "/" + program, "-D", kHeldDirectory};
  // Up to version 15, the programs change their directory when they begin, and return to the first
  // one by its path. They may not be allowed to enter a directory on that path.
  command.directory = "/";
  command.held_directory = directory;
  command.output = log();
  command.user = user_;
  // SIGQUIT is an immediate shutdown, after which the server recovers as after a crash. The server
  // ends its own processes.
  command.death_signal = SIGQUIT;
  return command;
}

void PrivateServer::Own(const std::string& directory) const {
  if (::chmod(directory.c_str(), 0700) != 0) throw Error::Io("chmod", directory, errno);
  if (!user_) return;
  const auto own = [this](const std::string& path) {
    if (::lchown(path.c_str(), user_->uid, user_->gid) != 0) throw Error::Io("chown", path, errno);
  };
  // The directory itself changes its owner last. Until then no other user can put a link into it.
  for (const auto& entry : fs::recursive_directory_iterator(directory)) own(entry.path());
  own(directory);
}

// Makes the server admit only this process's user. If that is root, the server itself runs as
// another user, and other programs may run as that user, too. They are not admitted: the kernel
// tells the server which user connects, and these two files, which are written at each start, name
// only this process's user.
void PrivateServer::AdmitThisUserAlone() const {
  WriteInCluster("pg_hba.conf", "local all testbed peer map=testbed\n");
  WriteInCluster("pg_ident.conf", fmt::format("testbed \"{}\" testbed\n", NameOfUser()));
}

// This replaces the file as a whole. The cluster belongs to the server's user, who may have put a
// link in the file's place.
void PrivateServer::WriteInCluster(const std::string& name, const std::string& line) const {
  const std::string path = cluster() + "/" + name;
  if (::unlinkat(cluster_fd(), name.c_str(), 0) != 0 && errno != ENOENT)
    throw Error::Io("remove", path, errno);
  const std::string text = "# testbed writes this file whenever it starts the server.\n" + line;
  const int fd = ::openat(cluster_fd(), name.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) throw Error::Io("create", path, errno);
  const ssize_t n = Uninterrupted([&] { return ::write(fd, text.data(), text.size()); });
  int code = n == static_cast<ssize_t>(text.size()) ? 0 : n < 0 ? errno : ENOSPC;
  if (code == 0 && user_ && ::fchown(fd, user_->uid, user_->gid) != 0) code = errno;
  ::close(fd);
  if (code != 0) throw Error::Io("write", path, code);
}

void PrivateServer::InitDb(const std::string& directory) {
  Own(directory);
  ServerCommand command = Command("initdb", directory);
  command.kill_group = true;  // initdb starts servers through a shell, which must end, too
  for (const std::string& word :
       {std::string("--username=testbed"), std::string("--auth-local=peer"),
        std::string("--auth-host=reject"), std::string("--no-locale"),
        std::string("--encoding=SQL_ASCII"), std::string("-N")}) {  // -N: no sync
    command.words.push_back(word);
  }
  for (std::string& word :
       InitDbArguments(settings_.version, settings_.wal_segment_size, settings_.checksums)) {
    command.words.push_back(std::move(word));
  }
  if (ServerProcess(command).Wait() == 0) return;
  const std::string complaint = Complaint();
  throw Failure(SaysFull(complaint), Error::kRun,
                fmt::format("PostgreSQL's initdb failed in {}: {}", directory, complaint), EIO);
}

void PrivateServer::CopyTemplate(const std::string& templates) {
  const std::string made =
      fmt::format("{}/postgres{}-{}-{}", templates,
                  fs::path(settings_.programs).parent_path().filename().string(),
                  settings_.wal_segment_size >> 20, settings_.checksums ? "checksums" : "plain");
  fs::create_directories(templates);
  {
    const sql::OwnedDescriptor lock(
        ::open((templates + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (lock.fd < 0 || ::flock(lock.fd, LOCK_EX) != 0) throw Error::Io("lock", templates, errno);
    if (!fs::exists(made)) {
      fs::remove_all(made + ".making");
      fs::create_directories(made + ".making");
      InitDb(made + ".making");
      fs::rename(made + ".making", made);
    }
  }
  fs::copy(made, cluster(), fs::copy_options::recursive);
  Own(cluster());
}

void PrivateServer::MakeCluster() {
  std::error_code error;
  fs::create_directories(cluster(), error);
  if (error) throw Error::Io("create", cluster(), error.value());
  if (const char* templates = std::getenv("TESTBED_SERVER_TEMPLATES"))
    return CopyTemplate(templates);
  // syncfs tells of the write-backs that have failed since its descriptor was opened.
  const sql::OwnedDescriptor files(::open(cluster().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (files.fd < 0) throw Error::Io("open", cluster(), errno);
  InitDb(cluster());
  // This one sync replaces that of initdb, which takes a call for each of its thousand files.
  if (::syncfs(files.fd) != 0) throw Error::Io("sync", cluster(), errno);
}

void PrivateServer::LaunchAndWait(const ServerCommand& command) {
  // The server of a killed run ends by itself in a moment. Until then this server cannot start.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (;;) {
    Launch(command, kSocket);
    while (!HasEnded() && !HasSocket(kSocket)) WaitAMoment();
    if (!HasEnded()) return;
    const std::string complaint = Complaint();
    if (complaint.find("postmaster.pid") == std::string::npos ||
        std::chrono::steady_clock::now() > deadline) {
      const bool option = complaint.find("configuration parameter") != std::string::npos ||
                          complaint.find("invalid value for parameter") != std::string::npos;
      throw Failure(!option && SaysFull(complaint), option ? Error::kUsage : Error::kCorruption,
                    fmt::format("PostgreSQL did not start in {}: {}", dir(), complaint));
    }
    WaitAMoment();
  }
}

void PrivateServer::Start() {
  ServerCommand command = Command("postgres", cluster());
  for (const std::string& option : settings_.server) {
    command.words.emplace_back("-c");
    command.words.push_back(option);
  }
  LaunchAndWait(command);
  // The direct IO of the server's processes counts as that of data files.
  for (const std::string& name : PostgresCapabilities().thread_names) {
    RegisterThreads(name, FileKind::kData);
  }
  WatchFiles(KindOfClusterFile);
  AwaitAnswer();
}

// Waits until the server lets the run connect. While the server recovers, it answers that it is
// starting. A refusal after that is final.
void PrivateServer::AwaitAnswer() {
  using Clock = std::chrono::steady_clock;
  auto silent_since = Clock::now();
  for (;;) {
    const PGPing answer = Ping(connect());
    if (answer == PQPING_REJECT) {
      silent_since = Clock::now();
    } else if (answer != PQPING_NO_RESPONSE || Clock::now() - silent_since > kAnswerPatience) {
      break;
    }
    if (HasEnded()) FailToOpen();
    WaitAMoment();
  }
  try {
    PgConnection probe(connect());
  } catch (const Error&) {
    if (HasEnded()) FailToOpen();
    throw;
  }
}

void PrivateServer::FailToOpen() const {
  const std::string complaint = Complaint();
  throw Failure(SaysFull(complaint), Error::kCorruption,
                fmt::format("PostgreSQL did not open the database in {}: {}", dir(), complaint));
}

ConnectOptions PrivateServer::connect() const {
  ConnectOptions options;
  // From the environment (PGHOSTADDR, PGOPTIONS), the library takes what is not given here. Those
  // variables are meant for other servers: an address there would lead to another server.
  options.target = fmt::format(
      "host={} hostaddr='' port=5432 user=testbed dbname=postgres sslmode=disable "
      "gssencmode=disable channel_binding=disable requirepeer='' target_session_attrs=any "
      "options=''",
      ShortCluster());
  options.shown = "the server in " + dir();
  options.setup = SessionSetup(settings_);
  options.complaint = [this] { return LastError(/*or_any=*/false); };
  return options;
}

std::string PrivateServer::LastError(bool or_any) const {
  std::ifstream file = Messages();
  std::string fatal, error, any;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    if (or_any) any = line;
    for (const char* level : {"PANIC:  ", "FATAL:  ", "ERROR:  ", "error: "}) {
      const size_t at = line.find(level);
      if (at == std::string::npos) continue;
      const std::string said = line.substr(at + std::string_view(level).size());
      // A message about the consequence of a failure says less than the message about the failure.
      if (said.starts_with("the database system is") || said.starts_with("terminating")) break;
      (level[0] == 'P' || level[0] == 'F' ? fatal : error) = said;
      break;
    }
  }
  if (!or_any || !fatal.empty()) return fatal;
  return !error.empty() ? error : any;
}

std::string PrivateServer::Complaint() const {
  std::string last = LastError(/*or_any=*/true);
  if (!last.empty()) return last;
  return !user_ ? "it did not say why"
                : fmt::format(
                      "it did not say why; user {} of this machine, as whom it runs, must be "
                      "allowed to execute the programs in {}",
                      user_->uid, settings_.programs);
}

}  // namespace testbed::postgres
