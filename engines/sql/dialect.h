// An SqlDialect is the SQL of one kind of server for what the engines need: tables of binary keys
// and values, secondary indexes, and walks in the order of bytes.
//
// A table has the columns k, the key, and v, the value. An index is a column of the index's name,
// which the server computes from v, and an index over this column and k.
#ifndef TESTBED_ENGINES_SQL_DIALECT_H_
#define TESTBED_ENGINES_SQL_DIALECT_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace testbed {

// A Walk says where a batch of a cursor begins, and its direction. kFirst, kFrom and kAfter go
// forward, from the first row, from the first row at or after a key, and from the first row after
// it. kLast, kUpTo and kBefore go backward, from the last row, from the last row at or before a
// key, and from the last row before it.
enum class Walk : uint8_t { kFirst, kFrom, kAfter, kLast, kUpTo, kBefore };
inline constexpr size_t kWalks = 6;
inline bool IsForward(Walk walk) { return walk < Walk::kLast; }
inline bool HasKey(Walk walk) { return walk != Walk::kFirst && walk != Walk::kLast; }
// Returns the comparison of a row's key with the walk's: ">=", ">", "<=" or "<".
const char* WalkOperator(Walk walk);
// If *key is longer than `longest` bytes, which no row's key is, cuts it to them, and returns the
// walk from the rest that finds the same rows. Otherwise, returns `walk`. A server may ignore the
// bytes of a key that its column has no room for, as MariaDB does in a HANDLER.
Walk WithoutExcess(Walk walk, size_t longest, std::string_view* key);

// An SqlTable is a table or an index as statements name it.
struct SqlTable {
  std::string name;     // name of the table, quoted, with its schema
  std::string column;   // name of the index, quoted; empty for a table
  size_t key_part = 0;  // bytes of the index's column, which begin each key of the index
  TableId table = 0;    // id of the table itself, or of the index's table
};

// Throws Error (kUsage) when `name`, which is in use already, does not name an index of `table`.
// `column` and `of` are the column and the table of what has the name (SqlTable).
void CheckNamesIndexOf(const std::string& engine, const std::string& name,
                       const std::string& column, TableId of, TableId table);

// An SqlAsk runs a statement and returns its rows.
using SqlAsk = std::function<std::vector<std::vector<std::string>>(const std::string& sql)>;

class SqlDialect {
 public:
  virtual ~SqlDialect() = default;
  virtual std::string Quote(const std::string& name) const = 0;
  // MakeTable returns the statements that make a table, and MakeIndex those that add an index to a
  // table.
  virtual std::vector<std::string> MakeTable(const SqlTable& table) const = 0;
  virtual std::vector<std::string> MakeIndex(const SqlTable& index,
                                             const std::vector<IndexPart>& parts) const = 0;
  // HasIndex asks the server whether the index exists. Throws Error (kUsage) when the server would
  // take another column of the table for that of the index, or another relation for the index.
  virtual bool HasIndex(const SqlTable& index, const SqlAsk& ask) const = 0;

  // OpenForReads returns the statement by which a session's connection opens a table before its
  // first read from it, and CloseForReads the statement by which the connection closes the table.
  // While a table is open, it can get no index. Both return an empty string in a dialect that opens
  // no tables.
  virtual std::string OpenForReads(const SqlTable& table) const { return {}; }
  virtual std::string CloseForReads(const SqlTable& table) const { return {}; }

  // These functions return the SQL of prepared statements. Get has the parameter k, or for an index
  // its column and k. It returns v as the column with the number ValueColumn, counted from 0.
  virtual std::string Get(const SqlTable& table) const = 0;
  virtual size_t ValueColumn(const SqlTable& table) const { return 0; }
  virtual std::string Put(const SqlTable& table) const = 0;    // parameters k, v
  virtual std::string Erase(const SqlTable& table) const = 0;  // parameter k
  // A walk (Scan) has the parameters of Get, if it has a key, and then the greatest number of rows.
  // It returns the key, including an index's column, and the value.
  virtual std::string Scan(const SqlTable& table, Walk walk) const = 0;
  // Returns how many times the index's column is a parameter of a walk with a key.
  virtual size_t ColumnParameters() const = 0;

  virtual size_t max_name_size() const = 0;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_DIALECT_H_
