// Changes the size of the buffer pool of a server while sessions use it.
#ifndef TESTBED_ENGINES_INNODB_POOL_RESIZE_H_
#define TESTBED_ENGINES_INNODB_POOL_RESIZE_H_

#include <chrono>
#include <cstdint>

#include "engines/sql/mariadb_pages.h"

namespace testbed::innodb {

// This is how long ResizePool tries. The server itself gives up a shrink when it has freed no page
// for 15 s.
inline constexpr std::chrono::milliseconds kResizePatience(120'000);

// Sets the size in bytes of the buffer pool, and returns when the pool has it. `ask` runs a
// statement and returns its rows. Throws Error (kRun) when the server has given up each shrink that
// began within `patience`, or when the server's state of the resize has not changed for `patience`.
// Throws Stopped when the run should end. None of its statements waits until sessions pause.
void ResizePool(const mariadb::Ask& ask, uint64_t bytes,
                std::chrono::milliseconds patience = kResizePatience);

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_POOL_RESIZE_H_
