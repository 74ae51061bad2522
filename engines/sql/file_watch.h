// A FileWatch tells the ledger the kind of each file of a server, including files that the server
// makes later, so that the kernel account can class their blocks.
//
//   FileWatch watch(dir, [](const std::string& path) { return KindOf(path); });
//
// The IO of a server's files does not go through device/file/file.h. A FileWatch enters all files
// that exist when it begins, and then follows the directories by inotify on a thread of its own. A
// new file is known within microseconds; its first blocks are written after that. When a server
// makes files faster than inotify can queue them, the FileWatch enters all files once more.
#ifndef TESTBED_ENGINES_SQL_FILE_WATCH_H_
#define TESTBED_ENGINES_SQL_FILE_WATCH_H_

#include <unistd.h>

#include <functional>
#include <map>
#include <string>
#include <thread>

#include "device/account/operations.h"

namespace testbed {

// Thread-safe.
namespace sql {

// An OwnedDescriptor closes its descriptor at the end of its life, also when an exception passes.
struct OwnedDescriptor {
  // A negative number stands for no descriptor, as open(2) returns it.
  explicit OwnedDescriptor(int number) : fd(number) {}
  ~OwnedDescriptor() {
    if (fd >= 0) ::close(fd);
  }
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;

  const int fd;
};

}  // namespace sql

class FileWatch {
 public:
  // `kind` returns the kind of a file by its path relative to `dir`. The FileWatch's own thread
  // calls it, too. Throws Error (kIo) when the system gives no inotify.
  FileWatch(std::string dir, std::function<FileKind(const std::string& path)> kind);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

 private:
  void Enter(const std::string& path);
  // Tells the ledger all files in the directory, whose path is relative to dir_, and watches it and
  // the directories in it.
  void EnterDirectory(const std::string& path);
  void Follow();

  const std::string dir_;
  const std::function<FileKind(const std::string& path)> kind_;
  std::map<int, std::string>
      watched_;  // directory by inotify's number; after the start only Follow's thread uses it
  const sql::OwnedDescriptor inotify_;
  const sql::OwnedDescriptor stop_;  // eventfd that tells the thread to end
  std::thread thread_;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_FILE_WATCH_H_
