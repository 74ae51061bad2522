// MariaDB's SQL for the tables and indexes of engines/sql, on InnoDB.
//
// An index is over an invisible virtual column. InnoDB adds the primary key to each of its entries,
// so the index alone answers a query.
#ifndef TESTBED_ENGINES_MYSQL_DIALECT_H_
#define TESTBED_ENGINES_MYSQL_DIALECT_H_

#include <string>
#include <vector>

#include "engines/sql/dialect.h"

namespace testbed::mysql {

class Dialect : public SqlDialect {
 public:
  // `key_size` is the longest key in bytes.
  explicit Dialect(size_t key_size) : key_size_(key_size) {}
  std::string Quote(const std::string& name) const override { return "`" + name + "`"; }
  std::vector<std::string> MakeTable(const SqlTable& table) const override;
  std::vector<std::string> MakeIndex(const SqlTable& index,
                                     const std::vector<IndexPart>& parts) const override;
  std::string HasIndex(const SqlTable& index) const override;
  std::string Get(const SqlTable& table) const override;
  std::string Put(const SqlTable& table) const override;
  std::string Erase(const SqlTable& table) const override;
  std::string Scan(const SqlTable& table, Walk walk) const override;
  size_t ColumnParameters() const override { return 2; }
  size_t max_name_size() const override { return 64; }

 private:
  const size_t key_size_;
};

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_DIALECT_H_
