// Parses the value of --workload: names of workloads, each with the number of times that it runs
// or, for a workload that reads a trace, the file; and with a length and a rate of its own.
//
//   insert,point-read:3,replay:run.trace
//   ycsb-load, ycsb-a 60s, ycsb-c 2min @ 5000, settle
//
// Thread-safe.
#ifndef TESTBED_TOOLS_TRACE_WORKLOAD_LIST_H_
#define TESTBED_TOOLS_TRACE_WORKLOAD_LIST_H_

#include <memory>
#include <string>
#include <string_view>

#include "tools/options.h"
#include "workloads/dataset.h"

namespace testbed {

// Sets the workloads that `text` lists, their lengths and rates. Throws Error (kUsage) for an
// unknown name, a refused number, a length or a rate for a workload that takes none, or two
// different traces.
void SetWorkloads(const std::string& option, const std::string& text, RunOptions* options);

// Returns the name that an entry of such a list begins with, whether a workload has that name or
// not.
std::string WorkloadNameOf(std::string_view entry);

// Returns a text from which SetWorkloads makes the same workloads. The files of traces are left
// out.
std::string WorkloadText(const RunOptions& options);

// Throws Error (kUsage) when a workload that ends by itself has a length or a changing rate of its
// own, when one without popular rows has other ones of its own, when a changing rate has no length
// or asks for nothing, and when a workload that sets the starts of its operations has a rate, of
// its own or by --rate.
void CheckOwnPhases(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset);

}  // namespace testbed

#endif  // TESTBED_TOOLS_TRACE_WORKLOAD_LIST_H_
