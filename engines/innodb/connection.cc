#include "engines/innodb/connection.h"

#include "engines/sql/mariadb_settings.h"

namespace testbed::innodb {

Connection::Connection(const Library* library, const char* database)
    : MariadbHandle(*library->operator->(), "innodb"), library_(*library) {
  library_->mysql_options(handle(), MYSQL_OPT_USE_EMBEDDED_CONNECTION, nullptr);
  if (library_->mysql_real_connect(handle(), nullptr, nullptr, nullptr, database, 0, nullptr, 0) ==
      nullptr) {
    FailLast("connecting");
  }
  Run(std::string("SET SESSION ") + mariadb::kCommitsOfSession);
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
