#include "engines/mysql/dialect.h"

#include <fmt/format.h>

#include "engines/sql/mariadb_statement.h"

namespace testbed::mysql {
namespace {

std::string HandlerOf(const SqlTable& table) { return fmt::format("h{}", table.table); }

}  // namespace

const char* AccessName(Access access) {
  static constexpr const char* kNames[] = {"prepared", "select", "handler", "batched"};
  return kNames[static_cast<size_t>(access)];
}

const char* StorageName(Storage storage) {
  return storage == Storage::kInnodb ? "innodb" : "rocksdb";
}

std::vector<std::string> Dialect::MakeTable(const SqlTable& table) const {
  return {
      fmt::format("CREATE TABLE IF NOT EXISTS {} (k VARBINARY({}) NOT NULL PRIMARY KEY, v "
                  "LONGBLOB NOT NULL) ENGINE={} ROW_FORMAT=DYNAMIC",
                  table.name, key_size_, StorageName(storage_))};
}

std::vector<std::string> Dialect::MakeIndex(const SqlTable& index,
                                            const std::vector<IndexPart>& parts) const {
  std::string cut;
  for (const IndexPart& part : parts) {
    cut +=
        fmt::format("{}SUBSTR(v, {}, {})", cut.empty() ? "" : ", ", part.offset + 1, part.length);
  }
  return {
      fmt::format("ALTER TABLE {} ADD COLUMN {} BINARY({}) AS (CONCAT({})) VIRTUAL INVISIBLE, "
                  "ADD INDEX {} ({})",
                  index.name, index.column, index.key_part, cut, index.column, index.column)};
}

bool Dialect::HasIndex(const SqlTable& index, const SqlAsk& ask) const {
  return HasIndexColumn("mysql", ask("SHOW COLUMNS FROM " + index.name), index.name,
                        index.column.substr(1, index.column.size() - 2));
}

std::string Dialect::OpenForReads(const SqlTable& table) const {
  if (!IsByHandler(table)) return {};
  return fmt::format("HANDLER {} OPEN AS {}", table.name, HandlerOf(table));
}

std::string Dialect::CloseForReads(const SqlTable& table) const {
  if (!IsByHandler(table)) return {};
  return fmt::format("HANDLER {} CLOSE", HandlerOf(table));
}

std::string Dialect::Get(const SqlTable& table) const {
  if (IsByHandler(table)) {
    return fmt::format("HANDLER {} READ `PRIMARY` = (?)", HandlerOf(table));
  }
  if (table.column.empty()) return fmt::format("SELECT v FROM {} WHERE k = ?", table.name);
  return fmt::format("SELECT '' FROM {0} FORCE INDEX ({1}) WHERE {1} = ? AND k = ?", table.name,
                     table.column);
}

std::string Dialect::Put(const SqlTable& table) const {
  return fmt::format("INSERT INTO {} (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)",
                     table.name);
}

std::string Dialect::Erase(const SqlTable& table) const {
  return fmt::format("DELETE FROM {} WHERE k = ?", table.name);
}

std::string Dialect::Scan(const SqlTable& table, Walk walk) const {
  if (IsByHandler(table)) {
    return fmt::format("HANDLER {} READ `PRIMARY` {} LIMIT ?", HandlerOf(table),
                       HasKey(walk)      ? fmt::format("{} (?)", WalkOperator(walk))
                       : IsForward(walk) ? "FIRST"
                                         : "LAST");
  }
  const char* const order = IsForward(walk) ? "" : " DESC";
  if (table.column.empty()) {
    return fmt::format("SELECT k, v FROM {}{} ORDER BY k{} LIMIT ?", table.name,
                       HasKey(walk) ? fmt::format(" WHERE k {} ?", WalkOperator(walk)) : "", order);
  }
  // In this form, the server's optimiser makes a range of the index from the comparison of two
  // columns.
  std::string where;
  if (HasKey(walk)) {
    where = fmt::format(" WHERE {0} {1}= ? AND ({0} {1} ? OR k {2} ?)", table.column,
                        IsForward(walk) ? ">" : "<", WalkOperator(walk));
  }
  return fmt::format(
      "SELECT CONCAT({0}, k), '' FROM {1} FORCE INDEX ({0}){2} ORDER BY {0}{3}, k{3} "
      "LIMIT ?",
      table.column, table.name, where, order);
}

}  // namespace testbed::mysql
