// The checks of a run's options that need the engine, the workloads or the machine. All come before
// anything is created, written or removed.
#ifndef TESTBED_TOOLS_RUN_RUN_CHECKS_H_
#define TESTBED_TOOLS_RUN_RUN_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "tools/options.h"
#include "tools/output/output_file.h"
#include "workloads/dataset.h"

namespace testbed {

// Throws Error (kUsage) when the engine or the workloads do not accept the options, or do not fit
// together. The options are resolved.
void CheckRun(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset);

// Returns a sentence for the run's notes when its workloads update rows whose values are too short
// to differ from version to version; else an empty string. The options are resolved.
std::string SameValuesNote(const RunOptions& options,
                           const std::shared_ptr<const Dataset>& dataset);

// The names of those workloads of a run that write.
struct Writers {
  std::set<std::string> all;             // workloads that write
  std::set<std::string> of_other_sizes;  // workloads with Workload::changes_row_sizes
};
// Returns the run's workloads that write. The options are resolved.
Writers WritersOf(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset);

// Returns whether the run's database takes at least the bytes of its keys and values in its
// directory. That is not so when nothing is kept there, and it is not known of a database that is
// compressed or loaded from a trace. The options are resolved.
bool TakesItsBytes(const RunOptions& options);
// Returns the bytes that the run's database takes at least in its directory: those of its keys and
// values, or 0 when it does not take them (TakesItsBytes). The options are resolved.
uint64_t LeastSpace(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset);

// Throws Error (kUsage) when the file system of the directory `where` has less space than `need`
// bytes, which one database needs, or those of several sides of a comparison together. `freed` are
// the bytes there that the run removes first.
void CheckSpace(uint64_t need, const std::string& where, size_t databases = 1, uint64_t freed = 0);
// Throws Error (kUsage) when the database needs more bytes than the device of --scratch has `room`
// for: its size before it is made, and then the free space of its file system.
void CheckScratchSpace(const RunOptions& options, uint64_t need, uint64_t room);

// Returns the file of the trace that the run replays; an empty string when it replays none.
std::string TraceOf(const RunOptions& options);

// Returns the directory and the files that a run with these options uses beside its outputs.
InUse UsedByRun(const RunOptions& options);

// Opens the engine with an empty temporary database below `where` when it has options of its own:
// what CheckRun cannot see, because it depends on the device, the file system or the engine's
// library, is so refused before anything else is created. Throws Error (kUsage) with the engine's
// sentence. A run that reuses a database of a given server tries nothing, as the run's own opening
// refuses as much. With --fresh the schema of a given server may be another database's, which the
// run replaces.
void TryEngineOptions(const RunOptions& options, const std::string& where);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_CHECKS_H_
