#include "workloads/sysbench/oltp.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "device/os/signal_guard.h"
#include "workloads/sysbench/oltp_client.h"
#include "workloads/writing_phases.h"

namespace testbed::sysbench {
namespace {

struct Script {
  const char* name;
  const char* summary;
  // The statements of a transaction. kPointSelects stands for Settings::point_selects statements.
  std::vector<StatementKind> statements;
  bool one_statement;  // the script has no BEGIN and COMMIT
};

constexpr size_t kScripts = 8;

const std::array<Script, kScripts>& Scripts() {
  using enum StatementKind;
  static const std::array<Script, kScripts> scripts = {{
      {"oltp-point-select", "sysbench's: a row by its id", {kPointSelect}, true},
      {"oltp-read-only",
       "sysbench's: 10 point selects and 4 ranges of 100 rows, a transaction",
       {kPointSelects, kSimpleRange, kSumRange, kOrderRange, kDistinctRange},
       false},
      {"oltp-read-write",
       "sysbench's: oltp-read-only's reads, two updates, a delete and an insert, a transaction",
       {kPointSelects, kSimpleRange, kSumRange, kOrderRange, kDistinctRange, kIndexUpdate,
        kNonIndexUpdate, kDeleteInsert},
       false},
      {"oltp-write-only",
       "sysbench's: two updates, a delete and an insert, a transaction",
       {kIndexUpdate, kNonIndexUpdate, kDeleteInsert},
       false},
      {"oltp-update-index",
       "sysbench's: updates the indexed column of a row",
       {kIndexUpdate},
       true},
      {"oltp-update-non-index",
       "sysbench's: updates a column without index",
       {kNonIndexUpdate},
       true},
      {"oltp-insert", "sysbench's: inserts a row with a new id", {kInsert}, true},
      {"oltp-delete", "sysbench's: deletes a row by its id, if it is still there", {kDelete}, true},
  }};
  return scripts;
}

class Oltp : public Workload {
 public:
  Oltp(const Script& script, const Dataset& dataset, const WorkloadOptions& options)
      : name_(script.name),
        ops_({DefineOp(script.name, Ground::kForeground)}),
        settings_(Settings::From(script.name, dataset, options)),
        writing_phases_(options.writing_phases),
        phase_(settings_) {
    for (const StatementKind kind : script.statements) {
      if (kind == StatementKind::kPointSelects) {
        phase_.statements.insert(phase_.statements.end(), settings_.point_selects,
                                 StatementKind::kPointSelect);
      } else {
        phase_.statements.push_back(kind);
      }
      writes_ = writes_ || StatementWrites(kind);
    }
    phase_.transaction = !script.one_statement && !settings_.skip_trx;
  }
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  bool writes() const override { return writes_; }
  void OpenTables(Engine& engine) override {
    phase_.tables.Open(engine, settings_.tables);
    phase_.FindNextIds(engine);
    phase_.FindWhole(engine);
    if (writes_) phase_.number = BeginWritingPhase(writing_phases_);
    phase_.empty.store(false);
    phase_.full.store(false);
  }
  void OpenForCheck(Engine& engine, int) override { phase_.tables.Open(engine, settings_.tables); }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) override {
    return NewOltpClient(phase_, session, thread, threads);
  }
  std::string EndedBecause() const override {
    return phase_.empty.load()  ? "no row is left to delete"
           : phase_.full.load() ? "no id is left for another row"
                                : "";
  }
  bool checks() const override { return writes_ && settings_.check; }
  std::string CheckDatabase(Engine& engine) override {
    if (!writes_ || !settings_.check) return "";
    std::string wrong = phase_.tables.Check(engine, settings_.table_size, &rows_.emplace(0));
    if (StopRequested()) rows_.reset();  // not all of them may have been counted
    return wrong;
  }
  nlohmann::json Details() const override {
    nlohmann::json details = {{"statements", phase_.statements.size()}};
    if (rows_) details["table_rows"] = *rows_;
    return details;
  }

 private:
  const std::string name_;
  const std::vector<OpKind> ops_;
  const Settings settings_;
  const std::shared_ptr<WritingPhases> writing_phases_;
  OltpPhase phase_;
  bool writes_ = false;
  std::optional<uint64_t> rows_;  // number of rows that the check has counted
};

template <size_t kScript>
std::unique_ptr<Workload> MakeOltp(std::shared_ptr<const Dataset> dataset,
                                   const WorkloadOptions& options) {
  return std::make_unique<Oltp>(Scripts()[kScript], *dataset, options);
}

template <size_t... kScript>
std::vector<WorkloadInfo> Infos(std::index_sequence<kScript...>) {
  std::vector<WorkloadInfo> infos = {WorkloadInfo{.name = Scripts()[kScript].name,
                                                  .summary = Scripts()[kScript].summary,
                                                  .loads = false,
                                                  .make = MakeOltp<kScript>,
                                                  .reads_only = kScript < 2,
                                                  .loader = "sysbench-load",
                                                  .extra_options = ContentOptions(),
                                                  .run_options = RunOptions()}...};
  for (WorkloadInfo& info : infos) info.defaults = {{"key-size", "8"}, {"value-size", "184"}};
  return infos;
}

}  // namespace

std::vector<WorkloadInfo> OltpInfos() { return Infos(std::make_index_sequence<kScripts>()); }

}  // namespace testbed::sysbench
