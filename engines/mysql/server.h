// A PrivateServer is a MariaDB server of the run's own. It works in the run's directory, listens
// only on a Unix socket there, and ends with this process, however the process ends.
//
//   PrivateServer server(dir, settings, /*is_new=*/true);
//   ConnectOptions options = server.connect();
//
// DIR/cluster is the server's data directory, which only its owner may enter. DIR/server.log has
// the server's messages. The server has no users and no tables of privileges, so that it is made in
// a second.
//
// A server that writes a binary log waits, when its disk is full, until somebody has freed space,
// and answers no client. Its messages alone tell that. A thread reads them and then kills the
// server, so that its clients get an error: that of a full disk.
#ifndef TESTBED_ENGINES_MYSQL_SERVER_H_
#define TESTBED_ENGINES_MYSQL_SERVER_H_

#include <string>
#include <thread>
#include <vector>

#include "engines/mysql/connection.h"
#include "engines/mysql/settings.h"
#include "engines/sql/server_home.h"

namespace testbed::mysql {

// Not thread-safe. Only the main thread makes one (device/os/server_process.h).
class PrivateServer : public ServerHome {
 public:
  // Starts the server, after making its directory if `is_new`. Throws Error with the server's
  // complaint when it does not start.
  PrivateServer(const std::string& dir, const Settings& settings, bool is_new);
  // Ends the server in order: all that was committed is then on disk.
  ~PrivateServer();

  ConnectOptions connect() const;
  // Syncs the log files, which the server has written. Throws Error (kIo). Thread-safe.
  void SyncLog() const;

 private:
  // Throws Error when files are missing, or are of another storage engine or version.
  void CheckFiles() const;
  void CheckVersion() const;
  void OpenLogs();
  int LogFiles() const;  // how many the log has
  std::string LogFile(int number) const {
    return cluster() + "/ib_logfile" + std::to_string(number);
  }
  void Start();
  void WaitForStart();
  void AwaitAnswer();
  std::string Complaint() const;
  // Returns whether the server waits for space, or did so when it was killed.
  bool WaitsForSpace() const;
  // Kills the server if it waits for space. Returns whether it does.
  bool KillIfItWaits() const;
  void WatchForWaits();
  [[noreturn]] void FailToStart() const;

  const Settings settings_;
  struct OpenFiles {
    ~OpenFiles();
    std::vector<int> fds;
  };
  OpenFiles logs_;  // of InnoDB
  // The thread that calls KillIfItWaits, which ends before all else of the object.
  struct WaitWatch {
    ~WaitWatch();
    int stop = -1;  // eventfd that ends the thread
    std::thread thread;
  };
  WaitWatch watch_;
};

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_SERVER_H_
