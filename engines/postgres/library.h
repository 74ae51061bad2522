// LoadLibpq loads libpq, PostgreSQL's client library, at run time, so that testbed runs on a
// machine without it. The declarations come from libpq-fe.h (Debian: libpq-dev).
//
//   const Libpq& libpq = LoadLibpq();
//   if (libpq.PQstatus(connection) != CONNECTION_OK) Print(libpq.PQerrorMessage(connection));
#ifndef TESTBED_ENGINES_POSTGRES_LIBRARY_H_
#define TESTBED_ENGINES_POSTGRES_LIBRARY_H_

#include <libpq-fe.h>

namespace testbed::postgres {

#define TESTBED_LIBPQ_CALLS(call)                                                               \
  call(PQconnectdbParams) call(PQpingParams) call(PQfinish) call(PQstatus) call(PQerrorMessage) \
      call(PQsetNoticeProcessor) call(PQserverVersion) call(PQbackendPID) call(PQsocket)        \
          call(PQexec) call(PQprepare) call(PQexecPrepared) call(PQsendQueryPrepared)           \
              call(PQgetResult) call(PQclear) call(PQresultStatus) call(PQresultErrorField)     \
                  call(PQresultErrorMessage) call(PQntuples) call(PQnfields) call(PQgetvalue)   \
                      call(PQgetlength) call(PQenterPipelineMode) call(PQexitPipelineMode)      \
                          call(PQpipelineSync) call(PQconninfoParse) call(PQconninfoFree)       \
                              call(PQfreemem) call(PQhost) call(PQport)

// Libpq has a pointer to each function of the library that testbed calls.
struct Libpq {
#define TESTBED_DECLARE(name) decltype(&::name) name = nullptr;
  TESTBED_LIBPQ_CALLS(TESTBED_DECLARE)
#undef TESTBED_DECLARE
  bool counts_wire = false;  // whether libpq's bytes are counted (device/account/wire.h)
};

// Loads the library at its first call. Throws Error (kUsage), which says how to install the
// library, when it is not installed. Thread-safe.
const Libpq& LoadLibpq();

}  // namespace testbed::postgres

#endif  // TESTBED_ENGINES_POSTGRES_LIBRARY_H_
