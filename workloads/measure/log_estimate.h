// Estimates what a log's writes cost the device, from the two counters that a database server
// shows: bytes written to the log, and log syncs.
//
//   LogWriteEstimate e = EstimateLogWrites(656878594048, 370923966);  // 1771 bytes a sync
//   double amplification = e.expected_bytes / e.bytes;  // 3.0: what iostat would say
//
// A sync of a buffered file writes whole pages. An append of n bytes at an arbitrary offset touches
// (n - a) / page + 1 pages on average, where every offset and length is a multiple of `a`. The mean
// is linear in n, so the average size of an append is all that needs to be known about the sizes.
// The file system's journal comes on top (device bytes minus this estimate). For direct writes of
// whole pages the reported bytes are already the cost.
//
// The question and the figures of the example are from M. Callaghan, "Write amplification from log
// writes", 2014.
#ifndef TESTBED_WORKLOADS_MEASURE_LOG_ESTIMATE_H_
#define TESTBED_WORKLOADS_MEASURE_LOG_ESTIMATE_H_

#include <cstdint>

namespace testbed {

struct LogWriteEstimate {
  double bytes = 0;  // bytes written to the log, as reported
  double bytes_per_sync = 0;
  double alignment = 1;       // assumed `a`: page or 512 when bytes is a multiple of it, else 1
  double least_bytes = 0;     // a lower bound: each sync writes one page or more
  double expected_bytes = 0;  // the mean when appends begin at arbitrary offsets
};

// Returns the estimate for `bytes` written with `syncs` syncs. `page` is the file system's page
// size in bytes, a multiple of 512. 0 syncs count as one.
LogWriteEstimate EstimateLogWrites(uint64_t bytes, uint64_t syncs, uint32_t page = 4096);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_LOG_ESTIMATE_H_
