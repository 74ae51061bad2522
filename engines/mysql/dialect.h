// A Dialect is MariaDB's SQL for the tables and indexes of engines/sql, on InnoDB or, tables alone,
// on MyRocks.
//
// An index is over an invisible virtual column. InnoDB adds the primary key to each of its entries,
// so the index alone answers a query.
//
// With HANDLER, a session opens a table once, and then reads it by its key past SQL's optimiser. An
// index is read by SELECT even then: a HANDLER on an index would look up the whole row for each
// entry, and cannot begin at a row in the middle of those with one value of the index.
#ifndef TESTBED_ENGINES_MYSQL_DIALECT_H_
#define TESTBED_ENGINES_MYSQL_DIALECT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/sql/dialect.h"

namespace testbed::mysql {

// Access says how rows are read: by SELECT or HANDLER, prepared, or by SELECT as text. In kSelect
// writes are sent as text, too, as by a client that prepares nothing; in kBatched several
// statements are sent as one text.
enum class Access : uint8_t { kPrepared, kSelect, kHandler, kBatched };
const char* AccessName(Access access);

// Storage says which storage engine of the server keeps the tables.
enum class Storage : uint8_t { kInnodb, kRocksdb };
const char* StorageName(Storage storage);

class Dialect : public SqlDialect {
 public:
  // `key_size` is the longest key in bytes.
  Dialect(size_t key_size, Access access, Storage storage)
      : key_size_(key_size), access_(access), storage_(storage) {}
  std::string Quote(const std::string& name) const override { return "`" + name + "`"; }
  std::vector<std::string> MakeTable(const SqlTable& table) const override;
  std::vector<std::string> MakeIndex(const SqlTable& index,
                                     const std::vector<IndexPart>& parts) const override;
  bool HasIndex(const SqlTable& index, const SqlAsk& ask) const override;
  std::string OpenForReads(const SqlTable& table) const override;
  std::string CloseForReads(const SqlTable& table) const override;
  std::string Get(const SqlTable& table) const override;
  size_t ValueColumn(const SqlTable& table) const override { return IsByHandler(table) ? 1 : 0; }
  std::string Put(const SqlTable& table) const override;
  std::string Erase(const SqlTable& table) const override;
  std::string Scan(const SqlTable& table, Walk walk) const override;
  size_t ColumnParameters() const override { return 2; }
  size_t max_name_size() const override { return 64; }

 private:
  bool IsByHandler(const SqlTable& table) const {
    return access_ == Access::kHandler && table.column.empty();
  }

  const size_t key_size_;
  const Access access_;
  const Storage storage_;
};

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_DIALECT_H_
