// Tests what the opening of an sqlite database says of a file that cannot be read, and how long its
// write-ahead log becomes.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
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

// Each transaction is longer than the distance between checkpoints. An earlier version took each
// checkpoint when the log had a transaction more than at the one before.
TEST(SqliteDatabaseTest, TheLogOfLongTransactionsStaysShort) {
  std::string pattern = fs::current_path() / "sqlite_database_XXXXXX";
  const std::string dir = ::mkdtemp(pattern.data());
  {
    EngineOptions options = DefaultEngineOptions(FindEngine("sqlite"));
    options.durability = Durability::kNone;
    options.extra["checkpoint_log_bytes"] = "64k";
    const std::unique_ptr<Engine> engine = OpenEngine("sqlite", dir, options);
    const TableId table = engine->OpenTable("t");
    const std::unique_ptr<Session> session = engine->NewSession();
    for (int transaction = 0; transaction < 200; ++transaction) {
      const std::string value(500, static_cast<char>('a' + transaction % 26));
      session->Begin();
      for (int row = 1000; row < 1400; ++row) session->Put(table, std::to_string(row), value);
      session->Commit();
    }
    const uintmax_t bytes = fs::file_size(sqlite::WalFile(dir));
    EXPECT_GT(bytes, 200'000u);
    EXPECT_LT(bytes, 2'000'000u);
  }
  fs::remove_all(dir);
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_SQLITE
