#include "engines/mysql/connection.h"

#include <errmsg.h>
#include <fmt/format.h>
#include <mysqld_error.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

namespace testbed::mysql {
namespace {

constexpr size_t kFirstBuffer = 1024;
constexpr unsigned long kOldestVersion = 100300;  // invisible columns
constexpr unsigned kTlsRequired = 3159;           // ER_SECURE_TRANSPORT_REQUIRED

bool Says(const std::string& message, const char* words) {
  return message.find(words) != std::string::npos;
}

}  // namespace

// A prepared statement, or one without parameters and rows, which is sent as text.
class MyConnection::Statement {
 public:
  Statement(MyConnection* connection, std::string sql, size_t parameters, size_t columns)
      : connection_(*connection),
        client_(connection->client_),
        sql_(std::move(sql)),
        parameters_(parameters),
        results_(columns),
        parameter_binds_(parameters),
        result_binds_(columns) {
    if (parameters == 0 && columns == 0) return;
    handle_ = client_.mysql_stmt_init(connection_.handle_);
    if (handle_ == nullptr) throw Error(Error::kRun, "mysql: no memory for a statement");
    if (client_.mysql_stmt_prepare(handle_, sql_.data(), sql_.size()) != 0) {
      const unsigned code = client_.mysql_stmt_errno(handle_);
      const std::string message = client_.mysql_stmt_error(handle_);
      client_.mysql_stmt_close(handle_);
      handle_ = nullptr;
      connection_.Fail(code, message, sql_);
    }
    for (std::vector<Buffer>* buffers : {&parameters_, &results_}) {
      for (Buffer& buffer : *buffers) buffer.bytes.resize(kFirstBuffer);
    }
    for (MYSQL_BIND& bind : parameter_binds_) std::memset(&bind, 0, sizeof bind);
    for (MYSQL_BIND& bind : result_binds_) std::memset(&bind, 0, sizeof bind);
  }
  ~Statement() {
    EndResult();
    if (handle_ != nullptr) client_.mysql_stmt_close(handle_);
  }

  void Execute(std::span<const SqlParameter> parameters) {
    if (handle_ == nullptr) {
      connection_.Run(sql_);
      return;
    }
    for (size_t i = 0; i < parameters.size(); ++i) Bind(i, parameters[i]);
    if (parameters_moved_ && !parameter_binds_.empty()) {
      if (client_.mysql_stmt_bind_param(handle_, parameter_binds_.data()) != 0) Fail("binding");
      parameters_moved_ = false;
    }
    if (client_.mysql_stmt_execute(handle_) != 0) Fail("executing");
    has_result_ = !results_.empty();
    if (has_result_ && results_moved_) BindResults();
  }

  bool Fetch() {
    if (!has_result_) return false;
    const int code = client_.mysql_stmt_fetch(handle_);
    if (code == MYSQL_NO_DATA) {
      EndResult();
      return false;
    }
    if (code != 0 && code != MYSQL_DATA_TRUNCATED) Fail("fetching");
    for (size_t i = 0; i < results_.size(); ++i) FetchLong(i);
    if (results_moved_) BindResults();
    return true;
  }
  std::string_view column(size_t i) const { return {results_[i].bytes.data(), results_[i].length}; }

  // Frees a result that was not fetched to its end.
  void EndResult() {
    if (!std::exchange(has_result_, false)) return;
    client_.mysql_stmt_free_result(handle_);
  }

 private:
  struct Buffer {
    std::string bytes;
    unsigned long length = 0;
    uint64_t number = 0;
  };

  [[noreturn]] void Fail(const char* doing) {
    const unsigned code = client_.mysql_stmt_errno(handle_);
    const std::string message = client_.mysql_stmt_error(handle_);
    EndResult();
    connection_.Fail(code, message, std::string(doing) + " " + sql_);
  }

  void Bind(size_t i, const SqlParameter& parameter) {
    Buffer& buffer = parameters_[i];
    MYSQL_BIND& bind = parameter_binds_[i];
    if (parameter.number) {
      buffer.number = *parameter.number;
      bind.buffer_type = MYSQL_TYPE_LONGLONG;
      bind.is_unsigned = 1;
      bind.buffer = &buffer.number;
      return;
    }
    const std::string_view bytes = parameter.bytes;
    if (bytes.size() > buffer.bytes.size()) {
      buffer.bytes.resize(bytes.size() * 2);
      parameters_moved_ = true;
    }
    if (!bytes.empty()) std::memcpy(buffer.bytes.data(), bytes.data(), bytes.size());
    buffer.length = bytes.size();
    bind.buffer_type = MYSQL_TYPE_BLOB;
    bind.buffer = buffer.bytes.data();
    bind.buffer_length = buffer.bytes.size();
    bind.length = &buffer.length;
  }

  void BindResults() {
    for (size_t i = 0; i < results_.size(); ++i) {
      result_binds_[i].buffer_type = MYSQL_TYPE_BLOB;
      result_binds_[i].buffer = results_[i].bytes.data();
      result_binds_[i].buffer_length = results_[i].bytes.size();
      result_binds_[i].length = &results_[i].length;
    }
    if (client_.mysql_stmt_bind_result(handle_, result_binds_.data()) != 0) Fail("binding");
    results_moved_ = false;
  }

  // Fetches a column again that was longer than its buffer.
  void FetchLong(size_t i) {
    Buffer& buffer = results_[i];
    if (buffer.length <= buffer.bytes.size()) return;
    buffer.bytes.resize(buffer.length + buffer.length / 4);
    results_moved_ = true;
    MYSQL_BIND bind;
    std::memset(&bind, 0, sizeof bind);
    bind.buffer_type = MYSQL_TYPE_BLOB;
    bind.buffer = buffer.bytes.data();
    bind.buffer_length = buffer.bytes.size();
    bind.length = &buffer.length;
    if (client_.mysql_stmt_fetch_column(handle_, &bind, static_cast<unsigned>(i), 0) != 0) {
      Fail("fetching");
    }
  }

  MyConnection& connection_;
  const Client& client_;
  const std::string sql_;
  MYSQL_STMT* handle_ = nullptr;  // null: sent as text
  std::vector<Buffer> parameters_, results_;
  std::vector<MYSQL_BIND> parameter_binds_, result_binds_;
  // *_moved_: the buffers have moved since the library was last given their addresses.
  bool parameters_moved_ = true, results_moved_ = true, has_result_ = false;
};

MyConnection::MyConnection(const ConnectOptions& options)
    : client_(LoadClient()), options_(options) {
  handle_ = client_.mysql_init(nullptr);
  if (handle_ == nullptr) throw Error(Error::kRun, "mysql: no memory for a connection");
  try {
    Connect();
    server_thread_ = FindServerThread();
  } catch (...) {
    client_.mysql_close(handle_);
    throw;
  }
}

MyConnection::~MyConnection() {
  // The library waits forever when a statement is closed while another has rows to come.
  if (current_ != nullptr) current_->EndResult();
  statements_.clear();
  client_.mysql_close(handle_);
}

void MyConnection::Connect() {
  const unsigned patience = 20;  // seconds
  client_.mysql_options(handle_, MYSQL_OPT_CONNECT_TIMEOUT, &patience);
  client_.mysql_options(handle_, MYSQL_SET_CHARSET_NAME, "binary");
  if (!options_.private_server) client_.mysql_options(handle_, MYSQL_READ_DEFAULT_GROUP, "client");
  const my_bool on = 1;
  if (options_.tls) client_.mysql_options(handle_, MYSQL_OPT_SSL_ENFORCE, &on);
  const auto given = [](const std::string& text) { return text.empty() ? nullptr : text.c_str(); };
  const char* const password = options_.private_server ? nullptr : std::getenv("MYSQL_PWD");
  if (client_.mysql_real_connect(handle_, given(options_.host), given(options_.user), password,
                                 given(options_.database), options_.port, given(options_.socket),
                                 0) == nullptr) {
    const unsigned code = client_.mysql_errno(handle_);
    const char* how = "";
    if (code == ER_ACCESS_DENIED_ERROR || code == ER_ACCESS_DENIED_NO_PASSWORD_ERROR) {
      how = "; the password is taken from MYSQL_PWD or ~/.my.cnf";
    } else if (code == kTlsRequired) {
      how = "; add ?tls=on to the URL";
    }
    throw Error(Error::kUsage, fmt::format("mysql cannot connect to {}: {} ({}){}", options_.shown,
                                           client_.mysql_error(handle_), code, how));
  }
  if (const unsigned long version = client_.mysql_get_server_version(handle_);
      version < kOldestVersion) {
    throw Error(Error::kUsage,
                fmt::format("mysql needs a MariaDB of version 10.3 or later, and {} is {}.{}.{}",
                            options_.shown, version / 10000, version / 100 % 100, version % 100));
  }
  if (!options_.setup.empty()) Run(options_.setup);
}

// The processlist tells the id of the thread that serves the connection, which is of this machine
// when a MariaDB here has such a thread.
int MyConnection::FindServerThread() {
  if (options_.socket.empty()) return 0;
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

void MyConnection::Fail(unsigned code, const std::string& message, const std::string& doing) {
  const std::string sentence = fmt::format("mysql: {}: {} ({})", doing, message, code);
  switch (code) {
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case ER_SERVER_SHUTDOWN:
    case ER_CONNECTION_KILLED: {
      const std::string complaint = options_.complaint ? options_.complaint() : "";
      throw Error(Error::kIo,
                  fmt::format("mysql: the connection to {} is lost: {}", options_.shown,
                              complaint.empty() ? message : complaint),
                  Says(complaint, "No space left") ? ENOSPC : EIO);
    }
    case ER_LOCK_DEADLOCK:
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_CHECKREAD:
      throw SqlConflict(sentence);
    case ER_RECORD_FILE_FULL:
    case ER_DISK_FULL:
      throw Error(Error::kIo, "mysql: " + doing + ": No space left on device: " + message, ENOSPC);
    case ER_NOT_KEYFILE:
    case ER_CRASHED_ON_USAGE:
    case ER_TABLE_CORRUPT:
    case ER_INDEX_CORRUPT:
    case ER_NO_SUCH_TABLE_IN_ENGINE:
    case ER_TABLESPACE_MISSING:
    case ER_TABLESPACE_DISCARDED:
    case ER_NOT_FORM_FILE:
      throw Error(Error::kCorruption, sentence);
    case ER_DBACCESS_DENIED_ERROR:
    case ER_TABLEACCESS_DENIED_ERROR:
    case ER_SPECIFIC_ACCESS_DENIED_ERROR:
    case ER_UNKNOWN_SYSTEM_VARIABLE:
      throw Error(Error::kUsage, sentence);
    default:
      break;
  }
  if (Says(message, "No space left")) throw Error(Error::kIo, sentence, ENOSPC);
  if (Says(message, "orrupt") || Says(message, "crashed") || Says(message, "ecrypt") ||
      Says(message, "ablespace is missing")) {
    throw Error(Error::kCorruption, sentence);
  }
  throw Error(Error::kRun, sentence);
}

std::vector<SqlConnection::Row> MyConnection::Run(const std::string& sql) {
  if (Statement* const last = std::exchange(current_, nullptr)) last->EndResult();
  if (client_.mysql_real_query(handle_, sql.data(), sql.size()) != 0) {
    Fail(client_.mysql_errno(handle_), client_.mysql_error(handle_), sql);
  }
  std::vector<Row> rows;
  MYSQL_RES* const result = client_.mysql_store_result(handle_);
  if (result == nullptr) return rows;
  const unsigned columns = client_.mysql_num_fields(result);
  while (MYSQL_ROW fields = client_.mysql_fetch_row(result)) {
    const unsigned long* const lengths = client_.mysql_fetch_lengths(result);
    Row& row = rows.emplace_back(columns);
    for (unsigned i = 0; i < columns; ++i) {
      if (fields[i] != nullptr) row[i].assign(fields[i], lengths[i]);
    }
  }
  client_.mysql_free_result(result);
  return rows;
}

SqlStatement MyConnection::Prepare(const std::string& sql, size_t parameters, size_t columns) {
  if (Statement* const last = std::exchange(current_, nullptr)) last->EndResult();
  statements_.push_back(std::make_unique<Statement>(this, sql, parameters, columns));
  return static_cast<SqlStatement>(statements_.size() - 1);
}

void MyConnection::Execute(SqlStatement statement, std::span<const SqlParameter> parameters) {
  if (Statement* const last = std::exchange(current_, nullptr)) last->EndResult();
  statements_[statement]->Execute(parameters);
  current_ = statements_[statement].get();
}

bool MyConnection::NextRow() { return current_ != nullptr && current_->Fetch(); }

std::string_view MyConnection::Column(size_t column) const { return current_->column(column); }

}  // namespace testbed::mysql
