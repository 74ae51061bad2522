#include "workloads/rows/multi_get.h"

#include <algorithm>

#include "engines/extra_options.h"
#include "workloads/row_chooser.h"
#include "workloads/rows/kept_rows.h"

namespace testbed {
namespace {

class MultiGetClient final : public Client {
 public:
  MultiGetClient(const Dataset& dataset, const WorkloadOptions& options, size_t keys_per_call,
                 Session& session, TableId table, int thread)
      : dataset_(dataset),
        session_(session),
        table_(table),
        keys_per_call_(keys_per_call),
        chooser_(dataset, options, Mix64(options.seed) + static_cast<uint64_t>(thread)),
        room_(kBatch * keys_per_call * dataset.max_key_size()),
        reads_(kBatch * keys_per_call),
        keys_(kBatch * keys_per_call) {}

  size_t Generate(size_t max) override {
    if (chooser_.empty()) return 0;
    max = std::min(max, kBatch);
    for (size_t i = 0; i < max * keys_per_call_; ++i) {
      Read& read = reads_[i];
      char* room = room_.data() + i * dataset_.max_key_size();
      read.row = chooser_.Next();
      read.exists = chooser_.NextExists();
      keys_[i] = read.exists ? dataset_.Key(read.row, room) : dataset_.AbsentKey(read.row, room);
    }
    return max;
  }

  void Execute(size_t i) override {
    kept_.Begin(to_verify_);
    const size_t found = Perform(i);
    totals_.rows_read += found;
    totals_.not_found += keys_per_call_ - found;
  }

  bool Kept() const override { return kept_.kept(); }

  bool Verify(size_t i) override {
    if (kept_.size() != keys_per_call_) return false;
    for (size_t k = 0; k < keys_per_call_; ++k) {
      const Read& read = reads_[i * keys_per_call_ + k];
      const bool found = kept_.key(k) == kFound;
      const bool right = read.exists ? found && dataset_.Check(read.row, kept_.value(k)) : !found;
      if (!right) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kBatch = 16;
  struct Read {
    uint64_t row;
    bool exists;
  };
  // The kept rows have kFound or kAbsent in place of their keys.
  static constexpr std::string_view kFound = "+", kAbsent = "-";

  // Gets the rows of a call. Returns how many it found.
  size_t Perform(size_t i) {
    found_ = 0;
    session_.TakeEach(table_, {keys_.data() + i * keys_per_call_, keys_per_call_},
                      [this](size_t, const FoundRow& row) {
                        found_ += row.found;
                        if (row.found) consume_(row.value);
                        if (!kept_.keeps()) return;
                        row.found ? kept_.Add(kFound, row.value) : kept_.Add(kAbsent, {});
                      });
    return found_;
  }

  const Dataset& dataset_;
  Session& session_;
  const TableId table_;
  const size_t keys_per_call_;
  RowChooser chooser_;
  std::vector<char> room_;
  std::vector<Read> reads_;
  std::vector<std::string_view> keys_;
  size_t found_ = 0;  // rows that the last call found
  KeptRows kept_;
};

class MultiGet : public Workload {
 public:
  MultiGet(const char* name, std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : name_(name),
        dataset_(std::move(dataset)),
        options_(options),
        keys_per_call_(
            ExtraOptions(name, options.extra, "--workload-option").Integer("keys", 16, 1, 1024)) {
    CheckHitRatio(*dataset_, options_);
  }
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  bool writes() const override { return false; }
  bool bears_lost_answers() const override { return true; }
  bool runs_in_tasks() const override { return true; }
  bool has_popular_rows() const override { return HasPopularRows(options_); }
  bool reads_absent_rows() const override { return options_.hit_ratio < 1; }
  std::string EndedBecause() const override { return WhyNothingToRead(options_); }
  void OpenTables(Engine& engine) override { table_ = engine.OpenTable(kMainTable); }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int) override {
    return std::make_unique<MultiGetClient>(*dataset_, options_, keys_per_call_, session, table_,
                                            thread);
  }

 private:
  const std::string name_;
  const std::vector<OpKind> ops_ = {DefineOp("multi-get", Ground::kForeground)};
  std::shared_ptr<const Dataset> dataset_;
  const WorkloadOptions options_;
  const size_t keys_per_call_;
  TableId table_ = 0;
};

std::unique_ptr<Workload> MakeMultiGet(std::shared_ptr<const Dataset> dataset,
                                       const WorkloadOptions& options) {
  return MakeMultiGetAs("multi-get", std::move(dataset), options);
}

}  // namespace

std::unique_ptr<Workload> MakeMultiGetAs(const char* name, std::shared_ptr<const Dataset> dataset,
                                         const WorkloadOptions& options) {
  return std::make_unique<MultiGet>(name, std::move(dataset), options);
}

WorkloadInfo MultiGetInfo() {
  return {.name = "multi-get",
          .summary = "gets several rows by their keys with one call",
          .loads = false,
          .make = MakeMultiGet,
          .reads_only = true,
          .run_options = {{"keys", "keys of a call, 1 to 1024 (16)"}}};
}

}  // namespace testbed
