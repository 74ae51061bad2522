// The innodb engine implements Engine with the InnoDB of MariaDB's embedded server library
// (docs/engines/innodb.md). The library is loaded when a database is opened. Without the library,
// opening throws Error (kUsage), which says how to install it.
#ifndef TESTBED_ENGINES_INNODB_INNODB_ENGINE_H_
#define TESTBED_ENGINES_INNODB_INNODB_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo InnodbEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_INNODB_INNODB_ENGINE_H_
