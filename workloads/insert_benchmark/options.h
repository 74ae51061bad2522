// The settings of the insert benchmark (--workload-option name=value).
#ifndef TESTBED_WORKLOADS_INSERT_BENCHMARK_OPTIONS_H_
#define TESTBED_WORKLOADS_INSERT_BENCHMARK_OPTIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "workloads/insert_benchmark/schema.h"
#include "workloads/workload.h"

namespace testbed {

struct IbOptions {
  IbSchema::Options schema;
  uint64_t nr1 = 0, nr2 = 0;  // rows of all clients: in the load; in both insert steps
  uint32_t rows_per_commit_load = 100, rows_per_commit_i1 = 50, rows_per_commit_i2 = 5,
           rows_per_commit_read = 50;
  bool deletes = false;
  double query_seconds = 60;  // a read step inserts the rows that its rate gives in this time
  double rate = 0;            // rows per second and client of a read step; 0 = its own rate
  uint32_t query_rows = 10;   // rows of a range query, ids of a point query
  // Rows of one client whose index entries ib.x sorts in memory.
  uint64_t sort_rows = 100000;
  // Rows whose contents are checked after a step; 0 means no check.
  uint64_t check_rows = 1000000;
  bool settle = false;  // whether the database settles after each step

  // Reads the options. Throws Error (kUsage) for a value out of range. `nr1` defaults to the
  // dataset's number of rows.
  static IbOptions Parse(const Dataset& dataset, const WorkloadOptions& options);
  // Return the names and meanings of the options that describe the database, and of the others, for
  // WorkloadInfo.
  static std::vector<std::pair<std::string, std::string>> Names();
  static std::vector<std::pair<std::string, std::string>> RunNames();

  // Returns the average bytes of the keys and values of a row and its index entries.
  double BytesOfRow() const;
  // Returns the rows that each client inserts when all clients together insert `rows`: a multiple
  // of `rows_per_commit`, rounded up.
  static uint64_t RowsOfClient(uint64_t rows, uint32_t clients, uint32_t rows_per_commit) {
    const uint64_t each = (rows + clients - 1) / clients;
    return (each + rows_per_commit - 1) / rows_per_commit * rows_per_commit;
  }
};

// The options of concurrent-inserts, the insert benchmark's form of 2014.
struct ConcurrentInsertOptions {
  // Reads the options. Throws Error (kUsage) for a value out of range.
  static IbOptions Parse(const Dataset& dataset, const WorkloadOptions& options);
  // Return the names and meanings of the options that describe the database, and of the others.
  static std::vector<std::pair<std::string, std::string>> Names();
  static std::vector<std::pair<std::string, std::string>> RunNames();
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_INSERT_BENCHMARK_OPTIONS_H_
