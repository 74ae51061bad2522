#include <fmt/format.h>

#include "workloads/insert_benchmark/build.h"
#include "workloads/insert_benchmark/insert.h"
#include "workloads/insert_benchmark/options.h"
#include "workloads/insert_benchmark/read.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

using Make = decltype(WorkloadInfo::make);

WorkloadInfo InsertBenchmark(const std::string& name, const std::string& summary, Make make) {
  WorkloadInfo info{.name = "ib." + name,
                    .summary = "insert benchmark: " + summary,
                    .loads = false,
                    .make = make};
  info.loader = "ib.i0";
  info.extra_options = IbOptions::Names();
  info.run_options = IbOptions::RunNames();
  info.spreads = [](const Dataset& dataset, const WorkloadOptions& options) {
    return !IbOptions::Parse(dataset, options).schema.shared;
  };
  return info;
}

template <IbQuery kQuery, int kRate>
WorkloadInfo InsertBenchmarkRead() {
  const bool range = kQuery == IbQuery::kRange;
  return InsertBenchmark(fmt::format("{}{}", range ? "qr" : "qp", kRate),
                         fmt::format("{} queries while {} rows a second and client are inserted",
                                     range ? "range" : "point", kRate),
                         MakeIbRead<kQuery, kRate>);
}

}  // namespace

std::vector<WorkloadInfo> InsertBenchmarkWorkloads() {
  std::vector<WorkloadInfo> all = {
      InsertBenchmark("i0", "loads tables without secondary indexes", MakeIbI0),
      InsertBenchmark("x", "builds the secondary indexes", MakeIbX),
      InsertBenchmark("i1", "inserts, 50 rows a transaction, with 3 secondary indexes", MakeIbI1),
      InsertBenchmark("i2", "inserts, 5 rows a transaction, with 3 secondary indexes", MakeIbI2),
      InsertBenchmark("vac", "brings the database to rest", MakeIbVac),
      InsertBenchmarkRead<IbQuery::kRange, 100>(),
      InsertBenchmarkRead<IbQuery::kRange, 500>(),
      InsertBenchmarkRead<IbQuery::kRange, 1000>(),
      InsertBenchmarkRead<IbQuery::kPoint, 100>(),
      InsertBenchmarkRead<IbQuery::kPoint, 500>(),
      InsertBenchmarkRead<IbQuery::kPoint, 1000>()};
  all[0].loads = true;
  all.push_back({.name = "concurrent-inserts",
                 .summary =
                     "clients insert 1000 rows a transaction, each into its own table with 3 "
                     "secondary indexes",
                 .loads = true,
                 .make = MakeConcurrentInserts,
                 .loader = "concurrent-inserts",
                 .extra_options = ConcurrentInsertOptions::Names(),
                 .run_options = ConcurrentInsertOptions::RunNames(),
                 .adds = true,
                 .spreads = [](const Dataset& dataset, const WorkloadOptions& options) {
                   return !ConcurrentInsertOptions::Parse(dataset, options).schema.shared;
                 }});
  return all;
}

}  // namespace testbed
