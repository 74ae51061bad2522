#include "workloads/insert_benchmark/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "workloads/insert_benchmark/insert.h"
#include "workloads/insert_benchmark/options.h"
#include "workloads/insert_benchmark/sort.h"

namespace testbed {
namespace {

enum BuildOp : uint8_t { kInsertRows, kScan, kWrite };

// Inserts 100 rows, rounded up to whole transactions, and then builds the indexes: reads the
// client's rows, sorts the entries of each index (sort.h) and writes them in order. An engine that
// keeps indexes itself builds them in one operation.
class IbBuilder : public Client {
 public:
  IbBuilder(IbTables& tables, uint32_t client, Session& session, const IbInserter::Work& work,
            const IbOptions& options, const std::string& directory)
      : tables_(tables),
        set_(tables.set(client)),
        client_(client),
        session_(session),
        next_id_(tables.schema().IdOf(client, tables.client(client).inserter.first)),
        at_end_(options.schema.indexes == 0),
        engine_builds_(options.schema.indexes > 0 && tables.engine_keeps_indexes()),
        batch_(kEntriesPerWrite) {
    // An earlier, interrupted build may have indexed this client's rows.
    if (options.schema.indexes > 0 && tables.Indexed(session, client)) {
      tables.client(client).inserter.done = true;
      at_end_ = true;
      return;
    }
    inserter_ = std::make_unique<IbInserter>(tables, client, session, work);
    for (uint32_t k = 0; k < options.schema.indexes && !engine_builds_; ++k) {
      sorters_.push_back(
          std::make_unique<IbSorter>(fmt::format("{}/ib-{}-{}.tmp", directory, client + 1, k + 1),
                                     IbSchema::kIndexKeySizes[k], options.sort_rows));
    }
  }

  size_t Generate(size_t max) override {
    if (inserter_ != nullptr) {
      kind_ = kInsertRows;
      if (const size_t n = inserter_->Generate(max); n > 0) return n;
      inserter_.reset();
    }
    if (engine_builds_) {
      kind_ = kWrite;
      return std::exchange(at_end_, true) ? 0 : 1;
    }
    kind_ = at_end_ ? kWrite : kScan;
    if (!at_end_) return 1;
    while (index_ < sorters_.size() && written_ == sorters_[index_]->size()) {
      sorters_[index_++].reset();
      written_ = 0;
    }
    if (index_ == sorters_.size()) return 0;
    const uint64_t left = sorters_[index_]->size() - written_;
    const size_t n = std::min<uint64_t>(max, (left + kEntriesPerWrite - 1) / kEntriesPerWrite);
    written_ += std::min<uint64_t>(left, n * kEntriesPerWrite);
    last_of_all_ = index_ + 1 == sorters_.size() && written_ == sorters_[index_]->size() ? n : 0;
    return n;
  }

  size_t OpOf(size_t) const override { return kind_; }

  void Execute(size_t i) override {
    if (kind_ == kInsertRows) {
      inserter_->Execute(i);
      totals_ = inserter_->totals();
    } else if (kind_ == kScan) {
      Scan();
    } else if (engine_builds_) {
      tables_.BuildIndexes(client_);
      totals_.user_bytes_written += EntryBytes();
      NoteIndexed();
    } else {
      Write(i + 1 == last_of_all_);
    }
  }

  bool Verify(size_t i) override {
    if (kind_ == kInsertRows) return inserter_->Verify(i);
    if (kind_ == kScan || engine_builds_) return true;
    std::string_view value;
    return session_.Get(set_.indexes[index_], Key(batch_[0]), &value);
  }

 private:
  static constexpr size_t kEntriesPerWrite = 1000, kRowsPerScan = 10000;

  std::string_view Key(const IbSorter::Entry& entry) const {
    return {entry.bytes, IbSchema::kIndexKeySizes[index_]};
  }

  void Scan() {
    char from[IbSchema::kKeySize];
    IbSchema::Key(next_id_, from);
    std::unique_ptr<Cursor> cursor = session_.NewCursor(set_.rows);
    cursor->Expect(kRowsPerScan);
    size_t rows = 0;
    bool on = cursor->Seek({from, sizeof from});
    // The scan makes no step after the last of kRowsPerScan rows; if that row was the last of all,
    // the next scan finds the end.
    for (; on; on = rows < kRowsPerScan && cursor->Next()) {
      ++rows;
      consume_(cursor->key());
      consume_(cursor->value());
      const uint64_t id = IbGet(cursor->key().data(), IbSchema::kKeySize);
      next_id_ = id + 1;
      if (tables_.schema().ClientOf(id, client_) != client_) continue;
      for (uint32_t k = 0; k < sorters_.size(); ++k) {
        IbSorter::Entry entry;
        IbSchema::IndexKey(k, id, cursor->value(), entry.bytes);
        sorters_[k]->Add(entry);
      }
    }
    totals_.rows_read += rows;
    if (rows == kRowsPerScan) return;
    cursor.reset();
    at_end_ = true;
    for (const auto& sorter : sorters_) sorter->Finish();
    if (sorters_.back()->size() == 0) NoteIndexed();
  }

  // Returns how many rows the client has.
  uint64_t Rows() const {
    const IbClientState::Inserter& rows = tables_.client(client_).inserter;
    return rows.next.load() - rows.first.load();
  }
  // Returns the bytes of the entries of the client's rows in all indexes. They count as the user's
  // bytes, whether the engine or the client writes the entries.
  uint64_t EntryBytes() const {
    const auto* const sizes = IbSchema::kIndexKeySizes;
    return Rows() * std::accumulate(sizes, sizes + tables_.schema().options().indexes, uint64_t{0});
  }

  // Records that the indexes of the client's rows are built.
  void NoteIndexed() {
    tables_.RecordIndexed(session_, client_);
    tables_.client(client_).indexed = Rows();
  }

  // Writes the next entries of the current index. `last` marks the step's last write, which also
  // records that the indexes are built.
  void Write(bool last) {
    size_t n = 0;
    while (n < kEntriesPerWrite && sorters_[index_]->Next(&batch_[n])) ++n;
    session_.Begin();
    for (size_t e = 0; e < n; ++e) {
      session_.Put(set_.indexes[index_], Key(batch_[e]), {});
      totals_.user_bytes_written += Key(batch_[e]).size();
    }
    session_.Commit();
    if (last) NoteIndexed();
  }

  IbTables& tables_;
  const IbTables::Set& set_;
  const uint32_t client_;
  Session& session_;
  std::unique_ptr<IbInserter> inserter_;            // null once the rows are inserted
  BuildOp kind_ = kInsertRows;                      // kind of the prepared operations
  uint64_t next_id_;                                // the id at which the scan continues
  bool at_end_;                                     // the scan has ended
  const bool engine_builds_;                        // the engine builds the indexes
  std::vector<std::unique_ptr<IbSorter>> sorters_;  // one per index; released when its index is
                                                    // written
  uint32_t index_ = 0;                              // the index that is being written
  uint64_t written_ = 0;                            // entries of that index, prepared ones included
  size_t last_of_all_ = 0;  // 1 + position of the step's last operation, or 0
  std::vector<IbSorter::Entry> batch_;
};

class IbX : public Workload {
 public:
  IbX(const IbOptions& options, const std::string& directory)
      : options_(options),
        directory_(directory.empty() ? std::filesystem::temp_directory_path().string() : directory),
        tables_(options.schema) {}
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  // Returns a lower bound: the number of rows to index is known only when the tables are open.
  uint64_t operations() const override {
    return tables_.clients() + options_.schema.indexes * (tables_.rows_of_step() / 1000);
  }
  bool writes() const override { return true; }
  bool settles() const override { return options_.settle; }
  void OpenTables(Engine& engine) override { OpenClientTables(engine, 1); }
  void OpenClientTables(Engine& engine, int clients) override {
    tables_.Open(engine, clients, IbTables::kUnindexed, name_);
  }
  void OpenForCheck(Engine& engine, int clients) override {
    tables_.Open(engine, clients, IbTables::kRows, name_);
  }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int) override {
    return std::make_unique<IbBuilder>(tables_, static_cast<uint32_t>(thread), session, Work(),
                                       options_, directory_);
  }
  bool checks() const override { return options_.check_rows > 0; }
  std::string CheckDatabase(Engine& engine) override {
    return tables_.Check(engine, options_.check_rows);
  }
  nlohmann::json Details() const override {
    nlohmann::json details = IbDetails(tables_, Work());
    uint64_t indexed = 0;
    for (uint32_t c = 0; c < tables_.clients(); ++c) indexed += tables_.client(c).indexed;
    if (options_.schema.indexes > 0) details["rows_indexed"] = indexed;
    return details;
  }

 private:
  IbInserter::Work Work() const {
    const uint32_t each = options_.rows_per_commit_load;
    return {IbOptions::RowsOfClient(100, 1, each), each, 0, false};
  }

  const std::string name_ = "ib.x";
  const std::vector<OpKind> ops_ = {DefineOp("insert", Ground::kForeground),
                                    DefineOp("index-scan", Ground::kForeground),
                                    DefineOp("index-write", Ground::kForeground)};
  const IbOptions options_;
  const std::string directory_;  // directory of temporary files
  IbTables tables_;
};

// One operation on one thread: Engine::Settle.
class IbVacClient : public Client {
 public:
  IbVacClient(Engine& engine, bool works) : engine_(engine), left_(works ? 1 : 0) {}
  size_t Generate(size_t) override { return std::exchange(left_, 0); }
  void Execute(size_t) override { engine_.Settle(); }
  bool Verify(size_t) override { return true; }

 private:
  Engine& engine_;
  size_t left_;
};

class IbVac : public Workload {
 public:
  explicit IbVac(const IbOptions& options) : options_(options), tables_(options.schema) {}
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  uint64_t operations() const override { return 1; }
  bool writes() const override { return true; }
  bool settles() const override { return false; }  // the step itself settles the database
  void OpenTables(Engine& engine) override { OpenClientTables(engine, 1); }
  void OpenClientTables(Engine& engine, int clients) override {
    engine_ = &engine;
    tables_.Open(engine, clients, IbTables::kRows, name_);
  }
  std::unique_ptr<Client> NewClient(Session&, int thread, int) override {
    return std::make_unique<IbVacClient>(*engine_, thread == 0);
  }
  bool checks() const override { return options_.check_rows > 0; }
  std::string CheckDatabase(Engine& engine) override {
    return tables_.Check(engine, options_.check_rows);
  }
  nlohmann::json Details() const override {
    return {{"clients", tables_.clients()}, {"table_rows", tables_.rows()}};
  }

 private:
  const std::string name_ = "ib.vac";
  const std::vector<OpKind> ops_ = {kSettle};
  const IbOptions options_;
  IbTables tables_;
  Engine* engine_ = nullptr;
};

}  // namespace

std::unique_ptr<Workload> MakeIbX(std::shared_ptr<const Dataset> dataset,
                                  const WorkloadOptions& options) {
  return std::make_unique<IbX>(IbOptions::Parse(*dataset, options), options.directory);
}

std::unique_ptr<Workload> MakeIbVac(std::shared_ptr<const Dataset> dataset,
                                    const WorkloadOptions& options) {
  return std::make_unique<IbVac>(IbOptions::Parse(*dataset, options));
}

}  // namespace testbed
