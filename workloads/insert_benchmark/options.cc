#include "workloads/insert_benchmark/options.h"

#include <algorithm>

#include "device/error.h"
#include "engines/extra_options.h"

namespace testbed {
namespace {

constexpr uint64_t kMaxRows = 1ull << 40;
constexpr uint32_t kMaxRowsPerCommit = 100000;

uint32_t Small(const ExtraOptions& extra, const char* name, uint32_t otherwise, uint32_t min,
               uint32_t max) {
  return static_cast<uint32_t>(extra.Integer(name, otherwise, min, max));
}

void ParseSchema(const ExtraOptions& extra, IbSchema::Options* schema) {
  schema->shared = extra.Flag("shared", schema->shared);
  schema->indexes = Small(extra, "indexes", schema->indexes, 0, IbSchema::kMaxIndexes);
  schema->data_min = Small(extra, "data_min", schema->data_min, 0, 4000);
  schema->data_max =
      Small(extra, "data_max", std::max(schema->data_min, schema->data_max), 0, 4000);
  schema->random_pct = Small(extra, "random_pct", schema->random_pct, 0, 100);
  if (schema->data_max < schema->data_min) {
    throw Error(Error::kUsage, "--workload-option data_max is less than data_min");
  }
}

}  // namespace

IbOptions IbOptions::Parse(const Dataset& dataset, const WorkloadOptions& options) {
  const ExtraOptions extra("the insert benchmark", options.extra, "--workload-option");
  IbOptions o;
  o.schema.seed = options.seed;
  ParseSchema(extra, &o.schema);
  o.nr1 = extra.Integer("nr1", dataset.rows(), 1, kMaxRows);
  const double share = extra.Number("nr2_share", 0.1, 0, 1000);
  o.nr2 = extra.Integer(
      "nr2", std::max<uint64_t>(static_cast<uint64_t>(static_cast<double>(o.nr1) * share), 5), 5,
      kMaxRows);
  o.rows_per_commit_load = Small(extra, "rows_per_commit_load", 100, 1, kMaxRowsPerCommit);
  o.rows_per_commit_i1 = Small(extra, "rows_per_commit_i1", 50, 1, kMaxRowsPerCommit);
  o.rows_per_commit_i2 = Small(extra, "rows_per_commit_i2", 5, 1, kMaxRowsPerCommit);
  o.rows_per_commit_read = Small(extra, "rows_per_commit_read", 50, 1, kMaxRowsPerCommit);
  o.deletes = extra.Flag("deletes", false);
  o.query_seconds = extra.Number("query_seconds", 60, 0.1, 1e6);
  o.rate = extra.Number("rate", 0, 0, 1e9);
  o.query_rows = Small(extra, "query_rows", 10, 1, 10000);
  o.sort_rows = extra.Integer("sort_rows", 100000, 1, 1ull << 32);
  o.check_rows = extra.Integer("check_rows", 1000000, 0, kMaxRows);
  o.settle = extra.Flag("settle", false);
  return o;
}

double IbOptions::BytesOfRow() const {
  double bytes = IbSchema::kKeySize + IbSchema::kFixedSize +
                 (static_cast<double>(schema.data_min) + schema.data_max) / 2;
  for (uint32_t k = 0; k < schema.indexes; ++k)
    bytes += static_cast<double>(IbSchema::kIndexKeySizes[k]);
  return bytes;
}

std::vector<std::pair<std::string, std::string>> IbOptions::Names() {
  return {
      {"nr1", "rows that ib.i0 loads, all clients together [--rows]"},
      {"shared", "on: all clients share one table; off: each has its own [off]"},
      {"indexes", "secondary indexes, 0 to 3 [3]"},
      {"data_min", "least length of column data [10]"},
      {"data_max", "greatest length of column data [20]"},
      {"random_pct",
       "3/4 of this percentage of column data is random text, the rest one letter [50]"},
  };
}

std::vector<std::pair<std::string, std::string>> IbOptions::RunNames() {
  return {
      {"nr2", "rows that ib.i1 (4/5) and ib.i2 (1/5) insert, all clients together"},
      {"nr2_share", "nr2 as a share of nr1 [0.1]"},
      {"deletes",
       "on: all steps but ib.i0 and ib.x delete as many of the oldest rows as they insert [off]"},
      {"rows_per_commit_load",
       "rows of a transaction in ib.i0, and of the 100 rows that ib.x inserts [100]"},
      {"rows_per_commit_i1", "rows of a transaction in ib.i1 [50]"},
      {"rows_per_commit_i2", "rows of a transaction in ib.i2 [5]"},
      {"rows_per_commit_read", "rows of a transaction in the read steps [50]"},
      {"query_seconds", "seconds of a read step that keeps its rate [60]"},
      {"rate", "rows that each client inserts a second in a read step [as the step's name says]"},
      {"query_rows", "rows of a range query, or ids of a point query [10]"},
      {"sort_rows", "entries of each index that a client of ib.x sorts in memory at once [100000]"},
      {"check_rows", "rows whose contents are checked at the end of a run; 0 = no check [1000000]"},
      {"settle", "on: the database comes to rest after each step; off: in ib.vac alone [off]"},
  };
}

IbOptions ConcurrentInsertOptions::Parse(const Dataset& dataset, const WorkloadOptions& options) {
  const ExtraOptions extra("concurrent-inserts", options.extra, "--workload-option");
  IbOptions o;
  o.schema.seed = options.seed;
  // The row has 100 bytes: key, other columns and data.
  o.schema.data_min = o.schema.data_max = 100 - IbSchema::kKeySize - IbSchema::kFixedSize;
  ParseSchema(extra, &o.schema);
  o.nr1 = extra.Integer("rows_per_round", dataset.rows(), 1, kMaxRows);
  o.rows_per_commit_load = Small(extra, "rows_per_commit", 1000, 1, kMaxRowsPerCommit);
  o.check_rows = extra.Integer("check_rows", 1000000, 0, kMaxRows);
  o.settle = extra.Flag("settle", false);
  return o;
}

std::vector<std::pair<std::string, std::string>> ConcurrentInsertOptions::Names() {
  return {
      {"shared", "on: all clients share one table; off: each has its own [off]"},
      {"indexes", "secondary indexes, 0 to 3 [3]"},
      {"data_min", "least length of column data [71: 100 bytes a row]"},
      {"data_max", "greatest length of column data [71]"},
      {"random_pct",
       "3/4 of this percentage of column data is random text, the rest one letter [50]"},
  };
}

std::vector<std::pair<std::string, std::string>> ConcurrentInsertOptions::RunNames() {
  return {
      {"rows_per_round", "rows that a round inserts, all clients together [--rows]"},
      {"rows_per_commit", "rows of a transaction [1000]"},
      {"check_rows", "rows whose contents are checked at the end of a run; 0 = no check [1000000]"},
      {"settle", "on: the database comes to rest after each round [off]"},
  };
}

}  // namespace testbed
