// A workload outside the tree: each operation walks over the whole table. It joins by this folder
// alone (CONTRIBUTING.md, "Adding a workload"); check.sh builds it.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workloads/registry.h"

namespace testbed {
namespace {

class EveryRowClient : public Client {
 public:
  EveryRowClient(uint64_t rows, Session& session, TableId table)
      : rows_(rows), cursor_(session.NewCursor(table)) {}
  size_t Generate(size_t) override { return 1; }
  void Execute(size_t) override {
    seen_ = 0;
    for (bool on = cursor_->First(); on; on = cursor_->Next()) {
      consume_(cursor_->key());
      consume_(cursor_->value());
      ++seen_;
    }
    totals_.rows_read += seen_;
  }
  bool Verify(size_t) override { return seen_ == rows_; }

 private:
  const uint64_t rows_;
  const std::unique_ptr<Cursor> cursor_;
  uint64_t seen_ = 0;
};

class EveryRow : public Workload {
 public:
  explicit EveryRow(std::shared_ptr<const Dataset> dataset) : dataset_(std::move(dataset)) {}
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  bool writes() const override { return false; }
  void OpenTables(Engine& engine) override { table_ = engine.OpenTable(kMainTable); }
  std::unique_ptr<Client> NewClient(Session& session, int, int) override {
    return std::make_unique<EveryRowClient>(dataset_->rows(), session, table_);
  }

 private:
  const std::string name_ = "every-row";
  const std::vector<OpKind> ops_ = {DefineOp("every-row", Ground::kForeground)};
  const std::shared_ptr<const Dataset> dataset_;
  TableId table_ = 0;
};

std::unique_ptr<Workload> MakeEveryRow(std::shared_ptr<const Dataset> dataset,
                                       const WorkloadOptions&) {
  return std::make_unique<EveryRow>(std::move(dataset));
}

}  // namespace

std::vector<WorkloadInfo> EveryRowWorkloads() {
  return {{.name = "every-row",
           .summary = "walks over the whole table",
           .loads = false,
           .make = MakeEveryRow,
           .reads_only = true}};
}

}  // namespace testbed
