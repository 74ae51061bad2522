// MariadbHandle is a connection, and MariadbStatement a prepared statement. The client library and
// the embedded server have their functions under the same names, so both libraries are loaded at
// run time and called through pointers.
//
// Each function throws Error when the server returns an error (MariadbHandle::Fail). Not
// thread-safe. The functions stand in the header because only the engines that include it have
// mysql.h.
#ifndef TESTBED_ENGINES_SQL_MARIADB_STATEMENT_H_
#define TESTBED_ENGINES_SQL_MARIADB_STATEMENT_H_

#include <mysql.h>
#include <mysqld_error.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/lower_case.h"
#include "engines/sql/connection.h"

namespace testbed {

#define TESTBED_MARIADB_CALLS(call)                                                                \
  call(mysql_init) call(mysql_options) call(mysql_real_connect) call(mysql_close)                  \
      call(mysql_real_query) call(mysql_store_result) call(mysql_free_result)                      \
          call(mysql_fetch_row) call(mysql_fetch_lengths) call(mysql_num_fields) call(mysql_errno) \
              call(mysql_error) call(mysql_stmt_init) call(mysql_stmt_prepare)                     \
                  call(mysql_stmt_bind_param) call(mysql_stmt_bind_result)                         \
                      call(mysql_stmt_execute) call(mysql_stmt_fetch)                              \
                          call(mysql_stmt_fetch_column) call(mysql_stmt_free_result)               \
                              call(mysql_stmt_close) call(mysql_stmt_errno) call(mysql_stmt_error) \
                                  call(mysql_stmt_field_count)

// MariadbCalls are the functions that both libraries have and both engines call.
struct MariadbCalls {
#define TESTBED_DECLARE(name) decltype(&::name) name = nullptr;
  TESTBED_MARIADB_CALLS(TESTBED_DECLARE)
#undef TESTBED_DECLARE
};

class MariadbHandle {
 public:
  // `calls` must outlive the object. `engine` begins the sentences of errors.
  MariadbHandle(const MariadbCalls& calls, std::string engine)
      : calls_(calls), engine_(std::move(engine)), handle_(calls.mysql_init(nullptr)) {
    if (handle_ == nullptr) throw Error::NoMemory("for a connection of " + engine_);
  }
  virtual ~MariadbHandle() { calls_.mysql_close(handle_); }
  MariadbHandle(const MariadbHandle&) = delete;
  MariadbHandle& operator=(const MariadbHandle&) = delete;

  const MariadbCalls& calls() const { return calls_; }
  MYSQL* handle() const { return handle_; }
  const std::string& engine() const { return engine_; }

  // Runs a statement and returns its rows, of which null fields are empty strings.
  std::vector<SqlConnection::Row> Query(const std::string& sql) {
    if (calls_.mysql_real_query(handle_, sql.data(), sql.size()) != 0) FailLast(sql);
    std::vector<SqlConnection::Row> rows;
    MYSQL_RES* const result = StoreResult([&] { return sql; });
    if (result == nullptr) return rows;
    const unsigned columns = calls_.mysql_num_fields(result);
    while (MYSQL_ROW fields = calls_.mysql_fetch_row(result)) {
      const unsigned long* const lengths = calls_.mysql_fetch_lengths(result);
      SqlConnection::Row& row = rows.emplace_back(columns);
      for (unsigned i = 0; i < columns; ++i) {
        if (fields[i] != nullptr) row[i].assign(fields[i], lengths[i]);
      }
    }
    calls_.mysql_free_result(result);
    return rows;
  }

  // Returns the result of the connection's last statement; null when that statement returns no
  // rows. When the connection breaks or memory is short in the middle of the rows, the library
  // returns null, too, and sets an error. Then this throws the error. `doing` returns what failed,
  // for the sentence.
  template <typename Doing>
  MYSQL_RES* StoreResult(const Doing& doing) const {
    MYSQL_RES* const result = calls_.mysql_store_result(handle_);
    if (result == nullptr && calls_.mysql_errno(handle_) != 0) FailLast(doing());
    return result;
  }

  // Throws the Error for a code of the server, or SqlConflict. `doing` names what failed in the
  // sentence: "reading a row".
  [[noreturn]] void Fail(unsigned code, const std::string& message,
                         const std::string& doing) const {
    FailAsEngine(code, message, doing);
    const std::string what = engine_ + ": " + doing + ": ";
    const std::string sentence = what + message + " (" + std::to_string(code) + ")";
    switch (code) {
      case ER_LOCK_DEADLOCK:
        throw SqlConflict(sentence);
      case ER_RECORD_FILE_FULL:
      case ER_DISK_FULL:
        throw Error(Error::kIo, what + "No space left on device: " + message, ENOSPC);
      case ER_NOT_KEYFILE:
      case ER_CRASHED_ON_USAGE:
      case ER_TABLE_CORRUPT:
      case ER_INDEX_CORRUPT:
      case ER_NO_SUCH_TABLE_IN_ENGINE:
      case ER_TABLESPACE_MISSING:
      case ER_TABLESPACE_DISCARDED:
      case ER_NOT_FORM_FILE:
        throw Error(Error::kCorruption, sentence);
      default:
        break;
    }
    // A message contains the text of the storage engine's error: Got error 28 "No space left on
    // device" from storage engine InnoDB.
    if (Says(message, "No space left")) throw Error(Error::kIo, sentence, ENOSPC);
    if (Says(message, "orrupt") || Says(message, "crashed") || Says(message, "ecrypt") ||
        Says(message, "ablespace is missing")) {
      throw Error(Error::kCorruption, sentence);
    }
    throw Error(Error::kRun, sentence);
  }
  // Throws the error of the connection's last call.
  [[noreturn]] void FailLast(const std::string& doing) const {
    Fail(calls_.mysql_errno(handle_), calls_.mysql_error(handle_), doing);
  }

 protected:
  // Throws for those codes that this engine treats in another way than Fail.
  virtual void FailAsEngine(unsigned code, const std::string& message,
                            const std::string& doing) const {}
  static bool Says(const std::string& message, const char* words) {
    return message.find(words) != std::string::npos;
  }

 private:
  const MariadbCalls& calls_;
  const std::string engine_;
  MYSQL* const handle_;
};

// Returns whether a CREATE TABLE IF NOT EXISTS has made the table. `warnings` are the rows of the
// SHOW WARNINGS after it: it may have warned of other things.
inline bool HasMadeTable(const std::vector<SqlConnection::Row>& warnings) {
  constexpr size_t kCode = 1;  // field of a row
  const std::string exists = std::to_string(ER_TABLE_EXISTS_ERROR);
  for (const SqlConnection::Row& warning : warnings) {
    if (warning[kCode] == exists) return false;
  }
  return true;
}

// Returns whether a table, whose name is quoted, has the column of the index `name`. `columns` are
// the rows of SHOW COLUMNS. Throws Error (kUsage) when the table has another column that the server
// would take for that one: one of a row, or of an index whose name has other letters in upper case.
inline bool HasIndexColumn(const std::string& engine,
                           const std::vector<SqlConnection::Row>& columns, const std::string& table,
                           const std::string& name) {
  constexpr size_t kName = 0, kExtra = 5;  // fields of a row
  for (const SqlConnection::Row& column : columns) {
    // The columns of indexes are virtual, and those of rows are not.
    const bool of_index = column[kExtra].find("VIRTUAL") != std::string::npos;
    if (column[kName] == name && of_index) return true;
    if (LowerCase(column[kName]) != LowerCase(name)) continue;
    throw Error(Error::kUsage, engine + " cannot name an index '" + name + "': table " + table +
                                   " has a column " + column[kName] +
                                   ", and the server does not tell upper from lower case; give "
                                   "the index another name");
  }
  return false;
}

class MariadbStatement {
 public:
  // Prepares `sql`, which has `parameters` question marks and returns rows of `columns` columns, 0
  // when it returns no rows. `connection` must outlive the statement.
  MariadbStatement(MariadbHandle* connection, std::string sql, size_t parameters, size_t columns)
      : connection_(*connection),
        calls_(connection->calls()),
        sql_(std::move(sql)),
        handle_(calls_.mysql_stmt_init(connection->handle())),
        parameters_(parameters),
        results_(columns),
        parameter_binds_(parameters),
        result_binds_(columns) {
    if (handle_ == nullptr) {
      throw Error::NoMemory("for a statement of " + connection_.engine());
    }
    if (calls_.mysql_stmt_prepare(handle_, sql_.data(), sql_.size()) != 0) {
      const unsigned code = calls_.mysql_stmt_errno(handle_);
      const std::string message = calls_.mysql_stmt_error(handle_);
      calls_.mysql_stmt_close(handle_);
      connection_.Fail(code, message, sql_);
    }
    for (std::vector<Buffer>* buffers : {&parameters_, &results_}) {
      for (Buffer& buffer : *buffers) buffer.bytes.resize(kFirstBuffer);
    }
    for (MYSQL_BIND& bind : parameter_binds_) std::memset(&bind, 0, sizeof bind);
    for (MYSQL_BIND& bind : result_binds_) std::memset(&bind, 0, sizeof bind);
  }
  ~MariadbStatement() {
    EndResult();
    calls_.mysql_stmt_close(handle_);
  }
  MariadbStatement(const MariadbStatement&) = delete;
  MariadbStatement& operator=(const MariadbStatement&) = delete;

  // These functions set the value of a parameter, counted from 0. The bytes are copied.
  void Bind(size_t parameter, std::string_view bytes) {
    Buffer& buffer = parameters_[parameter];
    if (bytes.size() > buffer.bytes.size()) {
      buffer.bytes.resize(bytes.size() * 2);
      parameters_moved_ = true;
    }
    if (!bytes.empty()) std::memcpy(buffer.bytes.data(), bytes.data(), bytes.size());
    PointTo(&buffer, &parameter_binds_[parameter]);
    buffer.length = bytes.size();
  }
  void Bind(size_t parameter, uint64_t number) {
    Buffer& buffer = parameters_[parameter];
    MYSQL_BIND& bind = parameter_binds_[parameter];
    buffer.number = number;
    bind.buffer_type = MYSQL_TYPE_LONGLONG;
    bind.is_unsigned = 1;
    bind.buffer = &buffer.number;
  }

  void Execute() {
    EndResult();
    if (parameters_moved_ && !parameter_binds_.empty()) {
      if (calls_.mysql_stmt_bind_param(handle_, parameter_binds_.data()) != 0) FailLast("binding");
      parameters_moved_ = false;
    }
    if (calls_.mysql_stmt_execute(handle_) != 0) FailLast("executing");
    has_result_ = !results_.empty();
    // The columns of a HANDLER's result are known only after it was executed.
    if (has_result_ && results_moved_) BindResults();
  }

  // Moves to the next row of the result. Returns false, and frees the result, when there is no
  // further row.
  bool Fetch() {
    if (!has_result_) return false;
    const int code = calls_.mysql_stmt_fetch(handle_);
    if (code == MYSQL_NO_DATA) {
      EndResult();
      return false;
    }
    if (code != 0 && code != MYSQL_DATA_TRUNCATED) FailLast("fetching");
    for (size_t i = 0; i < results_.size(); ++i) FetchLong(i);
    if (results_moved_) BindResults();
    return true;
  }
  // Returns a column of the row. Valid until the next Fetch or Execute.
  std::string_view column(size_t i) const { return {results_[i].bytes.data(), results_[i].length}; }

  // Frees a result whose rows were not all fetched.
  void EndResult() {
    if (std::exchange(has_result_, false)) calls_.mysql_stmt_free_result(handle_);
  }

 private:
  static constexpr size_t kFirstBuffer = 1024;  // in bytes
  struct Buffer {
    std::string bytes;
    unsigned long length = 0;
    uint64_t number = 0;
  };

  static void PointTo(Buffer* buffer, MYSQL_BIND* bind) {
    bind->buffer_type = MYSQL_TYPE_BLOB;
    bind->buffer = buffer->bytes.data();
    bind->buffer_length = buffer->bytes.size();
    bind->length = &buffer->length;
  }

  [[noreturn]] void FailLast(const char* doing) {
    const unsigned code = calls_.mysql_stmt_errno(handle_);
    const std::string message = calls_.mysql_stmt_error(handle_);
    EndResult();
    connection_.Fail(code, message, std::string(doing) + " " + sql_);
  }

  void BindResults() {
    // A HANDLER also returns the table's invisible columns, after the others.
    const size_t columns = calls_.mysql_stmt_field_count(handle_);
    if (columns < results_.size()) {
      throw Error(Error::kRun, connection_.engine() + ": too few columns: " + sql_);
    }
    while (results_.size() < columns) {
      results_.emplace_back().bytes.resize(kFirstBuffer);
      std::memset(&result_binds_.emplace_back(), 0, sizeof(MYSQL_BIND));
    }
    for (size_t i = 0; i < results_.size(); ++i) PointTo(&results_[i], &result_binds_[i]);
    if (calls_.mysql_stmt_bind_result(handle_, result_binds_.data()) != 0) FailLast("binding");
    results_moved_ = false;
  }

  // Fetches a column again, into a larger buffer, because it is longer than its buffer.
  void FetchLong(size_t i) {
    Buffer& buffer = results_[i];
    if (buffer.length <= buffer.bytes.size()) return;
    buffer.bytes.resize(buffer.length + buffer.length / 4);
    results_moved_ = true;
    MYSQL_BIND bind;
    std::memset(&bind, 0, sizeof bind);
    PointTo(&buffer, &bind);
    if (calls_.mysql_stmt_fetch_column(handle_, &bind, static_cast<unsigned>(i), 0) != 0) {
      FailLast("fetching");
    }
  }

  const MariadbHandle& connection_;
  const MariadbCalls& calls_;
  const std::string sql_;
  MYSQL_STMT* const handle_;
  std::vector<Buffer> parameters_, results_;
  std::vector<MYSQL_BIND> parameter_binds_, result_binds_;
  // These flags say that the buffers have moved since the library was last given their addresses.
  bool parameters_moved_ = true, results_moved_ = true, has_result_ = false;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_MARIADB_STATEMENT_H_
