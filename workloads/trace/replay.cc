#include "workloads/trace/replay.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "engines/extra_options.h"
#include "workloads/measure/arrivals/rate_curve.h"
#include "workloads/population.h"
#include "workloads/rows/kept_rows.h"
#include "workloads/trace/known_trace.h"
#include "workloads/trace/row_presence.h"
#include "workloads/trace/trace_file.h"
#include "workloads/trace/value_maker.h"
#include "workloads/trace/walk_lengths.h"
#include "workloads/writing_phases.h"

namespace testbed {
namespace {

// Answers count how the answers of all clients compare with those of the recording.
struct Answers {
  std::atomic<uint64_t> same{0}, other{0}, unknown{0};
  std::atomic<uint64_t> steps{0};     // steps of cursors in the trace
  std::atomic<uint64_t> left_out{0};  // of these, the ones behind the end of a walk
};

// A ReplayPhase is the state that all clients of a phase share.
struct ReplayPhase {
  const TraceFile& file;
  const Dataset& dataset;
  const ReplayOptions& options;
  std::vector<TableId> tables;  // tables of the engine, by their numbers in the trace
  bool rows_of_dataset = false;
  bool rows_of_replay_load = false;  // a ValueMaker made all values of all tables
  static constexpr TableId kNoTable = UINT32_MAX;
  TableId main_table = kNoTable;  // id in the engine; kNoTable when the trace lacks it
  Answers answers;
  std::unique_ptr<RowPresence> presence;  // null when it is not known which rows exist
};

class ReplayClient : public Client {
 public:
  ReplayClient(ReplayPhase& phase, Session& session, uint32_t thread, uint32_t threads,
               uint64_t version)
      : phase_(phase),
        session_(session),
        thread_(thread),
        threads_(threads),
        stream_(phase.file, Clients()),
        values_(phase.dataset, version) {}
  ~ReplayClient() override {
    phase_.answers.same += same_;
    phase_.answers.other += other_;
    phase_.answers.unknown += unknown_;
    phase_.answers.steps += walked_;
    phase_.answers.left_out += left_out_;
  }

  size_t Generate(size_t max) override {
    max = std::min(max, kBatch);
    size_t n = 0, bytes = 0;
    while (n < max && bytes < kBatchBytes && stream_.Next(&steps_[n].operation)) {
      if (phase_.options.by_key && !Mine(steps_[n].operation)) {
        // Other threads may have all further operations.
        if (StopRequested() || IsOver()) break;
        continue;
      }
      steps_[n].values = bytes;
      bytes += PutBytes(steps_[n].operation);
      ++n;
    }
    MakeValues(n, bytes);
    for (size_t i = 0; i < n; ++i) {
      FindRows(&steps_[i]);
      lengths_.Find(steps_[i].operation, &steps_[i].walks);
    }
    return n;
  }

  size_t OpOf(size_t i) const override { return steps_[i].operation.kind; }
  uint64_t DueNs(size_t i) const override {
    // A trace may last for years, and longer at a speed below 1.
    const double due = static_cast<double>(steps_[i].operation.start_ns) / phase_.options.speed;
    return static_cast<uint64_t>(std::min(due, RateCurve::kNeverNs));
  }

  void Execute(size_t i) override {
    const Step& step = steps_[i];
    kept_.Begin(to_verify_);
    if (step.rows.empty()) return Perform(step);
    // A transaction that an earlier operation began may hold locks of the engine already, so taking
    // a Hold could deadlock.
    if (phase_.presence == nullptr || in_transaction_) {
      totals_.rows_unknown = true;
      return Perform(step);
    }
    const RowPresence::Hold hold(*phase_.presence, step.rows);
    Perform(step);
  }

  bool Kept() const override { return kept_.kept(); }

  // Returns whether each row that the operation found has its own value. Checks rows of a data set
  // or of replay-load: the rows of gets and multi-gets, and the rows whose values a cursor gave.
  // Does not check whether a row exists, because that depends on the other clients.
  bool Verify(size_t) override {
    if (!phase_.rows_of_dataset && !phase_.rows_of_replay_load) return true;
    bool right = !checked_.found || IsOwn(checked_.key, checked_.value);
    for (size_t k = 0; k < kept_.size() && right; ++k) right = IsOwn(kept_.key(k), kept_.value(k));
    return right;
  }

 private:
  static constexpr size_t kBatch = 64;
  static constexpr uint64_t kNoRow = UINT64_MAX;
  struct Step {
    TraceOperation operation;
    size_t values = 0;            // offset of the values of its puts in the buffer
    std::vector<uint64_t> rows;   // rows of its puts and erases in the main table, in order
    std::vector<uint64_t> walks;  // rows that each walk asks for, in order; 0 = not known
  };
  struct Change {
    uint64_t row;
    bool insert;
  };

  // Returns whether the value is one of the key's row, as far as its bytes tell the row.
  bool IsOwn(std::string_view key, std::string_view value) const {
    if (phase_.rows_of_replay_load) return values_.MayHaveMade(key, value);
    const Dataset& dataset = phase_.dataset;
    const std::optional<uint64_t> row = dataset.RowOf(key);
    return !row || !dataset.TellsRow(*row, value.size()) || dataset.Check(*row, value);
  }

  // Returns whether the values of the table's rows tell their keys.
  bool Checks(TableId table) const {
    return phase_.rows_of_replay_load || table == phase_.main_table;
  }

  void Perform(const Step& step) {
    const TraceOperation& operation = step.operation;
    const char* value = buffer_.data() + step.values;
    const uint64_t* row = step.rows.data();
    const uint64_t* walk = step.walks.data();
    checked_ = {};
    for (const TraceCall& call : operation.calls) {
      KeepChecked();
      if (call.kind >= TraceCallKind::kOpenCursor) {
        OnCursor(operation.client, call, TraceCallBeginsWalk(call.kind) ? *walk++ : 0);
      } else {
        OnSession(operation, call, &value);
        if (ChangesRows(call)) NoteChange(*row++, call.kind == TraceCallKind::kPut);
      }
    }
  }

  // Keeps the row of the get before the next call, which may change the memory of its value.
  void KeepChecked() {
    if (checked_.found && kept_.keeps()) kept_.AddFew(checked_.key, checked_.value);
    checked_ = {};
  }

  // Returns whether the call writes a row, and not the entry of an index. In a database that is no
  // data set the two cannot be told apart, and every write counts.
  bool ChangesRows(const TraceCall& call) const {
    return TraceCallWrites(call.kind) &&
           (!phase_.rows_of_dataset || phase_.tables[call.table] == phase_.main_table);
  }

  // Finds out which rows the step writes.
  void FindRows(Step* step) const {
    step->rows.clear();
    for (const TraceCall& call : step->operation.calls) {
      if (!ChangesRows(call)) continue;
      step->rows.push_back(phase_.dataset.RowOf(call.key).value_or(kNoRow));
    }
  }

  // Counts a put or an erase: at once or, in a transaction, at its commit.
  void NoteChange(uint64_t row, bool insert) {
    if (row == kNoRow || phase_.presence == nullptr) {
      totals_.rows_unknown = true;
      return;
    }
    changes_.push_back({row, insert});
    if (!in_transaction_) CountChanges();
  }
  void CountChanges() {
    for (const Change& change : changes_) {
      if (change.insert) {
        totals_.rows_inserted += phase_.presence->Insert(change.row);
      } else {
        totals_.rows_erased += phase_.presence->Erase(change.row);
      }
    }
    changes_.clear();
  }

  std::vector<uint32_t> Clients() const {
    std::vector<uint32_t> mine;
    for (const uint32_t client : AllClients(phase_.file)) {
      if (phase_.options.by_key || client % threads_ == thread_) mine.push_back(client);
    }
    return mine;
  }
  bool Mine(const TraceOperation& operation) const {
    if (!operation.StandsAlone()) {
      phase_.file.Refuse(
          "has a transaction or a cursor that goes on from one operation to the next, and "
          "order=key would divide these operations among threads; leave it out");
    }
    const uint64_t hash = Mix64(std::hash<std::string_view>()(operation.FirstKey()));
    return hash % threads_ == thread_;
  }

  // Returns the bytes of the values that the operation puts.
  static size_t PutBytes(const TraceOperation& operation) {
    size_t bytes = 0;
    for (const TraceCall& call : operation.calls) {
      if (call.kind == TraceCallKind::kPut) bytes += call.number;
    }
    return bytes;
  }

  // Makes the values of the first `n` steps, which have that many bytes together.
  void MakeValues(size_t n, size_t bytes) {
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    for (size_t i = 0; i < n; ++i) {
      size_t at = steps_[i].values;
      for (const TraceCall& call : steps_[i].operation.calls) {
        if (call.kind != TraceCallKind::kPut) continue;
        values_.Make(call.key, call.number, buffer_.data() + at);
        at += call.number;
      }
    }
  }

  void OnSession(const TraceOperation& operation, const TraceCall& call, const char** value) {
    const TableId table = phase_.tables[call.table];
    switch (call.kind) {
      case TraceCallKind::kBegin:
        in_transaction_ = true;
        return session_.Begin();
      case TraceCallKind::kCommit:
        session_.Commit();
        in_transaction_ = false;
        return CountChanges();
      case TraceCallKind::kRollback:
        session_.Rollback();
        in_transaction_ = false;
        return changes_.clear();
      case TraceCallKind::kGet:
        return Get(table, call);
      case TraceCallKind::kPut:
        session_.Put(table, call.key, {*value, call.number});
        *value += call.number;
        totals_.user_bytes_written += call.key.size() + call.number;
        ++totals_.rows_written;
        return;
      case TraceCallKind::kErase:
        session_.Erase(table, call.key);
        totals_.user_bytes_written += call.key.size();
        ++totals_.rows_written;
        return;
      default:
        MultiGet(table, operation, call);
    }
  }

  void Get(TableId table, const TraceCall& call) {
    std::string_view value;
    const bool found = session_.Get(table, call.key, &value);
    if (found) consume_(value);
    if (found && Checks(table)) checked_ = {true, call.key, value};
    Count(found, value.size(), call.answer);
  }

  void MultiGet(TableId table, const TraceOperation& operation, const TraceCall& call) {
    asked_ = {operation.keys.data() + call.first, operation.answers.data() + call.first,
              kept_.keeps() && Checks(table)};
    session_.TakeEach(table, {asked_.keys, call.number}, [this](size_t i, const FoundRow& row) {
      if (row.found) consume_(row.value);
      if (row.found && asked_.keeps) kept_.AddFew(asked_.keys[i], row.value);
      Count(row.found, row.value.size(), asked_.answers[i]);
    });
  }

  void Count(bool found, size_t size, const TraceAnswer& answer) {
    totals_.rows_read += found;
    totals_.not_found += !found;
    if (answer.state == TraceAnswer::kUnknown) {
      ++unknown_;
    } else if (found == (answer.state == TraceAnswer::kFound) && (!found || size == answer.size)) {
      ++same_;
    } else {
      ++other_;
    }
  }

  // Performs a client's call on a cursor. `rows` is the number of rows of the walk that the call
  // begins; 0 when it is not known.
  void OnCursor(uint32_t client, const TraceCall& call, uint64_t rows) {
    if (cursors_.size() <= client) cursors_.resize(client + 1);
    std::vector<Place>& places = cursors_[client];
    if (places.size() <= call.cursor) places.resize(call.cursor + 1);
    Place& place = places[call.cursor];
    if (call.kind == TraceCallKind::kOpenCursor) {
      const TableId table = phase_.tables[call.table];
      place = {session_.NewCursor(table), false, Checks(table)};
      return;
    }
    if (call.kind == TraceCallKind::kCloseCursor) {
      place = {};
      return;
    }
    if (place.cursor == nullptr) {
      phase_.file.Refuse("is damaged: a call names a cursor that is not open");
    }
    if (rows != 0) place.cursor->Expect(rows);
    Move(call, &place);
  }

  struct Place {
    std::unique_ptr<Cursor> cursor;
    bool on_row = false;
    bool checks = false;  // the cursor walks over a table of which Checks is true
  };

  void Move(const TraceCall& call, Place* place) {
    Cursor& cursor = *place->cursor;
    using enum TraceCallKind;
    switch (call.kind) {
      case kSeek:
        return Arrive(cursor.Seek(call.key), false, place);
      case kSeekForPrev:
        return Arrive(cursor.SeekForPrev(call.key), false, place);
      case kFirst:
        return Arrive(cursor.First(), false, place);
      case kLast:
        return Arrive(cursor.Last(), false, place);
      case kValue:
        if (place->on_row) TakeValue(*place);
        return;
      default:
        break;
    }
    const bool forward = call.kind == kNext || call.kind == kNextValues;
    const bool values = call.kind == kNextValues || call.kind == kPrevValues;
    // When the cursor is on no row, the walk ended sooner than in the recording. Engines need not
    // support a step from there, so the rest is left out.
    uint64_t made = 0;
    for (; made < call.number && place->on_row; ++made) {
      Arrive(forward ? cursor.Next() : cursor.Prev(), values, place);
    }
    walked_ += call.number;
    left_out_ += call.number - made;
  }

  void Arrive(bool on_row, bool value, Place* place) {
    place->on_row = on_row;
    if (!on_row) return;
    consume_(place->cursor->key());
    if (value) TakeValue(*place);
  }
  // Counts the row as read, since its value was asked for.
  void TakeValue(const Place& place) {
    ++totals_.rows_read;
    const std::string_view value = place.cursor->value();
    consume_(value);
    if (place.checks && kept_.keeps()) kept_.AddFew(place.cursor->key(), value);
  }

  struct Checked {
    bool found = false;
    std::string_view key, value;
  };
  // Asked is the multi-get under way. A lambda that captures only `this` reads it, because a
  // std::function then allocates nothing.
  struct Asked {
    const std::string_view* keys = nullptr;
    const TraceAnswer* answers = nullptr;
    bool keeps = false;  // the rows that it finds are kept
  };

  ReplayPhase& phase_;
  Session& session_;
  const uint32_t thread_, threads_;
  TraceStream stream_;
  ValueMaker values_;
  std::vector<char> buffer_;
  Step steps_[kBatch];
  // cursors_[client][cursor] is the place of a cursor. The trace gives both numbers; each client
  // numbers its own cursors. A thread may perform several clients.
  std::vector<std::vector<Place>> cursors_;
  WalkLengths lengths_;
  Checked checked_;  // the row of the last get, if no call came after it
  Asked asked_;
  KeptRows kept_;  // rows that multi-gets, cursors and the gets before the last call found
  bool in_transaction_ = false;
  std::vector<Change> changes_;                                 // changes of the open transaction
  uint64_t same_ = 0, other_ = 0, unknown_ = 0, left_out_ = 0;  // as in Answers
  uint64_t walked_ = 0;                                         // as Answers::steps
};

class Replay : public Workload {
 public:
  Replay(std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : dataset_(std::move(dataset)),
        options_(ReplayOptions::From("replay", options.extra)),
        file_(options_.trace),
        population_(options.population),
        writing_phases_(options.writing_phases),
        seed_(options.seed),
        phase_{.file = file_,
               .dataset = *dataset_,
               .options = options_,
               .tables = {},
               .rows_of_dataset = population_ != nullptr,
               .rows_of_replay_load = options.loader == "replay-load",
               .main_table = ReplayPhase::kNoTable,
               .answers = {},
               .presence = nullptr} {
    CheckKnownTrace(file_);
    for (const std::string& kind : file_.facts().kinds) {
      ops_.push_back(DefineOp(kind, Ground::kForeground));
      // DefineOp returns a kind that exists, to which its own work is charged, too.
      if (OpGround(ops_.back()) != Ground::kForeground) {
        file_.Refuse("has operations of the kind " + kind +
                     ", which is the name of work in the background: the IO of both would be "
                     "charged together; write the trace with another name for them");
      }
    }
    if (file_.facts().operations == 0)
      file_.Refuse("holds no operations; there is nothing to replay");
  }
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  uint64_t operations() const override { return file_.facts().operations; }
  bool uneven() const override { return true; }
  bool writes() const override { return file_.facts().writes(); }
  bool changes_row_sizes() const override { return writes(); }
  bool timed() const override { return options_.speed > 0; }
  double planned_seconds() const override {
    return timed() ? static_cast<double>(file_.facts().last_ns) / 1e9 / options_.speed : 0;
  }

  void OpenTables(Engine& engine) override {
    for (const TraceTable& table : file_.facts().tables) {
      if (phase_.tables.size() <= table.id) phase_.tables.resize(table.id + 1);
      phase_.tables[table.id] =
          table.index_of.empty() ? engine.OpenTable(table.name) : OpenIndex(engine, table);
      if (table.name == kMainTable) phase_.main_table = phase_.tables[table.id];
    }
    if (phase_.tables.empty()) phase_.tables.resize(1);
    if (!writes()) return;
    phase_number_ = BeginWritingPhase(writing_phases_);
    if (population_ == nullptr) return;
    if (population_->known()) {
      const auto erase = static_cast<size_t>(TraceCallKind::kErase);
      phase_.presence =
          std::make_unique<RowPresence>(*population_, file_.facts().calls[erase] != 0);
    }
    // After a replay, only a count can tell which places of the population are taken.
    population_->Forget();
  }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) override {
    const uint64_t version =
        Mix64(seed_ ^ Mix64(static_cast<uint64_t>(thread) ^ Mix64(phase_number_)));
    return std::make_unique<ReplayClient>(phase_, session, static_cast<uint32_t>(thread),
                                          static_cast<uint32_t>(threads), version);
  }
  nlohmann::json Details() const override {
    const TraceFacts& facts = file_.facts();
    return {{"trace",
             {{"workload", facts.workload},
              {"engine", facts.engine},
              {"clients", facts.clients},
              {"operations", facts.operations},
              {"seconds", static_cast<double>(facts.last_ns) / 1e9}}},
            {"order", options_.by_key ? "key" : "client"},
            {"speed", options_.speed > 0 ? nlohmann::json(options_.speed) : "max"},
            {"answers_as_recorded", phase_.answers.same.load()},
            {"answers_other", phase_.answers.other.load()},
            {"answers_unknown", phase_.answers.unknown.load()},
            {"cursor_steps", phase_.answers.steps.load()},
            {"cursor_steps_left_out", phase_.answers.left_out.load()}};
  }

 private:
  TableId OpenIndex(Engine& engine, const TraceTable& table) {
    if (!engine.KeepsIndexes()) {
      file_.Refuse("was recorded on an engine that maintains the index " + table.name +
                   " itself, which " + engine.name() + " does not");
    }
    return engine.OpenIndex(table.name, engine.OpenTable(table.index_of), table.parts);
  }

  const std::string name_ = "replay";
  std::vector<OpKind> ops_;
  const std::shared_ptr<const Dataset> dataset_;
  const ReplayOptions options_;
  const TraceFile file_;
  const std::shared_ptr<Population> population_;
  const std::shared_ptr<WritingPhases> writing_phases_;
  const uint64_t seed_;
  uint64_t phase_number_ = 0;
  ReplayPhase phase_;
};

std::unique_ptr<Workload> MakeReplay(std::shared_ptr<const Dataset> dataset,
                                     const WorkloadOptions& options) {
  return std::make_unique<Replay>(std::move(dataset), options);
}

}  // namespace

ReplayOptions ReplayOptions::From(const std::string& workload,
                                  const std::map<std::string, std::string>& extra) {
  ReplayOptions options;
  const auto trace = extra.find("trace");
  if (trace == extra.end() || trace->second.empty()) {
    throw Error(Error::kUsage,
                "--workload " + workload + " needs a trace; give --workload " + workload + ":FILE");
  }
  options.trace = trace->second;
  const ExtraOptions given(workload, extra, "--workload-option");
  if (extra.contains("speed") && extra.at("speed") != "max") {
    options.speed = given.Number("speed", 0, 0.001, 1000);
  }
  options.by_key = given.Choice("order", "client", {"client", "key"}) == "key";
  return options;
}

WorkloadInfo ReplayInfo() {
  return {.name = "replay",
          .summary = "performs the operations of a trace: replay:FILE; testbed trace info FILE",
          .loads = false,
          .make = MakeReplay,
          .loader = "",
          .run_options = {
              {"trace", "file of the trace; replay:FILE sets it"},
              {"speed", "max, or a multiple of the recording's pace; --speed sets it (max)"},
              {"order",
               "client, key: operations of one client, or of one first key, keep their order "
               "(client)"}}};
}

}  // namespace testbed
