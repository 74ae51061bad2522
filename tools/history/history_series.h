// The results of a history as series in time, and what changed in them. Thread-safe.
#ifndef TESTBED_TOOLS_HISTORY_HISTORY_SERIES_H_
#define TESTBED_TOOLS_HISTORY_HISTORY_SERIES_H_

#include <string>
#include <vector>

#include "tools/history/history_store.h"
#include "tools/statistics/comparison.h"
#include "tools/statistics/estimate.h"

namespace testbed {

// One result of a series.
struct HistoryPoint {
  size_t result = 0;  // number of the result in the history, from 0
  std::string commit, started;
  Estimate value;  // mean over the loads of the result
};

// Whether a series goes on, or why it does not.
enum class SeriesState {
  // The series has the newest result of its cell, and this result is of the newest commit of its
  // engine and workload. No other series that was asked for with the same settings, on a newer
  // kernel for example, has a newer result.
  kGoesOn,
  kLacksMetric,  // the same is true of its cell, whose newest result lacks the metric
  kOtherTerms,   // the newest result was measured with other settings or on another machine
};

// A metric of a cell, over the results that have the same settings (asked for and in force), the
// same data and the same machine.
struct HistorySeries {
  size_t group = 0;    // number of these settings and this machine, from 0
  std::string title;   // "btree point-read, 8 thr"; " (settings 2)" follows in group 1
  std::string metric;  // a name of Metrics()
  std::vector<HistoryPoint> points;
  SeriesState state = SeriesState::kGoesOn;
  bool goes_on() const { return state == SeriesState::kGoesOn; }
};

// Returns the series of these metrics. Entries form one group when they differ in nothing but their
// versions, their seeds and, with --cache-pct most, the size of the cache that rehearsals found. A
// run in which --ram could not be enforced is in another group than a run in which it was in force.
// Throws Error (kUsage), which names the commit, when a document is damaged.
std::vector<HistorySeries> SeriesOf(const std::vector<HistoryEntry>& entries,
                                    const std::vector<std::string>& metrics);

// The change of a series, between its last results and those before.
struct HistoryChange {
  const HistorySeries* series;
  Answer answer;  // compares the last results (B) with those before (A)
};

constexpr size_t kMostBefore = 30;

// Compares the last `last` points of each series with up to kMostBefore points before them, as
// unpaired loads (tools/statistics/comparison.h), corrected for the number of series
// (ControlFalseDiscoveries). The answer for a series with fewer than kLeastLoads points on a side
// is Reason::kFewLoads. Series that are 0 throughout are left out, and so are those that do not go
// on: nothing that is done now would change their answer.
std::vector<HistoryChange> ChangesOf(const std::vector<HistorySeries>& series, size_t last);

// Returns whether the answer says that the metric got worse: slower, or more of a cost.
bool GotWorse(const HistoryChange& change);

}  // namespace testbed

#endif  // TESTBED_TOOLS_HISTORY_HISTORY_SERIES_H_
