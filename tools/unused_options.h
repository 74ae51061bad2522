// Refuses options that would change nothing in a run, because the run lacks what they belong to: a
// user who gives one expects an effect, and would take the figures for it.
//
// The check is for the command line of a single run or of a crash test. The cells of a sweep or an
// experiment share options, of which one cell may have no use; the command that repeats a cell
// leaves these out.
#ifndef TESTBED_TOOLS_UNUSED_OPTIONS_H_
#define TESTBED_TOOLS_UNUSED_OPTIONS_H_

#include <string>
#include <vector>

#include "tools/options.h"

namespace testbed {

// Throws Error (kUsage), which names the option and what it belongs to, when `words`, the command
// line, give one without use: --zipf-theta, --hot-fraction or --hot-probability with another
// --distribution, --distribution for workloads that draw no rows by it, --hit-ratio for workloads
// without point reads, --scan-rows or --workload-option scan_length for workloads without scans of
// that length, --arrivals exponential without a rate, --mmap-advice without mapped files,
// --file-advice with direct IO, --readahead-model for an engine that does its IO itself,
// --lazy-interval with --durability sync, --fresh without --dir, --seconds, --operations, --warmup
// or --rate where each phase ends by itself or has a length or a rate of its own, or one of two
// options that decide the same (CheckRivals). The options are resolved. Creates nothing.
void CheckUnusedOptions(const RunOptions& options, const std::vector<std::string>& words);

// Throws Error (kUsage), which names both, when `words` give two options that decide the same, so
// that one of them would change nothing: --cache-size and --cache-pct, --rows or --keys and
// --db-ratio, --verify-every and --verify, --keys and --key-size. In the words of a sweep, an
// option may have a list.
void CheckRivals(const std::vector<std::string>& words);
// Returns what the option `winner` decides in the place of `loser`, such as "the size of the
// engine's cache"; "" when the two are no such pair. Names are without dashes.
std::string DecidedInstead(const std::string& winner, const std::string& loser);
// Returns the words without each option that another of them overrides: the second option of each
// pair above. The cells of an experiment may have both.
std::vector<std::string> WithoutRivals(const std::vector<std::string>& words);

// Returns the words of a command without the options that its workloads have no use for, whatever
// the engine: --distribution and its shape where none draws rows, --hit-ratio where none has point
// reads, --scan-rows and scan_length where none scans, --arrivals in a closed loop, and --seconds,
// --operations, --warmup and --rate where each phase ends by itself or has a length or a rate of
// its own. The options stay when this version lacks one of the workloads.
std::vector<std::string> WithoutUndrawn(const std::vector<std::string>& words);

}  // namespace testbed

#endif  // TESTBED_TOOLS_UNUSED_OPTIONS_H_
