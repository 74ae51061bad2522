// The report of one second of a phase, which the child sends to its parent while the run lasts. The
// parent draws it (live_view.h) and serves it (open_metrics.h).
//
//   const SecondReport second = ParseSecond(ParseJson(line)["second"]);
//   fmt::print("{} operations in {} s\n", second.operations, second.length);
//
// Counts are of the second, not of the phase. A second that could not be sent is part of the next
// one, so that counts add up to the phase. Values; thread-safe.
#ifndef TESTBED_TOOLS_LIVE_SECOND_REPORT_H_
#define TESTBED_TOOLS_LIVE_SECOND_REPORT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/account/counts.h"
#include "tools/live/seconds.h"

namespace testbed {

struct SecondReport {
  struct Operation {
    std::string name;
    uint64_t count = 0;
    double max_us = 0;
  };
  // The IO of one kind of operation, or of the threads outside the run.
  struct Cause {
    std::string name;
    std::string ground;  // foreground, background, or other (threads outside the run)
    FileCounts file;
    BlockCounts kernel;
  };
  struct Memory {
    uint64_t limit = 0, process = 0, page_cache = 0, kernel = 0;  // bytes at the second's end
    uint64_t limit_hits = 0, refaults = 0;                        // counts of the second
  };

  std::string phase;
  double seconds = 0;    // since the phase began
  double length = 0;     // seconds that this report covers
  double fraction = -1;  // share of the phase that is done; negative: unknown
  uint64_t operations = 0;
  // 0: not known (KnowsLatency), or a percentile that too few operations of the second tell
  // (TellsPercentile of tools/report/figures.h)
  double p50_us = 0, p99_us = 0, p999_us = 0, max_us = 0;
  std::vector<Operation> by_operation;
  std::vector<Cause> causes;                            // only those that did IO
  bool counts_files = false, counts_in_kernel = false;  // the known levels of `causes`
  std::optional<BlockCounts> device;                    // IO of the whole device, without flushes
  std::optional<Memory> memory;                         // nothing without a budget
  uint64_t resident_bytes = 0;                          // the run's and its servers'; 0: not known
  bool joined = false;  // covers several seconds: the parent was behind
  bool ended = false;   // the last report of the phase; it may cover less than a second

  double rate() const { return length > 0 ? static_cast<double>(operations) / length : 0; }
  // Returns whether the report is of the rest of a phase, which is too short for a rate. A phase
  // that ended in its first second is no rest, however short it was.
  bool rest() const { return length < kShortestForRate && length < seconds; }
  // Adds the second that follows to this one. Each percentile becomes the larger of the two.
  void Append(const SecondReport& next);
};

nlohmann::json SecondJson(const SecondReport& second);
// Returns the report that SecondJson wrote. Throws json::exception for another value.
SecondReport ParseSecond(const nlohmann::json& j);

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_SECOND_REPORT_H_
