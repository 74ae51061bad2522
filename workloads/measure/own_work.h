// The times that a thread spent in making keys and values and in checking answers. They are the
// harness's own: an operation that was due meanwhile did not wait for the engine.
#ifndef TESTBED_WORKLOADS_MEASURE_OWN_WORK_H_
#define TESTBED_WORKLOADS_MEASURE_OWN_WORK_H_

#include <cstdint>
#include <deque>

namespace testbed {

// One thread's pieces of work, in any unit of time. Not thread-safe.
class OwnWork {
 public:
  // Adds a piece of work. Pieces are added in their order.
  void Add(uint64_t begin, uint64_t end) {
    pieces_.push_back({begin, end, sum_});
    sum_ += end - begin;
  }
  // Returns how much of the time since `from` was spent so. `from` never falls from call to
  // call, so pieces that ended before it are forgotten.
  uint64_t Since(uint64_t from) {
    while (!pieces_.empty() && pieces_.front().end <= from) pieces_.pop_front();
    if (pieces_.empty()) return 0;
    const Piece& first = pieces_.front();
    return sum_ - first.before - (from > first.begin ? from - first.begin : 0);
  }

 private:
  struct Piece {
    uint64_t begin, end;
    uint64_t before;  // time spent in all pieces before it
  };
  std::deque<Piece> pieces_;
  uint64_t sum_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_OWN_WORK_H_
