// Workload mixgraph: point reads, updates and scans by the models of models.h, on the rows that a
// load of a data set wrote. An update gives a row a value of another size. Every value can be
// checked by its row (Dataset::SizedValue).
#ifndef TESTBED_WORKLOADS_MIXGRAPH_MIXGRAPH_H_
#define TESTBED_WORKLOADS_MIXGRAPH_MIXGRAPH_H_

#include "workloads/registry.h"

namespace testbed {

WorkloadInfo MixgraphInfo();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MIXGRAPH_MIXGRAPH_H_
