// A Connection is a connection to the embedded server; a Statement is a prepared statement on it.
//
//   Connection connection(library.get());
//   connection.Run("CREATE DATABASE IF NOT EXISTS testbed");
//   Statement get(&connection, "SELECT v FROM t WHERE k = ?", 1, 1);
//   get.Bind(0, key);
//   get.Execute();
//   while (get.Fetch()) Use(get.column(0));
//
// Each function throws Error when the server returns an error, and SqlConflict when the server has
// rolled the transaction back because of the locks of others. Not thread-safe. The calling thread
// must be known to the library, so callers use Server::Call (server.h).
#ifndef TESTBED_ENGINES_INNODB_CONNECTION_H_
#define TESTBED_ENGINES_INNODB_CONNECTION_H_

#include <string>
#include <vector>

#include "engines/innodb/library.h"
#include "engines/sql/mariadb_statement.h"

namespace testbed::innodb {

class Connection : public MariadbHandle {
 public:
  // `library` must outlive the connection. `database` is the current database of the connection, if
  // it is not null.
  explicit Connection(const Library* library, const char* database = nullptr);

  using Row = SqlConnection::Row;
  // Runs a statement and returns its rows, in which null fields are empty strings.
  std::vector<Row> Run(const std::string& sql) { return Query(sql); }
  void Commit();
  void Rollback();

 private:
  void FailAsEngine(unsigned code, const std::string& message,
                    const std::string& doing) const override;

  const Library& library_;
};

using Statement = MariadbStatement;

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_CONNECTION_H_
