// A sample of a comparison: the numbers of a slice, or of a whole run in rounds (docs/results.md,
// "samples"). Thread-safe. All functions throw nlohmann::json::exception for what is no account or
// phase.
#ifndef TESTBED_TOOLS_AB_SAMPLE_H_
#define TESTBED_TOOLS_AB_SAMPLE_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace testbed {

// Returns the counts of an "account" as a flat object of numbers, summed over all causes: the
// engine's ("block_requests", "block_reads", and its own as "engine.NAME"), those of the file, the
// kernel and the device level ("file_reads", "kernel_read_bytes", "device_writes", ...), those of
// the wire ("wire_round_trips"), processor time and context switches. The kernel's include what its
// threads write back of the side's files. Levels that the account does not have, and counters that
// the engine does not have, are left out; a count of 0 is not.
nlohmann::json FlatCounters(const nlohmann::json& account);

// Where a sample belongs.
struct SamplePlace {
  std::string side;
  int load = 0;
  int block = -1;  // -1: a whole run
};

// Returns the sample of a phase or slice. `kinds` is the number of kinds of operation that are
// measured apart. The sample of a slice has the "rest" before it, without counts of 0. The sample
// of a run with operations that got no answer has "charged": their number and that of the others
// (ChargedOperations).
nlohmann::json SampleJson(const SamplePlace& place, const nlohmann::json& phase, size_t kinds);

// Takes the requests of threads with these names out of an account of a rest, because they may be
// those of the side that worked meanwhile (SharedThreads).
void LeaveOutThreads(const std::set<std::string>& names, nlohmann::json* account);

// Takes what the device counted out of the sample of a slice whose `account` this is, because
// another side used the device at the same time: the counters of the device, and, unless the
// account tells the requests of other programs apart, the metrics that are made of them. Returns
// whether a metric was taken out.
bool LeaveOutSharedDevice(const nlohmann::json& account, nlohmann::json* sample);

// Takes all figures of the kernel's account and of the device out of the sample, because the
// account does not tell the threads of another side from the side's own (SharedThreads).
void LeaveOutRequests(nlohmann::json* sample);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_SAMPLE_H_
