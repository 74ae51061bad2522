#include "workloads/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "device/error.h"
#ifdef TESTBED_HAVE_DOCUMENTS
#include "workloads/document.h"
#endif
#include "workloads/ib_build.h"
#include "workloads/ib_insert.h"
#include "workloads/ib_read.h"
#include "workloads/insert.h"
#include "workloads/linkbench_index.h"
#include "workloads/linkbench_load.h"
#include "workloads/linkbench_run.h"
#include "workloads/linkbench_schema.h"
#include "workloads/mixed.h"
#include "workloads/multi_get.h"
#include "workloads/point_read.h"

namespace testbed {

const char* DistributionName(Distribution distribution) {
  static constexpr const char* kNames[] = {"uniform", "zipfian", "latest", "hot"};
  return kNames[static_cast<size_t>(distribution)];
}

const std::vector<WorkloadInfo>& Workloads() {
  static const std::vector<WorkloadInfo> workloads = {
      {"insert", "loads the rows, in key order or not, with 0 to 3 secondary indexes", true,
       MakeInsert},
      PointReadInfo(),
      MultiGetInfo(),
      {"mixed", "point reads, updates, inserts, erases and scans in the proportions of --mix",
       false, MakeMixed},
#ifdef TESTBED_HAVE_DOCUMENTS
      DocumentLoadInfo(),
      DocumentQueryInfo(),
#endif
      {"linkbench-load", "makes LinkBench's social graph of --rows nodes: nodes, links, counts",
       true, MakeLinkbenchLoad, false, "linkbench-load", linkbench::SettingsOptions(),
       LinkbenchRunOptions()},
      {"linkbench-index", "builds LinkBench's covering index after a load without it", false,
       MakeLinkbenchIndex, false, "linkbench-load", linkbench::SettingsOptions(),
       LinkbenchRunOptions()},
      {"linkbench", "LinkBench's ten operations on its social graph", false, MakeLinkbench, false,
       "linkbench-load", LinkbenchOptions(), LinkbenchRunOptions()},
      {"linkbench-check", "looks whether LinkBench's counts, links and index agree", false,
       MakeLinkbenchCheck, true, "linkbench-load", linkbench::SettingsOptions()},
      {"ib.i0", "insert benchmark: loads tables without secondary indexes", true, MakeIbI0, false,
       "ib.i0", IbOptions::Names(), IbOptions::RunNames()},
      {"ib.x", "insert benchmark: builds the secondary indexes", false, MakeIbX, false, "ib.i0",
       IbOptions::Names(), IbOptions::RunNames()},
      {"ib.i1", "insert benchmark: inserts, 50 rows a transaction, with 3 secondary indexes", false,
       MakeIbI1, false, "ib.i0", IbOptions::Names(), IbOptions::RunNames()},
      {"ib.i2", "insert benchmark: the same with 5 rows a transaction", false, MakeIbI2, false,
       "ib.i0", IbOptions::Names(), IbOptions::RunNames()},
      {"ib.vac", "insert benchmark: brings the database to rest", false, MakeIbVac, false, "ib.i0",
       IbOptions::Names(), IbOptions::RunNames()},
      {"ib.qr100",
       "insert benchmark: range queries while 100 rows a second and client are inserted", false,
       MakeIbRead<IbQuery::kRange, 100>, false, "ib.i0", IbOptions::Names(), IbOptions::RunNames()},
      {"ib.qr500",
       "insert benchmark: range queries while 500 rows a second and client are inserted", false,
       MakeIbRead<IbQuery::kRange, 500>, false, "ib.i0", IbOptions::Names(), IbOptions::RunNames()},
      {"ib.qr1000",
       "insert benchmark: range queries while 1000 rows a second and client are inserted", false,
       MakeIbRead<IbQuery::kRange, 1000>, false, "ib.i0", IbOptions::Names(),
       IbOptions::RunNames()},
      {"ib.qp100",
       "insert benchmark: point queries while 100 rows a second and client are inserted", false,
       MakeIbRead<IbQuery::kPoint, 100>, false, "ib.i0", IbOptions::Names(), IbOptions::RunNames()},
      {"ib.qp500",
       "insert benchmark: point queries while 500 rows a second and client are inserted", false,
       MakeIbRead<IbQuery::kPoint, 500>, false, "ib.i0", IbOptions::Names(), IbOptions::RunNames()},
      {"ib.qp1000",
       "insert benchmark: point queries while 1000 rows a second and client are inserted", false,
       MakeIbRead<IbQuery::kPoint, 1000>, false, "ib.i0", IbOptions::Names(),
       IbOptions::RunNames()},
      {"concurrent-inserts",
       "clients insert 1000 rows a transaction, each into its own table with 3 secondary indexes",
       true, MakeConcurrentInserts, false, "concurrent-inserts", ConcurrentInsertOptions::Names(),
       ConcurrentInsertOptions::RunNames(), false, true},
  };
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

uint64_t DataBytes(const std::vector<std::string>& workloads,
                   const std::shared_ptr<const Dataset>& dataset, const WorkloadOptions& options) {
  uint64_t bytes = 0;
  for (const std::string& name : workloads) {
    bytes += FindWorkload(name).make(dataset, options)->AddedBytes();
  }
  const DatasetOptions& rows = dataset->options();
  return bytes != 0 ? bytes : rows.rows * (rows.key_size + rows.value_size);
}

void CheckLoaders(const std::vector<std::string>& workloads, bool holds_rows) {
  std::string before;
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
    throw Error(Error::kUsage,
                fmt::format("--workload-option {} is not one of --workload {}; it has {}", name,
                            fmt::join(workloads, ","),
                            known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
}

RowChooser::RowChooser(const Dataset& dataset, const WorkloadOptions& options, uint64_t seed)
    : dataset_(dataset),
      distribution_(options.distribution),
      hot_probability_(options.hot_probability),
      hot_rows_(std::max<uint64_t>(
          1, static_cast<uint64_t>(options.hot_fraction * static_cast<double>(dataset.rows())))),
      random_(seed),
      zipfian_(dataset.rows(), options.zipf_theta),
      scatter_(dataset.rows(), options.seed) {}

void RowChooser::DrawPopular() {
  for (uint64_t& row : popular_) row = zipfian_(random_);
  for (uint64_t& row : popular_) row = scatter_(row);
  used_ = 0;
}

uint64_t RowChooser::Next() {
  switch (distribution_) {
    case Distribution::kUniform:
      return random_.Below(dataset_.rows());
    case Distribution::kZipfian:
      if (used_ == popular_.size()) DrawPopular();
      return popular_[used_++];
    case Distribution::kLatest:
      return dataset_.RowAt(dataset_.rows() - 1 - zipfian_(random_));
    case Distribution::kHot:
      break;
  }
  const bool hot = hot_probability_ >= 1 || random_.Unit() < hot_probability_;
  return random_.Below(hot ? hot_rows_ : dataset_.rows());
}

}  // namespace testbed
