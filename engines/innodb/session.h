// This header has the sessions and cursors of the innodb engine. A session has a connection to the
// server and prepared statements for each table.
//
// Isolation is READ COMMITTED: each Get, and each batch of a cursor, sees the newest commits and
// the session's own writes. A transaction locks the rows that it writes until it ends. When InnoDB
// finds a deadlock, it rolls one transaction back; that transaction's session repeats all of its
// writes, for up to conflict_wait_ms, and then throws Error (kRun).
#ifndef TESTBED_ENGINES_INNODB_SESSION_H_
#define TESTBED_ENGINES_INNODB_SESSION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/os/mutex.h"
#include "engines/engine.h"
#include "engines/innodb/connection.h"
#include "engines/innodb/server.h"
#include "engines/sql/batch_cursor.h"
#include "engines/sql/dialect.h"

namespace testbed::innodb {

class InnodbSession : public Session, private HandlerOwner {
 public:
  explicit InnodbSession(Server* server);
  ~InnodbSession() override;

  void Begin() override;
  void Commit() override;
  void Rollback() override;
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override;

 private:
  friend class InnodbCursor;
  struct Table {
    TableInfo info;
    std::unique_ptr<Statement> get, put, erase;
    std::array<std::unique_ptr<Statement>, kWalks> walks;
    bool handler_open = false;
    uint64_t row_bytes = 0;  // mean size in a cursor's last batch; 0 = none yet
  };
  struct Write {
    TableId table;
    bool erase;
    std::string key, value;
  };
  // OpenHandler throws a TableChanges when the table is getting an index.
  struct TableChanges {
    std::shared_ptr<std::shared_mutex> shape;
  };
  // Runs `work`, which uses the connection, on a thread that may send statements (Server::Call).
  // When `work` meets a table that is getting an index, it runs again when the table has the index.
  // The connection is free in between, because OpenIndex has each session close its HANDLER.
  template <typename Work>
  void Call(Work&& work) {
    for (;;) {
      TableChanges changes;
      {
        LockGuard lock(busy_);
        try {
          return server_->Call(work);
        } catch (const TableChanges& met) {
          changes = met;
        }
      }
      const std::shared_lock until_then(*changes.shape);
    }
  }
  Table& Known(TableId table) {
    return table < tables_.size() && !tables_[table].info.name.empty() ? tables_[table]
                                                                       : LearnTable(table);
  }
  Table& LearnTable(TableId table);
  Statement& GetStatement(Table& table);
  Statement& WalkStatement(Table& table, Walk walk);
  // Opens the table's HANDLER if it is not open, and returns its name. Throws TableChanges.
  std::string OpenHandler(Table& table);
  void CloseHandler(TableId table) override;
  // Sends one write to the server. Throws SqlConflict when the server rolled the transaction back.
  void Apply(TableId table, bool erase, std::string_view key, std::string_view value);
  // Sends a write to the server and repeats it after deadlocks. Outside a transaction, also commits
  // it.
  void Send(TableId table, bool erase, std::string_view key, std::string_view value);
  // Performs a Put or Erase, and remembers when it fails.
  void Change(TableId table, bool erase, std::string_view key, std::string_view value);
  void WriteAgain();
  void Acknowledge();
  void Abandon();

  Server* const server_;
  // busy_ is held while the session or CloseHandler uses the connection or tables_.
  Mutex busy_;
  std::unique_ptr<Connection> connection_;
  std::vector<Table> tables_;                    // indexed by TableId
  bool in_transaction_ = false, begun_ = false;  // begun_: on the server, too
  bool failed_ = false;                          // a write of the transaction has failed
  std::vector<Write> writes_;  // writes of the open transaction, which WriteAgain repeats
  uint64_t changes_ = 0;       // grows with each write and rollback
};

class InnodbCursor : public BatchCursor {
 public:
  InnodbCursor(InnodbSession* session, TableId table) : session_(session), table_(table) {}

 private:
  void Read(Walk walk, std::string_view key, uint64_t count) override;
  uint64_t Changes() const override { return session_->changes_; }
  uint64_t* RowBytes() override {
    return table_ < session_->tables_.size() ? &session_->tables_[table_].row_bytes : nullptr;
  }

  InnodbSession* const session_;
  const TableId table_;
};

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_SESSION_H_
