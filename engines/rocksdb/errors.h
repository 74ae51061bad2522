// This header converts between RocksDB's Status and testbed's Error. The file layer (device/)
// throws, but no exception may pass through RocksDB, and the engine's callers never see a Status.
#ifndef TESTBED_ENGINES_ROCKSDB_ERRORS_H_
#define TESTBED_ENGINES_ROCKSDB_ERRORS_H_

#include <rocksdb/io_status.h>
#include <rocksdb/status.h>

#include <exception>
#include <string>
#include <utility>

#include "device/error.h"

namespace testbed {

// Returns the status that tells RocksDB of an exception of the file layer. "No space", "not found"
// and corruption have statuses of their own, because RocksDB acts on them.
rocksdb::IOStatus ToIoStatus(const std::exception& exception);

// Runs `body` in a function that RocksDB calls. Returns OK, or the status of the exception that
// `body` threw.
template <typename Body>
rocksdb::IOStatus Guarded(Body&& body) {
  try {
    std::forward<Body>(body)();
    return rocksdb::IOStatus::OK();
  } catch (const std::exception& e) {
    return ToIoStatus(e);
  }
}

// Returns the error for a bad status. Its sentence is `what` ("rocksdb could not commit") followed
// by RocksDB's own message. Its kind is kCorruption for corruption, and otherwise kIo.
Error ToError(const rocksdb::Status& status, const std::string& what);

// Throws ToError(status, what) when the status is bad. Allocates nothing when it is good.
inline void Check(const rocksdb::Status& status, const char* what) {
  if (!status.ok()) [[unlikely]]
    throw ToError(status, what);
}

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_ERRORS_H_
