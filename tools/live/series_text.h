// Formats the seconds of each phase as text, for `testbed report --series`: the curves of the rate
// and of the tail latency, the stalls on the same time axis, and the worst seconds with what went
// on in them.
//
//   fmt::print("{}", SeriesText(ReadResults("run.json")));
#ifndef TESTBED_TOOLS_LIVE_SERIES_TEXT_H_
#define TESTBED_TOOLS_LIVE_SERIES_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace testbed {

// Returns the text for a results document (docs/results.md), in lines of 100 characters. Throws
// json::exception when the document lacks a part that every one has (ReadResults checks).
std::string SeriesText(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_SERIES_TEXT_H_
