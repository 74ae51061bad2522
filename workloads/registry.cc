#include "workloads/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "device/error.h"
#include "device/nearest_name.h"

namespace testbed {

// Defined in a file that CMake generates. Returns the workloads of each folder, folder by folder.
std::vector<WorkloadInfo> WorkloadsOfTheBuild();

const std::vector<WorkloadInfo>& Workloads() {
  static const std::vector<WorkloadInfo> workloads = WorkloadsOfTheBuild();
  return workloads;
}

const WorkloadInfo& FindWorkload(const std::string& name) {
  std::string names;
  for (const WorkloadInfo& info : Workloads()) {
    if (info.name == name) return info;
    names += (names.empty() ? "" : ", ") + info.name;
  }
  throw Error(Error::kUsage, "--workload " + name + " is not known; there are " + names);
}

std::string LoaderText(const WorkloadInfo& info) {
  return info.loader.empty() ? "insert" : info.loader;
}

bool KnowsRowsOfItsLoader(const WorkloadInfo& info) {
  return !info.loader.empty() && info.loader != "insert" && info.loader != "replay-load";
}

uint64_t DataBytes(const std::vector<std::string>& workloads,
                   const std::shared_ptr<const Dataset>& dataset, const WorkloadOptions& options) {
  uint64_t bytes = 0;
  for (const std::string& name : workloads) {
    bytes += FindWorkload(name).make(dataset, options)->AddedBytes();
  }
  return bytes != 0 ? bytes : dataset->key_bytes() + dataset->expected_value_bytes();
}

void CheckLoaders(const std::vector<std::string>& workloads, bool holds_rows) {
  std::string before, needed,
      needs_it;  // the last loader; the loader needed, and the workload that needs it
  for (const std::string& name : workloads) {
    const WorkloadInfo& info = FindWorkload(name);
    if (info.loads && !info.adds && holds_rows) {
      throw Error(Error::kUsage,
                  fmt::format("--workload {} loads an empty database, and {}; name it once, before "
                              "the others, without --reuse",
                              name,
                              before.empty() ? "this one holds rows already"
                                             : "it comes after " + before + " here"));
    }
    if (info.loads) {
      holds_rows = true;
      before = name;
    }
    if (info.loader.empty()) continue;
    if (needed.empty()) needs_it = name;
    if (!needed.empty() && needed != info.loader) {
      throw Error(Error::kUsage,
                  fmt::format("--workload {} needs a database that {} loaded, and {} one that {} "
                              "loaded; give each a run and a --dir of its own",
                              name, info.loader, needs_it, needed));
    }
    needed = info.loader;
  }
}

void CheckDatabases(const std::vector<std::string>& workloads, const Dataset& dataset,
                    const WorkloadOptions& options, uint32_t databases) {
  if (databases <= 1) return;
  for (const std::string& name : workloads) {
    const WorkloadInfo& info = FindWorkload(name);
    if (info.only_settles || (info.spreads != nullptr && info.spreads(dataset, options))) continue;
    throw Error(Error::kUsage,
                fmt::format("--databases {} gives each database a part of the memory, and "
                            "--workload {} does not spread its tables over them; leave out "
                            "--databases, or give a workload with tables for each client: "
                            "concurrent-inserts without shared=1",
                            databases, name));
  }
}

void CheckWorkloadOptions(const std::vector<std::string>& workloads,
                          const WorkloadOptions& options) {
  std::set<std::string> known;
  for (const std::string& workload : workloads) {
    for (const auto& [name, meaning] : FindWorkload(workload).extra_options) known.insert(name);
    for (const auto& [name, meaning] : FindWorkload(workload).run_options) known.insert(name);
  }
  for (const auto& [name, value] : options.extra) {
    if (known.contains(name)) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    throw Error(Error::kUsage,
                fmt::format("--workload-option {} is not one of --workload {}; it has {}{}", name,
                            fmt::join(workloads, ","),
                            known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")),
                            DidYouMean(name, names)));
  }
}

}  // namespace testbed
