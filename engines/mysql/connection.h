// A MyConnection is a connection to MariaDB by its client library: prepared statements in the
// binary protocol, or statements as text with the parameters in it. A statement is executed when it
// is sent; with ConnectOptions::batches, the statements that are given to Send are sent together,
// as one text.
#ifndef TESTBED_ENGINES_MYSQL_CONNECTION_H_
#define TESTBED_ENGINES_MYSQL_CONNECTION_H_

#include <cerrno>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/account/wire.h"
#include "engines/mysql/library.h"
#include "engines/sql/connection.h"
#include "engines/sql/mariadb_statement.h"

namespace testbed::mysql {

struct ConnectOptions {
  std::string host, user, database, socket;  // empty: the library's default, or that of ~/.my.cnf
  unsigned port = 0;
  bool tls = false;
  bool private_server = false;  // reads no option files, and needs no password
  bool as_text = false;         // statements are sent as text instead of being prepared
  bool batches = false;         // with as_text: several statements in a packet
  std::string address;          // address in results, of a server that runs already
  std::string shown;            // the server's name in errors
  std::string setup;            // a statement that each connection begins with
  // Returns the server's last error, or an empty string, for the sentence about a lost connection.
  // There is no function when the run has not started the server.
  std::function<std::string()> complaint;
};

// A NoAnswer is the error for a server that does not answer. A server that has just been started
// may answer later.
class NoAnswer : public Error {
 public:
  // `of_run` says that the run has started the server, so that the cause is not a mistake of the
  // user.
  NoAnswer(const std::string& sentence, bool of_run)
      : Error(of_run ? kIo : kUsage, sentence, of_run ? EIO : 0) {}
};

class MyConnection : public SqlConnection, private MariadbHandle {
 public:
  // Throws NoAnswer when no server answers, and Error (kUsage) when it refuses the user or is too
  // old.
  explicit MyConnection(const ConnectOptions& options);
  ~MyConnection() override;

  std::vector<Row> Run(const std::string& sql) override;
  // Runs a statement that returns no rows. Returns false when it has not ended within `patience`,
  // or when the run should end first (StopRequested): the connection can then only be closed.
  bool RunWithin(const std::string& sql, std::chrono::milliseconds patience);
  SqlStatement Prepare(const std::string& sql, size_t parameters, size_t columns) override;
  void Execute(SqlStatement statement, std::span<const SqlParameter> parameters) override;
  bool NextRow() override;
  std::string_view Column(size_t column) const override;
  void Send(SqlStatement statement, std::span<const SqlParameter> parameters) override;
  void Await() override;
  bool ExecuteForEach(SqlStatement statement, std::span<const std::string_view> keys) override;
  void NextResult() override { NextAnswer(); }
  int server_thread() const override { return server_thread_; }

 private:
  // A Statement is prepared, or is sent as text. `parts` is the text around its parameters, so it
  // has one part more than there are parameters.
  struct Statement {
    std::vector<std::string> parts;
    std::optional<MariadbStatement> prepared;
  };
  void ExecuteText(const Statement& statement, std::span<const SqlParameter> parameters);
  // Appends a statement with its parameters to *text.
  void AppendText(const Statement& statement, std::span<const SqlParameter> parameters,
                  std::string* text) const;
  std::string SqlOf(SqlStatement statement) const;
  void Enqueue(SqlStatement statement, std::span<const SqlParameter> parameters);
  // Sends the batch and takes the answer to its first statement.
  void SendBatch();
  // Takes the answer to the next statement of the batch that was sent.
  void NextAnswer();
  void FreeRows();
  void FailAsEngine(unsigned code, const std::string& message,
                    const std::string& doing) const override;
  void Connect();
  int FindServerThread();
  void EndResult();

  const Client& client_;
  const ConnectOptions options_;
  int server_thread_ = 0;
  std::optional<WireSocket> wire_;
  std::deque<Statement> statements_;     // indexed by SqlStatement
  MariadbStatement* current_ = nullptr;  // prepared statement that was executed last, or null
  std::string text_;                     // the statement or batch that is sent as text
  MYSQL_RES* result_ = nullptr;          // rows of a statement that was sent as text, or null
  MYSQL_ROW row_ = nullptr;
  const unsigned long* lengths_ = nullptr;  // lengths of the columns of row_
  std::string batch_;                       // text of the statements of the next batch
  std::vector<SqlStatement> batched_;       // the statements of the next batch
  std::vector<SqlStatement> sent_;          // the statements of the batch that was sent last
  size_t at_ = 0;      // index in sent_ of the last statement whose answer was taken
  size_t unread_ = 0;  // number of statements in sent_ whose answers are to come
};

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_CONNECTION_H_
