#include "engines/rocksdb/errors.h"

#include <algorithm>
#include <cerrno>

namespace testbed {

rocksdb::IOStatus ToIoStatus(const std::exception& exception) {
  const auto* error = dynamic_cast<const Error*>(&exception);
  if (error == nullptr) return rocksdb::IOStatus::IOError(SentenceOf(exception));
  if (error->kind() == Error::kCorruption) return rocksdb::IOStatus::Corruption(error->what());
  switch (error->code()) {
    case ENOSPC:
    case EDQUOT:
      return rocksdb::IOStatus::NoSpace(error->what());
    case ENOENT:
      return rocksdb::IOStatus::PathNotFound(error->what());
    default:
      return rocksdb::IOStatus::IOError(error->what());
  }
}

Error ToError(const rocksdb::Status& status, const std::string& what) {
  std::string sentence = what + ": " + status.ToString();
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  if (status.IsCorruption()) {
    return Error(Error::kCorruption, sentence + "; the database is damaged: load it anew");
  }
  return Error(Error::kIo, sentence, status.IsNoSpace() ? ENOSPC : EIO);
}

}  // namespace testbed
