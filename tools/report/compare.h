// Sets two results documents (docs/results.md) side by side.
#ifndef TESTBED_TOOLS_REPORT_COMPARE_H_
#define TESTBED_TOOLS_REPORT_COMPARE_H_

#include <nlohmann/json.hpp>
#include <string>

namespace testbed {

// Returns a table with two documents side by side: the figures of every phase and operation that
// both have, their ratios, and, where both were repeated, whether the confidence intervals of the
// rates are apart. Lines above the table name the options that differ.
std::string CompareText(const nlohmann::json& base, const nlohmann::json& other);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_COMPARE_H_
