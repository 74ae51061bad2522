// A PgConnection is a connection to PostgreSQL by libpq. Send and ExecuteForEach use libpq's
// pipeline mode. So the reads of a multi-get take one round trip, and so do the writes of a
// transaction, up to 128 of them or 256 KiB. Keys, values and numbers travel in binary.
#ifndef TESTBED_ENGINES_POSTGRES_CONNECTION_H_
#define TESTBED_ENGINES_POSTGRES_CONNECTION_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/account/wire.h"
#include "engines/postgres/library.h"
#include "engines/sql/connection.h"

namespace testbed::postgres {

struct ConnectOptions {
  std::string target;  // URL or keywords, as libpq takes them
  std::string shown;   // the server's name in errors
  std::string setup;   // statements that each connection begins with
  // Returns the server's last error, or an empty string, for the sentence about a lost connection.
  // It is null when the run has not started the server.
  std::function<std::string()> complaint;
};

// Returns PQPING_REJECT when the server is still starting, PQPING_NO_RESPONSE when no server
// answers, and another value when the server lets clients connect, or refuses them for another
// reason.
PGPing Ping(const ConnectOptions& options);

class PgConnection : public SqlConnection {
 public:
  // Throws Error: kUsage when the server refuses the user or is too old, or when no server answers;
  // kIo when the private server has ended.
  explicit PgConnection(const ConnectOptions& options);
  ~PgConnection() override;
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  std::vector<Row> Run(const std::string& sql) override;
  SqlStatement Prepare(const std::string& sql, size_t parameters, size_t columns) override;
  void Execute(SqlStatement statement, std::span<const SqlParameter> parameters) override;
  bool NextRow() override;
  std::string_view Column(size_t column) const override;
  void Send(SqlStatement statement, std::span<const SqlParameter> parameters) override;
  void Await() override;
  bool ExecuteForEach(SqlStatement statement, std::span<const std::string_view> keys) override;
  void NextResult() override;
  int server_thread() const override { return server_thread_; }

 private:
  // Sets the arrays that libpq takes for parameters; they are valid until the next call.
  void Bind(std::span<const SqlParameter> parameters);
  void Enqueue(SqlStatement statement, std::span<const SqlParameter> parameters);
  // Reads the results of all statements in the pipeline. Keeps them in results_ if `keep` is set.
  void EndPipeline(bool keep);
  // Waits for the end of the pipeline. Returns false when the server has answered the end with an
  // error, which is then the last element of results_.
  bool TakeSync();
  void DropResults();
  // Throws the Error of a result that reports one.
  void Check(const PGresult* result, const std::string& doing);
  [[noreturn]] void Fail(const std::string& state, const std::string& message,
                         const std::string& doing);
  [[noreturn]] void FailLost();
  int FindServerThread() const;

  const Libpq& libpq_;
  const ConnectOptions options_;
  PGconn* connection_ = nullptr;
  std::optional<WireSocket> wire_;
  int server_thread_ = 0;
  std::vector<std::string> statements_;  // SQL text, indexed by SqlStatement
  std::vector<std::string> names_;       // names, indexed by SqlStatement

  std::vector<PGresult*> results_;  // results of the last Execute or ExecuteForEach
  size_t result_ = 0;               // index of the result whose rows are read
  int row_ = -1;
  std::vector<SqlStatement> in_pipeline_;
  size_t bytes_in_pipeline_ = 0;

  std::vector<const char*> values_;
  std::vector<int> lengths_, formats_;
  std::vector<uint64_t> numbers_;
};

}  // namespace testbed::postgres

#endif  // TESTBED_ENGINES_POSTGRES_CONNECTION_H_
