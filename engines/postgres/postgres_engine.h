// The postgres engine implements Engine with PostgreSQL, through its client library, on a server
// that the run starts for itself (engines/postgres/server.h) or on one that runs already
// (--engine-option connect=URL).
#ifndef TESTBED_ENGINES_POSTGRES_POSTGRES_ENGINE_H_
#define TESTBED_ENGINES_POSTGRES_POSTGRES_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo PostgresEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_POSTGRES_POSTGRES_ENGINE_H_
