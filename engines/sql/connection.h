// SqlConnection is a connection to a database server, as the engines that speak to servers use it:
// prepared statements whose parameters and columns are bytes.
//
//   std::unique_ptr<SqlConnection> connection = server->Connect();
//   connection->Run("BEGIN");
//   const SqlStatement get = connection->Prepare("SELECT v FROM t WHERE k = $1", 1, 1);
//   const SqlParameter parameters[] = {{.bytes = key}};
//   connection->Execute(get, parameters);
//   while (connection->NextRow()) Use(connection->Column(0));
//
// A write may be sent without waiting for its answer, so that the writes of a transaction share a
// round trip:
//
//   connection->Send(put, parameters);
//   connection->Send(commit, {});
//   connection->Await();               // throws the first error of what was sent
//
// Each method throws Error when the server returns an error, and SqlConflict when the server has
// rolled the transaction back because it conflicts with another transaction. A lost connection
// throws LostConnection. Not thread-safe.
#ifndef TESTBED_ENGINES_SQL_CONNECTION_H_
#define TESTBED_ENGINES_SQL_CONNECTION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/error.h"

namespace testbed {

// A SqlConflict says that the server rolled the transaction back because it conflicts with another
// transaction. The caller can try the transaction again.
class SqlConflict : public Error {
 public:
  explicit SqlConflict(const std::string& sentence) : Error(kRun, sentence) {}
};

// A LostConnection says that the connection is lost: the server has ended, or cannot be reached any
// more. Nobody knows whether the server has executed the statements that it has not answered.
class LostConnection : public Error {
 public:
  // `code` is ENOSPC when the server has said that its disk was full, else EIO.
  LostConnection(const std::string& sentence, int code) : Error(kIo, sentence, code) {}
};

// An SqlParameter is bytes, or a number if `number` is set.
struct SqlParameter {
  std::string_view bytes;
  std::optional<uint64_t> number;
};

// This ends the sentence of an error which says that the server has no free connection.
inline constexpr char kMoreConnections[] =
    "; give fewer --threads, or let the server have more connections (--engine-option "
    "server_option=max_connections=N, where the run starts it)";

using SqlStatement = uint32_t;  // index of a prepared statement of its connection

class SqlConnection {
 public:
  virtual ~SqlConnection() = default;

  using Row = std::vector<std::string>;
  // Runs a statement and returns its rows as text; null is an empty string. Drops the result of
  // Execute.
  virtual std::vector<Row> Run(const std::string& sql) = 0;
  // Prepares a statement with this number of parameters, whose rows have this number of columns.
  virtual SqlStatement Prepare(const std::string& sql, size_t parameters, size_t columns) = 0;

  // Executes the statement after all statements that were sent. NextRow reads its rows.
  virtual void Execute(SqlStatement statement, std::span<const SqlParameter> parameters) = 0;
  // Moves to the next row of the statement that was executed last. Returns false when there is
  // none.
  virtual bool NextRow() = 0;
  // Returns a column of the row. It is valid until the next call of any method but Column.
  virtual std::string_view Column(size_t column) const = 0;

  // Sends a statement that returns no rows. May return before the server has executed it.
  virtual void Send(SqlStatement statement, std::span<const SqlParameter> parameters) = 0;
  // Waits until all statements that were sent are executed.
  virtual void Await() = 0;
  // Executes the statement for each key. The caller reads the results in the order of the keys:
  // NextResult begins the rows of the next key. Returns false, and does nothing, when the
  // connection cannot do this.
  virtual bool ExecuteForEach(SqlStatement statement, std::span<const std::string_view> keys) {
    return false;
  }
  virtual void NextResult() {}

  // Returns the id of the server's thread or process that serves this connection, as the kernel
  // account of this machine knows it; 0 when the server is not on this machine.
  virtual int server_thread() const = 0;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_CONNECTION_H_
