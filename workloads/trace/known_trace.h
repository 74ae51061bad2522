// Has a command replay one trace from its begin to its end, though each phase opens the file anew.
//
//   const TraceFile file(path);
//   CheckKnownTrace(file);  // throws when the path led to another trace before
//
// Thread-safe.
#ifndef TESTBED_WORKLOADS_TRACE_KNOWN_TRACE_H_
#define TESTBED_WORKLOADS_TRACE_KNOWN_TRACE_H_

#include <string>

#include "workloads/trace/trace_file.h"

namespace testbed {

// Throws Error (kUsage) when the file is not the one that this process, or the one that forked it,
// has first checked by this path (TraceFile::identity).
void CheckKnownTrace(const TraceFile& file);

// KnownTrace returns what a program that this process executes needs for the same check; an empty
// string when this process has not checked the path. In that program KnowTrace takes it.
std::string KnownTrace(const std::string& path);
void KnowTrace(const std::string& path, const std::string& known);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_KNOWN_TRACE_H_
