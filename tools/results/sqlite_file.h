// A SQLite file as the results store uses one: failures are Errors with a sentence, values are JSON
// values, and a file that was opened to read cannot be changed.
//
//   const auto file = SqliteFile::Open("results.db", SqliteFile::Access::kRead);
//   const auto statement = file->Prepare("SELECT phase, rate FROM results WHERE threads = ?");
//   statement->Bind(1, 8);
//   while (statement->Step()) Use(statement->Value(0), statement->Value(1));
//
// A build without SQLite's library has this interface too, and Open says what it lacks.
//
// A file and its statements belong to one thread. The file must outlive its statements. All
// functions throw Error: kIo when the file cannot be read or written, or another process holds it
// for longer than kBusySeconds; kUsage when the file is damaged or the SQL is not accepted; kRun
// when the user asked to stop (StopRequested) while a statement ran.
#ifndef TESTBED_TOOLS_RESULTS_SQLITE_FILE_H_
#define TESTBED_TOOLS_RESULTS_SQLITE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

class SqliteStatement {
 public:
  virtual ~SqliteStatement() = default;
  // Binds a value to a parameter, counted from 1. A value that a CSV file leaves empty (null, NaN,
  // an empty text, list or object) is bound as NULL, a boolean as 1 or 0, and a list, an object or
  // a whole number above INT64_MAX as its CellText (tools/output/csv.h). Text is written as UTF-8
  // (Utf8Text).
  virtual void Bind(int parameter, const nlohmann::json& value) = 0;
  // Goes to the next row; returns whether there is one.
  virtual bool Step() = 0;
  // Makes the statement ready to run again. Its bound values stay.
  virtual void Reset() = 0;
  // The names of the columns; empty for a statement that returns no rows.
  virtual const std::vector<std::string>& columns() const = 0;
  // Returns a value of the row, by its place from 0: null, a number, or a text. A blob is a text of
  // hexadecimal digits.
  virtual nlohmann::json Value(size_t column) const = 0;
};

class SqliteFile {
 public:
  enum class Access : uint8_t {
    // SQL that changes something is refused, and the file must exist. All statements see the file
    // as it was at the first one, and until it is closed no other process can change it.
    kRead,
    kWrite,  // the file is made when there is none
  };
  static constexpr int kBusySeconds = 10;

  // Opens the file at `path`. It must not be another program's file, because opening it undoes a
  // transaction that was interrupted, also with kRead.
  static std::unique_ptr<SqliteFile> Open(const std::string& path, Access access);
  virtual ~SqliteFile() = default;

  // Returns the one statement that the text holds.
  virtual std::unique_ptr<SqliteStatement> Prepare(const std::string& sql) = 0;
  // Runs statements without parameters, and drops the rows that they return.
  virtual void Execute(const std::string& sql) = 0;
  // Returns the row id of the last insertion.
  virtual int64_t LastRow() const = 0;
};

// Returns whether this build has SQLite.
bool HasSqlite();

}  // namespace testbed

#endif  // TESTBED_TOOLS_RESULTS_SQLITE_FILE_H_
