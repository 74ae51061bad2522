// The workloads of this build. A workload joins by a folder under workloads/ whose CMakeLists.txt
// calls testbed_workloads(NAME) and whose code defines
//
//   std::vector<WorkloadInfo> NameWorkloads();
//
// with the name in CamelCase: after testbed_workloads(linkbench) the build expects
// LinkbenchWorkloads(). CMake finds the folders.
#ifndef TESTBED_WORKLOADS_REGISTRY_H_
#define TESTBED_WORKLOADS_REGISTRY_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workloads/workload.h"

namespace testbed {

struct WorkloadInfo {
  std::string name;
  std::string summary;
  bool loads;  // the workload fills a database
  // Creates the workload. Throws Error (kUsage) for options that it cannot accept.
  std::unique_ptr<Workload> (*make)(std::shared_ptr<const Dataset>, const WorkloadOptions&);
  bool reads_only = false;  // the workload leaves the database unchanged
  // The loader whose database this workload needs; a loader names itself. Empty: it runs on any
  // database.
  std::string loader = "insert";
  // Names and one-line meanings of the extra options, which make() reads through ExtraOptions. A
  // loader's extra_options describe the contents of its database: a run that reuses the database
  // must give the same values. Its run_options say how the database is made, and may differ.
  std::vector<std::pair<std::string, std::string>> extra_options = {};
  std::vector<std::pair<std::string, std::string>> run_options = {};
  // Each operation is a single point read, so a thread can keep several in flight (--queue-depth).
  bool point_reads = false;
  // Values that the workload gives to options of the run, by names without dashes, such as
  // {"distribution", "latest"}. An option that the user gives overrides them.
  std::vector<std::pair<std::string, std::string>> defaults = {};
  // For loaders: the loader adds to the rows that it finds. A loader without this flag would write
  // existing rows again and count them as inserts, so it is refused unless the database is empty.
  bool adds = false;
  // The workload has no operations. In its place the run lets the engine come to rest
  // (rows/settle.h).
  bool only_settles = false;
  // The workload does nothing but check the database: it reads all of it, which tells nothing of
  // the work that the database is for.
  bool only_checks = false;
  // Returns whether each client has tables of its own with these options, named by its number, so
  // that --databases spreads them. Null: never.
  bool (*spreads)(const Dataset&, const WorkloadOptions&) = nullptr;
};
// Returns all workloads of the build.
const std::vector<WorkloadInfo>& Workloads();
// Returns the workload of that name. Throws Error (kUsage), with the known names, when none has it.
const WorkloadInfo& FindWorkload(const std::string& name);
// Returns the name of the loader whose database the workload needs, for a sentence; "insert" when
// the workload runs on any database.
std::string LoaderText(const WorkloadInfo& info);
// Returns whether the workload knows the rows that its loader alone makes, so that it takes those
// of another workload for wrong.
bool KnowsRowsOfItsLoader(const WorkloadInfo& info);
// Returns about how many bytes of keys and values a database holds after these workloads. The seed
// does not change the number: the size of a device that is made for them is a setting of the run.
uint64_t DataBytes(const std::vector<std::string>& workloads,
                   const std::shared_ptr<const Dataset>& dataset, const WorkloadOptions& options);
// Throws Error (kUsage) when one of these workloads, which run in this order, would not find the
// database that it needs. A loader needs an empty one, which it does not find when `holds_rows` is
// set or another loader runs before it. All other workloads must need the database of the same
// loader.
void CheckLoaders(const std::vector<std::string>& workloads, bool holds_rows);
// Throws Error (kUsage) when there are several `databases` and one of these workloads does not
// spread its tables: empty databases would still take their parts of the memory, and no transaction
// may write to two databases.
void CheckDatabases(const std::vector<std::string>& workloads, const Dataset& dataset,
                    const WorkloadOptions& options, uint32_t databases);
// Throws Error (kUsage) when `options.extra` has a name that is an option of none of these
// workloads.
void CheckWorkloadOptions(const std::vector<std::string>& workloads,
                          const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_REGISTRY_H_
