#include "engines/innodb/connection.h"

#include "device/lower_case.h"

namespace testbed::innodb {

Connection::Connection(const Library* library, const char* database)
    : MariadbHandle(*library->operator->(), "innodb"), library_(*library) {
  library_->mysql_options(handle(), MYSQL_OPT_USE_EMBEDDED_CONNECTION, nullptr);
  if (library_->mysql_real_connect(handle(), nullptr, nullptr, nullptr, database, 0, nullptr, 0) ==
      nullptr) {
    FailLast("connecting");
  }
}

bool Connection::HasIndexColumn(const std::string& table, const std::string& name) {
  constexpr size_t kName = 0, kExtra = 5;  // fields of an answer
  for (const Row& column : Run("SHOW COLUMNS FROM " + table)) {
    // The columns of indexes are virtual, and those of rows are not.
    if (column[kName] == name && Says(column[kExtra], "VIRTUAL")) return true;
    if (LowerCase(column[kName]) != LowerCase(name)) continue;
    throw Error(Error::kUsage, "innodb cannot name an index '" + name + "': table " + table +
                                   " has a column " + column[kName] +
                                   ", and the server does not tell upper from lower case; give "
                                   "the index another name");
  }
  return false;
}

void Connection::Commit() {
  if (library_->mysql_commit(handle()) != 0) FailLast("committing");
}

void Connection::Rollback() {
  if (library_->mysql_rollback(handle()) != 0) FailLast("rolling back");
}

void Connection::FailAsEngine(unsigned code, const std::string& message,
                              const std::string& doing) const {
  // An error with which InnoDB refuses a commit counts as damage.
  if (code == ER_ERROR_DURING_COMMIT) {
    throw Error(Error::kCorruption,
                "innodb: " + doing + ": " + message + " (" + std::to_string(code) + ")");
  }
}

}  // namespace testbed::innodb
