// The child's side of a phase in slices (run_process.h): asks the parent for each slice, and sends
// it what the slice counted.
#ifndef TESTBED_TOOLS_RUN_RUN_SLICES_H_
#define TESTBED_TOOLS_RUN_RUN_SLICES_H_

#include <optional>

#include "tools/run/run_child.h"
#include "workloads/measure/meter.h"
#include "workloads/measure/slices.h"

namespace testbed {

// Sends {"ready": true} before each slice and {"slice": ...} after it. A slice has the fields of a
// phase (docs/results.md) that are known at once: "seconds", "count", "rate", "operations" with all
// kinds together, "account". Its "rest" has the account of the time from the message about the
// slice before to this slice, in which only background threads worked. Neither account has what the
// phase itself samples between them. The meter and the talk must outlive the object. Not
// thread-safe.
class ParentSlices : public SliceControl {
 public:
  ParentSlices(const Meter& meter, const RunTalk& talk);
  std::optional<double> Next() override;
  void Begins() override { before_ = meter_.ReadNow(); }
  void Ends() override;
  void Done(const Interval& slice, const HistogramCounts& latency, double seconds) override;

 private:
  const Meter& meter_;
  const RunTalk& talk_;
  Reading before_rest_, after_rest_, before_, after_;
  uint64_t rest_began_ = 0, rest_ended_ = 0;  // ticks
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_SLICES_H_
