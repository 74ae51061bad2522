// Files that the user asked for (--json, --csv): refused before a run that would take long, written
// after it.
#ifndef TESTBED_TOOLS_OUTPUT_FILE_H_
#define TESTBED_TOOLS_OUTPUT_FILE_H_

#include <nlohmann/json.hpp>
#include <string>

namespace testbed {

// Throws Error (kUsage) when `path` cannot be a file. An empty path is no request.
void CheckOutputFile(const std::string& option, const std::string& path);

// Throws Error (kIo) when it cannot be written.
void WriteOutputFile(const std::string& option, const std::string& path, const std::string& text);

// The text of a document. What users name may be any bytes: those that are no UTF-8 become U+FFFD,
// so that no name costs a result. `indent` below 0 gives one line.
std::string JsonText(const nlohmann::json& document, int indent = -1);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_FILE_H_
