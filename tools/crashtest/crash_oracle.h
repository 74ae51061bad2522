// Performs the clients' transactions of a crash test (crash_model.h) on an engine, and compares
// every row of every table and index with the model.
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

// The tables and indexes of a crash test. The constructor opens them, and creates those that do not
// exist.
class CrashTables {
 public:
  explicit CrashTables(Engine* engine);
  TableId operator[](CrashTable table) const { return ids_[static_cast<size_t>(table)]; }
  // Returns whether the engine writes the entries of indexes itself.
  bool keeps_indexes() const { return keeps_indexes_; }

 private:
  std::array<TableId, kCrashTables> ids_;
  bool keeps_indexes_;
};

// Performs the writes in one transaction, and commits it or, without `commit`, rolls it back.
void PerformCrashWrites(Session* session, const CrashTables& tables,
                        const std::vector<CrashWrite>& writes, bool commit);

// Returns the number of a client's last transaction according to the database; 0 when it has none.
// Throws Error (kCorruption) when the row is not a number.
uint64_t LastTransaction(Session* session, const CrashTables& tables, int client);

// Compares the whole database with the clients' models, by point reads of the rows that it must
// hold and of rows that it must not hold, and by scans in both directions. Returns the number of
// rows read. Throws Error (kCorruption) at the first difference.
uint64_t CompareWithModels(Session* session, const CrashTables& tables,
                           const std::vector<ClientModel>& clients);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASH_ORACLE_H_
