// Estimates what the writes of a log cost the device, from the two counters that a database server
// shows: bytes written to the log, and syncs of the log.
//
//   LogWriteEstimate e = EstimateLogWrites(656878594048, 370923966);  // 1771 bytes a sync
//   e.expected_bytes / e.bytes                                        // 3.0: what iostat would say
//
// A sync of a buffered file writes whole pages. An append of n bytes at an arbitrary place touches
// (n - a) / page + 1 pages on average, where places and lengths are multiples of `a` bytes. The
// mean is linear in n, so the estimate needs only the average length of an append. The file
// system's journal comes on top: it is the rest of the device's bytes. A direct write of whole
// pages costs exactly its bytes.
//
// The question and the figures of the example are from M. Callaghan, "Write amplification from log
// writes", 2014.
#ifndef TESTBED_WORKLOADS_MEASURE_LOG_ESTIMATE_H_
#define TESTBED_WORKLOADS_MEASURE_LOG_ESTIMATE_H_

#include <cstdint>

namespace testbed {

struct LogWriteEstimate {
  double bytes = 0;  // as the server reports them
  double bytes_per_sync = 0;
  double alignment = 1;       // a page or 512, if `bytes` is a multiple of it; else 1
  double least_bytes = 0;     // lower bound, wherever appends begin: a page for each sync
  double expected_bytes = 0;  // mean, if appends begin at arbitrary places
};

// Returns the estimate. `page` is the file system's page size in bytes, a multiple of 512. Without
// syncs all bytes count as one append.
LogWriteEstimate EstimateLogWrites(uint64_t bytes, uint64_t syncs, uint32_t page = 4096);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_LOG_ESTIMATE_H_
