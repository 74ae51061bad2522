// MariaDB's client library (Connector/C), loaded at run time. Its names stay out of the program's:
// the embedded server of the innodb engine has functions of the same names.
//
//   const Client& client = LoadClient();
//   MYSQL* connection = client.mysql_init(nullptr);
#ifndef TESTBED_ENGINES_MYSQL_LIBRARY_H_
#define TESTBED_ENGINES_MYSQL_LIBRARY_H_

#include <mysql.h>

namespace testbed::mysql {

#define TESTBED_CLIENT_CALLS(call)                                                                 \
  call(mysql_init) call(mysql_options) call(mysql_real_connect) call(mysql_close)                  \
      call(mysql_real_query) call(mysql_store_result) call(mysql_free_result)                      \
          call(mysql_fetch_row) call(mysql_fetch_lengths) call(mysql_num_fields) call(mysql_errno) \
              call(mysql_error) call(mysql_get_server_version) call(mysql_stmt_init)               \
                  call(mysql_stmt_prepare) call(mysql_stmt_bind_param)                             \
                      call(mysql_stmt_bind_result) call(mysql_stmt_execute) call(mysql_stmt_fetch) \
                          call(mysql_stmt_fetch_column) call(mysql_stmt_free_result)               \
                              call(mysql_stmt_close) call(mysql_stmt_errno) call(mysql_stmt_error)

// Client has a pointer to each function of the library that testbed calls.
struct Client {
#define TESTBED_DECLARE(name) decltype(&::name) name = nullptr;
  TESTBED_CLIENT_CALLS(TESTBED_DECLARE)
#undef TESTBED_DECLARE
};

// Loads the library at its first call. Throws Error (kUsage), which says how to install the library,
// when it is not installed. Thread-safe.
const Client& LoadClient();

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_LIBRARY_H_
