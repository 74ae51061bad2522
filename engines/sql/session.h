// This header has the sessions and cursors of the engines that speak to a database server. A
// session has a connection of its own and prepared statements for each table.
//
// Isolation is READ COMMITTED: each Get, and each batch of a cursor, sees the newest commits and
// the session's own writes. A transaction locks the rows that it writes until it ends. When the
// server rolls a transaction back because of others, its session repeats all of its writes, and the
// read that was told so, for up to SqlLimits::conflict_wait_ms, and then throws Error (kRun): a
// node of a cluster tells it in the answer to the next statement, whichever that is.
//
// Writes of a transaction may be on their way until its next read or its Commit, which throws their
// errors.
//
// Where the store goes on at other addresses (SqlLimits::goes_on), a call that loses the connection
// connects to the next address and throws LostAnswer; the call is not repeated there. An open
// transaction is over then, and cursors have to be positioned again. When no address accepts a
// connection, the call throws the error of the first one, and the next read or write connects.
#ifndef TESTBED_ENGINES_SQL_SESSION_H_
#define TESTBED_ENGINES_SQL_SESSION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/account/served_thread.h"
#include "engines/engine.h"
#include "engines/sql/batch_cursor.h"
#include "engines/sql/connection.h"
#include "engines/sql/store.h"

namespace testbed {

class SqlSession : public Session, private SqlTableReader {
 public:
  // `store` must outlive the session. If `farewell` is not empty, the session runs it on the
  // connection before it closes the connection. The connection is to the server's address
  // `address`, or to the next address that is not lost.
  explicit SqlSession(SqlStore* store, std::string farewell = {}, size_t address = 0);
  ~SqlSession() override;

  void Begin() override;
  void Commit() override;
  void Rollback() override;
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void MultiGet(TableId table, std::span<const std::string_view> keys,
                std::vector<FoundRow>* rows) override;
  void TakeEach(TableId table, std::span<const std::string_view> keys,
                const TakeRow& take) override;
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override;

 private:
  friend class SqlCursor;
  struct Table {
    SqlTable about;
    std::optional<SqlStatement> get, put, erase;
    std::array<std::optional<SqlStatement>, kWalks> walks;
    uint64_t row_bytes = 0;  // mean size in a cursor's last batch; 0 = none yet
    bool is_open = false;    // open for reads, where the dialect opens tables
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
  // Runs `work`, a call of the session or of one of its cursors.
  template <typename Work>
  auto Answered(const Work& work) {
    try {
      return work();
    } catch (const LostConnection& lost) {
      GoOn(lost);
    }
  }
  // Handles `lost`: connects to another address and throws LostAnswer. If the session cannot go on,
  // throws `lost` again.
  [[noreturn]] void GoOn(const LostConnection& lost);
  void Connect();
  // Connects if the last Connect has failed: the address may accept a connection now.
  void ConnectAgain() {
    if (served_ == nullptr) [[unlikely]]
      Connect();
  }
  void CommitWrites();
  Table& LearnTable(TableId table);
  SqlStatement Prepared(std::optional<SqlStatement>* statement, const std::string& sql,
                        size_t parameters, size_t columns);
  SqlStatement GetStatement(Table* table);
  SqlStatement WalkStatement(Table* table, Walk walk, size_t parameters);
  // Opens the table on the connection, if the dialect opens tables and this one is not open.
  void OpenForReads(Table* table);
  void LetGo(TableId table) override;
  // Runs `work`, which reads. Marks the transaction as failed if `work` fails and the transaction
  // has written.
  template <typename Work>
  void Read(const Work& work);
  bool Find(TableId table, std::string_view key, std::string_view* value);
  // Asks the server once for the row. FindEach and AskForEach get the rows of several keys.
  bool AskFor(TableId table, std::string_view key, std::string_view* value);
  void FindEach(TableId table, std::span<const std::string_view> keys, const TakeRow& take);
  // Asks once for the rows of the keys from number *taken on, and counts those that `take` has got.
  // Gets them in one round trip if the connection can do so; otherwise one row after the other.
  void AskForEach(TableId table, std::span<const std::string_view> keys, const TakeRow& take,
                  size_t* taken);
  void Change(TableId table, bool erase, std::string_view key, std::string_view value);
  // Sends one write to the server.
  void Apply(TableId table, bool erase, std::string_view key, std::string_view value);
  // Runs `work`. When the server has rolled the transaction back, repeats its writes and, if
  // `again`, `work`.
  template <typename Work>
  void Try(const Work& work, bool again);
  void AwaitWrites();
  void RollBackOnServer();
  void Abandon();

  SqlStore* const store_;
  const std::string farewell_;
  size_t address_;
  // Both are null when no address has accepted a connection.
  std::unique_ptr<SqlConnection> connection_;
  std::unique_ptr<ServedThread> served_;
  std::vector<Table> tables_;  // indexed by TableId
  std::optional<SqlStatement> begin_, commit_;
  bool in_transaction_ = false, begun_ = false;  // begun_: on the server, too
  bool failed_ = false;                          // a statement of the transaction has failed
  std::vector<Write> writes_;                    // writes of the transaction, which Try repeats
  uint64_t changes_ = 0;                         // grows with each write and rollback
  std::string_view lent_;                        // value that Get returned last
  std::string key_copy_, value_copy_;            // copies of arguments that lie in lent_
  std::string values_, before_;                  // values of the last two calls of MultiGet
  std::vector<size_t> ends_;                     // end of each value in values_
};

class SqlCursor : public BatchCursor {
 public:
  SqlCursor(SqlSession* session, TableId table) : session_(session), table_(table) {}

 private:
  void Read(Walk walk, std::string_view key, uint64_t count) override;
  void Ask(Walk walk, std::string_view key, uint64_t count);
  uint64_t Changes() const override { return session_->changes_; }
  uint64_t* RowBytes() override {
    return table_ < session_->tables_.size() ? &session_->tables_[table_].row_bytes : nullptr;
  }

  SqlSession* const session_;
  const TableId table_;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_SESSION_H_
