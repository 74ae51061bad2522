#include "tools/crashtest/crash_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>

#include "device/error.h"
#include "engines/inspect.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

using Rows = std::map<std::string, RowVersion>;

[[noreturn]] void Differ(CrashTable table, std::string_view key, const std::string& what) {
  throw Error(Error::kCorruption,
              fmt::format("table {}, row '{}': {}", CrashTableName(table), KeyText(key), what));
}

std::string WrittenBy(const RowVersion& version) {
  if (version.last) return fmt::format("transaction {}", version.write);
  return fmt::format("transaction {} of client {}", version.write / ClientModel::kMostRows,
                     version.client);
}

void CompareValue(CrashTable table, std::string_view key, std::string_view found,
                  const RowVersion& version, const char* how) {
  std::string expected;
  CrashValue(version, &expected);
  if (found == expected) return;
  const auto at = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  Differ(table, key,
         fmt::format("{} has another value than {} wrote: {} for {}, different from byte {} "
                     "on",
                     how, WrittenBy(version), Counted(found.size(), "byte"), Count(expected.size()),
                     at.first - found.begin()));
}

uint64_t CompareByPointReads(Session* session, TableId id, CrashTable table, const Rows& rows,
                             const std::vector<std::string>& absent) {
  std::string_view value;
  for (const auto& [key, version] : rows) {
    if (!session->Get(id, key, &value)) {
      Differ(table, key, "a point read does not find it; " + WrittenBy(version) + " wrote it");
    }
    CompareValue(table, key, value, version, "a point read");
  }
  for (const std::string& key : absent) {
    if (session->Get(id, key, &value)) {
      Differ(table, key,
             fmt::format("a point read finds {}, and no row is to be there",
                         Counted(value.size(), "byte")));
    }
  }
  return rows.size();
}

// Compares a scan of the whole table with the expected rows, from `at` to `end`. Returns the number
// of rows read.
template <bool forward, typename Iterator>
uint64_t CompareByScan(Cursor* cursor, CrashTable table, Iterator at, Iterator end) {
  constexpr const char* how = forward ? "a scan forward" : "a scan backward";
  uint64_t rows = 0;
  bool on = forward ? cursor->First() : cursor->Last();
  for (; on; on = forward ? cursor->Next() : cursor->Prev(), ++at, ++rows) {
    if (at == end || cursor->key() != at->first) {
      const bool missing =
          at != end && (forward ? cursor->key() > at->first : cursor->key() < at->first);
      if (missing) Differ(table, at->first, std::string(how) + " does not find it");
      Differ(table, cursor->key(), std::string(how) + " finds it, and it is not to be there");
    }
    CompareValue(table, at->first, cursor->value(), at->second, how);
  }
  if (at != end) Differ(table, at->first, std::string(how) + " ends before it");
  return rows;
}

}  // namespace

CrashTables::CrashTables(Engine* engine) : keeps_indexes_(engine->KeepsIndexes()) {
  for (size_t i = 0; i < kCrashTables; ++i) {
    const auto table = static_cast<CrashTable>(i);
    const char* name = CrashTableName(table);
    const CrashTable of = table == CrashTable::kLeftIndex ? CrashTable::kLeft : CrashTable::kRight;
    ids_[i] = IsCrashIndex(table) && keeps_indexes_
                  ? engine->OpenIndex(name, (*this)[of], CrashIndexParts(table))
                  : engine->OpenTable(name);
  }
}

void PerformCrashWrites(Session* session, const CrashTables& tables,
                        const std::vector<CrashWrite>& writes, bool commit) {
  session->Begin();
  for (const CrashWrite& write : writes) {
    if (IsCrashIndex(write.table) && tables.keeps_indexes()) continue;
    if (write.erase) {
      session->Erase(tables[write.table], write.key);
    } else {
      session->Put(tables[write.table], write.key, write.value);
    }
  }
  commit ? session->Commit() : session->Rollback();
}

uint64_t LastTransaction(Session* session, const CrashTables& tables, int client) {
  const std::string key = fmt::format("client-{:02d}", client);
  std::string_view value;
  if (!session->Get(tables[CrashTable::kLast], key, &value)) return 0;
  uint64_t n = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), n);
  if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) {
    Differ(CrashTable::kLast, key,
           "its value of " + Counted(value.size(), "byte") + " is no number");
  }
  return n;
}

uint64_t CompareWithModels(Session* session, const CrashTables& tables,
                           const std::vector<ClientModel>& clients) {
  uint64_t read = 0;
  for (size_t i = 0; i < kCrashTables; ++i) {
    const auto table = static_cast<CrashTable>(i);
    Rows rows;
    std::vector<std::string> absent;
    for (const ClientModel& client : clients) {
      client.AddRows(table, &rows);
      client.AddAbsent(table, &absent);
    }
    // An index that the engine keeps itself can be read only by cursors.
    if (!IsCrashIndex(table) || !tables.keeps_indexes()) {
      read += CompareByPointReads(session, tables[table], table, rows, absent);
    }
    const std::unique_ptr<Cursor> cursor = session->NewCursor(tables[table]);
    read += CompareByScan<true>(cursor.get(), table, rows.begin(), rows.end());
    read += CompareByScan<false>(cursor.get(), table, rows.rbegin(), rows.rend());
  }
  return read;
}

}  // namespace testbed
