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
  uint64_t nr1 = 0, nr2 = 0;  // rows of all clients in the load, and in the two insert steps
  uint32_t rows_per_commit_load = 100, rows_per_commit_i1 = 50, rows_per_commit_i2 = 5,
           rows_per_commit_read = 50;
  bool deletes = false;
  double query_seconds = 60;    // a read step inserts the rows that its rate gives for this time
  double rate = 0;              // rows per second and client of a read step; 0 = the step's own
  uint32_t query_rows = 10;     // rows of a range query, ids of a point query
  uint64_t sort_rows = 100000;  // rows of a client whose index entries ib.x sorts in memory
  // Rows whose contents are checked after a step; 0 = no check.
  uint64_t check_rows = 1000000;
  bool settle = false;  // bring the database to rest after each step

  // Reads the options. If nr1 is not given, it is the number of rows of the data set. Throws Error
  // (kUsage) for wrong values.
  static IbOptions Parse(const Dataset& dataset, const WorkloadOptions& options);
  // Return the names and meanings of the options that describe the database (Names) and of those
  // that say how a step runs (RunNames), for WorkloadInfo.
  static std::vector<std::pair<std::string, std::string>> Names();
  static std::vector<std::pair<std::string, std::string>> RunNames();

  // Returns the mean number of bytes in the keys and values of a row and its index entries.
  double BytesOfRow() const;
  // Returns the number of rows that each client inserts, a multiple of `rows_per_commit`, so that
  // all clients together insert at least `rows`.
  static uint64_t RowsOfClient(uint64_t rows, uint32_t clients, uint32_t rows_per_commit) {
    const uint64_t each = (rows + clients - 1) / clients;
    return (each + rows_per_commit - 1) / rows_per_commit * rows_per_commit;
  }
};

// The options of concurrent-inserts, the insert benchmark's form of 2014.
struct ConcurrentInsertOptions {
  // These do what their like of IbOptions do.
  static IbOptions Parse(const Dataset& dataset, const WorkloadOptions& options);
  static std::vector<std::pair<std::string, std::string>> Names();
  static std::vector<std::pair<std::string, std::string>> RunNames();
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_INSERT_BENCHMARK_OPTIONS_H_
