#include "workloads/insert_benchmark/insert.h"

#include <algorithm>
#include <string>
#include <utility>

#include "workloads/insert_benchmark/options.h"

namespace testbed {

IbInserter::IbInserter(IbTables& tables, uint32_t client, Session& session, const Work& work)
    : tables_(tables),
      set_(tables.set(client)),
      client_(client),
      session_(session),
      state_(tables.client(client)),
      work_(work),
      left_(work.rows),
      next_(state_.inserter.next),
      doomed_(work.deletes ? work.rows_per_commit : 0),
      first_id_(tables.schema().IdOf(client, state_.inserter.first)) {}

void IbInserter::Row::SetKeys(uint64_t id, std::string_view row_value, uint32_t indexes) {
  IbSchema::Key(id, key);
  for (uint32_t k = 0; k < indexes; ++k) {
    index_key_sizes[k] = static_cast<uint8_t>(IbSchema::IndexKey(k, id, row_value, index_keys[k]));
  }
}

size_t IbInserter::Generate(size_t max) {
  const IbSchema& schema = tables_.schema();
  if (work_.deletes) phase_ = (phase_ + prepared_) % 2;
  // Limits the batch to the inserts that fit in the processor's caches, at least one.
  const size_t row_room = schema.max_value_size();
  const size_t fit = (64u << 10) / ((sizeof(Row) + row_room) * work_.rows_per_commit);
  size_t inserts = std::clamp<size_t>(fit, 1, work_.deletes ? (max + 1 - phase_) / 2 : max);
  if (max == 1 && phase_ == 1) inserts = 0;
  inserts = std::min<size_t>(inserts, left_ / work_.rows_per_commit);
  prepared_ = work_.deletes ? std::min(max, 2 * inserts + phase_) : inserts;

  const size_t rows = inserts * work_.rows_per_commit;
  rows_.resize(std::max(rows_.size(), rows));
  values_.resize(std::max(values_.size(), rows * row_room));
  char* at = values_.data();
  for (size_t r = 0; r < rows; ++r, at += row_room, ++next_) {
    rows_[r].value = {at, schema.Value(client_, next_, at)};
    rows_[r].SetKeys(schema.IdOf(client_, next_), rows_[r].value, work_.indexes);
  }
  left_ -= rows;
  return prepared_;
}

void IbInserter::Execute(size_t i) {
  if (OpOf(i) == 1) return Delete();
  Insert(&rows_[(work_.deletes ? (i - phase_) / 2 : i) * work_.rows_per_commit]);
}

void IbInserter::Insert(const Row* rows) {
  session_.Begin();
  for (uint32_t r = 0; r < work_.rows_per_commit; ++r) {
    const Row& row = rows[r];
    session_.Put(set_.rows, {row.key, IbSchema::kKeySize}, row.value);
    totals_.user_bytes_written += IbSchema::kKeySize + row.value.size();
    for (uint32_t k = 0; k < work_.indexes; ++k) {
      if (!tables_.engine_keeps_indexes()) session_.Put(set_.indexes[k], row.index_key(k), {});
      totals_.user_bytes_written += row.index_key_sizes[k];
    }
  }
  session_.Commit();
  IbClientState::Inserter& state = state_.inserter;
  state.next.store(state.next.load(std::memory_order_relaxed) + work_.rows_per_commit,
                   std::memory_order_release);
  state.inserted += work_.rows_per_commit;
  totals_.rows_written += work_.rows_per_commit;
  totals_.rows_inserted += work_.rows_per_commit;
}

void IbInserter::Delete() {
  const IbSchema& schema = tables_.schema();
  char from[IbSchema::kKeySize];
  IbSchema::Key(first_id_, from);
  deleted_ = 0;
  // Once all rows are gone, only this record says which numbers the client has used.
  IbClientState::Inserter& state = state_.inserter;
  if (state.next - state.first <= doomed_.size()) {
    tables_.RecordNext(session_, client_, state.next);
  }
  session_.Begin();
  {
    std::unique_ptr<Cursor> cursor = session_.NewCursor(set_.rows);
    cursor->Expect(doomed_.size());
    for (bool on = cursor->Seek({from, sizeof from}); on;
         on = deleted_ < doomed_.size() && cursor->Next()) {
      const uint64_t id = IbGet(cursor->key().data(), IbSchema::kKeySize);
      consume_(cursor->key());
      consume_(cursor->value());
      if (schema.ClientOf(id, client_) != client_) continue;
      doomed_[deleted_++].SetKeys(id, cursor->value(), work_.indexes);
      first_id_ = id + 1;
    }
  }
  // The bound moves before the rows disappear, so that a reader that misses a row can tell why.
  // An engine without transactions shows each Erase at once.
  state.first.store(state.first.load(std::memory_order_relaxed) + deleted_,
                    std::memory_order_release);
  for (size_t r = 0; r < deleted_; ++r) {
    session_.Erase(set_.rows, {doomed_[r].key, IbSchema::kKeySize});
    totals_.user_bytes_written += IbSchema::kKeySize;
    for (uint32_t k = 0; k < work_.indexes; ++k) {
      if (!tables_.engine_keeps_indexes()) {
        session_.Erase(set_.indexes[k], doomed_[r].index_key(k));
      }
      totals_.user_bytes_written += doomed_[r].index_key_sizes[k];
    }
  }
  session_.Commit();
  state.deleted += deleted_;
  totals_.rows_read += deleted_;
  totals_.rows_written += deleted_;
  totals_.rows_erased += deleted_;
}

// Checks that the first row of the transaction exists after an insert, and not after a delete.
bool IbInserter::Verify(size_t i) {
  std::string_view value;
  if (OpOf(i) == 1) {
    return deleted_ == 0 || !session_.Get(set_.rows, {doomed_[0].key, IbSchema::kKeySize}, &value);
  }
  const Row& row = rows_[(work_.deletes ? (i - phase_) / 2 : i) * work_.rows_per_commit];
  if (!session_.Get(set_.rows, {row.key, IbSchema::kKeySize}, &value) || value != row.value) {
    return false;
  }
  for (uint32_t k = 0; k < work_.indexes; ++k) {
    if (!session_.Get(set_.indexes[k], row.index_key(k), &value)) return false;
  }
  return true;
}

namespace {

class IbInsertStep : public Workload {
 public:
  struct Step {
    std::string name;
    IbTables::Need need;
    bool indexes;  // whether inserts maintain the indexes
    uint64_t rows;
    uint32_t rows_per_commit;
    bool deletes;
  };
  IbInsertStep(Step step, const IbOptions& options)
      : step_(std::move(step)), options_(options), tables_(options.schema) {
    if (step_.deletes) ops_.push_back(DefineOp("delete", Ground::kForeground));
  }
  const std::string& name() const override { return step_.name; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  uint64_t operations() const override {
    return Work().rows / step_.rows_per_commit * tables_.clients() * ops_.size();
  }
  bool writes() const override { return true; }
  bool settles() const override { return options_.settle; }
  uint64_t AddedBytes() const override {
    return static_cast<uint64_t>(options_.BytesOfRow() * static_cast<double>(step_.rows));
  }
  uint32_t kept_indexes() const override { return step_.indexes ? options_.schema.indexes : 0; }
  void OpenTables(Engine& engine) override { OpenClientTables(engine, 1); }
  void OpenClientTables(Engine& engine, int clients) override {
    tables_.Open(engine, clients, step_.need, step_.name);
  }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int) override {
    return std::make_unique<IbInserter>(tables_, static_cast<uint32_t>(thread), session, Work());
  }
  bool checks() const override { return options_.check_rows > 0; }
  std::string CheckDatabase(Engine& engine) override {
    return tables_.Check(engine, options_.check_rows);
  }
  nlohmann::json Details() const override { return IbDetails(tables_, Work()); }

 private:
  IbInserter::Work Work() const {
    return {IbOptions::RowsOfClient(step_.rows, tables_.clients(), step_.rows_per_commit),
            step_.rows_per_commit, step_.indexes ? options_.schema.indexes : 0, step_.deletes};
  }

  const Step step_;
  const IbOptions options_;
  std::vector<OpKind> ops_ = {DefineOp("insert", Ground::kForeground)};
  IbTables tables_;
};

}  // namespace

nlohmann::json IbDetails(const IbTables& tables, const IbInserter::Work& work) {
  uint64_t inserted = 0, deleted = 0;
  for (uint32_t c = 0; c < tables.clients(); ++c) {
    inserted += tables.client(c).inserter.inserted;
    deleted += tables.client(c).inserter.deleted;
  }
  return {{"clients", tables.clients()}, {"rows_per_commit", work.rows_per_commit},
          {"rows_inserted", inserted},   {"rows_deleted", deleted},
          {"table_rows", tables.rows()}, {"indexes", work.indexes}};
}

std::unique_ptr<Workload> MakeIbI0(std::shared_ptr<const Dataset> dataset,
                                   const WorkloadOptions& options) {
  const IbOptions o = IbOptions::Parse(*dataset, options);
  return std::make_unique<IbInsertStep>(
      IbInsertStep::Step{"ib.i0", IbTables::kNew, false, o.nr1, o.rows_per_commit_load, false}, o);
}

std::unique_ptr<Workload> MakeIbI1(std::shared_ptr<const Dataset> dataset,
                                   const WorkloadOptions& options) {
  const IbOptions o = IbOptions::Parse(*dataset, options);
  return std::make_unique<IbInsertStep>(
      IbInsertStep::Step{"ib.i1", IbTables::kIndexed, true, o.nr2 - o.nr2 / 5, o.rows_per_commit_i1,
                         o.deletes},
      o);
}

std::unique_ptr<Workload> MakeIbI2(std::shared_ptr<const Dataset> dataset,
                                   const WorkloadOptions& options) {
  const IbOptions o = IbOptions::Parse(*dataset, options);
  return std::make_unique<IbInsertStep>(
      IbInsertStep::Step{"ib.i2", IbTables::kIndexed, true, o.nr2 / 5, o.rows_per_commit_i2,
                         o.deletes},
      o);
}

std::unique_ptr<Workload> MakeConcurrentInserts(std::shared_ptr<const Dataset> dataset,
                                                const WorkloadOptions& options) {
  const IbOptions o = ConcurrentInsertOptions::Parse(*dataset, options);
  return std::make_unique<IbInsertStep>(
      IbInsertStep::Step{"concurrent-inserts", IbTables::kNewIndexed, true, o.nr1,
                         o.rows_per_commit_load, false},
      o);
}

}  // namespace testbed
