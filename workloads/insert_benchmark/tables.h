// The database of the insert benchmark: its tables, the rows that they hold, and their check.
//
// A client's rows have the numbers [first, next) (schema.h): inserts append, deletes take the
// oldest. Open finds both bounds in the tables themselves, so a step can continue in a later
// process where another step ended. The table "ib" records from which settings the rows were made,
// how many clients have tables, which clients' indexes are built, and with which number a client
// continues whose rows were all deleted. Open refuses a database that was made with other settings.
//
//   IbTables tables(schema_options);
//   tables.Open(engine, clients, IbTables::kIndexed, "ib.qp100");
//   uint64_t next = tables.client(c).inserter.next;
//   std::string wrong = tables.Check(engine, 1000000);
#ifndef TESTBED_WORKLOADS_INSERT_BENCHMARK_TABLES_H_
#define TESTBED_WORKLOADS_INSERT_BENCHMARK_TABLES_H_

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "workloads/insert_benchmark/schema.h"

namespace testbed {

// The state that a client's threads share and leave for the results. Each part has one writer.
struct IbClientState {
  struct alignas(128) Inserter {
    std::atomic<uint64_t> first{0}, next{0};  // rows [first, next) exist
    std::atomic<bool> done{false};            // the inserter has written all its rows
    uint64_t inserted = 0, deleted = 0;
  } inserter;
  struct alignas(128) Querier {
    uint64_t queries = 0, rows = 0;
  } querier;
  uint64_t indexed = 0;  // rows whose indexes a builder of this step has built
};

// Open and Check must not run while other threads use the tables. BuildIndexes, client and the
// Record methods may be called by the threads of the client in question.
class IbTables {
 public:
  // What a step needs to find in the database.
  enum Need {
    kNew,         // no rows; the step builds no indexes
    kNewIndexed,  // no rows, or rows with indexes; inserts maintain the indexes
    kRows,        // rows, with or without indexes
    kUnindexed,   // rows; at least one client's rows have no indexes yet
    kIndexed,     // rows with their indexes built
  };
  struct Set {
    TableId rows = 0;
    std::array<TableId, IbSchema::kMaxIndexes> indexes{};
  };

  // Open sets options.clients.
  explicit IbTables(const IbSchema::Options& options) : options_(options) {}

  // Opens the tables, creating missing ones, and finds each client's bounds. The tables of clients
  // that take no part in this step are opened, too, so that rows and Check are of the whole
  // database. Throws Error (kUsage), which names `step`, when the database is not as the step needs
  // it.
  void Open(Engine& engine, int clients, Need need, const std::string& step);

  const IbSchema& schema() const { return *schema_; }
  uint32_t clients() const { return options_.clients; }  // clients of this step
  // Returns the tables that a client uses; all clients of a shared table get the same set.
  const Set& set(uint32_t client) const { return sets_[options_.shared ? 0 : client]; }
  // Returns whether the engine maintains the indexes itself, so that no client writes their entries
  // (engines/engine.h).
  bool engine_keeps_indexes() const { return engine_->KeepsIndexes(); }
  // Lets the engine build the indexes of a client's table. For a shared table, the call for client
  // 0 builds them and the others do nothing.
  void BuildIndexes(uint32_t client);
  IbClientState& client(uint32_t c) { return *states_[c]; }
  const IbClientState& client(uint32_t c) const { return *states_[c]; }
  // Returns the number of rows of all clients, including those that take no part in this step.
  uint64_t rows() const { return RowsOfFirst(states_.size()); }
  // Returns the number of rows of this step's clients; 0 before Open.
  uint64_t rows_of_step() const { return RowsOfFirst(options_.clients); }

  // Records that a client's indexes are built. The caller must not be in a transaction, since table
  // "ib" may lie in another database than the client's tables.
  void RecordIndexed(Session& session, uint32_t client) const;
  // Returns whether a client's indexes are recorded as built.
  bool Indexed(Session& session, uint32_t client) const;
  // Records the number of a client's next row, before the client's last rows are deleted. The
  // caller must not be in a transaction.
  void RecordNext(Session& session, uint32_t client, uint64_t next) const;

  // Reads all tables. Each table must hold exactly the rows between the clients' bounds, and each
  // index that is recorded as built exactly one entry per row. The contents of rows and entries are
  // all checked when there are at most `contents` rows; otherwise a regular sample of about
  // `contents` rows is checked; 0 checks nothing, not even the numbers of rows. Returns a sentence
  // about the first error, or an empty string, also when the user asks to stop.
  std::string Check(Engine& engine, uint64_t contents) const;

 private:
  std::string Setup() const;
  void OpenSet(const std::string& name);
  void OpenIndexes(uint32_t owner);
  void Recognise(Session& session, Need need, const std::string& step);
  // Returns the number of clients that have rows in the database or will have some after this step.
  uint32_t AllClients(Session& session) const;
  // Records what AllClients returns, for later steps that have fewer clients.
  void RecordClients(Session& session) const;
  uint64_t RowsOfFirst(size_t clients) const;
  bool HoldsRows(Session& session, uint32_t client) const;
  void FindBounds(Session& session, uint32_t client);
  // Returns whether the indexes of owner's tables are built for all clients that use these tables.
  bool AllIndexed(Session& session, uint32_t owner) const;
  std::string CheckRows(Session& session, uint32_t owner, uint64_t every) const;
  std::string CheckIndex(Session& session, uint32_t owner, uint32_t index, uint64_t every) const;
  // Returns whether a row with this id belongs in owner's tables.
  bool Belongs(uint64_t id, uint32_t owner) const;
  uint64_t RowsOf(uint32_t owner) const;
  std::string TableName(uint32_t owner) const;

  IbSchema::Options options_;
  Engine* engine_ = nullptr;
  std::unique_ptr<IbSchema> schema_;
  TableId meta_ = 0;
  std::vector<Set> sets_;                               // by owner
  std::vector<std::unique_ptr<IbClientState>> states_;  // by client; those of this step are first
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_INSERT_BENCHMARK_TABLES_H_
