// In place of sqlite_file.cc in a build without SQLite's library.
#include "device/error.h"
#include "tools/results/sqlite_file.h"

namespace testbed {

bool HasSqlite() { return false; }

std::unique_ptr<SqliteFile> SqliteFile::Open(const std::string& path, Access access) {
  throw Error(
      Error::kUsage,
      "this build of testbed has no SQLite, in whose files `testbed results` keeps results; "
      "install the library (Debian: libsqlite3-dev) and build again, without "
      "-DTESTBED_SQLITE=OFF");
}

}  // namespace testbed
