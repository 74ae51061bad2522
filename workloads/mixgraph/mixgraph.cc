#include "workloads/mixgraph/mixgraph.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "workloads/mixgraph/models.h"
#include "workloads/population.h"
#include "workloads/rows/kept_rows.h"
#include "workloads/rows/scan.h"
#include "workloads/writing_phases.h"

namespace testbed {
namespace {

using mixgraph::KeyModel;
using mixgraph::Options;
using mixgraph::QueryModel;

// The state that all clients of a phase share.
struct MixgraphPhase {
  const Dataset& dataset;
  const Options options;
  const KeyModel keys;
  const QueryModel queries;
  const uint64_t seed;
  TableId table = 0;
  uint64_t number = 0;  // number of this phase on the database (writing_phases.h)
  TableRows scanned = TableRows::kOthers;  // what is known of the rows that scans find
  std::atomic<uint64_t> puts{0}, value_bytes{0}, seeks{0}, scan_rows{0};
};

class MixgraphClient : public Client {
 public:
  MixgraphClient(MixgraphPhase& phase, Session& session, int thread, int threads)
      : phase_(phase),
        session_(session),
        alone_(threads == 1),
        random_(Mix64(phase.seed) + static_cast<uint64_t>(thread)),
        times_(phase.options, thread, threads, phase.seed),
        version_(Mix64(phase.seed ^ Mix64(static_cast<uint64_t>(thread) ^ Mix64(phase.number)))),
        key_room_(phase.dataset.max_key_size()),
        room_(key_room_ + phase.options.max_value_size),
        batch_(std::clamp<size_t>(kBatchBytes / room_, 1, kBatch)),
        buffer_(batch_ * room_) {}
  ~MixgraphClient() override {
    phase_.puts += puts_;
    phase_.value_bytes += value_bytes_;
    phase_.seeks += seeks_;
    phase_.scan_rows += scan_rows_;
  }

  size_t Generate(size_t max) override {
    const size_t n = std::min(max, batch_);
    for (size_t i = 0; i < n; ++i) Prepare(&steps_[i], buffer_.data() + i * room_);
    prepared_ = n;
    begun_ = 0;
    return n;
  }
  size_t OpOf(size_t i) const override { return steps_[i].query; }
  uint64_t DueNs(size_t i) const override { return steps_[i].due_ns; }
  uint64_t PassOver(uint64_t n) override {
    const bool is_prepared = begun_ < prepared_;
    const uint64_t due_ns = is_prepared ? steps_[begun_].due_ns : times_.Next();
    const uint64_t of_prepared = std::min<uint64_t>(n, prepared_ - begun_);
    begun_ += of_prepared;
    times_.Skip(n - (is_prepared ? of_prepared : 1));
    return due_ns;
  }

  void Execute(size_t i) override {
    const Step& step = steps_[i];
    begun_ = i + 1;
    kept_.Begin(to_verify_);
    switch (step.query) {
      case QueryModel::kGet:
        found_ = session_.Get(phase_.table, step.key, &value_);
        if (found_) consume_(value_);
        totals_.rows_read += found_;
        totals_.not_found += !found_;
        break;
      case QueryModel::kPut:
        session_.Put(phase_.table, step.key, step.value);
        ++totals_.rows_written;
        totals_.user_bytes_written += step.key.size() + step.value.size();
        ++puts_;
        value_bytes_ += step.value.size();
        break;
      default: {
        const uint64_t rows = Scan(session_, RangeOf(step), &consume_, &kept_);
        totals_.rows_read += rows;
        scan_rows_ += rows;
        ++seeks_;
      }
    }
  }

  bool Kept() const override { return kept_.kept(); }

  // Another client may have written a version of another size, unless there is none.
  bool Verify(size_t i) override {
    const Step& step = steps_[i];
    if (step.query == QueryModel::kSeek) {
      return CheckScan(phase_.dataset, session_, RangeOf(step), kept_, phase_.scanned);
    }
    if (step.query == QueryModel::kPut) {
      found_ = session_.Get(phase_.table, step.key, &value_);
      if (alone_) return found_ && value_ == step.value;
    }
    return found_ && phase_.dataset.Check(step.row, value_);
  }

 private:
  static constexpr size_t kBatch = 64;
  struct Step {
    QueryModel::Query query = QueryModel::kGet;
    uint64_t row = 0, scan_rows = 0, due_ns = 0;
    std::string_view key, value;
  };

  // Returns the word from which a model draws: the word of the key, as in db_bench, or with
  // draws=independent another one.
  uint64_t Word(uint64_t of_key) {
    return phase_.options.independent ? random_.Below(phase_.dataset.rows()) : of_key;
  }

  void Prepare(Step* step, char* at) {
    const Dataset& dataset = phase_.dataset;
    const uint64_t word = random_.Below(dataset.rows());
    const auto unit = [&](uint64_t w) {
      return static_cast<double>(w) / static_cast<double>(dataset.rows());
    };
    step->query = phase_.queries.Of(Word(word));
    step->row = phase_.keys.Key(word);
    step->key = dataset.Key(step->row, at);
    if (step->query == QueryModel::kPut) {
      const uint64_t bytes = mixgraph::ValueBytes(phase_.options, unit(Word(word)));
      dataset.SizedValue(step->row, ++version_, bytes, at + key_room_);
      step->value = {at + key_room_, bytes};
    } else if (step->query == QueryModel::kSeek) {
      step->scan_rows = mixgraph::ScanRows(phase_.options, unit(Word(word)));
    }
    if (phase_.options.sine) step->due_ns = times_.Next();
  }

  ScanRange RangeOf(const Step& step) const { return {phase_.table, step.key, step.scan_rows}; }

  MixgraphPhase& phase_;
  Session& session_;
  const bool alone_;  // no other client writes in the phase
  Random random_;
  mixgraph::SineTimes times_;
  uint64_t version_;
  const size_t key_room_, room_;
  const size_t batch_;  // operations that are prepared at once
  std::vector<char> buffer_;
  Step steps_[kBatch];
  size_t prepared_ = 0, begun_ = 0;  // the steps that are prepared, and those that are over
  bool found_ = false;
  std::string_view value_;
  KeptRows kept_;  // rows that a scan found
  uint64_t puts_ = 0, value_bytes_ = 0, seeks_ = 0, scan_rows_ = 0;
};

class Mixgraph : public Workload {
 public:
  Mixgraph(std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : dataset_(std::move(dataset)),
        population_(options.population),
        writing_phases_(options.writing_phases),
        phase_{.dataset = *dataset_,
               .options = Options::From(options.extra),
               .keys = KeyModel(phase_.options, dataset_->rows()),
               .queries = QueryModel(phase_.options),
               .seed = options.seed} {}
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  std::vector<OpKind> planned_ops() const override {
    std::vector<OpKind> planned;
    for (size_t query = 0; query < ops_.size(); ++query) {
      if (phase_.queries.share(static_cast<QueryModel::Query>(query)) > 0) {
        planned.push_back(ops_[query]);
      }
    }
    return planned;
  }
  bool writes() const override { return phase_.queries.share(QueryModel::kPut) > 0; }
  bool changes_row_sizes() const override { return writes(); }
  bool timed() const override { return phase_.options.sine; }
  bool knows_due_times() const override { return phase_.options.sine; }
  void OpenTables(Engine& engine) override {
    phase_.table = engine.OpenTable(kMainTable);
    if (writes()) phase_.number = BeginWritingPhase(writing_phases_);
    phase_.scanned = UnchangingRows(population_.get());
    if (population_ == nullptr) return;
    const uint64_t rows = dataset_->rows(), there = population_->there().count();
    if (population_->known() && there - population_->there().CountFrom(rows) != rows) {
      throw Error(Error::kRun,
                  "mixgraph asks for all rows that were loaded, and a phase before it erased some; "
                  "load the database anew with --fresh");
    }
  }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) override {
    return std::make_unique<MixgraphClient>(phase_, session, thread, threads);
  }
  nlohmann::json Details() const override {
    const auto mean = [](uint64_t sum, uint64_t n) {
      return n == 0 ? nlohmann::json()
                    : nlohmann::json(static_cast<double>(sum) / static_cast<double>(n));
    };
    return {{"keys", phase_.keys.name()},
            {"mean_value_bytes", mean(phase_.value_bytes, phase_.puts)},
            {"mean_scan_rows", mean(phase_.scan_rows, phase_.seeks)}};
  }

 private:
  const std::string name_ = "mixgraph";
  const std::vector<OpKind> ops_ = {DefineOp("point-read", Ground::kForeground),
                                    DefineOp("update", Ground::kForeground),
                                    DefineOp("scan", Ground::kForeground)};
  const std::shared_ptr<const Dataset> dataset_;
  const std::shared_ptr<Population> population_;
  const std::shared_ptr<WritingPhases> writing_phases_;
  MixgraphPhase phase_;
};

std::unique_ptr<Workload> MakeMixgraph(std::shared_ptr<const Dataset> dataset,
                                       const WorkloadOptions& options) {
  return std::make_unique<Mixgraph>(std::move(dataset), options);
}

}  // namespace

WorkloadInfo MixgraphInfo() {
  return {.name = "mixgraph",
          .summary = "Meta's models of keys, values, scans and rates, as db_bench has them",
          .loads = false,
          .make = MakeMixgraph,
          .run_options = Options::Names(),
          .defaults = {{"key-size", "16"}, {"value-size", "100"}, {"threads", "1"}}};
}

}  // namespace testbed
