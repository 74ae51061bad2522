// The sentences for what a library that maps its data file (lmdb, mdbx) reports by codes of its
// own. Codes of the system are told by Error::Io.
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
  kFailedBefore,     // the transaction had failed
  kStopped,          // an error has made the library take no more calls
  kOtherVersion,     // another version of the library wrote the file
  kDamaged,
  kOther,
};

struct MappedFailure {
  const char* engine;   // "mdbx"
  const char* library;  // what a sentence calls it: "libmdbx"
  std::string doing;    // what failed: "reading a row"
  std::string dir;      // of the database
  const char* text;     // what the library says of its code
};

// Returns the Error for what the library has reported.
Error MappedError(MappedFault fault, const MappedFailure& failure, const MappedSettings& settings);

}  // namespace testbed

#endif  // TESTBED_ENGINES_DATA_FILE_MAPPED_ERROR_H_
