// Models what the clients of a crash test write, and what a database must hold afterwards.
//
// Transaction n of client w follows from (w, n) alone. So a process that knows only the numbers of
// the acknowledged transactions knows every row of every table and index. A transaction overwrites
// and erases rows of two tables with an index each, occasionally hundreds of rows. It appends a row
// to a queue and erases the queue's oldest row. It also stores its own number in the table `last`,
// which tells after a crash how far the client came. Values have 16 bytes to 100 KB. No two clients
// write the same row, but their rows are neighbours.
//
//   ClientModel model(w, rows_per_transaction);
//   for (const CrashWrite& write : model.Next()) ...      // transaction 1, 2, ...
//   std::map<std::string, RowVersion> rows;
//   model.AddRows(CrashTable::kLeft, &rows);              // the rows that must then exist
#ifndef TESTBED_TOOLS_CRASHTEST_CRASH_MODEL_H_
#define TESTBED_TOOLS_CRASHTEST_CRASH_MODEL_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engines/engine.h"

namespace testbed {

enum class CrashTable : uint8_t { kLeft, kRight, kQueue, kLast, kLeftIndex, kRightIndex };
inline constexpr size_t kCrashTables = 6;
const char* CrashTableName(CrashTable table);
inline bool IsCrashIndex(CrashTable table) { return table >= CrashTable::kLeftIndex; }
// Returns the parts of the value by which the index is ordered.
const std::vector<IndexPart>& CrashIndexParts(CrashTable index);

struct CrashWrite {
  CrashTable table;
  bool erase;
  std::string key, value;
};

// The client that wrote a row, and the number of the write: the row's value follows from both.
struct RowVersion {
  int client = 0;
  uint64_t write = 0;
  bool index = false;  // an index entry; its value is empty
  bool last = false;   // a row of `last`; its value is `write`
};
// Sets *value to the value of the version, reusing its memory.
void CrashValue(const RowVersion& version, std::string* value);

// The transactions of one client and the rows that exist after them. Not thread-safe.
class ClientModel {
 public:
  static constexpr uint32_t kMostRows = 512;  // maximum number of rows in a transaction

  // Starts before the client's first transaction.
  ClientModel(int client, uint32_t rows_per_transaction);

  // Returns the number of the last transaction applied.
  uint64_t transactions() const { return transactions_; }
  // Generates and applies the next transaction. The result is valid until the next call.
  const std::vector<CrashWrite>& Next();
  // Applies the transactions up to number n, without generating their values.
  void SkipTo(uint64_t n);
  // Returns writes for a transaction that is rolled back, to existing rows and to others.
  std::vector<CrashWrite> Junk() const;

  // Adds the rows that exist after transaction transactions().
  void AddRows(CrashTable table, std::map<std::string, RowVersion>* rows) const;
  // Adds keys of the table that existed or could exist, but do not exist now.
  void AddAbsent(CrashTable table, std::vector<std::string>* keys) const;

 private:
  static constexpr uint32_t kSlots = 700;   // maximum number of rows in each table
  static constexpr uint64_t kQueued = 150;  // number of rows in the queue

  void Step(bool make);
  void WriteSlot(size_t table, uint32_t slot, uint64_t write, bool erase, bool make);
  void Add(CrashTable table, bool erase, std::string key, const RowVersion& version);
  std::string SlotKey(uint32_t slot) const;
  std::string QueueKey(uint64_t n) const;
  std::string IndexKey(size_t table, uint32_t slot) const;

  const int client_;
  const uint32_t rows_;
  uint64_t transactions_ = 0;
  std::array<std::vector<uint64_t>, 2> written_;  // by slot: the last write, 0 = no row
  std::vector<CrashWrite> writes_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASH_MODEL_H_
