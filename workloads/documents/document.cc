#include "workloads/documents/document.h"

#include <algorithm>

#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/extra_options.h"
#include "workloads/documents/allocation_meter.h"
#include "workloads/documents/clock_cost.h"
#include "workloads/documents/cpu_profile.h"
#include "workloads/documents/format.h"
#include "workloads/measure/clock.h"
#include "workloads/measure/histogram.h"
#include "workloads/row_chooser.h"

namespace testbed {
namespace {

using nlohmann::json;

struct DocumentSettings {
  std::string format;
  DocumentShape shape;
  DocumentAccess access = DocumentAccess::kWhole;

  std::unique_ptr<DocumentCodec> NewCodec() const {
    return MakeDocumentCodec(format, shape, access);
  }
};

// Options of both workloads; document-load and document-query must be given the same values.
const std::vector<std::pair<std::string, std::string>> kDatabaseOptions = {
    {"attributes", "number N of the attributes x1 to xN (10)"},
    {"y", "place of attribute y: first (after _id) or last (default)"},
    {"format", "bson (default), cbor, flexbuffers, flatbuffers"},
};

DocumentSettings SettingsOf(const std::string& workload, const WorkloadOptions& options) {
  const ExtraOptions extra(workload, options.extra, "--workload-option");
  DocumentSettings s;
  s.format = extra.Choice("format", "bson", DocumentFormats());
  s.shape.attributes = static_cast<uint32_t>(extra.Integer("attributes", 10, 1, 10000));
  s.shape.y_first = extra.Choice("y", "last", {"first", "last"}) == "first";
  s.access = extra.Choice("access", "whole", {"whole", "needed"}) == "needed"
                 ? DocumentAccess::kNeeded
                 : DocumentAccess::kWhole;
  return s;
}

class LoadClient : public Client {
 public:
  LoadClient(const Dataset& dataset, const DocumentSettings& settings, Session& session,
             TableId table, uint32_t rows_per_transaction, int thread, int threads)
      : dataset_(dataset),
        session_(session),
        table_(table),
        codec_(settings.NewCodec()),
        block_(rows_per_transaction),
        next_(static_cast<uint64_t>(thread) * block_),
        stride_(static_cast<uint64_t>(threads) * block_) {
    codec_->Encode(static_cast<int64_t>(dataset.rows()), &document_);
  }

  size_t Generate(size_t max) override {
    // Limits the batch to the transactions that fit in the processor's caches, at least one.
    max = std::clamp<size_t>((128u << 10) / (document_.size() * block_), 1, max);
    transactions_.clear();
    rows_.clear();
    bytes_.clear();
    while (transactions_.size() < max && next_ < dataset_.rows()) {
      const uint64_t end = std::min(next_ + block_, dataset_.rows());
      transactions_.push_back({rows_.size(), static_cast<size_t>(end - next_)});
      for (uint64_t i = next_; i < end; ++i) Add(dataset_.RowAt(i));
      next_ += stride_;
    }
    return transactions_.size();
  }

  void Execute(size_t i) override {
    const Transaction& t = transactions_[i];
    if (t.rows > 1) session_.Begin();
    for (size_t r = t.first; r < t.first + t.rows; ++r) {
      session_.Put(table_, KeyOf(rows_[r]), DocumentOf(rows_[r]));
      totals_.user_bytes_written += rows_[r].key + rows_[r].document;
    }
    if (t.rows > 1) session_.Commit();
    totals_.rows_written += t.rows;
    totals_.rows_inserted += t.rows;
  }

  // Reads back documents of the transaction: all of them where all operations are checked, and the
  // first one in a sample.
  bool Verify(size_t i) override {
    const Transaction& t = transactions_[i];
    const size_t end = t.first + (verifies_all_ ? t.rows : 1);
    for (size_t r = t.first; r < end; ++r) {
      std::string_view value;
      if (!session_.Get(table_, KeyOf(rows_[r]), &value) || value != DocumentOf(rows_[r])) {
        return false;
      }
    }
    return true;
  }

 private:
  struct Transaction {
    size_t first, rows;
  };
  struct Row {
    size_t at;             // offset in bytes_ of the key; the document follows the key
    size_t key, document;  // sizes in bytes
  };

  void Add(uint64_t row) {
    Row r{bytes_.size(), 0, 0};
    bytes_.resize(r.at + dataset_.max_key_size());
    r.key = dataset_.Key(row, bytes_.data() + r.at).size();
    bytes_.resize(r.at + r.key);
    codec_->Encode(static_cast<int64_t>(row), &document_);
    bytes_ += document_;
    r.document = document_.size();
    rows_.push_back(r);
  }
  std::string_view KeyOf(const Row& r) const {
    return std::string_view(bytes_).substr(r.at, r.key);
  }
  std::string_view DocumentOf(const Row& r) const {
    return std::string_view(bytes_).substr(r.at + r.key, r.document);
  }

  const Dataset& dataset_;
  Session& session_;
  const TableId table_;
  const std::unique_ptr<DocumentCodec> codec_;
  const uint64_t block_;
  uint64_t next_;
  const uint64_t stride_;
  std::vector<Transaction> transactions_;
  std::vector<Row> rows_;
  std::string bytes_, document_;
};

class DocumentLoad : public Workload {
 public:
  DocumentLoad(std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : settings_(SettingsOf(name_, options)),
        dataset_(std::move(dataset)),
        rows_per_transaction_(options.rows_per_transaction) {}
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  uint64_t operations() const override {
    return (dataset_->rows() + rows_per_transaction_ - 1) / rows_per_transaction_;
  }
  bool writes() const override { return true; }
  uint64_t AddedBytes() const override {
    std::string longest;
    settings_.NewCodec()->Encode(static_cast<int64_t>(dataset_->rows()), &longest);
    return dataset_->key_bytes() + dataset_->rows() * longest.size();
  }
  void OpenTables(Engine& engine) override { table_ = engine.OpenTable(kMainTable); }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) override {
    return std::make_unique<LoadClient>(*dataset_, settings_, session, table_,
                                        rows_per_transaction_, thread, threads);
  }

 private:
  const std::string name_ = "document-load";
  const std::vector<OpKind> ops_ = {DefineOp("document-load", Ground::kForeground)};
  const DocumentSettings settings_;
  std::shared_ptr<const Dataset> dataset_;
  const uint32_t rows_per_transaction_;
  TableId table_ = 0;
};

// The measurements of one client, or of all clients. Times are kept as histograms because their
// medians are reported: on a busy machine one query in a thousand is interrupted for as long as all
// the others take together, which would dominate a mean.
struct Split {
  HistogramCounts engine, parse, project;  // nanoseconds; queries whose time was split by part
  HistogramCounts empty;                   // nanoseconds; an empty interval in each of these
  HistogramCounts allocation;              // net nanoseconds; queries whose allocations were timed
  uint64_t queries = 0, allocations = 0, allocated_bytes = 0;  // counts of all queries
  uint64_t parse_allocations = 0, project_allocations = 0;     // those in each of the two parts
  uint64_t document_bytes = 0, answer_bytes = 0;               // sizes in the queries split by part

  void Add(const Split& o) {
    engine.Add(o.engine);
    parse.Add(o.parse);
    project.Add(o.project);
    empty.Add(o.empty);
    allocation.Add(o.allocation);
    queries += o.queries;
    allocations += o.allocations;
    allocated_bytes += o.allocated_bytes;
    parse_allocations += o.parse_allocations;
    project_allocations += o.project_allocations;
    document_bytes += o.document_bytes;
    answer_bytes += o.answer_bytes;
  }
  json ToJson(const DocumentSettings& settings) const;
};

json Split::ToJson(const DocumentSettings& settings) const {
  json j = {{"format", settings.format},
            {"access", settings.access == DocumentAccess::kWhole ? "whole" : "needed"},
            {"attributes", settings.shape.attributes},
            {"y", settings.shape.y_first ? "first" : "last"},
            {"sampled", engine.count()}};
  if (engine.count() == 0) return j;
  const uint64_t clock_ns = empty.Percentile(0.5);
  const auto net = [clock_ns](const HistogramCounts& h) {
    return static_cast<double>(NetOfClock(h.Percentile(0.5), clock_ns));
  };
  const double engine_ns = net(engine), parse_ns = net(parse), project_ns = net(project);
  const auto allocation_ns = static_cast<double>(allocation.Percentile(0.5));
  const double all = engine_ns + parse_ns + project_ns;
  // No share is known when all parts take no longer than reading the clock.
  const auto share = [all](double ns) { return all > 0 ? json(ns / all) : json(); };
  const auto n = static_cast<double>(engine.count());
  j["document_bytes"] = static_cast<double>(document_bytes) / n;
  j["answer_bytes"] = static_cast<double>(answer_bytes) / n;
  j["clock_ns"] = clock_ns;
  j["clock_p95_ns"] = empty.Percentile(0.95);
  j["engine_ns"] = engine_ns;
  j["parse_ns"] = parse_ns;
  j["project_ns"] = project_ns;
  j["allocation_ns"] = allocation_ns;
  j["engine_share"] = share(engine_ns);
  j["parse_share"] = share(parse_ns);
  j["project_share"] = share(project_ns);
  j["allocation_share"] = share(allocation_ns);
  j["allocations"] = static_cast<double>(allocations) / static_cast<double>(queries);
  j["parse_allocations"] = static_cast<double>(parse_allocations) / static_cast<double>(queries);
  j["project_allocations"] =
      static_cast<double>(project_allocations) / static_cast<double>(queries);
  j["allocated_bytes"] = static_cast<double>(allocated_bytes) / static_cast<double>(queries);
  return j;
}

class QueryClient : public Client {
 public:
  QueryClient(const Dataset& dataset, const WorkloadOptions& options,
              const DocumentSettings& settings, Session& session, TableId table, int thread,
              std::function<void(const Split&)> done)
      : dataset_(dataset),
        session_(session),
        table_(table),
        codec_(settings.NewCodec()),
        chooser_(dataset, options, Mix64(options.seed) + static_cast<uint64_t>(thread)),
        keys_(kBatch * dataset.max_key_size()),
        done_(std::move(done)),
        meter_(AllocationMeter::ThisThread()),
        meter_at_start_(meter_) {}

  ~QueryClient() override {
    split_.allocations = meter_.allocations - meter_at_start_.allocations - not_of_queries_;
    split_.allocated_bytes = meter_.bytes - meter_at_start_.bytes - bytes_not_of_queries_;
    split_.engine.Add(engine_ns_);
    split_.parse.Add(parse_ns_);
    split_.project.Add(project_ns_);
    split_.empty.Add(empty_ns_);
    split_.allocation.Add(allocation_ns_);
    done_(split_);
  }

  size_t Generate(size_t max) override {
    max = std::min(max, kBatch);
    for (size_t i = 0; i < max; ++i) {
      Query& q = queries_[i];
      const uint64_t row = chooser_.Next();
      q.id = static_cast<int64_t>(row);
      q.matches = chooser_.NextExists();
      q.y = q.matches ? q.id : -1 - q.id;
      q.key = dataset_.Key(row, keys_.data() + i * dataset_.max_key_size());
    }
    return max;
  }

  void Execute(size_t i) override {
    const Query& q = queries_[i];
    const uint64_t kind = split_.queries++ % kSampleEvery;
    if (kind == 0) {
      ExecuteTimed(q);
    } else if (kind == kSampleEvery / 2) {
      meter_.ticks = meter_.empty_ticks = 0;
      meter_.timed = true;
      ExecutePlain(q);
      meter_.timed = false;
      allocation_ns_.Record(meter_.NetNs());
    } else {
      ExecutePlain(q);
    }
    totals_.rows_read += found_;
    totals_.not_found += !found_;
  }

  // Checks the result and the whole stored document; the allocations of the check are not counted.
  bool Verify(size_t i) override {
    const AllocationMeter before = meter_;
    const bool right = IsRight(queries_[i]);
    not_of_queries_ += meter_.allocations - before.allocations;
    bytes_not_of_queries_ += meter_.bytes - before.bytes;
    return right;
  }

 private:
  static constexpr size_t kBatch = 64;
  // Among this many queries, one is split by part and one has its allocations timed.
  static constexpr uint64_t kSampleEvery = 32;
  struct Query {
    int64_t id, y;
    bool matches;
    std::string_view key;
  };

  bool Fetch(const Query& q, std::string_view* document) {
    if (!session_.Get(table_, q.key, document)) return false;
    consume_(*document);
    return true;
  }

  void ExecutePlain(const Query& q) {
    std::string_view document;
    found_ = Fetch(q, &document) && Match(document, q);
    answer_ = found_ ? Project() : std::string_view();
  }
  bool Match(std::string_view document, const Query& q) {
    const uint64_t before = meter_.allocations;
    const bool matches = codec_->Match(document, q.id, q.y);
    split_.parse_allocations += meter_.allocations - before;
    return matches;
  }
  std::string_view Project() {
    const uint64_t before = meter_.allocations;
    const std::string_view answer = codec_->Project();
    split_.project_allocations += meter_.allocations - before;
    return answer;
  }

  void ExecuteTimed(const Query& q) {
    const Clock& clock = Clock::Get();
    std::string_view document;
    const uint64_t start = clock.Now();
    found_ = Fetch(q, &document);
    const uint64_t got = clock.Now();
    found_ = found_ && Match(document, q);
    const uint64_t parsed = clock.Now();
    answer_ = found_ ? Project() : std::string_view();
    const uint64_t projected = clock.Now();
    const uint64_t empty = EmptyInterval(clock, projected);
    engine_ns_.Record(clock.ToNs(got - start));
    parse_ns_.Record(clock.ToNs(parsed - got));
    project_ns_.Record(clock.ToNs(projected - parsed));
    empty_ns_.Record(clock.ToNs(empty));
    split_.document_bytes += document.size();
    split_.answer_bytes += answer_.size();
  }

  bool IsRight(const Query& q) {
    if (found_ != q.matches) return false;
    if (found_ && codec_->DecodeAnswer(answer_) != Attributes{{"_id", q.id}, {"y", q.id}}) {
      return false;
    }
    std::string_view document;
    if (!session_.Get(table_, q.key, &document)) return false;
    codec_->Encode(q.id, &expected_);
    return document == expected_;
  }

  const Dataset& dataset_;
  Session& session_;
  const TableId table_;
  const std::unique_ptr<DocumentCodec> codec_;
  RowChooser chooser_;
  std::vector<char> keys_;
  Query queries_[kBatch];
  bool found_ = false;
  std::string_view answer_;
  std::string expected_;
  Split split_;
  Histogram engine_ns_, parse_ns_, project_ns_, empty_ns_, allocation_ns_;
  const std::function<void(const Split&)> done_;
  AllocationMeter& meter_;
  const AllocationMeter meter_at_start_;
  uint64_t not_of_queries_ = 0, bytes_not_of_queries_ = 0;
};

json ProfileJson(const std::vector<CpuProfile::Function>& functions) {
  constexpr size_t kShown = 20;
  double allocation = 0, parse = 0;
  json shown = json::array();
  for (const CpuProfile::Function& f : functions) {
    if (IsAllocation(f)) {
      allocation += f.share;
    } else if (ReadsAttributes(f)) {
      parse += f.share;
    }
    if (shown.size() < kShown) {
      shown.push_back({{"name", f.name}, {"program", f.program}, {"share", f.share}});
    }
  }
  return {{"allocation_share", allocation}, {"parse_share", parse}, {"functions", shown}};
}

class DocumentQuery : public Workload {
 public:
  DocumentQuery(std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : settings_(SettingsOf(name_, options)),
        dataset_(std::move(dataset)),
        options_(options),
        profiled_(ExtraOptions(name_, options.extra, "--workload-option")
                      .Choice("profile", "off", {"off", "on"}) == "on") {}
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  bool writes() const override { return false; }
  bool has_popular_rows() const override { return HasPopularRows(options_); }
  bool reads_absent_rows() const override { return options_.hit_ratio < 1; }
  void OpenTables(Engine& engine) override { table_ = engine.OpenTable(kMainTable); }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int) override {
    {
      LockGuard lock(mutex_);
      if (profiled_ && clients_++ == 0) profile_ = std::make_unique<CpuProfile>();
    }
    return std::make_unique<QueryClient>(*dataset_, options_, settings_, session, table_, thread,
                                         [this](const Split& split) {
                                           LockGuard lock(mutex_);
                                           split_.Add(split);
                                           if (profiled_ && --clients_ == 0) EndProfile();
                                         });
  }
  json Details() const override {
    LockGuard lock(mutex_);
    json details = split_.ToJson(settings_);
    if (profiled_) details["profile"] = profile_json_;
    return details;
  }

 private:
  void EndProfile() REQUIRES(mutex_) {
    const std::vector<CpuProfile::Function> functions = profile_->Stop();
    profile_json_ = functions.empty() ? json{{"missing", profile_->why()}} : ProfileJson(functions);
    profile_.reset();
  }

  const std::string name_ = "document-query";
  const std::vector<OpKind> ops_ = {DefineOp("document-query", Ground::kForeground)};
  const DocumentSettings settings_;
  std::shared_ptr<const Dataset> dataset_;
  const WorkloadOptions options_;
  TableId table_ = 0;
  mutable Mutex mutex_;
  Split split_ GUARDED_BY(mutex_);  // sums of the clients that have ended
  const bool profiled_;
  int clients_ GUARDED_BY(mutex_) = 0;  // clients that have not ended
  std::unique_ptr<CpuProfile> profile_ GUARDED_BY(mutex_);
  json profile_json_ GUARDED_BY(mutex_);
};

}  // namespace

WorkloadInfo DocumentLoadInfo() {
  WorkloadInfo info;
  info.name = "document-load";
  info.summary = "loads documents of many attributes, in a format of --workload-option";
  info.loads = true;
  info.make = [](std::shared_ptr<const Dataset> dataset,
                 const WorkloadOptions& options) -> std::unique_ptr<Workload> {
    return std::make_unique<DocumentLoad>(std::move(dataset), options);
  };
  info.loader = info.name;
  info.extra_options = kDatabaseOptions;
  return info;
}

WorkloadInfo DocumentQueryInfo() {
  WorkloadInfo info;
  info.name = "document-query";
  info.summary = "gets a document by _id, matches y, returns _id and y as a new document";
  info.loads = false;
  info.make = [](std::shared_ptr<const Dataset> dataset,
                 const WorkloadOptions& options) -> std::unique_ptr<Workload> {
    return std::make_unique<DocumentQuery>(std::move(dataset), options);
  };
  info.reads_only = true;
  info.loader = "document-load";
  info.extra_options = kDatabaseOptions;
  info.extra_options.emplace_back("access",
                                  "whole (default): the query reads every attribute; needed: it "
                                  "stops when it has those that it needs");
  info.extra_options.emplace_back(
      "profile", "off (default) or on: perf samples which functions use the processor");
  return info;
}

}  // namespace testbed
