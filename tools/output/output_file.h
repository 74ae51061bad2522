// Files that the user asked for (--json, --csv): refused before a run that would take long, written
// after it.
#ifndef TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_
#define TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_

#include <string>

namespace testbed {

// Throws Error (kUsage) when `path` cannot be a file. An empty path is no request.
void CheckOutputFile(const std::string& option, const std::string& path);

// Throws Error (kIo) when it cannot be written.
void WriteOutputFile(const std::string& option, const std::string& path, const std::string& text);

// The file is the old or the new one, after a power cut too, and no symbolic link is followed: that
// it lies beside `path` while it is written, as PATH.new, makes nobody's file another's. Throws Error.
void ReplaceFile(const std::string& path, const std::string& text);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_
