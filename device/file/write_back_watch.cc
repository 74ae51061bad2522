#include "device/file/write_back_watch.h"

#include <exception>

namespace testbed {

WriteBackWatch::WriteBackWatch(const std::string& path, FileKind kind) {
  FileOptions options;
  options.kind = kind;
  options.read_only = true;
  file_ = File::Open(path, options);
}

void WriteBackWatch::Check() {
  LockGuard lock(mutex_);
  if (!failed_) {
    try {
      file_->CheckWriteBack();
    } catch (const std::exception& error) {
      failed_ = Error::Of(error);  // the system reports the failure only once
    }
  }
  if (failed_) throw Error(*failed_);
}

}  // namespace testbed
