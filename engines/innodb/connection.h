// A connection to the embedded server, and prepared statements on it.
//
//   Connection connection(&library);
//   connection.Run("CREATE DATABASE IF NOT EXISTS testbed");
//   Statement get(&connection, "SELECT v FROM t WHERE k = ?", 1, 1);
//   get.Bind(0, key);
//   get.Execute();
//   while (get.Fetch()) use(get.column(0));
//
// The server's codes become Error here. Not for several threads at once; each thread that calls
// must have been made known to the library (server.h).
#ifndef TESTBED_ENGINES_INNODB_CONNECTION_H_
#define TESTBED_ENGINES_INNODB_CONNECTION_H_

#include <mysql.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/error.h"
#include "engines/innodb/library.h"

namespace testbed::innodb {

// The transaction met another's locks, was rolled back as a whole, and can be tried again.
class Deadlock : public Error {
 public:
  explicit Deadlock(const std::string& sentence) : Error(kRun, sentence) {}
};

class Connection {
 public:
  explicit Connection(const Library* library, const char* database = nullptr);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const Library& library() const { return *library_; }
  MYSQL* handle() const { return handle_; }

  using Row = std::vector<std::string>;
  // Runs a statement and returns its rows.
  std::vector<Row> Run(const std::string& sql);
  void Commit();
  void Rollback();

 private:
  const Library* const library_;
  MYSQL* handle_;
};

class Statement {
 public:
  // `parameters` question marks; results of `columns` columns.
  Statement(Connection* connection, std::string sql, size_t parameters, size_t columns);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // The bytes are copied.
  void Bind(size_t parameter, std::string_view bytes);
  void Bind(size_t parameter, uint64_t number);
  void Execute();
  // The next row; at the end the result is let go. Columns stay valid until the next call.
  bool Fetch();
  std::string_view column(size_t i) const { return {results_[i].bytes.data(), results_[i].length}; }
  // Lets go of a result that was not fetched to its end.
  void EndResult();

 private:
  struct Buffer {
    std::string bytes;
    unsigned long length = 0;
    uint64_t number = 0;
  };
  [[noreturn]] void Fail(const char* doing);
  void BindResults();

  Connection* const connection_;
  const Library& library_;
  const std::string sql_;
  MYSQL_STMT* handle_;
  std::vector<Buffer> parameters_, results_;
  std::vector<MYSQL_BIND> parameter_binds_, result_binds_;
  bool parameters_moved_ = true, results_moved_ = true, has_result_ = false;
};

// Throws the Error that a code of the server means; `doing` is a phrase, as in "reading a row".
[[noreturn]] void FailWith(unsigned code, const std::string& message, const std::string& doing);

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_CONNECTION_H_
