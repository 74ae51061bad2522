// A Dialect is PostgreSQL's SQL for the tables and indexes of engines/sql.
//
// An index is over a stored generated column and k, so that the server reads only the index where
// pages are all-visible (an index-only scan). Values are stored uncompressed: pglz, which the
// server uses for long values by default, is off.
#ifndef TESTBED_ENGINES_POSTGRES_DIALECT_H_
#define TESTBED_ENGINES_POSTGRES_DIALECT_H_

#include <string>
#include <vector>

#include "engines/sql/dialect.h"

namespace testbed::postgres {

class Dialect : public SqlDialect {
 public:
  std::string Quote(const std::string& name) const override { return "\"" + name + "\""; }
  std::vector<std::string> MakeTable(const SqlTable& table) const override;
  std::vector<std::string> MakeIndex(const SqlTable& index,
                                     const std::vector<IndexPart>& parts) const override;
  bool HasIndex(const SqlTable& index, const SqlAsk& ask) const override;
  std::string Get(const SqlTable& table) const override;
  std::string Put(const SqlTable& table) const override;
  std::string Erase(const SqlTable& table) const override;
  std::string Scan(const SqlTable& table, Walk walk) const override;
  size_t ColumnParameters() const override { return 1; }
  size_t max_name_size() const override { return 63; }
};

}  // namespace testbed::postgres

#endif  // TESTBED_ENGINES_POSTGRES_DIALECT_H_
