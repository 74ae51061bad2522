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
#include "workloads/population.h"

namespace testbed {

const char* DistributionName(Distribution distribution) {
  static constexpr const char* kNames[] = {"uniform", "zipfian", "latest", "hot"};
  return kNames[static_cast<size_t>(distribution)];
}

namespace {

using Make = decltype(WorkloadInfo::make);

WorkloadInfo Linkbench(const char* name, const char* summary, Make make) {
  WorkloadInfo info{.name = name, .summary = summary, .loads = false, .make = make};
  info.loader = "linkbench-load";
  info.extra_options = linkbench::SettingsOptions();
  info.run_options = LinkbenchRunOptions();
  return info;
}

std::vector<WorkloadInfo> LinkbenchWorkloads() {
  std::vector<WorkloadInfo> all = {
      Linkbench("linkbench-load",
                "makes LinkBench's social graph of --rows nodes: nodes, links, counts",
                MakeLinkbenchLoad),
      Linkbench("linkbench-index", "builds LinkBench's covering index after a load without it",
                MakeLinkbenchIndex),
      Linkbench("linkbench", "LinkBench's ten operations on its social graph", MakeLinkbench),
      Linkbench("linkbench-check", "looks whether LinkBench's counts, links and index agree",
                MakeLinkbenchCheck)};
  all[0].loads = true;
  all[2].extra_options = LinkbenchOptions();
  all[3].reads_only = true;
  all[3].run_options = {};
  return all;
}

WorkloadInfo InsertBenchmark(const std::string& name, const std::string& summary, Make make) {
  WorkloadInfo info{
      .name = "ib." + name, .summary = "insert benchmark: " + summary, .loads = false, .make = make};
  info.loader = "ib.i0";
  info.extra_options = IbOptions::Names();
  info.run_options = IbOptions::RunNames();
  return info;
}

template <IbQuery kQuery, int kRate>
WorkloadInfo InsertBenchmarkRead() {
  const bool range = kQuery == IbQuery::kRange;
  return InsertBenchmark(
      fmt::format("{}{}", range ? "qr" : "qp", kRate),
      fmt::format("{} queries while {} rows a second and client are inserted",
                  range ? "range" : "point", kRate),
      MakeIbRead<kQuery, kRate>);
}

std::vector<WorkloadInfo> InsertBenchmarkWorkloads() {
  std::vector<WorkloadInfo> all = {
      InsertBenchmark("i0", "loads tables without secondary indexes", MakeIbI0),
      InsertBenchmark("x", "builds the secondary indexes", MakeIbX),
      InsertBenchmark("i1", "inserts, 50 rows a transaction, with 3 secondary indexes", MakeIbI1),
      InsertBenchmark("i2", "the same with 5 rows a transaction", MakeIbI2),
      InsertBenchmark("vac", "brings the database to rest", MakeIbVac),
      InsertBenchmarkRead<IbQuery::kRange, 100>(),
      InsertBenchmarkRead<IbQuery::kRange, 500>(),
      InsertBenchmarkRead<IbQuery::kRange, 1000>(),
      InsertBenchmarkRead<IbQuery::kPoint, 100>(),
      InsertBenchmarkRead<IbQuery::kPoint, 500>(),
      InsertBenchmarkRead<IbQuery::kPoint, 1000>()};
  all[0].loads = true;
  return all;
}

std::vector<WorkloadInfo> AllWorkloads() {
  std::vector<WorkloadInfo> all;
  all.push_back({.name = "insert",
                 .summary = "loads the rows, in key order or not, with 0 to 3 secondary indexes",
                 .loads = true,
                 .make = MakeInsert});
  all.push_back(PointReadInfo());
  all.push_back(MultiGetInfo());
  all.push_back(
      {.name = "mixed",
       .summary = "point reads, updates, inserts, erases and scans in the proportions of --mix",
       .loads = false,
       .make = MakeMixed});
#ifdef TESTBED_HAVE_DOCUMENTS
  all.push_back(DocumentLoadInfo());
  all.push_back(DocumentQueryInfo());
#endif
  for (WorkloadInfo& info : LinkbenchWorkloads()) all.push_back(std::move(info));
  for (WorkloadInfo& info : InsertBenchmarkWorkloads()) all.push_back(std::move(info));
  all.push_back({.name = "concurrent-inserts",
                 .summary = "clients insert 1000 rows a transaction, each into its own table with 3 "
                            "secondary indexes",
                 .loads = true,
                 .make = MakeConcurrentInserts,
                 .loader = "concurrent-inserts",
                 .extra_options = ConcurrentInsertOptions::Names(),
                 .run_options = ConcurrentInsertOptions::RunNames(),
                 .adds = true});
  return all;
}

}  // namespace

const std::vector<WorkloadInfo>& Workloads() {
  static const std::vector<WorkloadInfo> workloads = AllWorkloads();
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
  return bytes != 0 ? bytes : dataset->key_bytes() + dataset->value_bytes();
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
      population_(options.population.get()),
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

// A row of the data set, whether or not it is there.
uint64_t RowChooser::Draw() {
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

bool RowChooser::empty() const { return population_ != nullptr && population_->there().empty(); }

uint64_t RowChooser::Next() {
  if (population_ == nullptr || population_->as_loaded()) return Draw();
  return population_->RowOf(NextPlace());
}

uint64_t RowChooser::NextPlace() {
  if (population_->as_loaded()) return population_->PlaceOf(Draw());
  // Of popular rows some may be erased; then others are drawn, and after many the next best.
  constexpr int kTries = 32;
  for (int i = 0; i < kTries; ++i) {
    if (const std::optional<uint64_t> place = DrawPlace()) return *place;
  }
  const RangeSet& there = population_->there();
  return there.At(random_.Below(there.count()));
}

// Nothing when the row that was drawn is not there.
std::optional<uint64_t> RowChooser::DrawPlace() {
  const RangeSet& there = population_->there();
  const uint64_t rows = dataset_.rows();
  uint64_t place;
  if (distribution_ == Distribution::kUniform) {
    return there.At(random_.Below(there.count()));
  } else if (distribution_ == Distribution::kLatest) {
    // The rows that were inserted are the latest; behind them come the loaded ones.
    const uint64_t age = zipfian_(random_), inserted = there.CountFrom(rows);
    if (age < inserted) return there.At(there.count() - 1 - age);
    if (age - inserted >= rows) return std::nullopt;
    place = population_->PlaceOf(dataset_.RowAt(rows - 1 - (age - inserted)));
  } else {
    // A loaded row or one of its successors.
    const uint64_t first = there.ranges().front().begin / rows;
    const uint64_t last = (there.ranges().back().end - 1) / rows;
    place = population_->PlaceOf(Draw()) + (first + random_.Below(last - first + 1)) * rows;
  }
  if (!there.Contains(place)) return std::nullopt;
  return place;
}

std::string WhyNothingToRead(const WorkloadOptions& options) {
  const bool none = options.population != nullptr && options.population->there().empty();
  return none ? "no row is left to read" : "";
}

}  // namespace testbed
