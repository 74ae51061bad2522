// The files that the user asks for (--json, --csv). They are checked before a run, which may take
// long, and written after it.
#ifndef TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_
#define TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_

#include <string>

namespace testbed {

// Throws Error (kUsage) when `path` is a directory or lies in none. An empty path is no request and
// is not checked. `option` is named in the message.
void CheckOutputFile(const std::string& option, const std::string& path);

// Writes `text` to the file `path`. Throws Error (kIo) when the file cannot be written. Does
// nothing when `path` is empty.
void WriteOutputFile(const std::string& option, const std::string& path, const std::string& text);

// Replaces the file `path` atomically and durably: after a power cut it is the old file or the new
// one. The new file is written as PATH.new and renamed. A file of that name is removed first, and a
// symbolic link is not followed, so that no other file can be overwritten. Throws Error (kIo).
void ReplaceFile(const std::string& path, const std::string& text);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_
