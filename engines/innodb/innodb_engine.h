// InnoDB, by MariaDB's embedded library (docs/innodb.md). The library is loaded when a database is
// opened; without it the engine says how to get it.
#ifndef TESTBED_ENGINES_INNODB_INNODB_ENGINE_H_
#define TESTBED_ENGINES_INNODB_INNODB_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo InnodbEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_INNODB_INNODB_ENGINE_H_
