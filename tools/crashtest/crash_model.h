// What the clients of a crash test write, and what a database must hold after it.
//
// Client w's transaction n follows from (w, n) alone, so a process that knows only how many
// transactions were acknowledged knows every row of every table and index. A transaction overwrites
// and erases rows of two tables with an index each, now and then hundreds of them, appends a row to
// a queue and takes the oldest one away, and notes its own number in the table `last`, which tells
// after a crash how far the client came. Values have 16 bytes to 100 KB. No two clients write the
// same row, but their rows lie side by side.
//
//   ClientModel model(w, rows_per_transaction);
//   for (const CrashWrite& write : model.Next()) ...      // transaction 1, 2, ...
//   std::map<std::string, RowVersion> rows;
//   model.AddRows(CrashTable::kLeft, &rows);              // what is there after them
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
// Of the table that the index belongs to.
const std::vector<IndexPart>& CrashIndexParts(CrashTable index);

struct CrashWrite {
  CrashTable table;
  bool erase;
  std::string key, value;
};

// Who wrote a row, and with which write: its value follows from that.
struct RowVersion {
  int client = 0;
  uint64_t write = 0;
  bool index = false;  // the entry of an index has no value
  bool last = false;   // `write` is the value
};
// Into *value, whose memory is used again.
void CrashValue(const RowVersion& version, std::string* value);

class ClientModel {
 public:
  static constexpr uint32_t kMostRows = 512;  // of a transaction

  ClientModel(int client, uint32_t rows_per_transaction);

  uint64_t transactions() const { return transactions_; }
  // Makes and applies the next transaction. Valid until the next call.
  const std::vector<CrashWrite>& Next();
  // Applies the next ones up to transaction n without making their values.
  void SkipTo(uint64_t n);
  // Writes for a transaction that is rolled back: of rows that exist and of others.
  std::vector<CrashWrite> Junk() const;

  // The rows that are there after transaction transactions().
  void AddRows(CrashTable table, std::map<std::string, RowVersion>* rows) const;
  // Keys of the table that have been there, or could be, and are not.
  void AddAbsent(CrashTable table, std::vector<std::string>* keys) const;

 private:
  static constexpr uint32_t kSlots = 700;   // rows of each table, at most
  static constexpr uint64_t kQueued = 150;  // rows of the queue

  void Step(bool make);
  void WriteSlot(size_t table, uint32_t slot, uint64_t write, bool erase, bool make);
  void Add(CrashTable table, bool erase, std::string key, const RowVersion& version);
  std::string SlotKey(uint32_t slot) const;
  std::string QueueKey(uint64_t n) const;
  std::string IndexKey(size_t table, uint32_t slot) const;

  const int client_;
  const uint32_t rows_;
  uint64_t transactions_ = 0;
  std::array<std::vector<uint64_t>, 2> written_;  // by slot: the write that it has, 0 = none
  std::vector<CrashWrite> writes_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASH_MODEL_H_
