#include "engines/mysql/connection.h"

#include <errmsg.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mysqld_error.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "device/os/signal_guard.h"
#include "engines/mysql/versions.h"

namespace testbed::mysql {
namespace {

constexpr unsigned kTlsRequired = 3159;  // ER_SECURE_TRANSPORT_REQUIRED
constexpr size_t kMostInBatch = 128, kMostBytesInBatch = 256 << 10;

// Returns the parts of a statement around its parameters. A question mark within quotation marks is
// no parameter.
std::vector<std::string> PartsOf(const std::string& sql) {
  std::vector<std::string> parts(1);
  char quotation = 0;
  for (const char c : sql) {
    if (c == '?' && quotation == 0) {
      parts.emplace_back();
      continue;
    }
    if (quotation == 0 && (c == '`' || c == '\'')) {
      quotation = c;
    } else if (c == quotation) {
      quotation = 0;
    }
    parts.back() += c;
  }
  return parts;
}

// Makes the kernel end the wait for a host that has answered nothing for two minutes, as when the
// network has failed; without this the wait would last for hours. The kernel of a server that works
// on a statement still answers. On a Unix socket this does nothing.
void NoticeALostHost(int socket) {
  constexpr int kOn = 1, kIdle = 30, kInterval = 10, kPatience = 120000;  // seconds, then ms
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kIdle, sizeof kIdle);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kInterval, sizeof kInterval);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kPatience, sizeof kPatience);
}

}  // namespace

MyConnection::MyConnection(const ConnectOptions& options)
    : MariadbHandle(LoadClient(), "mysql"), client_(LoadClient()), options_(options) {
  Connect();
  NoticeALostHost(static_cast<int>(client_.mysql_get_socket(handle())));
  server_thread_ = FindServerThread();
  const bool tls = client_.mysql_get_ssl_cipher(handle()) != nullptr;
  wire_.emplace(static_cast<int>(client_.mysql_get_socket(handle())),
                tls ? client_.counts_tls_wire : client_.counts_wire);
}

// The result is ended first. Otherwise the library waits forever when a statement is closed while
// another statement has rows to come.
MyConnection::~MyConnection() { EndResult(); }

void MyConnection::EndResult() {
  if (MariadbStatement* const last = std::exchange(current_, nullptr)) last->EndResult();
  FreeRows();
  // The library refuses a statement while answers to other statements are to come.
  while (unread_ != 0 && client_.mysql_next_result(handle()) == 0) {
    --unread_;
    result_ = client_.mysql_store_result(handle());
    FreeRows();
  }
  unread_ = 0;
}

void MyConnection::FreeRows() {
  if (MYSQL_RES* const last = std::exchange(result_, nullptr)) client_.mysql_free_result(last);
}

void MyConnection::Connect() {
  const unsigned patience = 20;  // seconds
  client_.mysql_options(handle(), MYSQL_OPT_CONNECT_TIMEOUT, &patience);
  client_.mysql_options(handle(), MYSQL_SET_CHARSET_NAME, "binary");
  if (!options_.private_server) client_.mysql_options(handle(), MYSQL_READ_DEFAULT_GROUP, "client");
  const my_bool on = 1;
  if (options_.tls) client_.mysql_options(handle(), MYSQL_OPT_SSL_ENFORCE, &on);
  const auto given = [](const std::string& text) { return text.empty() ? nullptr : text.c_str(); };
  const char* const password = options_.private_server ? nullptr : std::getenv("MYSQL_PWD");
  if (client_.mysql_real_connect(handle(), given(options_.host), given(options_.user), password,
                                 given(options_.database), options_.port, given(options_.socket),
                                 options_.batches ? CLIENT_MULTI_STATEMENTS : 0) == nullptr) {
    const unsigned code = client_.mysql_errno(handle());
    const char* how = "";
    if (code == ER_ACCESS_DENIED_ERROR || code == ER_ACCESS_DENIED_NO_PASSWORD_ERROR) {
      // MariaDB refuses a connection without TLS in the same words, if it requires TLS.
      how = options_.tls ? "; the password is taken from MYSQL_PWD or ~/.my.cnf"
                         : "; the password is taken from MYSQL_PWD or ~/.my.cnf, and a server that "
                           "requires TLS says the same: add ?tls=on to the URL";
    } else if (code == kTlsRequired) {
      how = "; add ?tls=on to the URL";
    } else if (code == ER_CON_COUNT_ERROR || code == ER_TOO_MANY_USER_CONNECTIONS) {
      how = kMoreConnections;
    }
    const std::string sentence =
        fmt::format("mysql cannot connect to {}: {} ({}){}", options_.shown,
                    client_.mysql_error(handle()), code, how);
    if (code == CR_CONNECTION_ERROR || code == CR_CONN_HOST_ERROR || code == CR_SERVER_LOST ||
        code == CR_SERVER_GONE_ERROR) {
      throw NoAnswer(sentence, options_.private_server);
    }
    throw Error(Error::kUsage, sentence);
  }
  // ~/.my.cnf may make the library connect again by itself. The new session would lack the settings
  // of the run and the lock of the schema, and another thread of the server would serve it.
  const my_bool off = 0;
  client_.mysql_options(handle(), MYSQL_OPT_RECONNECT, &off);
  // The library connects without TLS when the server has none.
  if (options_.tls && client_.mysql_get_ssl_cipher(handle()) == nullptr) {
    throw Error(Error::kUsage,
                fmt::format("mysql: ?tls=on of the URL cannot be honoured: {} speaks no TLS",
                            options_.shown));
  }
  if (const unsigned long version = client_.mysql_get_server_version(handle());
      version < kOldestVersion) {
    throw Error(Error::kUsage,
                fmt::format("mysql needs a MariaDB of version 10.1 or later, and {} is {}",
                            options_.shown, VersionName(static_cast<Version>(version))));
  }
  if (!options_.setup.empty()) Run(options_.setup);
}

// Returns the id of the server's thread that serves the connection, as the server's process list
// has it. Returns 0 when the thread is not on this machine, that is, when no thread of a MariaDB
// has that id here. The list has 0 where a pool of threads serves connections.
int MyConnection::FindServerThread() {
  // The URL, ~/.my.cnf or the library may name a socket. A host other than this one overrules it,
  // so the socket's own address family decides.
  sockaddr address{};
  socklen_t size = sizeof address;
  if (::getsockname(static_cast<int>(client_.mysql_get_socket(handle())), &address, &size) != 0 ||
      address.sa_family != AF_UNIX) {
    return 0;
  }
  const auto rows =
      Run("SELECT TID FROM information_schema.processlist WHERE ID = CONNECTION_ID()");
  if (rows.empty()) return 0;
  const int tid = std::atoi(rows[0][0].c_str());
  std::ifstream file(fmt::format("/proc/{}/comm", tid));
  std::string name;
  return std::getline(file, name) && (name.starts_with("mariadbd") || name.starts_with("mysqld") ||
                                      name.starts_with("one_connection"))
             ? tid
             : 0;
}

void MyConnection::FailAsEngine(unsigned code, const std::string& message,
                                const std::string& doing) const {
  const std::string sentence = fmt::format("mysql: {}: {} ({})", doing, message, code);
  switch (code) {
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case CR_SSL_CONNECTION_ERROR:  // an encrypted connection has ended
    case ER_SERVER_SHUTDOWN:
    case ER_CONNECTION_KILLED: {
      const std::string complaint = options_.complaint ? options_.complaint() : "";
      throw LostConnection(fmt::format("mysql: the connection to {} is lost: {}", options_.shown,
                                       complaint.empty() ? message : complaint),
                           Says(complaint, "No space left") ? ENOSPC : EIO);
    }
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_CHECKREAD:
      throw SqlConflict(sentence);
    case ER_DBACCESS_DENIED_ERROR:
    case ER_TABLEACCESS_DENIED_ERROR:
    case ER_SPECIFIC_ACCESS_DENIED_ERROR:
    case ER_UNKNOWN_SYSTEM_VARIABLE:
      throw Error(Error::kUsage, sentence);
    default:
      break;
  }
}

std::vector<SqlConnection::Row> MyConnection::Run(const std::string& sql) {
  Await();
  EndResult();
  return Query(sql);
}

bool MyConnection::RunWithin(const std::string& sql, std::chrono::milliseconds patience) {
  EndResult();
  if (client_.mysql_send_query(handle(), sql.data(), sql.size()) != 0) FailLast(sql);
  constexpr int kPoll = 100;  // ms
  const auto deadline = std::chrono::steady_clock::now() + patience;
  pollfd answer{static_cast<int>(client_.mysql_get_socket(handle())), POLLIN, 0};
  for (;;) {
    const int ready = ::poll(&answer, 1, kPoll);
    if (ready > 0) break;
    if (ready < 0 && errno != EINTR) throw Error::Io("poll", options_.shown, errno);
    if (StopRequested() || std::chrono::steady_clock::now() >= deadline) return false;
  }
  if (client_.mysql_read_query_result(handle()) != 0) FailLast(sql);
  return true;
}

SqlStatement MyConnection::Prepare(const std::string& sql, size_t parameters, size_t columns) {
  EndResult();
  Statement& statement = statements_.emplace_back();
  if (options_.as_text || (parameters == 0 && columns == 0)) {
    statement.parts = PartsOf(sql);
  } else {
    try {
      statement.prepared.emplace(static_cast<MariadbHandle*>(this), sql, parameters, columns);
    } catch (...) {
      statements_.pop_back();
      throw;
    }
  }
  return static_cast<SqlStatement>(statements_.size() - 1);
}

void MyConnection::Execute(SqlStatement statement, std::span<const SqlParameter> parameters) {
  Await();
  EndResult();
  Statement& wanted = statements_[statement];
  if (!wanted.prepared) return ExecuteText(wanted, parameters);
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].number) {
      wanted.prepared->Bind(i, *parameters[i].number);
    } else {
      wanted.prepared->Bind(i, parameters[i].bytes);
    }
  }
  wanted.prepared->Execute();
  current_ = &*wanted.prepared;
}

void MyConnection::AppendText(const Statement& statement, std::span<const SqlParameter> parameters,
                              std::string* text) const {
  *text += statement.parts[0];
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].number) {
      *text += std::to_string(*parameters[i].number);
    } else {
      const std::string_view bytes = parameters[i].bytes;
      *text += '\'';
      const size_t begin = text->size();
      text->resize(begin + bytes.size() * 2 + 1);  // the most bytes that the library may need
      text->resize(begin + client_.mysql_real_escape_string(handle(), text->data() + begin,
                                                            bytes.data(), bytes.size()));
      *text += '\'';
    }
    *text += statement.parts[i + 1];
  }
}

void MyConnection::ExecuteText(const Statement& statement,
                               std::span<const SqlParameter> parameters) {
  text_.clear();
  AppendText(statement, parameters, &text_);
  const auto sql = [&] { return fmt::format("{}", fmt::join(statement.parts, "?")); };
  if (client_.mysql_real_query(handle(), text_.data(), text_.size()) != 0) FailLast(sql());
  result_ = StoreResult(sql);
}

std::string MyConnection::SqlOf(SqlStatement statement) const {
  return fmt::format("{}", fmt::join(statements_[statement].parts, "?"));
}

void MyConnection::Enqueue(SqlStatement statement, std::span<const SqlParameter> parameters) {
  if (!batched_.empty()) batch_ += ';';
  AppendText(statements_[statement], parameters, &batch_);
  batched_.push_back(statement);
}

void MyConnection::Send(SqlStatement statement, std::span<const SqlParameter> parameters) {
  if (!options_.batches) return Execute(statement, parameters);
  Enqueue(statement, parameters);
  if (batched_.size() >= kMostInBatch || batch_.size() >= kMostBytesInBatch) Await();
}

void MyConnection::Await() {
  if (batched_.empty()) return;
  SendBatch();
  while (unread_ != 0) NextAnswer();
}

void MyConnection::SendBatch() {
  EndResult();
  text_.swap(batch_);
  batch_.clear();
  sent_.swap(batched_);
  batched_.clear();
  at_ = 0;
  const auto sql = [this] { return SqlOf(sent_[0]); };
  if (client_.mysql_real_query(handle(), text_.data(), text_.size()) != 0) FailLast(sql());
  unread_ = sent_.size() - 1;
  result_ = StoreResult(sql);
}

void MyConnection::NextAnswer() {
  FreeRows();
  ++at_;
  const auto sql = [this] { return SqlOf(sent_[at_]); };
  const int code = client_.mysql_next_result(handle());
  // When a statement fails, the server executes none of those behind it.
  if (code != 0) unread_ = 0;
  if (code > 0) FailLast(sql());
  if (code < 0) throw Error(Error::kRun, "mysql: the server has not answered " + sql());
  --unread_;
  result_ = StoreResult(sql);
}

bool MyConnection::ExecuteForEach(SqlStatement statement, std::span<const std::string_view> keys) {
  if (!options_.batches) return false;
  Await();
  size_t bytes = 0;
  for (const std::string_view key : keys) bytes += key.size();
  if (bytes > kMostBytesInBatch) return false;
  for (const std::string_view key : keys) {
    const SqlParameter parameters[] = {{key, {}}};
    Enqueue(statement, parameters);
  }
  SendBatch();
  return true;
}

bool MyConnection::NextRow() {
  if (current_ != nullptr) return current_->Fetch();
  if (result_ == nullptr) return false;
  row_ = client_.mysql_fetch_row(result_);
  if (row_ == nullptr) return false;
  lengths_ = client_.mysql_fetch_lengths(result_);
  return true;
}

std::string_view MyConnection::Column(size_t column) const {
  if (current_ != nullptr) return current_->column(column);
  return {row_[column], lengths_[column]};
}

}  // namespace testbed::mysql
