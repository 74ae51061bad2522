#include "workloads/linkbench/index.h"
#include "workloads/linkbench/load.h"
#include "workloads/linkbench/run.h"
#include "workloads/linkbench/schema.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

using Make = decltype(WorkloadInfo::make);

WorkloadInfo Linkbench(const char* name, const char* summary, Make make) {
  WorkloadInfo info{.name = name, .summary = summary, .loads = false, .make = make};
  info.loader = "linkbench-load";
  info.extra_options = linkbench::SettingsOptions();
  info.run_options = LinkbenchRunOptions();
  return info;
}

}  // namespace

std::vector<WorkloadInfo> LinkbenchWorkloads() {
  std::vector<WorkloadInfo> all = {
      Linkbench("linkbench-load",
                "makes LinkBench's social graph of --rows nodes: nodes, links, counts",
                MakeLinkbenchLoad),
      Linkbench("linkbench-index", "builds LinkBench's covering index after a load without it",
                MakeLinkbenchIndex),
      Linkbench("linkbench", "LinkBench's ten operations on its social graph", MakeLinkbench),
      Linkbench("linkbench-check", "checks whether LinkBench's counts, links and index agree",
                MakeLinkbenchCheck)};
  all[0].loads = true;
  all[2].extra_options = LinkbenchOptions();
  all[3].reads_only = true;
  all[3].only_checks = true;
  all[3].run_options = {};
  return all;
}

}  // namespace testbed
