#include "engines/sql/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "device/account/thread_kinds.h"
#include "device/error.h"
#include "engines/failed_before.h"

namespace testbed {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A RequestMark marks a request to the server, whose thread then reads pages of data files and
// writes the log.
class RequestMark {
 public:
  // `served` is null while the session has no connection.
  explicit RequestMark(ServedThread* served) {
    if (served != nullptr) served->Follow();
  }

 private:
  const MixedCallMark mark_{FileKind::kData, FileKind::kLog};
};

}  // namespace

SqlSession::SqlSession(SqlStore* store, std::string farewell, size_t address)
    : store_(store), farewell_(std::move(farewell)), address_(address) {
  Connect();
  store_->Join(this);
}

void SqlSession::Connect() {
  served_.reset();
  connection_.reset();
  connection_ = store_->ConnectFrom(&address_);
  served_ = std::make_unique<ServedThread>(connection_->server_thread());
}

void SqlSession::GoOn(const LostConnection& lost) {
  if (!store_->MarkLost(address_, lost.what())) throw;
  const auto turn = store_->Turn();
  in_transaction_ = begun_ = failed_ = false;
  writes_.clear();
  ++changes_;
  lent_ = {};
  // Prepared statements and tables that are open for reads belong to a connection.
  tables_.clear();
  begin_.reset();
  commit_.reset();
  Connect();
  throw LostAnswer(lost);
}

SqlSession::~SqlSession() {
  store_->Leave(this);
  if (farewell_.empty() || connection_ == nullptr) return;
  try {
    if (in_transaction_ && begun_) Rollback();
    connection_->Run(farewell_);
  } catch (const std::exception&) {
    // The connection is lost, and so is the state that the farewell statement would have flushed,
    // or there is no memory for the statement.
  }
}

SqlSession::Table& SqlSession::LearnTable(TableId table) {
  SqlTable about = store_->Table(table);
  if (table >= tables_.size()) tables_.resize(table + 1);
  tables_[table].about = std::move(about);
  return tables_[table];
}

SqlStatement SqlSession::Prepared(std::optional<SqlStatement>* statement, const std::string& sql,
                                  size_t parameters, size_t columns) {
  if (!*statement) *statement = connection_->Prepare(sql, parameters, columns);
  return **statement;
}

SqlStatement SqlSession::GetStatement(Table* table) {
  if (table->get) return *table->get;
  AwaitWrites();  // preparing a statement is a round trip of its own
  OpenForReads(table);
  const SqlDialect& dialect = store_->dialect();
  return Prepared(&table->get, dialect.Get(table->about), table->about.column.empty() ? 1 : 2,
                  dialect.ValueColumn(table->about) + 1);
}

SqlStatement SqlSession::WalkStatement(Table* table, Walk walk, size_t parameters) {
  std::optional<SqlStatement>* const statement = &table->walks[static_cast<size_t>(walk)];
  if (*statement) return **statement;
  OpenForReads(table);
  return Prepared(statement, store_->dialect().Scan(table->about, walk), parameters, 2);
}

void SqlSession::OpenForReads(Table* table) {
  const std::string open = store_->dialect().OpenForReads(table->about);
  if (open.empty() || table->is_open) return;
  connection_->Run(open);
  table->is_open = true;
}

void SqlSession::LetGo(TableId id) {
  if (id >= tables_.size() || !tables_[id].is_open) return;
  Table& table = tables_[id];
  // Statements that were prepared for the open table are not used any more.
  table.get.reset();
  table.walks.fill({});
  connection_->Run(store_->dialect().CloseForReads(table.about));
  table.is_open = false;
}

void SqlSession::Begin() {
  if (in_transaction_)
    throw Error(Error::kUsage, store_->engine() + ": Begin inside a transaction");
  in_transaction_ = true;
}

bool SqlSession::Get(TableId table, std::string_view key, std::string_view* value) {
  return Answered([&] {
    const auto turn = store_->Turn();
    key = Apart(key, lent_, &key_copy_);
    bool found = false;
    Read([&] { found = Find(table, key, value); });
    if (found) lent_ = *value;
    return found;
  });
}

// PostgreSQL ends a transaction at any error, and answers its COMMIT by a rollback that is no
// error.
template <typename Work>
void SqlSession::Read(const Work& work) {
  try {
    ConnectAgain();
    work();
  } catch (...) {
    failed_ |= in_transaction_ && !writes_.empty();
    throw;
  }
}

bool SqlSession::Find(TableId table, std::string_view key, std::string_view* value) {
  const RequestMark mark(served_.get());
  AwaitWrites();
  bool found = false;
  Try([&] { found = AskFor(table, key, value); }, true);
  return found;
}

bool SqlSession::AskFor(TableId table, std::string_view key, std::string_view* value) {
  Table& known = Known(table);
  const size_t part = known.about.key_part;
  if (part > key.size() || key.size() - part > store_->limits().max_key_size) return false;
  SqlParameter parameters[2] = {{key, {}}, {}};
  if (part != 0) {
    parameters[0].bytes = key.substr(0, part);
    parameters[1].bytes = key.substr(part);
  }
  connection_->Execute(GetStatement(&known), {parameters, part == 0 ? size_t{1} : size_t{2}});
  if (!connection_->NextRow()) return false;
  *value = connection_->Column(store_->dialect().ValueColumn(known.about));
  return true;
}

void SqlSession::TakeEach(TableId table, std::span<const std::string_view> keys,
                          const TakeRow& take) {
  Answered([&] {
    const auto turn = store_->Turn();
    const bool is_lent = std::any_of(keys.begin(), keys.end(), [this](std::string_view key) {
      return Apart(key, lent_, &key_copy_).data() != key.data();
    });
    if (!is_lent) return Read([&] { FindEach(table, keys, take); });
    const std::vector<std::string> copies(keys.begin(), keys.end());
    const std::vector<std::string_view> kept(copies.begin(), copies.end());
    Read([&] { FindEach(table, kept, take); });
  });
}

void SqlSession::FindEach(TableId table, std::span<const std::string_view> keys,
                          const TakeRow& take) {
  const RequestMark mark(served_.get());
  AwaitWrites();
  size_t taken = 0;
  Try([&] { AskForEach(table, keys, take, &taken); }, true);
}

void SqlSession::AskForEach(TableId table, std::span<const std::string_view> keys,
                            const TakeRow& take, size_t* taken) {
  Table& known = Known(table);
  const std::span<const std::string_view> left = keys.subspan(*taken);
  const bool together = !left.empty() && known.about.column.empty() &&
                        connection_->ExecuteForEach(GetStatement(&known), left);
  for (size_t i = 0; i < left.size(); ++i) {
    FoundRow row;
    if (!together) {
      row.found = AskFor(table, left[i], &row.value);
    } else {
      if (i != 0) connection_->NextResult();
      row.found = connection_->NextRow();
      if (row.found) row.value = connection_->Column(0);
    }
    take((*taken)++, row);
  }
}

void SqlSession::MultiGet(TableId table, std::span<const std::string_view> keys,
                          std::vector<FoundRow>* rows) {
  rows->assign(keys.size(), {});
  ends_.resize(keys.size());
  std::swap(values_, before_);
  values_.clear();
  TakeEach(table, keys, [this, rows](size_t i, const FoundRow& row) {
    (*rows)[i].found = row.found;
    if (row.found) values_.append(row.value);
    ends_[i] = values_.size();
  });
  for (size_t i = 0, begin = 0; i < keys.size(); begin = ends_[i++]) {
    (*rows)[i].value = std::string_view(values_).substr(begin, ends_[i] - begin);
  }
}

void SqlSession::Apply(TableId table, bool erase, std::string_view key, std::string_view value) {
  Table& known = Known(table);
  const SqlDialect& dialect = store_->dialect();
  const SqlStatement statement = erase ? Prepared(&known.erase, dialect.Erase(known.about), 1, 0)
                                       : Prepared(&known.put, dialect.Put(known.about), 2, 0);
  if (in_transaction_ && !begun_) {
    const SqlStatement begin = Prepared(&begin_, "BEGIN", 0, 0);
    begun_ = true;
    connection_->Send(begin, {});
  }
  const SqlParameter parameters[2] = {{key, {}}, {value, {}}};
  connection_->Send(statement, {parameters, erase ? size_t{1} : size_t{2}});
}

template <typename Work>
void SqlSession::Try(const Work& work, bool again) {
  const SteadyClock::time_point end =
      SteadyClock::now() + std::chrono::milliseconds(store_->limits().conflict_wait_ms);
  for (bool rolled_back = false;;) {
    try {
      if (rolled_back) {
        for (const Write& write : writes_) Apply(write.table, write.erase, write.key, write.value);
        connection_->Await();
        if (!again) return;
      }
      return work();
    } catch (const SqlConflict&) {
      if (begun_) RollBackOnServer();
      begun_ = false;
      rolled_back = in_transaction_;
      if (SteadyClock::now() > end) throw;
    }
  }
}

void SqlSession::AwaitWrites() {
  if (begun_) Try([this] { connection_->Await(); }, false);
}

void SqlSession::Change(TableId table, bool erase, std::string_view key, std::string_view value) {
  const SqlLimits& limits = store_->limits();
  if (key.size() > limits.max_key_size || value.size() > limits.max_value_size) {
    throw Error(Error::kUsage,
                fmt::format("{} takes keys of up to {} bytes and values of up to {}, not {} and {}",
                            store_->engine(), limits.max_key_size, limits.max_value_size,
                            key.size(), value.size()));
  }
  key = Apart(key, lent_, &key_copy_);
  value = Apart(value, lent_, &value_copy_);
  const auto turn = store_->Turn();
  if (const Table& known = Known(table); !known.about.column.empty()) {
    throw Error(Error::kUsage, store_->engine() + " keeps index " + known.about.column + " itself");
  }
  if (failed_) throw FailedBefore(store_->engine());
  try {
    ConnectAgain();
  } catch (...) {
    failed_ = in_transaction_;
    throw;
  }
  const RequestMark mark(served_.get());
  ++changes_;
  if (in_transaction_) {
    try {
      writes_.push_back({table, erase, std::string(key), std::string(value)});
      Try([&] { Apply(table, erase, key, value); }, false);
    } catch (...) {
      failed_ = true;
      throw;
    }
    return;
  }
  Try(
      [&] {
        Apply(table, erase, key, value);
        connection_->Await();
      },
      true);
  store_->NoteCommit();
}

void SqlSession::Put(TableId table, std::string_view key, std::string_view value) {
  Answered([&] { Change(table, false, key, value); });
}

void SqlSession::Erase(TableId table, std::string_view key) {
  Answered([&] { Change(table, true, key, {}); });
}

void SqlSession::Commit() {
  Answered([this] { CommitWrites(); });
}

void SqlSession::CommitWrites() {
  if (!in_transaction_) throw Error(Error::kUsage, store_->engine() + ": Commit without Begin");
  if (failed_) {
    {
      const auto turn = store_->Turn();
      const RequestMark mark(served_.get());
      Abandon();
    }
    throw FailedBefore(store_->engine());
  }
  const bool begun = begun_;
  if (begun) {
    const auto turn = store_->Turn();
    const RequestMark mark(served_.get());
    try {
      Try(
          [this] {
            connection_->Send(Prepared(&commit_, "COMMIT", 0, 0), {});
            connection_->Await();
          },
          true);
    } catch (...) {
      Abandon();
      throw;
    }
  }
  in_transaction_ = begun_ = false;
  writes_.clear();
  if (begun) store_->NoteCommit();
}

void SqlSession::Rollback() {
  if (!in_transaction_) throw Error(Error::kUsage, store_->engine() + ": Rollback without Begin");
  ++changes_;
  const bool begun = std::exchange(begun_, false);
  in_transaction_ = failed_ = false;
  writes_.clear();
  if (!begun) return;
  Answered([this] {
    const auto turn = store_->Turn();
    const RequestMark mark(served_.get());
    RollBackOnServer();
  });
}

// Rolls the transaction back, whatever the server says of the statements that were sent before.
void SqlSession::RollBackOnServer() {
  try {
    connection_->Await();
  } catch (const std::exception&) {
    // The error of an earlier statement does not matter, because all is rolled back. If the
    // connection is lost, ROLLBACK will fail, too.
  }
  try {
    connection_->Run("ROLLBACK");
  } catch (const SqlConflict&) {
    // The server has rolled the transaction back before, and tells it now.
  }
}

// Ends a transaction whose commit has failed. The caller throws the reason.
void SqlSession::Abandon() {
  const bool begun = std::exchange(begun_, false);
  in_transaction_ = failed_ = false;
  writes_.clear();
  ++changes_;
  try {
    if (begun) RollBackOnServer();
  } catch (const std::exception&) {
    // If the connection is lost, the server rolls back by itself.
  }
}

std::unique_ptr<Cursor> SqlSession::NewCursor(TableId table) {
  return std::make_unique<SqlCursor>(this, table);
}

void SqlCursor::Read(Walk walk, std::string_view key, uint64_t count) {
  session_->Answered([&] {
    const auto turn = session_->store_->Turn();
    session_->Read([&] {
      const RequestMark mark(session_->served_.get());
      session_->AwaitWrites();
      session_->Try([&] { Ask(walk, key, count); }, true);
    });
  });
}

void SqlCursor::Ask(Walk walk, std::string_view key, uint64_t count) {
  SqlSession& session = *session_;
  StartOver();
  SqlSession::Table& table = session.Known(table_);
  const size_t part = table.about.key_part;
  const SqlDialect& dialect = session.store_->dialect();
  std::array<SqlParameter, 5> parameters;
  size_t used = 0;
  if (HasKey(walk)) {
    if (part != 0) {
      // If the key is shorter than the column, the column's part is the whole key, which is below
      // all longer values that begin with it.
      for (size_t i = 0; i < dialect.ColumnParameters(); ++i) {
        parameters[used++].bytes = key.substr(0, part);
      }
      key.remove_prefix(std::min(part, key.size()));
    }
    walk = WithoutExcess(walk, session.store_->limits().max_key_size, &key);
    parameters[used++].bytes = key;
  }
  parameters[used++].number = count;
  const SqlStatement statement = session.WalkStatement(&table, walk, used);
  session.connection_->Execute(statement, {parameters.data(), used});
  while (session.connection_->NextRow()) {
    Add(session.connection_->Column(0), session.connection_->Column(1));
  }
}

}  // namespace testbed
