// Tests what the opening of an sqlite database says of a file that cannot be read.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "device/error.h"
#include "engines/registry.h"

#ifdef TESTBED_HAVE_SQLITE
#include "engines/sqlite/database.h"
#include "engines/sqlite/settings.h"
#include "engines/sqlite/vfs.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// Returns the number of the error with which the database is not opened.
int ErrorOfOpening(const std::string& dir, bool create) {
  EngineOptions options = DefaultEngineOptions(FindEngine("sqlite"));
  options.create = create;
  try {
    const sqlite::Database database(dir, sqlite::MakeSettings(options));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kIo) << error.what();
    EXPECT_NE(std::string(error.what()).find(sqlite::DatabaseFile(dir)), std::string::npos)
        << error.what();
    return error.code();
  }
  return 0;
}

// A directory in place of the file can be opened, but not read, by root too.
TEST(SqliteDatabaseTest, AFileThatCannotBeReadIsNotEmpty) {
  std::string pattern = fs::current_path() / "sqlite_database_XXXXXX";
  const std::string dir = ::mkdtemp(pattern.data());
  fs::create_directory(sqlite::DatabaseFile(dir));
  for (const bool create : {false, true}) EXPECT_EQ(ErrorOfOpening(dir, create), EISDIR) << create;
  fs::remove(sqlite::DatabaseFile(dir));
  if (::geteuid() != 0) {
    std::ofstream(sqlite::DatabaseFile(dir)) << std::string(4096, 'x');
    fs::permissions(sqlite::DatabaseFile(dir), fs::perms::none);
    for (const bool create : {false, true})
      EXPECT_EQ(ErrorOfOpening(dir, create), EACCES) << create;
  }
  fs::remove_all(dir);
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_SQLITE
