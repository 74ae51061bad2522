// IbTables is the database of the insert benchmark: it opens the tables, knows which rows they hold
// and checks them.
//
// A client's rows have the numbers [first, next) (schema.h): inserts append rows, and deletes
// remove the oldest. Open finds both bounds in the tables themselves, so a step can go on in a
// later process where an earlier step ended. The table "ib" records the settings that the rows were
// made from, the clients whose indexes are built, and the next number of a client whose rows were
// all deleted. Open refuses other settings than the recorded ones.
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

// The state that a client's threads share, and that stays after them. Each part has one writer.
struct IbClientState {
  struct alignas(128) Inserter {
    std::atomic<uint64_t> first{0}, next{0};  // the tables hold rows [first, next)
    std::atomic<bool> done{false};            // the inserter has ended
    uint64_t inserted = 0, deleted = 0;
  } inserter;
  struct alignas(128) Querier {
    uint64_t queries = 0, rows = 0;
  } querier;
};

class IbTables {
 public:
  // The state of the database that a step needs.
  enum Need {
    kNew,         // the database is empty, and the indexes are built later
    kNewIndexed,  // it is empty or has rows with indexes; inserts maintain the indexes
    kRows,        // it has rows, with indexes or not
    kUnindexed,   // it has rows, and at least one client has no indexes yet
    kIndexed,     // it has rows, and their indexes are built
  };
  struct Set {
    TableId rows = 0;
    std::array<TableId, IbSchema::kMaxIndexes> indexes{};
  };

  // Open sets `options.clients`.
  explicit IbTables(const IbSchema::Options& options) : options_(options) {}

  // Opens the tables. Throws Error (kUsage), which names `step`, when the database is not in the
  // state that the step needs. `engine` must outlive this object's use. The methods below need open
  // tables.
  void Open(Engine& engine, int clients, Need need, const std::string& step);

  const IbSchema& schema() const { return *schema_; }
  uint32_t clients() const { return options_.clients; }
  const Set& set(uint32_t client) const { return sets_[options_.shared ? 0 : client]; }
  // Returns whether the engine keeps the indexes, so that clients write no entries
  // (engines/engine.h).
  bool engine_keeps_indexes() const { return engine_->KeepsIndexes(); }
  // Lets the engine build the indexes of a client's table. In a shared table, client 0 builds the
  // indexes of all clients, and the call does nothing for the others.
  void BuildIndexes(uint32_t client);
  IbClientState& client(uint32_t c) { return *states_[c]; }
  const IbClientState& client(uint32_t c) const { return *states_[c]; }
  uint64_t rows() const;  // number of rows of all clients

  // Records that a client's indexes are built. The table "ib" may be in another database than the
  // client's tables, so this is not called within a transaction.
  void RecordIndexed(Session& session, uint32_t client) const;
  // Returns whether a client's indexes are recorded as built.
  bool Indexed(Session& session, uint32_t client) const;
  // Records the number of a client's next row, before the client's last rows are deleted. Not
  // called within a transaction.
  void RecordNext(Session& session, uint32_t client, uint64_t next) const;

  // Walks all tables. They must hold every row between a client's bounds and no other row, and each
  // index must hold one entry for each row. The counts are always exact. The contents of rows and
  // entries are checked for every k-th row, so that about `contents` rows are checked; 0 checks
  // nothing at all. Returns a sentence about the first error, or an empty string.
  std::string Check(Engine& engine, uint64_t contents) const;

 private:
  std::string Setup() const;
  void OpenSet(const std::string& name);
  void OpenIndexes(uint32_t owner);
  void Recognise(Session& session, Need need, const std::string& step);
  bool HoldsRows(Session& session, uint32_t client) const;
  void FindBounds(Session& session, uint32_t client);
  // An `owner` stands for a set of tables: it is the client that uses them, or 0 if they are
  // shared. Returns whether the indexes are built for all clients that use the tables.
  bool AllIndexed(Session& session, uint32_t owner) const;
  std::string CheckRows(Session& session, uint32_t owner, uint64_t every) const;
  std::string CheckIndex(Session& session, uint32_t owner, uint32_t index, uint64_t every) const;
  // Returns whether a row with this id belongs into the tables.
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
