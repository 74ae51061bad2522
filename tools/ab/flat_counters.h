// The counts of an account (docs/results.md) without its structure, for comparing all of them.
#ifndef TESTBED_TOOLS_AB_FLAT_COUNTERS_H_
#define TESTBED_TOOLS_AB_FLAT_COUNTERS_H_

#include <nlohmann/json.hpp>

namespace testbed {

// Returns the counts of an "account" as a flat object of numbers, summed over all causes: the
// engine's ("block_requests", "block_reads", and its own as "engine.NAME"), those of the file, the
// kernel and the device level ("file_reads", "kernel_read_bytes", "device_writes", ...), those of the
// wire ("wire_round_trips"), processor time and context switches. Counts that are 0 are left out, and so are levels that the account does
// not have. Throws nlohmann::json::exception for what is no account.
nlohmann::json FlatCounters(const nlohmann::json& account);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_FLAT_COUNTERS_H_
