#include "workloads/rows/db_bench.h"

#include <memory>
#include <string>
#include <utility>

#include "engines/extra_options.h"
#include "workloads/rows/insert.h"
#include "workloads/rows/mixed.h"
#include "workloads/rows/multi_get.h"
#include "workloads/rows/point_read.h"

namespace testbed {
namespace {

using Data = std::shared_ptr<const Dataset>;

std::unique_ptr<Workload> MakeMix(const char* name, const char* action, Data dataset,
                                  const WorkloadOptions& options) {
  WorkloadOptions with = options;
  with.mix = {{action, 1}};
  return MakeMixedAs(name, false, std::move(dataset), with);
}

// Each client reads, and a thread in addition to the clients overwrites rows until they end.
class ReadWhileWriting : public Workload {
 public:
  ReadWhileWriting(const Data& dataset, const WorkloadOptions& options)
      : write_rate_(ExtraOptions("readwhilewriting", options.extra, "--workload-option")
                        .Number("write_rate", 0, 0, 1e9)),
        readers_(MakeMix("readwhilewriting", "point-read", dataset, options)),
        writer_(MakeMix("readwhilewriting", "update", dataset, options)) {}
  const std::string& name() const override { return readers_->name(); }
  const std::vector<OpKind>& ops() const override { return readers_->ops(); }
  std::vector<OpKind> planned_ops() const override {
    std::vector<OpKind> planned = readers_->planned_ops();
    for (const OpKind op : writer_->planned_ops()) planned.push_back(op);
    return planned;
  }
  bool writes() const override { return true; }
  bool updates_rows() const override { return writer_->updates_rows(); }
  int extra_threads() const override { return 1; }
  double ThreadRate(int thread, int threads) const override {
    return thread == threads - 1 ? write_rate_ : 0;
  }
  bool has_popular_rows() const override { return readers_->has_popular_rows(); }
  bool reads_absent_rows() const override { return readers_->reads_absent_rows(); }
  void OpenTables(Engine& engine) override {
    readers_->OpenTables(engine);
    writer_->OpenTables(engine);
  }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) override {
    if (thread < threads - 1) return readers_->NewClient(session, thread, threads);
    return writer_->NewClient(session, thread, 1);  // it is the only client that writes
  }
  bool bears_lost_answers() const override {
    return readers_->bears_lost_answers() && writer_->bears_lost_answers();
  }
  std::string EndedBecause() const override { return readers_->EndedBecause(); }

 private:
  const double write_rate_;
  const std::unique_ptr<Workload> readers_, writer_;
};

std::unique_ptr<Workload> MakeReadWhileWriting(Data dataset, const WorkloadOptions& options) {
  return std::make_unique<ReadWhileWriting>(dataset, options);
}

std::unique_ptr<Workload> MakeFillSeq(Data dataset, const WorkloadOptions& options) {
  return MakeInsertAs("fillseq", std::move(dataset), options);
}

std::unique_ptr<Workload> MakeFillRandom(Data dataset, const WorkloadOptions& options) {
  return MakeInsertAs("fillrandom", std::move(dataset), options);
}

std::unique_ptr<Workload> MakeOverwrite(Data dataset, const WorkloadOptions& options) {
  return MakeMix("overwrite", "update", std::move(dataset), options);
}

std::unique_ptr<Workload> MakeReadRandom(Data dataset, const WorkloadOptions& options) {
  return MakePointReadAs("readrandom", std::move(dataset), options);
}

std::unique_ptr<Workload> MakeSeekRandom(Data dataset, const WorkloadOptions& options) {
  return MakeMix("seekrandom", "scan", std::move(dataset), options);
}

std::unique_ptr<Workload> MakeMultiReadRandom(Data dataset, const WorkloadOptions& options) {
  return MakeMultiGetAs("multireadrandom", std::move(dataset), options);
}

}  // namespace

std::vector<WorkloadInfo> DbBenchInfos() {
  std::vector<WorkloadInfo> infos = {
      {.name = "fillseq",
       .summary = "db_bench's: insert in key order",
       .loads = true,
       .make = MakeFillSeq,
       .defaults = {{"key-order", "sequential"}}},
      {.name = "fillrandom",
       .summary = "db_bench's: insert in random order, each key once",
       .loads = true,
       .make = MakeFillRandom,
       .defaults = {{"key-order", "permuted"}}},
      {.name = "overwrite",
       .summary = "db_bench's: updates of random rows",
       .loads = false,
       .make = MakeOverwrite},
      {.name = "readrandom",
       .summary = "db_bench's: point-read",
       .loads = false,
       .make = MakeReadRandom,
       .reads_only = true,
       .point_reads = true},
      {.name = "readwhilewriting",
       .summary = "db_bench's: point reads by --threads clients, and one thread more that updates",
       .loads = false,
       .make = MakeReadWhileWriting,
       .run_options = {{"write_rate",
                        "updates per second of the writing thread; 0: no limit (0)"}}},
      {.name = "seekrandom",
       .summary = "db_bench's: seeks a random row and reads --scan-rows rows from it on",
       .loads = false,
       .make = MakeSeekRandom,
       .reads_only = true,
       .run_options = MixedRunOptions(),
       .defaults = {{"scan-rows", "1"}}},
      {.name = "multireadrandom",
       .summary = "db_bench's: multi-get",
       .loads = false,
       .make = MakeMultiReadRandom,
       .reads_only = true,
       .run_options = MultiGetInfo().run_options},
  };
  for (WorkloadInfo& info : infos) {
    info.defaults.insert(info.defaults.end(),
                         {{"key-size", "16"}, {"value-size", "100"}, {"threads", "1"}});
  }
  return infos;
}

}  // namespace testbed
