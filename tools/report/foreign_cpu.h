// Reports the share of the processors that other programs took in user mode, and that the
// hypervisor took, while the phases of a document were measured (docs/results.md,
// "foreign_cpu_share" and "steal_share"). The rates and times of such a phase do not depend on the
// engine alone.
#ifndef TESTBED_TOOLS_REPORT_FOREIGN_CPU_H_
#define TESTBED_TOOLS_REPORT_FOREIGN_CPU_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace testbed {

// A report mentions shares of at least this much.
inline constexpr double kNotableForeignCpu = 0.05;

// Returns the largest share of a phase that loads or measures; nothing when no phase tells its
// share.
std::optional<double> MostForeignCpu(const nlohmann::json& run);

// Return a line such as "! other programs used up to 43 % of the processors in user mode during
// insert: ..."; an empty string when the share was below kNotableForeignCpu in every phase.
std::string ForeignCpuLine(const nlohmann::json& document);
std::string StealLine(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_FOREIGN_CPU_H_
