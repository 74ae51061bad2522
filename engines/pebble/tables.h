// Tables maps the tables of a database of Pebble to its one key space: a key begins with the number
// of its table in four bytes, big-endian, as CockroachDB's keys begin with theirs. Table 0 is the
// directory of tables: each of its rows maps a table's name to its number.
#ifndef TESTBED_ENGINES_PEBBLE_TABLES_H_
#define TESTBED_ENGINES_PEBBLE_TABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/open_tables.h"

namespace testbed::pebble {

using Table = PrefixedTable;

// Thread-safe.
class Tables {
 public:
  // `db` is the library's handle of the open database, which must stay open.
  explicit Tables(uintptr_t db) : db_(db) {}
  // Returns the table's id, and makes the table durably when it does not exist.
  TableId Open(const std::string& name);
  std::vector<Table> opened() const { return tables_.Handles(); }  // indexed by TableId

 private:
  uint32_t FindOrMake(const std::string& name) const;

  const uintptr_t db_;
  OpenTables<Table> tables_;
};

}  // namespace testbed::pebble

#endif  // TESTBED_ENGINES_PEBBLE_TABLES_H_
