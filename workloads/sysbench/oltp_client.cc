#include "workloads/sysbench/oltp_client.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "workloads/rows/kept_rows.h"

namespace testbed::sysbench {
namespace {

class OltpClient : public Client {
 public:
  OltpClient(OltpPhase& phase, Session& session, int thread, int threads)
      : phase_(phase),
        session_(session),
        alone_(threads == 1),
        tables_(phase.tables),
        ids_(phase.settings,
             Mix64(phase.settings.seed + 0x6f6c7470) + static_cast<uint64_t>(thread)),
        of_phase_(Mix64(phase.number)),
        batch_(std::clamp<size_t>(
            kBatchBytes / (sizeof(Statement) * std::max<size_t>(1, phase.statements.size())), 1,
            kBatch)),
        statements_(batch_ * phase.statements.size()) {}

  size_t Generate(size_t max) override {
    if (NothingIsLeft()) return 0;
    max = std::min(max, batch_);
    const size_t each = phase_.statements.size();
    for (size_t i = 0; i < max * each; ++i) {
      if (!Draw(i % each, &statements_[i])) return i / each;
    }
    return max;
  }

  void Execute(size_t i) override {
    const size_t each = phase_.statements.size();
    Statement* const statements = statements_.data() + i * each;
    inserted_ = erased_ = 0;
    kept_.Begin(to_verify_);
    {
      const LockedRows locked(*this, statements, each);
      if (phase_.transaction) session_.Begin();
      for (size_t s = 0; s < each; ++s) Perform(&statements[s]);
      if (phase_.transaction) session_.Commit();
    }
    totals_.rows_inserted += inserted_;
    totals_.rows_erased += erased_;
    found_nothing_ = inserted_ + erased_ == 0 ? found_nothing_ + 1 : 0;
  }

  bool Kept() const override { return kept_.kept(); }

  // Checks what each select has found, and what each write has left.
  bool Verify(size_t i) override {
    const size_t each = phase_.statements.size();
    const std::span<const Statement> statements(statements_.data() + i * each, each);
    size_t at = 0;
    for (const Statement& s : statements) {
      if (StatementWrites(s.kind)) continue;
      if (!VerifySelect(s, at)) return false;
      at += s.rows;
    }
    if (at != kept_.size()) return false;
    for (size_t s = 0; s < each; ++s) {
      if (StatementWrites(statements[s].kind) && !VerifyWrite(statements.subspan(s))) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kBatch = 16;
  struct Statement {
    StatementKind kind = StatementKind::kPointSelect;
    uint32_t table = 0, id = 0, k = 0;
    uint32_t rows = 0;                // rows that a select found, or an update or insert put
    char c[kCBytes], pad[kPadBytes];  // the values that the statement writes, if it writes any
  };

  // Holds the locks of the rows that an operation writes. The destructor releases them, also when
  // the operation throws, because other clients wait for them.
  class LockedRows {
   public:
    LockedRows(OltpClient& client, const Statement* statements, size_t n) : client_(client) {
      client_.Lock(statements, n);
    }
    ~LockedRows() { client_.Unlock(); }
    LockedRows(const LockedRows&) = delete;
    LockedRows& operator=(const LockedRows&) = delete;

   private:
    OltpClient& client_;
  };

  // Returns whether the workload only deletes and all tables are empty. Reads the tables only after
  // many operations in a row have found nothing, and again after twice as many.
  bool NothingIsLeft() {
    if (!phase_.deletes_only() || found_nothing_ < look_at_) return phase_.empty.load();
    look_at_ = 2 * std::max(found_nothing_, look_at_);
    const IoScope scope(kLookUp);
    for (const Tables::Pair& pair : tables_.all) {
      if (session_.NewCursor(pair.rows)->First()) return false;
    }
    phase_.empty.store(true);
    return true;
  }

  // Draws a statement. Returns false when it inserts a row, and its table has no id for one.
  bool Draw(size_t number, Statement* s) {
    using enum StatementKind;
    s->kind = phase_.statements[number];
    // sysbench draws one table for all point selects of a transaction.
    const bool again = s->kind == kPointSelect && number > 0;
    s->table = again ? s[-1].table : ids_.Table();
    s->id = s->kind == kInsert ? 0 : ids_.Next();
    if (s->kind == kDeleteInsert || s->kind == kInsert) {
      s->k = ids_.Next();
      PutPad(ids_.random().Next(), s->pad);
    }
    if (s->kind == kInsert && !TakeNextId(s)) return false;
    if (s->kind == kNonIndexUpdate || s->kind == kDeleteInsert || s->kind == kInsert) {
      PutC(s->id, ids_.random().Next() ^ of_phase_, s->c);
    }
    return true;
  }

  bool TakeNextId(Statement* s) {
    const uint64_t id = phase_.next_ids[s->table]->fetch_add(1);
    if (id > UINT32_MAX) phase_.full.store(true);
    s->id = static_cast<uint32_t>(id);
    return id <= UINT32_MAX;
  }

  // Locks the rows that the statements write, in the order of the locks.
  void Lock(const Statement* statements, size_t n) NO_THREAD_SAFETY_ANALYSIS {  // a set of locks
    held_.clear();
    for (size_t s = 0; s < n; ++s) {
      if (!StatementWrites(statements[s].kind)) continue;
      held_.push_back((statements[s].id + statements[s].table * 31) % phase_.locks.size());
    }
    std::sort(held_.begin(), held_.end());
    held_.erase(std::unique(held_.begin(), held_.end()), held_.end());
    for (const size_t lock : held_) phase_.locks[lock].lock();
  }
  void Unlock() NO_THREAD_SAFETY_ANALYSIS {  // a set of locks
    for (const size_t lock : held_) phase_.locks[lock].unlock();
  }

  // Returns whether an id of the load may have no row at some time of this phase, because an
  // earlier phase has deleted it, or another client deletes it and inserts it again.
  bool MayMiss() const { return !phase_.whole || phase_.deletes(); }

  // Checks the rows that a select found, which are kept from number `at` on.
  bool VerifySelect(const Statement& s, size_t at) const {
    if (at + s.rows > kept_.size()) return false;
    const bool point = s.kind == StatementKind::kPointSelect;
    const uint32_t ids = point ? 1 : phase_.settings.range_size;
    uint32_t least = s.id;  // least id that the next row may have
    for (size_t i = at; i < at + s.rows; ++i) {
      if (kept_.key(i).size() != kIdBytes) return false;
      const uint32_t id = BigEndian(kept_.key(i));
      if (id < least || id >= s.id + ids || !CheckRow(id, kept_.value(i))) return false;
      // The scan left out an id of the load that had a row.
      if (id > least && least <= phase_.settings.table_size && !MayMiss()) return false;
      least = id + 1;
    }
    return MayMiss() || least > std::min(s.id + ids - 1, phase_.settings.table_size);
  }

  // Checks the row that the first of the statements, a write, has left. No client inserts a row
  // again that oltp-delete has deleted, and none changes a row that oltp-insert has inserted. Other
  // rows that another client or a later statement may have written since can be any of their id.
  bool VerifyWrite(std::span<const Statement> statements) {
    const Statement& s = statements.front();
    char key[kIdBytes];
    PutBigEndian(s.id, key);
    std::string_view row;
    const bool there = session_.Get(tables_.all[s.table].rows, {key, kIdBytes}, &row);
    if (s.kind == StatementKind::kDelete) return !there;
    const bool unchanged =
        s.kind == StatementKind::kInsert || (alone_ && WritesItsRowLast(statements));
    if (unchanged && s.rows != 0) return there && CheckRow(s.id, row) && IsAsWritten(s, row);
    return there ? CheckRow(s.id, row) : MayMiss();
  }

  // Returns whether none of the statements behind the first one writes the same row.
  static bool WritesItsRowLast(std::span<const Statement> statements) {
    const Statement& s = statements.front();
    return std::none_of(statements.begin() + 1, statements.end(), [&s](const Statement& later) {
      return StatementWrites(later.kind) && later.table == s.table && later.id == s.id;
    });
  }

  // Returns whether the row, which is one of the statement's id, has the values that the statement
  // gave it.
  static bool IsAsWritten(const Statement& s, std::string_view row) {
    using enum StatementKind;
    const bool inserts = s.kind == kDeleteInsert || s.kind == kInsert;
    if ((inserts || s.kind == kIndexUpdate) && BigEndian(row) != s.k) return false;
    if ((inserts || s.kind == kNonIndexUpdate) &&
        row.substr(kKBytes, kCBytes) != std::string_view(s.c, kCBytes)) {
      return false;
    }
    return !inserts || row.substr(kKBytes + kCBytes) == std::string_view(s.pad, kPadBytes);
  }

  void Perform(Statement* statement) {
    using enum StatementKind;
    const Statement& s = *statement;
    PutBigEndian(s.id, key_);
    switch (s.kind) {
      case kPointSelect:
      case kPointSelects:
        return PointSelect(statement);
      case kSimpleRange:
      case kSumRange:
      case kOrderRange:
      case kDistinctRange:
        return Range(statement);
      default:
        break;
    }
    // Without a transaction around all statements, each write is a transaction with its index
    // entry, and so are the delete and the insert of kDeleteInsert.
    const bool own = !phase_.transaction;
    if (own) session_.Begin();
    if (s.kind == kIndexUpdate) IndexUpdate(statement);
    if (s.kind == kNonIndexUpdate) NonIndexUpdate(statement);
    if (s.kind == kDeleteInsert || s.kind == kDelete) Delete(s);
    if (own && s.kind == kDeleteInsert) {
      session_.Commit();
      session_.Begin();
    }
    if (s.kind == kDeleteInsert || s.kind == kInsert) Insert(statement);
    if (own) session_.Commit();
  }

  // Copies the row of key_ to row_. Returns whether it is there.
  bool Fetch(const Statement& s) {
    std::string_view row;
    if (!session_.Get(tables_.all[s.table].rows, {key_, kIdBytes}, &row)) {
      ++totals_.not_found;
      return false;
    }
    ++totals_.rows_read;
    consume_(row);
    std::memcpy(row_, row.data(), std::min(row.size(), kRowBytes));
    return true;
  }

  void PointSelect(Statement* s) {
    std::string_view row;
    s->rows = session_.Get(tables_.all[s->table].rows, {key_, kIdBytes}, &row);
    if (s->rows != 0) {
      consume_(row);
      if (kept_.keeps()) kept_.Add({key_, kIdBytes}, row);
      ++totals_.rows_read;
    } else {
      ++totals_.not_found;
    }
  }

  void Range(Statement* statement) {
    using enum StatementKind;
    const Statement& s = *statement;
    const uint32_t most = phase_.settings.range_size;
    char end[kIdBytes];
    PutBigEndian(s.id + most, end);
    const std::unique_ptr<Cursor> cursor = session_.NewCursor(tables_.all[s.table].rows);
    cursor->Expect(most);
    statement->rows = 0;
    uint64_t sum = 0;
    sorted_.clear();
    for (bool on = cursor->Seek({key_, kIdBytes});
         on && cursor->key() < std::string_view(end, kIdBytes); on = cursor->Next()) {
      const std::string_view key = cursor->key(), row = cursor->value();
      consume_(key);
      consume_(row);
      if (kept_.keeps()) kept_.Add(key, row);
      if (s.kind == kSumRange) sum += BigEndian(row);
      if (s.kind == kOrderRange || s.kind == kDistinctRange) {
        sorted_.emplace_back(row.substr(kKBytes, kCBytes));
      }
      if (++statement->rows == most) break;  // the range has no more ids
    }
    totals_.rows_read += statement->rows;
    if (s.kind == kSumRange) sum_ = sum;
    std::sort(sorted_.begin(), sorted_.end());
    if (s.kind == kDistinctRange) {
      sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
    }
  }

  void PutRow(const Statement& s) {
    session_.Put(tables_.all[s.table].rows, {key_, kIdBytes}, {row_, kRowBytes});
    totals_.user_bytes_written += kIdBytes + kRowBytes;
    ++totals_.rows_written;
  }
  // Writes or erases the entry of the index for row_.
  void ChangeEntry(const Statement& s, bool erase) {
    totals_.user_bytes_written += kKBytes + kIdBytes;
    if (tables_.engine_keeps_indexes) return;
    char entry[kKBytes + kIdBytes];
    std::memcpy(entry, row_, kKBytes);
    std::memcpy(entry + kKBytes, key_, kIdBytes);
    const std::string_view key(entry, sizeof entry);
    if (erase) {
      session_.Erase(tables_.all[s.table].index, key);
    } else {
      session_.Put(tables_.all[s.table].index, key, {});
    }
  }

  void IndexUpdate(Statement* s) {
    s->rows = Fetch(*s);
    if (s->rows == 0) return;
    ChangeEntry(*s, true);
    s->k = BigEndian({row_, kKBytes}) + 1;
    PutBigEndian(s->k, row_);
    ChangeEntry(*s, false);
    PutRow(*s);
  }
  void NonIndexUpdate(Statement* s) {
    s->rows = Fetch(*s);
    if (s->rows == 0) return;
    std::memcpy(row_ + kKBytes, s->c, kCBytes);
    PutRow(*s);
  }
  void Delete(const Statement& s) {
    if (!Fetch(s)) return;
    ChangeEntry(s, true);
    session_.Erase(tables_.all[s.table].rows, {key_, kIdBytes});
    ++totals_.rows_written;
    totals_.user_bytes_written += kIdBytes;
    ++erased_;
  }
  void Insert(Statement* s) {
    PutBigEndian(s->k, row_);
    std::memcpy(row_ + kKBytes, s->c, kCBytes);
    std::memcpy(row_ + kKBytes + kCBytes, s->pad, kPadBytes);
    PutRow(*s);
    ChangeEntry(*s, false);
    s->rows = 1;
    ++inserted_;
  }

  OltpPhase& phase_;
  Session& session_;
  const bool alone_;  // no other client writes in the phase
  const Tables& tables_;
  Ids ids_;
  // A later phase with the same seed draws the same ids, and must write other values to them.
  const uint64_t of_phase_;
  const size_t batch_;  // operations that are prepared at once
  std::vector<Statement> statements_;
  std::vector<size_t> held_;  // locks
  std::vector<std::string> sorted_;
  char key_[kIdBytes], row_[kRowBytes];
  KeptRows kept_;     // rows that the selects found
  uint64_t sum_ = 0;  // the answer of the last sum
  uint64_t inserted_ = 0, erased_ = 0;
  uint64_t found_nothing_ = 0;  // number of last operations that neither inserted nor erased
  uint64_t look_at_ = 4 * kBatch;
  const OpKind kLookUp = DefineOp("look-up", Ground::kBackground);
};

}  // namespace

void OltpPhase::FindNextIds(Engine& engine) {
  next_ids.clear();
  const std::unique_ptr<Session> session = engine.NewSession();
  for (const Tables::Pair& pair : tables.all) {
    const std::unique_ptr<Cursor> cursor = session->NewCursor(pair.rows);
    const uint64_t last = cursor->Last() ? BigEndian(cursor->key()) : 0;
    next_ids.push_back(std::make_unique<std::atomic<uint64_t>>(last + 1));
  }
}

void OltpPhase::FindWhole(Engine& engine) {
  const std::unique_ptr<Session> session = engine.NewSession();
  const bool leaves_gaps = std::any_of(statements.begin(), statements.end(), [this](auto kind) {
    return kind == StatementKind::kDelete || (StatementDeletes(kind) && !transaction);
  });
  if (leaves_gaps) tables.RecordWhole(*session, false);
  whole = tables.Whole(*session);
}

std::unique_ptr<Client> NewOltpClient(OltpPhase& phase, Session& session, int thread, int threads) {
  return std::make_unique<OltpClient>(phase, session, thread, threads);
}

}  // namespace testbed::sysbench
