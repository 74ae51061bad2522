// This header has the sessions and cursors of the sqlite engine.
//
// Reads: a session reads through a connection of its own. A Get is a transaction of its own and
// sees the newest commit. Its value is copied, and its statement reset, before it returns, so that
// an idle session holds no state of the database. A cursor that stands on a row keeps its
// statement, and with it the state in which it was positioned; key and value are SQLite's bytes,
// not copies. While a cursor stands on a row, all reads of its session see that state.
//
// Writes: a transaction of a session gets the turn to write with its first write and keeps it to
// its end; a write outside Begin and Commit is a transaction of its own. From its first write on, a
// transaction reads through the connection that writes: the newest commit plus its own writes.
// Other sessions may have changed the rows that it read before its first write.
//
// SQLite cannot write where an older state is being read. So before each write the session parks
// its cursors: a parked cursor keeps its key and finds its row again at its next move.
#ifndef TESTBED_ENGINES_SQLITE_SESSION_H_
#define TESTBED_ENGINES_SQLITE_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/sqlite/connection.h"
#include "engines/sqlite/database.h"

namespace testbed::sqlite {

class SqliteCursor;

class SqliteSession : public Session {
 public:
  explicit SqliteSession(Database* database);
  ~SqliteSession() override;

  void Begin() override;
  void Commit() override;
  void Rollback() override;
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override;
  bool BlockCounts(uint64_t* requests, uint64_t* misses) override;

 private:
  friend class SqliteCursor;
  // Returns the connection that sees what the session sees now.
  Connection* Reader() const { return writer_ != nullptr ? writer_ : reader_; }
  // Each call of the session, or of one of its cursors, that reads or writes calls this on its
  // thread.
  void Use() const {
    if (writer_ != nullptr) database_->UseTurn();
  }
  void CheckTable(TableId table) const;
  // Runs the statement with its parameters, in the open transaction or as a transaction of its own.
  void Write(TableId table, Query query, std::string_view key, const std::string_view* value);
  void EndWrite(bool committed);
  void EndTransaction(bool commit);
  void ParkCursors();
  // Returns the key or value `bytes` of a write. If this session has read these bytes, the write
  // may invalidate them, so Steady copies them to *copy first.
  std::string_view Steady(std::string_view bytes, std::string* copy) const;

  Database* const database_;
  Connection* const reader_;
  bool in_transaction_ = false;
  bool failed_ = false;           // a write of the transaction has failed
  Connection* writer_ = nullptr;  // not null while the session has the turn to write
  std::string value_;             // value that Get returned last
  std::string key_copy_, value_copy_;
  std::vector<SqliteCursor*> cursors_;
  // reader_before_ and writer_before_ are the counts of the connections when the session got them.
  // writes_ are the counts of the session's own writes so far.
  Connection::Counts reader_before_, writer_before_, writes_;
};

class SqliteCursor : public Cursor {
 public:
  SqliteCursor(SqliteSession* session, TableId table);
  ~SqliteCursor() override;

  bool Seek(std::string_view key) override { return Start(Query::kFrom, key); }
  bool SeekForPrev(std::string_view key) override { return Start(Query::kDownFrom, key); }
  bool First() override { return Start(Query::kFrom, {}); }
  bool Last() override { return Start(Query::kLast, {}); }
  bool Next() override;
  bool Prev() override;
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }

 private:
  friend class SqliteSession;
  enum class State : uint8_t {
    kNowhere,
    kOnRow,
    kParked,  // the row's key is in parked_key_
  };
  // Positions the cursor on the first row of the query.
  bool Start(Query query, std::string_view key);
  bool Step();
  void Stop();  // gives the statement back, and with it the state of the database
  void Park();  // remembers the row's key and stops, before a write of the session
  // Leaves the row without asking for memory; must be called inside a Call of its connection. The
  // cursor keeps the statement until its next Stop.
  void Leave();
  static bool Down(Query query) { return query >= Query::kDownFrom; }

  SqliteSession* session_;  // null after the session was destroyed
  const TableId table_;
  State state_ = State::kNowhere;
  Statement statement_;    // empty unless the cursor is on a row or has just left one
  std::string bound_key_;  // parameter of statement_
  std::string parked_key_;
  std::string_view key_, value_;
};

}  // namespace testbed::sqlite

#endif  // TESTBED_ENGINES_SQLITE_SESSION_H_
