// The engine options of the log layer (device/log/log.h), for the engines that keep their log in it, so
// that they name and judge them alike.
//
//   info.capabilities.extra_options = {...};
//   AddLogOptions(&info.capabilities);
//   ...
//   LogOptions log = LogOptionsOf(options, ExtraOptions("btree", options.extra));
#ifndef TESTBED_ENGINES_LOG_SETTINGS_H_
#define TESTBED_ENGINES_LOG_SETTINGS_H_

#include "device/log/log.h"
#include "engines/engine.h"
#include "engines/extra_options.h"

namespace testbed {

// Appends the names and meanings: log_io, log_write_size, log_pad, log_sync, log_space,
// log_uncached, log_segment.
void AddLogOptions(Capabilities* capabilities);

// Lazy durability gives the log a thread that flushes it. Throws Error (kUsage) for values that
// cannot be.
LogOptions LogOptionsOf(const EngineOptions& options, const ExtraOptions& extra);

// The one rule of all engines for how much log lies between checkpoints, and so for what a recovery
// replays: as much as --ram, from 64 MiB to 2 GiB; 1 GiB when the memory is not bounded.
uint64_t CheckpointLogBytes(const EngineOptions& options);

// What EngineCounters has no field for, by the names that all these engines give it.
std::vector<std::pair<std::string, uint64_t>> LogCounterPairs(const LogCounters& log);

}  // namespace testbed

#endif  // TESTBED_ENGINES_LOG_SETTINGS_H_
