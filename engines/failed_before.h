// FailedBefore is the error of a transaction in which a write has failed: by the rule of Session
// (engines/engine.h) nothing of it may be committed. A library or a server may have rolled back
// that write alone or the whole transaction, and would take later writes for a transaction of their
// own.
//
//   if (failed_) throw FailedBefore("innodb");   // in a write, and in Commit after its rollback
#ifndef TESTBED_ENGINES_FAILED_BEFORE_H_
#define TESTBED_ENGINES_FAILED_BEFORE_H_

#include <string>

#include "device/error.h"

namespace testbed {

// Returns the Error (kRun); `engine` begins its sentence.
inline Error FailedBefore(const std::string& engine) {
  return Error(Error::kRun, engine +
                                ": a write of this transaction has failed before, so nothing of "
                                "it is kept: roll it back");
}

}  // namespace testbed

#endif  // TESTBED_ENGINES_FAILED_BEFORE_H_
