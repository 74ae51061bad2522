// The share of the processors that other programs used while a document's phases were measured
// (docs/results.md, "foreign_cpu_share"). The rates and times of such phases are not the engine's
// alone.
#ifndef TESTBED_TOOLS_REPORT_FOREIGN_CPU_H_
#define TESTBED_TOOLS_REPORT_FOREIGN_CPU_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace testbed {

// The smallest share of the processors that is reported.
inline constexpr double kNotableForeignCpu = 0.05;

// Returns the largest share in any phase that loads or measures; nothing when no share is known.
std::optional<double> MostForeignCpu(const nlohmann::json& run);

// Returns a line such as "! other programs used up to 43 % of the processors during insert: ...",
// or "" when no phase reached the notable share.
std::string ForeignCpuLine(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_FOREIGN_CPU_H_
