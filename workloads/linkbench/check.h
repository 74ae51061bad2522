// Checks a LinkBench database as a whole: the counts must agree with the visible links of each id
// and type, the covering index must hold exactly the entries of the links, and every row's data
// must be the data that belongs to its key.
//
// The check walks the tables of nodes, links, index entries and counts in key order, in constant
// memory. The walks sum up hashes of the rows, and the check compares sums that must be equal. Only
// when they differ does it search for the first wrong row.
#ifndef TESTBED_WORKLOADS_LINKBENCH_CHECK_H_
#define TESTBED_WORKLOADS_LINKBENCH_CHECK_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "workloads/linkbench/schema.h"

namespace testbed::linkbench {

// The numbers of rows that a check found.
struct CheckCounts {
  bool done = false;  // whether all walks came to their end
  uint64_t nodes = 0, links = 0, visible_links = 0, index_entries = 0, counts = 0;
  nlohmann::json ToJson() const;
};

// Returns a sentence about the first error that it finds, or an empty string. Sets *found.
std::string CheckDatabase(Engine& engine, const Tables& tables, const Settings& settings,
                          const Content& content, CheckCounts* found);

// Returns the settings that a result must state.
nlohmann::json SettingsJson(const Settings& settings);

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_CHECK_H_
