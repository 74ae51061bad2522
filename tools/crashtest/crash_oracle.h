// The client's side of a crash test (crash_model.h): its tables in an engine, its transactions, and
// the comparison of every row of every table and index with the model.
#ifndef TESTBED_TOOLS_CRASHTEST_CRASH_ORACLE_H_
#define TESTBED_TOOLS_CRASHTEST_CRASH_ORACLE_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "tools/crashtest/crash_model.h"

namespace testbed {

// The tables and indexes of the test. The constructor opens them and creates those that are
// missing.
class CrashTables {
 public:
  explicit CrashTables(Engine* engine);
  TableId operator[](CrashTable table) const { return ids_[static_cast<size_t>(table)]; }
  // Returns whether the engine writes index entries itself.
  bool keeps_indexes() const { return keeps_indexes_; }

 private:
  std::array<TableId, kCrashTables> ids_;
  bool keeps_indexes_;
};

// Performs the writes in one transaction, which is committed, or rolled back unless `commit`.
void PerformCrashWrites(Session* session, const CrashTables& tables,
                        const std::vector<CrashWrite>& writes, bool commit);

// Returns the number of the client's last transaction in the database. Throws Error (kCorruption)
// when the row that holds it is malformed.
uint64_t LastTransaction(Session* session, const CrashTables& tables, int client);

// Compares the whole database with the clients' models: by a point read of every row that exists or
// existed, and by scans in both directions. Returns the number of rows read. Throws Error
// (kCorruption) for the first difference.
uint64_t CompareWithModels(Session* session, const CrashTables& tables,
                           const std::vector<ClientModel>& clients);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASH_ORACLE_H_
