// A ServerHome does what the private servers of all engines have in common: a server has its data
// directory and its messages in the directory of the run's database, listens at a Unix socket in
// the data directory, and ends with its owner.
//
// A class of a server derives from it. Its constructor calls HoldCluster once the data directory is
// there, then Launch, and waits by WaitAMoment until the server listens. When that constructor
// throws, the destructor of the ServerHome ends what was started.
#ifndef TESTBED_ENGINES_SQL_SERVER_HOME_H_
#define TESTBED_ENGINES_SQL_SERVER_HOME_H_

#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "device/account/operations.h"
#include "device/error.h"
#include "device/os/server_process.h"
#include "engines/sql/file_watch.h"

namespace testbed {

// Not thread-safe. Only the main thread makes a ServerHome (device/os/server_process.h).
class ServerHome {
 public:
  ServerHome(const ServerHome&) = delete;
  ServerHome& operator=(const ServerHome&) = delete;

  // Says that a new database is complete. Without this call the destructor removes it.
  void Keep() { discard_ = false; }

 protected:
  // `end_signal` is the signal that asks the server to end in order. Throws Error (kUsage) when the
  // database is new and there are already files in the place of its data directory.
  ServerHome(std::string dir, bool is_new, int end_signal);
  // Ends the server in order, which may take ten minutes. Removes a new database and its messages
  // if MayDiscard was called and Keep was not. What the file of messages had before stays.
  ~ServerHome();

  const std::string& dir() const { return dir_; }
  std::string cluster() const { return dir_ + "/cluster"; }  // path of the data directory
  std::string log() const { return dir_ + "/server.log"; }   // path of its messages

  // Says that a new database may have files from now on, and is to be removed unless it is kept.
  void MayDiscard() { discard_ = is_new_; }
  // Opens the data directory. Throws Error (kIo).
  void HoldCluster();
  int cluster_fd() const { return cluster_fd_; }
  // Returns a short path to the data directory, however long its own path is: the path of a Unix
  // socket has 107 bytes at most. The short path is valid in this process, after HoldCluster.
  std::string ShortCluster() const;

  // Removes the socket that a killed server has left, since it would look as if the new server
  // listened. Then starts the server. Throws Error (kIo).
  void Launch(const ServerCommand& command, const std::string& socket);
  bool HasEnded() { return process_->Ended(); }
  pid_t pid() const { return process_->pid(); }  // id of the server, after Launch
  // Returns whether the server has made the socket.
  bool HasSocket(const std::string& socket) const;
  // Tells the ledger the kinds of the server's files. `kind` gets their paths in the data
  // directory.
  void WatchFiles(const std::function<FileKind(const std::string& path)>& kind);
  // Waits a moment while the server starts. Throws Stopped when the run should end.
  static void WaitAMoment();

  // Returns a stream of the messages since this object was made.
  std::ifstream Messages() const;
  // Returns whether the messages say that the server's disk is full.
  static bool SaysFull(const std::string& messages);
  // Returns the Error with this sentence for a server that has failed. If `full` is set, it is the
  // error of a full disk, and otherwise one of `kind` with `code`.
  static Error Failure(bool full, Error::Kind kind, const std::string& sentence, int code = 0);

 private:
  const std::string dir_;
  const bool is_new_;
  const int end_signal_;
  bool discard_ = false;
  int cluster_fd_ = -1;
  uint64_t log_begin_ = 0;  // size of the messages' file when this object was made
  std::unique_ptr<ServerProcess> process_;
  std::unique_ptr<FileWatch> files_;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_SERVER_HOME_H_
