// Asks whether the system has failed to write pages of a file back.
//
// Unless IO is direct, the system writes dirty pages back when it likes. When it fails, it takes them
// for clean all the same, may drop them, and a read then returns what the device had before. Only the
// next sync would tell. So who has read a page that was written since the last sync, and finds no
// error in Check after it, has read what was written last.
//
//   WriteBackWatch watch(path, FileKind::kData);  // before anything is written
//   ... read ...
//   watch.Check();  // throws Error (kIo) from the first failure on
//
// It has a descriptor of its own, because the system tells each descriptor once. Thread-safe.
#ifndef TESTBED_DEVICE_FILE_WRITE_BACK_WATCH_H_
#define TESTBED_DEVICE_FILE_WRITE_BACK_WATCH_H_

#include <memory>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/file/file.h"
#include "device/os/mutex.h"

namespace testbed {

class WriteBackWatch {
 public:
  WriteBackWatch(const std::string& path, FileKind kind);
  void Check();

 private:
  std::unique_ptr<File> file_;
  Mutex mutex_;
  std::optional<Error> failed_ GUARDED_BY(mutex_);
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_WRITE_BACK_WATCH_H_
