#include "tools/results/sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/output/csv.h"
#include "tools/output/json_text.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

using nlohmann::json;

[[noreturn]] void RefuseChange(const std::string& why) {
  throw Error(
      Error::kUsage,
      fmt::format("the SQL is not accepted ({}): only SELECT is, which changes nothing", why));
}

// Throws the Error for SQLite's last failure on the connection, with a sentence for the user.
[[noreturn]] void FailSqlite(sqlite3* db, const std::string& path) {
  const std::string why = OneLine(::sqlite3_errmsg(db));
  switch (::sqlite3_errcode(db)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(Error::kIo,
                  fmt::format("{} is in use by another process, which did not end within {} s; try "
                              "again when it has",
                              path, SqliteFile::kBusySeconds));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      throw Error(Error::kUsage,
                  fmt::format("{} is damaged ({}); restore it from a copy, or add the results to a "
                              "new file",
                              path, why));
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_NOLFS:
      throw Error(Error::kIo, fmt::format("{} cannot be read or written: {}", path, why));
    case SQLITE_INTERRUPT:
      throw Error(Error::kRun, "stopped, as was asked");
    case SQLITE_AUTH:
      RefuseChange(why);
    default: {
      const bool lacks = why.starts_with("no such column") || why.starts_with("no such table");
      throw Error(Error::kUsage,
                  fmt::format("the SQL is not accepted: {}{}", why,
                              lacks ? "; `testbed results columns` names the tables and columns, "
                                      "which a store of an earlier version gets with the next "
                                      "document that is added"
                                    : ""));
    }
  }
}

// SQLite's authorizer: allows statements that read the file, and denies those that write it or open
// another file.
int AdmitReading(void*, int action, const char* first, const char* second, const char*,
                 const char*) {
  static constexpr std::string_view kPragmas[] = {"table_info", "table_xinfo", "table_list",
                                                  "index_list", "index_info"};
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second == nullptr || std::string_view(second) == "load_extension" ? SQLITE_DENY
                                                                               : SQLITE_OK;
    case SQLITE_PRAGMA:
      return std::find(std::begin(kPragmas), std::end(kPragmas),
                       std::string_view(first == nullptr ? "" : first)) == std::end(kPragmas)
                 ? SQLITE_DENY
                 : SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

int IsStopRequested(void*) { return StopRequested() ? 1 : 0; }

class OpenStatement final : public SqliteStatement {
 public:
  OpenStatement(sqlite3* db, std::string path, sqlite3_stmt* statement)
      : db_(db), path_(std::move(path)), statement_(statement) {
    for (int c = 0; c < ::sqlite3_column_count(statement_); ++c) {
      const char* name = ::sqlite3_column_name(statement_, c);
      columns_.emplace_back(name == nullptr ? "" : name);
    }
  }
  ~OpenStatement() override { ::sqlite3_finalize(statement_); }
  OpenStatement(const OpenStatement&) = delete;
  OpenStatement& operator=(const OpenStatement&) = delete;

  void Bind(int parameter, const json& value) override {
    if (BindValue(parameter, value) != SQLITE_OK) FailSqlite(db_, path_);
  }
  bool Step() override {
    const int code = ::sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) FailSqlite(db_, path_);
    return false;
  }
  void Reset() override { ::sqlite3_reset(statement_); }
  const std::vector<std::string>& columns() const override { return columns_; }

  json Value(size_t column) const override {
    const int c = static_cast<int>(column);
    switch (::sqlite3_column_type(statement_, c)) {
      case SQLITE_INTEGER:
        return ::sqlite3_column_int64(statement_, c);
      case SQLITE_FLOAT:
        return ::sqlite3_column_double(statement_, c);
      case SQLITE_TEXT: {
        const auto* text = reinterpret_cast<const char*>(::sqlite3_column_text(statement_, c));
        const auto size = static_cast<size_t>(::sqlite3_column_bytes(statement_, c));
        return BytesOfUtf8Text({text, size});
      }
      case SQLITE_BLOB: {
        const auto* bytes = static_cast<const uint8_t*>(::sqlite3_column_blob(statement_, c));
        const auto size = static_cast<size_t>(::sqlite3_column_bytes(statement_, c));
        return fmt::format("{:02x}", fmt::join(bytes, bytes + size, ""));
      }
      default:
        return {};
    }
  }

 private:
  int BindValue(int parameter, const json& value) {
    if (value.is_boolean()) return ::sqlite3_bind_int(statement_, parameter, value.get<bool>());
    // SQLite has signed integers only. A larger number, which is a seed, is bound as text: as a
    // double it would lose digits, and several seeds would be one.
    const bool whole = value.is_number_integer() &&
                       (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
    if (whole) return ::sqlite3_bind_int64(statement_, parameter, value.get<int64_t>());
    if (value.is_number_float()) {
      const auto number = value.get<double>();
      return std::isfinite(number) ? ::sqlite3_bind_double(statement_, parameter, number)
                                   : ::sqlite3_bind_null(statement_, parameter);
    }
    const std::string text = Utf8Text(CellText(value));
    if (text.empty()) return ::sqlite3_bind_null(statement_, parameter);
    return ::sqlite3_bind_text(statement_, parameter, text.data(), static_cast<int>(text.size()),
                               SQLITE_TRANSIENT);
  }

  sqlite3* db_;
  const std::string path_;
  sqlite3_stmt* statement_;
  std::vector<std::string> columns_;
};

class OpenFile final : public SqliteFile {
 public:
  OpenFile(const std::string& path, int flags) : path_(path) {
    // SQLite gives a special meaning to some names (":memory:", "file:..."), but never to an
    // absolute path.
    const std::string absolute = std::filesystem::absolute(path).string();
    const int code =
        ::sqlite3_open_v2(absolute.c_str(), &db_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    if (code != SQLITE_OK) {
      const std::string why = ::sqlite3_errstr(code);
      ::sqlite3_close(db_);
      throw Error(Error::kIo, fmt::format("{} cannot be opened: {}", path, why));
    }
    ::sqlite3_busy_timeout(db_, kBusySeconds * 1000);
    ::sqlite3_progress_handler(db_, 100000, &IsStopRequested, nullptr);
  }
  ~OpenFile() override { ::sqlite3_close(db_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // SQLite declares the tables of json_each and json_tree when they are first used, by a statement
  // that the authorizer would deny.
  void AdmitReadingAlone() {
    ::sqlite3_exec(db_, "SELECT 1 FROM json_each('[]'), json_tree('[]')", nullptr, nullptr,
                   nullptr);
    ::sqlite3_exec(db_, "BEGIN", nullptr, nullptr, nullptr);  // all statements see one state
    ::sqlite3_set_authorizer(db_, &AdmitReading, nullptr);
    reads_alone_ = true;
  }

  // Reads the schema; returns SQLite's extended error code.
  int TryToRead() {
    ::sqlite3_exec(db_, "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr);
    return ::sqlite3_extended_errcode(db_);
  }

  std::unique_ptr<SqliteStatement> Prepare(const std::string& sql) override {
    const char* rest = nullptr;
    auto statement = PrepareFirst(sql.c_str(), &rest);
    if (statement == nullptr) throw Error(Error::kUsage, "the SQL is empty; give a SELECT");
    if (PrepareFirst(rest, &rest) != nullptr) {
      throw Error(Error::kUsage, "the SQL has more than one statement; give one SELECT");
    }
    return statement;
  }

  void Execute(const std::string& sql) override {
    if (::sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      FailSqlite(db_, path_);
    }
  }

  int64_t LastRow() const override { return ::sqlite3_last_insert_rowid(db_); }

 private:
  // Prepares the first statement of the text. Returns null when nothing but spaces, semicolons and
  // comments is left.
  std::unique_ptr<SqliteStatement> PrepareFirst(const char* sql, const char** rest) {
    while (*sql != '\0') {
      sqlite3_stmt* statement = nullptr;
      if (::sqlite3_prepare_v2(db_, sql, -1, &statement, rest) != SQLITE_OK) {
        FailSqlite(db_, path_);
      }
      if (statement != nullptr) {
        auto open = std::make_unique<OpenStatement>(db_, path_, statement);
        // The authorizer is not asked about VACUUM.
        if (reads_alone_ && ::sqlite3_stmt_readonly(statement) == 0) RefuseChange("it may write");
        return open;
      }
      if (*rest == sql) break;
      sql = *rest;
    }
    *rest = sql;
    return nullptr;
  }

  const std::string path_;
  sqlite3* db_ = nullptr;
  bool reads_alone_ = false;
};

}  // namespace

bool HasSqlite() { return true; }

std::unique_ptr<SqliteFile> SqliteFile::Open(const std::string& path, Access access) {
  if (access == Access::kWrite) {
    return std::make_unique<OpenFile>(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  }
  auto file = std::make_unique<OpenFile>(path, SQLITE_OPEN_READONLY);
  // A killed process left a change that only a connection that may write can undo.
  if (file->TryToRead() == SQLITE_READONLY_ROLLBACK) {
    file.reset();
    OpenFile(path, SQLITE_OPEN_READWRITE).TryToRead();
    file = std::make_unique<OpenFile>(path, SQLITE_OPEN_READONLY);
  }
  file->AdmitReadingAlone();
  return file;
}

}  // namespace testbed
