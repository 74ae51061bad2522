#include "engines/innodb/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "device/account/ledger.h"
#include "device/account/thread_kinds.h"
#include "device/error.h"
#include "engines/failed_before.h"
#include "engines/sql/mariadb_settings.h"

namespace testbed::innodb {
namespace {

using Clock = std::chrono::steady_clock;

// Returns the operator with which a HANDLER statement or a condition begins.
const char* Operator(Walk walk) {
  if (walk == Walk::kFirst) return "FIRST";
  return walk == Walk::kLast ? "LAST" : WalkOperator(walk);
}

void CheckRow(std::string_view key, std::string_view value) {
  if (key.size() <= mariadb::kMaxKeySize && value.size() <= mariadb::kMaxValueSize) [[likely]]
    return;
  throw Error(Error::kUsage,
              fmt::format("innodb takes keys of up to {} bytes and values of up to "
                          "{}, not {} and {}",
                          mariadb::kMaxKeySize, mariadb::kMaxValueSize, key.size(), value.size()));
}

}  // namespace

InnodbSession::InnodbSession(Server* server) : server_(server) {
  Call([this] { connection_ = std::make_unique<Connection>(server_->library(), kSchema); });
  server_->Join(this);
}

InnodbSession::~InnodbSession() {
  server_->Leave(this);
  Call([this] {
    tables_.clear();
    connection_.reset();
  });
}

InnodbSession::Table& InnodbSession::LearnTable(TableId table) {
  TableInfo info = server_->Table(table);
  if (table >= tables_.size()) tables_.resize(table + 1);
  tables_[table].info = std::move(info);
  return tables_[table];
}

std::string InnodbSession::OpenHandler(Table& table) {
  const std::string name = fmt::format("h{}", table.info.table);
  if (table.handler_open) return name;
  const std::shared_lock lock(*table.info.shape, std::try_to_lock);
  if (!lock) throw TableChanges{table.info.shape};
  connection_->Run(fmt::format("HANDLER {} OPEN AS {}", table.info.name, name));
  table.handler_open = true;
  return name;
}

void InnodbSession::CloseHandler(TableId id) {
  Call([&] {
    if (id >= tables_.size() || !tables_[id].handler_open) return;
    Table& table = tables_[id];
    table.get.reset();
    for (std::unique_ptr<Statement>& walk : table.walks) walk.reset();
    connection_->Run(fmt::format("HANDLER h{} CLOSE", id));
    table.handler_open = false;
  });
}

Statement& InnodbSession::GetStatement(Table& table) {
  if (table.get != nullptr) return *table.get;
  const TableInfo& info = table.info;
  if (!info.column.empty()) {
    table.get = std::make_unique<Statement>(
        connection_.get(),
        fmt::format("SELECT k, '' FROM {} FORCE INDEX ({}) WHERE {} = ? AND k = ?", info.name,
                    info.column, info.column),
        2, 2);
  } else if (server_->settings().access == Access::kSql) {
    table.get = std::make_unique<Statement>(
        connection_.get(), fmt::format("SELECT k, v FROM {} WHERE k = ?", info.name), 1, 2);
  } else {
    const std::string handler = OpenHandler(table);
    table.get = std::make_unique<Statement>(
        connection_.get(), fmt::format("HANDLER {} READ `PRIMARY` = (?)", handler), 1, 2);
  }
  return *table.get;
}

// Returns the SQL of a walk over an index. The walk's key consists of the index's column and the
// row's key k, so the condition compares both, in this order.
std::string IndexWalkSql(const TableInfo& info, Walk walk) {
  const char* const order = IsForward(walk) ? "" : "DESC";
  std::string where;
  if (HasKey(walk)) {
    const char* const strictly = IsForward(walk) ? ">" : "<";
    where = fmt::format("WHERE {0} {1}= ? AND ({0} {1} ? OR k {2} ?)", info.column, strictly,
                        Operator(walk));
  }
  return fmt::format(
      "SELECT CONCAT({0}, k), '' FROM {1} FORCE INDEX ({0}) {2} ORDER BY {0} {3}, k "
      "{3} LIMIT ?",
      info.column, info.name, where, order);
}

Statement& InnodbSession::WalkStatement(Table& table, Walk walk) {
  std::unique_ptr<Statement>& statement = table.walks[static_cast<size_t>(walk)];
  if (statement != nullptr) return *statement;
  const TableInfo& info = table.info;
  std::string sql;
  if (!info.column.empty()) {
    sql = IndexWalkSql(info, walk);
  } else if (server_->settings().access == Access::kSql) {
    sql = fmt::format("SELECT k, v FROM {} {} ORDER BY k {} LIMIT ?", info.name,
                      HasKey(walk) ? fmt::format("WHERE k {} ?", Operator(walk)) : "",
                      IsForward(walk) ? "" : "DESC");
  } else {
    sql = fmt::format("HANDLER {} READ `PRIMARY` {} {} LIMIT ?", OpenHandler(table), Operator(walk),
                      HasKey(walk) ? "(?)" : "");
  }
  const size_t keys = !HasKey(walk) ? 0 : info.column.empty() ? 1 : 3;
  statement = std::make_unique<Statement>(connection_.get(), std::move(sql), keys + 1, 2);
  return *statement;
}

void InnodbSession::Begin() {
  if (in_transaction_) throw Error(Error::kUsage, "innodb: Begin inside a transaction");
  in_transaction_ = true;
}

bool InnodbSession::Get(TableId table, std::string_view key, std::string_view* value) {
  bool found = false;
  Call([&] {
    CallMark mark(FileKind::kData);
    Table& known = Known(table);
    const size_t part = known.info.key_part;
    if (part > key.size() || key.size() - part > mariadb::kMaxKeySize) return;
    Statement& get = GetStatement(known);
    get.Bind(0, part == 0 ? key : key.substr(0, part));
    if (part != 0) get.Bind(1, key.substr(part));
    get.Execute();
    found = get.Fetch();
    get.EndResult();
    if (found) *value = get.column(1);
  });
  return found;
}

void InnodbSession::Apply(TableId table, bool erase, std::string_view key, std::string_view value) {
  Table& known = Known(table);
  if (!known.info.column.empty()) {
    throw Error(Error::kUsage, "innodb keeps index " + known.info.column + " itself");
  }
  if (in_transaction_ && !begun_) {
    connection_->Run("BEGIN");
    begun_ = true;
  }
  std::unique_ptr<Statement>& statement = erase ? known.erase : known.put;
  if (statement == nullptr) {
    statement = std::make_unique<Statement>(
        connection_.get(),
        erase ? fmt::format("DELETE FROM {} WHERE k = ?", known.info.name)
              : fmt::format("INSERT INTO {} (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = "
                            "VALUES(v)",
                            known.info.name),
        erase ? 1 : 2, 0);
  }
  statement->Bind(0, key);
  if (!erase) statement->Bind(1, value);
  statement->Execute();
}

void InnodbSession::Change(TableId table, bool erase, std::string_view key,
                           std::string_view value) {
  CheckRow(key, value);
  {
    // OpenIndex of another thread has CloseHandler look at tables_, which may grow here.
    LockGuard lock(busy_);
    Known(table);  // throws for a table that is not open, before writes_ changes
  }
  if (failed_) throw FailedBefore("innodb");
  ++changes_;
  try {
    if (in_transaction_) writes_.push_back({table, erase, std::string(key), std::string(value)});
    Send(table, erase, key, value);
  } catch (...) {
    failed_ = in_transaction_;
    throw;
  }
}

void InnodbSession::Send(TableId table, bool erase, std::string_view key, std::string_view value) {
  Call([&] {
    // Outside a transaction a write also commits, so that this call reads pages and writes the log.
    const MixedCallMark mark(FileKind::kData, in_transaction_ ? FileKind::kData : FileKind::kLog);
    const Clock::time_point end =
        Clock::now() + std::chrono::milliseconds(server_->settings().conflict_wait_ms);
    for (;;) {
      try {
        Apply(table, erase, key, value);
        break;
      } catch (const SqlConflict&) {
        begun_ = false;
        if (Clock::now() > end) throw;
        if (in_transaction_) {
          WriteAgain();
          break;
        }
      }
    }
    if (!in_transaction_) Acknowledge();
  });
}

// Repeats all writes of the transaction, because the server has rolled it back.
void InnodbSession::WriteAgain() {
  const Clock::time_point end =
      Clock::now() + std::chrono::milliseconds(server_->settings().conflict_wait_ms);
  for (;;) {
    try {
      for (const Write& write : writes_) Apply(write.table, write.erase, write.key, write.value);
      return;
    } catch (const SqlConflict&) {
      begun_ = false;
      if (Clock::now() > end) throw;
    }
  }
}

void InnodbSession::Put(TableId table, std::string_view key, std::string_view value) {
  Change(table, false, key, value);
}

void InnodbSession::Erase(TableId table, std::string_view key) { Change(table, true, key, {}); }

// Ends a commit. The embedded library returns from a commit before its log is written when another
// thread is writing the log. FLUSH ENGINE LOGS returns only after the log is written and synced.
void InnodbSession::Acknowledge() {
  if (server_->settings().durability == Durability::kSync) {
    CallMark mark(FileKind::kLog);
    connection_->Run("FLUSH ENGINE LOGS");
  }
  server_->NoteCommit();
}

void InnodbSession::Commit() {
  if (!in_transaction_) throw Error(Error::kUsage, "innodb: Commit without Begin");
  if (failed_) {
    Abandon();
    throw FailedBefore("innodb");
  }
  if (begun_) {
    try {
      Call([this] {
        CallMark mark(FileKind::kLog);
        connection_->Commit();
        Acknowledge();
      });
    } catch (...) {
      Abandon();
      throw;
    }
  }
  in_transaction_ = begun_ = false;
  writes_.clear();
}

void InnodbSession::Rollback() {
  if (!in_transaction_) throw Error(Error::kUsage, "innodb: Rollback without Begin");
  ++changes_;
  const bool begun = std::exchange(begun_, false);
  in_transaction_ = failed_ = false;
  writes_.clear();
  if (!begun) return;
  Call([this] {
    CallMark mark(FileKind::kData);
    connection_->Rollback();
  });
}

// Ends a transaction whose commit has failed. The caller throws the reason.
void InnodbSession::Abandon() {
  try {
    Rollback();
  } catch (const std::exception&) {
    // The server has no transaction open, or has failed for good.
  }
}

std::unique_ptr<Cursor> InnodbSession::NewCursor(TableId table) {
  return std::make_unique<InnodbCursor>(this, table);
}

void InnodbCursor::Read(Walk walk, std::string_view key, uint64_t count) {
  session_->Call([&] {
    CallMark mark(FileKind::kData);
    InnodbSession::Table& table = session_->Known(table_);
    const size_t part = table.info.key_part;
    std::string_view rest = key.substr(std::min(part, key.size()));
    const Walk from = WithoutExcess(walk, mariadb::kMaxKeySize, &rest);
    Statement& statement = session_->WalkStatement(table, from);
    size_t parameter = 0;
    if (HasKey(from)) {
      for (int i = 0; part != 0 && i < 2; ++i) statement.Bind(parameter++, key.substr(0, part));
      statement.Bind(parameter++, rest);
    }
    statement.Bind(parameter, count);
    statement.Execute();
    while (statement.Fetch()) Add(statement.column(0), statement.column(1));
  });
}

}  // namespace testbed::innodb
