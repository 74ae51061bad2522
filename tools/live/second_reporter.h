// Makes the SecondReport of each second of a phase in the process that runs it, and offers it to
// the parent.
//
//   const Reading before = meter.Read();
//   SecondReporter reporter("point-read", workload.ops(), levels, before.ledger, TrySend);
//   options.progress = [&](const PhaseOptions::Progress& p) { reporter.Second(p); };
//   ... the phase runs ...
//   reporter.Rest(result);                   // what is left of the last second
//
// A parent that does not read, because its terminal is halted, must not halt the run: `offer`
// returns false instead of waiting, and the second becomes part of the next one. Not thread-safe.
#ifndef TESTBED_TOOLS_LIVE_SECOND_REPORTER_H_
#define TESTBED_TOOLS_LIVE_SECOND_REPORTER_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/account/ledger.h"
#include "tools/live/second_report.h"
#include "workloads/measure/runner.h"

namespace testbed {

class SecondReporter {
 public:
  using Offer = std::function<bool(const nlohmann::json& line)>;
  // The levels of the ledger that the run counts.
  struct Levels {
    bool any = true, files = true, kernel = true, device = true;
  };
  // The first second has what was counted since `border`, the counts at the beginning of the phase:
  // the write-back before them is no part of the phase.
  SecondReporter(std::string phase, std::vector<OpKind> ops, Levels levels,
                 const LedgerCounts& border, Offer offer);
  // Offers the report of the second that has just ended.
  void Second(const PhaseOptions::Progress& progress);
  // Offers the report of the rest of the last second, after the phase.
  void Rest(const PhaseResult& result);

 private:
  struct Totals {
    FileCounts file;
    BlockCounts kernel;
  };
  void Send(const Interval& interval, double fraction, bool ended);
  void AddCauses(SecondReport* second);
  static std::vector<Totals> TotalsOf(const LedgerCounts& counts);

  const std::string phase_;
  const std::vector<OpKind> ops_;
  const Levels levels_;
  const Offer offer_;
  double last_seconds_ = 0;
  std::vector<Totals> last_;              // by OpKind.id; the last entry is of other threads
  std::optional<SecondReport> not_sent_;  // joined seconds that the parent has not taken yet
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_SECOND_REPORTER_H_
