// The database of the insert benchmark: its tables, which rows they hold, and whether they are
// right.
//
// A client's rows are those with numbers [first, next) (ib_schema.h): inserts append, deletes take
// the oldest. Both bounds are found in the tables themselves when they are opened, so a step can go
// on in a later process where another ended. The table "ib" records what the rows were made from,
// which clients' indexes are built, and where the numbers go on of a client whose rows were all
// deleted; who opens the tables with other settings is refused.
//
//   IbTables tables(schema_options);
//   tables.Open(engine, clients, IbTables::kIndexed);
//   tables.client(c).next ...
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

// What a client's threads share and leave behind. Each part has one writer.
struct IbClientState {
  struct alignas(128) Inserter {
    std::atomic<uint64_t> first{0}, next{0};  // rows [first, next) are there
    std::atomic<bool> done{false};            // all that it was to write is written
    uint64_t inserted = 0, deleted = 0;
  } inserter;
  struct alignas(128) Querier {
    uint64_t queries = 0, rows = 0;
  } querier;
};

class IbTables {
 public:
  // What a step needs to find.
  enum Need {
    kNew,         // nothing; the indexes are built later
    kNewIndexed,  // nothing or rows with indexes; inserts maintain the indexes from the first row
    kRows,        // rows, with indexes or not
    kUnindexed,   // rows, of which one client's at least have no indexes yet
    kIndexed,     // rows whose indexes are built
  };
  struct Set {
    TableId rows = 0;
    std::array<TableId, IbSchema::kMaxIndexes> indexes{};
  };

  // `options.clients` is chosen by Open.
  explicit IbTables(const IbSchema::Options& options) : options_(options) {}

  // Throws Error (kUsage) when the database is not what the step needs; `step` is named in it.
  void Open(Engine& engine, int clients, Need need, const std::string& step);

  const IbSchema& schema() const { return *schema_; }
  uint32_t clients() const { return options_.clients; }
  const Set& set(uint32_t client) const { return sets_[options_.shared ? 0 : client]; }
  // Whether the engine keeps the indexes: nobody writes their entries (engines/engine.h).
  bool engine_keeps_indexes() const { return engine_->KeepsIndexes(); }
  // Has the engine build the indexes of a client's table; of a shared one, for all of them.
  void BuildIndexes(uint32_t client);
  IbClientState& client(uint32_t c) { return *states_[c]; }
  const IbClientState& client(uint32_t c) const { return *states_[c]; }
  uint64_t rows() const;  // of all clients

  // Records that a client's indexes are built. The table "ib" may stand in another database than
  // the client's: not within a transaction.
  void RecordIndexed(Session& session, uint32_t client) const;
  bool Indexed(Session& session, uint32_t client) const;
  // Records which number a client's next row has; before its last rows are deleted. Like the above.
  void RecordNext(Session& session, uint32_t client, uint64_t next) const;

  // Walks all tables: every row between a client's bounds must be there, and no other, and each
  // index must hold one entry for each row. So the counts are exact. Contents of rows and entries
  // are checked for all of `contents` rows and fewer, and for every k-th row of more so that it is
  // about so many. Returns a sentence about the first thing that is wrong, or nothing.
  std::string Check(Engine& engine, uint64_t contents) const;

 private:
  std::string Setup() const;
  void OpenSet(const std::string& name);
  void OpenIndexes(uint32_t owner);
  void Recognise(Session& session, Need need, const std::string& step);
  bool HoldsRows(Session& session, uint32_t client) const;
  void FindBounds(Session& session, uint32_t client);
  // Whether the indexes of the tables of `owner` are built, for all clients that use them.
  bool AllIndexed(Session& session, uint32_t owner) const;
  std::string CheckRows(Session& session, uint32_t owner, uint64_t every) const;
  std::string CheckIndex(Session& session, uint32_t owner, uint32_t index, uint64_t every) const;
  // Whether a row with this id belongs into the tables of `owner`.
  bool Belongs(uint64_t id, uint32_t owner) const;
  uint64_t RowsOf(uint32_t owner) const;
  std::string TableName(uint32_t owner) const;

  IbSchema::Options options_;
  Engine* engine_ = nullptr;
  std::unique_ptr<IbSchema> schema_;
  TableId meta_ = 0;
  std::vector<Set> sets_;
  std::vector<std::unique_ptr<IbClientState>> states_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_INSERT_BENCHMARK_TABLES_H_
