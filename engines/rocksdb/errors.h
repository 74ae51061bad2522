// Between RocksDB's Status and testbed's Error: device/ throws, RocksDB must never see an
// exception, and the engine's callers must never see a Status.
#ifndef TESTBED_ENGINES_ROCKSDB_ERRORS_H_
#define TESTBED_ENGINES_ROCKSDB_ERRORS_H_

#include <rocksdb/io_status.h>
#include <rocksdb/status.h>

#include <exception>
#include <string>
#include <utility>

#include "device/error.h"

namespace testbed {

// What RocksDB is told of an exception of the file layer: "no space" and "not found" stay what they
// are, because RocksDB acts on them.
rocksdb::IOStatus ToIoStatus(const std::exception& exception);

// Runs `body`, which may throw, for a function that RocksDB calls.
template <typename Body>
rocksdb::IOStatus Guarded(Body&& body) {
  try {
    std::forward<Body>(body)();
    return rocksdb::IOStatus::OK();
  } catch (const std::exception& e) {
    return ToIoStatus(e);
  }
}

// A sentence that begins with `what` failed ("rocksdb could not commit") and carries RocksDB's own
// words; corruption is kCorruption, all else kIo.
Error ToError(const rocksdb::Status& status, const std::string& what);

// Throws ToError when the status is bad. The text is built only then: cheap on the hot path.
inline void Check(const rocksdb::Status& status, const char* what) {
  if (!status.ok()) [[unlikely]]
    throw ToError(status, what);
}

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_ERRORS_H_
