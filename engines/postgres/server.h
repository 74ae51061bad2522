// A PrivateServer is a PostgreSQL server of the run's own. It works in the run's directory, listens
// only on a Unix socket there, and ends with this process, however the process ends.
//
//   PrivateServer server(dir, settings, /*is_new=*/true);
//   ConnectOptions options = server.connect();
//
// DIR/cluster is the server's data directory, and DIR/server.log has the server's messages. The
// server admits only the user of this process. PostgreSQL refuses to run as root: for root the
// server runs as the user postgres, or nobody, without any of root's rights, and the cluster
// belongs to that user.
//
// Making a cluster takes seconds. When the environment variable TESTBED_SERVER_TEMPLATES names a
// directory, a new cluster is kept there, and later ones are copies of it, which are not synced.
// Tests use that, as they make many clusters.
#ifndef TESTBED_ENGINES_POSTGRES_SERVER_H_
#define TESTBED_ENGINES_POSTGRES_SERVER_H_

#include <optional>
#include <string>

#include "device/account/operations.h"
#include "device/os/server_process.h"
#include "engines/postgres/connection.h"
#include "engines/postgres/settings.h"
#include "engines/sql/server_home.h"

namespace testbed::postgres {

// Returns the kind of a file by its path in the cluster.
FileKind KindOfClusterFile(const std::string& path);

// Not thread-safe. Only the main thread makes one (device/os/server_process.h).
class PrivateServer : public ServerHome {
 public:
  // Starts the server, after making the cluster if `is_new`. Throws Error with the server's
  // complaint when it does not start.
  PrivateServer(const std::string& dir, const Settings& settings, bool is_new);
  // Ends the server in order. All committed transactions are on disk afterwards.
  ~PrivateServer() = default;

  ConnectOptions connect() const;

 private:
  ServerCommand Command(const std::string& program, const std::string& directory) const;
  // Throws Error (kUsage) when the cluster was made by a version with another format of files.
  void CheckVersion() const;
  void MakeCluster();
  void InitDb(const std::string& directory);
  void CopyTemplate(const std::string& templates);
  void Own(const std::string& directory) const;
  void AdmitThisUserAlone() const;
  // Replaces a file of the cluster. Throws Error (kIo).
  void WriteInCluster(const std::string& name, const std::string& line) const;
  void Start();
  // Starts the server's process, and waits until it listens.
  void LaunchAndWait(const ServerCommand& command);
  void AwaitAnswer();
  [[noreturn]] void FailToOpen() const;
  // Returns the last error that ended a process of the server since this object was made. If there
  // is none and `or_any` is set, returns the last error of a statement or of initdb, or else the
  // last line. Otherwise returns an empty string, because a connection goes on after an error of a
  // statement.
  std::string LastError(bool or_any) const;
  // Returns what LastError returns with `or_any`, or else a sentence which says that there is no
  // message.
  std::string Complaint() const;

  const Settings settings_;
  std::optional<ProgramUser> user_;
};

}  // namespace testbed::postgres

#endif  // TESTBED_ENGINES_POSTGRES_SERVER_H_
