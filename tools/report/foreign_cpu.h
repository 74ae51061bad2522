// Reports the share of the processors that other programs took in user mode, and that the
// hypervisor took, while the phases of a document were measured (docs/results.md,
// "foreign_cpu_share" and "steal_share"), and the share of the clients' time that the harness
// itself took ("preparing_seconds"). The rates and times of such a phase do not depend on the
// engine alone.
#ifndef TESTBED_TOOLS_REPORT_FOREIGN_CPU_H_
#define TESTBED_TOOLS_REPORT_FOREIGN_CPU_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace testbed {

// A report mentions shares of at least this much.
inline constexpr double kNotableForeignCpu = 0.05;
inline constexpr double kNotablePreparing = 0.1;

// Returns the largest share of a phase that loads or measures; nothing when no phase tells its
// share.
std::optional<double> MostForeignCpu(const nlohmann::json& run);

// Returns whether the server of a document ran already (--connect): it may be another program of
// this host, and the one that is measured.
bool OfGivenServer(const nlohmann::json& document);

// Returns the subject of a sentence about the share: "other programs", and with a given server that
// it may be among them.
std::string OtherPrograms(bool given_server);

// Return a line such as "! other programs used up to 43 % of the processors in user mode during
// insert: ..."; an empty string when the share was below kNotableForeignCpu in every phase.
std::string ForeignCpuLine(const nlohmann::json& document);
std::string StealLine(const nlohmann::json& document);
// Returns a line with the phases whose clients spent kNotablePreparing of their time or more on
// preparing operations; an empty string when there are none.
std::string PreparingLine(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_FOREIGN_CPU_H_
