// Sessions and cursors of the innodb engine. A session has a connection to the server and prepared
// statements for each table.
//
// Isolation is READ COMMITTED: each Get, and each batch of a cursor, sees the newest commits and
// the session's own writes. A transaction locks the rows that it writes until it ends. When InnoDB
// finds a deadlock, it rolls one transaction back; that transaction's session repeats all of its
// writes, for up to conflict_wait_ms, and then throws Error (kRun).
//
// A cursor fetches rows in batches of growing size. A row that another session writes into the
// range of the batch stays hidden from Next and Prev; the writes of the cursor's own session do
// not, since they make the cursor fetch a new batch.
#ifndef TESTBED_ENGINES_INNODB_SESSION_H_
#define TESTBED_ENGINES_INNODB_SESSION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/os/mutex.h"
#include "engines/engine.h"
#include "engines/innodb/connection.h"
#include "engines/innodb/server.h"

namespace testbed::innodb {

// A Walk says where a batch of a cursor begins and its direction: forward from the first row, or
// from the first row at or after a key, or after it; backward from the last row, or from the last
// row at or before a key, or before it.
enum class Walk : uint8_t { kFirst, kFrom, kAfter, kLast, kUpTo, kBefore };
inline constexpr size_t kWalks = 6;

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
  };
  struct Write {
    TableId table;
    bool erase;
    std::string key, value;
  };
  // Runs `work`, which uses the connection, on a thread that may send statements (Server::Call).
  template <typename Work>
  void Call(Work&& work) {
    LockGuard lock(busy_);
    server_->Call(work);
  }
  Table& Known(TableId table) {
    return table < tables_.size() && !tables_[table].info.name.empty() ? tables_[table]
                                                                       : LearnTable(table);
  }
  Table& LearnTable(TableId table);
  Statement& GetStatement(Table& table);
  Statement& WalkStatement(Table& table, Walk walk);
  // Opens the table's HANDLER if it is not open, and returns its name.
  std::string OpenHandler(Table& table);
  void CloseHandler(TableId table) override;
  // Sends one write to the server. Throws Deadlock when the server rolled the transaction back.
  void Apply(TableId table, bool erase, std::string_view key, std::string_view value);
  // Performs a Put or Erase, with repetitions after deadlocks.
  void Change(TableId table, bool erase, std::string_view key, std::string_view value);
  void WriteAgain();
  void Acknowledge();

  Server* const server_;
  Mutex busy_;  // held while the connection is used, by the session or by CloseHandler
  std::unique_ptr<Connection> connection_;
  std::vector<Table> tables_;                    // by TableId
  bool in_transaction_ = false, begun_ = false;  // begun_: the server has begun it, too
  std::vector<Write> writes_;                    // writes of the transaction, for WriteAgain
  uint64_t changes_ = 0;                         // grows with each write and rollback
};

class InnodbCursor : public Cursor {
 public:
  InnodbCursor(InnodbSession* session, TableId table) : session_(session), table_(table) {}

  bool Seek(std::string_view key) override { return Position(Walk::kFrom, key); }
  bool SeekForPrev(std::string_view key) override { return Position(Walk::kUpTo, key); }
  bool First() override { return Position(Walk::kFirst, {}); }
  bool Last() override { return Position(Walk::kLast, {}); }
  bool Next() override { return Step(true); }
  bool Prev() override { return Step(false); }
  std::string_view key() const override { return View(rows_[at_].key); }
  std::string_view value() const override { return View(rows_[at_].value); }

 private:
  struct Bytes {
    size_t offset, size;
  };
  struct Row {
    Bytes key, value;
  };
  std::string_view View(Bytes b) const { return {arena_.data() + b.offset, b.size}; }
  bool Position(Walk walk, std::string_view key);
  bool Step(bool forward);
  // Fetches a batch of at most `count` rows. Returns whether it has a row.
  bool Fetch(Walk walk, std::string_view key, uint64_t count);

  InnodbSession* const session_;
  const TableId table_;
  std::string arena_;      // keys and values of the batch
  std::vector<Row> rows_;  // the batch, in the direction of the walk
  size_t at_ = 0;          // index in rows_ of the cursor's row
  bool on_row_ = false, forward_ = true;
  // batch_: most rows of the batch. changes_: the session's changes_ when the batch was fetched.
  uint64_t batch_ = 0, changes_ = 0;
};

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_SESSION_H_
