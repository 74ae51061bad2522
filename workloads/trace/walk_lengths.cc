#include "workloads/trace/walk_lengths.h"

namespace testbed {

void WalkLengths::Find(const TraceOperation& operation, std::vector<uint64_t>* rows) {
  using enum TraceCallKind;
  rows->clear();
  walks_.clear();
  for (const TraceCall& call : operation.calls) {
    if (call.kind < kOpenCursor || call.kind == kValue) continue;
    if (walks_.size() <= call.cursor) walks_.resize(call.cursor + 1);
    Walk& walk = walks_[call.cursor];
    const bool steps = call.kind >= kNext && call.kind <= kPrevValues;
    if (walk.under_way && steps &&
        walk.forward == (call.kind == kNext || call.kind == kNextValues)) {
      walk.rows += call.number;
      continue;
    }
    if (walk.under_way) (*rows)[walk.number] = walk.rows;
    walk.under_way = TraceCallBeginsWalk(call.kind);
    if (!walk.under_way) continue;
    walk = {true, call.kind == kSeek || call.kind == kFirst, rows->size(), 1};
    rows->push_back(0);
  }
}

}  // namespace testbed
