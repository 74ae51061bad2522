#include "workloads/mixed.h"

#include <algorithm>
#include <array>

#include "device/error.h"
#include "workloads/insert.h"

namespace testbed {
namespace {

enum Action : uint8_t { kRead, kUpdate, kInsert, kErase, kScan, kActions };
constexpr const char* kActionNames[kActions] = {"point-read", "update", "insert", "erase", "scan"};

// Erases take one row of so many.
constexpr uint64_t kErasedOf = 16;

// Shares of the actions, running sums that end at 1.
using Mix = std::array<double, kActions>;

Mix ParseMix(const std::map<std::string, double>& shares) {
  Mix mix{};
  double total = 0;
  for (const auto& [name, share] : shares) {
    auto at = std::find(std::begin(kActionNames), std::end(kActionNames), name);
    if (at == std::end(kActionNames) || !(share >= 0)) {
      throw Error(Error::kUsage, "--mix " + name +
                                     " is not an operation with a share of 0 or more; it accepts "
                                     "point-read, update, insert, erase, scan");
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

class MixedClient : public Client {
 public:
  MixedClient(const Dataset& dataset, const WorkloadOptions& options, const Mix& mix,
              Session& session, const std::vector<TableId>& tables, int thread, int threads)
      : dataset_(dataset),
        session_(session),
        tables_(tables),
        mix_(mix),
        scan_rows_(options.scan_rows),
        latest_(options.distribution == Distribution::kLatest),
        hit_ratio_(options.hit_ratio),
        chooser_(dataset, options, Mix64(options.seed) + static_cast<uint64_t>(thread)),
        recency_(dataset.rows(), options.zipf_theta),
        thread_(static_cast<uint64_t>(thread)),
        threads_(static_cast<uint64_t>(threads)),
        key_room_(dataset.max_key_size() + 8),
        room_(key_room_ * tables.size() + dataset.options().value_size),
        buffer_(kBatch * room_) {}

  size_t Generate(size_t max) override {
    max = std::min(max, kBatch);
    for (size_t i = 0; i < max; ++i) Prepare(&steps_[i], buffer_.data() + i * room_);
    return max;
  }

  size_t OpOf(size_t i) const override { return steps_[i].action; }

  void Execute(size_t i) override {
    const Step& step = steps_[i];
    switch (step.action) {
      case kRead:
        found_ = session_.Get(tables_[0], step.keys[0], &value_);
        if (found_) consume_(value_);
        totals_.rows_read += found_;
        totals_.not_found += !found_;
        break;
      case kUpdate:
        session_.Put(tables_[0], step.keys[0], step.value);
        ++totals_.rows_written;
        totals_.user_bytes_written += step.keys[0].size() + step.value.size();
        break;
      case kInsert:
      case kErase:
        WriteRow(step);
        break;
      default:
        Scan(step);
    }
  }

  bool Verify(size_t i) override {
    const Step& step = steps_[i];
    switch (step.action) {
      case kRead:
        if (!step.exists) return !found_;
        // Only erases take rows away, and only theirs.
        return found_ ? dataset_.Check(step.row, value_)
                      : MayErase() && step.row < dataset_.rows() && Erasable(step.row) == step.row;
      case kUpdate:
      case kInsert:
        // Another thread may have written a later version since.
        return session_.Get(tables_[0], step.keys[0], &value_) && dataset_.Check(step.row, value_);
      case kScan:
        return ordered_;
      default:
        return true;
    }
  }

 private:
  static constexpr size_t kBatch = 32;
  struct Step {
    Action action;
    bool exists = true;
    uint64_t row;
    std::string_view keys[4];
    std::string_view value;
  };

  bool MayErase() const { return mix_[kErase] > mix_[kErase - 1]; }

  void Prepare(Step* step, char* at) {
    const double u = chooser_.random().Unit();
    step->action = static_cast<Action>(
        std::find_if(mix_.begin(), mix_.end() - 1, [u](double sum) { return u < sum; }) -
        mix_.begin());
    step->exists = true;
    step->row = step->action == kInsert ? NewRow(inserted_++) : ChooseRow();
    if (MayErase() && step->row < dataset_.rows()) {
      if (step->action == kErase) step->row = Erasable(step->row);
      if (step->action == kUpdate && Erasable(step->row) == step->row) --step->row;
    }
    if (step->action == kRead && hit_ratio_ < 1 && chooser_.random().Unit() >= hit_ratio_) {
      step->exists = false;
      step->keys[0] = dataset_.AbsentKey(step->row, at);
      return;
    }
    const bool indexes = step->action == kInsert || step->action == kErase;
    for (size_t k = 0; k < (indexes ? tables_.size() : 1); ++k, at += key_room_) {
      step->keys[k] = k == 0 ? dataset_.Key(step->row, at)
                             : dataset_.IndexKey(static_cast<uint32_t>(k - 1), step->row, at);
    }
    if (step->action == kUpdate || step->action == kInsert) {
      dataset_.Value(step->row, step->action == kUpdate ? ++version_ : 0, at);
      step->value = {at, dataset_.options().value_size};
    }
  }

  // The row nearest to this one that erases may take.
  uint64_t Erasable(uint64_t row) const {
    return std::min(row | (kErasedOf - 1), dataset_.rows() / kErasedOf * kErasedOf - 1);
  }

  uint64_t NewRow(uint64_t n) const { return dataset_.rows() + n * threads_ + thread_; }

  uint64_t ChooseRow() {
    if (!latest_ || inserted_ == 0) return chooser_.Next();
    // The rows this client added are the latest; behind them come the loaded ones.
    const uint64_t age = recency_(chooser_.random());
    if (age < inserted_) return NewRow(inserted_ - 1 - age);
    return dataset_.RowAt(dataset_.rows() - 1 - (age - inserted_));
  }

  // Inserts or erases a row with its index entries.
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
  }

  void Scan(const Step& step) {
    if (!cursor_) cursor_ = session_.NewCursor(tables_[0]);
    ordered_ = true;
    last_key_.clear();
    uint32_t rows = 0;
    for (bool on = cursor_->Seek(step.keys[0]); on && rows < scan_rows_; on = cursor_->Next()) {
      ordered_ = ordered_ && (rows == 0 || last_key_ < cursor_->key());
      last_key_.assign(cursor_->key());
      consume_(cursor_->key());
      consume_(cursor_->value());
      ++rows;
    }
    totals_.rows_read += rows;
    cursor_.reset();  // a cursor may pin pages or a snapshot
  }

  const Dataset& dataset_;
  Session& session_;
  const std::vector<TableId>& tables_;
  const Mix mix_;
  const uint32_t scan_rows_;
  const bool latest_;
  const double hit_ratio_;
  RowChooser chooser_;
  const Zipfian recency_;
  const uint64_t thread_, threads_;
  const size_t key_room_, room_;
  std::vector<char> buffer_;
  Step steps_[kBatch];
  uint64_t inserted_ = 0, version_ = 0;
  bool found_ = false, ordered_ = true;
  std::string_view value_;
  std::string last_key_;
  std::unique_ptr<Cursor> cursor_;
};

class Mixed : public Workload {
 public:
  Mixed(std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : dataset_(std::move(dataset)), options_(options), mix_(ParseMix(options.mix)) {
    if (dataset_->options().order == KeyOrder::kFile && mix_[kInsert] > mix_[kInsert - 1]) {
      throw Error(Error::kUsage,
                  "--mix insert needs keys beyond those of --keys; leave one of them");
    }
    if (dataset_->rows() < kErasedOf && mix_[kErase] > mix_[kErase - 1]) {
      throw Error(Error::kUsage, "--mix erase needs a database of 16 --rows and more");
    }
    for (const char* name : kActionNames) ops_.push_back(DefineOp(name, Ground::kForeground));
  }
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  bool writes() const override { return mix_[kErase] > mix_[kRead]; }
  void OpenTables(Engine& engine) override { tables_ = OpenDatasetTables(engine, *dataset_); }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) override {
    return std::make_unique<MixedClient>(*dataset_, options_, mix_, session, tables_, thread,
                                         threads);
  }

 private:
  const std::string name_ = "mixed";
  std::vector<OpKind> ops_;
  std::shared_ptr<const Dataset> dataset_;
  const WorkloadOptions options_;
  const Mix mix_;
  std::vector<TableId> tables_;
};

}  // namespace

std::unique_ptr<Workload> MakeMixed(std::shared_ptr<const Dataset> dataset,
                                    const WorkloadOptions& options) {
  return std::make_unique<Mixed>(std::move(dataset), options);
}

}  // namespace testbed
