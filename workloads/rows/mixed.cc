#include "workloads/rows/mixed.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "device/error.h"
#include "device/nearest_name.h"
#include "engines/extra_options.h"
#include "workloads/gray_zipf.h"
#include "workloads/population.h"
#include "workloads/row_chooser.h"
#include "workloads/rows/insert.h"
#include "workloads/rows/kept_rows.h"
#include "workloads/rows/scan.h"
#include "workloads/writing_phases.h"

namespace testbed {
namespace {

enum Action : uint8_t { kRead, kUpdate, kInsert, kErase, kScan, kReadModifyWrite, kActions };
constexpr const char* kActionNames[kActions] = {"point-read", "update", "insert",
                                                "erase",      "scan",   "read-modify-write"};

// The actions' shares as running sums that end at 1.
using Mix = std::array<double, kActions>;

Mix ParseMix(const std::map<std::string, double>& shares) {
  Mix mix{};
  double total = 0;
  for (const auto& [name, share] : shares) {
    auto at = std::find(std::begin(kActionNames), std::end(kActionNames), name);
    if (at == std::end(kActionNames) || !(share >= 0)) {
      const std::vector<std::string> names(std::begin(kActionNames), std::end(kActionNames));
      throw Error(Error::kUsage, "--mix " + name +
                                     " is not an operation with a share of 0 or more; it accepts "
                                     "point-read, update, insert, erase, scan, read-modify-write" +
                                     (at == std::end(kActionNames) ? DidYouMean(name, names) : ""));
    }
    mix[static_cast<size_t>(at - std::begin(kActionNames))] = share;
    total += share;
  }
  if (!(total > 0)) {
    throw Error(Error::kUsage, "--mix has no share above 0; try --mix point-read=95,update=5");
  }
  double sum = 0;
  for (double& share : mix) share = sum += share / total;
  return mix;
}

// Draws the number of rows of a scan, from 1 to `most`.
class ScanLengths {
 public:
  // `how` is fixed, uniform or zipfian.
  ScanLengths(const std::string& how, uint32_t most)
      : fixed_(how == "fixed"), uniform_(how == "uniform"), most_(most), zipf_(most, kYcsbTheta) {}
  uint32_t operator()(Random& random) const {
    if (fixed_) return most_;
    return 1 + static_cast<uint32_t>(uniform_ ? random.Below(most_) : zipf_(random.Unit()));
  }

 private:
  static constexpr double kYcsbTheta = 0.99;  // skew of the lengths, whatever that of the rows is
  const bool fixed_, uniform_;
  const uint32_t most_;
  const GrayZipf zipf_;
};

// The state that all clients of a phase share.
struct MixedPhase {
  const Dataset& dataset;
  const WorkloadOptions& options;
  const Mix mix;
  const ScanLengths scan_lengths;
  std::vector<TableId> tables;
  uint64_t number = 0;  // number of this phase on the database (writing_phases.h)
  TableRows scanned = TableRows::kOthers;  // what is known of the rows that scans find
  // The action for which no row was left, which ends the phase; kActions while the phase goes on.
  std::atomic<Action> missed{kActions};

  // Returns whether the action has a share above 0.
  bool May(Action action) const {
    return mix[action] > (action == 0 ? 0 : mix[static_cast<size_t>(action) - 1]);
  }
};

class MixedClient : public Client {
 public:
  // `alone` says that no other client writes in the phase.
  MixedClient(MixedPhase& phase, Session& session, int thread, bool alone)
      : phase_(phase),
        dataset_(phase.dataset),
        alone_(alone),
        session_(session),
        tables_(phase.tables),
        population_(*phase.options.population),
        held_(population_),
        chooser_(dataset_, phase.options,
                 Mix64(phase.options.seed) + static_cast<uint64_t>(thread)),
        version_(
            Mix64(phase.options.seed ^ Mix64(static_cast<uint64_t>(thread) ^ Mix64(phase.number)))),
        key_room_(Dataset::kAttributeBytes + dataset_.max_key_size()),
        batch_(std::clamp<size_t>(kBatchBytes / (KeysRoom() + dataset_.options().value_size), 1,
                                  kBatch)),
        buffer_(batch_ * (KeysRoom() + dataset_.options().value_size)) {}

  size_t Generate(size_t max) override {
    const size_t n = Plan(std::min(max, batch_));
    // Other clients hold the rows that this client needs, until their next batches.
    waits_ = n == 0 && phase_.missed.load() == kActions;
    if (waits_) std::this_thread::sleep_for(std::chrono::microseconds(20));
    size_t bytes = 0;
    for (size_t i = 0; i < n; ++i) bytes += RoomOf(steps_[i]);
    buffer_.resize(std::max(buffer_.size(), bytes));
    char* at = buffer_.data();
    for (size_t i = 0; i < n; ++i) {
      Prepare(&steps_[i], at);
      at += RoomOf(steps_[i]);
    }
    return n;
  }

  bool Waits() const override { return waits_; }
  size_t OpOf(size_t i) const override { return steps_[i].action; }

  void Execute(size_t i) override {
    const Step& step = steps_[i];
    kept_.Begin(to_verify_);
    switch (step.action) {
      case kRead:
        Read(step);
        break;
      case kReadModifyWrite:
      case kUpdate:
        if (ReadsBefore(step.action)) {
          Read(step);
          // The write makes the value that was read invalid.
          if (found_ && kept_.keeps()) kept_.Add(step.keys[0], value_);
        }
        Update(step);
        break;
      case kInsert:
      case kErase:
        held_.Begin(step.held);
        WriteRow(step);
        held_.Done(step.held);
        break;
      default:
        totals_.rows_read += Scan(session_, RangeOf(step), &consume_, &kept_);
    }
  }

  bool Kept() const override { return kept_.kept(); }

  // No other client erases a row of this batch, inserts again a row that this batch erased, or
  // updates a row that this batch inserted. Another client may have written a later version of any
  // other row.
  bool Verify(size_t i) override {
    const Step& step = steps_[i];
    switch (step.action) {
      case kRead:
        return step.exists ? found_ && dataset_.Check(step.row, value_) : !found_;
      case kReadModifyWrite:
      case kUpdate:
        if (ReadsBefore(step.action) &&
            (kept_.size() != 1 || !dataset_.Check(step.row, kept_.value(0)))) {
          return false;
        }
        return session_.Get(tables_[0], step.keys[0], &value_) &&
               (alone_ ? value_ == Written(step) : dataset_.Check(step.row, value_));
      case kInsert:
        return session_.Get(tables_[0], step.keys[0], &value_) && value_ == step.value &&
               IndexEntriesAre(true, step);
      case kErase:
        return !session_.Get(tables_[0], step.keys[0], &value_) && IndexEntriesAre(false, step);
      default:
        return CheckScan(dataset_, session_, RangeOf(step), kept_, phase_.scanned);
    }
  }

 private:
  static constexpr size_t kBatch = 32;
  struct Step {
    Action action;
    bool exists = true;
    uint64_t row;
    size_t held;         // index for Population::Client, for an insert or an erase
    uint32_t scan_rows;  // length of a scan
    uint32_t field;      // field that an update writes; 0 when values have one
    std::string_view keys[4];
    std::string_view value;
  };

  // Returns the most bytes that the keys of a step take. RoomOf returns the bytes that the step
  // takes in the buffer.
  size_t KeysRoom() const { return key_room_ * tables_.size(); }
  size_t RoomOf(const Step& step) const {
    const bool has_value =
        step.action == kUpdate || step.action == kReadModifyWrite || step.action == kInsert;
    return KeysRoom() + (has_value ? dataset_.ValueSize(step.row) : 0);
  }

  // Chooses actions and rows for the next steps, until a step finds no row or the values of the
  // batch are long. Where the latest rows are read most, a batch ends with its insert, whose row
  // may then be read. Returns how many steps it planned. 0 means that other clients hold the rows,
  // or that the phase ends.
  size_t Plan(size_t max) {
    if (phase_.missed.load() != kActions) return 0;
    std::optional<Population::Batch> batch;
    if (phase_.May(kInsert) || phase_.May(kErase)) batch.emplace(held_);
    size_t n = 0, bytes = 0;
    for (; n < max && bytes < kBatchBytes; ++n) {
      if (!next_) next_ = DrawAction();
      if (!PlanStep(*next_, batch ? &*batch : nullptr, &steps_[n])) break;
      const bool inserts = *std::exchange(next_, std::nullopt) == kInsert;
      if (inserts && phase_.options.distribution == Distribution::kLatest) return n + 1;
      bytes += RoomOf(steps_[n]);
    }
    if (n == 0 && !(batch && batch->Hopeful())) phase_.missed.store(*next_);
    return n;
  }

  Action DrawAction() {
    const double u = chooser_.random().Unit();
    const Mix& mix = phase_.mix;
    return static_cast<Action>(
        std::find_if(mix.begin(), mix.end() - 1, [u](double sum) { return u < sum; }) -
        mix.begin());
  }

  // Chooses the step's row. Returns false when no row is left for it.
  bool PlanStep(Action action, Population::Batch* batch, Step* step) {
    *step = {.action = action};
    if (action == kInsert || action == kErase) {
      const std::optional<Population::Batch::Taken> taken =
          action == kInsert ? batch->TakeInsert() : batch->TakeErase();
      if (!taken) return false;
      step->row = population_.RowOf(taken->place);
      step->held = taken->held;
      return true;
    }
    if (chooser_.empty()) return false;
    if (action == kScan) step->scan_rows = phase_.scan_lengths(chooser_.random());
    if (phase_.May(kErase)) {
      const uint64_t place = chooser_.NextPlace();
      batch->Keep(place);
      step->row = population_.RowOf(place);
    } else {
      step->row = chooser_.Next();
    }
    step->exists = action != kRead || chooser_.NextExists();
    return true;
  }

  // Makes a step's keys and value in the buffer at `at`.
  void Prepare(Step* step, char* at) {
    if (!step->exists) {
      step->keys[0] = dataset_.AbsentKey(step->row, at);
      return;
    }
    const bool indexes = step->action == kInsert || step->action == kErase;
    for (size_t k = 0; k < (indexes ? tables_.size() : 1); ++k, at += key_room_) {
      step->keys[k] = k == 0 ? dataset_.Key(step->row, at)
                             : dataset_.IndexKey(static_cast<uint32_t>(k - 1), step->row, at);
    }
    if (step->action == kUpdate || step->action == kReadModifyWrite) {
      step->field = dataset_.fields() == 1
                        ? 0
                        : static_cast<uint32_t>(chooser_.random().Below(dataset_.fields()));
      dataset_.Field(step->row, step->field, ++version_, at);
      step->value = {at, dataset_.FieldSize(step->row)};
    } else if (step->action == kInsert) {
      dataset_.Value(step->row, 0, at);
      step->value = {at, dataset_.ValueSize(step->row)};
    }
  }

  // Returns whether the action, which updates a row, reads it before.
  bool ReadsBefore(Action action) const {
    return action == kReadModifyWrite || dataset_.fields() > 1;
  }

  void Read(const Step& step) {
    found_ = session_.Get(tables_[0], step.keys[0], &value_);
    if (found_) consume_(value_);
    totals_.rows_read += found_;
    totals_.not_found += !found_;
  }

  // Writes the row with the step's field, which is the whole value when values have one. A row with
  // fields must have been read. If it was not found, or has another size, nothing is written.
  void Update(const Step& step) {
    std::string_view value = step.value;
    if (dataset_.fields() > 1) {
      if (!found_) return;
      row_.assign(value_);
      if (row_.size() != dataset_.options().value_size) return;  // the row stays as it is
      row_.replace(step.field * step.value.size(), step.value.size(), step.value);
      value = row_;
    }
    session_.Put(tables_[0], step.keys[0], value);
    ++totals_.rows_written;
    totals_.user_bytes_written += step.keys[0].size() + value.size();
  }

  // Returns the value that the row has after the update which Execute has just performed, if it was
  // found.
  std::string_view Written(const Step& step) const {
    return dataset_.fields() > 1 ? std::string_view(row_) : step.value;
  }

  // Returns whether the database holds all index entries of the row (`there`), or none of them.
  bool IndexEntriesAre(bool there, const Step& step) {
    for (size_t k = 1; k < tables_.size(); ++k) {
      if (session_.Get(tables_[k], step.keys[k], &value_) != there) return false;
    }
    return true;
  }

  // Inserts or erases a row and its index entries in one transaction.
  void WriteRow(const Step& step) {
    const bool erase = step.action == kErase;
    if (tables_.size() > 1) session_.Begin();
    for (size_t k = 0; k < tables_.size(); ++k) {
      if (erase) {
        session_.Erase(tables_[k], step.keys[k]);
      } else {
        session_.Put(tables_[k], step.keys[k], k == 0 ? step.value : std::string_view());
      }
      totals_.user_bytes_written += step.keys[k].size() + (k == 0 ? step.value.size() : 0);
    }
    if (tables_.size() > 1) session_.Commit();
    ++totals_.rows_written;
    ++(erase ? totals_.rows_erased : totals_.rows_inserted);
  }

  ScanRange RangeOf(const Step& step) const { return {tables_[0], step.keys[0], step.scan_rows}; }

  MixedPhase& phase_;
  const Dataset& dataset_;
  const bool alone_;
  Session& session_;
  const std::vector<TableId>& tables_;
  Population& population_;
  Population::Client held_;
  RowChooser chooser_;
  uint64_t version_;  // version of the last update; each phase on a database begins at another
  const size_t key_room_;
  const size_t batch_;  // operations that are prepared at once, at most
  std::vector<char> buffer_;
  Step steps_[kBatch];
  std::optional<Action> next_;  // an action that was drawn but has found no row yet
  bool waits_ = false;
  bool found_ = false;
  std::string_view value_;
  std::string row_;  // value that an update writes, when values have fields
  KeptRows kept_;    // rows of a scan, or the row that an update read first
};

WorkloadOptions WithPopulation(const WorkloadOptions& options,
                               const std::shared_ptr<const Dataset>& dataset) {
  WorkloadOptions with = options;
  if (with.population == nullptr) with.population = std::make_shared<Population>(dataset);
  return with;
}

class Mixed : public Workload {
 public:
  Mixed(const char* name, const std::string& scan_length, std::shared_ptr<const Dataset> dataset,
        const WorkloadOptions& options)
      : name_(name),
        dataset_(std::move(dataset)),
        options_(WithPopulation(options, dataset_)),
        phase_{*dataset_, options_, ParseMix(options.mix), {scan_length, options.scan_rows}, {}} {
    if (dataset_->options().order == KeyOrder::kFile && phase_.May(kInsert)) {
      throw Error(Error::kUsage, "--workload " + name_ +
                                     " inserts rows, and --keys has no more keys for them; leave "
                                     "out --keys, or the inserts");
    }
    if (phase_.May(kRead)) CheckHitRatio(*dataset_, options_);
    for (const char* name : kActionNames) ops_.push_back(DefineOp(name, Ground::kForeground));
  }
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  std::vector<OpKind> planned_ops() const override {
    std::vector<OpKind> planned;
    for (size_t action = 0; action < kActions; ++action) {
      if (phase_.May(static_cast<Action>(action))) planned.push_back(ops_[action]);
    }
    return planned;
  }
  bool writes() const override {
    return phase_.May(kUpdate) || phase_.May(kInsert) || phase_.May(kErase) ||
           phase_.May(kReadModifyWrite);
  }
  bool updates_rows() const override { return phase_.May(kUpdate) || phase_.May(kReadModifyWrite); }
  bool changes_row_sizes() const override {
    return phase_.May(kErase) && dataset_->options().value_sizes != ValueSizes::kOne;
  }
  // An update leaves a version of the row, the old or the new one. An insert or an erase that got
  // no answer makes the population unknown (Population::Client::Begin).
  bool bears_lost_answers() const override { return true; }
  // An erase takes the oldest row, which is the same one for all processes.
  bool runs_in_tasks() const override { return !phase_.May(kErase); }
  // Rows to insert and to erase are the next ones of the population, whatever the distribution.
  bool has_popular_rows() const override {
    const bool draws = phase_.May(kRead) || phase_.May(kUpdate) || phase_.May(kScan) ||
                       phase_.May(kReadModifyWrite);
    return draws && HasPopularRows(options_);
  }
  bool reads_absent_rows() const override { return phase_.May(kRead) && options_.hit_ratio < 1; }
  bool takes_scan_rows() const override { return phase_.May(kScan); }
  void OpenTables(Engine& engine) override {
    phase_.tables = OpenDatasetTables(engine, *dataset_);
    if (writes()) phase_.number = BeginWritingPhase(options_.writing_phases);
    phase_.missed.store(kActions);
    phase_.scanned = phase_.May(kInsert)  ? TableRows::kGrowing
                     : phase_.May(kErase) ? TableRows::kOthers
                                          : UnchangingRows(options_.population.get());
  }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) override {
    const bool alone = threads == 1 && !options_.population->divided();
    return std::make_unique<MixedClient>(phase_, session, thread, alone);
  }
  std::string EndedBecause() const override {
    static constexpr const char* kWhat[kActions] = {"read",  "update",    "insert",
                                                    "erase", "scan from", "read and update"};
    const Action missed = phase_.missed.load();
    return missed == kActions ? "" : std::string("no row is left to ") + kWhat[missed];
  }

 private:
  const std::string name_;
  std::vector<OpKind> ops_;
  std::shared_ptr<const Dataset> dataset_;
  const WorkloadOptions options_;
  MixedPhase phase_;
};

}  // namespace

WorkloadInfo MixedInfo() {
  return {
      .name = "mixed",
      .summary =
          "point reads, updates, read-modify-writes, inserts, erases and scans in the proportions "
          "of --mix",
      .loads = false,
      .make = MakeMixed,
      .run_options = MixedRunOptions()};
}

std::unique_ptr<Workload> MakeMixed(std::shared_ptr<const Dataset> dataset,
                                    const WorkloadOptions& options) {
  return MakeMixedAs("mixed", false, std::move(dataset), options);
}

std::unique_ptr<Workload> MakeMixedAs(const char* name, bool uniform_scans,
                                      std::shared_ptr<const Dataset> dataset,
                                      const WorkloadOptions& options) {
  const std::string length = ExtraOptions(name, options.extra, "--workload-option")
                                 .Choice("scan_length", uniform_scans ? "uniform" : "fixed",
                                         {"fixed", "uniform", "zipfian"});
  return std::make_unique<Mixed>(name, length, std::move(dataset), options);
}

std::vector<std::pair<std::string, std::string>> MixedRunOptions() {
  return {{"scan_length",
           "fixed: a scan takes --scan-rows rows; uniform, zipfian: it takes 1 to --scan-rows, "
           "few more often than many with zipfian (fixed; ycsb-e: uniform)"}};
}

}  // namespace testbed
