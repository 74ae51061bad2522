// The mysql engine implements Engine with MariaDB, through its client library. The server is one
// that the run starts for itself (engines/mysql/server.h), or one that runs already
// (--engine-option connect=URL). InnoDB keeps the tables, or MyRocks in a private server
// (engines/mysql/myrocks.h).
#ifndef TESTBED_ENGINES_MYSQL_MYSQL_ENGINE_H_
#define TESTBED_ENGINES_MYSQL_MYSQL_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo MysqlEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_MYSQL_MYSQL_ENGINE_H_
