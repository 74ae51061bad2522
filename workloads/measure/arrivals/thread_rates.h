// ThreadRates knows how many operations a second each thread of a phase is to start. Thread-safe.
#ifndef TESTBED_WORKLOADS_MEASURE_ARRIVALS_THREAD_RATES_H_
#define TESTBED_WORKLOADS_MEASURE_ARRIVALS_THREAD_RATES_H_

#include <algorithm>

#include "workloads/measure/arrivals/rate_curve.h"
#include "workloads/measure/runner.h"
#include "workloads/workload.h"

namespace testbed {

class ThreadRates {
 public:
  // The last `extra` of the `threads` are threads in addition to the clients. The workload and the
  // options must outlive the object.
  ThreadRates(const Workload& workload, const PhaseOptions& options, int threads, int extra)
      : workload_(workload), options_(options), threads_(threads), extra_(extra) {
    int sharers = 0;
    for (int t = 0; t < threads; ++t) sharers += Shares(t);
    sharers_ = std::max(1, sharers);
  }

  // Returns whether the thread has a share of the phase's rate: it is a client, and the workload
  // gives it no rate of its own.
  bool Shares(int t) const {
    return t < threads_ - extra_ && !(workload_.ThreadRate(t, threads_) > 0);
  }
  // Returns the thread's operations per second; 0 means no limit. The clients of all tasks share
  // the rate of the phase. A thread in addition to the clients has only the rate that the workload
  // sets.
  RateCurve Of(int t) const {
    if (!Shares(t)) return RateCurve::Constant(workload_.ThreadRate(t, threads_));
    const RateCurve all = options_.curve ? *options_.curve : RateCurve::Constant(options_.rate);
    return all.Share(1 / static_cast<double>(sharers_ * options_.tasks));
  }

 private:
  const Workload& workload_;
  const PhaseOptions& options_;
  const int threads_, extra_;
  int sharers_ = 1;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_ARRIVALS_THREAD_RATES_H_
