// The checks of a run's options that need the engine, the workloads or the machine. All come before
// anything is created, written or removed.
#ifndef TESTBED_TOOLS_RUN_RUN_CHECKS_H_
#define TESTBED_TOOLS_RUN_RUN_CHECKS_H_

#include <memory>
#include <string>

#include "tools/options.h"
#include "tools/output/output_file.h"
#include "workloads/dataset.h"

namespace testbed {

// Throws Error (kUsage) when the engine or the workloads do not accept the options, or do not fit
// together. The options are resolved.
void CheckRun(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset);

// Throws Error (kUsage) when the file system of the directory `where` has less space than
// `databases` databases of the dataset need. What those need that are compressed, or loaded from a
// trace, is not known.
void CheckSpace(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset,
                const std::string& where, uint64_t databases = 1);

// Returns the directory and the files that a run with these options uses beside its outputs.
InUse UsedByRun(const RunOptions& options);

// Opens the engine with an empty temporary database below `where` when it has options of its own:
// what CheckRun cannot see, because it depends on the device, the file system or the engine's
// library, is so refused before anything else is created. Throws Error (kUsage) with the engine's
// sentence. A run that reuses a database of a given server tries nothing, as the run's own opening
// refuses as much.
void TryEngineOptions(const RunOptions& options, const std::string& where);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_CHECKS_H_
