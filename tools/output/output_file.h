// Files that the user asked for (--json, --csv). They are checked before a run, which may take
// long, and written after it.
#ifndef TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_
#define TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_

#include <string>

namespace testbed {

// Throws Error (kUsage) when `path` cannot be written as a file. An empty path is not checked.
void CheckOutputFile(const std::string& option, const std::string& path);

// Writes the file; does nothing for an empty path. Throws Error (kIo) when the file cannot be
// written.
void WriteOutputFile(const std::string& option, const std::string& path, const std::string& text);

// Replaces the file atomically: after a power cut too, the file is the old or the new one. While it
// is written it lies next to `path` as PATH.new; a PATH.new that exists, even as a symbolic link,
// is removed, never followed. Throws Error (kIo).
void ReplaceFile(const std::string& path, const std::string& text);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_
