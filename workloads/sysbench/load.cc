#include "workloads/sysbench/load.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "device/os/signal_guard.h"
#include "workloads/sysbench/schema.h"

namespace testbed::sysbench {
namespace {

constexpr uint32_t kRowsOfTransaction = 500;

class LoadClient : public Client {
 public:
  LoadClient(const Settings& settings, const Tables& tables, Session& session, int thread,
             int threads)
      : settings_(settings),
        tables_(tables),
        session_(session),
        next_(static_cast<uint64_t>(thread)),
        stride_(static_cast<uint64_t>(threads)),
        rows_(size_t{kRowsOfTransaction} * kRowRoom) {}

  // Prepares one transaction, since its rows and entries already take 98 kB.
  size_t Generate(size_t) override {
    const uint64_t each = (settings_.table_size + kRowsOfTransaction - 1) / kRowsOfTransaction;
    if (next_ >= each * settings_.tables) return 0;
    table_ = static_cast<uint32_t>(next_ / each);
    first_id_ = 1 + static_cast<uint32_t>(next_ % each) * kRowsOfTransaction;
    count_ = std::min(kRowsOfTransaction, settings_.table_size - first_id_ + 1);
    // The rows of a chunk are the same, whichever thread makes them.
    Ids ids(settings_, Mix64(settings_.seed ^ Mix64(next_ + 0x73627465)));
    for (uint32_t i = 0; i < count_; ++i) {
      char* at = rows_.data() + i * kRowRoom;
      const uint32_t id = first_id_ + i, k = ids.Next();
      PutBigEndian(id, at);
      PutBigEndian(k, at + kIdBytes);
      PutC(id, ids.random().Next(), at + kIdBytes + kKBytes);
      PutPad(ids.random().Next(), at + kIdBytes + kKBytes + kCBytes);
      PutEntry(k, id, at + kIdBytes + kRowBytes);
    }
    next_ += stride_;
    return 1;
  }

  void Execute(size_t) override {
    session_.Begin();
    for (uint32_t i = 0; i < count_; ++i) {
      const char* at = rows_.data() + i * kRowRoom;
      session_.Put(tables_.all[table_].rows, {at, kIdBytes}, {at + kIdBytes, kRowBytes});
      if (tables_.engine_keeps_indexes) continue;
      session_.Put(tables_.all[table_].index, {at + kIdBytes + kRowBytes, kEntryBytes}, {});
    }
    session_.Commit();
    totals_.rows_written += count_;
    totals_.rows_inserted += count_;
    totals_.user_bytes_written += uint64_t{count_} * kRowRoom;
  }

  bool Verify(size_t) override {
    std::string_view value;
    return session_.Get(tables_.all[table_].rows, {rows_.data(), kIdBytes}, &value) &&
           value == std::string_view(rows_.data() + kIdBytes, kRowBytes);
  }

 private:
  static constexpr size_t kEntryBytes = kKBytes + kIdBytes;
  static constexpr size_t kRowRoom = kIdBytes + kRowBytes + kEntryBytes;

  const Settings& settings_;
  const Tables& tables_;
  Session& session_;
  uint64_t next_;  // next chunk, numbered through all tables
  const uint64_t stride_;
  std::vector<char> rows_;
  uint32_t table_ = 0, first_id_ = 0, count_ = 0;
};

class Load : public Workload {
 public:
  Load(const Dataset& dataset, const WorkloadOptions& options)
      : settings_(Settings::From("sysbench-load", dataset, options)) {}
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  bool writes() const override { return true; }
  uint64_t operations() const override {
    return uint64_t{settings_.tables} *
           ((settings_.table_size + kRowsOfTransaction - 1) / kRowsOfTransaction);
  }
  uint64_t AddedBytes() const override {
    return uint64_t{settings_.tables} * settings_.table_size * (2 * kIdBytes + kKBytes + kRowBytes);
  }
  uint32_t kept_indexes() const override { return 1; }
  void OpenTables(Engine& engine) override {
    tables_.Open(engine, settings_.tables);
    tables_.RecordWhole(*engine.NewSession(), true);
  }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) override {
    return std::make_unique<LoadClient>(settings_, tables_, session, thread, threads);
  }
  std::string CheckDatabase(Engine& engine) override {
    if (!settings_.check) return "";
    std::string wrong = tables_.Check(engine, settings_.table_size, &rows_);
    if (StopRequested()) rows_ = 0;  // not all of them may have been counted
    return wrong;
  }
  nlohmann::json Details() const override {
    if (rows_ == 0) return {};
    return {{"table_rows", rows_}};
  }

 private:
  const std::string name_ = "sysbench-load";
  const std::vector<OpKind> ops_ = {DefineOp("load-rows", Ground::kForeground)};
  const Settings settings_;
  Tables tables_;
  uint64_t rows_ = 0;
};

std::unique_ptr<Workload> MakeLoad(std::shared_ptr<const Dataset> dataset,
                                   const WorkloadOptions& options) {
  return std::make_unique<Load>(*dataset, options);
}

}  // namespace

WorkloadInfo LoadInfo() {
  return {.name = "sysbench-load",
          .summary = "makes the tables of sysbench's OLTP benchmarks",
          .loads = true,
          .make = MakeLoad,
          .loader = "sysbench-load",
          .extra_options = ContentOptions(),
          .run_options = RunOptions(),
          .defaults = {{"key-size", "8"}, {"value-size", "184"}}};
}

}  // namespace testbed::sysbench
