// This header makes the sentences for the errors that a library reports by codes of its own when it
// maps its data file (lmdb, mdbx). Error::Io makes those for codes of the system.
#ifndef TESTBED_ENGINES_DATA_FILE_MAPPED_ERROR_H_
#define TESTBED_ENGINES_DATA_FILE_MAPPED_ERROR_H_

#include <cstdint>
#include <string>

#include "device/error.h"
#include "engines/data_file/mapped_settings.h"

namespace testbed {

enum class MappedFault : uint8_t {
  kMapFull,          // the database has grown to map_size
  kTablesFull,       // there are more tables than max_tables
  kReadersFull,      // there are more readers than max_readers
  kTransactionFull,  // the transaction has changed too many pages
  kFailedBefore,     // the transaction has failed before
  kStopped,          // the library takes no more calls after an error
  kOtherVersion,     // another version of the library wrote the file
  kDamaged,
  kOther,
};

struct MappedFailure {
  const char* engine;   // "mdbx"
  const char* library;  // name of the library in sentences: "libmdbx"
  std::string doing;    // what the engine was doing: "reading a row"
  std::string dir;      // directory of the database
  const char* text;     // the library's own text for its code
};

// Returns the Error for what the library has reported.
Error MappedError(MappedFault fault, const MappedFailure& failure, const MappedSettings& settings);

}  // namespace testbed

#endif  // TESTBED_ENGINES_DATA_FILE_MAPPED_ERROR_H_
