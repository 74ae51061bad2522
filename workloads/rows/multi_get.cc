#include "workloads/rows/multi_get.h"

#include <algorithm>

#include "engines/extra_options.h"
#include "workloads/row_chooser.h"

namespace testbed {
namespace {

class MultiGetClient final : public Client {
 public:
  MultiGetClient(const Dataset& dataset, const WorkloadOptions& options, size_t keys_per_call,
                 Session& session, TableId table, int thread)
      : dataset_(dataset),
        session_(session),
        table_(table),
        hit_ratio_(options.hit_ratio),
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
      read.exists = hit_ratio_ >= 1 || chooser_.random().Unit() < hit_ratio_;
      keys_[i] = read.exists ? dataset_.Key(read.row, room) : dataset_.AbsentKey(read.row, room);
    }
    return max;
  }

  void Execute(size_t i) override {
    session_.MultiGet(table_, {keys_.data() + i * keys_per_call_, keys_per_call_}, &rows_);
    size_t found = 0;
    for (const FoundRow& row : rows_) {
      found += row.found;
      if (row.found) consume_(row.value);
    }
    totals_.rows_read += found;
    totals_.not_found += rows_.size() - found;
  }

  bool Verify(size_t i) override {
    for (size_t k = 0; k < keys_per_call_; ++k) {
      const Read& read = reads_[i * keys_per_call_ + k];
      const bool right = read.exists ? rows_[k].found && dataset_.Check(read.row, rows_[k].value)
                                     : !rows_[k].found;
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
  const Dataset& dataset_;
  Session& session_;
  const TableId table_;
  const double hit_ratio_;
  const size_t keys_per_call_;
  RowChooser chooser_;
  std::vector<char> room_;
  std::vector<Read> reads_;
  std::vector<std::string_view> keys_;
  std::vector<FoundRow> rows_;
};

class MultiGet : public Workload {
 public:
  MultiGet(const char* name, std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : name_(name),
        dataset_(std::move(dataset)),
        options_(options),
        keys_per_call_(
            ExtraOptions(name, options.extra, "--workload-option").Integer("keys", 16, 1, 1024)) {}
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  bool writes() const override { return false; }
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
