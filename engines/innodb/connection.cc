#include "engines/innodb/connection.h"

#include <mysqld_error.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace testbed::innodb {
namespace {

constexpr size_t kFirstBuffer = 1024;

// Returns whether a message contains `words`. A message contains the text of the storage engine's
// error: Got error 28 "No space left on device" from storage engine InnoDB.
bool Says(const std::string& message, const char* words) {
  return message.find(words) != std::string::npos;
}

}  // namespace

void FailWith(unsigned code, const std::string& message, const std::string& doing) {
  const std::string sentence =
      "innodb: " + doing + ": " + message + " (" + std::to_string(code) + ")";
  switch (code) {
    case ER_LOCK_DEADLOCK:
      throw Deadlock(sentence);
    case ER_RECORD_FILE_FULL:
    case ER_DISK_FULL:
      throw Error(Error::kIo, "innodb: " + doing + ": No space left on device: " + message, ENOSPC);
    case ER_NOT_KEYFILE:
    case ER_CRASHED_ON_USAGE:
    case ER_TABLE_CORRUPT:
    case ER_INDEX_CORRUPT:
    case ER_NO_SUCH_TABLE_IN_ENGINE:
    case ER_TABLESPACE_MISSING:
    case ER_TABLESPACE_DISCARDED:
    case ER_NOT_FORM_FILE:
    case ER_ERROR_DURING_COMMIT:
      throw Error(Error::kCorruption, sentence);
    default:
      break;
  }
  if (Says(message, "No space left")) throw Error(Error::kIo, sentence, ENOSPC);
  if (Says(message, "orrupt") || Says(message, "crashed") || Says(message, "ecrypt")) {
    throw Error(Error::kCorruption, sentence);
  }
  throw Error(Error::kRun, sentence);
}

Connection::Connection(const Library* library, const char* database)
    : library_(library), handle_((*library)->mysql_init(nullptr)) {
  if (handle_ == nullptr) throw Error(Error::kRun, "innodb: no memory for a connection");
  (*library_)->mysql_options(handle_, MYSQL_OPT_USE_EMBEDDED_CONNECTION, nullptr);
  if ((*library_)->mysql_real_connect(handle_, nullptr, nullptr, nullptr, database, 0, nullptr,
                                      0) == nullptr) {
    const unsigned code = (*library_)->mysql_errno(handle_);
    const std::string message = (*library_)->mysql_error(handle_);
    (*library_)->mysql_close(handle_);
    FailWith(code, message, "connecting");
  }
}

Connection::~Connection() { (*library_)->mysql_close(handle_); }

std::vector<Connection::Row> Connection::Run(const std::string& sql) {
  const Library& library = *library_;
  if (library->mysql_real_query(handle_, sql.data(), sql.size()) != 0) {
    FailWith(library->mysql_errno(handle_), library->mysql_error(handle_), sql);
  }
  std::vector<Row> rows;
  MYSQL_RES* const result = library->mysql_store_result(handle_);
  if (result == nullptr) return rows;
  const unsigned columns = library->mysql_num_fields(result);
  while (MYSQL_ROW fields = library->mysql_fetch_row(result)) {
    const unsigned long* const lengths = library->mysql_fetch_lengths(result);
    Row& row = rows.emplace_back(columns);
    for (unsigned i = 0; i < columns; ++i) {
      if (fields[i] != nullptr) row[i].assign(fields[i], lengths[i]);
    }
  }
  library->mysql_free_result(result);
  return rows;
}

void Connection::Commit() {
  if ((*library_)->mysql_commit(handle_) == 0) return;
  FailWith((*library_)->mysql_errno(handle_), (*library_)->mysql_error(handle_), "committing");
}

void Connection::Rollback() {
  if ((*library_)->mysql_rollback(handle_) == 0) return;
  FailWith((*library_)->mysql_errno(handle_), (*library_)->mysql_error(handle_), "rolling back");
}

Statement::Statement(Connection* connection, std::string sql, size_t parameters, size_t columns)
    : connection_(connection),
      library_(connection->library()),
      sql_(std::move(sql)),
      handle_(library_->mysql_stmt_init(connection->handle())),
      parameters_(parameters),
      results_(columns),
      parameter_binds_(parameters),
      result_binds_(columns) {
  if (handle_ == nullptr) throw Error(Error::kRun, "innodb: no memory for a statement");
  if (library_->mysql_stmt_prepare(handle_, sql_.data(), sql_.size()) != 0) {
    const unsigned code = library_->mysql_stmt_errno(handle_);
    const std::string message = library_->mysql_stmt_error(handle_);
    library_->mysql_stmt_close(handle_);
    FailWith(code, message, sql_);
  }
  for (std::vector<Buffer>* buffers : {&parameters_, &results_}) {
    for (Buffer& buffer : *buffers) buffer.bytes.resize(kFirstBuffer);
  }
  for (MYSQL_BIND& bind : parameter_binds_) std::memset(&bind, 0, sizeof bind);
  for (MYSQL_BIND& bind : result_binds_) std::memset(&bind, 0, sizeof bind);
}

Statement::~Statement() {
  EndResult();
  library_->mysql_stmt_close(handle_);
}

void Statement::Fail(const char* doing) {
  const unsigned code = library_->mysql_stmt_errno(handle_);
  const std::string message = library_->mysql_stmt_error(handle_);
  EndResult();
  FailWith(code, message, std::string(doing) + " " + sql_);
}

void Statement::Bind(size_t parameter, std::string_view bytes) {
  Buffer& buffer = parameters_[parameter];
  MYSQL_BIND& bind = parameter_binds_[parameter];
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

void Statement::Bind(size_t parameter, uint64_t number) {
  Buffer& buffer = parameters_[parameter];
  MYSQL_BIND& bind = parameter_binds_[parameter];
  buffer.number = number;
  bind.buffer_type = MYSQL_TYPE_LONGLONG;
  bind.is_unsigned = 1;
  bind.buffer = &buffer.number;
}

void Statement::Execute() {
  EndResult();
  if (parameters_moved_ && !parameter_binds_.empty()) {
    if (library_->mysql_stmt_bind_param(handle_, parameter_binds_.data()) != 0) Fail("binding");
    parameters_moved_ = false;
  }
  if (library_->mysql_stmt_execute(handle_) != 0) Fail("executing");
  has_result_ = !results_.empty();
  // The columns of a HANDLER's result are known only after it was executed.
  if (has_result_ && results_moved_) BindResults();
}

void Statement::BindResults() {
  // A HANDLER also returns the table's invisible columns, after the others.
  const size_t columns = library_->mysql_stmt_field_count(handle_);
  if (columns < results_.size()) throw Error(Error::kRun, "innodb: too few columns: " + sql_);
  while (results_.size() < columns) {
    results_.emplace_back().bytes.resize(kFirstBuffer);
    std::memset(&result_binds_.emplace_back(), 0, sizeof(MYSQL_BIND));
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    result_binds_[i].buffer_type = MYSQL_TYPE_BLOB;
    result_binds_[i].buffer = results_[i].bytes.data();
    result_binds_[i].buffer_length = results_[i].bytes.size();
    result_binds_[i].length = &results_[i].length;
  }
  if (library_->mysql_stmt_bind_result(handle_, result_binds_.data()) != 0) Fail("binding");
  results_moved_ = false;
}

bool Statement::Fetch() {
  const int code = library_->mysql_stmt_fetch(handle_);
  if (code == MYSQL_NO_DATA) {
    EndResult();
    return false;
  }
  if (code != 0 && code != MYSQL_DATA_TRUNCATED) Fail("fetching");
  for (size_t i = 0; i < results_.size(); ++i) {
    Buffer& buffer = results_[i];
    if (buffer.length <= buffer.bytes.size()) continue;
    // The value is longer than the buffer: fetch it again into a larger one.
    buffer.bytes.resize(buffer.length + buffer.length / 4);
    results_moved_ = true;
    MYSQL_BIND bind;
    std::memset(&bind, 0, sizeof bind);
    bind.buffer_type = MYSQL_TYPE_BLOB;
    bind.buffer = buffer.bytes.data();
    bind.buffer_length = buffer.bytes.size();
    bind.length = &buffer.length;
    if (library_->mysql_stmt_fetch_column(handle_, &bind, static_cast<unsigned>(i), 0) != 0) {
      Fail("fetching");
    }
  }
  if (results_moved_) BindResults();
  return true;
}

void Statement::EndResult() {
  if (!has_result_) return;
  has_result_ = false;
  library_->mysql_stmt_free_result(handle_);
}

}  // namespace testbed::innodb
