// A model of the clients of a crash test: the writes of each transaction, and the rows that a
// database must hold after them.
//
// Transaction n of client w follows from (w, n) alone. So a process that knows only the number of
// acknowledged transactions knows every row of every table and index. A transaction overwrites and
// erases rows of two tables with an index each (now and then hundreds of rows), appends a row to a
// queue, erases the oldest row of the queue, and writes its own number to the table `last`, which
// tells after a crash how far the client came. Values have 16 bytes to 100 KB. No two clients write
// the same row, but their rows lie side by side.
//
//   ClientModel model(w, rows_per_transaction);
//   for (const CrashWrite& write : model.Next()) ...      // transaction 1, 2, ...
//   std::map<std::string, RowVersion> rows;
//   model.AddRows(CrashTable::kLeft, &rows);              // the rows after these transactions
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
// Returns the parts of the value that make up an index's key.
const std::vector<IndexPart>& CrashIndexParts(CrashTable index);

struct CrashWrite {
  CrashTable table;
  bool erase;
  std::string key, value;
};

// The client that wrote a row, and the number of its write. The row's value follows from them.
struct RowVersion {
  int client = 0;
  uint64_t write = 0;
  bool index = false;  // the row is an entry of an index, which has no value
  bool last = false;   // the row is of the table `last`, and `write` is its value
};
// Sets *value to the value of a row. The memory of *value is reused.
void CrashValue(const RowVersion& version, std::string* value);

// The rows of one client after some number of its transactions. Not thread-safe.
class ClientModel {
 public:
  static constexpr uint32_t kMostRows = 512;  // bound on the rows of a transaction

  // Starts before the client's first transaction.
  ClientModel(int client, uint32_t rows_per_transaction);

  // Returns the number of the last transaction applied.
  uint64_t transactions() const { return transactions_; }
  // Applies the next transaction and returns its writes, which are valid until the next call.
  const std::vector<CrashWrite>& Next();
  // Applies the transactions up to number n, without making their values.
  void SkipTo(uint64_t n);
  // Returns writes for a transaction that is to be rolled back. Some of their rows exist.
  std::vector<CrashWrite> Junk() const;

  // Adds the rows that the table holds after transaction transactions().
  void AddRows(CrashTable table, std::map<std::string, RowVersion>* rows) const;
  // Adds keys that the table does not hold, but has held or could hold: of `left` and `right` all;
  // of an index, for each row, the entry before the present one; of `queue` those that were erased,
  // and rolled back (Junk), last.
  void AddAbsent(CrashTable table, std::vector<std::string>* keys) const;

 private:
  static constexpr uint32_t kSlots = 700;   // maximum number of rows in each table
  static constexpr uint64_t kQueued = 150;  // number of rows in the queue

  void Step(bool make);
  void WriteSlot(size_t table, uint32_t slot, uint64_t write, bool erase, bool make);
  void Add(CrashTable table, bool erase, std::string key, const RowVersion& version);
  std::string SlotKey(uint32_t slot) const;
  std::string QueueKey(uint64_t n) const;
  // Returns the key of a row's entry in the index of `table` after the row's write `write`.
  std::string IndexKey(size_t table, uint32_t slot, uint64_t write) const;

  const int client_;
  const uint32_t rows_;
  uint64_t transactions_ = 0;
  std::array<std::vector<uint64_t>, 2> written_;  // last write by slot; 0: the row does not exist
  std::array<std::vector<uint64_t>, 2> before_;   // write by slot that the last one replaced; or 0
  std::vector<CrashWrite> writes_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASH_MODEL_H_
