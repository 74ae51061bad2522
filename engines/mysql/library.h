// LoadClient loads MariaDB's client library (Connector/C) at run time. The library's names stay
// hidden from the program, because the embedded server of the innodb engine has functions of the
// same names.
//
//   const Client& client = LoadClient();
//   MYSQL* connection = client.mysql_init(nullptr);
#ifndef TESTBED_ENGINES_MYSQL_LIBRARY_H_
#define TESTBED_ENGINES_MYSQL_LIBRARY_H_

#include <mysql.h>

#include "engines/sql/mariadb_statement.h"

namespace testbed::mysql {

#define TESTBED_CLIENT_CALLS(call)                                                        \
  call(mysql_get_server_version) call(mysql_get_socket) call(mysql_get_ssl_cipher)        \
      call(mysql_real_escape_string) call(mysql_send_query) call(mysql_read_query_result) \
          call(mysql_next_result)

// Client has a pointer to each function of the library that testbed calls.
struct Client : MariadbCalls {
#define TESTBED_DECLARE(name) decltype(&::name) name = nullptr;
  TESTBED_CLIENT_CALLS(TESTBED_DECLARE)
#undef TESTBED_DECLARE
  // counts_wire says whether the bytes of connections without TLS are counted
  // (device/account/wire.h), and counts_tls_wire whether those of connections with TLS are, for
  // which the TLS library may call the socket.
  bool counts_wire = false, counts_tls_wire = false;
};

// Loads the library at its first call. Throws Error (kUsage), which says how to install the
// library, when it is not installed. Thread-safe.
const Client& LoadClient();

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_LIBRARY_H_
