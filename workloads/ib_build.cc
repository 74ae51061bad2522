#include "workloads/ib_build.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "workloads/ib_insert.h"

namespace testbed {
namespace {

enum BuildOp : uint8_t { kInsertRows, kScan, kWrite };

// Inserts 100 rows and then builds the indexes: reads the client's rows in pieces that fit into
// memory, sorts each index's entries of a piece, and writes them in that order.
class IbBuilder : public Client {
 public:
  IbBuilder(IbTables& tables, uint32_t client, Session& session, const IbInserter::Work& work,
            uint32_t indexes, uint64_t sort_rows)
      : tables_(tables),
        set_(tables.set(client)),
        client_(client),
        session_(session),
        indexes_(indexes),
        sort_rows_(sort_rows),
        inserter_(std::make_unique<IbInserter>(tables, client, session, work)),
        at_end_(indexes == 0) {
    const IbClientState::Inserter& state = tables.client(client).inserter;
    next_id_ = tables.schema().IdOf(client, state.first);
    const uint64_t rows = state.next - state.first + work.rows;
    for (uint32_t k = 0; k < indexes; ++k) entries_[k].reserve(std::min(rows, sort_rows));
  }

  size_t Generate(size_t max) override {
    if (inserter_ != nullptr) {
      kind_ = kInsertRows;
      if (const size_t n = inserter_->Generate(max); n > 0) return n;
      totals_ = inserter_->totals();
      inserter_.reset();
    }
    writes_.clear();
    while (writes_.size() < max && index_ < indexes_) {
      const size_t count = std::min(kEntriesPerWrite, entries_[index_].size() - written_);
      if (count > 0) writes_.push_back({index_, written_, count});
      written_ += count;
      if (written_ == entries_[index_].size()) {
        written_ = 0;
        ++index_;
      }
    }
    if (!writes_.empty()) {
      kind_ = kWrite;
      return writes_.size();
    }
    kind_ = kScan;
    return at_end_ ? 0 : 1;
  }

  size_t OpOf(size_t) const override { return kind_; }

  void Execute(size_t i) override {
    if (kind_ == kInsertRows) {
      inserter_->Execute(i);
    } else if (kind_ == kScan) {
      Scan();
    } else {
      Write(writes_[i]);
    }
  }

  bool Verify(size_t i) override {
    if (kind_ == kInsertRows) return inserter_->Verify(i);
    if (kind_ == kScan) return true;
    const auto& [k, first, count] = writes_[i];
    std::string_view value;
    return session_.Get(set_.indexes[k], entries_[k][first].key(), &value);
  }

 private:
  static constexpr size_t kEntriesPerWrite = 1000;
  struct Entry {
    char bytes[IbSchema::kMaxIndexKeySize];
    uint8_t size;
    std::string_view key() const { return {bytes, size}; }
  };
  struct WriteOp {
    uint32_t index;
    size_t first, count;
  };

  void Scan() {
    for (uint32_t k = 0; k < indexes_; ++k) entries_[k].clear();
    char from[IbSchema::kKeySize];
    IbSchema::Key(next_id_, from);
    uint64_t rows = 0;
    {
      std::unique_ptr<Cursor> cursor = session_.NewCursor(set_.rows);
      bool on = cursor->Seek({from, sizeof from});
      for (; on && rows < sort_rows_; on = cursor->Next()) {
        const uint64_t id = IbGet(cursor->key().data(), IbSchema::kKeySize);
        next_id_ = id + 1;
        if (tables_.schema().ClientOf(id, client_) != client_) continue;
        for (uint32_t k = 0; k < indexes_; ++k) {
          Entry& entry = entries_[k].emplace_back();
          entry.size =
              static_cast<uint8_t>(IbSchema::IndexKey(k, id, cursor->value(), entry.bytes));
        }
        ++rows;
      }
      at_end_ = !on;
    }
    for (uint32_t k = 0; k < indexes_; ++k) {
      std::sort(entries_[k].begin(), entries_[k].end(),
                [](const Entry& a, const Entry& b) { return a.key() < b.key(); });
    }
    totals_.rows_read += rows;
    index_ = rows > 0 ? 0 : indexes_;
    written_ = 0;
    if (at_end_ && rows == 0) tables_.RecordIndexed(session_, client_);
  }

  void Write(const WriteOp& write) {
    session_.Begin();
    for (size_t e = write.first; e < write.first + write.count; ++e) {
      const Entry& entry = entries_[write.index][e];
      session_.Put(set_.indexes[write.index], entry.key(), {});
      totals_.user_bytes_written += entry.size;
    }
    const bool last = at_end_ && write.index + 1 == indexes_ &&
                      write.first + write.count == entries_[write.index].size();
    if (last) tables_.RecordIndexed(session_, client_);
    session_.Commit();
  }

  const IbTables& tables_;
  const IbTables::Set& set_;
  const uint32_t client_;
  Session& session_;
  const uint32_t indexes_;
  const uint64_t sort_rows_;
  std::unique_ptr<IbInserter> inserter_;  // until the rows are inserted
  BuildOp kind_ = kInsertRows;            // of the prepared operations
  std::vector<WriteOp> writes_;
  std::array<std::vector<Entry>, IbSchema::kMaxIndexes> entries_;  // of the piece
  uint32_t index_ =
      IbSchema::kMaxIndexes;  // the piece's next entries to prepare: of this index ...
  size_t written_ = 0;        // ... from this on
  uint64_t next_id_;          // rows are read from here on
  bool at_end_;               // there are no more
};

class IbX : public Workload {
 public:
  explicit IbX(const IbOptions& options) : options_(options), tables_(options.schema) {}
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  // A lower bound: how much there is to index is known when the tables are open.
  uint64_t operations() const override {
    return tables_.clients() + options_.schema.indexes * (tables_.rows() / 1000);
  }
  bool writes() const override { return true; }
  bool settles() const override { return options_.settle; }
  void OpenTables(Engine& engine) override { OpenClientTables(engine, 1); }
  void OpenClientTables(Engine& engine, int clients) override {
    tables_.Open(engine, clients, IbTables::kRows, name_);
  }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int) override {
    return std::make_unique<IbBuilder>(tables_, static_cast<uint32_t>(thread), session, Work(),
                                       options_.schema.indexes, options_.sort_rows);
  }
  std::string CheckDatabase(Engine& engine) override {
    return tables_.Check(engine, options_.check_rows);
  }
  nlohmann::json Details() const override {
    nlohmann::json details = IbDetails(tables_, Work());
    details["rows_indexed"] = tables_.rows();
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
  IbTables tables_;
};

// One operation of one thread: the engine's own way to come to rest.
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
  bool settles() const override { return false; }  // it is that itself
  void OpenTables(Engine& engine) override { OpenClientTables(engine, 1); }
  void OpenClientTables(Engine& engine, int clients) override {
    engine_ = &engine;
    tables_.Open(engine, clients, IbTables::kRows, name_);
  }
  std::unique_ptr<Client> NewClient(Session&, int thread, int) override {
    return std::make_unique<IbVacClient>(*engine_, thread == 0);
  }
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
  return std::make_unique<IbX>(IbOptions::Parse(*dataset, options));
}

std::unique_ptr<Workload> MakeIbVac(std::shared_ptr<const Dataset> dataset,
                                    const WorkloadOptions& options) {
  return std::make_unique<IbVac>(IbOptions::Parse(*dataset, options));
}

}  // namespace testbed
