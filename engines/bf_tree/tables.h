// Tables maps the tables of a database to its one tree: a key begins with the number of its table
// in four bytes, big-endian. Table 0 is the directory of tables: each of its rows maps a table's
// name to its number, and the row with an empty name holds the last number.
#ifndef TESTBED_ENGINES_BF_TREE_TABLES_H_
#define TESTBED_ENGINES_BF_TREE_TABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/bf_tree/gate.h"
#include "engines/bf_tree/tree.h"
#include "engines/engine.h"
#include "engines/open_tables.h"

namespace testbed::bf_tree {

using Table = PrefixedTable;

// Thread-safe.
class Tables {
 public:
  Tables(const Tree* tree, Gate* gate) : tree_(tree), gate_(gate) {}
  // Returns the table's id, and makes the table when it does not exist; *made is set then.
  TableId Open(const std::string& name, bool* made);
  std::vector<Table> opened() const { return tables_.Handles(); }  // indexed by TableId

 private:
  uint32_t FindOrMake(const std::string& name, bool* made) const;

  const Tree* const tree_;
  Gate* const gate_;
  OpenTables<Table> tables_;
};

}  // namespace testbed::bf_tree

#endif  // TESTBED_ENGINES_BF_TREE_TABLES_H_
