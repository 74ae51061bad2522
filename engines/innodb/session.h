// Sessions and cursors of the innodb engine: each session a connection with prepared statements.
//
// Isolation is READ COMMITTED: each Get and each batch of a cursor sees the newest commits and the
// session's own writes. A transaction locks the rows that it writes until it ends. Where InnoDB
// finds a deadlock it rolls one transaction back; the session then writes all of it again, for up
// to conflict_wait_ms.
//
// A cursor fetches rows in batches that grow, so a row that another session writes behind its
// position may be missed until it is positioned anew; its own session's writes it sees at once.
#ifndef TESTBED_ENGINES_INNODB_SESSION_H_
#define TESTBED_ENGINES_INNODB_SESSION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/innodb/connection.h"
#include "engines/innodb/server.h"

namespace testbed::innodb {

// How a walk goes on: rows from a key on, in order or backwards.
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
  // Runs `work`, which sends statements, where it may run.
  template <typename Work>
  void Call(Work&& work) {
    std::lock_guard lock(busy_);
    server_->Call(work);
  }
  Table& Known(TableId table) {
    return table < tables_.size() && !tables_[table].info.name.empty() ? tables_[table]
                                                                       : LearnTable(table);
  }
  Table& LearnTable(TableId table);
  Statement& GetStatement(Table& table);
  Statement& WalkStatement(Table& table, Walk walk);
  // The name of the table's HANDLER, which is open from then on.
  std::string OpenHandler(Table& table);
  void CloseHandler(TableId table) override;
  void Apply(TableId table, bool erase, std::string_view key, std::string_view value);
  void Change(TableId table, bool erase, std::string_view key, std::string_view value);
  void WriteAgain();
  void Acknowledge();

  Server* const server_;
  std::mutex busy_;  // while the connection is used, by the session or by CloseHandler
  std::unique_ptr<Connection> connection_;
  std::vector<Table> tables_;
  bool in_transaction_ = false, begun_ = false;  // begun: at the server too
  std::vector<Write> writes_;                    // of the transaction
  uint64_t changes_ = 0;                         // what cursors fetched before is old
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
  bool Fetch(Walk walk, std::string_view key, uint64_t count);

  InnodbSession* const session_;
  const TableId table_;
  std::string arena_;
  std::vector<Row> rows_;
  size_t at_ = 0;
  bool on_row_ = false, forward_ = true;
  uint64_t batch_ = 0, changes_ = 0;
};

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_SESSION_H_
