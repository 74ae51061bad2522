#include "workloads/rows/insert.h"

#include <algorithm>

namespace testbed {
namespace {

class InsertClient : public Client {
 public:
  InsertClient(const Dataset& dataset, Session& session, const std::vector<TableId>& tables,
               uint32_t rows_per_transaction, int thread, int threads)
      : dataset_(dataset),
        session_(session),
        tables_(tables),
        block_(rows_per_transaction),
        next_(static_cast<uint64_t>(thread) * block_),
        stride_(static_cast<uint64_t>(threads) * block_),
        key_room_(Dataset::kAttributeBytes + dataset.max_key_size()) {}

  size_t Generate(size_t max) override {
    // Limits the batch to the transactions that fit in the processor's caches, at least one. When
    // values have several sizes, the mean size counts; kBatchBytes bounds a batch of longer values.
    const size_t row_bytes = dataset_.options().value_size + key_room_ * tables_.size();
    max = std::clamp<size_t>((64u << 10) / (row_bytes * block_), 1, max);
    transactions_.clear();
    rows_.clear();
    size_t bytes = 0;
    while (transactions_.size() < max && bytes < kBatchBytes && next_ < dataset_.rows()) {
      const uint64_t end = std::min(next_ + block_, dataset_.rows());
      transactions_.push_back({rows_.size(), static_cast<size_t>(end - next_)});
      for (uint64_t i = next_; i < end; ++i) {
        rows_.push_back({dataset_.RowAt(i), {}, {}});
        bytes += dataset_.ValueSize(rows_.back().row) + key_room_ * tables_.size();
      }
      next_ += stride_;
    }
    buffer_.resize(std::max(buffer_.size(), bytes));
    Fill();
    return transactions_.size();
  }

  void Execute(size_t i) override {
    const Transaction& t = transactions_[i];
    const bool explicit_transaction = t.rows * tables_.size() > 1;
    if (explicit_transaction) session_.Begin();
    for (size_t r = t.first; r < t.first + t.rows; ++r) {
      const Row& row = rows_[r];
      session_.Put(tables_[0], row.keys[0], row.value);
      for (size_t k = 1; k < tables_.size(); ++k) session_.Put(tables_[k], row.keys[k], {});
      totals_.user_bytes_written += row.bytes;
    }
    if (explicit_transaction) session_.Commit();
    totals_.rows_written += t.rows;
    totals_.rows_inserted += t.rows;
  }

  // Reads back rows of the transaction with their index entries: all of them where all operations
  // are checked, and the first one in a sample, whose checks are to take little of the phase.
  bool Verify(size_t i) override {
    const Transaction& t = transactions_[i];
    const size_t end = t.first + (verifies_all_ ? t.rows : 1);
    for (size_t r = t.first; r < end; ++r) {
      if (!IsThere(rows_[r])) return false;
    }
    return true;
  }

 private:
  struct Transaction {
    size_t first, rows;
  };
  struct Row {
    uint64_t row;
    std::string_view keys[4];
    std::string_view value;
    size_t bytes = 0;
  };

  // Returns whether the database holds the row and its index entries.
  bool IsThere(const Row& row) {
    std::string_view value;
    if (!session_.Get(tables_[0], row.keys[0], &value) || value != row.value) return false;
    for (size_t k = 1; k < tables_.size(); ++k) {
      if (!session_.Get(tables_[k], row.keys[k], &value) || !value.empty()) return false;
    }
    return true;
  }

  // Makes the keys and values of the rows in rows_, in the buffer, which has room for them.
  void Fill() {
    char* at = buffer_.data();
    for (Row& row : rows_) {
      const size_t value_size = dataset_.ValueSize(row.row);
      dataset_.Value(row.row, 0, at);
      row.value = {at, value_size};
      at += value_size;
      row.bytes = value_size;
      for (size_t k = 0; k < tables_.size(); ++k, at += key_room_) {
        row.keys[k] = k == 0 ? dataset_.Key(row.row, at)
                             : dataset_.IndexKey(static_cast<uint32_t>(k - 1), row.row, at);
        row.bytes += row.keys[k].size();
      }
    }
  }

  const Dataset& dataset_;
  Session& session_;
  const std::vector<TableId>& tables_;
  const uint64_t block_;
  uint64_t next_;
  const uint64_t stride_;
  const size_t key_room_;
  std::vector<Transaction> transactions_;
  std::vector<Row> rows_;
  std::vector<char> buffer_;
};

class Insert : public Workload {
 public:
  Insert(const char* name, std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : name_(name),
        dataset_(std::move(dataset)),
        rows_per_transaction_(options.rows_per_transaction) {}
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  uint64_t operations() const override {
    return (dataset_->rows() + rows_per_transaction_ - 1) / rows_per_transaction_;
  }
  bool writes() const override { return true; }
  uint64_t AddedBytes() const override {
    const uint64_t entries = dataset_->key_bytes() + Dataset::kAttributeBytes * dataset_->rows();
    return dataset_->key_bytes() + dataset_->expected_value_bytes() +
           dataset_->options().indexes * entries;
  }
  uint32_t kept_indexes() const override { return dataset_->options().indexes; }
  void OpenTables(Engine& engine) override { tables_ = OpenDatasetTables(engine, *dataset_); }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) override {
    return std::make_unique<InsertClient>(*dataset_, session, tables_, rows_per_transaction_,
                                          thread, threads);
  }

 private:
  const std::string name_;
  const std::vector<OpKind> ops_ = {DefineOp("insert", Ground::kForeground)};
  std::shared_ptr<const Dataset> dataset_;
  const uint32_t rows_per_transaction_;
  std::vector<TableId> tables_;
};

}  // namespace

std::vector<TableId> OpenDatasetTables(Engine& engine, const Dataset& dataset) {
  std::vector<TableId> tables = {engine.OpenTable(kMainTable)};
  for (uint32_t k = 0; k < dataset.options().indexes; ++k) {
    tables.push_back(engine.OpenTable(IndexTable(k)));
  }
  return tables;
}

WorkloadInfo InsertInfo() {
  return {.name = "insert",
          .summary = "loads the rows, in key order or not, with 0 to 3 secondary indexes",
          .loads = true,
          .make = MakeInsert};
}

std::unique_ptr<Workload> MakeInsert(std::shared_ptr<const Dataset> dataset,
                                     const WorkloadOptions& options) {
  return MakeInsertAs("insert", std::move(dataset), options);
}

std::unique_ptr<Workload> MakeInsertAs(const char* name, std::shared_ptr<const Dataset> dataset,
                                       const WorkloadOptions& options) {
  return std::make_unique<Insert>(name, std::move(dataset), options);
}

}  // namespace testbed
