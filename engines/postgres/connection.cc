#include "engines/postgres/connection.h"

#include <endian.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "engines/postgres/versions.h"

namespace testbed::postgres {
namespace {

constexpr size_t kMostInPipeline = 128, kMostBytesInPipeline = 256 << 10;

// These are the parameters of a connection. Those before dbname may also be given by the target.
// They end the wait for a host that has answered nothing for two minutes, as when the network has
// failed; without them the wait would last for hours. The kernel of a server that works on a
// statement still answers.
constexpr const char* kKeywords[] = {"keepalives_idle",
                                     "keepalives_interval",
                                     "tcp_user_timeout",
                                     "dbname",
                                     "fallback_application_name",
                                     "connect_timeout",
                                     nullptr};
using Values = std::array<const char*, std::size(kKeywords)>;

Values ValuesOf(const ConnectOptions& options) {
  return {"30", "10", "120000", options.target.c_str(), "testbed", "20", nullptr};
}

// Returns a message of the server or of libpq as one line. Where a line ended without punctuation,
// a semicolon stands.
std::string OneLine(const char* message) {
  constexpr std::string_view kEnds = ".:;,";
  std::string line;
  bool ended = false;
  for (const char* c = message; *c != '\0'; ++c) {
    ended |= *c == '\n';
    const bool blank = *c == '\n' || *c == '\t' || *c == ' ';
    if (ended && blank) continue;  // the next line may begin with blanks
    if (std::exchange(ended, false) && !line.empty()) {
      line += kEnds.find(line.back()) == std::string_view::npos ? "; " : " ";
    }
    line += blank ? ' ' : *c;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

bool Says(const std::string& message, const char* words) {
  return message.find(words) != std::string::npos;
}

}  // namespace

PGPing Ping(const ConnectOptions& options) {
  return LoadLibpq().PQpingParams(kKeywords, ValuesOf(options).data(), 1);
}

PgConnection::PgConnection(const ConnectOptions& options) : libpq_(LoadLibpq()), options_(options) {
  connection_ = libpq_.PQconnectdbParams(kKeywords, ValuesOf(options_).data(), 1);
  if (connection_ == nullptr) throw Error::NoMemory("for a connection of postgres");
  if (libpq_.PQstatus(connection_) != CONNECTION_OK) {
    const std::string said = OneLine(libpq_.PQerrorMessage(connection_));
    libpq_.PQfinish(connection_);
    const char* how = "";
    if (Says(said, "password") || Says(said, "fe_sendauth")) {
      how = "; the password is taken from PGPASSWORD or ~/.pgpass";
    } else if (Says(said, "too many clients") || Says(said, "connection slots are reserved") ||
               Says(said, "too many connections")) {
      how = kMoreConnections;
    }
    // When nothing listens at a socket, libpq's message asks "Is the server running locally ...?".
    const bool ended = options_.complaint && (Says(said, "Is the server running") ||
                                              Says(said, "closed the connection unexpectedly") ||
                                              Says(said, "the database system is shutting down"));
    throw Error(ended ? Error::kIo : Error::kUsage,
                fmt::format("postgres cannot connect to {}: {}{}", options_.shown, said, how),
                ended ? EIO : 0);
  }
  libpq_.PQsetNoticeProcessor(connection_, [](void*, const char*) {}, nullptr);
  try {
    if (const int version = libpq_.PQserverVersion(connection_); version < kOldestVersion) {
      throw Error(Error::kUsage,
                  fmt::format("postgres needs a server of version {} or later, and {} is {}",
                              MajorName(kOldestVersion), options_.shown, VersionName(version)));
    }
    if (!options_.setup.empty()) Run(options_.setup);
  } catch (...) {
    libpq_.PQfinish(connection_);
    throw;
  }
  server_thread_ = FindServerThread();
  wire_.emplace(libpq_.PQsocket(connection_), libpq_.counts_wire);
}

PgConnection::~PgConnection() {
  DropResults();
  wire_.reset();
  libpq_.PQfinish(connection_);
}

// Returns the id of the server's process for this connection; 0 when it is not known. Only a server
// at a Unix socket is surely on this machine. Even that server may have another namespace of
// process ids, so the process with this id here must have the name of a PostgreSQL.
int PgConnection::FindServerThread() const {
  sockaddr address{};
  socklen_t size = sizeof address;
  if (::getsockname(libpq_.PQsocket(connection_), &address, &size) != 0 ||
      address.sa_family != AF_UNIX) {
    return 0;
  }
  const int pid = libpq_.PQbackendPID(connection_);
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string name;
  return std::getline(file, name) && name.starts_with("postgres") ? pid : 0;
}

void PgConnection::DropResults() {
  for (PGresult* result : results_) libpq_.PQclear(result);
  results_.clear();
  result_ = 0;
  row_ = -1;
}

void PgConnection::FailLost() {
  const std::string said = OneLine(libpq_.PQerrorMessage(connection_));
  const std::string complaint = options_.complaint ? options_.complaint() : "";
  const bool full = Says(complaint, "No space left") || Says(said, "No space left");
  throw LostConnection(fmt::format("postgres: the connection to {} is lost: {}", options_.shown,
                                   complaint.empty() ? said : complaint),
                       full ? ENOSPC : EIO);
}

void PgConnection::Fail(const std::string& state, const std::string& message,
                        const std::string& doing) {
  const std::string sentence = fmt::format("postgres: {}: {} ({})", doing, message, state);
  if (state == "40P01" || state == "40001" || state == "55P03") throw SqlConflict(sentence);
  if (state == "53100" || Says(message, "No space left")) {
    throw Error(Error::kIo, sentence, ENOSPC);
  }
  if (state == "XX001" || state == "XX002" || state == "58P01") {
    throw Error(Error::kCorruption, sentence);
  }
  if (state.starts_with("58")) throw Error(Error::kIo, sentence, EIO);
  if (state == "42501" || state.starts_with("28")) throw Error(Error::kUsage, sentence);
  throw Error(Error::kRun, sentence);
}

void PgConnection::Check(const PGresult* result, const std::string& doing) {
  switch (libpq_.PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
      return;
    default:
      break;
  }
  const char* const code = libpq_.PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string state = code == nullptr ? "" : code;
  // The codes 57P0x say that the server is shutting down, or that another of its processes has
  // crashed.
  if (libpq_.PQstatus(connection_) != CONNECTION_OK || state.starts_with("57P0")) FailLost();
  const char* const primary = libpq_.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  Fail(state, OneLine(primary != nullptr ? primary : libpq_.PQresultErrorMessage(result)), doing);
}

std::vector<SqlConnection::Row> PgConnection::Run(const std::string& sql) {
  // If a statement that was sent before has failed, its error is thrown here, and `sql` does not
  // run.
  if (!in_pipeline_.empty()) Await();
  DropResults();
  results_.push_back(libpq_.PQexec(connection_, sql.c_str()));
  Check(results_[0], sql);
  const PGresult* const result = results_[0];
  std::vector<Row> rows(static_cast<size_t>(libpq_.PQntuples(result)));
  const int columns = libpq_.PQnfields(result);
  for (size_t r = 0; r < rows.size(); ++r) {
    const int at = static_cast<int>(r);
    for (int c = 0; c < columns; ++c) {
      rows[r].emplace_back(libpq_.PQgetvalue(result, at, c),
                           static_cast<size_t>(libpq_.PQgetlength(result, at, c)));
    }
  }
  DropResults();
  return rows;
}

SqlStatement PgConnection::Prepare(const std::string& sql, size_t parameters, size_t columns) {
  if (!in_pipeline_.empty()) Await();
  DropResults();
  const auto statement = static_cast<SqlStatement>(statements_.size());
  std::string name = fmt::format("s{}", statement);
  results_.push_back(libpq_.PQprepare(connection_, name.c_str(), sql.c_str(),
                                      static_cast<int>(parameters), nullptr));
  Check(results_[0], sql);
  DropResults();
  statements_.push_back(sql);
  names_.push_back(std::move(name));
  return statement;
}

void PgConnection::Bind(std::span<const SqlParameter> parameters) {
  values_.clear();
  lengths_.clear();
  numbers_.assign(parameters.size(), 0);
  formats_.assign(parameters.size(), 1);  // binary format
  for (size_t i = 0; i < parameters.size(); ++i) {
    const SqlParameter& parameter = parameters[i];
    if (parameter.number) {
      numbers_[i] = htobe64(*parameter.number);
      values_.push_back(reinterpret_cast<const char*>(&numbers_[i]));
      lengths_.push_back(sizeof(uint64_t));
    } else {
      // libpq would take a null pointer for SQL's null.
      values_.push_back(parameter.bytes.empty() ? "" : parameter.bytes.data());
      lengths_.push_back(static_cast<int>(parameter.bytes.size()));
    }
  }
}

void PgConnection::Execute(SqlStatement statement, std::span<const SqlParameter> parameters) {
  if (!in_pipeline_.empty()) Await();
  DropResults();
  Bind(parameters);
  results_.push_back(libpq_.PQexecPrepared(connection_, names_[statement].c_str(),
                                           static_cast<int>(parameters.size()), values_.data(),
                                           lengths_.data(), formats_.data(), 1));
  Check(results_[0], statements_[statement]);
}

bool PgConnection::NextRow() {
  if (result_ >= results_.size() || row_ + 1 >= libpq_.PQntuples(results_[result_])) return false;
  ++row_;
  return true;
}

std::string_view PgConnection::Column(size_t column) const {
  const PGresult* const result = results_[result_];
  const int c = static_cast<int>(column);
  return {libpq_.PQgetvalue(result, row_, c),
          static_cast<size_t>(libpq_.PQgetlength(result, row_, c))};
}

void PgConnection::Enqueue(SqlStatement statement, std::span<const SqlParameter> parameters) {
  if (in_pipeline_.empty() && libpq_.PQenterPipelineMode(connection_) != 1) FailLost();
  Bind(parameters);
  in_pipeline_.push_back(statement);
  for (const SqlParameter& parameter : parameters) bytes_in_pipeline_ += parameter.bytes.size();
  if (libpq_.PQsendQueryPrepared(connection_, names_[statement].c_str(),
                                 static_cast<int>(parameters.size()), values_.data(),
                                 lengths_.data(), formats_.data(), 1) != 1) {
    FailLost();
  }
}

void PgConnection::Send(SqlStatement statement, std::span<const SqlParameter> parameters) {
  Enqueue(statement, parameters);
  if (in_pipeline_.size() >= kMostInPipeline || bytes_in_pipeline_ >= kMostBytesInPipeline) Await();
}

void PgConnection::Await() {
  if (in_pipeline_.empty()) return;
  EndPipeline(false);
}

void PgConnection::EndPipeline(bool keep) {
  DropResults();
  const std::vector<SqlStatement> sent = std::exchange(in_pipeline_, {});
  bytes_in_pipeline_ = 0;
  if (libpq_.PQpipelineSync(connection_) != 1) FailLost();
  size_t failed = sent.size();  // the first statement that failed; the server skips later ones
  for (size_t i = 0; i < sent.size(); ++i) {
    PGresult* const result = libpq_.PQgetResult(connection_);
    if (result == nullptr) FailLost();
    results_.push_back(result);
    const ExecStatusType status = libpq_.PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) failed = std::min(failed, i);
    if (libpq_.PQstatus(connection_) != CONNECTION_OK) Check(result, statements_[sent[i]]);
    if (PGresult* const end = libpq_.PQgetResult(connection_)) libpq_.PQclear(end);
  }
  const bool committed = TakeSync();
  if (libpq_.PQexitPipelineMode(connection_) != 1) FailLost();
  if (failed != sent.size()) Check(results_[failed], statements_[sent[failed]]);
  if (!committed) {
    Check(results_.back(), statements_[sent.back()]);
    FailLost();  // the answer was neither an error nor the end
  }
  if (!keep) DropResults();
}

// The server commits a statement outside of a transaction at the end of the pipeline, after it has
// answered the statement itself. So the commit can fail although all statements have succeeded.
bool PgConnection::TakeSync() {
  // An older library takes this error for the end of the pipeline, and drops the message of the
  // real end. Then the connection cannot be used any more.
  constexpr int kMostResults = 4;  // the error, a null pointer and the end
  bool committed = true;
  for (int i = 0; i < kMostResults; ++i) {
    PGresult* const result = libpq_.PQgetResult(connection_);
    if (result == nullptr) continue;
    if (libpq_.PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
      libpq_.PQclear(result);
      return committed;
    }
    results_.push_back(result);
    if (libpq_.PQstatus(connection_) != CONNECTION_OK) break;
    committed = false;
  }
  FailLost();
}

bool PgConnection::ExecuteForEach(SqlStatement statement, std::span<const std::string_view> keys) {
  Await();
  for (std::string_view key : keys) {
    const SqlParameter parameters[] = {{key, {}}};
    Enqueue(statement, parameters);
  }
  EndPipeline(true);
  return true;
}

void PgConnection::NextResult() {
  ++result_;
  row_ = -1;
}

}  // namespace testbed::postgres
