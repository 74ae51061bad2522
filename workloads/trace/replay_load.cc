#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "device/account/ledger.h"
#include "device/os/signal_guard.h"
#include "workloads/trace/known_trace.h"
#include "workloads/trace/replay.h"
#include "workloads/trace/trace_file.h"
#include "workloads/trace/value_maker.h"

namespace testbed {
namespace {

// A row that a call of the trace names, with the size of its value.
struct WantedRow {
  TableId table = 0;
  std::string_view key;
  uint64_t size = 0;
};

// Each thread reads the whole trace and writes the rows whose keys are its own, each once.
class ReplayLoadClient : public Client {
 public:
  ReplayLoadClient(const TraceFile& file, const Dataset& dataset,
                   const std::vector<TableId>& tables, Session& session, uint32_t thread,
                   uint32_t threads)
      : tables_(tables),
        usual_size_(dataset.options().value_size),
        session_(session),
        thread_(thread),
        threads_(threads),
        stream_(file, AllClients(file)),
        values_(dataset, 0) {}

  // Prepares inserts of single rows. Rows that exist already are looked up and left out here, so
  // that the operations that are counted and measured are inserts alone.
  size_t Generate(size_t max) override {
    batch_.clear();
    while (batch_.empty() && !StopRequested()) {
      if (next_ == rows_.size()) Fill(max);
      if (rows_.empty()) return 0;
      TakeMissing(std::min(next_ + max, rows_.size()));
    }
    size_t bytes = 0;
    for (const WantedRow& row : batch_) bytes += row.size;
    buffer_.resize(bytes);
    size_t at = 0;
    for (const WantedRow& row : batch_) {
      values_.MakeFirst(row.key, row.size, buffer_.data() + at);
      at += row.size;
    }
    at_ = 0;
    return batch_.size();
  }

  void Execute(size_t i) override {
    const WantedRow& row = batch_[i];
    session_.Put(row.table, row.key, {buffer_.data() + at_, row.size});
    at_ += row.size;
    ++totals_.rows_written;
    ++totals_.rows_inserted;
    totals_.user_bytes_written += row.key.size() + row.size;
  }
  bool Verify(size_t i) override {
    std::string_view value;
    const WantedRow& row = batch_[i];
    return session_.Get(row.table, row.key, &value) && value.size() == row.size &&
           values_.MayHaveMade(row.key, value);
  }

 private:
  // Collects the next rows of the trace: at least `rows` of them, up to the end of an operation.
  void Fill(size_t rows) {
    rows_.clear();
    kept_.clear();
    next_ = 0;
    while (rows_.size() < rows && !StopRequested() && !IsOver() && stream_.Next(&operation_)) {
      Take();
    }
  }
  // Adds the rows before `end` that do not exist yet to the batch, each once, as far as there is
  // room for their values.
  void TakeMissing(size_t end) {
    const IoScope scope(kLookUp);
    std::set<std::pair<TableId, std::string_view>> taken;
    uint64_t bytes = 0;
    for (; next_ < end && bytes < kBatchBytes; ++next_) {
      const WantedRow& row = rows_[next_];
      std::string_view value;
      if (!taken.emplace(row.table, row.key).second) continue;
      if (session_.Get(row.table, row.key, &value)) continue;
      batch_.push_back(row);
      bytes += row.size;
    }
  }
  // Adds the rows that the calls of the operation name. Keeps the block if there are any: a thread
  // may read a whole trace to find its next rows, and must not hold all of the trace.
  void Take() {
    const size_t before = rows_.size();
    for (const TraceCall& call : operation_.calls) {
      if (call.kind == TraceCallKind::kGet) Add(call.table, call.key, call.answer);
      if (call.kind == TraceCallKind::kPut) {
        Add(call.table, call.key, {TraceAnswer::kFound, call.number});
      }
      if (call.kind != TraceCallKind::kMultiGet) continue;
      for (size_t i = call.first; i < call.first + call.number; ++i) {
        Add(call.table, operation_.keys[i], operation_.answers[i]);
      }
    }
    const bool is_kept = !kept_.empty() && kept_.back() == operation_.block;
    if (rows_.size() > before && !is_kept) kept_.push_back(operation_.block);
  }
  void Add(uint32_t table, std::string_view key, const TraceAnswer& answer) {
    if (answer.state == TraceAnswer::kAbsent) return;
    if (Mix64(std::hash<std::string_view>()(key)) % threads_ != thread_) return;
    rows_.push_back(
        {tables_[table], key, answer.state == TraceAnswer::kFound ? answer.size : usual_size_});
  }

  const std::vector<TableId>& tables_;
  const uint64_t usual_size_;
  Session& session_;
  const uint32_t thread_, threads_;
  TraceStream stream_;
  ValueMaker values_;
  TraceOperation operation_;
  std::vector<std::shared_ptr<const std::string>> kept_;  // blocks in which the keys lie
  std::vector<WantedRow> rows_;                           // rows that the trace names
  size_t next_ = 0;               // the first of rows_ that was not looked up yet
  std::vector<WantedRow> batch_;  // rows of rows_ that did not exist
  std::vector<char> buffer_;
  size_t at_ = 0;  // place of the next row's value in the buffer
  const OpKind kLookUp = DefineOp("look-up", Ground::kBackground);
};

class ReplayLoad : public Workload {
 public:
  ReplayLoad(std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : dataset_(std::move(dataset)),
        file_(ReplayOptions::From("replay-load", options.extra).trace) {
    CheckKnownTrace(file_);
  }
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  bool writes() const override { return true; }
  void OpenTables(Engine& engine) override {
    for (const TraceTable& table : file_.facts().tables) {
      if (!table.index_of.empty())
        file_.Refuse(
            "has an index that the engine maintained; its rows "
            "cannot be loaded from it");
      if (tables_.size() <= table.id) tables_.resize(table.id + 1);
      tables_[table.id] = engine.OpenTable(table.name);
    }
  }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) override {
    return std::make_unique<ReplayLoadClient>(file_, *dataset_, tables_, session,
                                              static_cast<uint32_t>(thread),
                                              static_cast<uint32_t>(threads));
  }

 private:
  const std::string name_ = "replay-load";
  const std::vector<OpKind> ops_ = {DefineOp("insert", Ground::kForeground)};
  const std::shared_ptr<const Dataset> dataset_;
  const TraceFile file_;
  std::vector<TableId> tables_;
};

std::unique_ptr<Workload> MakeReplayLoad(std::shared_ptr<const Dataset> dataset,
                                         const WorkloadOptions& options) {
  return std::make_unique<ReplayLoad>(std::move(dataset), options);
}

}  // namespace

WorkloadInfo ReplayLoadInfo() {
  return {.name = "replay-load",
          .summary = "loads the rows that a trace finds or writes: replay-load:FILE",
          .loads = true,
          .make = MakeReplayLoad,
          .loader = "replay-load",
          .extra_options = {{"trace", "file of the trace; replay-load:FILE sets it"}}};
}

}  // namespace testbed
