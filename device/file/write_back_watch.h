// A WriteBackWatch tells whether the system has failed to write pages of a file back.
//
// Unless IO is direct, the system writes dirty pages back when it likes. When that fails, the
// system marks the pages clean all the same and may drop them, and a read then returns what the
// device held before. Only the next sync would report it. A caller who has read a page that was
// written since the last sync calls Check afterwards: if it does not throw, the read returned what
// was written last.
//
//   WriteBackWatch watch(path, FileKind::kData);  // before anything is written
//   ... read ...
//   watch.Check();  // throws Error (kIo) from the first failure on
//
// On overlayfs, as in the root of a container, Check never throws: the system asks the overlay's
// own pages, and there are none (IsOnOverlay, page_cache.h). Only the next sync reports the
// failure.
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
