// Sessions and cursors of the engines that speak to a database server. A session has a connection of
// its own and prepared statements for each table.
//
// Isolation is READ COMMITTED: each Get, and each batch of a cursor, sees the newest commits and
// the session's own writes. A transaction locks the rows that it writes until it ends. When the
// server rolls a transaction back because of the locks of others, its session repeats all of its
// writes, for up to SqlLimits::conflict_wait_ms, and then throws Error (kRun).
//
// Writes of a transaction may be on their way until its next read or its Commit, which then throws
// what they failed with.
//
// A cursor fetches rows in batches: the first is as long as the session's last walk on the table, as a
// client's statement has the length of its scan, and further ones grow. A row that another session writes into the
// range of the batch stays hidden from Next and Prev; the writes of the cursor's own session do
// not, since they make the cursor fetch a new batch.
#ifndef TESTBED_ENGINES_SQL_SESSION_H_
#define TESTBED_ENGINES_SQL_SESSION_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/account/served_thread.h"
#include "engines/engine.h"
#include "engines/sql/connection.h"
#include "engines/sql/store.h"

namespace testbed {

class SqlSession : public Session {
 public:
  // `store` must outlive the session. `farewell` is run on the connection before it is closed, if
  // it is not empty.
  explicit SqlSession(SqlStore* store, std::string farewell = {});
  ~SqlSession() override;

  void Begin() override;
  void Commit() override;
  void Rollback() override;
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void MultiGet(TableId table, std::span<const std::string_view> keys,
                std::vector<FoundRow>* rows) override;
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override;

 private:
  friend class SqlCursor;
  struct Table {
    SqlTable about;
    std::optional<SqlStatement> get, put, erase;
    std::array<std::optional<SqlStatement>, kWalks> walks;
    uint64_t last_walk = 0;  // rows that the last cursor asked for from a position on
    uint64_t row_bytes = 0;  // mean size of the rows that it met
  };
  struct Write {
    TableId table;
    bool erase;
    std::string key, value;
  };
  Table& Known(TableId table) {
    return table < tables_.size() && !tables_[table].about.name.empty() ? tables_[table]
                                                                        : LearnTable(table);
  }
  Table& LearnTable(TableId table);
  SqlStatement Prepared(std::optional<SqlStatement>* statement, const std::string& sql,
                        size_t parameters, size_t columns);
  SqlStatement GetStatement(Table* table);
  void Change(TableId table, bool erase, std::string_view key, std::string_view value);
  // Sends one write to the server.
  void Apply(TableId table, bool erase, std::string_view key, std::string_view value);
  // Does `work`; when the server has rolled the transaction back, repeats its writes and then, if
  // `again`, the work.
  void Try(const std::function<void()>& work, bool again);
  void AwaitWrites();

  SqlStore* const store_;
  const std::string farewell_;
  std::unique_ptr<SqlConnection> connection_;
  ServedThread served_;
  std::vector<Table> tables_;  // by TableId
  std::optional<SqlStatement> begin_, commit_;
  bool in_transaction_ = false, begun_ = false;  // begun_: the server has begun it, too
  std::vector<Write> writes_;                    // writes of the transaction, for WriteAgain
  uint64_t changes_ = 0;                         // grows with each write and rollback
  std::string values_;                           // the values that MultiGet returns
};

class SqlCursor : public Cursor {
 public:
  SqlCursor(SqlSession* session, TableId table) : session_(session), table_(table) {}
  ~SqlCursor() override { NoteWalk(); }

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
  // Tells the session how long the walk was that ends now.
  void NoteWalk();
  bool Step(bool forward);
  // Fetches a batch of at most `count` rows. Returns whether it has a row.
  bool Fetch(Walk walk, std::string_view key, uint64_t count);

  SqlSession* const session_;
  const TableId table_;
  std::string arena_;      // keys and values of the batch
  std::vector<Row> rows_;  // the batch, in the direction of the walk
  size_t at_ = 0;          // index in rows_ of the cursor's row
  bool on_row_ = false, forward_ = true;
  // batch_: most rows of the batch. changes_: the session's changes_ when the batch was fetched.
  uint64_t batch_ = 0, changes_ = 0;
  uint64_t walked_ = 0;  // rows asked for since the cursor was positioned
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_SESSION_H_
