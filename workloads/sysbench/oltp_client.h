// One thread of a workload of oltp.h: draws the statements of its transactions and performs them.
#ifndef TESTBED_WORKLOADS_SYSBENCH_OLTP_CLIENT_H_
#define TESTBED_WORKLOADS_SYSBENCH_OLTP_CLIENT_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "device/os/mutex.h"
#include "workloads/sysbench/schema.h"

namespace testbed::sysbench {

enum class StatementKind : uint8_t {
  kPointSelect,     // SELECT c WHERE id=?
  kPointSelects,    // kPointSelect, Settings::point_selects times
  kSimpleRange,     // SELECT c WHERE id BETWEEN ? AND ?
  kSumRange,        // SELECT SUM(k) WHERE id BETWEEN ? AND ?
  kOrderRange,      // SELECT c WHERE id BETWEEN ? AND ? ORDER BY c
  kDistinctRange,   // SELECT DISTINCT c WHERE id BETWEEN ? AND ? ORDER BY c
  kIndexUpdate,     // UPDATE SET k=k+1 WHERE id=?
  kNonIndexUpdate,  // UPDATE SET c=? WHERE id=?
  kDeleteInsert,    // DELETE WHERE id=?, and INSERT with the same id
  kInsert,          // INSERT with the next id
  kDelete,          // DELETE WHERE id=?
};
inline bool StatementWrites(StatementKind kind) { return kind >= StatementKind::kIndexUpdate; }
inline bool StatementDeletes(StatementKind kind) {
  return kind == StatementKind::kDeleteInsert || kind == StatementKind::kDelete;
}

// The state that all clients of a phase share. Thread-safe while clients are at work.
struct OltpPhase {
  explicit OltpPhase(const Settings& s) : settings(s) {}
  // Finds the id that the next insert into each table gets.
  void FindNextIds(Engine& engine);
  // Finds out whether each id of the load has a row, and records it when the phase may change that.
  void FindWhole(Engine& engine);

  const Settings& settings;
  Tables tables;
  std::vector<StatementKind> statements;
  uint64_t number = 0;  // number of this phase on the database (writing_phases.h)
  bool deletes_only() const {
    return std::all_of(statements.begin(), statements.end(),
                       [](StatementKind kind) { return kind == StatementKind::kDelete; });
  }
  bool deletes() const {
    return std::any_of(statements.begin(), statements.end(), StatementDeletes);
  }
  bool transaction = false;        // all statements are one transaction
  std::atomic<bool> empty{false};  // nothing is left to delete
  bool whole = false;              // each id from 1 to settings.table_size always has a row
  std::vector<std::unique_ptr<std::atomic<uint64_t>>> next_ids;  // next id of each table
  std::atomic<bool> full{false};                                 // a table has no further id
  std::array<Mutex, 1024> locks;                                 // locks of rows
};

// Returns the client of thread number `thread` of `threads`. `phase` and `session` must outlive it.
std::unique_ptr<Client> NewOltpClient(OltpPhase& phase, Session& session, int thread, int threads);

}  // namespace testbed::sysbench

#endif  // TESTBED_WORKLOADS_SYSBENCH_OLTP_CLIENT_H_
