#include "workloads/rows/point_read.h"

#include <algorithm>

#include "workloads/row_chooser.h"

namespace testbed {
namespace {

class PointReadClient final : public Client {
 public:
  PointReadClient(const Dataset& dataset, const WorkloadOptions& options, Session& session,
                  TableId table, int thread)
      : dataset_(dataset),
        session_(session),
        table_(table),
        chooser_(dataset, options, Mix64(options.seed) + static_cast<uint64_t>(thread)),
        keys_(kBatch * dataset.max_key_size()) {}

  size_t Generate(size_t max) override {
    if (chooser_.empty()) return 0;
    max = std::min(max, kBatch);
    for (size_t i = 0; i < max; ++i) {
      Read& read = reads_[i];
      char* room = keys_.data() + i * dataset_.max_key_size();
      read.row = chooser_.Next();
      read.exists = chooser_.NextExists();
      read.key = read.exists ? dataset_.Key(read.row, room) : dataset_.AbsentKey(read.row, room);
    }
    return max;
  }

  void Execute(size_t i) override {
    std::string_view value;
    const bool found = session_.Get(table_, reads_[i].key, &value);
    TakeAnswer(i, found, value);
  }

  Request RequestOf(size_t i) const override { return {table_, reads_[i].key}; }

  void TakeAnswer(size_t, bool found, std::string_view value) override {
    found_ = found;
    value_ = value;
    if (found) consume_(value);
    totals_.rows_read += found;
    totals_.not_found += !found;
  }

  bool Verify(size_t i) override {
    if (!reads_[i].exists) return !found_;
    return found_ && dataset_.Check(reads_[i].row, value_);
  }

 private:
  static constexpr size_t kBatch = 64;
  struct Read {
    uint64_t row;
    bool exists;
    std::string_view key;
  };
  const Dataset& dataset_;
  Session& session_;
  const TableId table_;
  RowChooser chooser_;
  std::vector<char> keys_;
  Read reads_[kBatch];
  bool found_ = false;
  std::string_view value_;
};

class PointRead : public Workload {
 public:
  PointRead(const char* name, std::shared_ptr<const Dataset> dataset,
            const WorkloadOptions& options)
      : name_(name), dataset_(std::move(dataset)), options_(options) {
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
    return std::make_unique<PointReadClient>(*dataset_, options_, session, table_, thread);
  }

 private:
  const std::string name_;
  const std::vector<OpKind> ops_ = {DefineOp("point-read", Ground::kForeground)};
  std::shared_ptr<const Dataset> dataset_;
  const WorkloadOptions options_;
  TableId table_ = 0;
};

}  // namespace

WorkloadInfo PointReadInfo() {
  return {.name = "point-read",
          .summary = "gets one row by its key",
          .loads = false,
          .make = MakePointRead,
          .reads_only = true,
          .point_reads = true};
}

std::unique_ptr<Workload> MakePointRead(std::shared_ptr<const Dataset> dataset,
                                        const WorkloadOptions& options) {
  return MakePointReadAs("point-read", std::move(dataset), options);
}

std::unique_ptr<Workload> MakePointReadAs(const char* name, std::shared_ptr<const Dataset> dataset,
                                          const WorkloadOptions& options) {
  return std::make_unique<PointRead>(name, std::move(dataset), options);
}

}  // namespace testbed
