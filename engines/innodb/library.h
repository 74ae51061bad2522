// A Library is MariaDB's embedded server library, loaded at run time.
//
// testbed does not link the library, which is GPL-2.0-only: parts of testbed are under Apache-2.0
// (THIRD_PARTY.md), and version 2 of the GPL does not permit both licences in one program. So a
// machine without it can build and run testbed, too. The main process never loads it: a run loads
// it in its child process (tools/run/run_child.h). The declarations come from mysql.h of
// Connector/C (LGPL, Debian: libmariadb-dev), which has the same structures.
//
// The library can start only one server in the life of a process, and it cannot be unloaded. So
// each Library object loads a copy of its own: the first object loads the file, and each further
// object loads a copy of the file in memory, whose 24 MB stay until the process ends.
//
//   std::unique_ptr<Library> library = Library::Load();
//   (*library)->mysql_server_init(argc, argv, groups);
#ifndef TESTBED_ENGINES_INNODB_LIBRARY_H_
#define TESTBED_ENGINES_INNODB_LIBRARY_H_

#include <mysql.h>

#include <memory>
#include <string>

#include "engines/sql/mariadb_statement.h"

namespace testbed::innodb {

// These are the functions that the embedded library has and the client library lacks.
#define TESTBED_EMBEDDED_CALLS(call)                                                            \
  call(mysql_server_init) call(mysql_server_end) call(mysql_thread_init) call(mysql_thread_end) \
      call(mysql_get_client_info) call(mysql_commit) call(mysql_rollback)

// Calls has a pointer to each function of the library that testbed calls.
struct Calls : MariadbCalls {
#define TESTBED_DECLARE(name) decltype(&::name) name = nullptr;
  TESTBED_EMBEDDED_CALLS(TESTBED_DECLARE)
#undef TESTBED_DECLARE
};

class Library {
 public:
  // Loads a copy of the library. Throws Error (kUsage), which says how to install the library, when
  // it is not installed. Thread-safe.
  static std::unique_ptr<Library> Load();
  // Returns an empty string when the library is installed, else a sentence that says how to install
  // it. Loads nothing.
  static std::string Missing();
  // Loads the file of the library, which the first Load then takes. Does nothing when it is not
  // installed.
  static void ReadCode();

  const Calls* operator->() const { return &calls_; }

 private:
  Library() = default;
  Calls calls_;
};

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_LIBRARY_H_
