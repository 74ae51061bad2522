#include "workloads/trace/trace_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "device/error.h"
#include "device/os/mutex.h"

namespace testbed {
namespace {

constexpr uint32_t kNoCursor = UINT32_MAX;

class RecordingCursor : public Cursor {
 public:
  RecordingCursor(std::unique_ptr<Cursor> cursor, TableId table, TraceClient& trace)
      : cursor_(std::move(cursor)), table_(table), trace_(trace) {}
  ~RecordingCursor() override {
    if (number_ != kNoCursor) trace_.EndCursor(number_);
  }
  void Expect(uint64_t rows) override { cursor_->Expect(rows); }
  bool Seek(std::string_view key) override {
    Note(TraceCallKind::kSeek, key);
    return cursor_->Seek(key);
  }
  bool SeekForPrev(std::string_view key) override {
    Note(TraceCallKind::kSeekForPrev, key);
    return cursor_->SeekForPrev(key);
  }
  bool First() override {
    Note(TraceCallKind::kFirst, {});
    return cursor_->First();
  }
  bool Last() override {
    Note(TraceCallKind::kLast, {});
    return cursor_->Last();
  }
  bool Next() override {
    if (Recorded()) trace_.Step(number_, true);
    return cursor_->Next();
  }
  bool Prev() override {
    if (Recorded()) trace_.Step(number_, false);
    return cursor_->Prev();
  }
  std::string_view key() const override { return cursor_->key(); }
  std::string_view value() const override {
    if (trace_.recording() && number_ != kNoCursor) trace_.AskValue(number_);
    return cursor_->value();
  }

 private:
  // Returns whether calls are recorded now. A cursor is added to the trace at its first recorded
  // call.
  bool Recorded() {
    if (!trace_.recording()) return false;
    if (number_ == kNoCursor) number_ = trace_.OpenCursor(table_);
    return true;
  }
  void Note(TraceCallKind kind, std::string_view key) {
    if (Recorded()) trace_.Seek(kind, number_, key);
  }

  const std::unique_ptr<Cursor> cursor_;
  const TableId table_;
  TraceClient& trace_;
  uint32_t number_ = kNoCursor;
};

class RecordingSession : public Session {
 public:
  RecordingSession(std::unique_ptr<Session> session, TraceClient& trace)
      : session_(std::move(session)), trace_(trace) {}
  void Begin() override {
    Note(TraceCallKind::kBegin);
    session_->Begin();
  }
  void Commit() override {
    Note(TraceCallKind::kCommit);
    session_->Commit();
  }
  void Rollback() override {
    Note(TraceCallKind::kRollback);
    session_->Rollback();
  }
  bool HeldByOtherThread() const override { return session_->HeldByOtherThread(); }
  bool Get(TableId table, std::string_view key, std::string_view* value) override {
    const bool found = session_->Get(table, key, value);
    if (trace_.recording()) trace_.Get(table, key, found, found ? value->size() : 0);
    return found;
  }
  void MultiGet(TableId table, std::span<const std::string_view> keys,
                std::vector<FoundRow>* rows) override {
    session_->MultiGet(table, keys, rows);
    if (trace_.recording()) trace_.MultiGet(table, keys, *rows);
  }
  void TakeEach(TableId table, std::span<const std::string_view> keys,
                const TakeRow& take) override {
    if (!trace_.recording()) return session_->TakeEach(table, keys, take);
    // The trace has only the sizes of the values, so the values need not stay valid until they are
    // recorded.
    rows_.resize(keys.size());
    session_->TakeEach(table, keys, [this, &take](size_t i, const FoundRow& row) {
      rows_[i] = row;
      take(i, row);
    });
    trace_.MultiGet(table, keys, rows_);
  }
  void Put(TableId table, std::string_view key, std::string_view value) override {
    if (trace_.recording()) trace_.Put(table, key, value.size());
    session_->Put(table, key, value);
  }
  void Erase(TableId table, std::string_view key) override {
    if (trace_.recording()) trace_.Erase(table, key);
    session_->Erase(table, key);
  }
  std::unique_ptr<Cursor> NewCursor(TableId table) override {
    return std::make_unique<RecordingCursor>(session_->NewCursor(table), table, trace_);
  }
  bool BlockCounts(uint64_t* requests, uint64_t* misses) override {
    return session_->BlockCounts(requests, misses);
  }

 private:
  void Note(TraceCallKind kind) {
    if (trace_.recording()) trace_.Call(kind);
  }

  const std::unique_ptr<Session> session_;
  TraceClient& trace_;
  std::vector<FoundRow> rows_;  // rows of the last TakeEach
};

}  // namespace

class TraceRecorder::NotingEngine : public Engine {
 public:
  explicit NotingEngine(Engine& engine) : engine_(engine) {}
  std::vector<TraceTable> tables() const {
    const LockGuard lock(mutex_);
    return tables_;
  }
  std::string name() const override { return engine_.name(); }
  TableId OpenTable(const std::string& table) override {
    const TableId id = engine_.OpenTable(table);
    Note({id, table, {}, {}});
    return id;
  }
  std::unique_ptr<Session> NewSession() override { return engine_.NewSession(); }
  std::unique_ptr<Session> NewClientSession(int client) override {
    return engine_.NewClientSession(client);
  }
  std::vector<ServerAddress> ServerAddresses() const override { return engine_.ServerAddresses(); }
  // An operation without an answer has no place in a trace, so the phase ends with it.
  bool OutlivesLostAddress() const override { return false; }
  std::vector<std::optional<EngineCounters>> CountersByAddress() const override {
    return engine_.CountersByAddress();
  }
  bool KeepsIndexes() const override { return engine_.KeepsIndexes(); }
  TableId OpenIndex(const std::string& index, TableId table,
                    const std::vector<IndexPart>& parts) override {
    const TableId id = engine_.OpenIndex(index, table, parts);
    std::string of;
    for (const TraceTable& known : tables()) {
      if (known.id == table) of = known.name;
    }
    Note({id, index, of, parts});
    return id;
  }
  void Flush() override { engine_.Flush(); }
  void Checkpoint() override { engine_.Checkpoint(); }
  void Settle() override { engine_.Settle(); }
  bool ResizeCache(uint64_t bytes) override { return engine_.ResizeCache(bytes); }
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override {
    return engine_.EffectiveSettings();
  }
  EngineCounters Counters() const override { return engine_.Counters(); }
  DiskSize SizeOnDisk() const override { return engine_.SizeOnDisk(); }

 private:
  void Note(TraceTable table) {
    const LockGuard lock(mutex_);
    const auto known = std::find_if(tables_.begin(), tables_.end(),
                                    [&](const TraceTable& t) { return t.id == table.id; });
    if (known != tables_.end()) return;
    if (tables_.size() == kMostTraceTables) {
      throw Error(Error::kUsage,
                  fmt::format("--record cannot write the operations of a phase with more than {} "
                              "tables; leave it out, or give fewer --threads",
                              kMostTraceTables));
    }
    tables_.push_back(std::move(table));
  }

  Engine& engine_;
  mutable Mutex mutex_;
  std::vector<TraceTable> tables_ GUARDED_BY(mutex_);
};

TraceRecorder::TraceRecorder(const std::string& path, Engine& engine, std::string workload,
                             const std::vector<OpKind>& kinds)
    : writer_(path), engine_(std::make_unique<NotingEngine>(engine)) {
  facts_.workload = std::move(workload);
  facts_.engine = engine.name();
  for (const OpKind kind : kinds) facts_.kinds.push_back(OpName(kind));
}

TraceRecorder::~TraceRecorder() = default;

Engine& TraceRecorder::engine() { return *engine_; }

void TraceRecorder::MakeClients(int clients) {
  const size_t block = TraceBlockBytes(static_cast<uint32_t>(clients));
  clients_.clear();
  for (int i = 0; i < clients; ++i) {
    clients_.push_back(std::make_unique<TraceClient>(writer_, static_cast<uint32_t>(i), block));
  }
}

std::unique_ptr<Session> TraceRecorder::Wrap(std::unique_ptr<Session> session, int i) {
  return std::make_unique<RecordingSession>(std::move(session), client(i));
}

void TraceRecorder::Finish() {
  if (gave_up_) return;
  facts_.clients = static_cast<uint32_t>(clients_.size());
  facts_.tables = engine_->tables();
  for (const auto& client : clients_) {
    client->Finish();
    facts_.operations += client->operations();
    facts_.last_ns = std::max(facts_.last_ns, client->last_ns());
    for (size_t k = 0; k < kTraceCalls; ++k) facts_.calls[k] += client->calls()[k];
  }
  if (facts_.operations != 0) writer_.Finish(facts_);
}

}  // namespace testbed
