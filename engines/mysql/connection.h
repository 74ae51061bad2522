// A MyConnection is a connection to MariaDB by its client library: prepared statements in the binary
// protocol. A statement is executed when it is sent.
#ifndef TESTBED_ENGINES_MYSQL_CONNECTION_H_
#define TESTBED_ENGINES_MYSQL_CONNECTION_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engines/mysql/library.h"
#include "engines/sql/connection.h"

namespace testbed::mysql {

struct ConnectOptions {
  std::string host, user, database, socket;  // empty: the library's default, or that of ~/.my.cnf
  unsigned port = 0;
  bool tls = false;
  bool private_server = false;  // reads no option files, and needs no password
  std::string shown;            // the server's name in errors
  std::string setup;            // a statement that each connection begins with
  // Returns the server's last complaint, for the sentence about a connection that was lost; empty:
  // it is not known.
  std::function<std::string()> complaint;
};

class MyConnection : public SqlConnection {
 public:
  // Throws Error: kUsage when the server refuses the user or is too old, kIo when there is none.
  explicit MyConnection(const ConnectOptions& options);
  ~MyConnection() override;
  MyConnection(const MyConnection&) = delete;
  MyConnection& operator=(const MyConnection&) = delete;

  std::vector<Row> Run(const std::string& sql) override;
  SqlStatement Prepare(const std::string& sql, size_t parameters, size_t columns) override;
  void Execute(SqlStatement statement, std::span<const SqlParameter> parameters) override;
  bool NextRow() override;
  std::string_view Column(size_t column) const override;
  void Send(SqlStatement statement, std::span<const SqlParameter> parameters) override {
    Execute(statement, parameters);
  }
  void Await() override {}
  int server_thread() const override { return server_thread_; }

 private:
  class Statement;
  [[noreturn]] void Fail(unsigned code, const std::string& message, const std::string& doing);
  void Connect();
  int FindServerThread();

  const Client& client_;
  const ConnectOptions options_;
  MYSQL* handle_ = nullptr;
  int server_thread_ = 0;
  std::vector<std::unique_ptr<Statement>> statements_;  // by SqlStatement
  Statement* current_ = nullptr;                        // executed last; null: none
};

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_CONNECTION_H_
