// Looks at a LinkBench database as a whole: the counts agree with the visible links of each id and
// type, the covering index holds exactly the entries of the links, and every row's data is its own.
//
// Three walks in key order, whatever the size of the database: each sums up hashes of what it sees,
// and sums that should be equal are compared. Only when they differ does it look for the first row
// that is wrong.
#ifndef TESTBED_WORKLOADS_LINKBENCH_CHECK_H_
#define TESTBED_WORKLOADS_LINKBENCH_CHECK_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "workloads/linkbench/schema.h"

namespace testbed::linkbench {

struct CheckCounts {
  bool done = false;
  uint64_t nodes = 0, links = 0, visible_links = 0, index_entries = 0, counts = 0;
  nlohmann::json ToJson() const;
};

// Returns a sentence about the first thing that is wrong, or an empty string.
std::string CheckDatabase(Engine& engine, const Tables& tables, const Settings& settings,
                          const Content& content, CheckCounts* found);

// What of the settings a result must state.
nlohmann::json SettingsJson(const Settings& settings);

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_CHECK_H_
