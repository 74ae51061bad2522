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
// When its disk is full, a server that writes a binary log waits until somebody has freed space,
// and answers no client. Only its messages tell that it waits. A thread reads the messages and then
// kills the server, so that its clients get the error of a full disk.
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
  // Ends the server in order. All committed transactions are on disk afterwards.
  ~PrivateServer();

  ConnectOptions connect() const;
  // Syncs the log files, which the server has written. Throws Error (kIo). Thread-safe.
  void SyncLog() const;

 private:
  // Throws Error when files are missing, or are of another storage engine or version.
  void CheckFiles() const;
  void CheckVersion() const;
  void OpenLogs();
  int LogFiles() const;  // number of files of the log
  std::string LogFile(int number) const {
    return cluster() + "/ib_logfile" + std::to_string(number);
  }
  void Start();
  void WaitForStart();
  void AwaitAnswer();
  // Returns the error in the server's messages that tells most; an empty string when there is none,
  // as after a kill. Complaint returns words in its place.
  std::string LastError() const;
  std::string Complaint() const;
  // Returns whether the server waits for space, or waited for it when it was killed.
  bool WaitsForSpace() const;
  // Kills the server if it waits for space. Returns whether it has killed the server.
  bool KillIfItWaits() const;
  void WatchForWaits();
  [[noreturn]] void FailToStart() const;

  const Settings settings_;
  struct OpenFiles {
    ~OpenFiles();
    std::vector<int> fds;
  };
  OpenFiles logs_;  // InnoDB's log files
  // The thread of a WaitWatch calls KillIfItWaits. It ends before the other members are destroyed.
  struct WaitWatch {
    ~WaitWatch();
    int stop = -1;  // eventfd that tells the thread to end
    std::thread thread;
  };
  WaitWatch watch_;
};

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_SERVER_H_
