// The workloads that this build has. A workload joins by a folder under workloads/ whose
// CMakeLists.txt calls testbed_workloads(NAME), and which defines
//
//   std::vector<WorkloadInfo> NameWorkloads();
//
// with the name in CamelCase: testbed_workloads(linkbench) stands for LinkbenchWorkloads(). CMake
// finds the folders.
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
  bool loads;  // the workload is a loader: it fills a database
  std::unique_ptr<Workload> (*make)(std::shared_ptr<const Dataset>, const WorkloadOptions&);
  bool reads_only = false;        // the workload leaves the database unchanged
  std::string loader = "insert";  // name of the loader of the database that the workload needs
  // Names and one-line meanings of the workload's extra options, which make() reads from
  // WorkloadOptions::extra. Those of a loader are properties of its database, so a run that reuses
  // the database must give them equal values. run_options are those that say how the workload runs,
  // and not what the database holds.
  std::vector<std::pair<std::string, std::string>> extra_options = {};
  std::vector<std::pair<std::string, std::string>> run_options = {};
  bool point_reads = false;  // each operation is one point read: a thread can keep many in flight
  // Says of a loader that it adds to the rows that it finds. Any other loader would write existing
  // rows again and count them as inserts, so it begins with an empty database or is refused.
  bool adds = false;
};
// Returns all workloads of the build.
const std::vector<WorkloadInfo>& Workloads();
// Returns the workload of this name. Throws Error (kUsage), which lists the known names, when there
// is none.
const WorkloadInfo& FindWorkload(const std::string& name);
// Returns about how many bytes of keys and values a database holds after these workloads.
uint64_t DataBytes(const std::vector<std::string>& workloads,
                   const std::shared_ptr<const Dataset>& dataset, const WorkloadOptions& options);
// Throws Error (kUsage) when one of these workloads, which run one after the other, needs an empty
// database to load and does not find one: the database `holds_rows`, or another loader runs before.
void CheckLoaders(const std::vector<std::string>& workloads, bool holds_rows);
// Throws Error (kUsage) when `options` has an extra option that none of these workloads knows.
void CheckWorkloadOptions(const std::vector<std::string>& workloads,
                          const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_REGISTRY_H_
