// InspectDatabase looks into a database that is not open (engines/inspect.h), reading every byte
// that its newest header vouches for: the translation table, each node's header and parts, and the
// log behind it.
//
// InspectDatabase checks: checksums; that no two extents overlap; that each block is reached from
// exactly one parent; heights; that pivots, rows and messages are in order and inside the range
// that the parents give their node; that no message is newer than its node says, or than the log;
// and that every record of the log is well-formed. A block that is not reached is a fault, and a
// header slot that a crash tore is a note.
#ifndef TESTBED_ENGINES_FRACTAL_CHECK_H_
#define TESTBED_ENGINES_FRACTAL_CHECK_H_

#include <string>

#include "engines/inspect.h"

namespace testbed::fractal {

Inspection InspectDatabase(const std::string& dir, const InspectOptions& options);

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_CHECK_H_
