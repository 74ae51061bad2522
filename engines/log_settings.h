// These functions are for the engines whose write-ahead log is that of device/log/log.h, so that
// all of them have the same log options, with the same names, defaults and limits.
//
//   info.capabilities.extra_options = {{"lookups", "..."}};
//   AddLogOptions(&info.capabilities);
//
//   LogOptions log = LogOptionsOf(options, ExtraOptions("btree", options.extra));   // at open
#ifndef TESTBED_ENGINES_LOG_SETTINGS_H_
#define TESTBED_ENGINES_LOG_SETTINGS_H_

#include "device/log/log.h"
#include "engines/engine.h"
#include "engines/extra_options.h"

namespace testbed {

// Appends the names and meanings of the log options: log_io, log_write_size, log_pad, log_sync,
// log_space, log_prewrite, log_uncached and log_segment.
void AddLogOptions(Capabilities* capabilities);

// Returns the log's options, from the durability, the IO mode and the log options that were given.
// With lazy durability the log has a thread that makes it durable, and with none one that only
// writes it. An option that others leave without effect is off in the result. Throws Error (kUsage)
// for a value that an option does not accept.
LogOptions LogOptionsOf(const EngineOptions& options, const ExtraOptions& extra);

// Returns the bytes of log that every engine lets lie between two checkpoints, which bounds what a
// recovery replays: as much as --ram, but from 64 MiB to 2 GiB; 1 GiB when memory is not bounded.
uint64_t CheckpointLogBytes(const EngineOptions& options);

// Returns the counters of the log for which EngineCounters has no field, for EngineCounters::more.
std::vector<std::pair<std::string, uint64_t>> LogCounterPairs(const LogCounters& log);

}  // namespace testbed

#endif  // TESTBED_ENGINES_LOG_SETTINGS_H_
