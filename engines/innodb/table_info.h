#ifndef TESTBED_ENGINES_INNODB_TABLE_INFO_H_
#define TESTBED_ENGINES_INNODB_TABLE_INFO_H_

#include <cstddef>
#include <memory>
#include <shared_mutex>
#include <string>

#include "engines/engine.h"

namespace testbed::innodb {

// A TableInfo holds what the SQL statements on a table or an index need.
struct TableInfo {
  std::string name;     // the table's name, in quotes
  std::string column;   // for an index, its name and its column's, quoted; empty for a table
  size_t key_part = 0;  // for an index, bytes of a key that come from the value
  TableId table = 0;    // id of the table itself, or of the index's table
  // Server holds `shape` exclusively while the table gets an index: no HANDLER may be opened then.
  std::shared_ptr<std::shared_mutex> shape;
};

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_TABLE_INFO_H_
