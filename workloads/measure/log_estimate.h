// What a log's writes cost the device, estimated from the two counters that a database server
// shows: bytes written to the log, and syncs of it.
//
//   LogWriteEstimate e = EstimateLogWrites(656878594048, 370923966);  // 1771 bytes a sync
//   e.expected_bytes / e.bytes                                        // 3.0: what iostat would say
//
// A sync of a buffered file writes whole pages. An append of n bytes at an arbitrary place touches
// (n - a) / page + 1 of them on average, where `a` is what places and lengths are multiples of. The
// mean is linear in n, so the average append is all that needs to be known of their sizes. The
// journal of the file system comes on top (device bytes minus this). Direct writes of whole pages
// cost what they say.
//
// The question, and the figures of the example: M. Callaghan, "Write amplification from log
// writes", 2014.
#ifndef TESTBED_WORKLOADS_MEASURE_LOG_ESTIMATE_H_
#define TESTBED_WORKLOADS_MEASURE_LOG_ESTIMATE_H_

#include <cstdint>

namespace testbed {

struct LogWriteEstimate {
  double bytes = 0;  // as reported
  double bytes_per_sync = 0;
  double alignment = 1;       // 512 or a page, where the counters are multiples of it; else 1
  double least_bytes = 0;     // whatever lies where: a page for each sync at least
  double expected_bytes = 0;  // when appends begin anywhere
};

// `page` is that of the file system, in bytes, a multiple of 512. Without syncs everything is
// taken for one write.
LogWriteEstimate EstimateLogWrites(uint64_t bytes, uint64_t syncs, uint32_t page = 4096);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_LOG_ESTIMATE_H_
