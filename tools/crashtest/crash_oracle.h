// The client's side of a crash test (crash_model.h): its tables in an engine, its transactions, and
// the comparison of every row of every table and index with what must be there.
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

// The tables and indexes, opened, and made when they are new.
class CrashTables {
 public:
  explicit CrashTables(Engine* engine);
  TableId operator[](CrashTable table) const { return ids_[static_cast<size_t>(table)]; }
  // The engine writes the entries of indexes itself.
  bool keeps_indexes() const { return keeps_indexes_; }

 private:
  std::array<TableId, kCrashTables> ids_;
  bool keeps_indexes_;
};

// Performs the writes in one transaction; rolled back unless `commit`.
void PerformCrashWrites(Session* session, const CrashTables& tables,
                        const std::vector<CrashWrite>& writes, bool commit);

// How far a client came, as the database says: the number of its last transaction.
uint64_t LastTransaction(Session* session, const CrashTables& tables, int client);

// Compares the whole database with the clients' models, by a point read of every row that is there
// or was once, and by scans in both directions. Throws Error (kCorruption) with the first
// difference; returns the rows that were read.
uint64_t CompareWithModels(Session* session, const CrashTables& tables,
                           const std::vector<ClientModel>& clients);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASH_ORACLE_H_
