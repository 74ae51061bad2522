// WalkLengths finds how many rows the walks of an operation read, so that a replay can announce
// them (Cursor::Expect) as the recorded workload did. A trace has the steps of a cursor, but not
// the announcements.
//
//   WalkLengths lengths;
//   std::vector<uint64_t> rows;
//   lengths.Find(operation, &rows);   // rows[i]: of the walk that the operation's i-th seek begins
#ifndef TESTBED_WORKLOADS_TRACE_WALK_LENGTHS_H_
#define TESTBED_WORKLOADS_TRACE_WALK_LENGTHS_H_

#include <cstdint>
#include <vector>

#include "workloads/trace/trace_format.h"

namespace testbed {

// Returns whether the call positions a cursor, so that a walk begins.
inline bool TraceCallBeginsWalk(TraceCallKind kind) {
  return kind >= TraceCallKind::kSeek && kind <= TraceCallKind::kLast;
}

// Not thread-safe: each client has its own.
class WalkLengths {
 public:
  // Sets *rows to the number of rows of each walk of the operation, in the order of the calls that
  // begin them. The row of that call is included. A walk ends where its cursor turns around, is
  // positioned anew or is closed. The length of a walk that goes on in a later operation is not
  // known, and is 0.
  void Find(const TraceOperation& operation, std::vector<uint64_t>* rows);

 private:
  struct Walk {
    bool under_way = false, forward = true;
    size_t number = 0;  // index of the walk in the result
    uint64_t rows = 0;
  };
  std::vector<Walk> walks_;  // by cursor
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_WALK_LENGTHS_H_
