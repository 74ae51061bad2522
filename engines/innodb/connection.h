// A Connection is a connection to the embedded server; a Statement is a prepared statement on it.
//
//   Connection connection(library.get());
//   connection.Run("CREATE DATABASE IF NOT EXISTS testbed");
//   Statement get(&connection, "SELECT v FROM t WHERE k = ?", 1, 1);
//   get.Bind(0, key);
//   get.Execute();
//   while (get.Fetch()) Use(get.column(0));
//
// Each function throws Error when the server returns an error (FailWith). Not thread-safe. The
// calling thread must be known to the library: call through Server::Call (server.h).
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

// A Deadlock says that the server rolled back the whole transaction because of other transactions'
// locks. The caller can try the transaction again.
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
  // Runs a statement and returns its rows, of which null fields are empty strings.
  std::vector<Row> Run(const std::string& sql);
  void Commit();
  void Rollback();

 private:
  const Library* const library_;
  MYSQL* handle_;
};

class Statement {
 public:
  // Prepares `sql`, which has `parameters` question marks and returns rows of `columns` columns, 0
  // when it returns no rows. `connection` must outlive the statement.
  Statement(Connection* connection, std::string sql, size_t parameters, size_t columns);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Set the value of a parameter, counted from 0. The bytes are copied.
  void Bind(size_t parameter, std::string_view bytes);
  void Bind(size_t parameter, uint64_t number);
  void Execute();
  // Moves to the next row of the result. Returns false, and frees the result, when there is no
  // further row.
  bool Fetch();
  // Returns a column of the row. Valid until the next Fetch or Execute.
  std::string_view column(size_t i) const { return {results_[i].bytes.data(), results_[i].length}; }
  // Frees a result that was not fetched to its end.
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
  // *_moved_: the buffers have moved since the library was last given their addresses.
  bool parameters_moved_ = true, results_moved_ = true, has_result_ = false;
};

// Throws the Error for a code of the server. `doing` names in the sentence what failed: "reading a
// row".
[[noreturn]] void FailWith(unsigned code, const std::string& message, const std::string& doing);

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_CONNECTION_H_
