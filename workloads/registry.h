// The workloads that this build has. A workload joins by a folder under workloads/ whose
// CMakeLists.txt calls testbed_workloads(NAME), and which defines
//
//   std::vector<WorkloadInfo> NameWorkloads();
//
// with the name in CamelCase: what testbed_workloads(linkbench) promises is LinkbenchWorkloads.
// CMake finds the folders.
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
  bool loads;  // fills a database
  std::unique_ptr<Workload> (*make)(std::shared_ptr<const Dataset>, const WorkloadOptions&);
  bool reads_only = false;        // leaves the database as it was
  std::string loader = "insert";  // the workload that makes the database it needs; a loader's own
  // Names and one-line meanings of the extra options; make() reads them through ExtraOptions. Those
  // of a loader belong to its database: who reuses it must give the same. Those that say how it is
  // made, not what is in it, stand apart.
  std::vector<std::pair<std::string, std::string>> extra_options = {};
  std::vector<std::pair<std::string, std::string>> run_options = {};
  bool point_reads = false;  // each operation is one: a thread can keep many in flight
  // Of a loader: it adds to the rows that it finds. Others would write rows that are there once
  // more, and call it inserts: they begin with an empty database, or are refused.
  bool adds = false;
};
const std::vector<WorkloadInfo>& Workloads();
// Throws Error (kUsage) that lists the known names.
const WorkloadInfo& FindWorkload(const std::string& name);
// About how many bytes of keys and values a database holds after these workloads.
uint64_t DataBytes(const std::vector<std::string>& workloads,
                   const std::shared_ptr<const Dataset>& dataset, const WorkloadOptions& options);
// Throws Error (kUsage) when one of these workloads, which run one after the other, loads an empty
// database and does not find one: `holds_rows`, or another loader has run before it.
void CheckLoaders(const std::vector<std::string>& workloads, bool holds_rows);
// Throws Error (kUsage) when none of these workloads has an extra option of a name that is given.
void CheckWorkloadOptions(const std::vector<std::string>& workloads,
                          const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_REGISTRY_H_
