// What other programs took of the processors while the phases of a document were measured
// (docs/results.md, "foreign_cpu_share"): rates and times of such phases are not the engine's alone.
#ifndef TESTBED_TOOLS_REPORT_FOREIGN_CPU_H_
#define TESTBED_TOOLS_REPORT_FOREIGN_CPU_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace testbed {

// From this share of the processors on it is said.
inline constexpr double kNotableForeignCpu = 0.05;

// The largest share in a phase that loads or measures; nothing when it is known of none.
std::optional<double> MostForeignCpu(const nlohmann::json& run);

// "! other programs used up to 43 % of the processors during insert: ...", a line; empty when they
// used less than is notable in every phase.
std::string ForeignCpuLine(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_FOREIGN_CPU_H_
