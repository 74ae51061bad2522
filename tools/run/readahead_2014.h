// The reads that a kernel of 2014 would have sent to the device for the file reads of a phase, for
// each read_ahead_kb of the published experiment (readahead_model.h).
#ifndef TESTBED_TOOLS_RUN_READAHEAD_2014_H_
#define TESTBED_TOOLS_RUN_READAHEAD_2014_H_

#include <cstdint>
#include <vector>

#include "device/file/read_trace.h"

namespace testbed {

struct Readahead2014 {
  struct Setting {
    uint64_t read_ahead_kb = 0;
    uint64_t reads = 0, read_bytes = 0;  // counts of the second half of the phase
    double operations = 0;               // counts of the second half of the phase
  };
  uint64_t reads_recorded = 0;
  uint64_t reads_dropped = 0;  // there was no room to record them
  uint64_t cache_bytes = 0;    // page cache of the model
  std::vector<Setting> settings;
};

// Replays the recorded reads. The first half of the recording only warms the model's page cache of
// `cache_bytes`; the second half is counted. `operations` is the number of operations during the
// whole recording; `random` stands for MADV_RANDOM. Thread-safe.
Readahead2014 ReplayReadahead2014(const ReadTrace::Recording& recording, uint64_t operations,
                                  uint64_t cache_bytes, bool random);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_READAHEAD_2014_H_
