// Workload replay: performs the operations of a trace (trace_file.h) on any engine, as fast as it
// goes or by the clock of the recording. Workload replay-load: fills an empty database with the
// rows that a trace asks for.
//
//   --workload insert,replay:run.trace --speed 1
//
// docs/workloads.md says what each does exactly. The options below are those of --workload-option;
// --workload replay:FILE and --speed set them, too.
#ifndef TESTBED_WORKLOADS_TRACE_REPLAY_H_
#define TESTBED_WORKLOADS_TRACE_REPLAY_H_

#include <map>
#include <string>

#include "workloads/registry.h"

namespace testbed {

struct ReplayOptions {
  std::string trace;  // the file
  double speed = 0;   // factor on the recording's pace; 0: as fast as possible
  bool by_key = false;

  // Throws Error (kUsage) for refused values, or when no trace is given.
  static ReplayOptions From(const std::string& workload,
                            const std::map<std::string, std::string>& extra);
};

WorkloadInfo ReplayInfo();
WorkloadInfo ReplayLoadInfo();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_REPLAY_H_
