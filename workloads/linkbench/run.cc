#include "workloads/linkbench/run.h"

#include <utility>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/extra_options.h"
#include "workloads/linkbench/check.h"
#include "workloads/linkbench/client.h"

namespace testbed {
namespace linkbench {
namespace {

constexpr char kPhases[] = "phases";

class Run : public Workload {
 public:
  Run(std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : state_(Settings(*dataset, options), options) {
    const ExtraOptions extra("linkbench", options.extra, "--workload-option");
    state_.history_share = extra.Number("history", 0.3, 0, 100) / 100;
    state_.seed = options.seed;
    checks_ = extra.Flag("check", true);
    settles_ = extra.Flag("settle", true);
    for (const char* op : kOpNames) ops_.push_back(DefineOp(op, Ground::kForeground));
  }
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  bool writes() const override { return true; }
  bool settles() const override { return settles_; }

  // Opens the tables, counts the phase in the database and determines the first id for new nodes.
  void OpenTables(Engine& engine) override {
    const IoScope scope(kOpen);
    state_.tables = linkbench::OpenTables(engine);
    auto session = engine.NewSession();
    NeedIndex(*session, state_.tables, name_);
    std::string_view value;
    const bool seen = session->Get(state_.tables.state, kPhases, &value) && value.size() == 8;
    state_.phase = seen ? GetNumber(value, 0, 8) : 0;
    char phases[8];
    PutNumber(phases, state_.phase + 1, 8);
    session->Put(state_.tables.state, kPhases, {phases, sizeof phases});
    auto nodes = session->NewCursor(state_.tables.node);
    state_.first_new = state_.access.settings.max_id();
    if (nodes->Last()) {
      state_.first_new = std::max(state_.first_new, GetNumber(nodes->key(), 0, 8) + 1);
    }
  }

  void OpenForCheck(Engine& engine, int) override { state_.tables = linkbench::OpenTables(engine); }

  std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) override {
    return std::make_unique<RunClient>(&state_, session, thread, threads);
  }
  bool checks() const override { return checks_; }
  std::string CheckDatabase(Engine& engine) override {
    if (!checks_) return {};
    return linkbench::CheckDatabase(engine, state_.tables, state_.access.settings, state_.content,
                                    &checked_);
  }
  nlohmann::json Details() const override {
    nlohmann::json details = SettingsJson(state_.access.settings);
    details["mix"] = state_.access.mix_name;
    nlohmann::json& shares = details["mix_per_cent"];
    for (size_t k = 0; k < kOps; ++k) shares[kOpNames[k]] = state_.access.mix[k];
    details["phase"] = state_.phase + 1;
    {
      const LockGuard lock(state_.mutex);
      details["found"] = state_.found.ToJson();
    }
    if (checked_.done) details["check"] = checked_.ToJson();
    return details;
  }

 private:
  const std::string name_ = "linkbench";
  std::vector<OpKind> ops_;
  RunState state_;
  CheckCounts checked_;
  bool checks_ = true, settles_ = true;
};

// Runs the check as its own phase: one operation on the first thread.
class Check : public Workload {
 public:
  Check(std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : settings_(*dataset, options), content_(settings_) {}
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  uint64_t operations() const override { return 1; }
  bool writes() const override { return false; }
  void OpenTables(Engine& engine) override {
    engine_ = &engine;
    tables_ = linkbench::OpenTables(engine);
    NeedIndex(*engine.NewSession(), tables_, name_);
  }
  std::unique_ptr<Client> NewClient(Session&, int thread, int) override {
    return std::make_unique<CheckClient>(this, thread == 0);
  }
  nlohmann::json Details() const override {
    nlohmann::json details = SettingsJson(settings_);
    if (found_.done) details["check"] = found_.ToJson();
    return details;
  }

 private:
  class CheckClient : public Client {
   public:
    CheckClient(Check* check, bool checks) : check_(check), left_(checks) {}
    size_t Generate(size_t) override { return std::exchange(left_, 0); }
    void Execute(size_t) override {
      const std::string wrong = linkbench::CheckDatabase(
          *check_->engine_, check_->tables_, check_->settings_, check_->content_, &check_->found_);
      if (!wrong.empty()) throw Error(Error::kRun, wrong);
      const CheckCounts& found = check_->found_;
      totals_.rows_read = found.nodes + found.links + found.index_entries + found.counts;
    }
    bool Verify(size_t) override { return true; }  // Execute throws for an error

   private:
    Check* const check_;
    size_t left_;
  };

  const std::string name_ = "linkbench-check";
  const std::vector<OpKind> ops_ = {DefineOp("check", Ground::kForeground)};
  const Settings settings_;
  const Content content_;
  Engine* engine_ = nullptr;
  Tables tables_{};
  CheckCounts found_;
};

}  // namespace
}  // namespace linkbench

std::unique_ptr<Workload> MakeLinkbench(std::shared_ptr<const Dataset> dataset,
                                        const WorkloadOptions& options) {
  return std::make_unique<linkbench::Run>(std::move(dataset), options);
}

std::unique_ptr<Workload> MakeLinkbenchCheck(std::shared_ptr<const Dataset> dataset,
                                             const WorkloadOptions& options) {
  return std::make_unique<linkbench::Check>(std::move(dataset), options);
}

std::vector<std::pair<std::string, std::string>> LinkbenchOptions() {
  auto options = linkbench::SettingsOptions();
  for (auto& option : linkbench::AccessOptions()) options.push_back(std::move(option));
  options.emplace_back(
      "history",
      "per cent of range queries that continue a list where an earlier, full result ended [0.3]");
  return options;
}

std::vector<std::pair<std::string, std::string>> LinkbenchRunOptions() {
  return {{"check", "on: the whole database is checked at the end of the run [on]"},
          {"covering_index",
           "when the covering index is built: with-links, by linkbench-load, or after, by "
           "linkbench-index [with-links]"},
          {"settle", "on: the database comes to rest after each phase of linkbench [on]"}};
}

}  // namespace testbed
