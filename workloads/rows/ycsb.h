// Workloads ycsb-a to ycsb-f: the core workloads of YCSB as mixes (mixed.h); and ycsb-load, which
// is insert with the rows of YCSB.
//
// Source: Cooper and others, "Benchmarking cloud serving systems with YCSB", SoCC 2010; the files
// workloads/workloada to workloadf and CoreWorkload.java of YCSB 0.17 for what the paper leaves
// open. A row is one value of 1,000 bytes, the ten fields of 100 bytes of YCSB together, so an
// update writes the whole row (writeallfields=true in YCSB's terms; its default writes one field).
// The keys have 23 bytes and come in random order (insertorder=hashed).
#ifndef TESTBED_WORKLOADS_ROWS_YCSB_H_
#define TESTBED_WORKLOADS_ROWS_YCSB_H_

#include <vector>

#include "workloads/registry.h"

namespace testbed {

std::vector<WorkloadInfo> YcsbInfos();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_YCSB_H_
