// What a run tells of each second while it lasts: the child's record to its parent, which draws it
// (live_view.h) and serves it (open_metrics.h).
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

namespace testbed {

struct SecondReport {
  struct Operation {
    std::string name;
    uint64_t count = 0;
    double max_us = 0;
  };
  // What one kind of operation, or the threads outside the run, moved.
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
  double length = 0;     // seconds that this report is of
  double fraction = -1;  // share of the phase that is done; negative: unknown
  uint64_t operations = 0;
  double p50_us = 0, p99_us = 0, p999_us = 0, max_us = 0;  // without operations 0
  std::vector<Operation> by_operation;
  std::vector<Cause> causes;                            // those that moved something
  bool counts_files = false, counts_in_kernel = false;  // levels of `causes` that are known
  std::optional<BlockCounts> device;                    // of the whole device; no flushes
  std::optional<Memory> memory;                         // with a budget
  uint64_t resident_bytes = 0;                          // of the run's process
  bool joined = false;                                  // of several seconds: the parent was behind
  bool ended = false;  // it is the phase's last one, perhaps of a part of a second

  double rate() const { return length > 0 ? static_cast<double>(operations) / length : 0; }
  // Adds the second that follows; percentiles become the larger ones.
  void Append(const SecondReport& next);
};

nlohmann::json SecondJson(const SecondReport& second);
// Throws json::exception when the value is not of SecondJson.
SecondReport ParseSecond(const nlohmann::json& j);

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_SECOND_REPORT_H_
