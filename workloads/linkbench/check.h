// Checks a whole LinkBench database: the counts agree with the visible links of each id and type,
// the covering index holds exactly the entries of the links, and each row's data belongs to the
// row.
//
// The check walks each of the four tables once in key order, whatever the size of the database.
// Each walk sums up hashes of the rows, and sums that should be equal are compared. Only when they
// differ does the check search for the first wrong row.
#ifndef TESTBED_WORKLOADS_LINKBENCH_CHECK_H_
#define TESTBED_WORKLOADS_LINKBENCH_CHECK_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "workloads/linkbench/schema.h"

namespace testbed::linkbench {

// The rows that a check has seen.
struct CheckCounts {
  bool done = false;  // whether all walks came to their end
  uint64_t nodes = 0, links = 0, visible_links = 0, index_entries = 0, counts = 0;
  nlohmann::json ToJson() const;
};

// Returns a sentence about the first error, or an empty string. It is empty, too, when the user
// asks to stop; found->done is then false. Replaces *found. No client may write to the tables
// meanwhile.
std::string CheckDatabase(Engine& engine, const Tables& tables, const Settings& settings,
                          const Content& content, CheckCounts* found);

// Does the same for a database that holds what was loaded and nothing else. It then must have all
// nodes, links and counts of the load: rows that are lost together leave the tables in agreement.
std::string CheckLoaded(Engine& engine, const Tables& tables, const Settings& settings,
                        const Content& content, CheckCounts* found);

// Returns the settings that a result must state.
nlohmann::json SettingsJson(const Settings& settings);

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_CHECK_H_
