// Several databases of one engine that look like one: each has its own files, log and share of the
// cache, and tables are spread over them. Where an engine has a lock, a log or a checkpoint for a
// database, this shows what it costs that all clients share it.
//
//   std::unique_ptr<Engine> engine = OpenDatabases("btree", dir, options, 10);   // DIR/0 ... DIR/9
//   engine->OpenTable("pi3");          // in DIR/2
//   engine->OpenTable("pi3_market");   // there too
//
// A table stands in the database of the first number in its name, counted from 1 and beginning anew
// after the last database; a table without one stands in the first. So a client's tables are
// together when its number is in their names. A transaction stays within one database: a write to
// another throws Error (kUsage).
#ifndef TESTBED_ENGINES_DATABASES_H_
#define TESTBED_ENGINES_DATABASES_H_

#include <memory>
#include <string>

#include "engines/engine.h"

namespace testbed {

// With `count` 1 it is OpenEngine (registry.h), whose errors these are. `cache_bytes` and
// `ram_bytes` of the options are those of all together.
std::unique_ptr<Engine> OpenDatabases(const std::string& name, const std::string& dir,
                                      const EngineOptions& options, uint32_t count);

// Which of `count` databases a table stands in.
uint32_t DatabaseOfTable(const std::string& table, uint32_t count);

}  // namespace testbed

#endif  // TESTBED_ENGINES_DATABASES_H_
