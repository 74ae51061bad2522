// The benchmarks of RocksDB's db_bench whose names mean the same here, as presets of the workloads
// of this folder: fillseq, fillrandom, overwrite, readrandom, readwhilewriting, seekrandom,
// multireadrandom. They set db_bench's sizes of keys and values and its single thread.
//
// Source: tools/db_bench_tool.cc of RocksDB 9. docs/workloads.md lists what differs.
#ifndef TESTBED_WORKLOADS_ROWS_DB_BENCH_H_
#define TESTBED_WORKLOADS_ROWS_DB_BENCH_H_

#include <vector>

#include "workloads/registry.h"

namespace testbed {

std::vector<WorkloadInfo> DbBenchInfos();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_DB_BENCH_H_
