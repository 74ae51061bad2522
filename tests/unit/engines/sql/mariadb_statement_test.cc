// Tests what a connection makes of the answers of MariaDB's client library.
#include "engines/sql/mariadb_statement.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "device/error.h"
#ifdef TESTBED_HAVE_MYSQL
#include "engines/mysql/given_server.h"
#endif

namespace testbed {
namespace {

MYSQL connection;
unsigned code = 0;  // error code of the last call

MariadbCalls LibraryWithoutRows() {
  MariadbCalls calls;
  calls.mysql_init = [](MYSQL*) { return &connection; };
  calls.mysql_close = [](MYSQL*) {};
  calls.mysql_real_query = [](MYSQL*, const char*, unsigned long) { return 0; };
  calls.mysql_store_result = [](MYSQL*) -> MYSQL_RES* { return nullptr; };
  calls.mysql_errno = [](MYSQL*) { return code; };
  calls.mysql_error = [](MYSQL*) { return "Lost connection to server during query"; };
  return calls;
}

TEST(MariadbHandleTest, AResultThatIsCutOffIsNoEmptyResult) {
  const MariadbCalls calls = LibraryWithoutRows();
  MariadbHandle handle(calls, "mysql");
  code = 0;
  EXPECT_TRUE(handle.Query("BEGIN").empty());
  code = 2013;
  try {
    handle.Query("SELECT k FROM t");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "mysql: SELECT k FROM t: Lost connection to server during query (2013)");
  }
}

TEST(MariadbHandleTest, AWarningOfSomethingElseDoesNotSayThatATableExists) {
  const SqlConnection::Row exists = {"Note", "1050", "Table 't' already exists"};
  const SqlConnection::Row other = {"Warning", "1478", "InnoDB: ignoring KEY_BLOCK_SIZE=8."};
  EXPECT_TRUE(HasMadeTable({}));
  EXPECT_TRUE(HasMadeTable({other}));
  EXPECT_FALSE(HasMadeTable({exists}));
  EXPECT_FALSE(HasMadeTable({other, exists}));
}

// The server does not tell upper from lower case in the names of columns.
TEST(MariadbHandleTest, AnIndexIsNotTakenForAnotherColumnOfItsTable) {
  const std::vector<SqlConnection::Row> columns = {
      {"k", "varbinary(768)", "NO", "PRI", "", ""},
      {"v", "longblob", "NO", "", "", ""},
      {"a_k", "binary(4)", "YES", "MUL", "", "VIRTUAL GENERATED, INVISIBLE"}};
  EXPECT_TRUE(HasIndexColumn("mysql", columns, "`s`.`t`", "a_k"));
  EXPECT_FALSE(HasIndexColumn("mysql", columns, "`s`.`t`", "b_k"));
  for (const std::string name : {"k", "K", "V", "A_k"}) {
    try {
      HasIndexColumn("mysql", columns, "`s`.`t`", name);
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      EXPECT_EQ(std::string(e.what()).find("mysql cannot name an index '" + name + "'"), 0u);
    }
  }
}

#ifdef TESTBED_HAVE_MYSQL
// A release build of MariaDB has the option and does not tell it, so no server here can show it.
TEST(GivenServerSettingsTest, AServerThatSyncsNothingMakesNothingDurable) {
  mysql::Settings settings;
  settings.is_private = false;
  std::map<std::string, std::string> variables = {{"innodb_page_size", "16384"},
                                                  {"innodb_flush_method", "fsync"},
                                                  {"innodb_flush_log_at_trx_commit", "1"},
                                                  {"debug_no_sync", "OFF"}};
  settings.durability = Durability::kSync;
  mysql::CheckGivenServer(settings, {}, variables);
  variables["debug_no_sync"] = "ON";
  try {
    mysql::CheckGivenServer(settings, {}, variables);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("debug_no_sync = ON; give that server debug_no_sync = OFF"),
        std::string::npos)
        << error.what();
  }
}
#endif

}  // namespace
}  // namespace testbed
