#include "engines/postgres/dialect.h"

#include <fmt/format.h>

#include "device/error.h"

namespace testbed::postgres {

std::vector<std::string> Dialect::MakeTable(const SqlTable& table) const {
  return {fmt::format("CREATE TABLE IF NOT EXISTS {} (k bytea PRIMARY KEY, v bytea NOT NULL)",
                      table.name),
          fmt::format("ALTER TABLE {0} ALTER k SET STORAGE PLAIN, ALTER v SET STORAGE EXTERNAL",
                      table.name)};
}

std::vector<std::string> Dialect::MakeIndex(const SqlTable& index,
                                            const std::vector<IndexPart>& parts) const {
  std::string cut;
  for (const IndexPart& part : parts) {
    cut += fmt::format("{}substring(v from {} for {})", cut.empty() ? "" : " || ", part.offset + 1,
                       part.length);
  }
  return {fmt::format("ALTER TABLE {} ADD COLUMN IF NOT EXISTS {} bytea GENERATED ALWAYS AS ({}) "
                      "STORED",
                      index.name, index.column, cut),
          fmt::format("CREATE INDEX IF NOT EXISTS {0} ON {1} ({0}, k)", index.column, index.name)};
}

// The statements of MakeIndex pass over a column and an index that are there already, whatever they
// are. Names of indexes are those of tables, too, and are given once in a schema.
bool Dialect::HasIndex(const SqlTable& index, const SqlAsk& ask) const {
  const std::string schema = index.name.substr(0, index.name.find('.') + 1);
  const std::string name = index.column.substr(1, index.column.size() - 2);
  const auto refuse = [&](const std::string& what) {
    throw Error(Error::kUsage,
                fmt::format("postgres cannot name an index '{}': {} has that name; give the index "
                            "another name",
                            name, what));
  };
  const auto column = ask(
      fmt::format("SELECT attgenerated <> '' FROM pg_attribute WHERE attrelid = to_regclass('{}') "
                  "AND attname = '{}'",
                  index.name, name));
  const bool has_column = !column.empty() && column[0][0] == "t";
  if (!column.empty() && !has_column) refuse("a column of table " + index.name);
  const auto relation =
      ask(fmt::format("SELECT coalesce((SELECT indrelid = to_regclass('{}') FROM pg_index WHERE "
                      "indexrelid = r), false) FROM to_regclass('{}{}') AS r WHERE r IS NOT NULL",
                      index.name, schema, index.column));
  if (relation.empty()) return false;
  if (!has_column || relation[0][0] != "t") refuse("another table or index of the schema");
  return true;
}

std::string Dialect::Get(const SqlTable& table) const {
  if (table.column.empty()) return fmt::format("SELECT v FROM {} WHERE k = $1", table.name);
  return fmt::format("SELECT ''::bytea FROM {} WHERE {} = $1 AND k = $2", table.name, table.column);
}

std::string Dialect::Put(const SqlTable& table) const {
  return fmt::format(
      "INSERT INTO {} (k, v) VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v",
      table.name);
}

std::string Dialect::Erase(const SqlTable& table) const {
  return fmt::format("DELETE FROM {} WHERE k = $1", table.name);
}

std::string Dialect::Scan(const SqlTable& table, Walk walk) const {
  const bool index = !table.column.empty();
  const char* const order = IsForward(walk) ? "" : " DESC";
  std::string sql = index
                        ? fmt::format("SELECT {} || k, ''::bytea FROM {}", table.column, table.name)
                        : fmt::format("SELECT k, v FROM {}", table.name);
  if (HasKey(walk)) {
    sql += index ? fmt::format(" WHERE ({}, k) {} ($1, $2)", table.column, WalkOperator(walk))
                 : fmt::format(" WHERE k {} $1", WalkOperator(walk));
  }
  sql += index ? fmt::format(" ORDER BY {0}{1}, k{1}", table.column, order)
               : fmt::format(" ORDER BY k{}", order);
  return sql + fmt::format(" LIMIT ${}", !HasKey(walk) ? 1 : index ? 3 : 2);
}

}  // namespace testbed::postgres
